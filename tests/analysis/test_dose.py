from __future__ import annotations

import math

import numpy as np
import pytest

from taboo_cluster.analysis.curves import Logistic
from taboo_cluster.analysis.dose import Reading, dose_curve
from taboo_cluster.analysis.statistics import Floats

HALF, SHAPE = 4.0, math.log(0.5)
"""R(2) = 3/4, R(4) = 1/2, R(8) = 1/6: see test_curves."""


def alike(points: list[tuple[int, int, float, float]], clusters: int) -> Floats:
    """The same (k, n, bits, steps) under each rank in every cluster: a resample differs in nothing."""
    return np.array([points] * clusters, dtype=np.float64)


def test_curve_by_hand() -> None:
    # doses 10/5 = 2 and 24/3 = 8; retention 3/4 and 1/6
    curve = dose_curve(alike([(9, 12, 10, 5), (2, 12, 24, 3)], 5), 0, "view", "cell")
    assert (curve.n_points, curve.dose_min, curve.dose_max, curve.dropped, curve.reason) == (2, 2.0, 8.0, 0, None)
    assert (curve.steepness, curve.midpoint) == (pytest.approx(math.log(2) / 2, rel=1e-4), pytest.approx(2, rel=1e-4))
    assert curve.half_dose.value == pytest.approx(4, rel=1e-5)
    assert curve.residual == pytest.approx(0, abs=1e-6)
    logistic = [(r.value, r.low, r.high) for r in curve.logistic]
    # c = 1/2 and exp(a) = sqrt(2): R(1) = 1.5 / (1 + sqrt(2) / 2)
    for values, expected in zip(logistic, (1.5 / (1 + math.sqrt(2) / 2), 0.75, 0.5), strict=True):
        assert values == pytest.approx((expected,) * 3, abs=1e-5)
    # straight lines (0, 1) - (2, 3/4) - (8, 1/6)
    isotonic = [(r.value, r.low, r.high) for r in curve.isotonic]
    for values, expected in zip(isotonic, (0.875, 0.75, 0.75 - (0.75 - 1 / 6) / 3), strict=True):
        assert values == pytest.approx((expected,) * 3)


def test_nothing_is_read_off_beyond_the_greatest_dose() -> None:
    curve = dose_curve(alike([(9, 10, 2, 2), (8, 10, 6, 2)], 3), 0, "view", "cell")
    assert curve.dose_max == 3.0
    assert [r.value is None for r in curve.logistic] == [False, False, True]
    assert [r.value is None for r in curve.isotonic] == [False, False, True]
    assert curve.half_dose == Reading()
    assert curve.reason == "no dose of 4 bits was observed; retention does not fall to 1/2"


def test_one_dose_gives_no_logistic_curve() -> None:
    curve = dose_curve(alike([(5, 10, 8, 2), (3, 10, 4, 1)], 3), 0, "view", "cell")
    assert [r.value for r in curve.logistic] == [None, None, None]
    assert curve.isotonic[2].value == pytest.approx(0.4)
    assert curve.reason == "a logistic curve takes two doses"


def test_points_without_denominator_or_dose_are_left_out() -> None:
    points = [(0, 0, 0.0, 0.0), (9, 10, 3.0, 2.0), (2, 10, 8.0, 2.0), (10, 10, 0.0, 0.0)]
    curve = dose_curve(alike(points, 3), 0, "view", "cell")
    assert (curve.n_points, curve.dose_min, curve.dose_max) == (2, 1.5, 4.0)
    nothing = dose_curve(alike([(0, 0, 0, 0)], 3), 0, "view", "cell")
    assert (nothing.n_points, nothing.reason) == (0, "no point with a dose")
    assert nothing.logistic == nothing.isotonic == (Reading(),) * 3


def test_resamples_without_a_point_are_dropped_and_counted() -> None:
    # Two clusters, each with one of the ranks: half of the resamples draw one of them twice.
    clusters = np.array([[(4, 5, 6, 3), (0, 0, 0, 0)], [(0, 0, 0, 0), (1, 5, 9, 3)]], dtype=np.float64)
    curve = dose_curve(clusters, 0, "view", "cell")
    assert curve.dropped == pytest.approx(1000, abs=100)
    assert curve.isotonic[1] == Reading(*(pytest.approx(0.8),) * 3)


def test_curves_without_parameters_say_why() -> None:
    flat = dose_curve(alike([(5, 5, 4, 2), (5, 5, 9, 2)], 3), 0, "view", "cell")
    assert (flat.steepness, flat.midpoint, flat.half_dose.value) == (None, None, None)
    assert flat.logistic[0].value == pytest.approx(1, abs=1e-6)
    assert flat.reason == "retention does not fall to 1/2"
    gone = dose_curve(alike([(0, 5, 4, 2), (0, 5, 9, 2)], 3), 0, "view", "cell")
    assert (gone.steepness, gone.half_dose.value) == (None, None)
    assert gone.logistic[1].value == pytest.approx(0, abs=1e-6)
    assert gone.reason == "nothing is retained at any dose"


def test_seed_names_the_draws() -> None:
    rng = np.random.default_rng(0)
    clusters = np.ones((40, 2, 4))
    clusters[:, :, 0] = rng.random((40, 2)) < (0.8, 0.3)
    clusters[:, :, 2] = rng.uniform((1, 4), (3, 6), (40, 2))
    one, again, other = (dose_curve(clusters, 0, "view", cell) for cell in ("a", "a", "b"))
    assert one == again
    assert one.logistic[0].value == other.logistic[0].value
    assert one.logistic[0].low != other.logistic[0].low


@pytest.mark.verify
def test_intervals_hold_the_truth_in_95_of_100() -> None:
    """Items that differ in difficulty, the same ones under every rank, with doses of their own."""
    truth = Logistic(np.array([3.0]), np.array([-1.0]))
    ranks, rng = np.array([1.2, 2.1, 3.4, 4.6]), np.random.default_rng(0)
    expected = [float(truth.at(x)[0]) for x in (1, 2, 4)]
    chance = np.array([float(truth.at(x)[0]) for x in ranks])
    held = np.zeros(3)
    simulations = 400
    for run in range(simulations):
        # One uniform number an item for all ranks half of the time: what survives rank 2 often survives rank 1.
        shared, own = rng.random((200, 1)), rng.random((200, 4))
        right = np.where(rng.random((200, 1)) < 0.5, shared, own) < chance
        steps = rng.integers(10, 40, (200, 4))
        bits = steps * ranks * rng.gamma(20, 1 / 20, (200, 4))
        curve = dose_curve(np.stack([right, np.ones((200, 4)), bits, steps], axis=2).astype(float), run)
        held += [(r.low or 0) <= x <= (r.high or 0) for r, x in zip(curve.logistic, expected, strict=True)]
    print("intervals at 1, 2, 4 bits hold the truth in", *(held / simulations))
    assert held.tolist() == pytest.approx([0.945 * simulations] * 3, abs=0.03 * simulations)
