"""Slow scoring beside the engine, on a few threads: an engine that waits for a scorer generates nothing."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

THREADS = min(4, os.cpu_count() or 1)
"""Scorers that run at once; they start processes of their own, so threads are enough."""
WAITING = 2 * THREADS
"""Calls that run or wait; whoever adds one more waits for the oldest."""


class Beside:
    """Makes calls beside the thread that adds them; every call is over when the `with` block is left.

    An error of a call is raised by a later `add`, or at the end of the block unless the block raises one itself.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="scoring")
        self._calls: deque[Future[None]] = deque()

    def add(self, call: Callable[[], None]) -> None:
        """Have a call made; returns at once unless `WAITING` others are not over."""
        while self._calls and (len(self._calls) >= WAITING or self._calls[0].done()):
            self._calls.popleft().result()
        self._calls.append(self._pool.submit(call))

    def __enter__(self) -> Beside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown()
        if error is None:
            for call in self._calls:
                call.result()
