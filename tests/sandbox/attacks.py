"""Hostile programs, run in every box of this machine: `python attacks.py` prints a line of JSON for each box.

The standard library and `taboo_cluster.sandbox` alone are imported, so that any user's plain Python can run it. An
attack fails by its status, or, where the program says what it achieved, passes tests that nothing was.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from taboo_cluster.sandbox.boxes import Box, boxes  # noqa: E402
from taboo_cluster.sandbox.program import Limits, Program, SandboxFailed, run_program  # noqa: E402

SECRET = "swordfish"
ROOT_FOLDERS = sorted(
    {"dev", "python", "sandbox", "tmp", *(p for p in ("usr", "lib", "lib64") if Path("/", p).exists())}
)
MARK = "only the tests know 7391"
INCREMENT = f"""
def check(candidate):
    note = {MARK!r}
    assert candidate(1) == 2
"""


@dataclass(frozen=True)
class Attack:
    """One hostile program."""

    name: str
    source: str
    right: tuple[str, ...] = ("failed",)
    """Statuses that are right for it."""
    tests: str = INCREMENT
    said: str = ""
    """Part of the message."""
    seconds: float = 30.0


def sees(expression: str, expected: object) -> tuple[str, str]:
    """A program that only looks, and tests that pass where it sees what it should."""
    return f"import os, sys\ndef f(x):\n    return {expression}\n", f"def check(f):\n    assert f(1) == {expected!r}\n"


def opens(path: object, mode: str = "r") -> tuple[str, str]:
    """A program that opens a file, and tests that pass where there is none."""
    source = f"def f(x):\n    try:\n        open({str(path)!r}, {mode!r}).close()\n        return 'opened'\n"
    source += "    except OSError as error:\n        return type(error).__name__\n"
    return source, "def check(f):\n    assert f(1) in ('FileNotFoundError', 'PermissionError', 'OSError')\n"


def refused(call: str, imports: str = "os", error: str = "PermissionError") -> tuple[str, str]:
    """A program that makes a call, and tests that pass where that raises `error`."""
    source = f"import {imports}\ndef f(x):\n    try:\n        {call}\n        return 'done'\n"
    source += "    except (OSError, ValueError) as error:\n        return type(error).__name__\n"
    return source, f"def check(f):\n    assert f(1) == {error!r}\n"


def native(call: str) -> tuple[str, str]:
    """A program that calls the C library, and tests that pass where that fails with EPERM."""
    source = "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\ndef f(x):\n"
    source += f"    return [c.{call}, ctypes.get_errno()]\n"
    return source, "def check(f):\n    assert f(1) == [-1, 1]\n"


def looking(name: str, program: tuple[str, str]) -> Attack:
    """An attack whose tests pass where it fails."""
    return Attack(name, program[0], ("passed",), program[1])


def attacks(home: Path, private: Path, inherited: int) -> list[Attack]:
    """All of them.

    Args:
        home: home folder of the caller.
        private: a folder of the host, in /tmp, with a file `secret`.
        inherited: an open, inheritable file of the caller that holds the secret.
    """
    ok = "\ndef f(x):\n    return x + 1\n"
    loop = "\ndef f(x):\n    while True: pass\n"
    return [
        # That the sandbox is no hindrance:
        Attack("right", ok, ("passed",)),
        Attack("wrong", "def f(x):\n    return None\n", said="AssertionError: assert candidate(1) == 2"),
        # Resources:
        Attack("fork bomb", "import os\nwhile True: os.fork()\n" + ok, said="PermissionError"),
        Attack(
            "stubborn fork bomb",
            "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
            ("timeout",),
            seconds=1.0,
        ),
        Attack("threads", "import threading\nwhile True: threading.Thread(target=print).start()\n"),
        Attack("10 GB list", "x = [0] * (10 * 2**30 // 8)\n" + ok, ("out_of_memory",), said="MemoryError"),
        Attack("growing list", "x = []\nwhile True: x.append(bytearray(2**20))\n", ("out_of_memory",)),
        Attack("endless loop", loop, ("timeout",), seconds=1.0, said="not done after 1 s"),
        Attack("sleep", "import time\ntime.sleep(100)\n" + ok, ("timeout",), seconds=1.0),
        Attack(
            "ignored signals",
            "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n"
            "    except (OSError, ValueError): pass\n" + loop,
            ("timeout",),
            seconds=1.0,
        ),
        Attack("flood of output", "while True: print('x' * 1000)\n", ("output_limit",)),
        Attack(
            "stubborn flood",
            "import os\nwhile True:\n    try: os.write(1, b'x' * 10**6)\n    except OSError: os._exit(0)\n",
            ("output_limit",),
        ),
        Attack(
            "10 GB file", "f = open('big', 'wb')\nfor n in range(10**4): f.write(b'x' * 2**20)\n" + ok, said="OSError"
        ),
        Attack(
            "many files",
            "for n in range(10**6): open(str(n), 'wb').write(b'x' * 2**20)\n" + ok,
            said="OSError: [Errno 28] No space left on device",
        ),
        looking("raised limits", refused("resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "resource", "ValueError")),
        looking("shared memory", native("shmget(0, 2**20, 0o1600)")),
        looking("memory file", refused("os.memfd_create('x')")),
        # Getting out:
        looking("connect to loopback", refused("socket.create_connection(('127.0.0.1', 22), 1)", "socket")),
        looking("listen", refused("socket.create_server(('127.0.0.1', 0))", "socket")),
        looking("unix socket", refused("socket.socket(socket.AF_UNIX)", "socket")),
        looking("vsock", refused("socket.socket(40, socket.SOCK_STREAM)", "socket")),
        looking("shadow", opens("/etc/shadow")),
        looking("read home", sees(f"os.path.exists({str(home)!r})", False)),
        looking("write home", opens(home / "taboo-was-here", "w")),
        looking("read the host's /tmp", opens(private / "secret")),
        looking("write the host's /tmp", opens(private / "taboo-was-here", "w")),
        looking("write its own libraries", opens("/python/lib/x", "w")),
        looking("write the root", opens("/x", "w")),
        looking("see the root", sees("sorted(set(os.listdir('/')) - {'etc'})", ROOT_FOLDERS)),
        looking("see processes", sees("os.path.exists('/proc')", False)),
        looking("see the environment", sees(f"{SECRET!r} in repr(os.environ)", False)),
        looking("see the host's name", sees("os.uname().nodename", "sandbox")),
        looking("scratch is there", sees("[os.getcwd(), os.path.expanduser('~'), os.listdir()]", ["/tmp", "/tmp", []])),
        looking("read an inherited file", refused(f"os.pread({inherited}, 9, 0)", error="OSError")),
        looking("read stdin", sees("sys.stdin.read()", "")),
        looking("new namespaces", native("unshare(0x10000000)")),
        looking("mount", native("mount(b'none', b'/tmp', b'tmpfs', 0, None)")),
        looking("chroot", refused("os.chroot('/tmp')")),
        looking("own rights", native("capset(b'\\x22\\x05\\x08\\x20' + bytes(4), b'\\xff' * 24)")),
        looking("trace the tests", native("ptrace(16, 1, 0, 0)")),
        looking("rings of the kernel", native("syscall(425, 1, 0)")),
        looking("calls under other numbers", native("syscall(0x40000000 + 39)")),
        Attack(
            "daemon", "import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while 1: pass\n"
        ),
        Attack("subprocess", "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'id'])\n" + ok),
        Attack("kill the parent", "import os\ndef f(x):\n    os.kill(os.getppid(), 9)\n    return None\n"),
        Attack(
            "kill everything", "import os\ndef f(x):\n    os.kill(-1, 9)\n    return None\n", said="ProcessLookupError"
        ),
        Attack("interrupt the tests", "import os\ndef f(x):\n    os.kill(1, 14)\n    return x\n"),
        Attack("interrupt by hand", "import os\ndef f(x):\n    os.kill(1, 2)\n    return x\n"),
        # Forging success:
        Attack("prints passed", "print('passed')\nprint('ok')\n"),
        Attack("os._exit", "import os\nos._exit(0)\n", ("killed",), said="exit 0"),
        Attack("os._exit in the call", "import os\ndef f(x):\n    os._exit(0)\n", ("killed",), said="exit 0"),
        Attack("sys.exit", "import sys\nsys.exit(0)\n", said="SystemExit"),
        Attack("exit in the call", "import sys\ndef f(x):\n    raise SystemExit(0)\n", said="SystemExit"),
        Attack("crash", "import ctypes\nctypes.string_at(0)\n", ("killed",), said="signal 11"),
        Attack(
            "redefined assert",
            "import builtins, sys, unittest\nclass Quiet(Exception):\n    def __new__(cls, *a): sys.exit(0)\n"
            "builtins.AssertionError = AssertionError = Quiet\nbuiltins.all = builtins.any = lambda *a: True\n"
            "builtins.exit = builtins.quit = builtins.print = sys.exit = lambda *a: None\n"
            "unittest.TestCase.assertEqual = lambda *a: None\n"
            "__builtins__['__build_class__'] = None\ndef f(x):\n    return 3\n",
        ),
        Attack(
            "equal to everything", "class E:\n    def __eq__(self, other): return True\ndef f(x):\n    return E()\n"
        ),
        Attack(
            "equal int",
            "class E(int):\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\n"
            "def f(x):\n    return E(7)\n",
        ),
        Attack("verdicts on every pipe", _forged(), ("failed", "killed")),
        Attack("closed pipes", "import os\nos.closerange(0, 99)\nwhile True: pass\n", ("timeout",), seconds=1.0),
        Attack("huge answer", "def f(x):\n    return 'x' * 20 * 2**20\n", said="ValueError: a message of"),
        Attack("deep answer", "def f(x):\n    y = []\n    for _ in range(10**5): y = [y]\n    return y\n"),
        Attack("no function", "def g(x):\n    return x + 1\n", said="the program defines no f"),
        Attack("no Python", "def f(x) return\n", said="SyntaxError"),
        Attack("null byte", "def f(x):\n    return x + 1\n\0"),
        looking(
            "read the tests",
            (
                "import gc, sys\ndef f(x):\n    found, frame = [], sys._getframe()\n    while frame:\n"
                "        found += [repr(frame.f_locals), repr(frame.f_globals)]\n        frame = frame.f_back\n"
                "    found += [repr(o) for o in gc.get_objects() if type(o) in (dict, list, tuple)]\n"
                "    return any(MARK in text for text in found)\n".replace(
                    "MARK", f"bytes({list(MARK.encode())}).decode()"
                ),
                f"def check(f):\n    note = {MARK!r}\n    assert f(1) is False\n",
            ),
        ),
    ]


def _forged() -> str:
    """Writes a verdict, then an answer that says 2, to every file that could be open."""
    return (
        "import json, os\nbody = json.dumps(['passed', '', '', 0.1]).encode()\n"
        "answer = json.dumps({'value': 3}).encode()\n"
        "for n in range(256):\n    for text in (b'ready\\n', body, answer):\n        try:\n"
        "            os.write(n, len(text).to_bytes(4, 'big') + text)\n        except OSError: pass\n"
        "def f(x):\n    return 3\n"
    )


def children() -> list[str]:
    """What still runs of those this process started, however far they went off; nothing, where all is well."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return []
    return [str(child) for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def works(box: Box) -> bool:
    """This user can use that box on this machine."""
    try:
        return run_program(Program("def f(x):\n    return x + 1\n", "f", INCREMENT), box, Limits(seconds=30)).passed
    except SandboxFailed as error:
        print(error, file=sys.stderr)
        return False


def main() -> None:
    """Run every attack in every box."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: whatever loses its parent becomes ours
    os.environ["TABOO_SECRET"] = SECRET
    home = Path("~").expanduser()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        private = Path(folder)
        (private / "secret").write_text(SECRET)
        inherited = os.open(private / "secret", os.O_RDONLY)
        os.set_inheritable(inherited, True)
        planned = attacks(home, private, inherited)
        for box in filter(works, boxes()):
            with ThreadPoolExecutor(4) as pool:
                wrong = [fault for fault in pool.map(partial(fault_of, box), planned) if fault]
            left = [str(path) for path in (home / "taboo-was-here", private / "taboo-was-here") if os.path.exists(path)]
            line = {
                "box": box.name,
                "user": box.user,
                "attacks": len(planned),
                "wrong": wrong,
                "left": left + children(),
            }
            print(json.dumps(line), flush=True)


def fault_of(box: Box, attack: Attack) -> str | None:
    """What was not as it should be; None where the attack failed as it should."""
    result = run_program(Program(attack.source, "f", attack.tests), box, Limits(seconds=attack.seconds))
    if result.status in attack.right and attack.said in result.message:
        return None
    return f"{attack.name}: {result.status}: {result.message}"


if __name__ == "__main__":
    main()
