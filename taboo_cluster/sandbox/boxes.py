"""The ways to shut a program in, and which of them work on this machine."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from taboo_cluster.sandbox.inside.judge import NOBODY

HERE = Path(__file__).parent
PYTHON = "/python/bin/python3"
"""The interpreter's place in a box; the libraries beside it keep theirs, `../lib`."""
SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64")
SCRATCH = "/tmp"
SCRATCH_BYTES = 32 * 1024**2


@dataclass(frozen=True)
class Box:
    """One way to start a command shut in.

    Attributes:
        name: for messages.
        command: what to start.
        user: whom root becomes before it starts that; None changes nothing.
        shut: False for no box at all: only limits hold.
    """

    name: str
    command: tuple[str, ...]
    user: int | None = None
    shut: bool = True


def boxes() -> Iterator[Box]:
    """The ways this machine might have, best first; which of them work has to be tried.

    Root tries them with its own rights, becoming nobody inside, and then as nobody from the start, with user
    namespaces: a container's root often has no right to make the others.
    """
    judge = [PYTHON, *_FLAGS, "-m", "inside.judge", "boxed"]
    root = os.geteuid() == 0
    for user in (None, NOBODY) if root else (None,):
        privileged = root and user is None
        if bubblewrap := shutil.which("bwrap"):
            yield Box("bubblewrap", (bubblewrap, *_bubblewrap(privileged), *judge), user)
        yield Box("unshare", _unshare(judge), user)


def no_box() -> Box:
    """Limits only."""
    return Box("none", (_interpreter(), *_FLAGS, "-m", "inside.judge", "open"), shut=False)


def environment(scratch: str) -> dict[str, str]:
    """All of the environment a program has; `scratch` is its home."""
    return {
        "HOME": scratch,
        "LC_ALL": "C.UTF-8",
        "LD_LIBRARY_PATH": f"/python/lib:{sys.base_prefix}/lib",
        "PYTHONHASHSEED": "0",
        "TMPDIR": scratch,
    }


_FLAGS = ("-s", "-S", "-B")
"""No site-packages: what a program can import does not depend on what is installed."""


def _interpreter() -> str:
    """The interpreter itself, not a virtual environment's link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _binds() -> dict[str, str]:
    """What is shown read-only: place in the box -> place here."""
    binds = {path: path for path in SYSTEM if os.path.isdir(path) and not os.path.islink(path)}
    binds |= {f"/python/{Path(lib).name}": lib for lib in _libraries()}
    binds |= {PYTHON: _interpreter(), "/sandbox/inside": str(HERE / "inside"), "/dev/null": "/dev/null"}
    if os.path.exists("/etc/ld.so.cache"):
        binds["/etc/ld.so.cache"] = "/etc/ld.so.cache"
    return binds


def _libraries() -> list[str]:
    return [path for path in (f"{sys.base_prefix}/lib", f"{sys.base_prefix}/lib64") if os.path.isdir(path)]


def _links() -> dict[str, str]:
    return {path: os.readlink(path) for path in SYSTEM if os.path.islink(path)}


def _unshare(command: list[str]) -> tuple[str, ...]:
    settings = {"binds": _binds(), "links": _links(), "scratch": SCRATCH_BYTES, "command": command}
    return (_interpreter(), *_FLAGS, "-m", "inside.unshare", json.dumps(settings))


def _bubblewrap(privileged: bool) -> list[str]:
    arguments = ["--unshare-all", "--as-pid-1", "--hostname", "sandbox"]
    if privileged:  # no user namespace; the judge gives these up
        arguments = [word for word in arguments if word != "--unshare-all"]
        arguments += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        arguments += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    binds = _binds()
    for folder in _parents(binds):
        arguments += ["--dir", folder]
    for target, source in binds.items():
        arguments += ["--dev-bind" if source == "/dev/null" else "--ro-bind", source, target]
    for target, link in _links().items():
        arguments += ["--symlink", link, target]
    arguments += ["--size", str(SCRATCH_BYTES), "--perms", "1777", "--tmpfs", SCRATCH]
    return [*arguments, "--remount-ro", "/", "--chdir", "/sandbox"]


def _parents(binds: Mapping[str, str]) -> list[str]:
    """The folders that bound ones lie in: bubblewrap makes those it is not told of for their owner alone."""
    found = {str(parent) for target in binds for parent in Path(target).parents} - {"/"}
    return sorted(found)
