"""Tiny runs made of records written by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from taboo_cluster.analysis.database import open_runs, select
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter

Row = dict[str, Any]
START = datetime(2026, 1, 1, tzinfo=UTC)


def record(
    item: str, correct: bool | None, rank: int = 0, replicate: int = 0, model: str = "org/model-base", **more: Any
) -> Row:
    """A record of a right or wrong answer, or (None) of an error; 10 tokens, of which `rank` cost a bit each."""
    aligned = "instruct" in model
    row: Row = {
        "run_id": "run",
        "launch_id": "l1",
        "worker_id": "w1",
        "sweep": "alignment",
        "model": model,
        "model_revision": "r1",
        "model_family": "family",
        "size_b": 1.0,
        "aligned": aligned,
        "stage": "instruct" if aligned else "base",
        "pair": "pair",
        "quantization": "none",
        "dtype": "float32",
        "engine": "scripted",
        "benchmark": "arithmetic",
        "split": "test",
        "item_id": item,
        "cluster_id": item,
        "condition": f"taboo(rank={rank})" if rank else "baseline",
        "prompt_style": "cot",
        "n_shots": 2,
        "perturbations": [],
        "taboo_rank": rank,
        "taboo_trigger": "word_start" if rank else None,
        "taboo_word_start": "marker" if rank else None,
        "temperature": 0.0,
        "replicate": replicate,
        "max_tokens": 40,
        "question": f"question {item}",
        "gold": "1",
        "completion": "text",
        "attempt": 1,
        "latency_s": 2.0,
        "started_at": START,
    }
    if correct is None:
        row |= {"outcome": "error", "error_type": "timeout", "error": "took too long"}
    else:
        row |= {
            "outcome": "correct" if correct else "wrong",
            "parse_ok": True,
            "correct": correct,
            "score": float(correct),
            "finish_reason": "stop",
            "completion_tokens": 10,
            "interventions": rank,
            "surprisal_total": float(rank),
            "skipped_steps": 0,
            "tie_steps": 0,
            "glued": 0,
            "stopped_by_detour": False,
            "taboo_leak": False,
        }
    row |= more
    names = ("model", "quantization", "dtype", "benchmark", "item_id", "condition", "sample_seed", "replicate",
             "prompt_style", "perturbation_seed")  # fmt: skip
    return {"trial_id": " ".join(str(row.get(name)) for name in names)} | row


FAMILIES = {
    "identity": "identity", "typos": "word", "stop_words": "word", "word_split": "word", "padding": "padding",
    "shuffle_choices": "choices",
}  # fmt: skip


def perturbed(item: str, correct: bool | None, stack: str = "typos", seed: int = 1, **more: Any) -> Row:
    """A record under a stack of perturbations, `typos→padding` say; identity leaves the text as it is."""
    members = [{"name": name, "family": FAMILIES[name], "params": "{}"} for name in stack.split("→")]
    changed = stack != "identity"
    question = {"question": f"{stack} of {item}"} if changed else {}
    row = {"condition": stack, "perturbations": members, "perturbation_seed": seed, "changed": changed, **question}
    return record(item, correct, **(row | more))


class Run:
    """A run directory, its rows and its answers."""

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)
        self.parts = 0
        self._opened: tuple[Any, Any] | None = None

    def write(self, *rows: Row) -> None:
        """Write one part with these rows."""
        with PartWriter(f"{self.directory}/records/m", f"part-l1-w{self.parts}", RECORD) as writer:
            for row in rows:
                writer.add(row)
        self.parts += 1

    def ask(self, query: str) -> list[Row]:
        """The rows of a query; the run is opened again only after something was written."""
        parts = sorted((str(path), path.stat().st_mtime_ns) for path in Path(self.directory).rglob("*.parquet"))
        if self._opened is None or self._opened[0] != parts:
            self._opened = parts, open_runs([self.directory])
        rows: list[Row] = select(self._opened[1], query).to_pylist()
        return rows

    def one(self, query: str) -> Row:
        """The only row of a query."""
        (row,) = self.ask(query)
        return row


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """An empty run directory."""
    return Run(tmp_path / "run")


@pytest.fixture(name="record")
def record_fixture() -> Callable[..., Row]:
    """The function that makes a record."""
    return record


@pytest.fixture(name="perturbed")
def perturbed_fixture() -> Callable[..., Row]:
    """The function that makes a record of a perturbed item."""
    return perturbed


@pytest.fixture
def later() -> Callable[[float], datetime]:
    """A time some seconds after the records' usual one."""
    return lambda seconds: START + timedelta(seconds=seconds)
