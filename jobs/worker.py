"""One actor as its driver sees it: what it takes, what it is doing, and the calls to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import ray

from actors.model import ModelActor
from actors.task import Ref, Report, Task
from jobs.work import ModelWork
from taboo_cluster.engines.base import Hardware
from taboo_cluster.runner import Counts

GRACE_S = 60.0
"""Seconds that blocks in hand get to end when a sweep is interrupted, and an actor to free its model."""


@dataclass(frozen=True)
class Need:
    """What one engine of a model takes of the cluster."""

    cpus: float
    gpus: float
    hardware: Hardware


@dataclass(eq=False)
class Worker:
    """One actor and what it is doing. Each call to it returns the reference of its answer."""

    work: ModelWork
    need: Need
    task: Task
    actor: Any
    report: Report | None = None
    """None until it is loaded."""
    blocks: int = 0
    """Handed over and not back yet."""
    in_hand: Counts = field(default_factory=Counts)
    """Recorded already of those blocks, when it was last asked."""
    asked: bool = False
    stopping: bool = False
    """Told to end its blocks early; it is let go of once they are back."""
    finishing: bool = False
    """Told to free its model."""
    deadline: float = float("inf")
    """When it must have done so."""

    @classmethod
    def create(cls, work: ModelWork, need: Need, task: Task, max_restarts: int) -> Worker:
        """A new actor, which loads nothing before `start`."""
        actor_class: Any = ModelActor  # Ray's decorator changes the class, its annotations do not say how
        actor = actor_class.options(
            name=f"{task.launch_id}/{task.label}",
            num_cpus=need.cpus,
            num_gpus=need.gpus,
            max_restarts=max_restarts,
            max_task_retries=max_restarts,
            max_concurrency=2,
        ).remote(task)
        return cls(work, need, task, actor)

    @property
    def depth(self) -> int:
        """Blocks it is given: those it works on and one that waits."""
        return 0 if self.report is None or self.stopping or self.finishing else 3 if self.report.concurrent else 2

    def start(self) -> Any:
        """Have the model loaded; answers with a Report."""
        return self.actor.start.remote()

    def run(self, refs: Sequence[Ref], texts: Sequence[Any] = ()) -> Any:
        """Hand over a block, with references to the texts it needs; answers with its BlockResult."""
        self.blocks += 1
        return self.actor.run.remote(refs, *texts)

    def ask(self) -> Any:
        """Ask how far its blocks are; answers with Counts."""
        self.asked = True
        return self.actor.progress.remote()

    def stop(self) -> None:
        """Have its blocks end early."""
        self.stopping = True
        self.actor.stop.remote()

    def finish(self) -> Any:
        """Have the model freed, until the deadline at the latest."""
        self.finishing, self.deadline = True, time.monotonic() + GRACE_S
        return self.actor.finish.remote()

    def kill(self) -> None:
        """End its process now and for good."""
        ray.kill(self.actor)
