"""The views on stability over a handful of records and probes, with numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from taboo_cluster.analysis import valley
from taboo_cluster.analysis.flips import flip_prediction
from taboo_cluster.analysis.statistics import wilson
from taboo_cluster.records.schema import TABLES
from taboo_cluster.records.writer import PartWriter

Row = dict[str, Any]
Record = Callable[..., Row]
Later = Callable[[float], datetime]
VIEWS = ("stability", "stability_quadrants", "flip_prediction")


@pytest.fixture
def probe(later: Later) -> Record:
    """The function that makes a row of the table `stability`."""

    def make(of: Row, tcb: float | None, **more: Any) -> Row:
        """The probe of a record: `tcb` where its answer is predicted, other numbers in step with it."""
        same = {name: of[name] for name in ("trial_id", "attempt", "run_id", "model", "model_revision")}
        row = same | {"quantization": of["quantization"], "dtype": of["dtype"], "epsilon": 1.0, "probed_at": later(60)}
        row |= {"tcb_prompt": 2.0, "tcb_relative_prompt": 0.2, "entropy_prompt": 1.5, "n_tokens": 10}
        row |= {"tcb_mean": 3.0, "tcb_p10": 1.5, "tcb_min": 1.0, "tcb_saturated": 0}
        if tcb is None:
            return row | {"reason": "no answer was read in one place of the completion"} | more
        row |= {"tcb_answer": tcb, "tcb_answer_min": tcb / 2, "tcb_relative_answer": tcb / 10}
        row |= {"flip_radius_answer": tcb / 4, "flip_relative_answer": tcb / 40}
        return row | {"entropy_answer": 1 / tcb, "margin_answer": tcb, "top1_answer": 1 - 0.5 / tcb} | more

    return make


def write(run: Any, *rows: Row) -> None:
    """Write rows of the table `stability`."""
    with PartWriter(f"{run.directory}/tables/stability", f"part-{run.parts}", TABLES["stability"]) as writer:
        for row in rows:
            writer.add(row)
    run.parts += 1


def clean(run: Any, record: Record, probe: Record, items: dict[str, tuple[bool, float | None]], **more: Any) -> None:
    """Records of the clean prompt by item, right or wrong, and the probe of each."""
    records = {item: record(item, right, **more) for item, (right, _) in items.items()}
    run.write(*records.values())
    write(run, *(probe(records[item], tcb) for item, (_, tcb) in items.items()))


# --- stability ---


def test_stability_by_hand(run: Any, record: Record, probe: Record) -> None:
    a, b, c, d = (record(item, item in "ac") for item in "abcd")
    run.write(a, b, c, d, record("e", None), record("f", True))
    write(
        run,
        probe(a, 1.0, tcb_prompt=1.0, tcb_mean=2.0, tcb_p10=1.0, tcb_min=0.5, tcb_saturated=1),
        probe(b, 16.0, tcb_prompt=4.0, tcb_mean=8.0, tcb_p10=4.0, tcb_min=0.125, tcb_saturated=2, n_tokens=20),
        probe(c, 4.0, tcb_prompt=None, tcb_mean=None, tcb_p10=None, tcb_min=None, tcb_saturated=5, n_tokens=5),
        probe(d, None),
    )
    row = run.one("FROM stability")
    assert (row["condition"], row["model_revision"], row["epsilon"], row["top_k"]) == ("baseline", "r1", 1.0, None)
    # (1 * 16 * 4)^(1/3); the unknown one is counted, and so are the item in error and the one that nobody probed.
    assert row["tcb_answer"] == pytest.approx(4)
    assert (row["n"], row["n_unknown"], row["n_missing"]) == (3, 1, 2)
    assert row["most_unknown"] == "no answer was read in one place of the completion"
    assert row["tcb_answer_min"] == pytest.approx(2)
    assert row["tcb_relative"] == pytest.approx(0.4)
    assert (row["tcb_right"], row["tcb_wrong"]) == (pytest.approx(2), pytest.approx(16))
    assert (row["flip_radius"], row["flip_relative"]) == (pytest.approx(1), pytest.approx(0.1))
    assert row["entropy"] == pytest.approx((1 + 1 / 16 + 1 / 4) / 3)
    assert row["margin"] == pytest.approx(21 / 3)
    assert row["top1"] == pytest.approx((0.5 + (1 - 1 / 32) + (1 - 1 / 8)) / 3)
    # Where the answer is unknown the rest may be known: 1, 4 and 2; 2, 8 and 3; 1, 4 and 1.5; 0.5, 0.125 and 1.
    assert row["tcb_prompt"] == pytest.approx(2)
    assert row["tcb_relative_prompt"] == pytest.approx(0.2)
    assert row["entropy_prompt"] == pytest.approx(1.5)
    assert row["tcb_mean"] == pytest.approx(48 ** (1 / 3))
    assert row["tcb_p10"] == pytest.approx(6 ** (1 / 3))
    assert row["tcb_min"] == pytest.approx((1 / 16) ** (1 / 3))
    assert row["saturated_share"] == pytest.approx(8 / 45)


def test_the_interval_is_the_bootstrap_of_the_logarithms(run: Any, record: Record, probe: Record) -> None:
    """By cluster: a and b have one, in which both are drawn together."""
    clusters = {"a": "x", "b": "x", "c": "y", "d": "z"}
    records = {item: record(item, True, cluster_id=of) for item, of in clusters.items()}
    run.write(*records.values())
    write(run, *(probe(records[item], tcb) for item, tcb in {"a": 1.0, "b": 2.0, "c": 8.0, "d": 3.0}.items()))
    row = run.one("FROM stability")
    over, under = np.array([[math.log(2)], [math.log(8)], [math.log(3)]]), np.array([[2.0], [1], [1]])
    cell = run.one("SELECT cell FROM cells")["cell"]
    ((low, high),) = valley.intervals(valley.Curve(np.array([1.0]), over, under), 0, "stability", cell)
    assert low is not None
    assert high is not None
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(math.exp(low)), pytest.approx(math.exp(high)))
    assert row["ci_low"] < row["tcb_answer"] < row["ci_high"]


def test_a_tie_has_no_part_in_the_geometric_mean_of_radii(run: Any, record: Record, probe: Record) -> None:
    a, b = record("a", True), record("b", True)
    run.write(a, b)
    write(run, probe(a, 4.0), probe(b, 4.0, flip_radius_answer=0.0, flip_relative_answer=0.0))
    row = run.one("FROM stability")
    assert (row["flip_radius"], row["flip_relative"], row["n"]) == (pytest.approx(1), pytest.approx(0.1), 2)


def test_a_cell_without_any_answer_is_counted(run: Any, record: Record, probe: Record) -> None:
    clean(run, record, probe, {"a": (True, None), "b": (False, None)})
    row = run.one("FROM stability")
    assert (row["tcb_answer"], row["ci_low"], row["ci_high"], row["n"], row["n_unknown"]) == (None, None, None, 0, 2)
    assert row["tcb_prompt"] == pytest.approx(2)


def test_a_trial_that_could_not_be_probed_at_all(run: Any, record: Record, probe: Record) -> None:
    a = record("a", True)
    run.write(a)
    known = ("trial_id", "attempt", "run_id", "model", "epsilon", "probed_at")
    bare = {name: value for name, value in probe(a, None).items() if name in known}
    write(run, bare | {"reason": "memory ran out"})
    row = run.one("FROM stability")
    assert (row["n"], row["n_unknown"], row["most_unknown"]) == (0, 1, "memory ran out")
    assert (row["tcb_prompt"], row["saturated_share"]) == (None, None)


def test_the_latest_probe_counts(run: Any, record: Record, probe: Record, later: Later) -> None:
    a = record("a", True)
    run.write(a)
    write(run, probe(a, 3.0, probed_at=later(90), top_k=50), probe(a, 1.0), probe(a, 2.0, probed_at=later(80)))
    row = run.one("FROM stability")
    assert (row["tcb_answer"], row["n"], row["top_k"]) == (pytest.approx(3), 1, 50)
    write(run, probe(a, 5.0, probed_at=later(100), epsilon=2.0))
    row = run.one("FROM stability")
    assert (row["tcb_answer"], row["n"], row["epsilon"]) == (pytest.approx(5), 1, 2.0)


def test_the_probe_of_an_older_attempt_does_not_count(run: Any, record: Record, probe: Record, later: Later) -> None:
    first, again, other = record("a", True), record("a", True, attempt=2), record("b", True)
    run.write(first, other)
    write(run, probe(first, 1.0, probed_at=later(999)), probe(other, 4.0))
    assert run.one("FROM stability")["tcb_answer"] == pytest.approx(2)
    run.write(again)
    row = run.one("FROM stability")
    assert (row["tcb_answer"], row["n"], row["n_missing"]) == (pytest.approx(4), 1, 1)
    write(run, probe(again, 16.0))
    assert run.one("FROM stability")["tcb_answer"] == pytest.approx(8)


def test_the_probe_of_another_runs_completion_does_not_count(run: Any, record: Record, probe: Record) -> None:
    """One trial has one id in every run, but each run its own completion."""
    a = record("a", True)
    run.write(a)
    write(run, probe(a | {"run_id": "another"}, 7.0))
    assert run.ask("FROM stability") == []


def test_replicates_are_left_out_and_cells_are_rows(run: Any, record: Record, perturbed: Record, probe: Record) -> None:
    rows = [record("a", True), record("a", True, 0, 1), record("a", False, 1), perturbed("a", True)]
    run.write(*rows)
    write(run, *(probe(row, tcb) for row, tcb in zip(rows, (1.0, 100.0, 4.0, 9.0), strict=True)))
    found = run.ask("SELECT condition, tcb_answer, n FROM stability ORDER BY tcb_answer")
    assert [tuple(row.values()) for row in found] == [
        ("baseline", pytest.approx(1), 1), ("taboo(rank=1)", pytest.approx(4), 1), ("typos", pytest.approx(9), 1),
    ]  # fmt: skip


def test_revisions_of_one_model_are_rows_of_their_own(run: Any, record: Record, probe: Record) -> None:
    for revision, tcb in (("step1", 2.0), ("step2", 8.0)):
        a, b = (record(i, i == "a", model_revision=revision, trial_id=f"{i} {revision}") for i in "ab")
        lost = record("a", False, 1, model_revision=revision, trial_id=f"a {revision} 1")
        run.write(a, b, lost)
        write(run, probe(a, tcb), probe(b, tcb))
    found = run.ask("SELECT model_revision, tcb_answer, n FROM stability WHERE n > 0")
    assert [tuple(row.values()) for row in found] == [
        ("step1", pytest.approx(2), 2), ("step2", pytest.approx(8), 2),
    ]  # fmt: skip
    quadrants = run.ask("SELECT model_revision, quadrant, n, n_items, tcb_median FROM stability_quadrants")
    assert [tuple(row.values()) for row in quadrants] == [
        ("step1", "robust", 1, 2, 2.0), ("step1", "stubborn", 1, 2, 2.0),
        ("step2", "robust", 1, 2, 8.0), ("step2", "stubborn", 1, 2, 8.0),
    ]  # fmt: skip
    flips = run.ask("SELECT model_revision, n, n_flips FROM flip_prediction WHERE predictor = 'tcb'")
    assert [tuple(row.values()) for row in flips] == [("step1", 1, 1), ("step2", 1, 1)]


@pytest.mark.parametrize("view", VIEWS)
def test_without_any_probe_there_are_no_rows(view: str, run: Any, record: Record, perturbed: Record) -> None:
    run.write(record("a", True), perturbed("a", False), record("a", False, 1))
    assert run.ask(f"FROM {view}") == []


@pytest.mark.parametrize("view", VIEWS)
def test_benchmarks_and_prompt_styles_stay_apart(
    view: str, run: Any, record: Record, perturbed: Record, probe: Record
) -> None:
    for more in ({}, {"benchmark": "gsm8k"}, {"prompt_style": "direct"}):
        clean(run, record, probe, {"a": (True, 1.0)}, **more)
        run.write(perturbed("a", False, **more))
    found = run.ask(f"SELECT DISTINCT benchmark, prompt_style FROM {view} ORDER BY ALL")
    expected = [("arithmetic", "cot"), ("arithmetic", "direct"), ("gsm8k", "cot")]
    assert [tuple(row.values()) for row in found] == expected


# --- stability_quadrants ---

EIGHT: dict[str, tuple[bool, float | None]] = {
    "a": (True, 8.0), "b": (True, 1.0), "c": (False, 6.0), "d": (False, 2.0), "e": (True, None), "f": (False, 4.0),
    "g": (True, 4.0),
}  # fmt: skip
"""Clean: right or wrong, and the bound; the median of 1 2 4 4 6 8 is 4."""


def test_quadrants_by_hand(run: Any, record: Record, perturbed: Record, probe: Record) -> None:
    clean(run, record, probe, EIGHT)
    # Right under typos: a b c e g; under padding: a d; g fails and has no record under padding.
    run.write(
        *(perturbed(i, i in "abceg") for i in "abcdefg"),
        *(perturbed(i, i in "ad", "padding") for i in "abcdef"), perturbed("g", None, "padding"),
        *(record(i, i in "ac", 1) for i in "abcdefg"), *(record(i, i in "b", 2) for i in "abcdefg"),
    )  # fmt: skip
    found = {row["quadrant"]: row for row in run.ask("FROM stability_quadrants")}
    # Accuracy over the three variants: a 1, b 2/3, c 1/3, d 1/3, e 2/3, f 0, g 2/2. A bound at the median is high.
    assert list(found) == ["robust", "fragile", "stubborn", "uncertain", "unknown"]
    assert {name: row["n"] for name, row in found.items()} == {
        "robust": 2, "fragile": 1, "stubborn": 2, "uncertain": 1, "unknown": 1,
    }  # fmt: skip
    assert sum(row["n"] for row in found.values()) == 7
    assert sum(row["share"] for row in found.values()) == pytest.approx(1)
    for row in found.values():
        assert (row["n_items"], row["tcb_median"]) == (7, 4.0)
        assert row["share"] == pytest.approx(row["n"] / 7)
        assert (row["ci_low"], row["ci_high"]) == wilson(row["n"], 7)
    robust, fragile, stubborn = found["robust"], found["fragile"], found["stubborn"]
    assert (robust["accuracy"], robust["n_variants"]) == (1.0, 2.5)
    assert robust["tcb_answer"] == pytest.approx(math.sqrt(32))
    # a: none of two flips; g: none of one (its error is no answer)
    assert (robust["flip_rate"], robust["n_perturbed"]) == (0.0, 3)
    # At rank 1, the lowest: a stays right, g does not.
    assert (robust["taboo_retention"], robust["n_taboo"]) == (0.5, 2)
    assert (fragile["accuracy"], fragile["flip_rate"], fragile["n_perturbed"]) == (pytest.approx(2 / 3), 0.5, 2)
    assert (fragile["taboo_retention"], fragile["n_taboo"]) == (0.0, 1)
    # c and f, both wrong in the clean prompt: a flip is a right answer too, and nothing can be retained.
    assert (stubborn["flip_rate"], stubborn["n_perturbed"]) == (0.25, 4)
    assert (stubborn["taboo_retention"], stubborn["n_taboo"]) == (None, 0)
    assert stubborn["accuracy"] == pytest.approx((1 / 3 + 0) / 2)
    assert found["unknown"]["tcb_answer"] is None
    assert found["unknown"]["accuracy"] == pytest.approx(2 / 3)


def test_right_in_half_of_the_variants_is_right(run: Any, record: Record, perturbed: Record, probe: Record) -> None:
    clean(run, record, probe, {"a": (True, 1.0), "b": (False, 1.0), "c": (False, 1.0)})
    run.write(perturbed("a", False), perturbed("b", True), perturbed("c", False))
    found = run.ask("SELECT quadrant, n, accuracy FROM stability_quadrants")
    # All bounds are equal, so all are high.
    assert [tuple(row.values()) for row in found] == [("robust", 2, 0.5), ("stubborn", 1, 0.0)]


def test_the_median_of_an_even_number_lies_between(run: Any, record: Record, probe: Record) -> None:
    clean(run, record, probe, {"a": (True, 1.0), "b": (True, 2.0), "c": (True, 4.0), "d": (True, 9.0)})
    found = run.ask("SELECT quadrant, n, tcb_median FROM stability_quadrants")
    assert [tuple(row.values()) for row in found] == [("robust", 2, 3.0), ("fragile", 2, 3.0)]


def test_without_any_bound_every_item_is_unknown(run: Any, record: Record, probe: Record) -> None:
    clean(run, record, probe, {"a": (True, None), "b": (False, None)})
    row = run.one("FROM stability_quadrants")
    assert (row["quadrant"], row["n"], row["n_items"], row["share"], row["tcb_median"]) == ("unknown", 2, 2, 1.0, None)
    assert (row["flip_rate"], row["n_perturbed"], row["taboo_retention"], row["n_taboo"]) == (None, 0, None, 0)


def test_items_without_a_probe_or_a_score_are_unknown(
    run: Any, record: Record, perturbed: Record, probe: Record
) -> None:
    a, failed, late = record("a", True), record("b", None), record("d", None)
    run.write(a, failed, perturbed("b", None), record("c", True), late, perturbed("d", True))
    write(run, probe(a, 1.0), probe(late, 2.0))
    found = run.ask("SELECT quadrant, n, accuracy, n_variants, flip_rate, n_perturbed FROM stability_quadrants")
    # a and d (by its one perturbed variant; nothing flips without a clean answer); b has no score, c no bound.
    assert [tuple(row.values()) for row in found] == [
        ("robust", 1, 1.0, 1.0, None, 0), ("fragile", 1, 1.0, 1.0, None, 0), ("unknown", 2, 1.0, 0.5, None, 0),
    ]  # fmt: skip


def test_only_greedy_variants_without_taboo_make_an_item_right(run: Any, record: Record, probe: Record) -> None:
    clean(run, record, probe, {"a": (False, 1.0)})
    drawn = {"temperature": 1.0, "top_p": 1.0, "sample_seed": 0, "condition": "drawn"}
    run.write(record("a", True, 1), record("a", True, **drawn), record("a", True, 0, 1))
    row = run.one("FROM stability_quadrants")
    assert (row["quadrant"], row["accuracy"], row["n_variants"]) == ("stubborn", 0.0, 1.0)


# --- flip_prediction ---

TCB = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 3.0}


def test_flip_prediction_by_hand(run: Any, record: Record, perturbed: Record, probe: Record) -> None:
    """a to d are right in the clean prompt; under typos a and c are wrong, under padding b is."""
    records = {item: record(item, item != "e") for item in "abcde"}
    run.write(
        *records.values(),
        *(perturbed(i, i not in "ac") for i in "abcde"),
        *(perturbed(i, i not in "b", "padding") for i in "abc"), perturbed("d", None, "padding"),
    )  # fmt: skip
    # The entropy is the same everywhere; e is wrong in the clean prompt.
    write(run, *(probe(records[i], tcb, entropy_answer=1.0) for i, tcb in {**TCB, "e": 0.1}.items()))
    rows = run.ask("FROM flip_prediction")
    assert [row["predictor"] for row in rows] == ["tcb", "flip_radius", "margin", "top1", "entropy"]
    found = {row["predictor"]: row for row in rows}
    for row in rows:
        assert (row["kind"], row["taboo_rank"], row["n"], row["n_flips"], row["n_unknown"]) == (
            "perturbation", None, 7, 3, 0,
        )  # fmt: skip
        assert row["reason"] is None
        assert "condition" not in row
    # Flips a b c, stays a b c d, by falling bound. a: as low as a, lower than b, c, d. b: 1/2 + c, d. c: 1/2.
    assert found["tcb"]["auroc"] == pytest.approx((3.5 + 2.5 + 0.5) / 12)
    assert found["entropy"]["auroc"] == 0.5
    for name in ("flip_radius", "margin", "top1"):  # in step with the bound
        assert found[name]["auroc"] == found["tcb"]["auroc"]
    assert found["tcb"]["delta"] == 0.0
    assert found["entropy"]["delta"] == pytest.approx(0.5 - 6.5 / 12)


def test_a_flip_is_expected_where_the_entropy_is_high(run: Any, record: Record, probe: Record) -> None:
    clean(run, record, probe, {"a": (True, 1.0), "b": (True, 2.0)})  # the entropies are 1 and 1/2
    run.write(record("a", False, 1), record("b", True, 1))
    assert {row["auroc"] for row in run.ask("FROM flip_prediction")} == {1.0}


def test_its_intervals_are_the_bootstraps(run: Any, record: Record, perturbed: Record, probe: Record) -> None:
    rng = np.random.default_rng(1)
    items = [f"{i:02}" for i in range(30)]
    tcb, flipped = rng.lognormal(size=30), rng.random(30) < 0.4
    numbers = {"entropy_answer": rng.random(30), "margin_answer": rng.random(30), "top1_answer": rng.random(30)}
    numbers["flip_radius_answer"] = rng.random(30)
    records = [record(item, True, cluster_id=str(int(item) // 2)) for item in items]
    run.write(*records, *(perturbed(i, not flipped[int(i)], cluster_id=str(int(i) // 2)) for i in items))
    write(run, *(probe(r, tcb[i], **{n: v[i] for n, v in numbers.items()}) for i, r in enumerate(records)))
    scores = {"entropy": numbers["entropy_answer"], "tcb": -np.log(tcb)}
    scores |= {name: -numbers[f"{name}_answer"] for name in ("margin", "top1", "flip_radius")}
    clusters = np.unique([str(int(item) // 2) for item in items], return_inverse=True)[1]
    cell = run.one("SELECT cell FROM cells WHERE is_baseline")["cell"]
    expected = flip_prediction(scores, flipped, clusters, 0, "flip_prediction", f"{cell} perturbation ")
    for row in run.ask("FROM flip_prediction"):
        of = expected[row["predictor"]]
        assert row["auroc"] == pytest.approx(of.auroc)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(of.interval)
        assert row["delta"] == pytest.approx(of.delta)
        assert (row["delta_ci_low"], row["delta_ci_high"]) == pytest.approx(of.delta_interval)


def test_each_rank_is_a_kind_of_its_own_and_stacks_are_pooled(
    run: Any, record: Record, perturbed: Record, probe: Record
) -> None:
    clean(run, record, probe, {i: (True, tcb) for i, tcb in TCB.items()})
    drawn = {"temperature": 1.0, "top_p": 1.0, "sample_seed": 0, "condition": "drawn"}
    run.write(
        *(record(i, i in "cd", 1) for i in "abcd"), *(record(i, i in "d", 2) for i in "abcd"),
        *(record(i, False, 1, taboo_trigger="mid_word", condition="mid_word") for i in "ab"),
        *(perturbed(i, i in "cd", stack) for i in "abcd" for stack in ("typos", "padding")),
        # neither a perturbation alone nor taboo alone; drawn; replicate 1
        perturbed("a", True, taboo_rank=1, condition="both"), record("a", True, **drawn), record("a", True, 1, 1),
    )  # fmt: skip
    found = run.ask("SELECT kind, taboo_rank, n, n_flips, auroc FROM flip_prediction WHERE predictor = 'tcb'")
    assert [tuple(row.values()) for row in found] == [
        ("perturbation", None, 8, 4, 1.0), ("taboo", 1, 6, 4, 1.0), ("taboo", 2, 4, 3, pytest.approx(2 / 3)),
    ]  # fmt: skip


@pytest.mark.parametrize(("right", "reason"), [(True, "none flips"), (False, "all flip")])
def test_one_class_is_null_with_a_reason(right: bool, reason: str, run: Any, record: Record, probe: Record) -> None:
    clean(run, record, probe, {i: (True, tcb) for i, tcb in TCB.items()})
    run.write(*(record(i, right, 1) for i in "abcd"))
    rows = run.ask("FROM flip_prediction")
    assert len(rows) == 5
    for row in rows:
        assert (row["auroc"], row["ci_low"], row["delta"], row["delta_ci_low"]) == (None, None, None, None)
        assert (row["n"], row["n_flips"], row["reason"]) == (4, 0 if right else 4, reason)


def test_trials_without_a_number_are_counted(run: Any, record: Record, probe: Record) -> None:
    records = {item: record(item, True) for item in "abcdef"}
    run.write(*records.values(), *(record(i, i not in "ad", 1) for i in "abcdef"))
    write(
        run, probe(records["a"], 1.0), probe(records["b"], 2.0), probe(records["c"], None),
        probe(records["d"], 2.0, flip_radius_answer=None), probe(records["e"], 2.0, entropy_answer=None),
    )  # fmt: skip
    # f was not probed: it has no part in this, as in `stability`, where it is missing
    row = run.one("FROM flip_prediction WHERE predictor = 'tcb'")
    assert (row["n"], row["n_flips"], row["n_unknown"], row["auroc"]) == (2, 1, 3, 1.0)
