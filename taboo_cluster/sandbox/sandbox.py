"""The sandbox as benchmarks use it: the first box that works, no more programs at once than cores, one retry."""

from __future__ import annotations

import functools
import os
import threading
from dataclasses import dataclass

from taboo_cluster.errors import UserError
from taboo_cluster.sandbox.boxes import Box, boxes, no_box
from taboo_cluster.sandbox.program import Limits, Program, Result, SandboxFailed, run_program

_TESTS = "def check(candidate):\n    assert candidate(1) == 2\n"
PASSING = Program("def f(x):\n    return x + 1\n", "f", _TESTS)
FAILING = Program("def f(x):\n    return None\n", "f", _TESTS)
"""What a box has to tell apart before it is used."""

_CORES = os.cpu_count() or 1
_slots = threading.BoundedSemaphore(_CORES)
_alone = threading.Lock()


@dataclass(frozen=True)
class Sandbox:
    """Runs programs within limits, from any thread.

    Attributes:
        limits: of each program.
        allow_unsafe: run programs with limits alone where this machine has no box that works.
    """

    limits: Limits
    allow_unsafe: bool = False

    def run(self, program: Program) -> Result:
        """Run a program and its tests; at most one of this process's per core runs at a time.

        One that takes too long is run once more, with no other beside it: on a busy machine that may have been why.

        Raises:
            UserError: there is no box that works, and `allow_unsafe` is not set.
            SandboxFailed: it worked before and does not now.
        """
        box = find_box(self.allow_unsafe)
        with _slots:
            result = run_program(program, box, self.limits)
        if result.status != "timeout":
            return result
        with _alone:  # only one waits for all slots
            for _ in range(_CORES):
                _slots.acquire()
            try:
                return run_program(program, box, self.limits)
            finally:
                for _ in range(_CORES):
                    _slots.release()


@functools.cache
def find_box(allow_unsafe: bool = False) -> Box:
    """The first box in which a right program passes and a wrong one fails; raises UserError where there is none."""
    reasons = []
    for box in [*boxes(), *([no_box()] if allow_unsafe else [])]:
        try:
            found = [run_program(program, box, Limits(seconds=30)).status for program in (PASSING, FAILING)]
        except SandboxFailed as error:
            reasons.append(str(error))
            continue
        if found == ["passed", "failed"]:
            return box
        reasons.append(f"{box.name}: a right program {found[0]}, a wrong one {found[1]}")
    raise UserError(
        "generated code cannot be shut in on this machine: install bubblewrap, allow user namespaces, or run it with "
        f"limits alone with allow_unsafe_code=true ({'; '.join(reasons)})"
    )
