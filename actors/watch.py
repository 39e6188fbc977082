"""Noticing an engine that hangs: requests are in flight, and none of them ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from taboo_cluster.engines.base import Completion, Engine, Request


class WatchedEngine:
    """The engine it wraps; calls `hung` once when that has been asked and has answered nothing for `stall_s` seconds.

    The clock runs only while somebody waits for a completion: what is done with one may take its time. Where several
    wait, any completion is a sign of life.

    Args:
        engine: the engine.
        stall_s: seconds without a completion that are too many.
        hung: called from a thread of its own, with what to say.
    """

    def __init__(self, engine: Engine, stall_s: float, hung: Callable[[str], None]) -> None:
        self.info, self.tokenizer = engine.info, engine.tokenizer
        self.max_context, self.concurrent = engine.max_context, engine.concurrent
        self._engine, self._stall_s, self._hung = engine, stall_s, hung
        self._lock = threading.Lock()
        self._waiting = 0
        self._since = 0.0
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="watch", daemon=True).start()

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """As the engine does."""
        completions = self._engine.generate(requests)
        while True:
            with self._wait():
                completion = next(completions, None)
            if completion is None:
                return
            yield completion

    def silence(self) -> float:
        """Seconds since the last sign of life; 0 while nobody waits for one."""
        with self._lock:
            return time.monotonic() - self._since if self._waiting else 0.0

    def close(self) -> None:
        """Free the model; nothing is watched any more."""
        self._closed.set()
        self._engine.close()

    @contextmanager
    def _wait(self) -> Iterator[None]:
        with self._lock:
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                self._since = time.monotonic()

    def _watch(self) -> None:
        while not self._closed.wait(min(1.0, self._stall_s / 4)):
            if self.silence() > self._stall_s:
                self._hung(
                    f"no completion for {self._stall_s:g} s though requests are in flight (if it is only that slow, "
                    "raise cluster.stall_s)"
                )
                return
