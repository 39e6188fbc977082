"""What to say of a model that could not be brought to its end."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from ray.exceptions import OutOfMemoryError, RayActorError, RayTaskError

from actors.task import Task
from taboo_cluster.errors import UserError
from taboo_cluster.records.reader import side_table


@dataclass(frozen=True)
class Failure:
    """Why a model was given up."""

    message: str
    error_type: str | None = None
    """What the first of its missing trials is recorded with; None where its errors are recorded already."""
    trace: str | None = None
    """For the log; None for a user's mistake."""


def failure(error: Exception, loaded: bool, said: str | None = None) -> Failure:
    """What an exception that came back from an actor means.

    Args:
        error: as `ray.get` raised it.
        loaded: the model had been loaded before.
        said: why the actor ended itself, where it did (`last_words`): Ray knows only that it is gone.
    """
    cause = error.cause if isinstance(error, RayTaskError) and error.cause is not None else error
    kind = "engine_died" if loaded else "model_load_failed"
    if isinstance(cause, UserError):
        return Failure(str(cause), kind)
    if isinstance(cause, OutOfMemoryError):
        kind = "out_of_memory"
    trace = "".join(traceback.format_exception(error))
    return Failure(said if said and isinstance(cause, RayActorError) else one_line(cause), kind, trace)


def last_words(task: Task) -> str | None:
    """Why the latest life of a task's actor ended early, as it wrote down itself; None where it was killed."""
    query = """
        SELECT end_reason FROM parts WHERE launch_id = $launch AND starts_with(worker_id, $workers)
        ORDER BY started_at DESC LIMIT 1
    """
    rows = side_table(task.run_dir, "workers", query, launch=task.launch_id, workers=task.workers)
    return rows[0]["end_reason"] if rows else None


def one_line(error: BaseException) -> str:
    """The error in one line; of a remote traceback, its end."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    return f"{type(error).__name__}: {lines[-1] if isinstance(error, RayTaskError) else lines[0]}"
