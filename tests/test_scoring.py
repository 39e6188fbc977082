"""Slow scoring beside the engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from taboo_cluster.benchmarks.base import Prompt, Verdict
from taboo_cluster.engines.base import Completion, EngineInfo, Generation, Request
from taboo_cluster.engines.scripted import ScriptedEngine, ScriptedOptions
from taboo_cluster.runner import Origin, TrialRunner
from taboo_cluster.scoring import THREADS, WAITING, Beside
from taboo_cluster.trial import Condition, Item, ResolvedModel, Trial

MODEL = ResolvedModel("m", "r", "m", None, None, False, "base", None, "none", "float32")
ITEMS = [Item(f"i{n}", f"Question {n}?", "yes", "test", f"i{n}") for n in range(3 * WAITING)]


class Slow:
    """A benchmark whose scorer can be held up."""

    name, scorer_version, styles, default_shots, max_tokens, chance = "slow", "1", ("direct",), 0, 8, None
    slow_scoring = True

    def __init__(self, score: Callable[[Item], Verdict]) -> None:
        self._score = score

    def items(self) -> list[Item]:
        return ITEMS

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        return Prompt((), question, question, ())

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        return self._score(item)

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        return ()


class Engine:
    """Answers at once, and says when it has answered everything."""

    info, concurrent, max_context = EngineInfo("canned", "1"), False, 1000

    def __init__(self) -> None:
        self.tokenizer = ScriptedEngine(ScriptedOptions()).tokenizer
        self.done = threading.Event()

    def generate(self, requests: Iterator[Request]) -> Iterator[Completion]:
        for request in list(requests):
            yield Completion(request.key, Generation("yes", (1,), "stop"))
        self.done.set()

    def close(self) -> None:
        pass


class Rows:
    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []
        self.flushed = 0

    def add(self, row: dict[str, object]) -> None:
        self.rows.append(row)

    def flush(self) -> None:
        self.flushed = len(self.rows)


def run(score: Callable[[Item], Verdict], items: list[Item], engine: Engine, writer: Rows) -> TrialRunner:
    runner = TrialRunner(engine, MODEL, {"slow": Slow(score)}, writer, Origin("r", "l", "w", "s"))  # type: ignore[arg-type]
    runner.run([Trial(MODEL, "canned", "slow", item, Condition("direct", 0)) for item in items])
    return runner


def test_the_engine_goes_on_while_scorers_wait_and_every_row_is_there_at_the_end() -> None:
    engine, writer = Engine(), Rows()

    def score(item: Item) -> Verdict:
        return Verdict("correct" if engine.done.wait(30) else "wrong", "yes", 1.0)

    run(score, ITEMS[:WAITING], engine, writer)
    assert len(writer.rows) == writer.flushed == WAITING
    assert {row["outcome"] for row in writer.rows} == {"correct"}


def test_more_than_a_few_wait_for_the_oldest() -> None:
    lock, running, most = threading.Lock(), 0, 0

    def score(item: Item) -> Verdict:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.005)
        with lock:
            running -= 1
        return Verdict("correct", "yes", 1.0)

    engine, writer = Engine(), Rows()
    run(score, ITEMS, engine, writer)
    assert sorted(str(row["item_id"]) for row in writer.rows) == sorted(item.item_id for item in ITEMS)
    assert most <= THREADS


def test_a_scorer_that_fails_costs_its_own_trial_only() -> None:
    def score(item: Item) -> Verdict:
        if item.item_id == "i1":
            raise RuntimeError("no sandbox")
        return Verdict("correct", "yes", 1.0)

    writer = Rows()
    run(score, ITEMS[:3], Engine(), writer)
    by_item = {row["item_id"]: (row["outcome"], row.get("error")) for row in writer.rows}
    assert by_item == {
        "i0": ("correct", None),
        "i1": ("error", "RuntimeError: no sandbox"),
        "i2": ("correct", None),
    }


def test_rows_that_cannot_be_written_end_the_run() -> None:
    class Full(Rows):
        def add(self, row: dict[str, object]) -> None:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run(lambda item: Verdict("correct", "yes", 1.0), ITEMS, Engine(), Full())


def test_calls_are_over_when_the_block_is_left_also_by_an_error() -> None:
    seen = []

    def call() -> None:
        threading.Event().wait(0.02)
        seen.append(1)

    def broken() -> None:
        with Beside() as beside:
            for _ in range(WAITING):
                beside.add(call)
            raise KeyError

    with pytest.raises(KeyError):
        broken()
    assert len(seen) == WAITING
