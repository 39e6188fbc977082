"""What an actor holds, without Ray: the model as its own node has it, and the end of its life."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from actors import life
from actors.life import Life
from actors.loaded import LoadedModel, digest, same_model
from actors.task import Ref, Task
from taboo_cluster import compose, launch
from taboo_cluster.config import RunConfig
from taboo_cluster.engines.base import Hardware
from taboo_cluster.errors import UserError
from taboo_cluster.models import resolve


def make_task(run_dir: Path, path: str = "embedded:tiny-base", **model: Any) -> Task:
    """The task of an actor for one model that answers two arithmetic items at ranks 0 and 1."""
    config = compose.load_config(
        [
            "+sweep=alignment",
            f"models=[{{name: mine/a model, path: '{path}', dtype: float32}}]",
            "benchmarks=[arithmetic]",
            "benchmark.arithmetic.n=2",
            "taboo.ranks=[0,1]",
            "engine=transformers",
            f"run_dir={run_dir}",
        ]
    )
    begun, _ = launch.new_launch(config)
    launch.begin(begun, config, {})
    items = compose.build_benchmark(config, "arithmetic").items()
    return Task(
        config=compose.to_dict(config),
        index=0,
        model=replace(resolve(config.models[0]), **model),
        hardware=Hardware(),
        gpus=0,
        run_dir=str(run_dir),
        run_id="r",
        launch_id=begun.launch_id,
        replica=1,
        items={"arithmetic": digest(items)},
    )


def config_of(task: Task) -> RunConfig:
    return compose.from_dict(task.config)


def workers(run_dir: Path) -> list[tuple[Any, ...]]:
    columns = "worker_id, model, load_s > 0, ended_at IS NOT NULL, end_reason"
    return duckdb.sql(f"SELECT {columns} FROM read_parquet('{run_dir}/tables/workers/*.parquet')").fetchall()


def test_a_shipped_model_is_loaded_from_the_nodes_own_package(tmp_path: Path) -> None:
    task = make_task(tmp_path, source="/checkout/of/the/driver/embedded/tiny-base")
    loaded = LoadedModel(task, restarted=False)
    item = next(iter(loaded._items["arithmetic"]))
    result = loaded.runner.run([loaded.trial(Ref(0, item, 1))])
    assert (result.counts["arithmetic"].done, result.errors) == (1, {})
    assert workers(tmp_path) == [(loaded.report.worker_id, "mine/a model", True, False, None)]
    assert loaded.report.worker_id.startswith("a-model-0-1-")
    loaded.close()
    assert workers(tmp_path) == [(loaded.report.worker_id, "mine/a model", True, True, None)]


def test_a_folder_that_holds_another_model_here_is_refused(tmp_path: Path) -> None:
    task = make_task(tmp_path, revision="as the driver found it")
    with pytest.raises(UserError, match=r"mine/a model: .*tiny-base on node .* holds other weights"):
        same_model(task, config_of(task))


def test_a_hub_model_is_what_the_driver_found(tmp_path: Path) -> None:
    task = make_task(tmp_path, is_local=False, source="org/m")
    assert same_model(task, config_of(task)) is task.model


def test_a_life_that_ends_early_says_why_and_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,), daemon=True)
    child.start()

    def leave(status: int) -> None:
        raise SystemExit(status)

    monkeypatch.setattr(life.os, "_exit", leave)
    one = Life(make_task(tmp_path))
    with pytest.raises(SystemExit, match="1"):
        one.die("engine died: no current")
    assert workers(tmp_path) == [(one.worker_id, "mine/a model", None, True, "engine died: no current")]
    child.join(60)
    assert child.exitcode == -9


def test_a_life_ends_even_where_the_reason_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Life(make_task(tmp_path / "run"))
    (tmp_path / "run" / "tables" / "workers").touch()

    def leave(status: int) -> None:
        raise SystemExit(status)

    monkeypatch.setattr(life.os, "_exit", leave)
    with pytest.raises(SystemExit):
        one.die("engine died")


def test_lives_of_one_actor_share_a_beginning_and_no_other_actors_do(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    ids = {Life(task).worker_id for _ in range(3)}
    assert len(ids) == 3
    assert all(each.startswith(task.workers) for each in ids)
    others = [replace(task, replica=11), replace(task, index=1), replace(task, model=replace(task.model, name="x"))]
    assert not any(each.startswith(other.workers) for each in ids for other in others)
    assert not task.workers.startswith("-")
    assert task.label != replace(task, model=replace(task.model, dtype="bfloat16")).label
