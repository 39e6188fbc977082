"""Falling curves through (0, 1): a logistic one and an isotonic one, fitted by weighted least squares.

METHODS section 1, dose-response. Vectorised over resamples: arrays are [resamples, points].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from taboo_cluster.analysis.statistics import Floats

_SHAPES = (-20.0, 7.0)
"""Bounds of the shape: at the lower one the curve is a step at the half dose, at the upper one exponential decay."""

REACH = 64.0
"""The half dose is sought from the least dose / 64 to the greatest dose * 64."""

_STEPS = 40
"""Most steps of the search; it stops earlier where no resample moves."""


@dataclass(frozen=True)
class Logistic:
    """Falling logistic curves with R = 1 at dose 0, one per resample.

        R(x) = (1 + c) / (1 + c exp(a x)),   a = ln(2 + 1/c) / half_dose

    which is (1 + exp(-a b)) / (1 + exp(a (x - b))) with b = -ln(c) / a: a logistic of steepness a around b, scaled to
    pass through (0, 1). R(half_dose) = 1/2 whatever the shape. c goes from 0 (a step) to infinity (2^(-x/half_dose)).
    """

    half_dose: Floats
    """[resamples]"""
    shape: Floats
    """ln c: [resamples]"""

    @property
    def steepness(self) -> Floats:
        """a, per bit."""
        return _slope(self.shape) / self.half_dose

    @property
    def midpoint(self) -> Floats:
        """b, in bits; below 0 where c > 1."""
        return -self.shape / self.steepness

    def at(self, dose: float) -> Floats:
        """Retention of each curve at one dose."""
        return _curve(np.log(self.half_dose), self.shape, np.full((len(self.shape), 1), dose))[0][:, 0]


@dataclass(frozen=True)
class Isotonic:
    """Falling curves that are straight between points, from (0, 1) on, one per resample."""

    dose: Floats
    """Ascending, 0 first: [resamples, points + 1]"""
    retention: Floats
    """Never rising, 1 first: [resamples, points + 1]"""

    def at(self, dose: float) -> Floats:
        """Retention of each curve at one dose; that of the last point beyond it."""
        last = self.dose.shape[1] - 1
        left = (self.dose <= dose).sum(axis=1, keepdims=True) - 1
        right = np.minimum(left + 1, last)
        x_0, x_1 = (np.take_along_axis(self.dose, i, axis=1)[:, 0] for i in (left, right))
        y_0, y_1 = (np.take_along_axis(self.retention, i, axis=1)[:, 0] for i in (left, right))
        part = np.divide(dose - x_0, x_1 - x_0, out=np.zeros_like(x_0), where=x_1 > x_0)
        return y_0 + part * (y_1 - y_0)


def fit_logistic(dose: Floats, retention: Floats, weight: Floats, start: Logistic | None = None) -> Logistic:
    """The curves with the least sum of weight * (retention - R(dose))^2: Levenberg-Marquardt on (ln half_dose, ln c).

    Args:
        dose: above 0, [resamples, points].
        retention: [resamples, points].
        weight: trials behind each point, [resamples, points].
        start: one curve to start from; None starts each from the best point of a grid.
    """
    low, high = np.log(dose.min(axis=1) / REACH), np.log(dose.max(axis=1) * REACH)
    if start is None:
        half, shape = _grid(dose, retention, weight, low, high)
    else:
        half = np.clip(np.broadcast_to(np.log(start.half_dose), low.shape), low, high)
        shape = np.broadcast_to(start.shape, low.shape).copy()
    loss = _loss(half, shape, dose, retention, weight)
    damping = np.full_like(loss, 1e-3)
    for _ in range(_STEPS):
        value, by_half, by_shape = _curve(half, shape, dose)
        rest = retention - value
        g_0, g_1 = (weight * rest * by_half).sum(axis=1), (weight * rest * by_shape).sum(axis=1)
        h_00, h_11 = (weight * by_half**2).sum(axis=1), (weight * by_shape**2).sum(axis=1)
        # A parameter that is pushed against its bound stays there, and the other one moves alone.
        free_0, free_1 = _free(half, g_0, low, high), _free(shape, g_1, *_SHAPES)
        g_0, g_1 = g_0 * free_0, g_1 * free_1
        h_01 = (weight * by_half * by_shape).sum(axis=1) * free_0 * free_1
        d_00, d_11 = h_00 * (1 + damping) + 1e-12, h_11 * (1 + damping) + 1e-12
        determinant = d_00 * d_11 - h_01**2
        next_half = np.clip(half + (d_11 * g_0 - h_01 * g_1) / determinant, low, high)
        next_shape = np.clip(shape + (d_00 * g_1 - h_01 * g_0) / determinant, *_SHAPES)
        next_loss = _loss(next_half, next_shape, dose, retention, weight)
        better = next_loss < loss
        moved = better & (loss - next_loss > 1e-12 * loss)
        half, shape = np.where(better, next_half, half), np.where(better, next_shape, shape)
        loss = np.where(better, next_loss, loss)
        damping = np.clip(np.where(better, damping / 8, damping * 4), 1e-9, 1e9)
        if not (moved | (~better & (damping < 1e4))).any():
            break
    return Logistic(np.exp(half), shape)


def fit_isotonic(dose: Floats, retention: Floats, weight: Floats) -> Isotonic:
    """The never rising curves with the least sum of weight * (retention - R(dose))^2 (pool adjacent violators).

    Points of equal dose are pooled. Arguments as for `fit_logistic`.
    """
    # By dose; among equal doses rising, so that they violate the order and are pooled.
    order = np.lexsort((retention, dose), axis=1)
    dose, retention, weight = (np.take_along_axis(values, order, axis=1) for values in (dose, retention, weight))
    points = dose.shape[1]
    zero = np.zeros((len(dose), 1))
    total, weights = (np.hstack([zero, np.cumsum(values, axis=1)]) for values in (weight * retention, weight))
    # mean[:, s, t]: of the points s to t. The fit at i is the greatest over t >= i of the least over s <= i.
    span = np.triu(np.ones((points, points), dtype=bool))
    above = weights[:, None, 1:] - weights[:, :-1, None]
    mean = np.where(span, (total[:, None, 1:] - total[:, :-1, None]) / np.where(span, above, 1.0), np.inf)
    least = np.minimum.accumulate(mean, axis=1)
    fitted = np.stack([least[:, i, i:].max(axis=1) for i in range(points)], axis=1)
    return Isotonic(np.hstack([zero, dose]), np.hstack([zero + 1.0, fitted]))


def _slope(shape: Floats) -> Floats:
    """a * half_dose = ln(2 + 1/c)."""
    return np.asarray(np.log(2.0 + np.exp(-shape)))


def _curve(half: Floats, shape: Floats, dose: Floats) -> tuple[Floats, Floats, Floats]:
    """R and its derivatives by ln half_dose and by ln c, at each dose."""
    c, slope = np.exp(shape)[:, None], _slope(shape)[:, None]
    bent = slope * dose / np.exp(half)[:, None]
    power = np.exp(np.minimum(shape[:, None] + bent, 700.0))
    value = (1 + c) / (1 + power)
    fall = value * power / (1 + power)
    slope_by_shape = -1.0 / (1.0 + 2.0 * c)
    by_shape = c / (1 + power) - fall * (1 + slope_by_shape * bent / slope)
    return value, fall * bent, by_shape


def _free(value: Floats, push: Floats, low: Floats | float, high: Floats | float) -> npt.NDArray[np.bool_]:
    return ~(((value <= low) & (push < 0)) | ((value >= high) & (push > 0)))


def _loss(half: Floats, shape: Floats, dose: Floats, retention: Floats, weight: Floats) -> Floats:
    value, _, _ = _curve(half, shape, dose)
    return np.asarray((weight * (retention - value) ** 2).sum(axis=1))


def _grid(dose: Floats, retention: Floats, weight: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The best of 49 half doses x 19 shapes, for each resample."""
    shares, shapes = (values.ravel() for values in np.meshgrid(np.linspace(0, 1, 49), np.linspace(*_SHAPES, 19)))
    halves = low[:, None] + shares * (high - low)[:, None]
    best = [
        int(_loss(half, shapes, x[None], y[None], w[None]).argmin())
        for half, x, y, w in zip(halves, dose, retention, weight, strict=True)
    ]
    return halves[np.arange(len(best)), best], shapes[best]
