"""One command at a time on a run."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from pathlib import Path

from taboo_cluster.errors import UserError
from taboo_cluster.heartbeat import LOST_AFTER
from taboo_cluster.launch import launches
from taboo_cluster.records.reader import side_table
from taboo_cluster.records.storage import Store
from taboo_cluster.rows import now


@contextmanager
def claim(run_dir: str) -> Iterator[None]:
    """Hold a run for this process.

    A local directory is made where it is missing (and removed again if it stays empty) and locked: the lock ends with
    the process, however that ends. On other machines, and where there are no locks, a command is known by its
    heartbeat: one that was killed there holds its run until that is `LOST_AFTER` old, one that was killed here holds
    nothing.

    Raises:
        UserError: another command is at work on the run, or its directory cannot be made.
    """
    store = Store.open(run_dir)
    with _lock(Path(store.root)) if store.local else nullcontext():
        if holder := _holder(run_dir, now()):
            raise UserError(
                f"another command is at work on {run_dir} ({holder}): wait for its end or stop it; if it was killed, "
                f"try again in {LOST_AFTER.seconds} s"
            )
        yield


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"cannot use the directory {folder}: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another command is at work on {folder}: wait for its end or stop it") from None
        except OSError:
            pass  # a network file system may have no locks
        yield
    finally:
        os.close(handle)
        with suppress(OSError):
            for path in missing:
                path.rmdir()


def _holder(run_dir: str, at: datetime) -> str | None:
    """The process that gave the run a sign of life a short while before `at`, unless it was one of this machine's
    that is gone."""
    known = {row["launch_id"]: row for row in launches(run_dir)}
    for beat in side_table(run_dir, "heartbeat", "FROM parts WHERE state = 'running' ORDER BY seen_at DESC"):
        launch = known.get(beat["launch_id"], {})
        host, pid = launch.get("host"), launch.get("pid")
        if at - beat["seen_at"] <= LOST_AFTER and (host != socket.gethostname() or _alive(pid)):
            return f"process {pid} on {host}"
    return None


def _alive(pid: int | None) -> bool:
    """True where a process of this machine may still run; an unknown one may, this one is no other."""
    if pid is None:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()
