"""Whatever is killed or hangs in the middle of a sweep with a real model: the rest is made, and nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from measured import table, write_page

from taboo_cluster.analysis.database import open_runs, select

pytest.importorskip("vllm", reason="vLLM is not installed")

ROOT = Path(__file__).parents[2]
DATA = ROOT / "../shared/data/gsm8k"
MODELS = os.environ.get("TABOO_MODELS")
MODEL, ITEMS, MAX_TOKENS = "SmolLM2-135M-Instruct", 24, 128
TRIALS = ITEMS * 4
"""Ranks 0 and 1, each with a replicate."""
MARK = "TABOO_CLUSTER_KILL_TEST"
"""Environment variable that every process of a command inherits."""
DEADLINE_S = 600

pytestmark = [
    pytest.mark.verify,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(MODELS is None, reason="TABOO_MODELS names no folder of models"),
    pytest.mark.skipif(not DATA.is_dir(), reason="no GSM8K files at ../shared/data/gsm8k"),
]


@dataclass(frozen=True)
class Scenario:
    """What is done to a sweep in its middle."""

    title: str
    signal: signal.Signals
    victim: Callable[[Path, subprocess.Popen[str]], int]
    again: bool = False
    """The command has to be given again: its driver is the victim."""


def actor(run_dir: Path, driver: subprocess.Popen[str]) -> int:
    """The process of the ModelActor that lives."""
    query = f"SELECT pid FROM '{run_dir}/tables/workers/*.parquet' WHERE ended_at IS NULL ORDER BY started_at DESC"
    return int(duckdb.sql(query).fetchall()[0][0])


def engine(run_dir: Path, driver: subprocess.Popen[str]) -> int:
    """vLLM's engine process: a child of the actor's."""
    parent = actor(run_dir, driver)
    children = " ".join(path.read_text() for path in Path(f"/proc/{parent}/task").glob("*/children")).split()
    (found,) = [int(pid) for pid in children if "EngineCore" in Path(f"/proc/{pid}/cmdline").read_text()]
    return found


SCENARIOS = [
    Scenario("engine process killed (kill -9)", signal.SIGKILL, engine),
    Scenario("engine process stopped (hangs; cluster.stall_s=30)", signal.SIGSTOP, engine),
    Scenario("ModelActor killed (kill -9)", signal.SIGKILL, actor),
    Scenario("driver killed (kill -9), command given again", signal.SIGKILL, lambda _, driver: driver.pid, again=True),
]


def start(run_dir: Path, mark: str) -> subprocess.Popen[str]:
    """The sweep's command."""
    arguments = [
        "+sweep=alignment",
        f"models=[{{path: {MODELS}/{MODEL}, aligned: true, stage: instruct}}]",
        "benchmarks=[gsm8k]",
        f"benchmark.gsm8k.path={DATA.resolve()}",
        f"benchmark.gsm8k.max_tokens={MAX_TOKENS}",
        f"limit={ITEMS}",
        "taboo.ranks=[0,1]",
        "engine=vllm",
        "engine.max_num_seqs=8",
        "engine.max_model_len=2048",
        "engine.cpu_kvcache_gib=0.5",
        "cluster.dashboard=false",
        "cluster.stall_s=30",
        f"run_dir={run_dir}",
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "taboo_cluster", *arguments],
        cwd=run_dir.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT), MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def made(run_dir: Path) -> dict[str, str]:
    """trial_id -> life of the actor that made it; no trial may have two rows in the parts."""
    if not list(run_dir.glob("records/*/*.parquet")):
        return {}
    rows = duckdb.sql(f"SELECT trial_id, worker_id FROM '{run_dir}/records/*/*.parquet'").fetchall()
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def processes(mark: str) -> list[int]:
    """Every process that a command with this mark has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue  # gone, or another user's
    return found


def wait_for(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.1)


def disturbed(scenario: Scenario, run_dir: Path) -> list[object]:
    """Run the sweep, do to it what the scenario says, check what came of it; a row of the page."""
    mark = uuid.uuid4().hex
    process = start(run_dir, mark)
    wait_for(lambda: len(made(run_dir)) >= 0.45 * TRIALS or process.poll() is not None, "nearly half of the trials")
    assert process.poll() is None, process.communicate()[0]
    victim = scenario.victim(run_dir, process)
    before = made(run_dir)
    os.kill(victim, scenario.signal)
    if scenario.again:
        process.communicate()
        wait_for(lambda: not processes(mark), "the end of what the killed driver had started")
        before = made(run_dir)
        process = start(run_dir, mark)
    output, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, output
    after = made(run_dir)
    assert len(before) < len(after) == TRIALS
    assert before.items() <= after.items(), "nothing that was on disk is made again"
    with open_runs([str(run_dir)]) as connection:
        (shown,) = select(connection, "SELECT count(*) AS n, count(error_type) AS errors FROM records").to_pylist()
    assert shown == {"n": TRIALS, "errors": 0}
    wait_for(lambda: not processes(mark), "the end of every process")
    query = f"SELECT worker_id, coalesce(end_reason, '') FROM '{run_dir}/tables/workers/*.parquet' ORDER BY started_at"
    (first, why), (second, well) = duckdb.sql(query).fetchall()
    assert well == ""
    by_life = [list(after.values()).count(life) for life in (first, second)]
    assert sum(by_life) == TRIALS
    return [scenario.title, len(before), *by_life, TRIALS, 0, why.partition(" (")[0] or "-"]


def test_whatever_is_killed_in_the_middle_the_rest_is_made_and_nothing_twice(tmp_path: Path) -> None:
    import ray
    import vllm

    rows = [disturbed(scenario, tmp_path / str(number)) for number, scenario in enumerate(SCENARIOS)]
    header = [
        "what happened",
        "on disk then",
        "by the first life",
        "by the second",
        "records",
        "processes left",
        "said",
    ]
    lines = [
        f"Engine: vllm {vllm.__version__}, bfloat16, in a ModelActor on Ray {ray.__version__}. Model: {MODEL}. {ITEMS} "
        f"GSM8K test items, ranks 0 and 1, each with a replicate: {TRIALS} trials of at most {MAX_TOKENS} tokens.",
        "",
        "Each line is a run of its own, disturbed once 45% of its trials were on disk (others were finished and "
        "still in memory: they go to disk every 15 s). Every run ended with exit status 0, one row in the parts for "
        "each trial and no error among the records; what was on disk was not made again. `said`: the reason that the "
        "table `workers` keeps of the first life's end, where it could still give one.",
        "",
        *table(header, rows),
    ]
    write_page("kill_and_resume", "Killed in the middle, and finished", lines)
