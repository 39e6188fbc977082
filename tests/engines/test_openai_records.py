"""A sweep of a model behind a server, without Ray: found, planned, checked, recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_server import Answer, FakeServer, chat, error, serving, text

from actors.loaded import LoadedModel, digest
from actors.task import Ref, Task
from jobs.sweep import prepare
from taboo_cluster import compose, launch
from taboo_cluster.analysis.database import open_runs, select
from taboo_cluster.config import RunConfig
from taboo_cluster.engines.base import Hardware
from taboo_cluster.errors import UserError
from taboo_cluster.planning import plan

KEY = "sk-secret-123"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as fake:
        yield fake


def configured(server: FakeServer, run_dir: Path, model: str = "aligned: true", *more: str) -> RunConfig:
    return compose.load_config(
        [
            "+sweep=alignment",
            f"models=[{{name: m, {model}}}]",
            "benchmarks=[arithmetic]",
            "benchmark.arithmetic.n=3",
            "taboo.ranks=[0]",
            "replicates=1",
            "engine=openai",
            f"engine.base_url='{server.url}'",
            "engine.max_retries=0",
            f"run_dir={run_dir}",
            *more,
        ]
    )


def loaded(config: RunConfig) -> LoadedModel:
    """An actor's model, as the driver's task tells it to."""
    begun, earlier = launch.new_launch(config)
    sweep = prepare(config, begun, earlier)
    launch.begin(begun, sweep.config, sweep.versions)
    (work,) = sweep.works
    items = compose.build_benchmark(config, "arithmetic").items()
    task = Task(
        config=compose.to_dict(sweep.config),
        index=0,
        model=work.model,
        hardware=Hardware(),
        gpus=0,
        run_dir=str(config.run_dir),
        run_id="r",
        launch_id=begun.launch_id,
        replica=1,
        items={"arithmetic": digest(items)},
    )
    return LoadedModel(task, restarted=False)


def run(config: RunConfig) -> list[dict[str, Any]]:
    """The records of every trial."""
    made = loaded(config)
    items = compose.build_benchmark(config, "arithmetic").items()
    made.runner.run([made.trial(Ref(0, item.item_id, 1)) for item in items])
    made.close()
    with open_runs([str(config.run_dir)], texts=True) as connection:
        rows: list[dict[str, Any]] = select(connection, "FROM records ORDER BY item_id").to_pylist()
    return rows


def test_records_say_what_was_sent_and_what_the_server_counted(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    config = configured(
        server, tmp_path / "run", "aligned: true, system_prompt: Be brief.", "engine.api_key_env=MY_KEY"
    )
    answers = {item.question: item.gold for item in compose.build_benchmark(config, "arithmetic").items()}

    def reply(asked: Any) -> Answer:
        gold = next(gold for question, gold in answers.items() if question in asked["messages"][-1]["content"])
        return chat(f"#### {gold}")

    server.reply = reply
    rows = run(config)
    assert [row["outcome"] for row in rows] == ["correct"] * 3
    sent = {json.dumps(post.body["messages"], ensure_ascii=False) for post in server.posts}
    assert {row["prompt"] for row in rows} == sent
    assert rows[0]["prompt"].startswith('[{"role": "system", "content": "Be brief."}, {"role": "user"')
    columns = ("engine", "prompt_tokens", "completion_tokens", "tokenizer_hash", "model_revision", "interventions")
    assert {tuple(row[name] for name in columns) for row in rows} == {("openai", 7, 3, None, None, 0)}
    assert len({row["generation_id"] for row in rows}) == 3
    written = b"".join(file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file())
    assert b"MY_KEY" in written
    assert KEY.encode() not in written


def test_a_base_model_gets_the_plain_form(server: FakeServer, tmp_path: Path) -> None:
    rows = run(configured(server, tmp_path / "run", "aligned: false"))
    assert {post.path for post in server.posts} == {"/v1/completions"}
    assert {row["prompt"] for row in rows} == {post.body["prompt"] for post in server.posts}


def test_requests_that_are_refused_are_errors_that_no_retry_repeats(server: FakeServer, tmp_path: Path) -> None:
    server.reply = lambda asked: error(400, "no")
    config = configured(server, tmp_path / "run")
    rows = run(config)
    assert {(row["outcome"], row["error_type"], row["error"]) for row in rows} == {
        ("error", "request_refused", "HTTP 400: no")
    }
    begun, earlier = launch.new_launch(config)
    (work,) = prepare(config, begun, earlier).works
    assert work.tally.missing == 0


def test_a_resumed_run_asks_for_nothing_that_is_there(server: FakeServer, tmp_path: Path) -> None:
    config = configured(server, tmp_path / "run")
    run(config)
    begun, earlier = launch.new_launch(config)
    (work,) = prepare(config, begun, earlier).works
    assert (work.tally.missing, work.total) == (0, 3)
    planned = plan(config, ())
    assert [(model.trials, model.left, model.memory) for model in planned.models] == [(3, 0, None)]


def test_another_server_is_another_run(server: FakeServer, tmp_path: Path) -> None:
    config = configured(server, tmp_path / "run")
    run(config)
    with serving() as other:
        moved = configured(other, tmp_path / "run")
        begun, earlier = launch.new_launch(moved)
        with pytest.raises(UserError, match=r"engine\.base_url: .* -> "):
            prepare(moved, begun, earlier)


def test_a_model_that_is_not_served_stops_before_anything_starts(server: FakeServer, tmp_path: Path) -> None:
    server.models = [{"id": "mm"}]
    config = configured(server, tmp_path / "run")
    begun, earlier = launch.new_launch(config)
    with pytest.raises(UserError, match="did you mean 'mm'"):
        prepare(config, begun, earlier)
    assert not (tmp_path / "run").exists()


def test_ranks_against_a_server_without_the_hook_stop_before_the_first_trial(
    server: FakeServer, tmp_path: Path
) -> None:
    server.models = [{"id": "m", "owned_by": "vllm"}]
    server.reply = lambda asked: chat("4") if "messages" in asked else text("4")
    with pytest.raises(UserError, match="runs without Taboo's hook"):
        loaded(configured(server, tmp_path / "run", "aligned: true", "taboo.ranks=[0,1]"))
    assert len(server.posts) == 2  # the canary at rank 0, and the question whether the hook is there


def test_a_plan_needs_no_server_and_says_that_hours_are_its_own(tmp_path: Path) -> None:
    away = FakeServer("http://127.0.0.1:9/v1")
    planned = plan(configured(away, tmp_path / "run"), ())
    (model,) = planned.models
    assert (model.trials, model.memory, model.hours, planned.packing) == (3, None, 0.0, None)
    assert model.prompt_tokens > 0
    assert "a server holds the models: hours and memory are its own" in planned.notes


def test_without_an_address_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"engine\.base_url is not set: https://api\.openai\.com/v1"):
        compose.load_config(["+sweep=alignment", "engine=openai"])
