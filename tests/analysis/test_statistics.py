from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.analysis.statistics import (
    benjamini_hochberg,
    bootstrap_gap,
    bootstrap_mean,
    bootstrap_ratio,
    detectable_effect,
    mcnemar,
    newcombe,
    resample,
    resample_rows,
    wilson,
)


def test_h1_wilson_of_none_right() -> None:
    assert wilson(0, 50) == (0.0, pytest.approx(0.071348, abs=5e-7))


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 10, 0, 0.277533),
        (10, 10, 0.722467, 1),
        (5, 10, 0.236593, 0.763407),
        (0, 1, 0, 0.793451),
        (1, 1, 0.206549, 1),
        (82, 164, 0.424357, 0.575643),
        (0, 1319, 0, 0.002904),
    ],
)
def test_h2_wilson_values(k: int, n: int, low: float, high: float) -> None:
    assert wilson(k, n) == (pytest.approx(low, abs=5e-7), pytest.approx(high, abs=5e-7))


def test_h2_wilson_of_nothing_is_null() -> None:
    assert wilson(0, 0) == (None, None)


@given(st.integers(0, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))).filter(lambda kn: kn[1] > 0))
def test_wilson_holds_the_share_and_stays_in_bounds(kn: tuple[int, int]) -> None:
    k, n = kn
    low, high = wilson(k, n)
    assert low is not None
    assert high is not None
    assert 0.0 <= low <= k / n <= high <= 1.0
    assert (low == 0.0) == (k == 0)
    assert (high == 1.0) == (k == n)


def test_wilson_refuses_what_is_no_proportion() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)


def test_newcombe_published_examples() -> None:
    # Newcombe 1998, Statistics in Medicine 17:873, table II, method 10: examples (a), (g), (h)
    assert newcombe(56, 70, 48, 80) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))
    assert newcombe(10, 10, 0, 20) == (pytest.approx(0.6791, abs=5e-5), 1.0)
    assert newcombe(10, 10, 0, 10) == (pytest.approx(0.6075, abs=5e-5), 1.0)
    assert newcombe(0, 0, 1, 2) == (None, None)


@pytest.mark.parametrize(
    ("b", "c", "p"), [(10, 2, 0.038574), (6, 0, 0.03125), (25, 10, 0.016674), (5, 5, 1), (0, 0, 1)]
)
def test_h4_mcnemar_values(b: int, c: int, p: float) -> None:
    assert mcnemar(b, c) == pytest.approx(p, abs=5e-7)
    assert mcnemar(c, b) == mcnemar(b, c)


def test_mcnemar_of_thousands_is_the_exact_sum() -> None:
    n, k = 3000, 1450
    assert mcnemar(k, n - k) == 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n


def test_benjamini_hochberg_by_hand() -> None:
    # sorted 0.005 0.01 0.03 0.04 times 4/rank: 0.02 0.02 0.04 0.04
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    # the least over all larger p: 0.04 * 3/2 = 0.06 gives way to 0.05 * 3/3
    assert benjamini_hochberg([0.04, 0.05, 0.01]) == pytest.approx([0.05, 0.05, 0.03])
    assert benjamini_hochberg([]) == []
    assert benjamini_hochberg([1.0]) == [1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_q_is_at_least_p_and_keeps_the_order(p_values: list[float]) -> None:
    q_values = benjamini_hochberg(p_values)
    assert all(p <= q + 1e-15 and q <= 1 for p, q in zip(p_values, q_values, strict=True))
    ordered = [q for _, q in sorted(zip(p_values, q_values, strict=True))]
    assert ordered == sorted(ordered)


def test_detectable_effect() -> None:
    assert detectable_effect(0.1) == pytest.approx(0.28)


def test_resamples_draw_whole_clusters() -> None:
    # One cluster of three right answers, one of three wrong ones: only 0, 3 or 6 of 6 can come out.
    sums = resample({(3, 3): 1, (0, 3): 1}, 0, "view", "cell")
    assert sums.shape == (2000, 2)
    assert set(sums[:, 0]) == {0.0, 3.0, 6.0}
    assert set(sums[:, 1]) == {6.0}


def test_bootstrap_of_items_has_the_binomial_spread() -> None:
    found = bootstrap_ratio({(1, 1): 30, (0, 1): 70}, 0, "view", "cell")
    assert found.se == pytest.approx(math.sqrt(0.3 * 0.7 / 100), rel=0.06)
    assert found.low == pytest.approx(0.21, abs=0.011)
    assert found.high == pytest.approx(0.39, abs=0.011)
    assert found.p == pytest.approx(2 / 2001)
    assert found.dropped == 0


def test_clusters_widen_the_interval() -> None:
    items = bootstrap_ratio({(1, 1): 50, (0, 1): 50}, 0)
    clusters = bootstrap_ratio({(10, 10): 5, (0, 10): 5}, 0)
    assert items.se is not None
    assert clusters.se is not None
    assert clusters.se / items.se == pytest.approx(math.sqrt(10), rel=0.1)


def test_seed_names_the_draws_and_order_does_not_matter() -> None:
    rows = {(1, 1): 3, (0, 1): 4, (0, 0): 2}
    assert bootstrap_ratio(rows, 1, "v", "c") == bootstrap_ratio(dict(reversed(rows.items())), 1, "v", "c")
    assert not np.array_equal(resample(rows, 1, "v", "c"), resample(rows, 2, "v", "c"))
    assert not np.array_equal(resample(rows, 1, "v", "c"), resample(rows, 1, "v", "d"))


def test_no_global_random_state() -> None:
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # type: ignore[index,union-attr]  # noqa: NPY002
    bootstrap_ratio({(1, 1): 3}, 0)
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index]  # noqa: NPY002


def test_zero_denominators_are_dropped_and_counted() -> None:
    # Two clusters, one without a baseline-right item: a quarter of the resamples draws that one twice.
    found = bootstrap_ratio({(1, 1): 1, (0, 0): 1}, 0)
    assert found.dropped == pytest.approx(500, abs=70)
    assert (found.low, found.high, found.se) == (1.0, 1.0, 0.0)
    nothing = bootstrap_ratio({(0, 0): 4}, 0)
    assert (nothing.low, nothing.high, nothing.se, nothing.p, nothing.dropped) == (None, None, None, None, 2000)


def test_gap_recomputes_all_four_counts() -> None:
    # Every cluster alike: each resample has the same four shares, 1/2 - 1/4.
    found = bootstrap_gap({(1, 2, 1, 4): 7}, 0)
    assert (found.low, found.high, found.se) == (0.25, 0.25, 0.0)
    # p counts resamples on the far side of 0: none of 2000, so 2 * 1 / 2001.
    assert found.p == pytest.approx(2 / 2001)


def test_gap_of_nothing_has_p_1() -> None:
    found = bootstrap_gap({(1, 2, 1, 2): 7}, 0)
    assert (found.low, found.high, found.p) == (0.0, 0.0, 1.0)


@given(st.dictionaries(st.tuples(st.integers(0, 3), st.integers(3, 5)), st.integers(1, 50), min_size=1, max_size=6))
def test_bootstrap_stays_in_bounds_and_repeats_itself(clusters: dict[tuple[int, ...], int]) -> None:
    found = bootstrap_ratio(clusters, 3, "view", "cell")
    assert found == bootstrap_ratio(clusters, 3, "view", "cell")
    assert found.low is not None
    assert found.high is not None
    assert 0.0 <= found.low <= found.high <= 1.0


def test_resampled_rows_are_whole_clusters() -> None:
    sums = resample_rows(np.array([[3.0, 3.0], [0.0, 3.0]]), 0, "view", "cell")
    assert sums.shape == (2000, 2)
    assert set(sums[:, 0]) == {0.0, 3.0, 6.0}
    assert set(sums[:, 1]) == {6.0}


def test_resampled_rows_spread_as_exchangeable_clusters_do() -> None:
    # More than one slice of resamples; the same clusters as in `resample`, written out.
    rows = np.array([[1.0, 1.0]] * 30 + [[0.0, 1.0]] * 70)
    shares = resample_rows(rows, 0, "view", "cell")[:, 0] / 100
    assert shares.mean() == pytest.approx(0.3, abs=0.004)
    assert shares.std() == pytest.approx(math.sqrt(0.3 * 0.7 / 100), rel=0.06)
    assert np.array_equal(shares, resample_rows(rows, 0, "view", "cell")[:, 0] / 100)
    assert not np.array_equal(shares, resample_rows(rows, 1, "view", "cell")[:, 0] / 100)


def test_bootstrap_mean_of_seeds_weighs_them_alike() -> None:
    # Every cluster alike: 1/2 for the one seed, 1/4 for the other, whatever their denominators.
    found = bootstrap_mean(np.array([[[1, 2], [2, 8]]] * 5, dtype=float), 0)
    assert (found.low, found.high, found.se, found.dropped) == (0.375, 0.375, 0.0, 0)


def test_seeds_of_a_cluster_are_drawn_together() -> None:
    # Two seeds that agree on every item say no more than one: the interval must not shrink.
    once = np.array([[[1, 1]]] * 30 + [[[0, 1]]] * 70, dtype=float)
    one, two = bootstrap_mean(once, 0, "v"), bootstrap_mean(np.repeat(once, 2, axis=1), 0, "v")
    assert one.se is not None
    assert one.se == pytest.approx(math.sqrt(0.3 * 0.7 / 100), rel=0.06)
    assert two.se == pytest.approx(one.se)


def test_a_seed_without_denominator_drops_the_resample() -> None:
    # The second seed has one of the two clusters: missing in a quarter of the resamples.
    found = bootstrap_mean(np.array([[[1, 1], [1, 1]], [[0, 1], [0, 0]]], dtype=float), 0)
    assert found.dropped == pytest.approx(500, abs=70)
