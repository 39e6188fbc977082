"""Process 1 of the sandbox: starts the program in a process of its own, then tests it and gives the verdict.

Started as `python -m inside.judge (boxed|open)`, with the scratch folder as $HOME and two messages on stdin: first the
program with its limits, then, read only when the program's process has lost stdin, the tests. Stdout gets `ready`, then
the verdict.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import random
import re
import select
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from types import FrameType
from typing import Any, NoReturn

from . import candidate, kernel
from .plain import decode, encode, message, receive, send

NOBODY = 65534
"""User and group that root becomes."""
STDIN, STDOUT, STDERR = 0, 1, 2
READY = b"ready\n"
TAIL = 2000
"""Bytes kept of what the program printed."""
AWAKE_S = 0.5
"""Most seconds between two looks at whether anyone still waits for the verdict."""


class TimeUp(BaseException):
    """The time is up; no `except Exception` of a test stops it."""


class Gone(BaseException):
    """The program's process has ended, or closed its pipe, before its tests were over."""


class Solution:
    """The program's function as the tests call it: the call happens in the program's process.

    Arguments and results travel as plain values; changes to arguments are carried back.
    """

    def __init__(self, calls: int, answers: int) -> None:
        self._calls, self._answers = calls, answers

    def __call__(self, *arguments: Any) -> Any:
        """Call the function. Raises what it raises, as the built-in exception of that name or else RuntimeError."""
        given = list(arguments)
        try:
            send(self._calls, encode(given))
        except OSError:
            raise Gone from None
        answer = self.answer()
        for before, after in zip(given, decode(answer.get("arguments", [])), strict=False):
            _become(before, after)
        return decode(answer["value"])

    def answer(self) -> Mapping[str, Any]:
        """The next answer; raises Gone where none can come, ValueError for what is none."""
        try:
            answer = receive(self._answers)
        except EOFError:
            raise Gone from None
        if not isinstance(answer, dict) or not ("value" in answer or "raised" in answer):
            raise ValueError("the program wrote something else where its answers belong")
        if "raised" in answer:
            raise _raised(str(answer["raised"]), str(answer.get("message", "")))
        return answer


class Watch:
    """Wakes up now and then: raises TimeUp once the time is up, ends the sandbox where nobody waits for a verdict."""

    def __init__(self, seconds: float, verdict: int, child: int) -> None:
        self._end = time.monotonic() + seconds
        self._child = child
        self._reader = select.poll()
        self._reader.register(verdict, 0)
        signal.signal(signal.SIGALRM, self._wake)
        signal.setitimer(signal.ITIMER_REAL, min(seconds, AWAKE_S))

    def stop(self) -> None:
        """Let the judge finish in peace."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)

    def _wake(self, number: int, frame: FrameType | None) -> None:
        if self._reader.poll(0):
            _kill(self._child)
            os._exit(1)
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeUp
        signal.setitimer(signal.ITIMER_REAL, min(left, AWAKE_S))


def main(boxed: bool) -> None:
    """Read, run, test, write the verdict. Raises OSError where the sandbox cannot be closed."""
    if boxed and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    kernel.hide_memory()
    os.chdir(os.environ["HOME"])
    program = receive(STDIN)
    printed = os.open("printed", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    os.unlink("printed")
    random.seed(0)
    sys.path[:] = [path for path in sys.path if not path.endswith("sandbox")]
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    calls, call = os.pipe()
    answers, answer = os.pipe()
    os.write(STDOUT, READY)
    begin = time.monotonic()
    child = os.fork()
    if not child:
        _run(program, printed, calls, answer)
    os.close(calls)
    os.close(answer)
    verdict = os.dup(STDOUT)
    os.dup2(printed, STDOUT)
    _confine(program)
    watch = Watch(program["seconds"], verdict, child)
    try:
        status, said = _verdict(program, Solution(call, answers), child)
        watch.stop()
    except TimeUp:
        status, said = "timeout", f"not done after {program['seconds']:g} s"
    _kill(child)
    size = os.fstat(printed).st_size
    if status in ("failed", "killed") and size >= program["file"]:
        status = "output_limit"
    tail = os.pread(printed, TAIL, max(0, size - TAIL)).decode("utf-8", "replace")
    os.write(verdict, message([status, said, tail, time.monotonic() - begin]))


def _run(program: Mapping[str, Any], printed: int, calls: int, answer: int) -> NoReturn:
    """The program's process: nothing open but its pipes, /dev/null and the file for what it prints."""
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, STDIN)
        os.dup2(printed, STDOUT)
        os.dup2(printed, STDERR)
        low, high = sorted((calls, answer))
        for begin, end in ((STDERR + 1, low), (low + 1, high), (high + 1, 1024)):
            os.closerange(begin, end)
        random.seed(0)  # the fork has seeded it anew
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a TextIOWrapper here
        _confine(program)
        candidate.serve(program["source"], program["entry_point"], calls, answer)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _kill(child: int) -> None:
    """Without a box around it, a child does not end with its parent."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)


def _confine(program: Mapping[str, Any]) -> None:
    kernel.limit(program["seconds"], program["memory"], program["file"])
    kernel.refuse_calls()


def _verdict(program: Mapping[str, Any], solution: Solution, child: int) -> tuple[str, str]:
    """(status, one line that says why). Raises TimeUp."""
    tests = ""
    try:
        solution.answer()
        given = receive(STDIN)
        tests = given["tests"]
        names: dict[str, Any] = {"__name__": "tests"}
        exec(compile(given["setup"], "setup", "exec"), names)  # noqa: S102  # the benchmark's own code
        names[program["entry_point"]] = solution
        exec(compile(tests, "tests", "exec"), names)  # noqa: S102
        names["check"](solution)
    except Gone:
        ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # its number stays taken until it is killed
        how = f"{'exit' if ended.si_code == os.CLD_EXITED else 'signal'} {ended.si_status}" if ended else "?"
        return "killed", f"the program's process ended before its tests did: {how}"
    except MemoryError as error:
        return "out_of_memory", _line(error, tests)
    except (Exception, SystemExit) as error:
        return "failed", _line(error, tests)
    return "passed", ""


def _line(error: BaseException, tests: str) -> str:
    """Type, message and the line of the tests an error came from; addresses, which differ between runs, left out."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "tests"]
    where = tests.splitlines()[lines[-1] - 1].strip() if tests and lines and lines[-1] else ""
    text = ": ".join(part for part in (type(error).__name__, str(error), where) if part)
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", " ".join(text.split()))[:300]


def _raised(name: str, said: str) -> Exception:
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(said)
        except TypeError:  # UnicodeDecodeError and its like take more
            pass
    return RuntimeError(f"{name}: {said}")


def _become(before: Any, after: Any) -> None:
    """Give a list, dict or set the content it was given in the program's process."""
    if isinstance(before, list) and isinstance(after, list):
        before[:] = after
    elif (isinstance(before, dict) and isinstance(after, dict)) or (isinstance(before, set) and isinstance(after, set)):
        before.clear()
        before.update(after)


if __name__ == "__main__":
    main(boxed=sys.argv[1] == "boxed")
