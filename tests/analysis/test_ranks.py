"""Rank correlations: the reported values, scipy, and what no effect looks like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.analysis.ranks import kendall, places, rank_intervals, shuffled, spearman

PAIRS = st.integers(3, 9).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in "xy"))
)


def one(of: Any, first: Any, second: Any) -> float:
    return float(of(np.array([first], dtype=float), np.array([second], dtype=float))[0])


@pytest.mark.parametrize(
    ("first", "second", "rho"),
    [
        ([1, 2, 2, 4], [1, 2, 3, 4], 0.948683),
        ([1, 1, 1, 1, 2], [5, 4, 3, 2, 1], -0.707107),
        ([0.8, 0.8, 0.7, 0.6], [0.75, 0.7, 0.7, 0.5], 0.833333),
        ([1, 2, 3], [3, 2, 1], -1),
        ([5, 6, 7], [50, 60, 70], 1),
    ],
)
def test_h3_spearman_takes_average_ranks(first: list[float], second: list[float], rho: float) -> None:
    assert one(spearman, first, second) == pytest.approx(rho, abs=5e-7)


def test_h3_a_constant_side_or_too_few_models_have_no_correlation() -> None:
    for of in (spearman, kendall):
        assert np.isnan(one(of, [1, 1, 1], [1, 2, 3]))
        assert np.isnan(one(of, [1, 2, 3], [2, 2, 2]))
        assert np.isnan(one(of, [1, 2], [1, 2]))
        assert np.isnan(one(of, [1], [1]))


def test_kendall_tau_b_by_hand() -> None:
    # Pairs of [1, 2, 2, 4]: 5 not tied; of [1, 2, 3, 4]: 6; concordant 5.
    assert one(kendall, [1, 2, 2, 4], [1, 2, 3, 4]) == pytest.approx(5 / np.sqrt(30))
    # One pair of six reversed: (5 - 1) / 6.
    assert one(kendall, [1, 2, 3, 4], [2, 1, 3, 4]) == pytest.approx(4 / 6)


@given(PAIRS)
def test_correlations_equal_scipys(pair: tuple[list[int], list[int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    first, second = pair
    if min(len(set(side)) for side in pair) == 1:
        assert np.isnan(one(spearman, first, second))
        assert np.isnan(one(kendall, first, second))
    else:
        assert one(spearman, first, second) == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)
        assert one(kendall, first, second) == pytest.approx(stats.kendalltau(first, second).statistic, abs=1e-12)


@given(PAIRS)
def test_correlations_are_symmetric_and_bounded(pair: tuple[list[int], list[int]]) -> None:
    for of in (spearman, kendall):
        value = one(of, *pair)
        assert np.isnan(value) or -1 <= value <= 1
        assert one(of, pair[1], pair[0]) == pytest.approx(value, nan_ok=True)
        assert one(of, pair[0], [-score for score in pair[1]]) == pytest.approx(-value, nan_ok=True)


def test_resamples_are_apart() -> None:
    first = np.array([[1.0, 2, 3], [3, 2, 1], [1, 1, 1]])
    second = np.array([[1.0, 2, 3], [1, 2, 3], [1, 2, 3]])
    assert spearman(first, second)[:2].tolist() == [1.0, -1.0]
    assert np.isnan(spearman(first, second)[2])


def test_tied_models_share_the_better_place() -> None:
    assert places(np.array([[0.5, 0.7, 0.7, 0.1], [1.0, 1.0, 1.0, 1.0]])).tolist() == [[3, 1, 1, 4], [1, 1, 1, 1]]


def test_intervals_of_places_are_places() -> None:
    scores = np.array([[3.0, 2, 1]] * 90 + [[2.0, 3, 1]] * 10)
    found = rank_intervals(np.array([[3.0, 2, 1]] * 100), scores)
    assert found.rank == ((1.0, 2.0), (1.0, 2.0), (3.0, 3.0))
    assert found.dropped == 0
    assert found.spearman == (0.5, 1.0)


def test_shuffled_replicates_without_churn_never_change_the_order() -> None:
    found = shuffled([30, 20, 10], [0, 0, 0], 0, "view", "cell")
    assert (found.order_changed, found.flip_rate, found.spearman, found.kendall) == (0.0, 0.0, 1.0, 1.0)


def test_shuffled_replicates_of_two_tied_models() -> None:
    # 5 and 5 items in both, one discordant each: right 5 or 6 on either side; of four equally likely cases two are tied
    # on the first side, and in the other two the order reverses.
    found = shuffled([5, 5], [1, 1], 0, "view", "cell")
    assert found.order_changed == pytest.approx(0.5, abs=0.04)
    assert (found.flip_rate, found.spearman) == (1.0, None)


def test_shuffled_replicates_of_one_model_or_of_models_always_tied() -> None:
    assert shuffled([5], [1], 0).order_changed is None
    assert shuffled([5, 5], [0, 0], 0).flip_rate is None
