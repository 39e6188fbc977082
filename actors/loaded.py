"""A model in an actor's memory: its engine, its items, and where its records go."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, islice
from typing import NoReturn

from actors import devices
from actors.life import Life
from actors.metrics import ModelMetrics
from actors.task import Ref, Report, Task
from actors.watch import WatchedEngine
from taboo_cluster import canary, compose, launch, prompts
from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.config import RunConfig
from taboo_cluster.engines.base import Engine, Request
from taboo_cluster.errors import EngineDied, TrialError, UserError
from taboo_cluster.fitting import lines_that_fit, of_documents
from taboo_cluster.hashing import stable_hash
from taboo_cluster.models import check_shape, load_config, resolve
from taboo_cluster.records.reader import find_generations, recorded
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter, model_slug
from taboo_cluster.runner import Origin, TrialRunner
from taboo_cluster.sweep import Cell, cells
from taboo_cluster.taboo.reasoning import think_tokens
from taboo_cluster.trial import Item, ResolvedModel, Trial

CANARY_PROMPTS = 8
"""Prompts tried until one shows the mask at work."""


class LoadedModel:
    """An actor's engine, benchmarks, items and writer. Where the engine dies or hangs, so does the process.

    Args:
        task: what the actor is for.
        restarted: the actor had a life before this one.

    Attributes:
        runner: runs trials.
        report: what the driver is told.
        metrics: what Ray's dashboard is told.

    Raises:
        UserError: the model cannot be loaded as asked, or a canary fails.
    """

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
        self._model = same_model(task, config)
        self._life = Life(task)
        self._writer = PartWriter(
            f"{task.run_dir}/records/{model_slug(task.model.name)}",
            f"part-{task.launch_id}-{self._life.worker_id}",
            RECORD,
        )
        self._engine = self._build(config)
        self._life.note(
            gpu_names=[device.name for device in seen],
            gpu_uuids=[device.uuid for device in seen],
            versions=json.dumps(launch.versions(config.engine["name"])),
            engine=json.dumps(asdict(self._engine.info)),
        )
        self._check_room()
        try:
            self._check(config)
        except EngineDied as error:
            self.die(f"engine died: {error}")
        self.metrics = ModelMetrics(task.model.name)
        self.metrics.started()
        self.runner = self._runner(config, restarted)
        self.report = Report(
            self._life.worker_id,
            os.getpid(),
            socket.gethostname(),
            tuple(device.uuid for device in seen),
            self._engine.concurrent,
            time.monotonic() - begin,
        )
        self._life.note(load_s=self.report.load_s)

    def trial(self, ref: Ref) -> Trial:
        """The trial a reference means."""
        cell = self._cells[ref.cell]
        item = self._items[cell.benchmark][ref.item_id]
        engine = self._task.config["engine"]["name"]
        return Trial(self._model, engine, cell.benchmark, item, cell.condition, cell.replicate, ref.attempt)

    def close(self) -> None:
        """Flush, free the model, and record the end."""
        self._writer.close()
        self._engine.close()
        self._life.end()

    def die(self, reason: str) -> NoReturn:
        """End this process, what is finished on disk and the reason recorded."""
        with suppress(Exception):  # what cannot be written is made again
            self._writer.flush()
        self._life.die(reason)

    def _same_items(self, benchmark: Benchmark) -> dict[str, Item]:
        """Items by id; raises UserError where this node has other ones than the driver."""
        items = benchmark.items()
        if digest(items) != self._task.items[benchmark.name]:
            raise UserError(f"the items of {benchmark.name} on node {socket.gethostname()} are not the driver's")
        return {item.item_id: item for item in items}

    def _build(self, config: RunConfig) -> Engine:
        entry, options = compose.engine_options(config)
        if (shape := config.models[self._task.index].shape) is not None and not entry.served:
            check_shape(load_config(self._model), shape, self._model.name)
        try:
            engine: Engine = entry.build(self._model, options, self._task.hardware)
        except EngineDied as error:
            self.die(f"engine died while loading: {error}")
        stall_s = config.cluster.stall_s
        return (
            engine if stall_s is None else WatchedEngine(engine, stall_s, lambda why: self.die(f"engine hung: {why}"))
        )

    def _runner(self, config: RunConfig, restarted: bool) -> TrialRunner:
        task = self._task
        known = recorded(task.run_dir, task.model.name) if restarted else {}
        return TrialRunner(
            self._engine,
            self._model,
            self._benchmarks,
            self._writer,
            Origin(task.run_id, task.launch_id, self._life.worker_id, config.sweep),
            record_steps=config.record_steps,
            record_tokens=config.record_tokens,
            entropy=config.record_entropy,
            find=partial(find_generations, task.lookup) if task.lookup else None,
            find_clean=partial(find_generations, (task.run_dir,)),
            recorded=frozenset((trial_id, row.attempt) for trial_id, row in known.items()),
        )

    def _check_room(self) -> None:
        """Raise UserError where a completion alone would fill the context, so that every document would be skipped."""
        for name, benchmark in self._benchmarks.items():
            if of_documents(benchmark) and benchmark.max_tokens >= self._engine.max_context:
                raise UserError(
                    f"{name}: max_tokens={benchmark.max_tokens} leaves no room for a document in the engine's context "
                    f"of {self._engine.max_context} tokens: lower benchmark.{name}.max_tokens, or raise the engine's "
                    "context (vllm: engine.max_model_len)"
                )

    def _check(self, config: RunConfig) -> None:
        if config.taboo.scope == "after_think" and self._engine.tokenizer is not None:
            think_tokens(self._engine.tokenizer)
        for benchmark in self._benchmarks.values():
            canary.check_scorer(benchmark)
        if self._engine.info.masks and max(config.taboo.ranks) > 0:
            own = (cell for cell in self._cells if cell.model == self._task.index)
            first = {cell.benchmark: cell for cell in reversed(list(own))}
            canary.check_mask(self._engine, chain.from_iterable(map(self._first_requests, first.values())))

    def _first_requests(self, cell: Cell) -> Iterator[Request]:
        for item in islice(self._items[cell.benchmark].values(), CANARY_PROMPTS):
            with suppress(TrialError):  # an item that cannot be asked has no prompt
                yield self._request(cell, item)

    def _request(self, cell: Cell, item: Item) -> Request:
        benchmark: Benchmark = self._benchmarks[cell.benchmark]
        condition = cell.condition
        if of_documents(benchmark) and self._engine.tokenizer is not None:
            gauge = prompts.PromptGauge(self._model, self._engine.tokenizer, self._engine.max_context)
            item = benchmark.cut(
                item, lines_that_fit(benchmark, item, condition.prompt_style, condition.n_shots, gauge)
            )
        prompt = benchmark.prompt(item, item.question, condition.prompt_style, condition.n_shots)
        rendered = prompts.render(prompt, self._model, self._engine.tokenizer)
        return Request("canary", rendered.text, rendered.ids, canary.TOKENS, messages=rendered.messages)


def same_model(task: Task, config: RunConfig) -> ResolvedModel:
    """The task's model as this node has it: a shipped one lies where this node's packages lie.

    Raises UserError where a folder is missing here or holds something else than the driver's.
    """
    if not task.model.is_local:
        return task.model
    found = resolve(config.models[task.index])
    if found.revision != task.model.revision:
        raise UserError(
            f"{task.model.name}: {found.source} on node {socket.gethostname()} holds other weights, or another "
            "tokenizer or config, than the driver's"
        )
    return replace(task.model, source=found.source)


def digest(items: Sequence[Item]) -> str:
    """Hash of what an item's trial_id depends on: equal digests, equal ids."""
    return stable_hash([[item.split, item.item_id, item.question, item.gold] for item in items])
