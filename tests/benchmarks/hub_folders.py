"""Folders as the hub's client leaves them: a card and Parquet or JSONL files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taboo_cluster.benchmarks import sources

Rows = Sequence[Mapping[str, Any]]


def parquet_folder(folder: Path, subset: str, splits: Mapping[str, Rows]) -> Path:
    """A data set with one named subset, `<subset>/<split>-00000-of-00001.parquet`."""
    lines = [f"  - split: {split}\n    path: {subset}/{split}-*\n" for split in splits]
    (folder / subset).mkdir(parents=True)
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: {subset}\n  data_files:\n{''.join(lines)}---\n")
    for split, rows in splits.items():
        pq.write_table(pa.Table.from_pylist(list(rows)), folder / subset / f"{split}-00000-of-00001.parquet")
    return folder


def jsonl_folder(folder: Path, name: str, rows: Rows) -> Path:
    """A data set of one JSONL file and a card that names no subset."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def serve(monkeypatch: pytest.MonkeyPatch, name: str, folder: Path) -> list[str | None]:
    """Make the hub hold one data set; returns the list of revisions asked for."""
    import datasets

    asked: list[str | None] = []

    def snapshot(kind: str, wanted: str, revision: str | None, files: Sequence[str]) -> Path:
        assert (kind, wanted) == ("dataset", name)
        assert all(any(file.match(pattern) for pattern in files) for file in folder.rglob("*") if file.is_file())
        asked.append(revision)
        return folder

    monkeypatch.setattr(sources, "snapshot", snapshot)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder.parent / "cache")
    return asked
