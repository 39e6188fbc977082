"""Starts a command as process 1 of new namespaces, with a file system of its own: what bubblewrap does, without it.

Started as `python -m inside.unshare '{"binds": ..., "links": ..., "scratch": ..., "command": [...]}'`. As root it needs
CAP_SYS_ADMIN, else user namespaces; both need Linux 5.12 (mount_setattr).
"""

from __future__ import annotations

import json
import os
import platform
import struct
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from .kernel import call

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWCGROUP = (
    0x20000,
    0x4000000,
    0x8000000,
    0x10000000,
    0x20000000,
    0x40000000,
    0x2000000,
)
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
READ_ONLY, NOSUID, NODEV = 1, 2, 4  # MOUNT_ATTR_*
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
MOUNT_SETATTR = 442
BUILD = "/tmp"
"""Where the new root is put together, in a mount namespace of its own; whatever is there is only hidden."""


def main(settings: Mapping[str, Any]) -> NoReturn:
    """Unshare, start the command in a child, end as it ends. Raises OSError where the kernel refuses."""
    user, group = os.geteuid(), os.getegid()
    call("unshare", NEWNS | NEWPID | NEWNET | NEWIPC | NEWUTS | NEWCGROUP | (NEWUSER if user else 0))
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    child = os.fork()
    if not child:
        _build(settings)
        os.execv(settings["command"][0], settings["command"])
    os.close(0)
    os.close(1)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)


def _build(settings: Mapping[str, Any]) -> None:
    """Make the new root and move into it."""
    os.umask(0o022)
    call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    sources = {target: os.open(source, os.O_PATH) for target, source in settings["binds"].items()}
    _tmpfs(BUILD, "size=1m,nr_inodes=1000,mode=0755")
    for target, source in sources.items():
        _bind(source, BUILD + target)
        os.close(source)
    for target, link in settings["links"].items():
        os.symlink(link, BUILD + target)
    os.mkdir(BUILD + "/tmp")
    _tmpfs(BUILD + "/tmp", f"size={settings['scratch']},nr_inodes=1000,mode=1777", MS_NOEXEC)
    os.chdir(BUILD)
    call("syscall", PIVOT_ROOT[platform.machine()], b".", b".")  # the old root now lies over the new one
    call("umount2", b".", MNT_DETACH)
    _set_attributes("/", READ_ONLY | NOSUID | NODEV, 0)
    call("sethostname", b"sandbox", 7)
    os.chdir("/sandbox")


def _tmpfs(target: str, options: str, flags: int = 0) -> None:
    call("mount", b"tmpfs", target.encode(), b"tmpfs", MS_NOSUID | MS_NODEV | flags, options.encode())


def _bind(source: int, target: str) -> None:
    """Show what `source` is open on at `target`, with everything mounted below it, read-only."""
    folder = os.path.isdir(f"/proc/self/fd/{source}")
    os.makedirs(target if folder else os.path.dirname(target), exist_ok=True)
    if not folder:
        os.close(os.open(target, os.O_CREAT, 0o444))
    call("mount", f"/proc/self/fd/{source}".encode(), target.encode(), None, MS_BIND | MS_REC, None)
    _set_attributes(target, READ_ONLY | NOSUID | (NODEV if folder else 0), AT_RECURSIVE)


def _set_attributes(target: str, attributes: int, flags: int) -> None:
    data = struct.pack("QQQQ", attributes, 0, 0, 0)
    call("syscall", MOUNT_SETATTR, AT_FDCWD, target.encode(), flags, data, len(data))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
