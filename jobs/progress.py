"""How far a sweep is: bars on a terminal, plain lines (no carriage returns) elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

LINE_S = 10.0
"""Seconds between plain lines."""
DRAW_S = 0.25


@dataclass(frozen=True)
class ModelState:
    """One model's line."""

    name: str
    done: int
    total: int
    failed: int
    state: str
    """waiting, loading, running, done or failed."""


class SweepProgress:
    """Shows the models' states; a context manager.

    Args:
        sweep: name of the sweep.
        stream: where to; stderr unless given, so that results alone go to stdout.
        clock: seconds, rising.
    """

    def __init__(self, sweep: str, stream: TextIO | None = None, clock: object = None) -> None:
        self._sweep = sweep
        self._stream = stream or sys.stderr
        self._clock = clock if callable(clock) else time.monotonic
        self._began = self._shown = float(self._clock())
        self._first: int | None = None
        self._bars = _Bars(self._stream) if self._stream.isatty() else None

    def __enter__(self) -> SweepProgress:
        if self._bars:
            self._bars.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars:
            self._bars.progress.stop()

    def line(self, text: str) -> None:
        """Show one line that stays."""
        if self._bars:
            self._bars.progress.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=self._stream, flush=True)

    def update(self, states: Sequence[ModelState], last: bool = False) -> None:
        """Show the states where it is time to, or always if this is the last time."""
        now = float(self._clock())
        done = sum(state.done for state in states)
        if self._first is None:
            self._first = done
        if now - self._shown < (DRAW_S if self._bars else LINE_S) and not last:
            return
        self._shown = now
        text = summary(self._sweep, states, done - self._first, now - self._began)
        if self._bars:
            self._bars.draw(text, states)
        else:
            self.line(text)


def summary(sweep: str, states: Sequence[ModelState], made: int, seconds: float) -> str:
    """The sweep in one line: how far, how fast, how long still, and each model that is at work.

    Args:
        sweep: name of the sweep.
        states: every model's.
        made: trials done by this launch.
        seconds: it took so far.
    """
    done, total = (sum(getattr(state, name) for state in states) for name in ("done", "total"))
    parts = [f"{sweep}: {done:,}/{total:,} trials ({100 * done // max(1, total)}%)"]
    rate = made / seconds if seconds > 0 else 0.0
    left = sum(state.total - state.done for state in states if state.state != "failed")
    if rate > 0 and left > 0:
        parts += [f"{rate:,.1f}/s", f"{duration(left / rate)} left"]
    if failed := sum(state.failed for state in states):
        parts.append(f"{failed:,} errors")
    running = [f"{s.name} {s.done:,}/{s.total:,}" for s in states if s.state == "running"]
    running += [f"{s.name} {s.state}" for s in states if s.state in ("loading", "failed")]
    return ", ".join(parts) + (f" | {', '.join(running)}" if running else "")


def duration(seconds: float) -> str:
    """Time for people: 45 s, 12 min, 3 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


class _Bars:
    """One bar for each model, under a line for the sweep."""

    def __init__(self, stream: TextIO) -> None:
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=Console(file=stream),
            refresh_per_second=4,
        )
        self._line: TaskID | None = None
        self._tasks: dict[int, TaskID] = {}

    def draw(self, text: str, states: Sequence[ModelState]) -> None:
        if self._line is None:
            self._line = self.progress.add_task("", total=1, note="")
        done, total = (sum(getattr(state, name) for state in states) for name in ("done", "total"))
        self.progress.update(self._line, description=text.partition(" | ")[0], completed=done, total=total)
        for index, state in enumerate(states):
            if index not in self._tasks:
                self._tasks[index] = self.progress.add_task(state.name, total=state.total, note="")
            errors = f", {state.failed} errors" if state.failed else ""
            note = f"{state.done:,}/{state.total:,} {state.state}{errors}"
            self.progress.update(self._tasks[index], completed=state.done, total=state.total, note=note)
