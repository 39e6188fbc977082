"""What a driver tells about its sweep while it runs: progress, signs of life, metrics, and what went wrong."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from ray.util.metrics import Gauge

from jobs.failures import Failure
from jobs.pool import Pool
from jobs.progress import ModelState, SweepProgress
from jobs.work import ModelWork
from taboo_cluster.config import RunConfig
from taboo_cluster.errors import TrialError
from taboo_cluster.launch import Launch, write_row
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import PartWriter, model_slug
from taboo_cluster.rows import error_columns, now, trial_columns

BEAT_S = 10.0
"""Seconds between signs of life (table heartbeat)."""


class Monitor:
    """Reports on one launch."""

    def __init__(self, config: RunConfig, launch: Launch, works: Sequence[ModelWork], progress: SweepProgress) -> None:
        self._config, self._launch, self._works, self._progress = config, launch, works, progress
        self._left = Gauge("taboo_trials_left", "Trials that are not recorded yet", ("model",))
        self._beaten = float("-inf")

    def tick(self, pool: Pool) -> None:
        """Show how far the sweep is, now and then."""
        states = self._states(pool)
        self._progress.update(states)
        if time.monotonic() - self._beaten > BEAT_S:
            self._beat(states, "running")

    def end(self, pool: Pool, state: str) -> None:
        """The last sign of life: done, failed or interrupted."""
        states = self._states(pool)
        self._progress.update(states, last=True)
        self._beat(states, state)

    def failed(self, work: ModelWork, why: Failure) -> None:
        """A model was given up: said at once, logged, and recorded with the first trial that is missing."""
        self._progress.line(f"FAILED {work.label}: {why.message}")
        if why.trace:
            name = f"logs/{self._launch.launch_id}-{model_slug(work.label)}.log"
            Store.open(self._launch.run_dir).write(name, memoryview(why.trace.encode("utf-8", "replace")))
            self._progress.line(f"  its traceback: {self._launch.run_dir}/{name}")
        if why.error_type is not None:
            self._record(work, TrialError(why.error_type, why.message))

    def _record(self, work: ModelWork, error: TrialError) -> None:
        trial = work.first_missing()
        if trial is None:
            return
        row = trial_columns(trial, work.benchmarks[trial.benchmark]) | error_columns(error)
        row |= {
            "run_id": self._launch.run_id,
            "launch_id": self._launch.launch_id,
            "sweep": self._config.sweep,
            "started_at": now(),
        }
        folder = f"{self._launch.run_dir}/records/{model_slug(work.model.name)}"
        with PartWriter(folder, f"part-{self._launch.launch_id}-driver", RECORD) as writer:
            writer.add(row)

    def _states(self, pool: Pool) -> list[ModelState]:
        states = []
        for work in self._works:
            in_hand = pool.in_hand(work)
            state = pool.state(work)
            done = min(work.total, work.done + in_hand.done)
            states.append(ModelState(work.label, done, work.total, work.failed + in_hand.failed, state))
        return states

    def _beat(self, states: Sequence[ModelState], state: str) -> None:
        self._beaten = time.monotonic()
        left: Counter[str] = Counter()
        for work, one in zip(self._works, states, strict=True):
            left[work.model.name] += one.total - one.done
        for model, count in left.items():
            self._left.set(count, {"model": model})
        row = {
            "launch_id": self._launch.launch_id,
            "seen_at": now(),
            "state": state,
            "done": sum(one.done for one in states),
            "failed": sum(one.failed for one in states),
            "total": sum(one.total for one in states),
        }
        write_row(self._launch.run_dir, "heartbeat", self._launch.launch_id, row)
