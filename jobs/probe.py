"""The stability probe's driver: one actor for each model with trials left to probe, as many at once as fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ray

from actors.probe import ProbeActor
from actors.task import Task
from jobs.failures import failure
from jobs.progress import ModelState, SweepProgress
from jobs.work import ModelWork
from jobs.worker import Need
from taboo_cluster import compose
from taboo_cluster.config import RunConfig
from taboo_cluster.stability import trials

RESTARTS = 2
"""Times an actor may be started again."""
POLL_S = 1.0
GRACE_S = 30.0
"""Seconds that an actor gets to end when the sweep is interrupted."""


def unprobed(config: RunConfig, run_dir: str, works: Sequence[ModelWork]) -> dict[int, int]:
    """Index of a model -> its trials that are left to probe; empty where no probe is asked for or a server holds the
    models."""
    if not config.stability.probe or compose.engine_options(config)[0].served:
        return {}
    done = trials.probed(run_dir, config.stability)
    counts = {work.index: len(trials.to_probe(run_dir, work.model) - done) for work in works}
    return {index: count for index, count in counts.items() if count}


@dataclass
class _Model:
    work: ModelWork
    need: Need
    total: int
    done: int = 0
    state: str = "waiting"
    actor: Any = None


class ProbeRun:
    """Probes the models of a sweep once their trials are generated.

    Args:
        config: the run's.
        run_dir: of the run.
        works: the models.
        needs: what an engine of each takes, by index; the probe takes the same.
        cpus: CPU cores to use.
        gpus: GPUs to use.
        make_task: what a new actor of a model is told.
        progress: shows how far it is.
        stopping: true once the sweep is to end early.
    """

    def __init__(
        self,
        config: RunConfig,
        run_dir: str,
        works: Sequence[ModelWork],
        needs: Sequence[Need],
        *,
        cpus: float,
        gpus: float,
        make_task: Callable[[ModelWork, Need], Task],
        progress: SweepProgress,
        stopping: Callable[[], bool],
    ) -> None:
        left = unprobed(config, run_dir, works)
        self._models = [_Model(work, needs[work.index], left[work.index]) for work in works if work.index in left]
        self._cpus, self._gpus = cpus, gpus
        self._make_task, self._progress, self._stopping = make_task, progress, stopping
        self._calls: dict[Any, tuple[_Model, str]] = {}
        if compose.engine_options(config)[0].served:
            progress.line("warning: a server holds the models: their hidden states cannot be probed")

    def run(self) -> bool:
        """Probe; true where every model that could be asked was probed to its end."""
        try:
            while not self._stopping():
                self._start()
                if not self._calls:
                    break
                self._wait()
        finally:
            self._stop()
            self._show(last=True)
        return all(model.state == "done" for model in self._models)

    def _start(self) -> None:
        for model in self._models:
            running = [other.need for other in self._models if other.actor is not None]
            cpus = self._cpus - sum(need.cpus for need in running)
            gpus = self._gpus - sum(need.gpus for need in running)
            if model.state != "waiting" or model.need.cpus > cpus + 1e-6 or model.need.gpus > gpus + 1e-6:
                continue
            task = self._make_task(model.work, model.need)
            actor_class: Any = ProbeActor
            model.actor = actor_class.options(
                name=f"{task.launch_id}/probe of {task.label}",
                num_cpus=model.need.cpus,
                num_gpus=model.need.gpus,
                max_restarts=RESTARTS,
                max_task_retries=RESTARTS,
            ).remote(task)
            model.state = "running"
            self._calls[model.actor.run.remote()] = (model, "run")

    def _wait(self) -> None:
        asked = {id(model) for model, kind in self._calls.values() if kind == "progress"}
        for model in self._models:
            if model.actor is not None and id(model) not in asked:
                self._calls[model.actor.progress.remote()] = (model, "progress")
        runs = [call for call, (_, kind) in self._calls.items() if kind == "run"]
        ray.wait(runs, num_returns=1, timeout=POLL_S)
        ready, _ = ray.wait(list(self._calls), num_returns=len(self._calls), timeout=0)
        for call in ready:
            self._back(call, *self._calls.pop(call, (None, "")))
        self._show()

    def _back(self, call: Any, model: _Model | None, kind: str) -> None:
        if model is None or model.actor is None:
            return
        try:
            done: int = ray.get(call)
        except Exception as error:  # whatever a model does when it is loaded or run, the others go on
            if kind == "run":
                self._progress.line(f"FAILED probe of {model.work.label}: {failure(error, True).message}")
                self._end(model, "failed")
            return
        model.done = max(model.done, done)
        if kind == "run":
            self._end(model, "done")

    def _stop(self) -> None:
        """End the actors that are left, what they have probed on disk."""
        running = [model.actor for model in self._models if model.actor is not None]
        for actor in running:
            actor.stop.remote()
        if runs := [call for call, (_, kind) in self._calls.items() if kind == "run"]:
            ray.wait(runs, num_returns=len(runs), timeout=GRACE_S)
        for actor in running:
            ray.kill(actor)

    def _end(self, model: _Model, state: str) -> None:
        model.state = state
        ray.kill(model.actor)
        model.actor = None

    def _show(self, last: bool = False) -> None:
        if self._models:
            states = [ModelState(m.work.label, min(m.done, m.total), m.total, 0, m.state) for m in self._models]
            self._progress.update(states, last=last)
