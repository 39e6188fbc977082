"""Keeps the cluster busy: actors for models, blocks for actors, a bounded number of both at any time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import RayError

from actors.task import Task
from jobs.failures import Failure, failure, last_words, one_line
from jobs.work import BLOCK, ModelWork
from jobs.worker import GRACE_S, Need, Worker
from taboo_cluster.errors import UserError
from taboo_cluster.perturbations.stack import TextKey
from taboo_cluster.runner import BlockResult, Counts

log = logging.getLogger(__name__)

POLL_S = 1.0
"""Seconds between looks at blocks in hand."""
REPLICA_BLOCKS = 4
"""A further engine for a model needs this many blocks of work for each engine it then has."""


class Pool:
    """Runs the work of several models on the cluster's resources.

    Args:
        works: the models, in the order they are to be started.
        needs: what an engine of each takes.
        cpus: CPU cores to use.
        gpus: GPUs to use.
        make_task: what a new actor of a model is told, given a replica's number.
        texts: references to perturbed texts, made ahead of need.
        max_restarts: times an actor may be started again.
        replicas: a model with much work may have several engines.
        failed: told at once when a model is given up.
        tick: called between events, several times a second at most.
        stopping: true once the sweep is to end early.
    """

    def __init__(
        self,
        works: Sequence[ModelWork],
        needs: Sequence[Need],
        *,
        cpus: float,
        gpus: float,
        make_task: Callable[[ModelWork, Need, int], Task],
        texts: Callable[[Sequence[TextKey]], Sequence[Any]],
        max_restarts: int,
        replicas: bool = True,
        failed: Callable[[ModelWork, Failure], None],
        tick: Callable[[], None],
        stopping: Callable[[], bool],
    ) -> None:
        self._works = list(works)
        self._needs = dict(zip((id(work) for work in works), needs, strict=True))
        self._cpus, self._gpus = cpus, gpus
        self._make_task, self._max_restarts, self._texts = make_task, max_restarts, texts
        self._failed, self._tick, self._stopping = failed, tick, stopping
        self._workers: list[Worker] = []
        self._started: dict[int, int] = {}
        self._no_replicas: set[int] = set() if replicas else {id(work) for work in works}
        self._calls: dict[Any, tuple[Worker, str]] = {}
        self._polled = 0.0

    def run(self) -> None:
        """Work until nothing is left or the sweep is to stop; no actor of it is alive afterwards."""
        try:
            while not self._stopping():
                self._close_finished()
                self._start_workers()
                self._feed()
                if not self._calls:
                    return
                self._wait()
            self._drain()
        finally:
            for worker in list(self._workers):
                self._kill(worker)

    def in_hand(self, work: ModelWork) -> Counts:
        """What is recorded already of a model's blocks that are not back yet."""
        counts = Counts()
        for worker in self._workers:
            if worker.work is work:
                counts.add(worker.in_hand)
        return counts

    def state(self, work: ModelWork) -> str:
        """A word for where a model is: waiting, loading, running, done or failed."""
        if work.problem is not None:
            return "failed"
        if not work.tally.missing:
            return "done"
        workers = self._of(work)
        return "running" if any(worker.report for worker in workers) else "loading" if workers else "waiting"

    # --- starting and ending actors ---

    def _start_workers(self) -> None:
        for work in self._works:
            if not work.over and not self._of(work) and self._room(self._needs[id(work)]):
                self._start(work)
        waiting = [work for work in self._works if not work.over and not self._of(work)]
        if waiting or any(worker.report is None or worker.finishing for worker in self._workers):
            return  # room is kept for a model without an engine; and one engine more at a time
        works = [work for work in self._works if not work.over and id(work) not in self._no_replicas]
        busiest = max(works, key=lambda work: work.left, default=None)
        if busiest is None or busiest.left < REPLICA_BLOCKS * BLOCK * (len(self._of(busiest)) + 1):
            return
        if self._room(self._needs[id(busiest)]):
            self._start(busiest)

    def _of(self, work: ModelWork) -> list[Worker]:
        return [worker for worker in self._workers if worker.work is work]

    def _room(self, need: Need) -> bool:
        """Resources are free. Engines that share a GPU load one at a time: each looks at the memory that is left."""
        if 0 < need.gpus < 1 and any(w.report is None and 0 < w.need.gpus < 1 for w in self._workers):
            return False
        cpus = self._cpus - sum(worker.need.cpus for worker in self._workers)
        gpus = self._gpus - sum(worker.need.gpus for worker in self._workers)
        return need.cpus <= cpus + 1e-6 and need.gpus <= gpus + 1e-6

    def _start(self, work: ModelWork) -> None:
        need, replica = self._needs[id(work)], self._started.get(id(work), 0)
        self._started[id(work)] = replica + 1
        worker = Worker.create(work, need, self._make_task(work, need, replica), self._max_restarts)
        self._workers.append(worker)
        self._calls[worker.start()] = (worker, "start")

    def _close_finished(self) -> None:
        """Let go of the engines of models that are done; where a round is over another one may follow."""
        for work in self._works:
            workers = [worker for worker in self._of(work) if not worker.finishing]
            if not workers or not work.over or work.problem is not None or work.again():
                continue
            if work.problem is not None:
                self._give_up(work, Failure(work.problem))
            for worker in workers:
                self._let_go(worker)
        for worker in list(self._workers):
            if time.monotonic() > worker.deadline:
                log.warning("%s did not free its model in %g s: killed", worker.work.label, GRACE_S)
                self._kill(worker)

    def _let_go(self, worker: Worker) -> None:
        """End a worker: at once where it loads, else when its blocks have ended early and its model is freed."""
        if worker.finishing:
            return
        if worker.report is None:
            self._kill(worker)
        elif worker.blocks:
            worker.stop()
        else:
            self._calls[worker.finish()] = (worker, "finish")

    def _kill(self, worker: Worker) -> None:
        self._workers.remove(worker)
        self._calls = {ref: call for ref, call in self._calls.items() if call[0] is not worker}
        worker.kill()

    # --- giving and taking blocks ---

    def _feed(self) -> None:
        """One block at a time to each worker that has fewest, so that replicas share."""
        for worker in sorted(self._workers, key=lambda worker: worker.blocks):
            while worker.blocks < worker.depth and (block := worker.work.next_block()):
                refs, keys = block
                self._calls[worker.run(refs, self._texts(keys))] = (worker, "run")
                self._texts(worker.work.coming())

    def _wait(self) -> None:
        ready, _ = ray.wait(list(self._calls), num_returns=1, timeout=0.2)
        for ref in ready:
            worker, kind = self._calls.pop(ref)
            try:
                self._back(worker, kind, ray.get(ref))
            except (RayError, UserError) as error:
                self._broken(worker, kind, error)
        if time.monotonic() - self._polled > POLL_S:
            self._polled = time.monotonic()
            self._poll()
        self._tick()

    def _poll(self) -> None:
        """Ask the actors that have blocks how far these are."""
        for worker in self._workers:
            if worker.blocks and not worker.asked:
                self._calls[worker.ask()] = (worker, "progress")

    def _back(self, worker: Worker, kind: str, value: Any) -> None:
        if kind == "start":
            worker.report = value
            self._check_devices()
        elif kind == "progress":
            worker.asked, worker.in_hand = False, value if worker.blocks else Counts()
        elif kind == "finish":
            self._kill(worker)
        elif kind == "run":
            self._take(worker, value)

    def _take(self, worker: Worker, result: BlockResult) -> None:
        work = worker.work
        worker.blocks -= 1
        worker.in_hand = Counts()
        given_up = work.problem is not None
        work.returned(result)
        if worker.stopping:
            if not worker.blocks:
                self._let_go(worker)
        elif work.problem is not None and not given_up:
            self._give_up(work, Failure(work.problem))

    # --- what goes wrong ---

    def _check_devices(self) -> None:
        """Raise UserError where more engines than fit were given the same GPU."""
        taken: dict[str, float] = {}
        for worker in self._workers:
            for uuid in worker.report.gpu_uuids if worker.report else ():
                taken[uuid] = taken.get(uuid, 0.0) + min(1.0, worker.need.gpus)
        for uuid, share in taken.items():
            if share > 1.0 + 1e-6:
                raise UserError(f"several engines were placed on one GPU ({uuid}): Ray and the machine disagree")

    def _broken(self, worker: Worker, kind: str, error: Exception) -> None:
        """An actor is gone for good, or its model cannot do what is asked."""
        if kind == "progress":
            worker.asked = False  # the call that did the harm says more
            return
        work, given_up = worker.work, worker.work.problem is not None
        for _ in range(worker.blocks):
            work.lost()
        self._kill(worker)
        if kind == "finish" or given_up:
            return
        if any(other.report for other in self._of(work)):
            log.warning("one of several engines of %s is gone: %s", work.label, one_line(error))
            self._no_replicas.add(id(work))
            return
        self._give_up(work, failure(error, worker.report is not None, last_words(worker.task)))

    def _give_up(self, work: ModelWork, why: Failure) -> None:
        work.problem = why.message
        for worker in self._of(work):
            self._let_go(worker)
        self._failed(work, why)

    def _drain(self) -> None:
        """The sweep ends early: what is finished goes to disk, the rest is dropped."""
        for worker in list(self._workers):
            self._let_go(worker)
        end = time.monotonic() + GRACE_S
        while self._calls and time.monotonic() < end:
            self._wait()
