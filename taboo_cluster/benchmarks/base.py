"""The protocol every benchmark keeps: items, prompts, extraction and scoring. Knows nothing of engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from taboo_cluster.registry import Registry
from taboo_cluster.trial import Item


@dataclass(frozen=True)
class Prompt:
    """A prompt before any model's template: turns for aligned models, one text for base models."""

    shots: tuple[tuple[str, str], ...]
    """(user, assistant) pairs that come first in the chat form."""
    user: str
    """The last user message: the question with what the benchmark asks for."""
    plain: str
    """The whole prompt for a base model, shots included; ends where the answer starts, never in white space."""
    stop: tuple[str, ...]
    """Strings that end the plain form's completion (an invented next question)."""
    chat_stop: tuple[str, ...] = ()
    """Strings that end the chat form's completion; never a bare newline."""


@dataclass(frozen=True)
class Verdict:
    """How one completion was read and scored."""

    outcome: str
    """no_response, refused, truncated, invalid_format, correct or wrong (`error` is the runner's)."""
    answer: str | None
    """As extracted, normalised; null where nothing was parsed."""
    score: float
    """1.0 or 0.0 for exact answers; a benchmark's own measure elsewhere."""
    matched_alias: str | None = None
    lines: Mapping[str, int] | None = None
    """Of a benchmark that asks for lines of a document: the numbers of the record's column `lines`."""
    details: Mapping[str, Any] = field(default_factory=dict)
    span: tuple[int, int] | None = None
    """Where in the completion the answer was read: its first character and the one after its last; None where it was
    not read in one place."""

    @property
    def parse_ok(self) -> bool:
        """True where an answer was extracted."""
        return self.answer is not None

    @property
    def correct(self) -> bool:
        """True where the outcome is correct."""
        return self.outcome == "correct"


class Benchmark(Protocol):
    """One benchmark with its options applied.

    One whose scoring waits for something, such as other processes, sets `slow_scoring = True`: its `score` is then
    called from several threads, beside the engine.

    One whose question or gold answer would not tell a judge what is right has `judged_as(item, question)`, which
    returns both as a judge is to read them.
    """

    name: str
    scorer_version: str
    """Changes whenever the same completion could be scored differently."""
    styles: tuple[str, ...]
    """Prompt styles it knows; the first is its default."""
    default_shots: int
    max_tokens: int

    @property
    def chance(self) -> float | None:
        """Accuracy of guessing; None where guessing gives nothing."""
        ...

    def items(self) -> Sequence[Item]:
        """All items, in a fixed order. Raises UserError for a missing or empty source."""
        ...

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """The prompt for `question`, which is item.question or a perturbed form of it."""
        ...

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """Read and score a completion; deterministic."""
        ...

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """(item, completion, must be correct): checked before a sweep spends anything."""
        ...


def notes(benchmark: Benchmark) -> Sequence[str]:
    """What a benchmark has to say of its items, such as how many are left out: its `notes`, where it has any."""
    found: Sequence[str] = getattr(benchmark, "notes", ())
    return found


@dataclass(frozen=True)
class BenchmarkEntry:
    """What a benchmark's file registers."""

    options: type[Any]
    """Frozen dataclass of the benchmark's own settings, each with a default: `benchmark.NAME.option=...`."""
    build: Callable[[Any], Benchmark]
    """options -> benchmark."""


BENCHMARKS: Registry[BenchmarkEntry] = Registry("benchmark", "taboo_cluster.benchmarks")
