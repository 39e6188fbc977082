"""A run made in this process: the scripted engine on `arithmetic`, as a sweep would leave it, without Ray."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taboo_cluster import launch
from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.compose import build_benchmark, engine_options, load_config
from taboo_cluster.config import RunConfig
from taboo_cluster.engines.base import Hardware
from taboo_cluster.models import resolve
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter, model_slug
from taboo_cluster.runner import Origin, TrialRunner
from taboo_cluster.sweep import cells, subsample, trials
from taboo_cluster.trial import Item


def drawn(limit: int) -> list[Item]:
    """The items of a run with this limit."""
    entry = BENCHMARKS.get("arithmetic")
    return subsample(entry.build(entry.options()).items(), limit, seed=0)


def make_run(
    run_dir: Path, model: Path, *overrides: str, script: Mapping[str, str] | None = None, rows: int = 512
) -> list[Item]:
    """Run `+sweep=alignment` at ranks 0 and 1 with one model; the items it drew.

    Args:
        run_dir: made anew.
        model: folder that holds what is looked at before a model is loaded.
        overrides: settings, `limit=` among them.
        script: what is said to each question; the gold answer unless given.
        rows: of a part.
    """
    said = run_dir.parent / f"{run_dir.name}-script.json"
    said.touch()
    config = _config(run_dir, model, [*overrides, f"engine.script_path={said}"])
    benchmark = build_benchmark(config, "arithmetic")
    items = subsample(benchmark.items(), config.limit, config.seed)
    said.write_text(json.dumps(script or {item.question: f"The answer is {item.gold}." for item in items}))
    begun, _ = launch.new_launch(config)
    versions = {"scorer arithmetic": benchmark.scorer_version}
    launch.begin(begun, config, versions)
    found = resolve(config.models[0])
    entry, options = engine_options(config)
    engine = entry.build(found, options, Hardware())
    folder = f"{begun.run_dir}/records/{model_slug(found.name)}"
    with PartWriter(folder, f"part-{begun.launch_id}-w", RECORD, rows=rows) as writer:
        origin = Origin(begun.run_id, begun.launch_id, "w", config.sweep)
        runner = TrialRunner(engine, found, {"arithmetic": benchmark}, writer, origin)
        every = cells(config, [found], {"arithmetic": benchmark})
        runner.run([trial for _, trial in trials(found, "scripted", every, {"arithmetic": items}, config.seed)])
    return items


def _config(run_dir: Path, model: Path, overrides: Sequence[str]) -> RunConfig:
    fixed = ["+sweep=alignment", "benchmarks=[arithmetic]", "engine=scripted", "taboo.ranks=[0,1]", "replicates=1"]
    return load_config([*fixed, f"models=[{{path: {model}}}]", f"run_dir={run_dir}", *overrides])


def digests(run_dir: Path) -> dict[str, str]:
    """Of every part of the records."""
    return {
        str(path): hashlib.md5(path.read_bytes()).hexdigest()
        for path in sorted((run_dir / "records").rglob("*.parquet"))
    }


def table(run_dir: Path, name: str) -> list[dict[str, object]]:
    """Rows of a side table, as they lie on disk."""
    parts = sorted((run_dir / "tables" / name).glob("*.parquet"))
    return pa.concat_tables([pq.read_table(part) for part in parts]).to_pylist() if parts else []
