"""Folders of paraphrases made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from taboo_cluster.paraphrases.store import PARAPHRASES, question_hash
from taboo_cluster.records.schema import arrow_schema
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import write_table


def row(question: str, paraphrase: str | None, minute: int = 0, **values: Any) -> dict[str, Any]:
    """An accepted free paraphrase of item i1 of gsm8k, by writer w."""
    made: dict[str, Any] = {
        "kind": "free",
        "benchmark": "gsm8k",
        "split": "test",
        "item_id": "i1",
        "question": question,
    }
    made |= {"question_hash": question_hash(question), "paraphrase": paraphrase, "accepted": True, "model": "w"}
    made |= {"model_revision": "r", "quantization": "none", "dtype": "bfloat16", "engine": "e", "prompt_version": "1"}
    return made | {"temperature": 0.0, "written_at": datetime(2026, 1, 2, 3, minute, tzinfo=UTC)} | values


def folder(path: Path, *rows: Mapping[str, Any], name: str = "part-a-000000") -> Path:
    """Write these rows as a part of a folder."""
    table = pa.Table.from_pylist([dict(one) for one in rows], schema=arrow_schema(PARAPHRASES))
    write_table(Store.open(str(path)), f"{name}.parquet", table)
    return path
