"""A workspace for sweeps with the scripted engine: two model folders, a script, and the command."""

import io
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from pathlib import Path

import duckdb
import numpy as np
from safetensors.numpy import save_file

from taboo_cluster.__main__ import main
from taboo_cluster.benchmarks.base import BENCHMARKS

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 240
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
"""Of the cluster that commands join."""


class Workspace:
    """An empty folder filled with models `one` and `two` and a script that knows the answers of arithmetic."""

    def __init__(self, folder):
        self.folder, self.environment, self.settings = folder, {}, ()
        for number, name in enumerate(("one", "two")):
            model = folder / "models" / name
            model.mkdir(parents=True)
            (model / "config.json").write_text(json.dumps({"model_type": "llama", "hidden_size": number}))
            (model / "tokenizer.json").write_text("{}")
            save_file({"w": np.zeros(4, np.float32)}, model / "model.safetensors")
        entry = BENCHMARKS.get("arithmetic")
        items = entry.build(entry.options()).items()
        self.script = folder / "script.json"
        self.script.write_text(json.dumps({item.question: f"The answer is {item.gold}." for item in items}))

    def arguments(self, run_dir, *more, models=("one",)):
        listed = ",".join(f"{{path: {self.folder}/models/{name}}}" for name in models)
        return [
            "+sweep=alignment",
            f"models=[{listed}]",
            "benchmarks=[arithmetic]",
            "engine=scripted",
            f"engine.script_path={self.script}",
            "engine.accuracy={0: 0.9, 1: 0.5}",
            "cluster.dashboard=false",
            *self.settings,
            f"run_dir={run_dir}",
            *more,
        ]

    def start(self, run_dir, *more, **options):
        """The command, started in a session of its own."""
        own = {name: value for name, value in os.environ.items() if name not in TOKEN}
        return subprocess.Popen(
            [sys.executable, "-m", "taboo_cluster", *self.arguments(run_dir, *more, **options)],
            cwd=self.folder,
            env=own | self.environment | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def command(self, run_dir, *more, **options):
        """(exit status, output) of the command."""
        return ended(self.start(run_dir, *more, **options))


class Joined(Workspace):
    """The same folder, where commands join a running cluster.

    A command that nothing is done to while it runs is run by this process, which has done its imports long ago.
    """

    def __init__(self, workspace, address, metrics):
        self.folder, self.script = workspace.folder, workspace.script
        self.environment, self.settings = TOKEN, (f"cluster.address={address}",)
        self.metrics = metrics
        """URL at which the cluster's node exports its metrics."""

    def command(self, run_dir, *more, **options):
        """(exit status, output) of the command."""
        return here(self.arguments(run_dir, *more, **options))


def here(arguments):
    """(exit status, output) of the command, run by this process."""
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        status = main(arguments)
    return status, output.getvalue()


def ended(process):
    """(exit status, output) once it has ended; a process that does not end is killed with all it started."""
    try:
        output, _ = process.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, output


def rows(run_dir, columns="*", where="true"):
    """Every row of every part, doubles included."""
    files = sorted(str(path) for path in Path(run_dir, "records").rglob("*.parquet"))
    if not files:
        return []
    query = f"SELECT {columns} FROM read_parquet({files!r}, union_by_name=true) WHERE {where}"
    return duckdb.sql(query).fetchall()


def counts(run_dir):
    """Rows by trial_id."""
    return Counter(trial for (trial,) in rows(run_dir, "trial_id"))


def files(run_dir):
    """Every part of records with its time and content."""
    return {
        str(path.relative_to(run_dir)): (path.stat().st_mtime_ns, sha256(path.read_bytes()).hexdigest())
        for path in Path(run_dir, "records").rglob("*.parquet")
    }


def wait_for(condition, process=None, seconds=DEADLINE_S):
    """Wait until something is so; fails where the process ends before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        assert process is None or process.poll() is None, process.stdout.read()
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def view(run_dir, query):
    """Rows of a query over the views."""
    from taboo_cluster.analysis.database import open_runs, select

    with open_runs([str(run_dir)]) as connection:
        return select(connection, query).to_pylist()
