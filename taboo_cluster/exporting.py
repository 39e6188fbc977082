"""Correct detours as training data: completions that reached the right answer with words forbidden on the way.

The paper proposes to train on them. A row holds the prompt, the text the model gave undisturbed, the detour, and what
each forced step cost.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from taboo_cluster.analysis.database import open_runs, select
from taboo_cluster.errors import UserError
from taboo_cluster.records.reader import BEST_FIRST, RECORDS, read_parts
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.storage import Store

BATCH = 1024
"""Rows in memory as Python objects at once."""

_PAIRS = """
    SELECT d.trial_id, d.answer, b.trial_id AS baseline_id, b.correct AS baseline_correct
    FROM recorded AS d
    LEFT JOIN (FROM recorded WHERE is_baseline AND replicate = 0) AS b
        ON b.baseline_id = d.baseline_id AND b.item_id = d.item_id
    WHERE d.replicate = 0 AND NOT d.is_baseline AND d.interventions > 0 AND d.correct
"""

_BEST = f"""
    CREATE OR REPLACE TEMP TABLE best AS
    SELECT trial_id, attempt, started_at, filename FROM parts
    WHERE trial_id IN (SELECT unnest([trial_id, baseline_id]) FROM pairs)
    QUALIFY row_number() OVER (PARTITION BY trial_id ORDER BY {BEST_FIRST}) = 1
"""

_DETOURS = """
    WITH chosen AS (
        SELECT parts.* FROM parts SEMI JOIN best
            ON parts.trial_id = best.trial_id AND parts.filename = best.filename
            AND parts.attempt IS NOT DISTINCT FROM best.attempt
            AND parts.started_at IS NOT DISTINCT FROM best.started_at
    )
    SELECT
        d.trial_id, d.model, d.model_revision, d.quantization, d.aligned, d.benchmark, d.split, d.item_id,
        d.condition, d.taboo_rank, d.taboo_trigger, d.taboo_word_start, d.taboo_trigger_params, d.temperature,
        d.sample_seed, d.question, d.gold, d.prompt, b.completion AS baseline, pairs.baseline_correct,
        d.completion AS detour, pairs.answer, d.interventions,
        [step.emitted_rank FOR step IN d.steps] AS ranks, [step.bits FOR step IN d.steps] AS bits,
        d.surprisal_total, d.surprisal_mean, d.glued, d.taboo_leak{steps}
    FROM pairs
    JOIN chosen AS d USING (trial_id)
    LEFT JOIN chosen AS b ON b.trial_id = pairs.baseline_id
    ORDER BY d.model, d.quantization, d.dtype, d.benchmark, d.taboo_rank, d.condition, d.sample_seed, d.item_id
"""


def export_detours(
    run_dir: str, out: str, *, any_baseline: bool = False, steps: bool = False, force: bool = False
) -> int:
    """Write the correct detours of replicate 0 to a file, which appears whole; the number of rows.

    Args:
        run_dir: the run; local or an fsspec URL.
        out: file to write, `.jsonl` or `.parquet`; local or an fsspec URL.
        any_baseline: also detours whose baseline was wrong, failed or is not recorded.
        steps: also each intervention with the token forbidden and the one said instead.
        force: replace a file that exists.

    Raises:
        UserError: no such run, no such detour in it, another ending, a file that exists or cannot be written.
    """
    folder, _, name = out.rpartition("/")
    write = _WRITERS.get(name.rpartition(".")[2])
    if write is None:
        raise UserError(f"--out {out}: the name must end in .jsonl or .parquet")
    store = Store.open(folder or ("/" if out.startswith("/") else "."))
    if store.fs.exists(f"{store.root}/{name}") and not force:
        raise UserError(f"{out} exists: name another file, or replace it with --force")
    with open_runs([run_dir]) as connection:
        pairs = select(connection, _PAIRS if any_baseline else f"{_PAIRS} AND b.correct")
    if not len(pairs):
        raise UserError(
            f"{run_dir} holds no correct detour"
            + ("" if any_baseline else " whose baseline is correct too; --any-baseline takes the others as well")
        )
    query = _DETOURS.format(steps=", d.steps" if steps else "")
    try:
        with _appearing(store, name) as path, duckdb.connect() as connection:
            connection.execute("SET temp_directory = ?", [f"{path}.spill"])
            connection.register("pairs", pairs)

            def read() -> int:
                connection.execute(_BEST)
                return write(path, connection.sql(query).to_arrow_reader(BATCH))

            return read_parts(connection, [Store.open(run_dir)], RECORDS, RECORD, read)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror or error}") from error


@contextmanager
def _appearing(store: Store, name: str) -> Iterator[str]:
    """Path to write a file to; it is moved to its place once it is finished."""
    folder = store.root if store.local else None
    with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as temporary:
        path = os.path.join(temporary, name)
        yield path
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        store.put(path, name)


def _write_jsonl(path: str, batches: pa.RecordBatchReader) -> int:
    """One JSON object a line, ASCII alone: no reader takes a character inside a text for the end of a line."""
    count = 0
    with open(path, "w", encoding="ascii") as file:
        for batch in batches:
            for row in batch.to_pylist():
                file.write(json.dumps(row, allow_nan=False) + "\n")
            count += len(batch)
    return count


def _write_parquet(path: str, batches: pa.RecordBatchReader) -> int:
    count = 0
    with pq.ParquetWriter(path, batches.schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += len(batch)
    return count


_WRITERS: dict[str, Callable[[str, Any], int]] = {"jsonl": _write_jsonl, "parquet": _write_parquet}
