"""The statistics as SQL functions, for the views."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import duckdb

from taboo_cluster.analysis.statistics import (
    Bootstrap,
    Interval,
    benjamini_hochberg,
    bootstrap_gap,
    bootstrap_ratio,
    detectable_effect,
    mcnemar,
    newcombe,
    wilson,
)


def add_functions(connection: duckdb.DuckDBPyConnection, run_seed: int) -> None:
    """Register the functions that the views use. An argument that is NULL makes the result NULL.

    wilson(k, n), newcombe(k_1, n_1, k_2, n_2)          struct(low, high)
    mcnemar(b, c)                                       p
    benjamini_hochberg(list of p)                       list of q, in the same order
    bootstrap_ratio(view, cell, histogram([num, den]))  struct(low, high, se, p, mde, dropped)
    bootstrap_gap(view, cell, histogram([k_1, n_1, k_2, n_2]))   the same

    Each histogram is over clusters; `view` and `cell` seed the bootstrap together with the run's seed.
    """
    interval = duckdb.struct_type({"low": "DOUBLE", "high": "DOUBLE"})
    bootstrap = duckdb.struct_type(
        {"low": "DOUBLE", "high": "DOUBLE", "se": "DOUBLE", "p": "DOUBLE", "mde": "DOUBLE", "dropped": "BIGINT"}
    )
    histogram = duckdb.map_type(duckdb.list_type("BIGINT"), "UBIGINT")
    numbers = duckdb.list_type("DOUBLE")

    def ratio(view: str, cell: str, clusters: dict[str, Any]) -> dict[str, Any]:
        return _bootstrap(bootstrap_ratio(_clusters(clusters), run_seed, view, cell))

    def gap(view: str, cell: str, clusters: dict[str, Any]) -> dict[str, Any]:
        return _bootstrap(bootstrap_gap(_clusters(clusters), run_seed, view, cell))

    add: Any = connection.create_function
    add("wilson", lambda k, n: _interval(wilson(k, n)), ["BIGINT"] * 2, interval)
    add("newcombe", lambda k_1, n_1, k_2, n_2: _interval(newcombe(k_1, n_1, k_2, n_2)), ["BIGINT"] * 4, interval)
    add("mcnemar", mcnemar, ["BIGINT"] * 2, "DOUBLE")
    add("benjamini_hochberg", benjamini_hochberg, [numbers], numbers)
    add("bootstrap_ratio", ratio, ["VARCHAR", "VARCHAR", histogram], bootstrap)
    add("bootstrap_gap", gap, ["VARCHAR", "VARCHAR", histogram], bootstrap)


def _interval(ends: Interval) -> dict[str, float | None]:
    return {"low": ends[0], "high": ends[1]}


def _bootstrap(result: Bootstrap) -> dict[str, Any]:
    return asdict(result) | {"mde": None if result.se is None else detectable_effect(result.se)}


def _clusters(histogram: dict[str, Any]) -> dict[tuple[int, ...], int]:
    """A DuckDB map (its keys are lists) as sums of a cluster -> number of clusters."""
    return {tuple(key): count for key, count in zip(histogram["key"], histogram["value"], strict=True)}
