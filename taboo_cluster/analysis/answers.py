"""The answers of perturbed benchmarks as bits, one an item: what the views on brittleness are made of.

They compare each item under many variants; on bit strings that is a few machine words an item and cell.
"""

from __future__ import annotations

from itertools import groupby

import duckdb
import numpy as np

ANSWERS = ("tasks", "answers")
"""The tables made here."""

HALVES = 8
"""Ways in which a task's clusters are halved, for cross-fitting."""


def load_answers(connection: duckdb.DuckDBPyConnection, run_seed: int) -> None:
    """Create `tasks` and `answers` from `recorded` and `cells`; both are empty without a perturbed trial.

    tasks      one row per benchmark and split: task (the two as one text), n_items, n_clusters, clusters (the
               cluster of each item as a number, int32), halves (bits of one half, in several seeded ways), mismatch
               (an item whose question or gold answer is not the same everywhere; null where there is none)
    answers    one row per cell and replicate of these: n_recorded, and the items that are scored, correct and changed
               as bits

    Bit i is the i-th item by item_id. All bit strings are as long as the longest task, in whole bytes.
    """
    connection.execute(
        """
        CREATE TEMP TABLE places AS
        WITH perturbed AS (SELECT DISTINCT benchmark, split FROM cells WHERE len(perturbations) > 0),
        named AS (
            SELECT
                cell_id,
                CAST(ROW(benchmark, split) AS VARCHAR) AS task,
                stack_hash(perturbations, perturbation_seed) AS variant
            FROM cells
            SEMI JOIN perturbed USING (benchmark, split)
        ),
        moved AS (
            SELECT DISTINCT task, item_id
            FROM (
                SELECT task, item_id
                FROM recorded
                JOIN named USING (cell_id)
                WHERE gold_hash IS NULL AND lines IS NULL AND correct IS NOT NULL
                GROUP BY task, item_id, variant
                HAVING min(gold) <> max(gold)
            )
        ),
        items AS (
            SELECT
                task,
                item_id,
                min(cluster_id) AS cluster_id,
                min(gold_hash) <> max(gold_hash) OR min(question_hash) <> max(question_hash) AS mismatch
            FROM recorded
            JOIN named USING (cell_id)
            GROUP BY task, item_id
        )
        SELECT
            items.task,
            items.item_id,
            row_number() OVER (PARTITION BY items.task ORDER BY items.item_id) - 1 AS place,
            CAST(dense_rank() OVER (PARTITION BY items.task ORDER BY cluster_id) - 1 AS INTEGER) AS cluster,
            cluster_id,
            coalesce(mismatch, false) OR moved.item_id IS NOT NULL AS mismatch
        FROM items
        LEFT JOIN moved USING (task, item_id)
        """
    )
    (most,) = connection.execute("SELECT coalesce(max(place), 0) FROM places").fetchone() or (0,)
    last = most // 8 * 8 + 7
    _load_tasks(connection, last, run_seed)
    connection.execute(
        f"""
        CREATE TABLE answers AS
        SELECT
            cell_id,
            replicate,
            count(*) AS n_recorded,
            {_bits("correct IS NOT NULL", last)} AS scored,
            {_bits("correct", last)} AS correct,
            {_bits("changed", last)} AS changed
        FROM recorded
        JOIN (SELECT cell_id, CAST(ROW(benchmark, split) AS VARCHAR) AS task FROM cells) USING (cell_id)
        JOIN places USING (task, item_id)
        GROUP BY cell_id, replicate
        """
    )
    connection.execute("DROP TABLE places")


def _load_tasks(connection: duckdb.DuckDBPyConnection, last: int, run_seed: int) -> None:
    halves = ", ".join(_bits(f"(draw >> {way}) & 1 = 1", last) for way in range(HALVES))
    connection.execute(
        f"""
        CREATE TABLE tasks AS
        SELECT
            task,
            count(*) AS n_items,
            count(DISTINCT cluster) AS n_clusters,
            NULL::BLOB AS clusters,
            [{halves}] AS halves,
            min(item_id) FILTER (mismatch) AS mismatch
        FROM (SELECT *, md5_number_lower(concat('halves ', {run_seed}, ' ', cluster_id)) AS draw FROM places)
        GROUP BY task
        """
    )
    rows = connection.execute("SELECT task, cluster FROM places ORDER BY task, place").fetchall()
    for task, of_task in groupby(rows, key=lambda row: row[0]):
        clusters = np.array([cluster for _, cluster in of_task], dtype=np.int32).tobytes()
        connection.execute("UPDATE tasks SET clusters = ? WHERE task = ?", [clusters, task])


def _bits(condition: str, last: int) -> str:
    return f"coalesce(bitstring_agg(place, 0, {last}) FILTER ({condition}), bitstring('0', {last + 1}))"
