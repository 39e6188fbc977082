"""Parts of synthetic runs, for timing the views: columns as a real run has them, made fast."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from taboo_cluster.records.schema import RECORD, arrow_schema

PART = 16_384
MODELS = 20
RANKS = (0, 1, 2, 4, 8)

STACKS = (
    "", "typos", "stop_words", "punctuation_spaces", "space_runs", "word_split", "persona", "distractor", "padding",
    "typos→padding", "padding→typos", "shuffle_choices",
)  # fmt: skip
"""Each in both prompt styles; the first is the clean prompt, which has a replicate too."""
FAMILIES = {"persona": "augmentation", "distractor": "distractor", "padding": "padding", "shuffle_choices": "choices"}
BENCHMARKS = ("mmlu", "arc")
STYLES = ("direct", "cot")


def taboo(rows: int) -> Iterator[pa.Table]:
    """A sweep of 20 models (ten pairs) at five ranks, phase by phase; about `rows` rows in all."""
    items = max(1, rows // (MODELS * len(RANKS)))
    for model in range(MODELS):
        for rank in RANKS:
            for ids in _parts(items):
                rng = np.random.default_rng([model, rank, ids[0]])
                correct = rng.random(len(ids)) < 0.8 / (1 + 0.2 * rank)
                tokens = rng.integers(40, 200, len(ids))
                numbers = pa.array(ids).cast(pa.string())
                yield _table(
                    _answers(correct, tokens) | {
                        **_ids(rng, numbers),
                        "question": _join("Question ", numbers, ": how many are there in all? " * 4),
                        "prompt": _join("Question ", numbers, ": how many are there in all? " * 12),
                        "completion": _join("Let us count: ", numbers, " and so on, one after the other. " * 8),
                        "gold": numbers,
                        "answer": numbers,
                        "interventions": tokens // 2 if rank else tokens * 0,
                        "surprisal_total": tokens * 0.5 * rank,
                        "tie_steps": tokens * 0,
                        "skipped_steps": tokens * 0,
                        "glued": tokens * 0,
                    },
                    _model(model) | {
                        "sweep": "alignment",
                        "benchmark": "gsm8k",
                        "condition": "baseline" if rank == 0 else f"taboo(rank={rank})",
                        "prompt_style": "cot",
                        "n_shots": 2,
                        "perturbations": [],
                        "taboo_rank": rank,
                        "replicate": 0,
                    },
                )  # fmt: skip


def brittleness(rows: int) -> Iterator[pa.Table]:
    """A sweep of 20 models over two multiple-choice benchmarks in two prompt styles, each under 11 stacks of
    perturbations beside the clean prompt and its replicate: 1,040 cells; about `rows` rows in all."""
    cells = [(style, stack, 0) for style in STYLES for stack in STACKS] + [(style, "", 1) for style in STYLES]
    items = max(1, rows // (MODELS * len(BENCHMARKS) * len(cells)))
    for benchmark in BENCHMARKS:
        gold = np.random.default_rng(len(benchmark)).integers(4, size=items)
        for model in range(MODELS):
            right = np.random.default_rng([model, len(benchmark)]).random(items)
            for number, (style, stack, replicate) in enumerate(cells):
                for ids in _parts(items):
                    rng = np.random.default_rng([model, number, len(benchmark), ids[0]])
                    churn = 0.02 + 0.01 * number
                    correct = (right[ids] < 0.5 + 0.015 * model) ^ (rng.random(len(ids)) < churn)
                    numbers = pa.array(ids).cast(pa.string())
                    letters = np.array(list("ABCD"))[gold[ids]]
                    said = np.where(correct, letters, np.roll(np.array(list("ABCD")), 1)[gold[ids]])
                    yield _table(
                        _answers(correct, rng.integers(40, 200, len(ids))) | {
                            **_ids(rng, numbers),
                            "question": _join(f"{stack} Question ", numbers, ": which of these holds here? " * 4),
                            "prompt": _join(f"{stack} Question ", numbers, ": which of these holds here? " * 12),
                            "completion": _join("Let us see: ", numbers, " holds where another does not. " * 8),
                            "gold": pa.array(letters),
                            "answer": pa.array(said),
                            "changed": rng.random(len(ids)) < 0.9 if stack else [None] * len(ids),
                        },
                        _model(model) | {
                            "sweep": "brittleness",
                            "benchmark": benchmark,
                            "chance": 0.25,
                            "condition": stack or "baseline",
                            "prompt_style": style,
                            "n_shots": 0,
                            "perturbations": [
                                {"name": name, "family": FAMILIES.get(name, "word"), "params": '{"rate": 0.1}'}
                                for name in stack.split("→")
                                if name
                            ],
                            "perturbation_seed": 4711 if stack else None,
                            "taboo_rank": 0,
                            "replicate": replicate,
                        },
                    )  # fmt: skip


def _parts(items: int) -> Iterator[npt.NDArray[np.int64]]:
    for first in range(0, items, PART):
        yield np.arange(first, min(first + PART, items))


def _model(model: int) -> dict[str, Any]:
    """Two of a pair for every even and odd number; sizes grow from pair to pair."""
    return {
        "run_id": "synthetic",
        "launch_id": "l1",
        "worker_id": f"w{model}",
        "model": f"organisation/model-{model // 2}-{'instruct' if model % 2 else 'base'}",
        "model_revision": f"{model:040d}",
        "model_family": "synthetic",
        "size_b": 1.0 + model // 2,
        "aligned": bool(model % 2),
        "stage": "instruct" if model % 2 else "base",
        "pair": f"pair-{model // 2}",
        "quantization": "none",
        "dtype": "bfloat16",
        "engine": "vllm",
        "split": "test",
        "temperature": 0.0,
        "max_tokens": 400,
        "finish_reason": "stop",
        "parse_ok": True,
        "attempt": 1,
        "latency_s": 1.0,
        "started_at": datetime(2026, 1, 1, tzinfo=UTC),
    }


def _ids(rng: np.random.Generator, numbers: pa.Array) -> dict[str, Any]:
    """Random ids, as hashes are."""
    drawn = rng.bytes(16 * len(numbers)).hex()
    trial = [drawn[start : start + 32] for start in range(0, len(drawn), 32)]
    return {"trial_id": trial, "generation_id": trial, "item_id": numbers, "cluster_id": numbers}


def _answers(correct: npt.NDArray[np.bool_], tokens: npt.NDArray[np.int64]) -> dict[str, Any]:
    return {
        "correct": correct,
        "outcome": np.where(correct, "correct", "wrong"),
        "score": correct.astype(float),
        "completion_tokens": tokens,
        "prompt_tokens": tokens,
    }


def _join(before: str, numbers: pa.Array, after: str) -> pa.Array:
    return pc.binary_join_element_wise(before, numbers, after, "")


def _table(columns: Mapping[str, Any], same: Mapping[str, Any]) -> pa.Table:
    """A part: `columns` have a value a row, `same` the same one in all rows; the others are null."""
    schema = arrow_schema(RECORD)
    rows = len(columns["trial_id"])

    def array(field: pa.Field) -> pa.Array:
        if field.name in columns:
            made = columns[field.name]
            return made.cast(field.type) if isinstance(made, pa.Array) else pa.array(made, field.type)
        if field.name in same:
            return pa.array([same[field.name]], field.type).take(pa.array(np.zeros(rows, dtype=np.int64)))
        return pa.nulls(rows, field.type)

    return pa.Table.from_arrays([array(field) for field in schema], schema=schema)
