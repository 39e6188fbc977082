"""From trials to records, in one process: render, look up or generate, score, write. Knows no cluster."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Protocol

import numpy as np

from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.engines.base import Completion, Engine, Request
from taboo_cluster.errors import SKIPPED, TrialError, UserError
from taboo_cluster.fitting import OfDocuments, lines_that_fit, of_documents
from taboo_cluster.hashing import stable_hash
from taboo_cluster.models import template_hash, tokenizer_hash
from taboo_cluster.perturbations.base import Subject
from taboo_cluster.perturbations.stack import Perturbed, framed_prompt, perturb
from taboo_cluster.prompts import PromptGauge, Rendered, render
from taboo_cluster.records.clean import clean_text
from taboo_cluster.rows import (
    OUTPUT,
    Row,
    error_columns,
    now,
    output_columns,
    perturbed_columns,
    trial_columns,
    verdict_columns,
)
from taboo_cluster.scoring import Beside
from taboo_cluster.trial import ID_SCHEME, Item, ResolvedModel, Trial

Finder = Callable[[Sequence[str]], Mapping[str, Row]]
"""generation_ids -> earlier rows, without error, that have them."""

_Finish = Callable[[], Row]
"""Makes a row of what an engine gave: reads and scores it."""


Texts = Mapping[tuple[str, str, int, str], Perturbed]
"""Perturbed items by benchmark, stack, seed and item_id."""


class Writer(Protocol):
    """Where rows go (`records.writer.PartWriter`)."""

    def add(self, row: Row) -> None:
        """Take one row."""

    def flush(self) -> None:
        """Return once every row is durable."""


@dataclass(frozen=True)
class Origin:
    """Who makes a record; each carries it."""

    run_id: str
    launch_id: str
    worker_id: str
    sweep: str


@dataclass
class Counts:
    """What became of some trials; adds up."""

    done: int = 0
    """Trials recorded, errors included."""
    failed: int = 0
    reused: int = 0
    """Of the trials done: with the output of another one."""
    tokens: int = 0
    """Tokens generated."""
    interventions: int = 0
    bits: float = 0.0
    """Injected surprisal, summed."""

    def add(self, other: Counts) -> None:
        """Add another's numbers to these."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass
class BlockResult:
    """What became of a block of trials; its size does not grow with the block's."""

    counts: dict[str, Counts] = field(default_factory=dict)
    """By benchmark."""
    errors: Counter[str] = field(default_factory=Counter)
    """Trials by error_type."""
    examples: dict[str, str] = field(default_factory=dict)
    """One message for each error_type."""

    def count(self, row: Row, made: bool) -> None:
        """Count a row; `made` tells that the engine made an output for it."""
        counts = self.counts.setdefault(row["benchmark"], Counts())
        error_type = row.get("error_type")
        if error_type:
            self.errors[error_type] += 1
            self.examples.setdefault(error_type, row["error"])
        spent = row if made else {}
        counts.add(
            Counts(
                done=1,
                failed=int(error_type not in (None, SKIPPED)),
                reused=int(not made and error_type is None),
                tokens=spent.get("completion_tokens") or 0,
                interventions=spent.get("interventions", 0),
                bits=spent.get("surprisal_total") or 0.0,
            )
        )


@dataclass(frozen=True)
class _Ready:
    """A trial whose prompt is rendered, with its row so far."""

    trial: Trial
    item: Item
    """The trial's, as its perturbations left it."""
    rendered: Rendered
    row: Row

    @property
    def unchanged(self) -> bool:
        """A stack left the clean prompt as it was."""
        return self.row.get("changed") is False


class TrialRunner:
    """Runs trials of one model on one engine and writes their records.

    Args:
        engine: the model in memory.
        model: the model the engine holds.
        benchmarks: by name; the ones that the trials name.
        writer: where records go; every row of a block is durable when `run` returns or raises.
        origin: who makes the records.
        record_steps: keep each intervention in the column `steps`.
        record_tokens: keep the completion's token ids in the column `token_ids`.
        entropy: have next-token entropy measured at every step.
        find: looks for outputs made earlier; None makes each one anew.
        find_clean: the same in this run alone, for texts that a stack of perturbations left as they were.
        recorded: (trial_id, attempt) of rows on disk, which are skipped: so a block can be run again.
    """

    def __init__(
        self,
        engine: Engine,
        model: ResolvedModel,
        benchmarks: Mapping[str, Benchmark],
        writer: Writer,
        origin: Origin,
        *,
        record_steps: bool = True,
        record_tokens: bool = False,
        entropy: bool = False,
        find: Finder | None = None,
        find_clean: Finder | None = None,
        recorded: frozenset[tuple[str, int]] = frozenset(),
    ) -> None:
        self._engine = engine
        self._model = model
        self._benchmarks = benchmarks
        self._writer = writer
        self._record_steps, self._record_tokens = record_steps, record_tokens
        self._entropy = entropy
        self._find = find
        self._find_clean = find_clean
        self._recorded = recorded
        info, tokenizer = engine.info, tokenizer_hash(engine.tokenizer)
        self._constant = {**vars(origin), "tokenizer_hash": tokenizer}
        template = template_hash(engine.tokenizer) if model.aligned else None
        self._made_by = [ID_SCHEME, model.key, tokenizer, template, info.name, info.version, dict(info.settings)]
        self._stopped = threading.Event()
        self._in_hand: dict[int, BlockResult] = {}
        self._fitting: dict[tuple[str, str, str, int], int] = {}

    def stop(self) -> None:
        """Make a `run` in another thread end soon: what is finished is written, the rest dropped."""
        self._stopped.set()

    def in_hand(self) -> Counts:
        """What is recorded so far of the blocks that are not finished; may be asked from any thread."""
        counts = Counts()
        for result in list(self._in_hand.values()):
            for part in list(result.counts.values()):
                counts.add(part)
        return counts

    def run(self, trials: Sequence[Trial], texts: Texts = MappingProxyType({})) -> BlockResult:
        """Record every trial that is not recorded yet, in the order the engine finishes them.

        `texts` are perturbed already; one that is not among them is made here, the same.

        A trial that fails becomes a record with its error. Raises EngineDied, or UserError for a model that cannot be
        prompted as asked, once what was finished is on disk.
        """
        result = BlockResult()
        lock = threading.Lock()

        def record(finish: _Finish, made: bool) -> None:
            row = finish()
            with lock:
                self._writer.add(row)
                result.count(row, made)

        self._in_hand[id(result)] = result
        try:
            with Beside() as beside:
                for benchmark, finish, made in self._rows(trials, texts):
                    if getattr(self._benchmarks[benchmark], "slow_scoring", False):
                        beside.add(partial(record, finish, made))
                    else:
                        record(finish, made)
        finally:
            del self._in_hand[id(result)]
            self._writer.flush()
        return result

    def _rows(self, trials: Sequence[Trial], texts: Texts) -> Iterator[tuple[str, _Finish, bool]]:
        """For every row its benchmark, what is left to do for it, and whether an output was made for it."""
        waiting: dict[str, list[_Ready]] = {}
        for trial in trials:
            if self._stopped.is_set():
                return
            row = self._constant | trial_columns(trial, self._benchmarks[trial.benchmark])
            if (row["trial_id"], trial.attempt) in self._recorded:
                continue
            try:
                ready = self._ready(trial, row, texts)
            except TrialError as error:
                yield trial.benchmark, partial(_failed, row, error), False
            else:
                waiting.setdefault(row["generation_id"], []).append(ready)
        found = self._found(waiting)
        for generation_id, earlier in found.items():
            for ready in waiting.pop(generation_id, ()):
                ready.row["started_at"] = now()
                output = {name: earlier[name] for name in OUTPUT}
                yield ready.trial.benchmark, partial(self._scored, ready, output), False
        yield from self._generated(waiting)

    def _found(self, waiting: Mapping[str, list[_Ready]]) -> Mapping[str, Row]:
        """Outputs made earlier; those of clean prompts are looked up for texts that a stack left as they were."""
        found = dict(self._find(list(waiting))) if self._find and waiting else {}
        unchanged = [key for key, group in waiting.items() if any(ready.unchanged for ready in group)]
        if self._find_clean and (left := [key for key in unchanged if key not in found]):
            found |= self._find_clean(left)
        return found

    def _generated(self, waiting: Mapping[str, list[_Ready]]) -> Iterator[tuple[str, _Finish, bool]]:
        """One request for all the trials that share an output."""
        groups = {group[0].row["trial_id"]: group for group in waiting.values()}
        requests = (self._request(key, group) for key, group in list(groups.items()) if not self._stopped.is_set())
        for completion in self._engine.generate(requests):
            for nth, ready in enumerate(groups.pop(completion.key)):
                taken = (now() - ready.row["started_at"]).total_seconds()
                ready.row["latency_s"] = completion.latency_s or taken
                yield ready.trial.benchmark, partial(self._finished, ready, completion), nth == 0
            if self._stopped.is_set():
                break
        if self._stopped.is_set():
            return
        lost = TrialError("generation_failed", "the engine ended without an answer to this request")
        for ready in (ready for group in groups.values() for ready in group):
            yield ready.trial.benchmark, partial(_failed, ready.row, lost), False

    def _request(self, key: str, group: Sequence[_Ready]) -> Request:
        for ready in group:
            ready.row["started_at"] = now()
        first = group[0]
        return Request(
            key=key,
            prompt=first.rendered.text,
            prompt_ids=first.rendered.ids,
            max_tokens=first.row["max_tokens"],
            stop=first.rendered.stop,
            taboo=first.trial.condition.taboo,
            sampling=first.trial.condition.sampling,
            entropy=self._entropy,
            messages=first.rendered.messages,
        )

    def _ready(self, trial: Trial, row: Row, texts: Texts) -> _Ready:
        """The trial with its prompt as it is fed and the prompt's columns; raises TrialError where it cannot be fed."""
        benchmark, condition = self._benchmarks[trial.benchmark], trial.condition
        subject = Subject(trial.item)
        try:
            if condition.perturbations:
                stack, seed = condition.perturbations, condition.perturbation_seed or 0
                perturbed = texts.get((trial.benchmark, stack, seed, trial.item.item_id)) or perturb(
                    trial.item, stack, seed
                )
                subject = perturbed.subject
                row |= perturbed_columns(perturbed)
            if of_documents(benchmark):
                kept = self._lines(benchmark, trial)
                subject = replace(subject, item=benchmark.cut(subject.item, kept))
                row["lines"] = {"total": benchmark.whole(trial.item), "kept": kept}
            prompt = framed_prompt(benchmark, subject, condition.prompt_style, condition.n_shots)
            rendered = render(prompt, self._model, self._engine.tokenizer)
        except (TrialError, UserError):
            raise
        except Exception as error:  # a benchmark may be a user's own: its fault is this trial's alone
            raise TrialError("render_failed", describe(error)) from error
        ids = np.asarray(rendered.ids, dtype=np.int32)
        asked = [
            ids.tobytes().hex() if self._engine.tokenizer is not None else rendered.text,
            list(rendered.stop),
            benchmark.max_tokens,
            condition.generation_key,
            trial.replicate,
        ]
        row["generation_id"] = stable_hash(self._made_by, asked)
        row["stop"] = list(rendered.stop)
        row["prompt"] = rendered.text
        row["prompt_tokens"] = len(ids) if self._engine.tokenizer is not None else None
        if len(ids) + benchmark.max_tokens > self._engine.max_context:
            raise TrialError(
                "prompt_too_long",
                f"{len(ids)} tokens of prompt and {benchmark.max_tokens} to generate do not fit in the context of "
                f"{self._engine.max_context}",
            )
        return _Ready(trial, subject.item, rendered, row)

    def _lines(self, benchmark: OfDocuments, trial: Trial) -> int:
        """Lines of the trial's document that are used, in every condition with this prompt style."""
        condition = trial.condition
        key = trial.benchmark, trial.item.item_id, condition.prompt_style, condition.n_shots
        if key not in self._fitting:
            tokenizer = self._engine.tokenizer
            self._fitting[key] = (
                benchmark.whole(trial.item)
                if tokenizer is None
                else lines_that_fit(
                    benchmark,
                    trial.item,
                    condition.prompt_style,
                    condition.n_shots,
                    PromptGauge(self._model, tokenizer, self._engine.max_context),
                )
            )
        return self._fitting[key]

    def _finished(self, ready: _Ready, completion: Completion) -> Row:
        """The row of a trial whose request has ended."""
        generation = completion.generation
        if generation is None:
            kind, message = completion.error_type or "generation_failed", completion.error or "no message"
            return ready.row | error_columns(TrialError(kind, message))
        return self._scored(
            ready, output_columns(generation, len(ready.rendered.ids), self._record_steps, self._record_tokens)
        )

    def _scored(self, ready: _Ready, output: Row) -> Row:
        """The row with its output and what the benchmark makes of it."""
        benchmark = self._benchmarks[ready.trial.benchmark]
        try:
            verdict = benchmark.score(ready.item, clean_text(output["completion"]), output["finish_reason"])
            return ready.row | output | verdict_columns(verdict, ready.rendered.warnings)
        except Exception as error:  # as above: a scorer that fails costs its own trial only
            return ready.row | output | error_columns(TrialError("scorer_failed", describe(error)))


def _failed(row: Row, error: TrialError) -> Row:
    return row | error_columns(error) | {"started_at": now()}


def describe(error: BaseException) -> str:
    """An error as one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
