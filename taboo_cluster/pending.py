"""Which trials of a run are still to be done. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from taboo_cluster.errors import SKIPPED, TRANSIENT
from taboo_cluster.records.reader import Recorded
from taboo_cluster.trial import Trial


@dataclass(frozen=True)
class Pending:
    """What is recorded of a model's trials, sorted into settled and to be redone; the rest is to be done."""

    settled: frozenset[str] = frozenset()
    """trial_ids that are left as they are."""
    failed: frozenset[str] = frozenset()
    """Of the settled ones: in error."""
    attempts: Mapping[str, int] = field(default_factory=dict)
    """trial_id -> number of the attempt to make now, of those that are redone."""


def pending(
    recorded: Mapping[str, Recorded],
    *,
    max_attempts: int,
    permanent: bool = False,
    stale: Collection[str] = frozenset(),
) -> Pending:
    """Sort what is recorded.

    Args:
        recorded: by trial_id.
        max_attempts: attempts at a trial that fails for a transient reason. A model that could not be loaded says
            nothing about the trial that carries the error: it is tried each time.
        permanent: redo every error, whatever its kind and number of attempts.
        stale: trial_ids to be redone although they are recorded without error.
    """
    attempts, failed = {}, set()
    for trial_id, row in recorded.items():
        if row.error_type is None:
            redo = trial_id in stale
        else:
            again = row.error_type in TRANSIENT and row.attempt < max_attempts
            redo = again or permanent or row.error_type == "model_load_failed"
        if redo:
            attempts[trial_id] = row.attempt + 1
        elif row.error_type not in (None, SKIPPED):
            failed.add(trial_id)
    return Pending(frozenset(recorded.keys() - attempts.keys()), frozenset(failed), attempts)


@dataclass(frozen=True)
class Tally:
    """How far a model's trials are."""

    total: int
    settled: int
    failed: int
    """Of the settled ones: in error."""

    @property
    def missing(self) -> int:
        """Trials still to be done."""
        return self.total - self.settled


def tally(trials: Iterable[Trial], known: Pending, total: int) -> Tally:
    """How many of these trials are settled; without any record they need not be enumerated."""
    if not known.settled:
        return Tally(total, 0, 0)
    settled = failed = 0
    for trial in trials:
        trial_id = trial.trial_id
        settled += trial_id in known.settled
        failed += trial_id in known.failed
    return Tally(total, settled, failed)
