"""The prediction of flips as an SQL function, for the views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np

from taboo_cluster.analysis.flips import flip_prediction
from taboo_cluster.analysis.functions import Names, Numbers


def add_stability_functions(connection: duckdb.DuckDBPyConnection, run_seed: int) -> None:
    """Register `flip_prediction(view, cell, list(cluster), list(flipped), list(tcb), list(entropy), list(margin),
    list(top1), list(flip_radius))`: a list of struct(predictor, auroc, low, high, delta, delta_low, delta_high).

    Lists hold an entry for each trial, in one order. A flip is expected where the numbers are low, the entropy where it
    is high. `view` and `cell` seed the bootstrap together with the run's seed.
    """

    def predicted(
        view: str,
        cell: str,
        clusters: Names,
        flipped: Sequence[bool],
        tcb: Numbers,
        entropy: Numbers,
        margin: Numbers,
        top1: Numbers,
        flip_radius: Numbers,
    ) -> list[dict[str, Any]]:
        low = {"tcb": tcb, "margin": margin, "top1": top1, "flip_radius": flip_radius}
        scores = {"entropy": np.array(entropy), **{name: -np.array(values) for name, values in low.items()}}
        _, numbered = np.unique(clusters, return_inverse=True)
        found = flip_prediction(scores, np.array(flipped, dtype=bool), numbered, run_seed, view, cell)
        return [
            {
                "predictor": name,
                "auroc": of.auroc,
                "low": of.interval[0],
                "high": of.interval[1],
                "delta": of.delta,
                "delta_low": of.delta_interval[0],
                "delta_high": of.delta_interval[1],
            }
            for name, of in found.items()
        ]

    numbers = duckdb.list_type("DOUBLE")
    row: dict[str, Any] = {"predictor": "VARCHAR"}
    row |= dict.fromkeys(("auroc", "low", "high", "delta", "delta_low", "delta_high"), "DOUBLE")
    given = ["VARCHAR", "VARCHAR", duckdb.list_type("VARCHAR"), duckdb.list_type("BOOLEAN"), *[numbers] * 5]
    add: Any = connection.create_function
    add("flip_prediction", predicted, given, duckdb.list_type(duckdb.struct_type(row)))
