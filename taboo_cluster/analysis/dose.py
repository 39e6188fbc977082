"""Retention as a function of the dose (METHODS section 1): curve, read-offs, and their intervals by refitting."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from taboo_cluster.analysis.curves import REACH, fit_isotonic, fit_logistic
from taboo_cluster.analysis.statistics import Floats, percentiles, resample_rows

READ_AT = (1.0, 2.0, 4.0)
"""Doses, in bits, at which retention is read off."""


Points = tuple[Floats, Floats, Floats]
"""Dose, retention and weight (the denominator): each [resamples, points]."""


@dataclass(frozen=True)
class Reading:
    """A value of the fitted curve with the ends of its 95% bootstrap interval; None outside the observed range."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


NOTHING = (Reading(),) * len(READ_AT)


@dataclass(frozen=True)
class Curve:
    """What the points of one model's ranks say about retention as a function of the dose."""

    n_points: int
    """Points that could be used: with a denominator and a dose."""
    dose_min: float | None = None
    dose_max: float | None = None
    """Least and greatest dose of the points. The observed range reaches from 0, where R = 1, to the greatest."""
    half_dose: Reading = Reading()
    """Dose at which the logistic curve is at 1/2; an end of the interval beyond the observed range is None."""
    steepness: float | None = None
    midpoint: float | None = None
    """Parameters of the logistic curve (`curves.Logistic`); None where it does not fall, or falls before any dose."""
    residual: float | None = None
    """Root of the weighted mean of (retention - logistic curve)^2 over the points."""
    logistic: tuple[Reading, ...] = NOTHING
    isotonic: tuple[Reading, ...] = NOTHING
    """Retention at each of READ_AT."""
    dropped: int = 0
    """Resamples left out because a point had no denominator or no dose."""
    reason: str | None = None
    """Why something is None."""


def dose_curve(clusters: Floats, *seed: str | int) -> Curve:
    """The curves through all points of one model; their intervals by refitting in each resample of the clusters.

    Args:
        clusters: [clusters, points, 4]. Of each cluster's items under each rank, among those right in the baseline:
            how many stayed right, how many there are, their bits, and what the dose counts the bits by
            (interventions, or tokens).
        seed: run seed, view, cell.
    """
    clusters = clusters[:, (clusters.sum(axis=0)[:, 1:] > 0).all(axis=1)]
    points = clusters.shape[1]
    if points == 0:
        return Curve(0, reason="no point with a dose")
    again = resample_rows(clusters.reshape(len(clusters), -1), *seed).reshape(-1, points, 4)
    kept = again[(again[..., 1:] > 0).all(axis=(1, 2))]
    own, others = _points(clusters.sum(axis=0, keepdims=True)), _points(kept)
    least, greatest = float(own[0].min()), float(own[0].max())
    beyond = " or ".join(f"{x:g}" for x in READ_AT if x > greatest)
    reasons = [f"no dose of {beyond} bits was observed"] if beyond else []
    fit, refit = fit_isotonic(*own), fit_isotonic(*others)
    curve = Curve(
        points,
        least,
        greatest,
        isotonic=tuple(_read(fit.at(x), refit.at(x), x <= greatest) for x in READ_AT),
        dropped=len(again) - len(kept),
    )
    if greatest - least < 1e-9 * greatest:
        return replace(curve, reason="; ".join(["a logistic curve takes two doses", *reasons]))
    return _with_logistic(curve, own, others, reasons)


def _with_logistic(curve: Curve, own: Points, others: Points, reasons: list[str]) -> Curve:
    fit = fit_logistic(*own)
    refit = fit_logistic(*others, start=fit)
    least, greatest, half = own[0].min(), own[0].max(), fit.half_dose[0]
    found = 1.01 * least / REACH < half < 0.99 * greatest * REACH
    if not found or half > greatest:
        reasons.append("retention does not fall to 1/2" if half > greatest else "nothing is retained at any dose")
    half_dose = _read(fit.half_dose, refit.half_dose, found and half <= greatest)
    if half_dose.high is not None and half_dose.high > greatest:
        half_dose = replace(half_dose, high=None)
    fitted = np.array([fit.at(x)[0] for x in own[0][0]])
    return replace(
        curve,
        half_dose=half_dose,
        steepness=float(fit.steepness[0]) if found else None,
        midpoint=float(fit.midpoint[0]) if found else None,
        residual=float(np.sqrt(np.average((own[1][0] - fitted) ** 2, weights=own[2][0]))),
        logistic=tuple(_read(fit.at(x), refit.at(x), x <= greatest) for x in READ_AT),
        reason="; ".join(reasons) or None,
    )


def _points(sums: Floats) -> Points:
    """From sums [resamples, points, 4]."""
    return sums[..., 2] / sums[..., 3], sums[..., 0] / sums[..., 1], sums[..., 1]


def _read(value: Floats, resampled: Floats, observed: bool) -> Reading:
    return Reading(float(value[0]), *percentiles(resampled)) if observed else Reading()
