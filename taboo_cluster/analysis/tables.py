"""The narrow tables that the views are made of, read once from a run's parts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import duckdb
import numpy as np
import pyarrow as pa

from taboo_cluster.records.reader import BEST_FIRST, RECORDS, TABLES_FOLDER, read_parts
from taboo_cluster.records.schema import RECORD, TABLES
from taboo_cluster.records.storage import Store

LONG_TEXTS = frozenset({"question", "prompt", "completion", "steps", "details", "token_ids", "positions"})
"""Columns that are not read unless asked for."""

LOADED_AS = {"stability": "probed", "tokenization": "tokenized"}
"""Side tables whose name a view has: what they are called here, as `recorded` stands behind the view `records`."""

SIDE_TABLES = tuple(LOADED_AS.get(name, name) for name in TABLES)

BASE_KEY = "model, model_revision, quantization, dtype, engine, benchmark, split, prompt_style, n_shots"
"""A condition and its baseline agree in these; quantization and dtype never mix."""

SETTING_KEY = (
    "condition, perturbations, perturbation_seed, fragment_p, taboo_rank, taboo_trigger, taboo_word_start, "
    "taboo_trigger_params, temperature, top_p, sample_seed"
)
"""What is done to an item: together with BASE_KEY these name a cell."""

MODEL_FACTS = "model_family, size_b, aligned, stage, pair"
"""Follow from the model; shown, but no key."""

BENCHMARK_FACTS = "chance"
"""Follow from the benchmark; shown, but no key."""

VERDICT = (
    "outcome",
    "answer",
    "answer_start",
    "answer_end",
    "parse_ok",
    "correct",
    "score",
    "matched_alias",
    "lines",
    "scorer_version",
    "error_type",
    "error",
)
"""Columns that a later score of the same completion (table `scores`) takes the place of."""

BASELINE = "coalesce(taboo_rank, 0) = 0 AND coalesce(temperature, 0) = 0 AND coalesce(len(perturbations), 0) = 0"
"""Empty stack, no intervention, greedy."""


def load_tables(connection: duckdb.DuckDBPyConnection, stores: Sequence[Store], texts: bool = False) -> None:
    """Create `recorded` (one row per trial), `cells` (one per model x benchmark x condition) and the side tables.

    recorded   the record's columns (long texts only with `texts`), its verdict replaced by the latest score of the
               same completion, and cell_id, baseline_id (shared by a cell and its baseline), is_baseline,
               question_hash (null for a perturbed question), gold_hash (null on error and where the gold answer
               may be another: letters of choices that were perturbed, lines of a document, fragmented or cut)
    cells      cell_id, baseline_id, is_baseline, what names the cell, `cell` (that as one text, which seeds its
               bootstrap) and `setting` (the same without the model)
    """
    # The order of rows means nothing here, and keeping it halves the speed of reading.
    connection.execute("SET preserve_insertion_order = false")
    read_parts(connection, stores, RECORDS, RECORD, lambda: _load_records(connection, texts))
    for name, columns in TABLES.items():
        shown = ", ".join(f'"{column.name}"' for column in columns if texts or column.name not in LONG_TEXTS)

        def load(table: str = LOADED_AS.get(name, name), shown: str = shown) -> None:
            # A part may stand beside the one it was merged into.
            connection.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT DISTINCT {shown} FROM parts")

        read_parts(connection, stores, f"{TABLES_FOLDER}/{name}", columns, load)
    connection.execute("DROP VIEW parts")
    connection.unregister("no_parts")
    _apply_scores(connection, texts)
    connection.execute(
        f"""
        CREATE TABLE cells AS
        SELECT
            cell_id,
            any_value(baseline_id) AS baseline_id,
            any_value(is_baseline) AS is_baseline,
            {", ".join(f"any_value({c}) AS {c}" for c in _names(BASE_KEY, SETTING_KEY, MODEL_FACTS, BENCHMARK_FACTS))},
            CAST(ROW({_any(BASE_KEY)}, {_any(SETTING_KEY)}) AS VARCHAR) AS cell,
            CAST(ROW({_any("benchmark, split, prompt_style, n_shots")}, {_any(SETTING_KEY)}) AS VARCHAR) AS setting
        FROM recorded
        GROUP BY cell_id
        """
    )


def run_seed(connection: duckdb.DuckDBPyConnection) -> int:
    """The seed of the (first) run, from its first launch; 0 where no launch is recorded."""
    rows = connection.execute("SELECT config FROM launches ORDER BY started_at, launch_id LIMIT 1").fetchall()
    return int(json.loads(rows[0][0]).get("seed", 0)) if rows and rows[0][0] else 0


def _load_records(connection: duckdb.DuckDBPyConnection, texts: bool) -> None:
    columns = ", ".join(column.name for column in RECORD if texts or column.name not in LONG_TEXTS)
    # DuckDB's hash gives many texts of one length that differ in a few places the same number, but not both ways round.
    connection.execute(
        f"""
        CREATE OR REPLACE TABLE recorded AS
        SELECT
            {columns},
            filename,
            hash({BASE_KEY}, {SETTING_KEY}, reverse(model), reverse(condition)) AS cell_id,
            hash({BASE_KEY}, reverse(model)) AS baseline_id,
            {BASELINE} AS is_baseline,
            CASE WHEN coalesce(len(perturbations), 0) = 0 AND question IS NOT NULL THEN hash(question) END
                AS question_hash,
            CASE WHEN lines IS NULL AND correct IS NOT NULL
                    AND NOT coalesce(list_contains(list_transform(perturbations, lambda p: p.family), 'choices'), false)
                THEN hash(gold) END AS gold_hash
        FROM (SELECT * REPLACE (coalesce(cluster_id, item_id) AS cluster_id) FROM parts)
        """
    )
    _keep_best(connection)
    connection.execute("ALTER TABLE recorded DROP COLUMN filename")


def _keep_best(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep one row of each trial.

    Nearly all trials have one: their ids' hashes, sorted, find the others with little memory.
    """
    hashes = np.sort(np.asarray(connection.execute("SELECT hash(trial_id) AS h FROM recorded").fetchnumpy()["h"]))
    several = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
    if not len(several):
        return
    connection.register("several", pa.table({"h": several}))
    connection.execute(
        f"""
        DELETE FROM recorded WHERE rowid IN (
            SELECT rowid FROM (
                SELECT rowid, row_number() OVER (PARTITION BY trial_id ORDER BY {BEST_FIRST}) AS place
                FROM recorded
                WHERE hash(trial_id) IN (SELECT h FROM several)
            )
            WHERE place > 1
        )
        """
    )
    connection.unregister("several")


def _apply_scores(connection: duckdb.DuckDBPyConnection, texts: bool) -> None:
    """Put the latest score of a completion in the place of its verdict; a record that was made again keeps its own."""
    replaced = [*VERDICT, "details"] if texts else VERDICT
    connection.execute(
        f"""
        UPDATE recorded SET {", ".join(f"{name} = latest.{name}" for name in replaced)}
        FROM (
            SELECT * FROM scores
            QUALIFY row_number()
                OVER (PARTITION BY run_id, trial_id, attempt ORDER BY scored_at DESC, rescore_id DESC) = 1
        ) AS latest
        WHERE recorded.trial_id = latest.trial_id
            AND recorded.attempt = latest.attempt
            AND recorded.run_id IS NOT DISTINCT FROM latest.run_id
        """
    )


def _names(*lists: str) -> list[str]:
    return [name for names in lists for name in names.split(", ")]


def _any(names: str) -> str:
    return ", ".join(f"any_value({name})" for name in _names(names))
