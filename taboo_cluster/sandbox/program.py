"""Run one program with its tests in a box; see the package for what holds there."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from taboo_cluster.sandbox.boxes import HERE, SCRATCH, Box, environment
from taboo_cluster.sandbox.inside.judge import READY
from taboo_cluster.sandbox.inside.plain import message

START_S = 60.0
"""Most seconds that starting and ending a box may take, beside the program's own."""


class SandboxFailed(RuntimeError):
    """The sandbox itself did not work: nothing is known of the program."""


@dataclass(frozen=True)
class Limits:
    """What a program may use; it is one process with one thread."""

    seconds: float = 5.0
    """From start to verdict on the clock, and of CPU time."""
    memory: int = 1024**3
    """Bytes of address space."""
    file: int = 8 * 1024**2
    """Bytes of one file, and of all it prints."""


@dataclass(frozen=True)
class Program:
    """A program and what tests it."""

    source: str
    """The hostile code: a module that defines `entry_point`."""
    entry_point: str
    """The function under test."""
    tests: str
    """Defines `check(candidate)`, which raises where the candidate is wrong. The program never sees it."""
    setup: str = ""
    """Run before the tests, where they run: names that they use."""


@dataclass(frozen=True)
class Result:
    """What became of a program."""

    status: str
    """passed, failed (an exception, a failed test), timeout, out_of_memory, output_limit, or killed: its process
    ended before its tests did."""
    message: str
    """Why, in one line; empty where it passed."""
    printed: str
    """The last of what it wrote to stdout and stderr."""
    seconds: float

    @property
    def passed(self) -> bool:
        """True where every test passed."""
        return self.status == "passed"


def run_program(program: Program, box: Box, limits: Limits) -> Result:
    """Run a program and its tests, once. Nothing of it runs any more when this returns.

    Raises:
        SandboxFailed: the box could not be started, or closed.
    """
    hostile = {"source": program.source, "entry_point": program.entry_point, **vars(limits)}
    given = message(hostile) + message({"setup": program.setup, "tests": program.tests})
    with _started(box) as process:
        late = False
        try:
            said, errors = process.communicate(given, timeout=START_S + limits.seconds)
        except subprocess.TimeoutExpired:
            late = True
            _kill(process)
            said, errors = process.communicate()
    if not said.startswith(READY):
        lines = errors.decode("utf-8", "replace").strip().splitlines() or ["it gave no sign of life"]
        raise SandboxFailed(f"{box.name}: {lines[-1][:300]}")
    try:
        return Result(*json.loads(said.removeprefix(READY)[4:]))
    except ValueError:
        status = "timeout" if late else "killed"
        return Result(status, "the sandbox ended without a verdict", "", limits.seconds)


@contextlib.contextmanager
def _started(box: Box) -> Iterator[subprocess.Popen[bytes]]:
    """The box's process, in a session of its own; killed with its group where that may not have ended by itself."""
    with contextlib.ExitStack() as stack:
        scratch = SCRATCH if box.shut else stack.enter_context(tempfile.TemporaryDirectory(prefix="taboo-"))
        try:
            process = subprocess.Popen(
                box.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(scratch),
                cwd=HERE,
                start_new_session=True,
                user=box.user,
                group=box.user,
                extra_groups=None if box.user is None else [],
            )
        except OSError as error:
            raise SandboxFailed(f"{box.name}: {error}") from error
        stack.enter_context(process)
        try:
            yield process
        finally:
            if process.poll() is None or not box.shut:
                _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
