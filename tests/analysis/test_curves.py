from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.analysis.curves import Logistic, fit_isotonic, fit_logistic
from taboo_cluster.analysis.statistics import Floats


def row(*values: float) -> Floats:
    return np.array([values], dtype=np.float64)


def one(half_dose: float, shape: float) -> Logistic:
    return Logistic(np.array([half_dose]), np.array([shape]))


@given(st.floats(0.01, 50), st.floats(-20, 7))
def test_every_logistic_curve_starts_at_1_falls_and_is_half_at_its_half_dose(half_dose: float, shape: float) -> None:
    curve = one(half_dose, shape)
    values = [float(curve.at(half_dose * x)[0]) for x in np.linspace(0, 3, 31)]
    assert values[0] == 1.0
    assert curve.at(half_dose)[0] == pytest.approx(0.5, abs=1e-9)
    assert all(0 <= b <= a + 1e-12 for a, b in pairwise(values))


def test_logistic_by_hand() -> None:
    # c = 1/2: a = ln(2 + 2) / 4 = ln(2) / 2, so exp(2a) = 2: R(2) = 1.5 / (1 + 0.5 * 2) = 3/4, R(8) = 1.5 / (1 + 8)
    curve = one(4, math.log(0.5))
    assert curve.steepness[0] == pytest.approx(math.log(2) / 2)
    assert curve.midpoint[0] == pytest.approx(2)
    assert [float(curve.at(x)[0]) for x in (0, 2, 4, 8)] == pytest.approx([1, 0.75, 0.5, 1 / 6])
    # the same curve as a logistic around its midpoint, scaled to pass through (0, 1)
    a, b = float(curve.steepness[0]), float(curve.midpoint[0])
    assert curve.at(3)[0] == pytest.approx((1 + math.exp(-a * b)) / (1 + math.exp(a * (3 - b))))


@pytest.mark.parametrize(("half_dose", "shape"), [(2.0, -3.0), (6.0, 0.0), (0.3, 2.0), (9.0, -8.0)])
@pytest.mark.parametrize("doses", [(0.8, 1.3), (0.5, 0.9, 1.1, 1.8)])
def test_points_on_a_curve_give_that_curve(half_dose: float, shape: float, doses: tuple[float, ...]) -> None:
    truth = one(half_dose, shape)
    dose = row(*(x * half_dose for x in doses))
    retention = row(*(float(truth.at(x)[0]) for x in dose[0]))
    found = fit_logistic(dose, retention, row(*(100 + 10 * i for i in range(len(doses)))))
    for x in np.linspace(0, 2 * half_dose, 9):
        assert found.at(x)[0] == pytest.approx(truth.at(x)[0], abs=1e-6)


def test_logistic_fit_is_the_least_squares_of_scipy() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(0)
    dose = np.sort(rng.uniform(0.3, 9, (40, 5)), axis=1)
    retention, weight = rng.random((40, 5)), rng.integers(5, 300, (40, 5)).astype(float)
    retention[:20] = -np.sort(-retention[:20], axis=1)
    found = fit_logistic(dose, retention, weight)
    for i in range(40):

        def rest(x: Floats, i: int = i) -> Floats:
            c = math.exp(x[1])
            power = np.exp(np.minimum(x[1] + math.log(2 + 1 / c) * dose[i] / math.exp(x[0]), 700))
            return np.asarray(np.sqrt(weight[i]) * (retention[i] - (1 + c) / (1 + power)))

        bounds = ([math.log(dose[i].min() / 64), -20], [math.log(dose[i].max() * 64), 7])
        starts = [(half, shape) for half in np.log(dose[i]) for shape in (-6.0, -1.0, 3.0)]
        best = min(2 * optimize.least_squares(rest, start, bounds=bounds).cost for start in starts)
        own = (rest(np.array([math.log(found.half_dose[i]), found.shape[i]])) ** 2).sum()
        assert own <= best * (1 + 1e-4) + 1e-6


def test_a_fit_from_a_start_is_the_fit_from_the_grid() -> None:
    rng = np.random.default_rng(1)
    dose = np.array([1.2, 2.2, 3.1, 5.0]) * np.exp(rng.normal(0, 0.02, (300, 4)))
    weight = np.full((300, 4), 150.0)
    retention = rng.binomial(150, [0.8, 0.5, 0.35, 0.1], (300, 4)) / 150
    start = fit_logistic(row(1.2, 2.2, 3.1, 5.0), row(0.8, 0.5, 0.35, 0.1), weight[:1])
    near, far = fit_logistic(dose, retention, weight, start), fit_logistic(dose, retention, weight)
    for x in (1, 2, 4):
        assert np.allclose(near.at(x), far.at(x), atol=1e-5)


def test_curves_that_do_not_fall_or_fall_at_once() -> None:
    dose, weight = row(1, 2, 3), row(9, 9, 9)
    flat, gone = fit_logistic(dose, row(1, 1, 1), weight), fit_logistic(dose, row(0, 0, 0), weight)
    assert flat.at(3)[0] == pytest.approx(1, abs=1e-6)
    assert gone.at(1)[0] == pytest.approx(0, abs=1e-6)
    # The same retention at three doses is nearest to a curve that falls as little as it can.
    level = fit_logistic(dose, row(0.5, 0.5, 0.5), weight)
    assert float(level.at(1)[0]) > 0.5 > float(level.at(3)[0])


def test_isotonic_by_hand() -> None:
    # 0.8 (n 10) before 0.9 (n 30) violates: both become (8 + 27) / 40 = 0.875.
    curve = fit_isotonic(row(2, 1, 3), row(0.9, 0.8, 0.5), row(30, 10, 10))
    assert curve.retention[0].tolist() == pytest.approx([1, 0.875, 0.875, 0.5])
    assert curve.dose[0].tolist() == [0, 1, 2, 3]
    # straight between the points and from (0, 1)
    assert [float(curve.at(x)[0]) for x in (0, 0.5, 1, 1.5, 2.5, 3, 9)] == pytest.approx(
        [1, 0.9375, 0.875, 0.875, 0.6875, 0.5, 0.5]
    )


def test_isotonic_pools_equal_doses() -> None:
    curve = fit_isotonic(row(2, 2, 1), row(0.9, 0.3, 0.7), row(1, 3, 1))
    # (0.9 + 3 * 0.3) / 4 at dose 2
    assert curve.retention[0].tolist() == pytest.approx([1, 0.7, 0.45, 0.45])
    assert curve.at(2)[0] == pytest.approx(0.45)


@given(st.lists(st.tuples(st.floats(0.01, 9), st.floats(0, 1), st.integers(1, 50)), min_size=1, max_size=7))
def test_isotonic_is_that_of_scipy(points: list[tuple[float, float, int]]) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    points = list({x: (x, y, w) for x, y, w in points}.values())
    dose, retention, weight = (row(*values) for values in zip(*sorted(points), strict=True))
    own = fit_isotonic(dose, retention, weight).retention[0]
    expected = optimize.isotonic_regression(retention[0], weights=weight[0], increasing=False).x
    assert own[1:].tolist() == pytest.approx(expected.tolist(), abs=1e-9)
    assert all(b <= a + 1e-12 for a, b in pairwise(own))
