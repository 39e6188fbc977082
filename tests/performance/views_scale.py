"""How long the views take over many records; run by hand: python tests/performance/views_scale.py [ROWS] [FOLDER].

Writes a synthetic run (kept where FOLDER is given), opens it and times every view once.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from taboo_cluster.analysis.database import VIEW_NAMES, open_runs, select
from taboo_cluster.records.schema import RECORD, arrow_schema
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import write_table

PART = 16_384
MODELS = 20
RANKS = (0, 1, 2, 4, 8)


def synthetic(rows: int) -> Iterator[pa.Table]:
    """Parts of a sweep of 20 models at five ranks, phase by phase; about `rows` rows in all."""
    schema = arrow_schema(RECORD)
    items = max(1, rows // (MODELS * len(RANKS)))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for model in range(MODELS):
        for rank in RANKS:
            for first in range(0, items, PART):
                ids = np.arange(first, min(first + PART, items))
                rng = np.random.default_rng([model, rank, first])
                correct = rng.random(len(ids)) < 0.8 / (1 + 0.2 * rank)
                tokens = rng.integers(40, 200, len(ids))
                name = "baseline" if rank == 0 else f"taboo(rank={rank})"
                same = {
                    "run_id": "synthetic",
                    "launch_id": "l1",
                    "worker_id": f"w{model}",
                    "sweep": "alignment",
                    "model": f"organisation/model-{model // 2}-{'instruct' if model % 2 else 'base'}",
                    "model_revision": f"{model:040d}",
                    "model_family": "synthetic",
                    "size_b": 7.0,
                    "aligned": bool(model % 2),
                    "stage": "instruct" if model % 2 else "base",
                    "pair": f"pair-{model // 2}",
                    "quantization": "none",
                    "dtype": "bfloat16",
                    "engine": "vllm",
                    "benchmark": "gsm8k",
                    "split": "test",
                    "condition": name,
                    "prompt_style": "cot",
                    "n_shots": 2,
                    "perturbations": [],
                    "taboo_rank": rank,
                    "temperature": 0.0,
                    "replicate": 0,
                    "max_tokens": 400,
                    "finish_reason": "stop",
                    "parse_ok": True,
                    "attempt": 1,
                    "latency_s": 1.0,
                    "started_at": start,
                }
                columns = {key: [value] * len(ids) for key, value in same.items()} | {
                    "trial_id": [f"{model:08x}{rank:08x}{i:016x}" for i in ids],
                    "generation_id": [f"{model:08x}{rank:08x}{i:016x}" for i in ids],
                    "item_id": [str(i) for i in ids],
                    "cluster_id": [str(i) for i in ids],
                    "question": [f"Question {i}: how many are there in all? " * 4 for i in ids],
                    "prompt": [f"Question {i}: how many are there in all? " * 12 for i in ids],
                    "completion": [f"Let us count: {i} and {i + rank} and so on. " * 8 for i in ids],
                    "gold": [str(i) for i in ids],
                    "answer": [str(i) for i in ids],
                    "correct": correct,
                    "outcome": np.where(correct, "correct", "wrong"),
                    "score": correct.astype(float),
                    "completion_tokens": tokens,
                    "prompt_tokens": tokens,
                    "interventions": tokens // 2 if rank else tokens * 0,
                    "surprisal_total": tokens * 0.5 * rank,
                    "tie_steps": tokens * 0,
                    "skipped_steps": tokens * 0,
                    "glued": tokens * 0,
                }
                arrays = [
                    pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(len(ids), f.type)
                    for f in schema
                ]
                yield pa.Table.from_arrays(arrays, schema=schema)


def main(rows: int, folder: str) -> None:
    """Write, open, time."""
    store = Store.open(folder)
    if not store.find(".parquet"):
        for number, table in enumerate(synthetic(rows)):
            write_table(store, f"records/synthetic/part-l1-w1-{number:06d}.parquet", table)
    began = time.perf_counter()
    connection = open_runs([folder])
    print(f"{'open_runs':<16} {time.perf_counter() - began:6.2f} s")
    for name in VIEW_NAMES:
        began = time.perf_counter()
        columns = "model, avg(correct_int) FROM records GROUP BY model" if name == "records" else f"* FROM {name}"
        result = select(connection, f"SELECT {columns}")
        print(f"{name:<16} {time.perf_counter() - began:6.2f} s  {len(result)} rows")


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if len(sys.argv) > 2:
        main(size, sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(size, temporary)
