"""The table `stability` is filled once, with the trials or after them; checkpoints of a model stay apart."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from scripted_runs import ROOT, TOKEN, files, here, rows, view

import jobs.sweep
from taboo_cluster.errors import UserError
from taboo_cluster.models import local_folder

INSTRUCT = "{path: 'embedded:tiny-instruct', aligned: true, stage: instruct}"
COMMITS = {"step1": "a1" * 20, "step2": "b2" * 20}


def arguments(run_dir, *more, models=INSTRUCT):
    """6 items: the clean prompt and typos, each at ranks 0 and 1."""
    return [
        "+sweep=stability",
        f"models=[{models}]",
        "engine=transformers",
        "benchmarks=[arithmetic]",
        "benchmark.arithmetic.n=6",
        "conditions=[typos]",
        "replicates=1",
        "cluster.dashboard=false",
        f"run_dir={run_dir}",
        *more,
    ]


def parts(run_dir):
    return sorted(str(path) for path in Path(run_dir, "tables/stability").glob("*.parquet"))


def table(run_dir, query):
    return duckdb.sql(f"WITH t AS (FROM read_parquet({parts(run_dir)!r})) {query}").fetchall()


@pytest.fixture
def no_ray(monkeypatch):
    """Fails where a command starts or joins a cluster; called to begin with that."""

    def refuse(*_):
        raise AssertionError("Ray is started though nothing is left to do")

    return lambda: monkeypatch.setattr(jobs.sweep, "cluster", refuse)


def test_a_finished_run_is_probed_once(joined, tmp_path, no_ray):
    run_dir = tmp_path / "run"
    status, output = here(arguments(run_dir, "stability.probe=false", *joined.settings))
    assert status == 0, output
    assert parts(run_dir) == []
    records = files(run_dir)

    status, output = here(arguments(run_dir, *joined.settings))
    assert status == 0, output
    assert "FAILED" not in output
    assert files(run_dir) == records
    trials = rows(run_dir, "trial_id, attempt", "error_type IS NULL")
    assert len(trials) == 24
    assert sorted(table(run_dir, "SELECT trial_id, attempt FROM t")) == sorted(trials)
    wrong = """
        SELECT * FROM t WHERE NOT (
            tcb_prompt > 0 AND tcb_min <= tcb_p10 AND tcb_p10 <= tcb_mean AND logprob < 0 AND tcb_saturated = 0
            AND n_tokens > 0 AND (tcb_answer IS NULL) = (reason IS NOT NULL) AND (tcb_answer IS NULL OR tcb_answer > 0)
            AND positions IS NULL AND epsilon = 1 AND top_k IS NULL AND tcb_answer_low IS NULL
        )
    """
    assert table(run_dir, wrong) == []
    assert table(run_dir, "SELECT count(tcb_answer) > 9, count(DISTINCT probed_at) > 1 FROM t") == [(True, True)]
    shown = view(run_dir, "SELECT n + n_unknown AS probed, n_missing FROM stability")
    assert [tuple(row.values()) for row in shown] == [(6, 0)] * 4
    assert sum(row["n"] for row in view(run_dir, "FROM stability_quadrants")) == 6

    before, heartbeats = parts(run_dir), sorted(Path(run_dir, "tables/launches").iterdir())
    no_ray()
    status, output = here(arguments(run_dir, *joined.settings))
    assert status == 0, output
    assert parts(run_dir) == before
    assert sorted(Path(run_dir, "tables/launches").iterdir()) == heartbeats


def test_trials_are_probed_in_the_launch_that_makes_them(joined, tmp_path):
    run_dir, few = tmp_path / "run", ("limit=2", "taboo.ranks=[0]", "conditions=[]", *joined.settings)
    status, output = here(arguments(run_dir, "stability.per_token=true", *few))
    assert status == 0, output
    assert "FAILED" not in output
    tokens = dict(rows(run_dir, "trial_id, token_ids"))
    found = table(run_dir, "SELECT trial_id, positions FROM t")
    assert len(found) == len(tokens) == 2
    for trial, positions in found:
        assert [place["token_id"] for place in positions] == tokens[trial]
    assert view(run_dir, "SELECT n + n_unknown AS probed FROM stability") == [{"probed": 2}]


def test_a_model_that_cannot_be_probed_is_one_line(joined, tmp_path):
    run_dir = tmp_path / "run"
    asked = ("limit=4", "taboo.ranks=[0]", "replicates=1", "record_tokens=true", "stability.probe=true")
    status, output = joined.command(run_dir, *asked)
    assert status == 1, output
    (line,) = [line for line in output.splitlines() if "FAILED" in line]
    assert line.startswith("FAILED probe of one: the tokenizer of one cannot be loaded from ")
    assert "4 of 4 trials recorded" in output
    assert rows(run_dir, "count(*), count(error_type), count(token_ids)") == [(4, 0, 4)]
    assert parts(run_dir) == []


def test_two_revisions_that_are_one_commit_are_refused(tiny_instruct):
    twice = replace(tiny_instruct, revision="c0ffee12" * 5)
    with pytest.raises(UserError, match=r"two revisions of tiny-instruct are the same commit c0ffee12$"):
        jobs.sweep._check_distinct([twice, tiny_instruct, twice])
    jobs.sweep._check_distinct([twice, tiny_instruct, replace(twice, dtype="bfloat16")])


@pytest.fixture
def hub_cache(tmp_path):
    """A hub's cache with two commits of one model: the shipped pair."""
    home = tmp_path / "hf"
    repo = home / "hub" / "models--tiny--checkpoints"
    (repo / "refs").mkdir(parents=True)
    for (tag, commit), name in zip(COMMITS.items(), ("tiny-base", "tiny-instruct"), strict=True):
        (repo / "refs" / tag).write_text(commit)
        shutil.copytree(local_folder(f"embedded:{name}"), repo / "snapshots" / commit)
    return home


@pytest.mark.verify  # starts a Ray of its own: actors must see that cache
def test_checkpoints_of_a_model_are_compared_by_revision(workspace, hub_cache, tmp_path):
    def command(*revisions):
        models = f"{{name: tiny/checkpoints, dtype: float32, revisions: [{', '.join(revisions)}]}}"
        given = arguments(tmp_path / "run", "limit=3", "taboo.ranks=[0]", "conditions=[]", models=models)
        environment = {name: value for name, value in os.environ.items() if name not in TOKEN}
        environment |= {"HF_HOME": str(hub_cache), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", "taboo_cluster", *given],
            cwd=workspace.folder, env=environment, capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    status, output = command("step1", "step2")
    assert status == 0, output
    assert "tiny/checkpoints@a1a1a1a1" in output
    assert "tiny/checkpoints@b2b2b2b2" in output
    both = {(commit, 3) for commit in COMMITS.values()}
    assert set(rows(tmp_path / "run", "model_revision, count(DISTINCT trial_id)", "true GROUP BY ALL")) == both
    assert set(table(tmp_path / "run", "SELECT model_revision, count(*) FROM t GROUP BY ALL")) == both
    shown = view(tmp_path / "run", "SELECT model, model_revision, tcb_prompt, n + n_unknown AS probed FROM stability")
    assert [(row["model"], row["model_revision"], row["probed"]) for row in shown] == [
        ("tiny/checkpoints", commit, 3) for commit in COMMITS.values()
    ]
    assert shown[0]["tcb_prompt"] != shown[1]["tcb_prompt"]

    # one of them again is no drift, and nothing to be done
    records, probes = files(tmp_path / "run"), parts(tmp_path / "run")
    status, output = command("step2")
    assert status == 0, output
    assert "3 of 3 trials recorded" in output
    assert (files(tmp_path / "run"), parts(tmp_path / "run")) == (records, probes)
