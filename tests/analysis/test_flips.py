"""AUROC and its bootstrap, by hand and against another implementation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.analysis import flips
from taboo_cluster.analysis.flips import Auroc, auroc, flip_prediction
from taboo_cluster.analysis.statistics import Floats


def one(scores: list[float], flipped: list[bool], times: list[float] | None = None) -> float:
    """The AUROC of one resample."""
    weights = np.array([times or [1.0] * len(scores)])
    (found,) = auroc(np.array(scores, dtype=np.float64), np.array(flipped), weights)
    return float(found)


def by_pairs(scores: list[float], flipped: list[bool]) -> float:
    """Every flip beside every stay."""
    pairs = [(a, b) for (a, x), (b, y) in itertools.product(zip(scores, flipped, strict=True), repeat=2) if x and not y]
    return sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)


def test_by_hand() -> None:
    # Flips 3 and 1, stays 2 and 0: won 2 + 1 of 4 pairs.
    assert one([3, 1, 2, 0], [True, True, False, False]) == 0.75
    assert one([2, 3, 0, 1], [True, True, False, False]) == 1.0
    assert one([0, 1, 2, 3], [True, True, False, False]) == 0.0


def test_ties_count_half() -> None:
    assert one([1, 1, 1], [True, False, False]) == 0.5
    # Flip 1: half of the stay 1, all of the stay 0. Flip 2: all of both.
    assert one([1, 2, 1, 0], [True, True, False, False]) == (0.5 + 1 + 1 + 1) / 4


def test_one_class_has_no_value() -> None:
    assert math.isnan(one([1, 2], [True, True]))
    assert math.isnan(one([1, 2], [False, False]))
    # a resample that drew no trial of one class
    assert math.isnan(one([1, 2], [True, False], [0, 2]))


def test_a_weight_is_a_trial_repeated() -> None:
    assert one([3, 1, 2, 0], [True, True, False, False], [1, 3, 2, 0]) == one(
        [3, 1, 1, 1, 2, 2], [True] * 4 + [False] * 2
    )


def test_resamples_are_independent_of_each_other() -> None:
    scores, flipped = np.array([3.0, 1, 2, 0]), np.array([True, True, False, False])
    times = np.array([[1.0, 1, 1, 1], [0, 2, 1, 1], [2, 0, 0, 0]])
    found = auroc(scores, flipped, times)
    assert found[:2].tolist() == [0.75, 0.5]
    assert math.isnan(found[2])


SCORES = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=40).filter(
    lambda rows: len({flip for _, flip in rows}) == 2
)


@given(SCORES)
def test_equal_to_counting_pairs(rows: list[tuple[int, bool]]) -> None:
    scores, flipped = [float(score) for score, _ in rows], [flip for _, flip in rows]
    assert one(scores, flipped) == pytest.approx(by_pairs(scores, flipped))
    reversed_ = one([-score for score in scores], flipped)
    assert one(scores, flipped) + reversed_ == pytest.approx(1)


@given(SCORES, st.data())
def test_equal_to_counting_pairs_of_repeated_trials(rows: list[tuple[int, bool]], data: st.DataObject) -> None:
    times = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    repeated = [row for row, count in zip(rows, times, strict=True) for _ in range(count)]
    found = one([float(s) for s, _ in rows], [f for _, f in rows], [float(count) for count in times])
    assert found == pytest.approx(by_pairs([float(s) for s, _ in repeated], [f for _, f in repeated]))


@pytest.mark.parametrize("decimals", [0, 1, 12])
def test_equal_to_scipys_rank_sum(decimals: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    rng = np.random.default_rng(decimals)
    flipped = rng.random(300) < 0.3
    scores = np.round(rng.normal(size=300) + flipped, decimals)
    expected = stats.mannwhitneyu(scores[flipped], scores[~flipped]).statistic / (flipped.sum() * (~flipped).sum())
    assert one(scores.tolist(), flipped.tolist()) == pytest.approx(expected, abs=1e-12)


def example(n: int = 60) -> tuple[dict[str, Floats], npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Two trials of each cluster; `good` says something of flips, `noise` nothing, `better` a little more."""
    rng = np.random.default_rng(5)
    flipped = rng.random(n) < 0.4
    good = rng.normal(size=n) + flipped
    scores = {"good": good, "noise": rng.normal(size=n), "better": good + 0.8 * flipped}
    return scores, flipped, np.arange(n) // 2


def test_delta_is_against_the_best_of_the_others() -> None:
    scores, flipped, clusters = example()
    found = flip_prediction(scores, flipped, clusters, "seed")
    value = {name: one(list(given), flipped.tolist()) for name, given in scores.items()}
    assert {name: of.auroc for name, of in found.items()} == pytest.approx(value)
    assert value["better"] > value["good"] > value["noise"]
    assert found["better"].delta == pytest.approx(value["better"] - value["good"])
    assert found["good"].delta == pytest.approx(value["good"] - value["better"])
    assert found["noise"].delta == pytest.approx(value["noise"] - value["better"])
    for of in found.values():
        assert of.auroc is not None
        assert of.delta is not None
        assert within(of.auroc, of.interval)
        assert within(of.delta, of.delta_interval)
    # The best of the others is chosen anew in each resample: the leads of two predictors are not mirror images.
    low, high = found["better"].delta_interval
    assert low is not None
    assert high is not None
    assert low < high


def within(value: float, interval: tuple[float | None, float | None]) -> bool:
    low, high = interval
    return low is not None and high is not None and low <= value <= high


def test_the_intervals_are_those_of_the_seed() -> None:
    scores, flipped, clusters = example()
    first = flip_prediction(scores, flipped, clusters, 0, "view", "cell")
    assert flip_prediction(scores, flipped, clusters, 0, "view", "cell") == first
    other = flip_prediction(scores, flipped, clusters, 0, "view", "another cell")
    assert other["good"].auroc == first["good"].auroc
    assert other["good"].interval != first["good"].interval
    # what others predict moves no interval
    assert flip_prediction({"good": scores["good"]}, flipped, clusters, 0, "view", "cell")["good"].interval == (
        first["good"].interval
    )


def test_clusters_are_drawn_whole() -> None:
    """In one cluster of all trials every resample is the whole."""
    scores, flipped, _ = example()
    found = flip_prediction(scores, flipped, np.zeros(len(flipped), dtype=np.int64), "seed")
    assert found["good"].interval == (found["good"].auroc, found["good"].auroc)
    assert found["good"].delta_interval == (found["good"].delta, found["good"].delta)


def test_one_class_and_no_other_predictor() -> None:
    nothing = Auroc(None, (None, None), None, (None, None))
    scores, _, clusters = example()
    found = flip_prediction(scores, np.zeros(60, dtype=bool), clusters, "seed")
    assert found == dict.fromkeys(scores, nothing)
    alone = flip_prediction({"good": scores["good"]}, example()[1], clusters, "seed")["good"]
    assert alone.auroc is not None
    assert (alone.delta, alone.delta_interval) == (None, (None, None))


def test_resamples_of_one_class_are_left_out() -> None:
    """One flip among three trials: a third of the resamples and more lack it, the rest say something."""
    found = flip_prediction({"x": np.array([1.0, 2, 0])}, np.array([True, False, False]), np.arange(3), "seed")["x"]
    assert found.auroc == 0.5
    assert found.interval == (0.0, 1.0)


def test_resamples_in_slices_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(4)
    scores = {"a": draw.normal(size=30), "b": draw.normal(size=30)}
    flipped, clusters = draw.random(30) < 0.4, np.arange(30) // 2
    whole = flip_prediction(scores, flipped, clusters, 0, "view", "cell")
    monkeypatch.setattr(flips, "CELLS", 7 * 30)
    assert flip_prediction(scores, flipped, clusters, 0, "view", "cell") == whole
