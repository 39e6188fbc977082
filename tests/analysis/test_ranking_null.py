"""What the ranking views say of perturbations that do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from taboo_cluster.records.schema import RECORD, arrow_schema
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import write_table

SIMULATIONS, MODELS, ITEMS, CHURN = 200, 6, 100, 0.05
CELLS = (("baseline", 0), ("baseline", 1), ("typos", 0))


def simulations() -> Iterator[npt.NDArray[np.bool_]]:
    """Right answers [models, cells, items] of six models that are 2 points apart, on other items each time.

    What a model knows is the same in every cell; each cell turns answers about so that two cells differ in 5% of them.
    """
    turned = (1 - (1 - 2 * CHURN) ** 0.5) / 2
    for number in range(SIMULATIONS):
        rng = np.random.default_rng([5, number])
        chance = np.linspace(0.55, 0.65, MODELS)[:, None]
        knows = rng.random((MODELS, ITEMS)) < chance + rng.normal(0, 0.2, ITEMS)
        yield knows[:, None] ^ (rng.random((MODELS, len(CELLS), ITEMS)) < turned)


def part(correct: npt.NDArray[np.bool_]) -> pa.Table:
    """Records of answers [simulations, models, cells, items]; every simulation is a benchmark."""
    simulation, model, cell, item = (place.ravel() for place in np.indices(correct.shape))
    stack = [{"name": "typos", "family": "word", "params": "{}"}]
    perturbed = cell == 2

    def texts(of: npt.NDArray[np.int64], form: str) -> pa.Array:
        names = pa.array([form.format(value) for value in range(int(of.max()) + 1)])
        return names.take(pa.array(of))

    items = texts(item, "{:03}")
    right = correct.ravel()
    columns: dict[str, Any] = {
        "trial_id": texts(np.arange(right.size), "{}"),
        "model": texts(model, "model-{}"),
        "benchmark": texts(simulation, "simulation-{}"),
        "split": pa.repeat("test", right.size),
        "item_id": items,
        "cluster_id": items,
        "condition": pa.array([name for name, _ in CELLS]).take(pa.array(cell)),
        "replicate": np.array([replicate for _, replicate in CELLS])[cell],
        "perturbations": pa.array([[], stack], arrow_schema(RECORD).field("perturbations").type).take(
            pa.array(perturbed.astype(np.int64))
        ),
        "perturbation_seed": pa.array(np.ones(right.size, dtype=np.int64), mask=~perturbed),
        "changed": pa.array(np.ones(right.size, dtype=np.bool_), mask=~perturbed),
        "gold": pa.repeat("1", right.size),
        "temperature": np.zeros(right.size),
        "taboo_rank": np.zeros(right.size, dtype=np.int32),
        "outcome": pa.array(["wrong", "correct"]).take(pa.array(right.astype(np.int64))),
        "correct": right,
    }
    schema = arrow_schema(RECORD)
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(right.size, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def test_no_effect_is_seldom_a_significant_flip_and_changes_the_order_as_often_as_its_aa_value_says(run: Any) -> None:
    answers = np.array(list(simulations()))
    assert (answers[:, :, 0] != answers[:, :, 2]).mean() == pytest.approx(CHURN, abs=0.003)
    write_table(Store.open(run.directory), "records/m/part-l1-w0-000000.parquet", part(answers))
    query = "SELECT order_changed_int, order_changed_aa, flip_rate, flip_rate_aa, flip_significant_int FROM {}"
    found = np.array([list(row.values()) for row in run.ask(query.format("rank_correlation"))])
    assert found.shape == (SIMULATIONS, 5)
    changed, changed_aa, rate, rate_aa, significant = found.mean(axis=0)
    assert significant <= 0.05
    # Within three standard errors; often enough that it matters.
    assert changed == pytest.approx(changed_aa, abs=3 * (changed_aa * (1 - changed_aa) / SIMULATIONS) ** 0.5)
    assert 0.4 < changed_aa < 0.8
    assert rate == pytest.approx(rate_aa, abs=3 * found[:, 2].std() / SIMULATIONS**0.5)
