"""Paraphrases on disk: a folder of Parquet parts, one row per paraphrase asked for, the rejected ones among them.

A folder only ever grows. Of two accepted paraphrases of one kind and question the first written counts, for good: the
texts of earlier runs are those of later ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa

from taboo_cluster.errors import UserError
from taboo_cluster.hashing import stable_hash
from taboo_cluster.records.reader import read_parts
from taboo_cluster.records.schema import TIME, Column
from taboo_cluster.records.storage import Store

PARAPHRASES: tuple[Column, ...] = (
    Column("kind", pa.string(), "lexical, syntactic or free"),
    Column("benchmark", pa.string(), "benchmark of the item"),
    Column("split", pa.string(), "split the item comes from"),
    Column("item_id", pa.string(), "the item"),
    Column("question_hash", pa.string(), "hash of the clean question: another question under the same id is another"),
    Column("question", pa.string(), "the clean question"),
    Column("paraphrase", pa.string(), "as it is shown to models; null where none could be read"),
    Column("accepted", pa.bool_(), "it passed every check"),
    Column("reason", pa.string(), "why it was rejected; null where it was not"),
    Column("length_ratio", pa.float64(), "characters of the paraphrase over those of the question"),
    Column("cosine", pa.float64(), "of the embeddings of both; null where they were not compared"),
    Column("completion", pa.string(), "what the writer said"),
    Column("model", pa.string(), "name of the writer"),
    Column("model_revision", pa.string(), "commit of the hub, or hash of a local folder's content"),
    Column("quantization", pa.string(), "none, nf4 or int8"),
    Column("dtype", pa.string(), "bfloat16, float16 or float32"),
    Column("engine", pa.string(), "engine of the writer"),
    Column("prompt_version", pa.string(), "version of the writer's prompt and of the checks"),
    Column("temperature", pa.float64(), "0 = greedy"),
    Column("top_p", pa.float64(), "null when greedy"),
    Column("sample_seed", pa.int64(), "null when greedy"),
    Column("written_at", TIME, "when"),
)

WRITER = ("model", "model_revision", "quantization", "dtype", "engine", "prompt_version")
SAMPLING = ("temperature", "top_p", "sample_seed")

Place = tuple[str, str, str]
"""(kind, item_id, hash of the clean question): what a paraphrase is looked up by."""


def question_hash(question: str) -> str:
    """The hash by which a clean question is known."""
    return stable_hash(question)


def read_accepted(directory: str, kind: str) -> dict[tuple[str, str], str]:
    """(item_id, question_hash) -> the paraphrase of that kind that counts. Raises UserError where there is none."""
    rows = _select(
        directory,
        """
        SELECT item_id, question_hash, paraphrase FROM parts WHERE accepted AND kind = $kind
        QUALIFY row_number() OVER (PARTITION BY item_id, question_hash ORDER BY written_at, paraphrase) = 1
        """,
        kind=kind,
    )
    if not rows:
        raise UserError(f"{directory} holds no {kind} paraphrases; they are made by: {_command('NAME', directory)}")
    return {(row["item_id"], row["question_hash"]): row["paraphrase"] for row in rows}


def check_benchmark(directory: str, kind: str, benchmark: str) -> None:
    """Raise UserError for a folder without an accepted paraphrase of that kind for a benchmark."""
    found = _select(
        directory, "SELECT DISTINCT benchmark FROM parts WHERE accepted AND kind = $kind ORDER BY ALL", kind=kind
    )
    names = [row["benchmark"] for row in found]
    if benchmark not in names:
        others = f" (it has some for {', '.join(names)})" if names else ""
        command = _command(benchmark, directory)
        raise UserError(f"{directory} holds no {kind} paraphrases of {benchmark}{others}; they are made by: {command}")


def settled(directory: str, writer: Mapping[str, Any]) -> set[Place]:
    """What need not be asked of a writer: what has an accepted paraphrase, and what this very writer failed at.

    Args:
        directory: the folder, which need not be there.
        writer: values of the columns WRITER and SAMPLING.
    """
    same = " AND ".join(f"{name} IS NOT DISTINCT FROM ${name}" for name in (*WRITER, *SAMPLING))
    rows = _select(
        directory, f"SELECT DISTINCT kind, item_id, question_hash FROM parts WHERE accepted OR ({same})", **writer
    )
    return {(row["kind"], row["item_id"], row["question_hash"]) for row in rows}


def counts(directory: str) -> pa.Table:
    """How many were accepted and rejected, by benchmark, kind and reason."""
    query = """
        SELECT benchmark, kind, accepted, reason, count(*) AS n,
               avg(length_ratio) AS length_ratio, avg(cosine) AS cosine
        FROM parts GROUP BY ALL ORDER BY benchmark, kind, accepted DESC, n DESC, reason
    """
    return _table(directory, query)


def _select(directory: str, query: str, **values: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = _table(directory, query, **values).to_pylist()
    return rows


def _table(directory: str, query: str, **values: Any) -> pa.Table:
    with duckdb.connect() as connection:
        read = lambda: connection.sql(query, params=values).to_arrow_table()  # noqa: E731
        return read_parts(connection, [Store.open(directory)], "", PARAPHRASES, read)


def _command(benchmark: str, directory: str) -> str:
    return f"python -m taboo_cluster paraphrase benchmarks=[{benchmark}] --model MODEL --out {directory}"
