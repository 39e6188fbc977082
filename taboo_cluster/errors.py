"""Errors that are shown to a person as one clear line, and how a trial's errors are classed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake in what was asked for: one line that says what is wrong and what to do; exit status 2."""


class EngineDied(Exception):
    """The engine behind an actor is gone; the actor's process has to be started again."""


class TrialError(Exception):
    """One trial cannot be done; it becomes a record with this `error_type` and message.

    Attributes:
        error_type: one of `PERMANENT` or `TRANSIENT`.
    """

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type


SKIPPED = "document_skipped"
"""A document of which too little fits into a model's context: recorded and counted apart, no failure."""

PERMANENT = frozenset(
    {"prompt_too_long", SKIPPED, "nan_logits", "item_invalid", "render_failed", "scorer_failed", "request_refused"}
)
"""Errors that another attempt would only repeat; redone only with `retry=permanent`."""

TRANSIENT = frozenset({"engine_died", "out_of_memory", "timeout", "model_load_failed", "generation_failed"})
"""Errors worth another attempt, up to `max_attempts`."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, or None where nothing is close."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return found[0] if found else None


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for an unknown name: what is known and the nearest one."""
    names = sorted(known)
    close = nearest(name, names)
    hint = f" - did you mean {close!r}?" if close else "."
    return UserError(f"unknown {kind} {name!r}{hint} Known: {', '.join(names) or 'none'}")
