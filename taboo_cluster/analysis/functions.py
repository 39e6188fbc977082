"""The statistics as SQL functions, for the views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import duckdb
import numpy as np

from taboo_cluster.analysis.dose import dose_curve
from taboo_cluster.analysis.statistics import (
    Bootstrap,
    Floats,
    Interval,
    benjamini_hochberg,
    bootstrap_gap,
    bootstrap_mean,
    bootstrap_ratio,
    detectable_effect,
    mcnemar,
    newcombe,
    wilson,
)

Names = Sequence[str]
Whole = Sequence[int]
Numbers = Sequence[float]


BOOTSTRAP = {"low": "DOUBLE", "high": "DOUBLE", "se": "DOUBLE", "p": "DOUBLE", "mde": "DOUBLE", "dropped": "BIGINT"}
"""The struct that a bootstrap returns."""


def add_functions(connection: duckdb.DuckDBPyConnection, run_seed: int) -> None:
    """Register the functions that the views use. An argument that is NULL makes the result NULL.

    wilson(k, n), newcombe(k_1, n_1, k_2, n_2)          struct(low, high)
    mcnemar(b, c)                                       p
    benjamini_hochberg(list of p)                       list of q, in the same order
    bootstrap_ratio(view, cell, histogram([num, den]))  struct(low, high, se, p, mde, dropped)
    bootstrap_gap(view, cell, histogram([k_1, n_1, k_2, n_2]))   the same
    bootstrap_mean(view, cell, list(member), list(cluster), list(k), list(n))   the same, of the mean of k / n over
                                                        members (seeds)
    stack_name(condition, perturbations)                the stack of a condition as text; NULL without any
    stack_hash(perturbations, seed)                     one number for a stack and its seed
    dose_curve(cell, list(rank), list(cluster), list(k), list(n), list(bits), list(steps))   the fields of `dose.Curve`

    Each histogram is over clusters. Lists hold an entry for each cluster and member (rank), in any order; what has
    none counts as 0. `view` and `cell` seed the bootstrap together with the run's seed.
    """
    connection.execute(
        "CREATE MACRO stack_name(condition, perturbations) AS "
        "CASE WHEN len(perturbations) > 0 THEN split_part(condition, ' · ', 1) END"
    )
    # DuckDB's hash gives many structured texts of one length the same number, but not both ways round.
    connection.execute(
        "CREATE MACRO stack_hash(perturbations, seed) AS "
        "hash(perturbations, seed, reverse(CAST(perturbations AS VARCHAR)))"
    )
    interval = duckdb.struct_type({"low": "DOUBLE", "high": "DOUBLE"})
    bootstrap = duckdb.struct_type(BOOTSTRAP)
    reading = duckdb.struct_type({"value": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE"})
    points: dict[str, Any] = {"n_points": "BIGINT", "dropped": "BIGINT", "reason": "VARCHAR", "half_dose": reading}
    points |= dict.fromkeys(("dose_min", "dose_max", "steepness", "midpoint", "residual"), "DOUBLE")
    points |= dict.fromkeys(("logistic", "isotonic"), duckdb.list_type(reading))
    histogram = duckdb.map_type(duckdb.list_type("BIGINT"), "UBIGINT")
    numbers, whole = duckdb.list_type("DOUBLE"), duckdb.list_type("BIGINT")

    def ratio(view: str, cell: str, clusters: dict[str, Any]) -> dict[str, Any]:
        return bootstrap_columns(bootstrap_ratio(_clusters(clusters), run_seed, view, cell))

    def gap(view: str, cell: str, clusters: dict[str, Any]) -> dict[str, Any]:
        return bootstrap_columns(bootstrap_gap(_clusters(clusters), run_seed, view, cell))

    def mean(view: str, cell: str, member: Whole, cluster: Names, k: Whole, n: Whole) -> dict[str, Any]:
        return bootstrap_columns(bootstrap_mean(by_cluster(cluster, member, k, n), run_seed, view, cell))

    def curve(
        cell: str, rank: Whole, cluster: Names, k: Whole, n: Whole, bits: Numbers, steps: Numbers
    ) -> dict[str, Any]:
        return asdict(dose_curve(by_cluster(cluster, rank, k, n, bits, steps), run_seed, "dose_curve", cell))

    add: Any = connection.create_function
    add("wilson", lambda k, n: _interval(wilson(k, n)), ["BIGINT"] * 2, interval)
    add("newcombe", lambda k_1, n_1, k_2, n_2: _interval(newcombe(k_1, n_1, k_2, n_2)), ["BIGINT"] * 4, interval)
    add("mcnemar", mcnemar, ["BIGINT"] * 2, "DOUBLE")
    add("benjamini_hochberg", benjamini_hochberg, [numbers], numbers)
    add("bootstrap_ratio", ratio, ["VARCHAR", "VARCHAR", histogram], bootstrap)
    add("bootstrap_gap", gap, ["VARCHAR", "VARCHAR", histogram], bootstrap)
    keys = [whole, duckdb.list_type("VARCHAR")]
    add("bootstrap_mean", mean, ["VARCHAR", "VARCHAR", *keys, whole, whole], bootstrap)
    add("dose_curve", curve, ["VARCHAR", *keys, whole, whole, numbers, numbers], duckdb.struct_type(points))


def _interval(ends: Interval) -> dict[str, float | None]:
    return {"low": ends[0], "high": ends[1]}


def bootstrap_columns(result: Bootstrap) -> dict[str, Any]:
    """A bootstrap as the struct `BOOTSTRAP`."""
    return asdict(result) | {"mde": None if result.se is None else detectable_effect(result.se)}


def by_cluster(clusters: Names, members: Whole, *columns: Numbers) -> Floats:
    """Lists with an entry for each cluster and member as [clusters, members, columns], each axis in sorted order."""
    names, row = np.unique(clusters, return_inverse=True)
    numbers, place = np.unique(members, return_inverse=True)
    table = np.zeros((len(names), len(numbers), len(columns)))
    table[row, place] = np.array(columns, dtype=np.float64).T
    return table


def _clusters(histogram: dict[str, Any]) -> dict[tuple[int, ...], int]:
    """A DuckDB map (its keys are lists) as sums of a cluster -> number of clusters."""
    return {tuple(key): count for key, count in zip(histogram["key"], histogram["value"], strict=True)}
