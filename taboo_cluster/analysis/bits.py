"""Bootstraps over answers kept as bits, one an item: METHODS section 2.

The tables `tasks` and `answers` (analysis/answers.py) hold a benchmark's items in a fixed order: `clusters` is the
cluster of each item (int32), and a bit string has one bit for each, the first item first. `common` marks the items that
are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from taboo_cluster.analysis.ranks import RankIntervals, rank_intervals
from taboo_cluster.analysis.statistics import (
    Bootstrap,
    Floats,
    Interval,
    percentiles,
    resample,
    resample_rows,
    summary,
)
from taboo_cluster.analysis.variance import Counts, Sums, between, parts

Bits = bytes


@dataclass(frozen=True)
class Contrast:
    """A sum of accuracies, each with a weight: accuracy under the clean prompt (1) minus that under another (-1)."""

    weights: Sequence[float]
    log_odds: bool = False
    """Of ln((k + 1/2) / (n - k + 1/2)) in the place of k / n: neither floor nor ceiling."""

    def of(self, sums: Floats) -> Floats:
        """Its value from n and the right answers: [resamples, 1 + accuracies]."""
        n, right = sums[:, :1], sums[:, 1:]
        weights = np.array(self.weights)
        if self.log_odds:
            return np.asarray(np.log((right + 0.5) / (n - right + 0.5)) @ weights)
        return np.asarray(right @ weights / n[:, 0])  # divided last: whole weights give an exact 0


def bootstrap_contrast(
    clusters: bytes, common: Bits, right: Sequence[Bits], contrast: Contrast, *seed: str | int
) -> Bootstrap:
    """Bootstrap of a contrast of the accuracies `right` on the same items."""
    return summary(contrast.of(_resampled(clusters, common, right, *seed)))


def bootstrap_relief(
    clusters: bytes, common: Bits, right: Sequence[Bits], above: Contrast, below: Contrast, *seed: str | int
) -> Bootstrap:
    """Bootstrap of 1 - above / below, both recomputed per resample; those with 0 below are dropped."""
    sums = _resampled(clusters, common, right, *seed)
    over, under = above.of(sums), below.of(sums)
    ratio = np.divide(over, under, out=np.full_like(over, np.nan), where=under != 0)
    return summary(1 - ratio)


def bootstrap_ranks(
    clusters: bytes, common: Bits, first: Sequence[Bits], second: Sequence[Bits], *seed: str | int
) -> RankIntervals:
    """Intervals of rank correlations and places; `first` and `second` hold each model's right answers."""
    sums = resample_rows(_by_cluster(clusters, common, [*first, *second]), *seed)
    models = len(first)
    return rank_intervals(sums[:, 1 : 1 + models], sums[:, 1 + models :])


@dataclass(frozen=True)
class Table:
    """The answers of one model on one benchmark under every variant."""

    task: str
    """Name of the benchmark's items: tables of one task are resampled together."""
    clusters: bytes
    common: Bits
    """Items scored in every draw of every variant."""
    right: Sequence[Bits]
    """By variant, the clean prompt first, and draw."""
    draws: int

    def counts(self) -> Counts:
        """Right answers of each common item: [items, variants]."""
        kept = _unpack(self.common, self.clusters)
        right = np.array([_unpack(bits, self.clusters)[kept] for bits in self.right], dtype=np.int64)
        return np.asarray(right.reshape(-1, self.draws, int(kept.sum())).sum(axis=1).T)

    def by_cluster(self) -> Floats:
        """Items, sum of t, of t^2 and of k^2 of every cluster of the task: [clusters, 4]."""
        counts = self.counts()
        by_item = counts.sum(axis=1)
        columns = (np.ones_like(by_item), by_item, by_item**2, (counts**2).sum(axis=1))
        place = _numbers(self.clusters)[_unpack(self.common, self.clusters)]
        size = int(_numbers(self.clusters).max()) + 1
        return np.stack([np.bincount(place, weights=column, minlength=size) for column in columns], axis=1)


@dataclass(frozen=True)
class PiIntervals:
    """95% percentile intervals."""

    pi: Interval
    unbiased: Interval
    prompt: Interval
    """Of V_prompt, summed over tables."""


def bootstrap_pi(tables: Sequence[Table], *seed: str | int) -> PiIntervals:
    """Intervals of Pi and what belongs to it over tables that share one list of variants.

    Clusters of items are drawn within each task, the same ones for all its tables and, where they have the same items,
    for every call with the same seed.
    """
    variants = len(tables[0].right) // tables[0].draws
    shares: list[tuple[Floats, ...]] = []
    for task in dict.fromkeys(table.task for table in tables):
        of_task = [table for table in tables if table.task == task]
        rows = np.hstack([table.by_cluster() for table in of_task])
        again = resample_rows(rows[(rows > 0).any(axis=1)], *seed, task)
        for place, table in enumerate(of_task):
            n, right, by_item, by_text = again[:, 4 * place : 4 * place + 4].T
            with np.errstate(divide="ignore", invalid="ignore"):
                part = parts(Sums(n, right, by_item, by_text, 0.0, variants, table.draws))
                within, estimate = between(part, n, variants)
                shares.append((part.prompt, part.total, within, within + np.maximum(0, estimate)))
    prompt, total, within, whole = (np.sum(values, axis=0) for values in zip(*shares, strict=True))
    return PiIntervals(_interval(prompt, total), _interval(within, whole), percentiles(prompt[np.isfinite(prompt)]))


def _interval(part: Floats, whole: Floats) -> Interval:
    known = np.isfinite(part) & np.isfinite(whole) & (whole > 0)
    return percentiles(part[known] / whole[known])


def _resampled(clusters: bytes, common: Bits, right: Sequence[Bits], *seed: str | int) -> Floats:
    """n and right answers over resamples: [resamples, 1 + accuracies]."""
    distinct, times = np.unique(_by_cluster(clusters, common, right), axis=0, return_counts=True)
    rows: Callable[[], Floats] = distinct.astype(np.int64).tolist
    return resample({tuple(row): int(count) for row, count in zip(rows(), times, strict=True)}, *seed)


def _by_cluster(clusters: bytes, common: Bits, right: Sequence[Bits]) -> Floats:
    """Items and right answers of each cluster with a common item, in the order of the clusters: [clusters, 1 + ...]."""
    kept = _unpack(common, clusters)
    _, place = np.unique(_numbers(clusters)[kept], return_inverse=True)
    columns = [kept[kept], *(_unpack(bits, clusters)[kept] for bits in right)]
    return np.stack([np.bincount(place, weights=column) for column in columns], axis=1)


def _numbers(clusters: bytes) -> npt.NDArray[np.int32]:
    return np.frombuffer(clusters, dtype=np.int32)


def _unpack(bits: Bits, clusters: bytes) -> npt.NDArray[np.bool_]:
    """One value for each item of the task; bit strings are as long as the longest task and whole bytes."""
    return np.unpackbits(np.frombuffer(bits, dtype=np.uint8))[: len(clusters) // 4].astype(np.bool_)
