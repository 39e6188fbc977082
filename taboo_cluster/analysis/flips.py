"""Do numbers of the undisturbed trial tell which right answers flip? AUROC with its bootstrap (METHODS section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from taboo_cluster.analysis.statistics import RESAMPLES, Floats, Interval, divide, percentiles
from taboo_cluster.hashing import stable_rng

CELLS = 5_000_000
"""Resamples times trials that are computed at once, which bounds memory."""


@dataclass(frozen=True)
class Auroc:
    """How well one predictor tells flips."""

    auroc: float | None
    """Probability that a trial that flips scores higher than one that stays, ties counting 1/2; None with one class."""
    interval: Interval
    delta: float | None
    """That minus the best of the other predictors'; None where there is no other."""
    delta_interval: Interval


def auroc(scores: Floats, flipped: npt.NDArray[np.bool_], times: Floats) -> Floats:
    """Of each resample, in which trial i counts times[r, i] times; NaN with one class: [resamples]."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(scores[order]) > 0])
    flips, stays = (np.add.reduceat(times[:, order] * chosen[order], starts, axis=1) for chosen in (flipped, ~flipped))
    below = np.cumsum(stays, axis=1) - stays
    pairs = flips.sum(axis=1) * stays.sum(axis=1)
    won = (flips * (below + stays / 2)).sum(axis=1)
    return divide(won, pairs)


def flip_prediction(
    predictors: Mapping[str, Floats], flipped: npt.NDArray[np.bool_], clusters: npt.NDArray[np.int64], *seed: str | int
) -> dict[str, Auroc]:
    """Every predictor's AUROC and its lead over the best of the others, over 2,000 resamples of clusters.

    In each resample the best of the others is chosen anew, as in the whole.

    Args:
        predictors: by name, a score of each trial, higher where a flip is expected.
        flipped: of each trial.
        clusters: of each trial, numbered from 0.
        seed: run seed, view, cell.
    """
    n = int(clusters.max()) + 1
    drawn = stable_rng("bootstrap", *seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    weights = np.vstack([np.ones(n), drawn]).astype(np.float64)
    size = max(1, CELLS // len(flipped))
    starts = range(0, len(weights), size)
    every = {
        name: np.concatenate([auroc(scores, flipped, weights[at : at + size, clusters]) for at in starts])
        for name, scores in predictors.items()
    }
    found = {}
    for name, values in every.items():
        others = [other for known, other in every.items() if known != name]
        lead = values - np.max(others, axis=0) if others else np.full(len(values), np.nan)
        found[name] = Auroc(_first(values), _interval(values), _first(lead), _interval(lead))
    return found


def _first(values: Floats) -> float | None:
    return None if np.isnan(values[0]) else float(values[0])


def _interval(values: Floats) -> Interval:
    if np.isnan(values[0]):
        return None, None
    resampled = values[1:]
    return percentiles(resampled[~np.isnan(resampled)])
