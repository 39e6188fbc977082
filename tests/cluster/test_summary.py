"""What is shown when a sweep ends, also where its results cannot be had."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jobs import summary
from jobs.child import ChildFailed
from jobs.summary import conclude, next_question, resume_command
from taboo_cluster.config import ModelConfig, RunConfig, TabooConfig
from taboo_cluster.launch import Launch
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.rows import now

CONFIG = RunConfig(
    sweep="alignment",
    models=[ModelConfig("m")],
    benchmarks=["b"],
    benchmark={},
    engine={"name": "scripted"},
    table=["SELECT model, n FROM accuracy"],
)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run with one record."""
    row = {"trial_id": "t", "launch_id": "l", "model": "m", "benchmark": "b", "item_id": "i", "split": "test"}
    row |= {"condition": "baseline", "taboo_rank": 0, "temperature": 0.0, "replicate": 0, "perturbations": []}
    row |= {"outcome": "correct", "parse_ok": True, "correct": True, "score": 1.0, "attempt": 1, "started_at": now()}
    with PartWriter(str(tmp_path / "records" / "m"), "part-l", RECORD) as writer:
        writer.add(row)
    return tmp_path


def said(run_dir: Path, capsys: pytest.CaptureFixture[str], config: RunConfig = CONFIG, **work: Any) -> tuple[str, str]:
    """stdout and stderr at the end of a sweep of two trials."""
    begun = Launch(str(run_dir), "r", "l", now(), False)
    works: Any = [SimpleNamespace(label="m", problem=None, total=2, tally=None, **work)]
    works[0].tally = SimpleNamespace(missing=1)
    conclude(config, begun, works)
    return capsys.readouterr()


def test_results_are_written_and_shown(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(run_dir, capsys)
    assert out.splitlines()[:3] == ["", "model  n", "m      1"]
    assert f"1 of 2 trials recorded in {run_dir}\nGo on with:  python -m taboo_cluster " in out
    assert err == ""
    assert (run_dir / "results.duckdb").is_file()


def test_a_key_is_shown_where_it_tells_rows_apart(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT model, {} AS style, 'none' AS quantization, n FROM accuracy, range(2)"
    table = [query.format("'cot'"), query.format("concat('style ', range)")]
    out, _ = said(run_dir, capsys, replace(CONFIG, table=table))
    assert out.splitlines()[:7] == [
        "", "model  n", "m      1", "m      1",
        "", "model  style    n", "m      style 0  1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ranks", "stacks", "view"),
    [([0, 1], ["typos"], "retention"), ([0], ["typos"], "perturbed"), ([0], [], "accuracy")],
)
def test_what_is_asked_next_is_about_the_sweep(ranks: list[int], stacks: list[str], view: str) -> None:
    question = next_question(replace(CONFIG, taboo=TabooConfig(ranks=ranks), conditions=stacks))
    assert question.endswith(f" FROM {view}")


def test_results_that_cannot_be_written_are_a_warning(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run_dir / "results.duckdb").mkdir()
    out, err = said(run_dir, capsys)
    assert "m      1" in out
    assert f"1 of 2 trials recorded in {run_dir}" in out
    assert err.startswith(f"warning: cannot write {run_dir}/results.duckdb: ")
    assert len(err.splitlines()) == 1


def test_a_table_that_fails_does_not_hide_what_became_of_the_run(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = said(run_dir, capsys, replace(CONFIG, table=["SELECT nothing FROM accuracy"]))
    assert f"1 of 2 trials recorded in {run_dir}" in out
    assert err.startswith("warning: the results cannot be shown: unknown column 'nothing'")
    assert (run_dir / "results.duckdb").is_file()


def test_a_process_that_is_killed_over_the_results_does_not_either(
    run_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: object) -> None:
        raise ChildFailed("the process ended with exit status -9")

    monkeypatch.setattr(summary, "in_child", killed)
    out, err = said(run_dir, capsys)
    assert f"1 of 2 trials recorded in {run_dir}" in out
    assert err == "warning: the results cannot be shown: the process ended with exit status -9\n"


def test_the_command_that_goes_on_is_the_one_given_with_its_run_dir() -> None:
    given = ["+sweep=alignment", "run_dir=runs/old", "+run_dir=x", "models=[{path: /my models}]"]
    assert resume_command(given, "/runs/a b") == (
        "python -m taboo_cluster +sweep=alignment 'models=[{path: /my models}]' 'run_dir=/runs/a b'"
    )
