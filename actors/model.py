"""One model in memory: takes blocks of trials, writes its own records."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import Any

import ray

from actors import devices
from actors.metrics import ModelMetrics
from taboo_cluster import canary, compose, launch, prompts
from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.config import RunConfig
from taboo_cluster.engines.base import Engine, Hardware, Request
from taboo_cluster.errors import EngineDied, UserError
from taboo_cluster.hashing import stable_hash
from taboo_cluster.models import check_shape, load_config
from taboo_cluster.records.reader import find_generations, recorded
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter, model_slug
from taboo_cluster.rows import now
from taboo_cluster.runner import BlockResult, Counts, Origin, TrialRunner
from taboo_cluster.sweep import Cell, cells
from taboo_cluster.taboo.reasoning import think_tokens
from taboo_cluster.trial import Item, ResolvedModel, Trial

log = logging.getLogger(__name__)

CANARY_PROMPTS = 8
"""Prompts tried until one shows the mask at work."""


@dataclass(frozen=True)
class Task:
    """What an actor is for; small, and the same after a restart."""

    config: Mapping[str, Any]
    """The run's config as plain values."""
    index: int
    """Which of the config's models."""
    model: ResolvedModel
    hardware: Hardware
    gpus: int
    """GPUs the actor must see."""
    run_dir: str
    run_id: str
    launch_id: str
    replica: int
    items: Mapping[str, str]
    """Digest of each benchmark's items, as the driver has them."""
    lookup: tuple[str, ...] = ()
    """Runs whose outputs may be taken instead of made again."""

    @property
    def label(self) -> str:
        """Readable, for the dashboard."""
        return f"{self.model.name}#{self.replica}"


@dataclass(frozen=True)
class Ref:
    """A trial by reference: what travels instead of it."""

    cell: int
    """Index among the sweep's cells."""
    item_id: str
    attempt: int


@dataclass(frozen=True)
class Report:
    """What a loaded actor says of itself."""

    worker_id: str
    pid: int
    host: str
    gpu_uuids: tuple[str, ...]
    concurrent: bool
    """The engine takes two blocks at once."""
    load_s: float


@ray.remote(concurrency_groups={"control": 1})  # type: ignore[call-overload]  # missing in Ray's annotations
class ModelActor:
    """Holds one model until it is told to finish. A dead engine ends the process, so that Ray starts it again."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._loaded: _Loaded | None = None
        self._loading, self._turn = threading.Lock(), threading.Lock()

    def __repr__(self) -> str:
        return f"ModelActor({self._task.label})"

    def start(self) -> Report:
        """Load the model and pass the canaries; raises UserError where either cannot be done."""
        return self._load().report

    def run(self, refs: Sequence[Ref]) -> BlockResult:
        """Record these trials; those on disk already are skipped. Everything is durable when it returns."""
        loaded = self._load()
        try:
            with nullcontext() if loaded.report.concurrent else self._turn:
                result = loaded.runner.run([loaded.trial(ref) for ref in refs])
        except EngineDied as error:
            log.error("%s: engine died: %s", self._task.label, error)
            os._exit(1)
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

    def _load(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                try:
                    self._loaded = _Loaded(self._task, restarted=_restarted())
                except EngineDied as error:
                    log.error("%s: engine died while loading: %s", self._task.label, error)
                    os._exit(1)
            return self._loaded


class _Loaded:
    """An actor's engine, benchmarks, items and writer."""

    def __init__(self, task: Task, restarted: bool) -> None:
        begin = time.monotonic()
        for name in [name for name in os.environ if name.startswith("VLLM_DP_")]:
            del os.environ[name]  # left by another engine's data parallelism, it would make vLLM wait for peers
        seen = devices.check(task.gpus)
        launch.check_nonce(task.run_dir, task.launch_id)
        config = compose.from_dict(task.config)
        self._task = task
        self._benchmarks = {name: compose.build_benchmark(config, name) for name in config.benchmarks}
        self._items = {name: self._same_items(benchmark) for name, benchmark in self._benchmarks.items()}
        self._cells = cells(config, config.models, self._benchmarks)
        entry, options = compose.engine_options(config)
        if (shape := config.models[task.index].shape) is not None:
            check_shape(load_config(task.model), shape, task.model.name)
        self._engine: Engine = entry.build(task.model, options, task.hardware)
        self._check(config)
        self.metrics = ModelMetrics(task.model.name)
        self.metrics.started()
        self._worker_id = worker_id(task)
        self._writer = PartWriter(
            f"{task.run_dir}/records/{model_slug(task.model.name)}",
            f"part-{task.launch_id}-{self._worker_id}",
            RECORD,
        )
        self.runner = self._runner(config, restarted)
        self.report = Report(
            self._worker_id,
            os.getpid(),
            socket.gethostname(),
            tuple(device.uuid for device in seen),
            self._engine.concurrent,
            time.monotonic() - begin,
        )
        self._row = {
            "worker_id": self._worker_id,
            "launch_id": task.launch_id,
            "model": task.model.name,
            "host": self.report.host,
            "pid": self.report.pid,
            "gpu_names": [device.name for device in seen],
            "gpu_uuids": [device.uuid for device in seen],
            "versions": json.dumps(launch.versions(config.engine["name"])),
            "engine": json.dumps(asdict(self._engine.info)),
            "load_s": self.report.load_s,
            "started_at": now(),
        }
        self._write_row()

    def trial(self, ref: Ref) -> Trial:
        """The trial a reference means."""
        cell = self._cells[ref.cell]
        item = self._items[cell.benchmark][ref.item_id]
        engine = self._task.config["engine"]["name"]
        return Trial(self._task.model, engine, cell.benchmark, item, cell.condition, cell.replicate, ref.attempt)

    def _same_items(self, benchmark: Benchmark) -> dict[str, Item]:
        """Items by id; raises UserError where this node has other ones than the driver."""
        items = benchmark.items()
        if digest(items) != self._task.items[benchmark.name]:
            raise UserError(f"the items of {benchmark.name} on node {socket.gethostname()} are not the driver's")
        return {item.item_id: item for item in items}

    def close(self) -> None:
        """Flush, free the model, and record the end."""
        self._writer.close()
        self._engine.close()
        self._write_row(ended_at=now())

    def _write_row(self, **more: Any) -> None:
        launch.write_row(self._task.run_dir, "workers", f"{self._task.launch_id}-{self._worker_id}", self._row | more)

    def _runner(self, config: RunConfig, restarted: bool) -> TrialRunner:
        task = self._task
        known = recorded(task.run_dir, task.model.name) if restarted else {}
        return TrialRunner(
            self._engine,
            task.model,
            self._benchmarks,
            self._writer,
            Origin(task.run_id, task.launch_id, self._worker_id, config.sweep),
            record_steps=config.record_steps,
            entropy=config.record_entropy,
            find=partial(find_generations, task.lookup) if task.lookup else None,
            recorded=frozenset((trial_id, row.attempt) for trial_id, row in known.items()),
        )

    def _check(self, config: RunConfig) -> None:
        if config.taboo.scope == "after_think":
            think_tokens(self._engine.tokenizer)
        for benchmark in self._benchmarks.values():
            canary.check_scorer(benchmark)
        if self._engine.info.masks and max(config.taboo.ranks) > 0:
            own = (cell for cell in self._cells if cell.model == self._task.index)
            first = {cell.benchmark: cell for cell in reversed(list(own))}
            rendered = (self._request(cell, item) for cell in first.values() for item in self._first_items(cell))
            canary.check_mask(self._engine, rendered)

    def _first_items(self, cell: Cell) -> list[Item]:
        return list(islice(self._items[cell.benchmark].values(), CANARY_PROMPTS))

    def _request(self, cell: Cell, item: Item) -> Request:
        benchmark: Benchmark = self._benchmarks[cell.benchmark]
        condition = cell.condition
        prompt = benchmark.prompt(item, item.question, condition.prompt_style, condition.n_shots)
        rendered = prompts.render(prompt, self._task.model, self._engine.tokenizer)
        return Request("canary", rendered.text, rendered.ids, canary.TOKENS)


def digest(items: Sequence[Item]) -> str:
    """Hash of what an item's trial_id depends on: equal digests, equal ids."""
    return stable_hash([[item.split, item.item_id, item.question, item.gold] for item in items])


def worker_id(task: Task) -> str:
    """Readable and unique to one life of one actor; safe in a file's name."""
    name = re.sub(r"[^A-Za-z0-9.]+", "-", task.model.name.rpartition("/")[2]).strip("-.")[:40]
    return f"{name}-{task.replica}-{uuid.uuid4().hex[:6]}"


def _restarted() -> bool:
    return bool(ray.get_runtime_context().was_current_actor_reconstructed)
