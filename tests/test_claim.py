"""One command at a time on a run: by lock on a local disk, by heartbeat elsewhere."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import uuid
from datetime import timedelta
from pathlib import Path

import pytest

from taboo_cluster.claim import claim
from taboo_cluster.errors import UserError
from taboo_cluster.heartbeat import LOST_AFTER
from taboo_cluster.launch import write_row
from taboo_cluster.rows import now

HOLD = """
import sys
from taboo_cluster.claim import claim
with claim(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def beat(run_dir: str, ago: timedelta, state: str = "running", host: str = "elsewhere", pid: int | None = 7) -> None:
    """The launch of a command and its last sign of life."""
    write_row(run_dir, "launches", "l", {"launch_id": "l", "started_at": now(), "host": host, "pid": pid})
    write_row(run_dir, "heartbeat", "l", {"launch_id": "l", "seen_at": now() - ago, "state": state})


def test_a_run_that_is_held_is_refused_and_free_again_afterwards(tmp_path: Path) -> None:
    run_dir = str(tmp_path / "run")
    with claim(run_dir):
        with pytest.raises(UserError, match="another command is at work on"), claim(run_dir):
            pass
        (tmp_path / "run" / "config.yaml").touch()
    with claim(run_dir):
        pass


def test_a_holder_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    run_dir = str(tmp_path)
    command = [sys.executable, "-c", HOLD, run_dir]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    beat(run_dir, timedelta(0), host=socket.gethostname(), pid=holder.pid)
    with pytest.raises(UserError, match="another command"), claim(run_dir):
        pass
    holder.kill()
    holder.communicate()
    with claim(run_dir):
        pass


def test_a_directory_is_made_and_goes_again_where_nothing_was_put_into_it(tmp_path: Path) -> None:
    with claim(str(tmp_path / "runs" / "a")):
        assert (tmp_path / "runs" / "a").is_dir()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    with claim(str(tmp_path / "mine")):
        pass
    with claim(str(tmp_path / "runs" / "b")):
        (tmp_path / "runs" / "b" / "config.yaml").touch()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["b", "config.yaml", "mine", "runs"]


def test_a_directory_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = pytest.raises(UserError, match=r"cannot use the directory .*file/run: Not a directory")
    with refused, claim(str(tmp_path / "file" / "run")):
        pass


@pytest.fixture(params=["local", "object store"])
def run_dir(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A run without a lock of its own to tell."""
    return str(tmp_path) if request.param == "local" else f"memory://{uuid.uuid4().hex}/run"


@pytest.mark.parametrize("pid", [7, None])
def test_a_command_on_another_machine_is_known_by_its_heartbeat(run_dir: str, pid: int | None) -> None:
    beat(run_dir, timedelta(seconds=30), pid=pid)
    with pytest.raises(UserError, match=rf"process {pid} on elsewhere.*try again in 60 s"), claim(run_dir):
        pass


@pytest.mark.parametrize(
    ("ago", "state"), [(LOST_AFTER + timedelta(seconds=1), "running"), *((timedelta(0), s) for s in ("done", "failed"))]
)
def test_a_command_that_is_lost_or_has_ended_holds_nothing(run_dir: str, ago: timedelta, state: str) -> None:
    beat(run_dir, ago, state)
    with claim(run_dir):
        pass


def test_on_this_machine_the_process_itself_is_asked(run_dir: str) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here = socket.gethostname()
    for pid in (ended.pid, os.getpid()):
        beat(run_dir, timedelta(0), host=here, pid=pid)
        with claim(run_dir):
            pass
    for pid in (os.getppid(), None):
        beat(run_dir, timedelta(0), host=here, pid=pid)
        with pytest.raises(UserError, match=f"process {pid} on {here}"), claim(run_dir):
            pass


def test_a_run_of_an_older_version_without_process_ids_can_be_claimed(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "tables" / "heartbeat"
    folder.mkdir(parents=True)
    row = {"launch_id": "old", "at": now() - timedelta(days=1), "state": "running"}
    pq.write_table(pa.Table.from_pylist([row]), folder / "part-old.parquet")
    with claim(str(tmp_path)):
        pass
