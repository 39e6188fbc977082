"""One model's work: blocks, phases, rounds, and when it is given up."""

from collections import Counter
from dataclasses import replace

import pytest

from actors.task import Ref
from jobs import work as module
from jobs.work import ModelWork
from taboo_cluster.config import ModelConfig, RunConfig, TabooConfig
from taboo_cluster.labels import labels
from taboo_cluster.records.reader import Recorded
from taboo_cluster.runner import BlockResult, Counts
from taboo_cluster.sweep import cells
from taboo_cluster.trial import Item, ResolvedModel

CONFIG = RunConfig(
    sweep="s",
    models=[ModelConfig("other"), ModelConfig("m")],
    benchmarks=["b"],
    benchmark={},
    engine={"name": "scripted"},
    taboo=TabooConfig([0, 1, 2]),
)
MODEL = ResolvedModel("m", "r", "m", None, None, False, "base", None, "none", "float32")
ITEMS = [Item(f"i{n}", f"q{n}", "1", "test", f"i{n}") for n in range(100)]
PER_ITEM = 5
"""Ranks 0, 1 and 2, and a replicate of ranks 0 and 1."""


class Benchmark:
    name = "b"
    styles = ("cot",)
    default_shots = 2


@pytest.fixture
def disk(monkeypatch):
    """What is recorded, by trial_id; tests change it."""
    recorded = {}
    monkeypatch.setattr(module, "recorded", lambda run_dir, model: dict(recorded))
    return recorded


def next_refs(work: ModelWork) -> list[Ref] | None:
    """The next block without its texts."""
    block = work.next_block()
    return None if block is None else block[0]


def make(config=CONFIG, **options):
    every = cells(config, config.models, {"b": Benchmark()})
    return ModelWork(config, 1, MODEL, every, {"b": Benchmark()}, {"b": ITEMS}, "run", **options)


def result(done, failed=0):
    return BlockResult({"b": Counts(done=done, failed=failed)}, Counter({"timeout": failed}), {"timeout": "late"})


def trials(work):
    """Every trial of the model by (cell, item), with its id."""
    every = cells(CONFIG, CONFIG.models, {"b": Benchmark()})
    return {
        (number, item.item_id): module.Trial(MODEL, "scripted", "b", item, cell.condition, cell.replicate).trial_id
        for number, cell in enumerate(every)
        if cell.model == 1
        for item in ITEMS
    }


def drain(work):
    """All references, block by block, each returned before the next is asked for."""
    taken = []
    while refs := next_refs(work):
        taken.append(refs)
        work.returned(result(len(refs)))
    return taken


def test_every_trial_of_the_model_is_handed_out_once(disk):
    work = make()
    refs = [ref for block in drain(work) for ref in block]
    assert len(refs) == work.total == PER_ITEM * 100
    assert {(ref.cell, ref.item_id) for ref in refs} == trials(work).keys()
    assert {ref.attempt for ref in refs} == {1}
    assert work.done == work.total
    assert work.over


def test_models_of_one_name_are_told_apart_by_their_precision(disk):
    assert make().label == "m"
    twice = replace(CONFIG, models=[ModelConfig("m", dtype="float32"), ModelConfig("m", quantization="nf4")])
    assert make(twice).label == "m (nf4)"
    assert make(replace(twice, models=twice.models[::-1])).label == "m (float32)"


def test_models_of_one_name_are_told_apart_by_their_revision():
    commits = [ModelConfig("m", revision="c0ffee12" * 5), ModelConfig("m", revision="step1000"), ModelConfig("n")]
    assert labels(commits) == ["m@c0ffee12", "m@step1000", "n"]
    assert labels([*commits, ModelConfig("m", revision="step1000", dtype="float32")])[1:] == [
        "m@step1000 (bfloat16)", "n", "m@step1000 (float32)",
    ]  # fmt: skip
    assert labels([ModelConfig("m", revision="a" * 40), ModelConfig("n")]) == ["m", "n"]


def test_phase_1_waits_for_all_of_phase_0(disk):
    work = make()
    first = next_refs(work)
    assert len(first) == 200
    assert next_refs(work) is None, "replicate 0 of ranks 0 and 1 is still at work"
    assert not work.over
    work.returned(result(200))
    assert len(next_refs(work)) == 256
    assert len(next_refs(work)) == 44, "within a phase blocks do not wait"
    assert next_refs(work) is None


def test_what_is_recorded_is_not_handed_out_and_errors_carry_their_attempt(disk):
    ids = trials(None)
    some = sorted(ids)[:30]
    disk.update({ids[key]: Recorded(1, None) for key in some[:20]})
    disk.update({ids[key]: Recorded(2, "timeout") for key in some[20:25]})
    disk.update({ids[key]: Recorded(1, "nan_logits") for key in some[25:]})
    work = make()
    assert (work.done, work.failed, work.tally.missing) == (25, 5, 475)
    assert work.redoes
    refs = {(ref.cell, ref.item_id): ref.attempt for block in drain(work) for ref in block}
    assert refs.keys() == ids.keys() - {*some[:20], *some[25:]}
    assert {refs[key] for key in some[20:25]} == {3}
    assert set(refs.values()) == {1, 3}


def test_nothing_missing_is_over_at_once(disk):
    disk.update({trial: Recorded(1, None) for trial in trials(None).values()})
    work = make()
    assert work.over
    assert next_refs(work) is None
    assert (work.done, work.left) == (500, 0)


def test_a_lost_block_and_a_transient_error_go_into_the_next_round(disk):
    work, ids = make(), trials(None)
    first = next_refs(work)
    work.lost()
    lost = {(ref.cell, ref.item_id) for ref in first}
    for refs in iter(lambda: next_refs(work), None):
        work.returned(result(len(refs)))
    disk.update({ids[key]: Recorded(1, None) for key in ids.keys() - lost})
    failed = next(iter(ids.keys() - lost))
    disk[ids[failed]] = Recorded(1, "timeout")
    assert work.over
    assert work.again()
    refs = {(ref.cell, ref.item_id): ref.attempt for block in drain(work) for ref in block}
    assert refs == dict.fromkeys(lost, 1) | {failed: 2}


def test_rounds_end_where_records_never_come(disk):
    work = make()
    for _ in range(CONFIG.max_attempts + 1):
        drain(work)
        assert work.again()
    drain(work)
    assert not work.again()
    assert "500 trials have no record" in work.problem


def test_permanent_errors_are_redone_once_in_a_launch(disk):
    ids = trials(None)
    disk.update({trial: Recorded(1, "nan_logits") for trial in ids.values()})
    work = make(replace(CONFIG, retry="permanent"))
    assert work.tally.missing == 500
    disk.update({trial: Recorded(2, "nan_logits") for trial in ids.values()})
    assert not work.again()
    assert (work.problem, work.failed) == (None, 500)


def test_a_hopeless_model_is_given_up_with_its_commonest_error(disk):
    work = make()
    work.next_block()
    work.returned(result(19, 19))
    assert work.problem is None, "too few trials to say"
    work.lost()
    work.returned(result(181, 2))
    assert work.problem == ("21 of 200 trials failed, more than max_error_share=0.1 allows: timeout (21): late")
    assert work.over
    assert next_refs(work) is None


def test_the_first_missing_trial_carries_a_models_failure(disk):
    ids = trials(None)
    work = make()
    first = work.first_missing()
    assert first.trial_id in ids.values()
    disk[first.trial_id] = Recorded(1, "model_load_failed")
    assert work.first_missing() == replace(first, attempt=2)
    disk.update({trial: Recorded(1, None) for trial in ids.values()})
    assert work.first_missing() is None
