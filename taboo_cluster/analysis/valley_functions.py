"""Curves over levels of fragmentation as SQL functions, for the views."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import duckdb
import numpy as np

from taboo_cluster.analysis import valley
from taboo_cluster.analysis.functions import Names, Numbers, Whole, by_cluster
from taboo_cluster.spec import Spec

FAMILY = "fragmentation"

LEVEL = ("p", "k")
"""Options that say how much is fragmented: along a curve they differ, and nothing else does."""


def add_valley_functions(connection: duckdb.DuckDBPyConnection, run_seed: int) -> None:
    """Register the functions that the views on fragmentation use. An argument that is NULL makes the result NULL.

    fragmentation(perturbations)        struct(name, p): the stack without how much is fragmented, and p (NULL where
                                        its rule has none); NULL with no or more than one member of the family
    level_intervals(view, cell, list(cluster), list(level), list(numerator), list(denominator))
                                        list of struct(low, high), one for each level
    valley_shape(cell, places, list(cluster), list(level), list(numerator), list(denominator), list(another numerator))
                                        struct(u_shaped, reason, another_u_shaped, plain, cross_fitted), the latter two
                                        the fields of `valley.Depth`
    entropy_peak(cell, places, list(cluster), list(level), list(numerator), list(denominator), list(entropy), list(n))
                                        the fields of `valley.Peak`

    Lists hold one entry for each cluster and level, in any order. Levels are numbered; `places` has the p of each, in
    that order, ascending. `view` and `cell` seed the bootstrap together with the run's seed.
    """
    text, whole, numbers = "VARCHAR", duckdb.list_type("BIGINT"), duckdb.list_type("DOUBLE")
    texts = duckdb.list_type("VARCHAR")
    member = duckdb.struct_type(dict.fromkeys(("name", "family", "params"), "VARCHAR"))
    interval = duckdb.struct_type({"low": "DOUBLE", "high": "DOUBLE"})
    depth = duckdb.struct_type(dict.fromkeys(valley.Depth.__dataclass_fields__, "DOUBLE"))
    shape: dict[str, Any] = {"u_shaped": "BOOLEAN", "reason": text, "another_u_shaped": "BOOLEAN"}
    shape |= {"plain": depth, "cross_fitted": depth}
    peak: dict[str, Any] = {"place": "DOUBLE", "before_minimum": "DOUBLE", "reason": text}

    def intervals(
        view: str, cell: str, clusters: Names, levels: Whole, over: Numbers, under: Numbers
    ) -> list[dict[str, Any]]:
        (curve,) = _curves(sorted(set(levels)), clusters, levels, over, under)
        return [{"low": low, "high": high} for low, high in valley.intervals(curve, run_seed, view, cell)]

    def shaped(
        cell: str, places: Numbers, clusters: Names, levels: Whole, over: Numbers, under: Numbers, another: Numbers
    ) -> dict[str, Any]:
        seed = run_seed, "valley_summary", cell
        curve, other = _curves(places, clusters, levels, over, under, another, under)
        return asdict(valley.shape(curve, *seed)) | {
            "another_u_shaped": valley.shape(other, *seed).u_shaped,
            "plain": asdict(valley.depth(curve)),
            "cross_fitted": asdict(valley.cross_fitted_depth(curve, *seed)),
        }

    def peaked(
        cell: str,
        places: Numbers,
        clusters: Names,
        levels: Whole,
        over: Numbers,
        under: Numbers,
        entropy: Numbers,
        n: Numbers,
    ) -> dict[str, Any]:
        curve, entropies = _curves(places, clusters, levels, over, under, entropy, n)
        return asdict(valley.peak(curve, entropies, run_seed, "valley_summary", cell))

    add: Any = connection.create_function
    named = duckdb.struct_type({"name": text, "p": "DOUBLE"})
    # What is no curve is NULL, which only `special` lets a function return.
    add("fragmentation", _fragmentation, [duckdb.list_type(member)], named, null_handling="special")
    keys = [texts, whole]
    add("level_intervals", intervals, [text, text, *keys, numbers, numbers], duckdb.list_type(interval))
    add("valley_shape", shaped, [text, numbers, *keys, *[numbers] * 3], duckdb.struct_type(shape))
    add("entropy_peak", peaked, [text, numbers, *keys, *[numbers] * 4], duckdb.struct_type(peak))


def _fragmentation(stack: Sequence[Mapping[str, str]] | None) -> dict[str, Any] | None:
    amounts, names = [], []
    for member in stack or ():
        options = json.loads(member["params"])
        if member["family"] == FAMILY:
            amounts.append(options.get("p"))
            options = {key: value for key, value in options.items() if key not in LEVEL}
        names.append(str(Spec(member["name"], {key: value for key, value in options.items() if value is not None})))
    return {"name": "→".join(names), "p": amounts[0]} if len(amounts) == 1 else None


def _curves(places: Numbers, clusters: Names, levels: Whole, *columns: Numbers) -> list[valley.Curve]:
    """A curve of each two columns, numerator and denominator."""
    table = by_cluster(clusters, levels, *columns)
    of_levels = np.array(places, dtype=np.float64)
    return [valley.Curve(of_levels, table[..., i], table[..., i + 1]) for i in range(0, len(columns), 2)]
