"""Intervals, tests and the bootstrap of METHODS sections 0 and 1: pure functions of counts and seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from taboo_cluster.hashing import stable_rng

Z = 1.959964
"""Normal quantile of a 95% interval."""

RESAMPLES = 2000

Interval = tuple[float | None, float | None]
Floats = npt.NDArray[np.float64]
Clusters = Mapping[tuple[int, ...], int]
"""Distinct sums of a cluster -> number of clusters with these sums."""


def wilson(k: int, n: int) -> Interval:
    """Wilson's 95% interval of the proportion k/n; (None, None) for n = 0. The ends 0 and 1 are exact."""
    _check_count(k, n)
    if n == 0:
        return None, None
    share, z2 = k / n, Z * Z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return (0.0 if k == 0 else centre - half), (1.0 if k == n else centre + half)


def newcombe(k_1: int, n_1: int, k_2: int, n_2: int) -> Interval:
    """Newcombe's hybrid score 95% interval of k_1/n_1 - k_2/n_2 (independent proportions, his method 10).

    (None, None) where a denominator is 0. Conservative for proportions of the same items.
    """
    low_1, high_1 = wilson(k_1, n_1)
    low_2, high_2 = wilson(k_2, n_2)
    if low_1 is None or high_1 is None or low_2 is None or high_2 is None:
        return None, None
    p_1, p_2 = k_1 / n_1, k_2 / n_2
    gap = p_1 - p_2
    return gap - math.hypot(p_1 - low_1, high_2 - p_2), gap + math.hypot(high_1 - p_1, p_2 - low_2)


def mcnemar(b: int, c: int) -> float:
    """Exact two-sided p of McNemar's test; b and c count the items right on one side only. 1 for b = c = 0."""
    n = b + c
    tail = term = 1
    for i in range(min(b, c)):
        term = term * (n - i) // (i + 1)  # the binomial coefficient n over i + 1, in whole numbers
        tail += term
    return min(1.0, 2 * tail / (1 << n))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """The q-value of each p-value, in the order given: the least false discovery rate at which it is a find."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    q = np.empty_like(p)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return [float(value) for value in q]


def detectable_effect(se: float) -> float:
    """The least effect found with 80% power at alpha 0.05: 2.80 standard errors."""
    return 2.80 * se


@dataclass(frozen=True)
class Bootstrap:
    """What a statistic's resamples say about it; all None but `dropped` where no resample has a value."""

    low: float | None
    high: float | None
    """Ends of the 95% percentile interval."""
    se: float | None
    p: float | None
    """Two-sided, against 0: min(1, 2 min(1 + #{g* <= 0}, 1 + #{g* >= 0}) / (B + 1))."""
    dropped: int
    """Resamples left out because a denominator was 0."""


def resample(clusters: Clusters, *seed: str | int, resamples: int = RESAMPLES) -> Floats:
    """Sums over `resamples` draws of all clusters with replacement: [resamples, sums of a cluster].

    Clusters with the same sums are exchangeable, so how often each distinct one is drawn is multinomial: the
    cost does not grow with the number of clusters, and their order has no effect. The draws depend on `seed`
    (run seed, view, cell) and the clusters alone.
    """
    distinct = sorted(clusters)
    sums = np.array(distinct, dtype=np.float64)
    counts = np.array([clusters[key] for key in distinct], dtype=np.float64)
    total = int(counts.sum())
    draws = stable_rng("bootstrap", *seed).multinomial(total, counts / total, size=resamples)
    return np.asarray(draws @ sums, dtype=np.float64)


def resample_rows(clusters: Floats, *seed: str | int, resamples: int = RESAMPLES) -> Floats:
    """As `resample`, for clusters that are all different: [clusters, sums] -> [resamples, sums].

    The draws depend on `seed` and the number of clusters; their order matters.
    """
    n = len(clusters)
    rng = stable_rng("bootstrap", *seed)
    size = max(1, 50_000 // n)  # resamples at a time: memory stays bounded, and the counts in the cache
    slices = []
    for first in range(0, resamples, size):
        rows = min(size, resamples - first)
        drawn = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        slices.append(times.astype(np.float64) @ clusters)
    return np.concatenate(slices)


def bootstrap_ratio(clusters: Clusters, *seed: str | int) -> Bootstrap:
    """Bootstrap of sum(numerator) / sum(denominator) over clusters (numerator, denominator)."""
    sums = resample(clusters, *seed)
    return summary(divide(sums[:, 0], sums[:, 1]))


def bootstrap_gap(clusters: Clusters, *seed: str | int) -> Bootstrap:
    """Bootstrap of k_1/n_1 - k_2/n_2 over clusters (k_1, n_1, k_2, n_2), all four recomputed per resample."""
    sums = resample(clusters, *seed)
    return summary(divide(sums[:, 0], sums[:, 1]) - divide(sums[:, 2], sums[:, 3]))


def bootstrap_mean(clusters: Floats, *seed: str | int) -> Bootstrap:
    """Bootstrap of the mean over members (seeds, say) of each one's sum(numerator) / sum(denominator).

    `clusters` is [clusters, members, 2]: a cluster is drawn with all its members. A resample in which a member has no
    denominator is dropped.
    """
    members = clusters.shape[1]
    sums = resample_rows(clusters.reshape(len(clusters), -1), *seed).reshape(-1, members, 2)
    return summary(divide(sums[..., 0], sums[..., 1]).mean(axis=1))


def percentiles(values: Floats) -> Interval:
    """Ends of the 95% percentile interval; (None, None) of nothing."""
    if len(values) == 0:
        return None, None
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def divide(numerator: Floats, denominator: Floats) -> Floats:
    """numerator / denominator; NaN where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator != 0)


def summary(values: Floats) -> Bootstrap:
    """What the values of a statistic over resamples say about it; NaN marks a resample without a value."""
    kept = values[~np.isnan(values)]
    dropped = len(values) - len(kept)
    low, high = percentiles(kept)
    if low is None:
        return Bootstrap(None, None, None, None, dropped)
    se = float(np.std(kept, ddof=1)) if len(kept) > 1 else None
    extreme = min(1 + int((kept <= 0).sum()), 1 + int((kept >= 0).sum()))
    return Bootstrap(low, high, se, min(1.0, 2 * extreme / (len(kept) + 1)), dropped)


def _check_count(k: int, n: int) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no proportion")
