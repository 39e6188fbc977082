"""Keeping to a server's limits: requests start evenly spread over each minute, as many as it allows."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Pace:
    """Spreads requests over time; shared by threads.

    Args:
        requests: a minute; None for no limit.
        tokens: a minute, prompt and completion; None for no limit.
        clock: seconds, rising.
        sleep: waits so many seconds.
    """

    def __init__(
        self, requests: float | None, tokens: float | None, clock: Callable[[], float], sleep: Callable[[float], object]
    ) -> None:
        self._request_s = 60.0 / requests if requests else 0.0
        self._token_s = 60.0 / tokens if tokens else 0.0
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._next_request = self._next_tokens = self._held_until = clock()

    def take(self, tokens: float) -> None:
        """Return once a request of about so many tokens may start."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next_request, self._next_tokens, self._held_until)
            self._next_request = start + self._request_s
            self._next_tokens = start + tokens * self._token_s
        if start > now:
            self._sleep(start - now)

    def correct(self, tokens: float) -> None:
        """A request took so many tokens more (or, below 0, fewer) than it was thought to."""
        with self._lock:
            self._next_tokens += tokens * self._token_s

    def hold(self, seconds: float) -> None:
        """Let no request start for so long: the server has said that there were too many."""
        with self._lock:
            self._held_until = max(self._held_until, self._clock() + seconds)
