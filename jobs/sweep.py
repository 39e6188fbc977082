"""The driver of a sweep: what is missing in its run goes to actors, one model each; the records are theirs to write."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from types import FrameType
from typing import Any

from actors.loaded import digest
from actors.task import Task
from jobs import tokenization
from jobs.cluster import Machines, cluster, full_disks, needs
from jobs.monitor import Monitor
from jobs.pool import Pool
from jobs.probe import ProbeRun, unprobed
from jobs.progress import SweepProgress
from jobs.summary import conclude
from jobs.texts import TextStore
from jobs.work import ModelWork
from jobs.worker import Need
from taboo_cluster import canary, compose, launch
from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.benchmarks.base import notes as benchmark_notes
from taboo_cluster.claim import claim
from taboo_cluster.config import ModelConfig, RunConfig
from taboo_cluster.errors import UserError
from taboo_cluster.heartbeat import last_heartbeat
from taboo_cluster.labels import short_revision
from taboo_cluster.launch import Launch, write_row
from taboo_cluster.models import check_template, resolve
from taboo_cluster.perturbations.stack import check_applies
from taboo_cluster.records.reader import quarantine_unreadable
from taboo_cluster.rows import now
from taboo_cluster.sweep import cells, model_limit, stacks, subsample
from taboo_cluster.trial import ResolvedModel

DONE, FAILED, INTERRUPTED = 0, 1, 130


@dataclass(frozen=True)
class Sweep:
    """One launch of a sweep, ready to go."""

    launch: Launch
    config: RunConfig
    """With run_dir and the hub's revisions filled in."""
    versions: Mapping[str, str]
    items: Mapping[str, str]
    """Digest of each benchmark's items."""
    works: Sequence[ModelWork]
    """By model, in the config's order."""
    notes: Sequence[str]
    """Warnings so far."""

    @property
    def missing(self) -> int:
        """Trials to be done."""
        return sum(work.tally.missing for work in self.works)

    @property
    def status(self) -> int:
        """0, or 1 where a model was given up or has more errors than max_error_share allows."""
        share = self.config.max_error_share
        return FAILED if any(w.problem or w.failed > share * w.total for w in self.works) else DONE


def run_sweep(config: RunConfig) -> int:
    """Run a sweep, or finish or extend the one in config.run_dir.

    Returns:
        0 when every trial is recorded; 1 when a model was given up or has more errors than max_error_share allows;
        130 when interrupted: what was finished is on disk, and the command that goes on is printed.

    Raises:
        UserError: a mistake in what was asked, or another command at work on the run; before anything is spent.
    """
    begun, earlier = launch.new_launch(config)
    with claim(begun.run_dir):
        sweep = prepare(config, begun, earlier)
        stop, whole = threading.Event(), True
        with interruptible(stop):
            if sweep.missing or unfinished(sweep):
                check_scorers(sweep.works)
                # Twice: when Ray starts it puts a handler of its own in the place of ours.
                with cluster(sweep.config.cluster) as machines, interruptible(stop):
                    whole = run(sweep, machines, stop)
            else:
                settle(sweep)
            conclude(sweep.config, sweep.launch, sweep.works, whole)
    if stop.is_set() and (sweep.missing or not whole):
        return INTERRUPTED
    return sweep.status if whole else FAILED


def unfinished(sweep: Sweep) -> bool:
    """Whether something that is measured beside the trials is left to do."""
    config, run_dir = sweep.config, sweep.launch.run_dir
    return tokenization.unfinished(config, run_dir, sweep.works[0].benchmarks) or bool(
        unprobed(config, run_dir, sweep.works)
    )


def prepare(config: RunConfig, begun: Launch, earlier: Sequence[Mapping[str, Any]]) -> Sweep:
    """Find models, items and what is recorded; set damaged parts aside. Raises UserError for what cannot be run.

    Args:
        config: as it was asked for.
        begun: this launch.
        earlier: rows of the run's launches before it.
    """
    launch.check_reuse(config.reuse)
    config = launch.recorded_revisions(config, earlier)
    entry, options = compose.engine_options(config)
    models = [entry.find(model, options) if entry.find else resolve(model) for model in config.models]
    if not (entry.own_tokenizer or entry.served):
        for model in models:
            check_template(model)
    _check_distinct(models)
    pinned = [_pinned(model, found) for model, found in zip(config.models, models, strict=True)]
    config = replace(config, run_dir=begun.run_dir, models=pinned)
    benchmarks = {name: compose.build_benchmark(config, name) for name in config.benchmarks}
    versions = launch.versions(config.engine["name"]) | _identities(models, benchmarks)
    stale = launch.check_drift(compose.to_dict(config), versions, begun.run_dir, earlier, config.on_drift)
    notes = [*full_disks(begun.run_dir), *(quarantine_unreadable(begun.run_dir) if begun.resumed else [])]
    every, items = cells(config, models, benchmarks), {name: b.items() for name, b in benchmarks.items()}
    works = []
    for index, model in enumerate(models):
        limit = model_limit(config.limit, config.models[index].limit)
        own = {name: subsample(of, limit, config.seed) for name, of in items.items()}
        works.append(ModelWork(config, index, model, every, benchmarks, own, begun.run_dir, stale))
    for name, benchmark in benchmarks.items():
        for stack in stacks(config, benchmark):
            check_applies(stack, items[name][0], benchmark.name)
    digests = {name: digest(of) for name, of in items.items()}
    return Sweep(begun, config, versions, digests, works, notes)


def _check_distinct(models: Sequence[ResolvedModel]) -> None:
    """Raise UserError where two revisions are one commit: their trials would be the same."""
    for model in models:
        if sum(other.key == model.key for other in models) > 1:
            raise UserError(
                f"models: two revisions of {model.name} are the same commit {short_revision(model.revision)}"
            )


def _pinned(model: ModelConfig, found: ResolvedModel) -> ModelConfig:
    """A hub model with the commit that was found: the same for every actor and resume."""
    return model if found.is_local else replace(model, revision=found.revision or None)


def _identities(models: Sequence[ResolvedModel], benchmarks: Mapping[str, Benchmark]) -> dict[str, str]:
    """Of scorers and local weights: what is compared with an earlier launch's, as versions are."""
    return {f"scorer {name}": benchmark.scorer_version for name, benchmark in benchmarks.items()} | {
        f"weights {model.name}": model.revision for model in models if model.is_local
    }


def check_scorers(works: Sequence[ModelWork]) -> None:
    """Raise UserError where a benchmark's scorer does not score, or cannot on this machine."""
    for benchmark in works[0].benchmarks.values():
        canary.check_scorer(benchmark)


def run(sweep: Sweep, machines: Machines, stop: threading.Event) -> bool:
    """Do what is missing, until it is done or `stop` is set; false where what is measured beside the trials is not."""
    config, begun = sweep.config, sweep.launch
    entry, _ = compose.engine_options(config)
    chosen = needs(config, machines, entry.uses_gpu)
    launch.begin(begun, config, sweep.versions)
    plain = compose.to_dict(config)

    def make_task(work: ModelWork, need: Need, replica: int) -> Task:
        return Task(
            config=plain,
            index=work.index,
            model=work.model,
            hardware=need.hardware,
            gpus=need.hardware.tensor_parallel if need.gpus else 0,
            run_dir=begun.run_dir,
            run_id=begun.run_id,
            launch_id=begun.launch_id,
            replica=replica,
            items=sweep.items,
            lookup=(*config.reuse, *((begun.run_dir,) if work.redoes else ())),
        )

    with SweepProgress(config.sweep) as progress:
        monitor = Monitor(config, begun, sweep.works, progress)
        for note in sweep.notes:
            progress.line(f"warning: {note}")
        for note in chain.from_iterable(map(benchmark_notes, sweep.works[0].benchmarks.values())):
            progress.line(f"note: {note}")
        missing = sorted((w for w in sweep.works if w.tally.missing), key=lambda w: -(w.model.size_b or 0.0))
        texts = TextStore(plain, begun.run_dir, begun.launch_id, machines.cpus)
        tokenizers = tokenization.Tokenizers(config, [work.model for work in sweep.works], begun, progress.line)
        pool = Pool(
            missing,
            [chosen[work.index] for work in missing],
            cpus=machines.cpus,
            gpus=float(len(machines.gpus)),
            make_task=make_task,
            texts=texts.chunks,
            max_restarts=config.cluster.max_restarts,
            replicas=not entry.served,
            failed=monitor.failed,
            tick=lambda: monitor.tick(pool),
            stopping=stop.is_set,
        )
        state = "interrupted"
        try:
            monitor.tick(pool)
            tokenizers.start()
            pool.run()
            measured = tokenizers.wait(lambda: monitor.tick(pool), stop.is_set)
            for work in sweep.works:
                work.recount()
            state = "interrupted" if stop.is_set() and sweep.missing else "failed" if sweep.status else "done"
        finally:
            texts.close()
            tokenizers.close()
            monitor.end(pool, state)
    if not config.stability.probe or stop.is_set():
        return measured and not (config.stability.probe and unprobed(config, begun.run_dir, sweep.works))
    with SweepProgress("probe") as progress:
        probe = ProbeRun(
            config,
            begun.run_dir,
            [work for work in sweep.works if work.problem is None],
            chosen,
            cpus=machines.cpus,
            gpus=float(len(machines.gpus)),
            make_task=lambda work, need: make_task(work, need, 0),
            progress=progress,
            stopping=stop.is_set,
        )
        return probe.run() and measured


def settle(sweep: Sweep) -> None:
    """Say that a run is at its end where its driver was killed before it could."""
    beat = last_heartbeat(sweep.launch.run_dir)
    if beat is not None and beat["state"] in ("running", "interrupted"):
        failed, total = (sum(getattr(work, name) for work in sweep.works) for name in ("failed", "total"))
        last = {"seen_at": now(), "state": "failed" if sweep.status else "done"}
        counts = {"done": total, "failed": failed, "total": total}
        write_row(sweep.launch.run_dir, "heartbeat", beat["launch_id"], {**beat, **last, **counts})


@contextmanager
def interruptible(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM set `stop`, which ends the sweep early; a second one raises KeyboardInterrupt at once."""

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        os.write(2, b"\nstopping: what is finished goes to disk (again: stop at once)\n")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)  # None: a handler that was not set from Python
