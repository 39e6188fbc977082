"""One life of an actor: its row in the table `workers`, and its end."""

from __future__ import annotations

import logging
import multiprocessing
import os
import socket
import uuid
from contextlib import suppress
from typing import Any, NoReturn

from actors.task import Task
from taboo_cluster.launch import write_row
from taboo_cluster.rows import now

log = logging.getLogger(__name__)


class Life:
    """From the start of the actor's process to its end.

    Attributes:
        worker_id: readable, and of this life alone.
    """

    def __init__(self, task: Task) -> None:
        self.worker_id = f"{task.workers}{uuid.uuid4().hex[:6]}"
        self._run_dir = task.run_dir
        self._row: dict[str, Any] = {
            "worker_id": self.worker_id,
            "launch_id": task.launch_id,
            "model": task.model.name,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started_at": now(),
        }

    def note(self, **columns: Any) -> None:
        """Put more columns into the row, and the row on disk. Raises WriteError."""
        self._row |= columns
        write_row(self._run_dir, "workers", f"{self._row['launch_id']}-{self.worker_id}", self._row)

    def end(self) -> None:
        """The actor has done what it was for. Raises WriteError."""
        self.note(ended_at=now())

    def die(self, reason: str) -> NoReturn:
        """Say why and end this process with all that it started, so that Ray starts the actor again."""
        log.error("%s: %s", self.worker_id, reason)
        with suppress(Exception):  # whatever keeps the row off the disk must not keep this process alive
            self.note(ended_at=now(), end_reason=reason)
        for child in multiprocessing.active_children():
            child.kill()
        os._exit(1)
