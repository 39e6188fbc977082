"""Curves over levels of fragmentation: every number worked out by hand, and simulated curves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.analysis.answers import HALVES
from taboo_cluster.analysis.statistics import Floats
from taboo_cluster.analysis.valley import Curve, Depth, Peak, Shape, cross_fitted_depth, depth, intervals, peak, shape

SEED = (0, "view", "cell")
ELEVEN = np.arange(11) / 10


def curve(places: list[float], numerator: list[list[float]], denominator: list[list[float]] | float = 1) -> Curve:
    """Rows are documents."""
    over = np.array(numerator, dtype=np.float64)
    return Curve(np.array(places), over, np.broadcast_to(np.array(denominator, dtype=np.float64), over.shape).copy())


def alike(values: list[float], documents: int = 4) -> Curve:
    """Documents that do not differ, at equally distant levels from 0 to 1."""
    return curve(list(np.linspace(0, 1, len(values))), [values] * documents)


# --- values ---


def test_a_value_is_pooled_over_documents() -> None:
    # (2 + 2) / (2 + 8), not the mean of 1 and 1/4; 0/0 is nothing.
    found = curve([0, 0.5, 1], [[2, 0, 1], [2, 0, 0]], [[2, 0, 4], [8, 0, 4]]).values
    assert found[0] == 0.4
    assert np.isnan(found[1])
    assert found[2] == 0.125


def test_intervals_are_those_of_documents() -> None:
    # Two documents, of values 0 and 1: a quarter of the draws takes either one alone.
    assert intervals(curve([0], [[0], [1]]), *SEED) == [(0.0, 1.0)]
    assert intervals(alike([0.5, 0.25]), *SEED) == [(0.5, 0.5), (0.25, 0.25)]
    # Resamples are pooled again: 3 of 3 lines and 0 of 1 can only give 1, 3/4 and 0.
    assert intervals(curve([0], [[3], [0]], [[3], [1]]), *SEED) == [(0.0, 1.0)]


def test_one_document_has_no_interval_and_0_by_0_neither() -> None:
    assert intervals(curve([0, 1], [[1, 0]]), *SEED) == [(None, None), (None, None)]
    assert intervals(curve([0, 1], [[0, 1], [0, 1]], [[0, 1], [0, 1]]), *SEED) == [(None, None), (1.0, 1.0)]


def test_another_level_does_not_move_an_interval() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, (20, 3))
    two, three = curve([0, 1], values[:, [0, 2]].tolist()), curve([0, 0.5, 1], values.tolist())
    assert intervals(two, *SEED) == intervals(three, *SEED)[::2]
    assert intervals(two, *SEED) != intervals(two, 1, "view", "cell")


# --- U-shaped ---


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.8, 0.5, 0.8], True),
        ([0.8, 0.5, 0.5], False),
        ([0.5, 0.5, 0.8], False),
        ([0.5, 0.8, 0.5], False),
        ([0.5, 0.5, 0.5], False),
        ([0.1, 0.1, 0.1, 0.1], False),
        ([0.8, 0.7, 0.6, 0.7], True),
        # Each end is above another interior level only: no level lies below both.
        ([0.5, 0.4, 0.3, 0.2, 0.1], False),
        ([0.5, 0.8, 0.4, 0.9, 0.45], True),
    ],
)
def test_where_no_resample_moves_a_difference_is_its_own_bound(values: list[float], expected: bool) -> None:
    assert shape(alike(values), *SEED) == Shape(expected)


def test_both_differences_must_hold_at_one_level() -> None:
    # F(0) is surely 0.1 above the first inner level and F(1) above the second; each other difference is 0.1 too, with
    # a standard error of 0.15.
    rows = [[x, x - 0.1, y - 0.1, y] for x in (0.2, 0.8) for y in (0.2, 0.8)] * 2
    assert shape(curve([0, 0.4, 0.6, 1], rows), *SEED) == Shape(False)


def test_the_bound_by_hand() -> None:
    # Half of 200 documents: 1 at the inner level, the others 0; 0.62 at both ends. Both differences are 0.12, their
    # standard error is 0.5 / sqrt(200) = 0.035, and the two move together: the quantile is 1.645, the bound 0.062.
    documents = [[0.62, 1, 0.62], [0.62, 0, 0.62]] * 100
    assert shape(curve([0, 0.5, 1], documents), *SEED) == Shape(True)
    # At 0.55 the bound is 0.05 - 0.058.
    assert shape(curve([0, 0.5, 1], [[0.55, d[1], 0.55] for d in documents]), *SEED) == Shape(False)


def test_more_levels_need_a_greater_difference() -> None:
    # The same level among eight others, each with as much noise of its own: the quantile is above 2.2.
    rng = np.random.default_rng(5)
    noise = rng.permuted(np.tile([0.0, 1.0], (9, 100)), axis=1).T
    ends = np.full((200, 1), 0.572)
    alone = Curve(np.array([0, 0.5, 1]), np.hstack([ends, noise[:, :1], ends]), np.ones((200, 3)))
    among = Curve(ELEVEN, np.hstack([ends, noise, ends]), np.ones((200, 11)))
    assert shape(alone, *SEED).u_shaped is True
    assert shape(among, *SEED).u_shaped is False


def test_some_differences_move_and_some_do_not() -> None:
    # The ends and the first inner level are certain, the second is noise.
    rows = [[0.8, 0.5, value, 0.8] for value in (0.1, 0.9, 0.4, 0.6, 0.2, 0.8)]
    assert shape(curve([0, 0.3, 0.6, 1], rows), *SEED) == Shape(True)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (alike([0.8, 0.5, 0.8], 1), "fewer than two documents"),
        (curve([0.1, 0.5, 1], [[1, 0, 1]] * 3), "no level at p = 0"),
        (curve([0, 0.5, 0.9], [[1, 0, 1]] * 3), "no level at p = 1"),
        (curve([0, 1], [[1, 1]] * 3), "no level between p = 0 and p = 1"),
        (curve([0, 0.5, 1], [[0, 0, 1]] * 3, [[0, 1, 1]] * 3), "no value at p = 0 or p = 1"),
        (curve([0, 0.5, 1], [[1, 0, 1]] * 3, [[1, 0, 1]] * 3), "no level between p = 0 and p = 1"),
    ],
)
def test_where_a_shape_cannot_be_told(made: Curve, reason: str) -> None:
    assert shape(made, *SEED) == Shape(None, reason)


def test_two_levels_at_one_place_and_the_first_is_the_clean_text() -> None:
    assert shape(curve([0, 0, 0.5, 1], [[0.8, 0.1, 0.5, 0.8]] * 3), *SEED) == Shape(True)
    assert depth(curve([0, 0, 0.5, 1], [[0.8, 0.6, 0.5, 0.8]] * 3)).depth == pytest.approx(0.3)


# --- depth, recovery, location ---


def test_depth_by_hand() -> None:
    found = depth(curve([0, 0.25, 0.5, 1], [[3, 1, 1, 2], [3, 1, 3, 4]], [[4] * 4] * 2))
    assert found == Depth(depth=0.75 - 0.25, recovery=0.75 - 0.25, location=0.25)


def test_depth_at_ties_ends_and_where_something_is_missing() -> None:
    assert depth(alike([0.75, 0.25, 0.25, 0.5, 0.5])) == Depth(0.5, 0.25, 0.25)
    assert depth(alike([0.75, 0.5, 0.25])) == Depth(0.5, 0.0, 1.0)
    assert depth(alike([0.5, 0.5, 0.5])) == Depth(0.0, 0.0, 0.0)
    assert depth(curve([0, 0.5], [[1, 0]])) == Depth(1.0, None, 0.5)
    assert depth(curve([0.5, 1], [[0, 1]])) == Depth(None, 1.0, 0.5)
    assert depth(curve([0, 0.5, 1], [[1, 0, 1]], [[1, 0, 2]])) == Depth(0.5, 0.0, 1.0)
    assert depth(curve([0, 1], [[0, 0]], 0)) == Depth()


def test_rounding_makes_no_minimum() -> None:
    assert 0.1 + 0.2 > 0.3
    assert depth(alike([1.0, 0.1 + 0.2, 0.3, 1.0, 1.0], 1)).location == 0.25
    assert peak(alike([1, 1, 0, 1, 1], 2), alike([0, 0.3, 0.1 + 0.2, 0, 0], 2), *SEED) == Peak(0.25, 1.0)


def test_cross_fitting_by_hand() -> None:
    # Two documents: each is a half. The one is lowest at 0.25, where the other has 0.5, and the other way round.
    found = cross_fitted_depth(curve([0, 0.25, 0.75, 1], [[1, 0.1, 0.7, 0.9], [0.8, 0.5, 0.2, 0.6]]), *SEED)
    assert found.depth == pytest.approx(((0.8 - 0.5) + (1 - 0.7)) / 2)
    assert found.recovery == pytest.approx(((0.6 - 0.5) + (0.9 - 0.7)) / 2)
    assert found.location == pytest.approx((0.25 + 0.75) / 2)


def test_cross_fitting_leaves_out_a_half_without_a_value() -> None:
    # With three documents a half is one document, or the two others. Only the last has a denominator at 0.5.
    rows, counts = [[1, 0, 1]] * 3, [[1, 0, 1], [1, 0, 1], [1, 1, 1]]
    assert cross_fitted_depth(curve([0, 0.5, 1], rows, counts), *SEED) == Depth()
    assert cross_fitted_depth(alike([1, 0, 1], 1), *SEED) == Depth()
    assert cross_fitted_depth(curve([0, 0.5], [[1, 0]] * 3), *SEED) == Depth(1.0, None, 0.5)


def test_halvings_are_seeded_even_and_of_documents() -> None:
    rng = np.random.default_rng(2)
    made = curve(list(ELEVEN), rng.random((9, 11)).tolist())
    assert cross_fitted_depth(made, *SEED) == cross_fitted_depth(made, *SEED)
    assert cross_fitted_depth(made, *SEED) != cross_fitted_depth(made, 0, "view", "another cell")
    assert HALVES == 8


# --- the peak of entropy ---


def test_a_peak_before_the_minimum() -> None:
    made = alike([0.8, 0.6, 0.4, 0.8, 0.8])
    assert peak(made, alike([1, 3, 2, 1, 1]), *SEED) == Peak(0.25, 1.0)
    assert peak(made, alike([1, 2, 3, 1, 1]), *SEED) == Peak(0.5, 0.0)
    assert peak(made, alike([1, 2, 2, 3, 1]), *SEED) == Peak(0.75, 0.0)


def test_ties_take_the_lowest_p() -> None:
    # Entropy is as great at 0.25 and at 0.75; F1 is lowest at 0.25 and 0.5.
    assert peak(alike([1, 0.5, 0.5, 1, 1]), alike([1, 2, 1, 2, 1]), *SEED) == Peak(0.25, 0.0)
    assert peak(alike([1, 1, 0.5, 0.5, 1]), alike([1, 2, 1, 2, 1]), *SEED) == Peak(0.25, 1.0)
    assert peak(alike([1, 1, 1]), alike([2, 2, 2]), *SEED) == Peak(0.0, 0.0)


def test_documents_are_drawn_with_their_entropies() -> None:
    # Of either document alone the peak is not before the minimum: at 0.25 and 0.25, at 0.75 and 0.75. The two together
    # have F1 0.5 0.3 0.4 0.3, lowest at 0.25, and the entropy's peak at 0.25: never before. Draws that were independent
    # would pair the first one's peak at 0.25 with the second one's minimum at 0.75 in one of sixteen.
    first, second = [1, 0, 0.8, 0.6, 1], [1, 0.6, 0.8, 0, 1]
    entropy = curve(list(np.linspace(0, 1, 5)), [[0, 9, 1, 1, 0], [0, 1, 1, 9, 0]])
    found = peak(curve(list(np.linspace(0, 1, 5)), [first, second]), entropy, *SEED)
    assert found == Peak(0.25, 0.0)


def test_the_share_of_resamples_by_hand() -> None:
    # The minimum is at 0.5 always. The peak is at 0.25 unless the second document alone is drawn: in 3 of 4 draws.
    places = [0, 0.25, 0.5, 1]
    entropy = curve(places, [[0, 9, 1, 0], [0, 1, 1.5, 0]])
    found = peak(curve(places, [[1, 1, 0, 1]] * 2), entropy, *SEED)
    assert found.place == 0.25
    assert found.before_minimum == pytest.approx(0.75, abs=0.04)  # four standard errors


def test_the_peak_of_one_document_is_a_place_without_a_share() -> None:
    assert peak(alike([1, 0, 1], 1), alike([1, 2, 1], 1), *SEED) == Peak(0.5, None, "fewer than two documents")
    nothing = curve([0, 0.5, 1], [[0, 0, 0]] * 2, 0)
    reason = "no resample with a value at every level"
    assert peak(nothing, alike([1, 2, 1], 2), *SEED) == Peak(0.5, None, reason)


# --- invariants ---


@given(st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=2, max_size=6), st.integers(0, 3))
def test_what_holds_for_every_curve(rows: list[list[int]], seed: int) -> None:
    made = curve([0, 0.3, 0.6, 1], [[float(hits) for hits in row] for row in rows], 4)
    values = made.values
    found = depth(made)
    assert found.depth == pytest.approx(values[0] - values.min())
    assert found.recovery == pytest.approx(values[-1] - values.min())
    for (low, high), value in zip(intervals(made, seed, "view", "cell"), values, strict=True):
        assert low is not None
        assert high is not None
        assert 0 <= low <= high <= 1
        assert made.numerator.min() / 4 <= value <= made.numerator.max() / 4
    shaped = shape(made, seed, "view", "cell", resamples=200)
    assert shaped.reason is None
    if shaped.u_shaped:
        assert min(found.depth, found.recovery) > 0
    # The mirrored curve, over the same draws.
    mirrored = Curve(made.places, made.numerator[:, ::-1], made.denominator[:, ::-1])
    assert shape(mirrored, seed, "view", "cell", resamples=200) == shaped


# --- simulated curves ---

FLAT = np.full(11, 0.6)
MONOTONE = 0.8 - 0.5 * ELEVEN
PLATEAU = 0.8 - 0.4 * np.minimum(1, ELEVEN / 0.3)
VALLEY = 0.8 - 0.3 * np.minimum(1, np.minimum(ELEVEN, 1 - ELEVEN) / 0.4)


def called_u_shaped(mean: Floats, documents: int, simulations: int = 300) -> float:
    """Share of simulated curves called U-shaped; SD of a document 0.15 at each level. Few resamples, for the time."""
    rng = np.random.default_rng(documents)
    found = 0
    for number in range(simulations):
        values = mean + rng.normal(0, 0.15, (documents, len(mean)))
        made = Curve(ELEVEN, values, np.ones_like(values))
        found += bool(shape(made, number, "simulation", "curve", resamples=400).u_shaped)
    return found / simulations


@pytest.mark.parametrize("documents", [50, 100])
@pytest.mark.parametrize("mean", [FLAT, MONOTONE, PLATEAU], ids=["flat", "monotone", "plateau"])
def test_what_is_no_valley_is_seldom_called_one(mean: Floats, documents: int) -> None:
    assert called_u_shaped(mean, documents) <= 0.05


@pytest.mark.parametrize("documents", [50, 100])
def test_a_valley_of_depth_03_is_found(documents: int) -> None:
    assert VALLEY.min() == pytest.approx(0.5)
    assert called_u_shaped(VALLEY, documents) >= 0.9


def test_the_plain_depth_is_too_great_and_the_cross_fitted_one_is_not() -> None:
    rng = np.random.default_rng(3)
    plain, fitted = [], []
    for number in range(100):
        made = Curve(ELEVEN, 0.6 + rng.normal(0, 0.15, (50, 11)), np.ones((50, 11)))
        plain.append(depth(made).depth)
        fitted.append(cross_fitted_depth(made, number, "simulation", "flat").depth)
    # The lowest of ten means with standard error 0.021 is 1.6 of these below the first one, if that is not the lowest.
    assert np.mean([value for value in plain if value is not None]) > 0.025
    # The standard error of a mean of 100 is 0.003.
    assert np.mean([value for value in fitted if value is not None]) == pytest.approx(0, abs=0.01)
