"""Process 1 of the sandbox: starts the program in a process of its own, then tests it and gives the verdict.

Started as `python -m inside.judge (boxed|open)`, with the scratch folder as $HOME and two messages on stdin: first the
program with its limits, then, read only when the program's process has lost stdin, the tests. Stdout gets `ready`, then
the verdict.
"""

from __future__ import annotations

import builtins
import os
import random
import re
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


def main(boxed: bool) -> None:
    """Read, run, test, write the verdict. Raises OSError where the sandbox cannot be closed."""
    if boxed and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    kernel.die_with_parent()
    kernel.hide_memory()
    os.chdir(os.environ["HOME"])
    program = receive(STDIN)
    printed = os.open("printed", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    os.unlink("printed")
    random.seed(0)
    sys.path[:] = [path for path in sys.path if not path.endswith("sandbox")]
    calls, call = os.pipe()
    answers, answer = os.pipe()
    os.write(STDOUT, READY)
    begin = time.monotonic()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    child = os.fork()
    if not child:
        _run(program, printed, calls, answer)
    os.close(calls)
    os.close(answer)
    signal.signal(signal.SIGALRM, _time_up)
    signal.setitimer(signal.ITIMER_REAL, program["seconds"])
    verdict_pipe = os.dup(STDOUT)
    os.dup2(printed, STDOUT)
    _confine(program)
    status, said = _verdict(program, Solution(call, answers), child)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if status in ("failed", "killed") and os.fstat(printed).st_size >= program["file"]:
        status = "output_limit"
    size = os.fstat(printed).st_size
    tail = os.pread(printed, TAIL, max(0, size - TAIL)).decode("utf-8", "replace")
    os.write(verdict_pipe, message([status, said, tail, time.monotonic() - begin]))


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
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a TextIOWrapper here
        _confine(program)
        candidate.serve(program["source"], program["entry_point"], calls, answer)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _confine(program: Mapping[str, Any]) -> None:
    kernel.limit(program["seconds"], program["memory"], program["file"])
    kernel.refuse_calls()


def _verdict(program: Mapping[str, Any], solution: Solution, child: int) -> tuple[str, str]:
    """(status, one line that says why)."""
    tests = ""
    try:
        try:
            solution.answer()
            given = receive(STDIN)
            tests = given["tests"]
            names: dict[str, Any] = {"__name__": "tests"}
            exec(compile(given["setup"], "setup", "exec"), names)  # noqa: S102  # the benchmark's own code
            names[program["entry_point"]] = solution
            exec(compile(tests, "tests", "exec"), names)  # noqa: S102
            names["check"](solution)
            return "passed", ""
        except Gone:
            status = os.waitpid(child, 0)[1]
            how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
            return "killed", f"the program's process ended before its tests did: {how}"
    except TimeUp:
        return "timeout", f"not done after {program['seconds']:g} s"
    except BaseException as error:
        return "out_of_memory" if isinstance(error, MemoryError) else "failed", _line(error, tests)


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


def _time_up(number: int, frame: FrameType | None) -> None:
    raise TimeUp


if __name__ == "__main__":
    main(boxed=sys.argv[1] == "boxed")
