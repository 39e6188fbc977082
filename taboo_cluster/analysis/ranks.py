"""How models are ordered: rank correlations, and the same under no effect. METHODS section 2, ranking.

Vectorised over resamples: scores are [resamples, models].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from taboo_cluster.analysis.statistics import RESAMPLES, Floats, Interval, percentiles
from taboo_cluster.hashing import stable_rng

FEWEST = 3
"""Models below which a rank correlation says nothing."""

Signs = npt.NDArray[np.signedinteger[Any]]


def spearman(first: Floats, second: Floats) -> Floats:
    """Spearman's rho with average ranks: NaN below three models and where a side is constant."""
    # Sum of signs over the others = 2 (average rank - mean rank): whole numbers, so that ties are ties.
    return _correlation(_signs(first).sum(axis=2), _signs(second).sum(axis=2))


def kendall(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b: NaN below three models and where a side is constant."""
    pairs = (len(first), -1)
    return _correlation(_signs(first).reshape(pairs), _signs(second).reshape(pairs), models=first.shape[1])


def places(scores: Floats) -> npt.NDArray[np.int64]:
    """1 for the best; tied models share the better place: 1, 1, 3."""
    return np.asarray(1 + (_signs(scores) < 0).sum(axis=2))


@dataclass(frozen=True)
class RankIntervals:
    """95% percentile intervals over resamples of items."""

    spearman: Interval
    kendall: Interval
    dropped: int
    """Resamples in which a side is constant."""
    rank: tuple[Interval, ...]
    """Of each model's place on the second side: whole numbers."""


def rank_intervals(first: Floats, second: Floats) -> RankIntervals:
    """What resampled scores [resamples, models] of two sides say about their order."""
    rho, tau = (values[~np.isnan(values)] for values in (spearman(first, second), kendall(first, second)))
    ends = np.quantile(places(second), [0.025, 0.975], axis=0, method="inverted_cdf")
    ranks = tuple((float(low), float(high)) for low, high in ends.T)
    return RankIntervals(percentiles(rho), percentiles(tau), len(first) - len(rho), ranks)


@dataclass(frozen=True)
class Shuffled:
    """Means over shuffles of what no effect looks like."""

    spearman: float | None
    kendall: float | None
    flip_rate: float | None
    """None where no shuffle has a pair that is not tied."""
    order_changed: float | None
    """Share of shuffles with a flip."""


def shuffled(both: Sequence[int], discordant: Sequence[int], *seed: str | int) -> Shuffled:
    """A replicate against its repetition, with the two labels shuffled item by item and model by model.

    Args:
        both: of each model, items right in both replicates.
        discordant: of each model, items right in one of them.
        seed: run seed, view, cell.
    """
    rng = stable_rng("shuffle", *seed)
    won = rng.binomial(np.array(discordant), 0.5, size=(RESAMPLES, len(both))).astype(np.float64)
    first, second = np.array(both) + won, np.array(both) + np.array(discordant) - won
    flips, pairs = _flips(first, second)
    rates = np.divide(flips, pairs, out=np.full(len(flips), np.nan), where=pairs > 0)
    changed = float((flips > 0).mean()) if len(both) > 1 else None
    return Shuffled(_mean(spearman(first, second)), _mean(kendall(first, second)), _mean(rates), changed)


def _flips(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Pairs whose strict order reverses, and pairs not tied on the first side."""
    one, other = _signs(first), _signs(second)
    return (one * other < 0).sum(axis=(1, 2)) / 2, (one != 0).sum(axis=(1, 2)) / 2


def _signs(scores: Floats) -> Signs:
    """Sign of the difference of each two models: [resamples, models, models]."""
    return np.sign(scores[:, :, None] - scores[:, None, :]).astype(np.int8)


def _correlation(first: Signs, second: Signs, models: int | None = None) -> Floats:
    product = (first * second).sum(axis=1)
    norm = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    known = norm > 0 if (models or first.shape[1]) >= FEWEST else np.zeros(len(first), dtype=bool)
    return np.asarray(np.divide(product, norm, out=np.full(len(first), np.nan), where=known))


def _mean(values: Any) -> float | None:
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if len(kept) else None
