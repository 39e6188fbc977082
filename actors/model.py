"""One model in memory: takes blocks of trials, writes its own records."""

from __future__ import annotations

import threading
from collections import ChainMap
from collections.abc import Sequence
from contextlib import nullcontext

import ray

from actors.loaded import LoadedModel
from actors.task import Ref, Report, Task
from taboo_cluster.errors import EngineDied
from taboo_cluster.runner import BlockResult, Counts, Texts


@ray.remote(concurrency_groups={"control": 1})  # type: ignore[call-overload]  # missing in Ray's annotations
class ModelActor:
    """Holds one model until it is told to finish.

    An engine that dies or hangs ends the process, so that Ray starts it again.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._loaded: LoadedModel | None = None
        self._loading, self._turn = threading.Lock(), threading.Lock()

    def __repr__(self) -> str:
        return f"ModelActor({self._task.label})"

    def start(self) -> Report:
        """Load the model and pass the canaries; raises UserError where either cannot be done."""
        return self._load().report

    def run(self, refs: Sequence[Ref], *texts: Texts) -> BlockResult:
        """Record these trials; those on disk already are skipped. Everything is durable when it returns."""
        loaded = self._load()
        try:
            with nullcontext() if loaded.report.concurrent else self._turn:
                result = loaded.runner.run([loaded.trial(ref) for ref in refs], ChainMap(*map(dict, texts)))
        except EngineDied as error:
            loaded.die(f"engine died: {error}")
        loaded.metrics.add(result)
        return result

    @ray.method(concurrency_group="control")
    def progress(self) -> Counts:
        """What is recorded so far of the blocks in hand."""
        return self._loaded.runner.in_hand() if self._loaded else Counts()

    @ray.method(concurrency_group="control")
    def stop(self) -> None:
        """Make the blocks in hand end soon, what is finished on disk."""
        if self._loaded:
            self._loaded.runner.stop()

    def finish(self) -> None:
        """Flush, free the model, and record the end of this life."""
        if self._loaded:
            self._loaded.close()

    def _load(self) -> LoadedModel:
        with self._loading:
            if self._loaded is None:
                self._loaded = LoadedModel(self._task, restarted=_restarted())
            return self._loaded


def _restarted() -> bool:
    return bool(ray.get_runtime_context().was_current_actor_reconstructed)
