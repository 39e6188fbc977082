"""What to say of a model that could not be brought to its end."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from ray.exceptions import OutOfMemoryError, RayTaskError

from taboo_cluster.errors import UserError


@dataclass(frozen=True)
class Failure:
    """Why a model was given up."""

    message: str
    error_type: str | None = None
    """What the first of its missing trials is recorded with; None where its errors are recorded already."""
    trace: str | None = None
    """For the log; None for a user's mistake."""


def failure(error: Exception, loaded: bool) -> Failure:
    """What an exception that came back from an actor means.

    Args:
        error: as `ray.get` raised it.
        loaded: the model had been loaded before.
    """
    cause = error.cause if isinstance(error, RayTaskError) and error.cause is not None else error
    kind = "engine_died" if loaded else "model_load_failed"
    if isinstance(cause, UserError):
        return Failure(str(cause), kind)
    if isinstance(cause, OutOfMemoryError):
        kind = "out_of_memory"
    return Failure(one_line(cause), kind, "".join(traceback.format_exception(error)))


def one_line(error: BaseException) -> str:
    """The error in one line; of a remote traceback, its end."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    return f"{type(error).__name__}: {lines[-1] if isinstance(error, RayTaskError) else lines[0]}"
