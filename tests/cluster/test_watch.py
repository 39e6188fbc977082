"""An engine that hangs is noticed; one that is only slow to be used is not."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from actors import watch
from actors.watch import WatchedEngine
from taboo_cluster.engines.base import Completion, Request
from taboo_cluster.engines.scripted import ScriptedEngine, ScriptedOptions


class Clock:
    """A time that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(watch, "time", made)
    return made


def requests(count: int) -> list[Request]:
    return [Request(f"k{n}", f"question {n}", (1, 2), 50) for n in range(count)]


class Stub(ScriptedEngine):
    """Calls `during` before each completion, as an engine at work."""

    def __init__(self, during: Any) -> None:
        super().__init__(ScriptedOptions())
        self.during = during
        self.closed = False

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for completion in super().generate(requests):
            self.during()
            yield completion

    def close(self) -> None:
        self.closed = True


def test_it_does_what_the_engine_does() -> None:
    engine = Stub(lambda: None)
    watched = WatchedEngine(engine, 60.0, pytest.fail)
    assert list(watched.generate(requests(3))) == list(engine.generate(requests(3)))
    assert (watched.info, watched.tokenizer, watched.max_context, watched.concurrent) == (
        engine.info,
        engine.tokenizer,
        engine.max_context,
        engine.concurrent,
    )
    watched.close()
    assert engine.closed


def test_the_clock_runs_only_while_a_completion_is_waited_for(clock: Clock) -> None:
    seen: list[float] = []

    def during() -> None:
        clock.now += 5.0
        seen.append(watched.silence())

    watched = WatchedEngine(Stub(during), math.inf, pytest.fail)
    assert watched.silence() == 0.0
    for _ in watched.generate(requests(3)):
        clock.now += 1000.0  # scoring takes its time
        assert watched.silence() == 0.0
    assert seen == [5.0, 5.0, 5.0]
    assert watched.silence() == 0.0
    watched.close()


def test_any_completion_is_a_sign_of_life_for_all_who_wait(clock: Clock) -> None:
    asked, answer = threading.Event(), threading.Event()

    def during() -> None:
        asked.set()
        answer.wait(60)

    engine = Stub(during)
    watched = WatchedEngine(engine, math.inf, pytest.fail)
    waiting = threading.Thread(target=lambda: list(watched.generate(requests(1))))
    waiting.start()
    assert asked.wait(60)
    clock.now += 5.0
    assert watched.silence() == 5.0
    engine.during = lambda: None
    next(watched.generate(requests(1)))
    assert watched.silence() == 0.0
    clock.now += 3.0
    assert watched.silence() == 3.0
    answer.set()
    waiting.join()
    clock.now += 3.0
    assert watched.silence() == 0.0
    watched.close()


def test_an_error_of_the_engine_ends_the_wait(clock: Clock) -> None:
    def during() -> None:
        raise RuntimeError("broken")

    watched = WatchedEngine(Stub(during), math.inf, pytest.fail)
    with pytest.raises(RuntimeError, match="broken"):
        next(watched.generate(requests(1)))
    clock.now += 50.0
    assert watched.silence() == 0.0
    watched.close()


def test_e12_a_silent_engine_is_reported_once() -> None:
    heard, said, release = threading.Event(), [], threading.Event()

    def hung(why: str) -> None:
        said.append(why)
        heard.set()

    watched = WatchedEngine(Stub(lambda: release.wait(60)), 0.1, hung)
    waiting = threading.Thread(target=lambda: list(watched.generate(requests(1))))
    waiting.start()
    assert heard.wait(60)
    assert said == [
        "no completion for 0.1 s though requests are in flight (if it is only that slow, raise cluster.stall_s)"
    ]
    release.set()
    waiting.join()
    watched.close()
