"""Models and runs on disk, as far as the commands look at them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from taboo_cluster.records.schema import RECORD, TABLES, arrow_schema
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import write_table

Outcome = tuple[int, str, str]
"""Exit status, stdout, stderr."""
Call = Callable[..., Outcome]
Refused = Callable[..., str]


CONFIG = {
    "model_type": "llama",
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "intermediate_size": 16,
    "vocab_size": 32,
    "tie_word_embeddings": True,
    "max_position_embeddings": 2048,
}


def model_at(folder: Path) -> Path:
    """Make a model's folder, as far as it is looked at before it is loaded."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    return folder


def record(**values: Any) -> dict[str, Any]:
    """One row without error: item i1, right, at rank 0."""
    row: dict[str, Any] = {column.name: None for column in RECORD}
    row |= {"trial_id": "t1", "run_id": "r", "launch_id": "l", "sweep": "alignment", "model": "m", "benchmark": "b"}
    row |= {"split": "test", "item_id": "i1", "condition": "baseline", "taboo_rank": 0, "temperature": 0.0}
    row |= {"replicate": 0, "question": "q", "gold": "1", "completion": "It is 1.", "completion_tokens": 4}
    row |= {"outcome": "correct", "parse_ok": True, "correct": True, "score": 1.0, "attempt": 1}
    row |= {"finish_reason": "stop", "max_tokens": 16, "perturbations": []}
    return row | {"started_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)} | values


def beat(run_dir: Path, state: str, ago: timedelta, **counts: int | None) -> None:
    """Write a sign of life."""
    row = {"launch_id": "l", "seen_at": datetime.now(UTC) - ago, "state": state}
    row |= {"done": 3, "failed": 1, "total": 8} | counts
    table = pa.Table.from_pylist([row], schema=arrow_schema(TABLES["heartbeat"]))
    write_table(Store.open(str(run_dir)), f"tables/heartbeat/part-{state}.parquet", table)
