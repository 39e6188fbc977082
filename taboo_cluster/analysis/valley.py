"""Is a curve over levels of fragmentation U-shaped, how deep is it, and where (METHODS section 3, Curve)?

A level's value is pooled over documents: sum(numerator) / sum(denominator). Wherever documents are drawn again or
halved, it is pooled again, over the same documents at every level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from taboo_cluster.analysis.answers import HALVES
from taboo_cluster.analysis.statistics import RESAMPLES, Floats, Interval, divide, percentiles, resample_rows
from taboo_cluster.hashing import stable_rng

CONFIDENCE = 0.95
"""Of all lower bounds of a curve together."""

_EQUAL = 1e-12
"""Numbers that are no further apart differ by rounding alone."""

FEW_DOCUMENTS = "fewer than two documents"


@dataclass(frozen=True)
class Curve:
    """What each document adds to each level of a curve."""

    places: Floats
    """p of each level, ascending: [levels]."""
    numerator: Floats
    """[documents, levels]: 2 * hits for F1, right answers for accuracy."""
    denominator: Floats
    """[documents, levels]: lines named + targets for F1, 1 for accuracy."""

    @property
    def values(self) -> Floats:
        """The value of each level; NaN at 0/0: [levels]."""
        return divide(self.numerator.sum(axis=0), self.denominator.sum(axis=0))

    def of(self, times: Floats) -> Floats:
        """The value of each level where document d counts times[i, d] times; NaN at 0/0: [i, levels]."""
        return divide(times @ self.numerator, times @ self.denominator)

    def ends(self) -> tuple[int | None, int | None]:
        """The levels p = 0 and p = 1, each where there is one."""
        first, last = (np.flatnonzero(self.places == place) for place in (0.0, 1.0))
        return int(first[0]) if len(first) else None, int(last[0]) if len(last) else None


@dataclass(frozen=True)
class Shape:
    """Whether a curve is U-shaped."""

    u_shaped: bool | None
    reason: str | None = None
    """Why that is None."""


@dataclass(frozen=True)
class Depth:
    """Of a curve's lowest level. None where there is no such level or no end to compare it with."""

    depth: float | None = None
    """F(0) - lowest."""
    recovery: float | None = None
    """F(1) - lowest."""
    location: float | None = None
    """p of the lowest level, the lowest p of several."""


@dataclass(frozen=True)
class Peak:
    """Where the entropy of the tokenization is greatest, and how surely that is before the curve's minimum."""

    place: float | None = None
    """p at which the mean entropy is greatest, the lowest p of several."""
    before_minimum: float | None = None
    """Share of resamples in which that p is below the p of the curve's minimum."""
    reason: str | None = None
    """Why something is None."""


def intervals(curve: Curve, *seed: str | int) -> list[Interval]:
    """The 95% bootstrap interval of each level's value; (None, None) with fewer than two documents.

    Args:
        curve: the curve.
        seed: run seed, view, cell.
    """
    if len(curve.numerator) < 2:
        return [(None, None)] * len(curve.places)
    again = _resampled([curve], *seed)[0]
    return [percentiles(level[~np.isnan(level)]) for level in again.T]


def shape(curve: Curve, *seed: str | int, resamples: int = RESAMPLES) -> Shape:
    """U-shaped: at some interior level both F(0) - F(p) and F(1) - F(p) have a lower bound above 0.

    The bounds hold simultaneously at 95%, for both differences at all interior levels: each is the difference less
    its standard error times the 95% quantile of the greatest standardised difference of a resample (max-T). A
    difference that no resample moves is its own bound.

    Args:
        curve: the curve.
        seed: run seed, view, cell.
        resamples: how many.
    """
    values, (first, last) = curve.values, curve.ends()
    inside = (curve.places > 0) & (curve.places < 1) & ~np.isnan(values)
    if len(curve.numerator) < 2:
        return Shape(None, FEW_DOCUMENTS)
    if first is None or last is None:
        return Shape(None, f"no level at p = {0 if first is None else 1}")
    if np.isnan(values[[first, last]]).any():
        return Shape(None, "no value at p = 0 or p = 1")
    if not inside.any():
        return Shape(None, "no level between p = 0 and p = 1")
    again = _resampled([curve], *seed, resamples=resamples)[0]
    drawn = _differences(again, first, last, inside)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    if len(drawn) < 2:
        return Shape(None, "no resample with a value at every level")
    own = _differences(values[None], first, last, inside)[0]
    error = drawn.std(axis=0, ddof=1)
    moved = error > _EQUAL
    bound = own.copy()
    if moved.any():
        greatest = ((drawn[:, moved] - own[moved]) / error[moved]).max(axis=1)
        bound[moved] -= np.quantile(greatest, CONFIDENCE) * error[moved]
    return Shape(bool((bound.reshape(2, -1) > _EQUAL).all(axis=0).any()))


def depth(curve: Curve) -> Depth:
    """Depth, recovery and location, the minimum and its value from the same documents: biased upward."""
    values = curve.values
    return _read(curve, values, values) if not np.isnan(values).all() else Depth()


def cross_fitted_depth(curve: Curve, *seed: str | int) -> Depth:
    """The same with the minimum found on one half of the documents and its value taken from the other.

    Mean over seeded halvings, each both ways round; a half without a value at every level is left out.

    Args:
        curve: the curve.
        seed: run seed, view, cell.
    """
    n = len(curve.numerator)
    rng = stable_rng("halves", *seed)
    found = []
    for _ in range(HALVES if n > 1 else 0):
        half = np.zeros(n)
        half[rng.permutation(n)[: n // 2]] = 1
        both = curve.of(np.stack([half, 1 - half]))
        if not np.isnan(both).any():
            found += [_read(curve, both[0], both[1]), _read(curve, both[1], both[0])]
    return Depth(
        _mean([one.depth for one in found]),
        _mean([one.recovery for one in found]),
        _mean([one.location for one in found]),
    )


def peak(curve: Curve, entropy: Curve, *seed: str | int) -> Peak:
    """Where the mean entropy is greatest, and the share of resamples in which that is before the curve's minimum.

    Args:
        curve: the curve.
        entropy: of the same documents and levels.
        seed: run seed, view, cell.
    """
    place = float(curve.places[_highest(entropy.values[None])[0]])
    if len(curve.numerator) < 2:
        return Peak(place, reason=FEW_DOCUMENTS)
    again, entropies = _resampled([curve, entropy], *seed)
    kept = ~np.isnan(again).any(axis=1)
    if not kept.any():
        return Peak(place, reason="no resample with a value at every level")
    before = curve.places[_highest(entropies[kept])] < curve.places[_lowest(again[kept])]
    return Peak(place, float(before.mean()))


def _resampled(curves: list[Curve], *seed: str | int, resamples: int = RESAMPLES) -> list[Floats]:
    """Values of curves over the same documents, drawn together: of each [resamples, levels]."""
    parts = [part for curve in curves for part in (curve.numerator, curve.denominator)]
    sums = np.split(resample_rows(np.hstack(parts), *seed, resamples=resamples), len(parts), axis=1)
    return [divide(*pair) for pair in zip(sums[::2], sums[1::2], strict=True)]


def _differences(values: Floats, first: int, last: int, inside: npt.NDArray[np.bool_]) -> Floats:
    """F(0) - F(p) of each interior level, then F(1) - F(p): [i, 2 * interior levels]."""
    return np.hstack([values[:, [end]] - values[:, inside] for end in (first, last)])


def _lowest(values: Floats) -> npt.NDArray[np.intp]:
    """The first level of each row with the least value."""
    return np.asarray(np.nanargmin(values.round(12), axis=1), dtype=np.intp)


def _highest(values: Floats) -> npt.NDArray[np.intp]:
    return _lowest(-values)


def _read(curve: Curve, chosen: Floats, values: Floats) -> Depth:
    """Depth and recovery in `values` at the level that is lowest in `chosen`."""
    level = _lowest(chosen[None])[0]
    down, up = (
        None if end is None or np.isnan(values[end]) else float(values[end] - values[level]) for end in curve.ends()
    )
    return Depth(down, up, float(curve.places[level]))


def _mean(values: list[float | None]) -> float | None:
    kept = [value for value in values if value is not None]
    return float(np.mean(kept)) if kept else None
