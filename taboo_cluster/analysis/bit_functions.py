"""The statistics of brittleness as SQL functions, for the views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import duckdb
import numpy as np

from taboo_cluster.analysis import ranks
from taboo_cluster.analysis.bits import (
    Bits,
    Contrast,
    Table,
    bootstrap_contrast,
    bootstrap_pi,
    bootstrap_ranks,
    bootstrap_relief,
)
from taboo_cluster.analysis.drops import NullDrop, null_drop
from taboo_cluster.analysis.functions import BOOTSTRAP, bootstrap_columns
from taboo_cluster.analysis.statistics import Floats
from taboo_cluster.analysis.variance import Brittleness, brittleness, equal_families, sums, weighted_pi

Several = Sequence[Bits]


def add_bit_functions(connection: duckdb.DuckDBPyConnection, run_seed: int) -> None:
    """Register the functions that the views on brittleness use. An argument that is NULL makes the result NULL.

    bootstrap_contrast(view, cell, clusters, common, list(correct), list(weight), log_odds)    struct(low, high, se, p,
                                                        mde, dropped) of the sum of weight * accuracy
    bootstrap_relief(view, cell, clusters, common, list(correct), list(weight), list(weight))   the same, of 1 - the
                                                        one contrast / the other
    bootstrap_ranks(view, cell, clusters, common, list(clean correct), list(correct))   struct of intervals; lists hold
                                                        an entry for each model
    shuffled_ranks(view, cell, list(both), list(discordant))    the fields of `ranks.Shuffled`
    spearman(list, list), kendall(list, list)           correlation of two lists in the same order
    null_drop(discordant, n, perturbations)             the fields of `drops.NullDrop`
    brittleness(list(clusters), list(common), list(list(correct)), list(draws), list(family))  the fields of
                                                        `variance.Brittleness`, pi_without_clean, pi_equal_families; an
                                                        entry for each table, `family` for each variant
    bootstrap_pi(view, cell, list(task), ..., as above without family)   struct of intervals

    `clusters`, `common` and `correct` are BLOBs: see `bits`. `view` and `cell` seed the bootstrap together with the
    run's seed.
    """
    text, blob, blobs = "VARCHAR", "BLOB", duckdb.list_type("BLOB")
    numbers, whole, texts = duckdb.list_type("DOUBLE"), duckdb.list_type("BIGINT"), duckdb.list_type("VARCHAR")
    boot = duckdb.struct_type(BOOTSTRAP)

    def contrast(
        view: str, cell: str, clusters: bytes, common: Bits, right: Several, weights: Sequence[float], log_odds: bool
    ) -> dict[str, Any]:
        of = Contrast(weights, log_odds)
        return bootstrap_columns(bootstrap_contrast(clusters, common, right, of, run_seed, view, cell))

    def relief(
        view: str,
        cell: str,
        clusters: bytes,
        common: Bits,
        right: Several,
        above: Sequence[float],
        below: Sequence[float],
    ) -> dict[str, Any]:
        both = Contrast(above), Contrast(below)
        return bootstrap_columns(bootstrap_relief(clusters, common, right, *both, run_seed, view, cell))

    def intervals_of_ranks(
        view: str, cell: str, clusters: bytes, common: Bits, first: Several, second: Several
    ) -> dict[str, Any]:
        found = bootstrap_ranks(clusters, common, first, second, run_seed, view, cell)
        return {
            "spearman_low": found.spearman[0],
            "spearman_high": found.spearman[1],
            "kendall_low": found.kendall[0],
            "kendall_high": found.kendall[1],
            "dropped": found.dropped,
            "rank_low": [low for low, _ in found.rank],
            "rank_high": [high for _, high in found.rank],
        }

    def shuffled(view: str, cell: str, both: Sequence[int], discordant: Sequence[int]) -> dict[str, Any]:
        return asdict(ranks.shuffled(both, discordant, run_seed, view, cell))

    def intervals_of_pi(
        view: str,
        cell: str,
        tasks: Sequence[str],
        clusters: Several,
        common: Several,
        right: Sequence[Several],
        draws: Sequence[int],
    ) -> dict[str, Any]:
        tables = [Table(*columns) for columns in zip(tasks, clusters, common, right, draws, strict=True)]
        found = bootstrap_pi(tables, run_seed, view, cell)
        return {
            f"{name}{end}": value
            for name, interval in (("", found.pi), ("unbiased_", found.unbiased), ("prompt_", found.prompt))
            for end, value in zip(("low", "high"), interval, strict=True)
        }

    add: Any = connection.create_function
    add("bootstrap_contrast", contrast, [text, text, blob, blob, blobs, numbers, "BOOLEAN"], boot)
    add("bootstrap_relief", relief, [text, text, blob, blob, blobs, numbers, numbers], boot)
    of_ranks: dict[str, Any] = {"dropped": "BIGINT", "rank_low": numbers, "rank_high": numbers}
    of_ranks |= dict.fromkeys(("spearman_low", "spearman_high", "kendall_low", "kendall_high"), "DOUBLE")
    add("bootstrap_ranks", intervals_of_ranks, [text, text, blob, blob, blobs, blobs], duckdb.struct_type(of_ranks))
    add("shuffled_ranks", shuffled, [text, text, whole, whole], _struct(ranks.Shuffled))
    for name, of in (("spearman", ranks.spearman), ("kendall", ranks.kendall)):
        # A correlation may be NULL, which only `special` lets a function return.
        add(name, partial(_correlation, of), [numbers, numbers], "DOUBLE", null_handling="special")
    of_drops = ["BIGINT", "BIGINT", "BIGINT"]
    add("null_drop", lambda discordant, n, k: asdict(null_drop(discordant, n, k)), of_drops, _struct(NullDrop))
    tables = [blobs, blobs, duckdb.list_type(blobs), whole]
    add("brittleness", _brittleness, [*tables, texts], duckdb.struct_type(_BRITTLENESS))
    both_ends = [f"{name}{end}" for name in ("", "unbiased_", "prompt_") for end in ("low", "high")]
    of_pi = duckdb.struct_type(dict.fromkeys(both_ends, "DOUBLE"))
    add("bootstrap_pi", intervals_of_pi, [text, text, texts, *tables], of_pi)


_BRITTLENESS = {name: "DOUBLE" for name in Brittleness.__dataclass_fields__}
_BRITTLENESS |= {"truncated": "BOOLEAN", "pi_without_clean": "DOUBLE", "pi_equal_families": "DOUBLE"}


def _brittleness(
    clusters: Several, common: Several, right: Sequence[Several], draws: Sequence[int], families: Sequence[str]
) -> dict[str, Any]:
    tables = [Table("", *columns) for columns in zip(clusters, common, right, draws, strict=True)]
    counts = [(table.counts(), table.draws) for table in tables]
    variants, weights = len(families), equal_families(families)
    found = brittleness([sums(table, of) for table, of in counts], variants)
    others = [sums(table[:, 1:], of) for table, of in counts] if variants > 1 else []
    return asdict(found) | {
        "pi_without_clean": weighted_pi(others) if others else None,
        "pi_equal_families": weighted_pi([sums(table, of, weights) for table, of in counts]),
    }


def _correlation(
    of: Callable[[Floats, Floats], Floats], first: Sequence[float] | None, second: Sequence[float] | None
) -> float | None:
    if first is None or second is None:
        return None
    value = float(of(np.array([first], dtype=np.float64), np.array([second], dtype=np.float64))[0])
    return None if np.isnan(value) else value


def _struct(fields: Any) -> Any:
    """A struct of doubles with the names of a dataclass's fields."""
    return duckdb.struct_type(dict.fromkeys(fields.__dataclass_fields__, "DOUBLE"))
