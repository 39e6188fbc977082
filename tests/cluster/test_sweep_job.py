"""The sweep's driver with real Ray and the scripted engine: run, resume, extend, kill, fail."""

import json
import os
import shutil
import signal
from pathlib import Path

import duckdb
import pytest
from scripted_runs import counts, ended, files, here, rows, view, wait_for

PER_ITEM = 7
"""Trials of one model and item: ranks 0, 1, 2, 4, 8, and a replicate of ranks 0 and 1."""
ITEMS = 60
"""Of the sweeps that are disturbed."""
SLOWLY = ("engine.delay_s=0.02", f"limit={ITEMS}")
FEW_FAIL = "max_error_share=0.5"


@pytest.fixture(scope="module")
def finished(workspace, tmp_path_factory):
    """A run of two models that ended well: its directory and what the command printed."""
    run_dir = tmp_path_factory.mktemp("finished") / "run"
    status, output = workspace.command(run_dir, "limit=40", models=("one", "two"))
    assert status == 0, output
    return run_dir, output


@pytest.fixture
def run_dir(finished, tmp_path):
    """A copy of the finished run."""
    copy = tmp_path / "run"
    shutil.copytree(finished[0], copy)
    return copy


def test_a_sweep_ends_in_records_results_and_a_table(finished):
    run_dir, output = finished
    seen = counts(run_dir)
    assert len(seen) == 2 * PER_ITEM * 40
    assert set(seen.values()) == {1}
    assert (run_dir / "config.yaml").exists()
    with duckdb.connect(str(run_dir / "results.duckdb"), read_only=True) as results:
        table = results.sql("SELECT model, retention, n FROM retention WHERE taboo_rank = 1 ORDER BY model").fetchall()
    assert [row[0] for row in table] == ["one", "two"]
    for model, retention, n in table:
        right = "(SELECT item_id FROM records WHERE model = '{0}' AND taboo_rank = {1} AND replicate = 0 AND correct)"
        both = " INTERSECT ".join(right.format(model, rank) for rank in (0, 1))
        (kept,) = view(run_dir, f"SELECT count(*) AS n FROM ({both})")
        assert retention == pytest.approx(kept["n"] / n)
        assert 0.3 < retention < 0.9, "the script says 0.5 / 0.9"
    assert "retention" in output
    assert f"560 of 560 trials recorded in {run_dir}" in output
    assert f"python -m taboo_cluster sql {run_dir}" in output
    assert "\r" not in output


def test_a_replicate_comes_after_its_replicate_0(finished):
    run_dir, _ = finished
    times = dict(rows(run_dir, "replicate, [min(started_at), max(started_at)]", "model = 'one' GROUP BY replicate"))
    first = rows(run_dir, "max(started_at)", "model = 'one' AND replicate = 0 AND taboo_rank IN (0, 1)")[0][0]
    assert first <= times[1][0]


def test_side_tables_say_who_made_what(finished):
    run_dir, _ = finished
    read = lambda table: duckdb.sql(f"SELECT * FROM read_parquet('{run_dir}/tables/{table}/*.parquet')").df()  # noqa: E731
    launches, workers, beats = read("launches"), read("workers"), read("heartbeat")
    assert len(launches) == 1
    assert json.loads(launches.config[0])["engine"]["name"] == "scripted"
    assert {"python", "ray", "torch", "scorer arithmetic", "weights one"} <= json.loads(launches.versions[0]).keys()
    assert sorted(workers.model) == ["one", "two"]
    assert workers.ended_at.notna().all()
    assert set(workers.worker_id) == {worker for (worker,) in rows(run_dir, "DISTINCT worker_id")}
    assert list(beats[["state", "done", "failed", "total"]].itertuples(index=False, name=None)) == [
        ("done", 560, 0, 560)
    ]


def test_no_environment_is_written_anywhere(finished):
    run_dir, output = finished
    secret = os.environ["PATH"]
    assert secret not in output
    for path in run_dir.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def test_f2_again_does_nothing(joined, run_dir):
    before = files(run_dir), sorted(path.name for path in run_dir.rglob("*"))
    status, output = joined.command(run_dir, "limit=40", models=("one", "two"))
    assert status == 0, output
    assert (files(run_dir), sorted(path.name for path in run_dir.rglob("*"))) == before
    assert "560 of 560 trials recorded" in output


def test_extending_runs_only_the_new_cells_and_redoes_a_damaged_part(joined, run_dir):
    part = max(run_dir.glob("records/one/*.parquet"), key=lambda path: path.stat().st_size)
    damaged = {trial for (trial,) in duckdb.sql(f"SELECT trial_id FROM '{part}'").fetchall()}
    part.write_bytes(part.read_bytes()[:-100])
    kept = {path: content for path, content in files(run_dir).items() if not path.endswith(part.name)}
    old = {trial for (trial,) in rows_of(kept, run_dir)}
    status, output = joined.command(run_dir, "limit=50", "taboo.ranks=[0,1,2,4,8,16]", models=("one", "two"))
    assert status == 0, output
    assert "set aside" in output
    assert kept.items() <= files(run_dir).items()
    seen = counts(run_dir)
    assert len(seen) == 2 * (PER_ITEM + 1) * 50
    assert set(seen.values()) == {1}
    new = dict(rows(run_dir, "trial_id, launch_id"))
    first = min(new.values())
    assert {trial for trial, launch in new.items() if launch == first} == old
    assert damaged <= new.keys() - old


def rows_of(parts, run_dir):
    names = [str(Path(run_dir, part)) for part in parts]
    return duckdb.sql(f"SELECT trial_id FROM read_parquet({names!r})").fetchall()


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("engine.wrong=no", "engine.wrong: The answer is -1. -> no"),
        ("benchmark.arithmetic.seed=1", "benchmark.arithmetic.seed: 0 -> 1"),
    ],
)
def test_a_setting_that_would_change_records_is_refused_by_name(joined, run_dir, setting, named):
    before = files(run_dir)
    status, output = joined.command(run_dir, "limit=40", setting, models=("one", "two"))
    assert status == 2
    assert named in output
    assert len(output.splitlines()) == 1
    assert files(run_dir) == before


def test_a_directory_that_is_no_run_is_refused(joined, tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    status, output = joined.command(tmp_path, "limit=2")
    assert status == 2
    assert "is not a run" in output
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def partly_done(run_dir, process):
    """Wait for the first phase of a disturbed sweep: ranks 0 and 1."""
    wait_for(lambda: len(rows(run_dir, "trial_id")) >= 2 * ITEMS, process)


def finish(workspace, run_dir, before):
    """Run the command again: everything once, and what was on disk not again."""
    status, output = workspace.command(run_dir, f"limit={ITEMS}")
    assert status == 0, output
    after = dict(rows(run_dir, "trial_id, launch_id"))
    assert len(counts(run_dir)) == PER_ITEM * ITEMS
    assert set(counts(run_dir).values()) == {1}
    assert before.items() <= after.items()
    (shown,) = view(run_dir, "SELECT count(*) AS n, count(DISTINCT trial_id) AS trials FROM records")
    assert shown == {"n": PER_ITEM * ITEMS, "trials": PER_ITEM * ITEMS}


def test_e8_kill_9_of_the_driver_loses_only_what_was_in_flight(workspace, joined, tmp_path):
    run_dir = tmp_path / "run"
    process = workspace.start(run_dir, *SLOWLY)
    partly_done(run_dir, process)
    process.kill()
    process.communicate()
    assert "running" in beats(run_dir), "its last word"
    workers_gone(run_dir)
    before = dict(rows(run_dir, "trial_id, launch_id"))
    assert 0 < len(before) < PER_ITEM * ITEMS
    finish(joined, run_dir, before)


def beats(run_dir):
    """The states of the launches."""
    return [state for (state,) in duckdb.sql(f"SELECT state FROM '{run_dir}/tables/heartbeat/*.parquet'").fetchall()]


def workers_gone(run_dir):
    """Wait until the actors of a killed driver have followed it."""
    pids = [pid for (pid,) in duckdb.sql(f"SELECT pid FROM '{run_dir}/tables/workers/*.parquet'").fetchall()]
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


def interrupted(run_dir, process):
    """Check that a command which was told to stop kept what it had; returns who made which trial."""
    status, output = ended(process)
    assert status == 130, output
    kept = dict(rows(run_dir, "trial_id, launch_id"))
    assert f"{len(kept)} of {PER_ITEM * ITEMS} trials recorded" in output
    assert f"run_dir={run_dir}" in output
    (state,) = duckdb.sql(f"SELECT state, done FROM '{run_dir}/tables/heartbeat/*.parquet'").fetchall()
    assert state == ("interrupted", len(kept))
    return kept


def test_ctrl_c_puts_everything_on_disk_and_says_how_to_go_on(joined, tmp_path):
    run_dir = tmp_path / "run"
    process = joined.start(run_dir, *SLOWLY)
    partly_done(run_dir, process)
    os.killpg(process.pid, signal.SIGINT)
    finish(joined, run_dir, interrupted(run_dir, process))


def test_a_second_command_on_a_run_is_refused_and_sigterm_ends_the_first_as_ctrl_c_does(workspace, tmp_path):
    run_dir = tmp_path / "run"
    process = workspace.start(run_dir, *SLOWLY)
    partly_done(run_dir, process)
    status, output = here(workspace.arguments(run_dir, f"limit={ITEMS}"))
    assert status == 2
    assert output == f"error: another command is at work on {run_dir}: wait for its end or stop it\n"
    os.kill(process.pid, signal.SIGTERM)
    interrupted(run_dir, process)


def test_e2_kill_9_of_an_actor_is_made_good_in_the_same_launch(joined, tmp_path):
    run_dir = tmp_path / "run"
    process = joined.start(run_dir, *SLOWLY)
    partly_done(run_dir, process)
    ((pid,),) = duckdb.sql(f"SELECT pid FROM '{run_dir}/tables/workers/*.parquet'").fetchall()
    before = dict(rows(run_dir, "trial_id, worker_id"))
    os.kill(pid, signal.SIGKILL)
    status, output = ended(process)
    assert status == 0, output
    assert set(counts(run_dir).values()) == {1}
    after = dict(rows(run_dir, "trial_id, worker_id"))
    assert len(after) == PER_ITEM * ITEMS
    assert before.items() <= after.items()
    assert len(set(after.values())) == 2, "the second life of the actor made the rest"


def lives(run_dir):
    """Of each life of an actor, in their order: the rows it made and why it ended early."""
    made = dict(rows(run_dir, "worker_id, count(*)", "true GROUP BY worker_id"))
    query = f"SELECT worker_id, end_reason FROM '{run_dir}/tables/workers/*.parquet' ORDER BY started_at"
    return [(made.get(worker, 0), reason) for worker, reason in duckdb.sql(query).fetchall()]


def test_e12_an_engine_that_dies_or_hangs_is_started_again_and_nothing_finished_is_lost(joined, tmp_path):
    run_dir, once = tmp_path / "run", tmp_path / "once"
    once.mkdir()
    faults = ["engine.die_after=50", "engine.hang_after=60", f"engine.once_path={once}", "cluster.stall_s=1"]
    status, output = joined.command(run_dir, "limit=20", *faults)
    assert status == 0, output
    assert len(counts(run_dir)) == PER_ITEM * 20
    assert set(counts(run_dir).values()) == {1}
    (first, died), (second, hung), (third, well) = lives(run_dir)
    assert (first, second, third) == (50, 60, PER_ITEM * 20 - 110)
    assert died == "engine died: the scripted engine was told to die"
    assert hung.startswith("engine hung: no completion for 1 s though requests are in flight")
    assert well is None


def test_e12_an_engine_that_always_hangs_costs_its_model_and_is_named(joined, tmp_path):
    run_dir = tmp_path / "run"
    faults = ["engine.hang_after=5", "cluster.stall_s=1", "cluster.max_restarts=1"]
    status, output = joined.command(run_dir, "limit=20", *faults)
    assert status == 1, output
    assert "FAILED one: engine hung: no completion for 1 s" in output
    assert [made for made, _ in lives(run_dir)] == [5, 5]
    ((kind, error),) = rows(run_dir, "error_type, error", "error_type IS NOT NULL")
    assert kind == "engine_died"
    assert error.startswith("engine hung: no completion for 1 s")


def test_d2_a_model_that_cannot_be_loaded_does_not_stop_the_others(joined, tmp_path):
    run_dir = tmp_path / "run"
    status, output = joined.command(run_dir, "limit=20", "engine.refuse=[one]", models=("one", "two"))
    assert status == 1, output
    assert "FAILED one: one was refused" in output
    assert rows(run_dir, "model, outcome, error_type", "model = 'one'") == [("one", "error", "model_load_failed")]
    assert len(rows(run_dir, "trial_id", "model = 'two' AND error_type IS NULL")) == PER_ITEM * 20
    status, output = joined.command(run_dir, "limit=20", models=("one", "two"))
    assert status == 0, output
    assert view(run_dir, "SELECT count(*) AS n FROM records WHERE outcome <> 'error'") == [{"n": 2 * PER_ITEM * 20}]


def test_k3_permanent_errors_are_tried_again_when_asked_transient_ones_in_the_same_launch(joined, tmp_path):
    run_dir, once = tmp_path / "run", tmp_path / "once"
    once.mkdir()
    status, output = joined.command(run_dir, "limit=20", "engine.fail=0.2", "engine.fail_type=nan_logits", FEW_FAIL)
    assert status == 0, output
    errors = len(rows(run_dir, "trial_id", "error_type = 'nan_logits'"))
    assert 0 < errors < PER_ITEM * 20
    assert len(rows(run_dir, "trial_id")) == PER_ITEM * 20
    assert f"{errors} x nan_logits" in output

    failing = ["engine.fail=0.2", f"engine.once_path={once}", FEW_FAIL]
    status, output = joined.command(run_dir, "limit=20", "retry=permanent", *failing)
    assert status == 0, output
    (shown,) = view(run_dir, "SELECT max(attempt) AS most, count(error_type) AS errors, count(*) AS n FROM records")
    assert shown == {"most": 3, "errors": 0, "n": PER_ITEM * 20}
    attempts = dict(rows(run_dir, "attempt, count(*)", "true GROUP BY attempt"))
    assert attempts == {1: PER_ITEM * 20, 2: errors, 3: errors}, "the same trials fail, each once more"
    assert len(rows(run_dir, "trial_id", "attempt = 2 AND error_type = 'generation_failed'")) == errors


def test_a_hopeless_model_stops_early(joined, tmp_path):
    run_dir = tmp_path / "run"
    status, output = joined.command(run_dir, "engine.fail=0.5", "limit=300")
    assert status == 1, output
    assert "max_error_share" in output
    assert "the scripted engine was told to fail" in output
    assert len(rows(run_dir, "trial_id")) < PER_ITEM * 300 / 2
