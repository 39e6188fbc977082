"""The protocol every engine keeps: requests in, completions out in the order they end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from taboo_cluster.config import ModelConfig
from taboo_cluster.registry import Registry
from taboo_cluster.trial import ResolvedModel, Sampling, Taboo

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Request:
    """One generation to be made."""

    key: str
    """Comes back with the completion (the trial_id)."""
    prompt: str
    """As rendered; for reading only where there are ids: these are what is fed."""
    prompt_ids: tuple[int, ...]
    """Empty for an engine without a tokenizer, which is given texts."""
    max_tokens: int
    stop: tuple[str, ...] = ()
    """Strings that end the text; they are not part of it."""
    taboo: Taboo = Taboo()
    sampling: Sampling = Sampling()
    entropy: bool = False
    """Measure next-token entropy at every step."""
    messages: tuple[tuple[str, str], ...] = ()
    """(role, content) of the chat form's turns; empty for a plain prompt."""


@dataclass(frozen=True)
class Step:
    """One intervention."""

    position: int
    """Index of the emitted token among the generated ones, from 0."""
    nominal_id: int
    nominal: str | None
    """Vocabulary piece the model would have emitted, readable; None where the engine sees ids alone."""
    emitted_id: int
    emitted: str | None
    emitted_rank: int | None
    """Tokens whose nominal logit is at least the emitted one's, itself included: i+1 when greedy without a tie.
    None where the engine does not see as far down."""
    bits: float | None
    """log2 P_nom(nominal) - log2 P_nom(emitted), at temperature 1 before masking; None where it is not finite."""


@dataclass(frozen=True)
class Usage:
    """Tokens as a server counts them; None where it does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class Generation:
    """What an engine made of one request. What it cannot tell of interventions is None."""

    text: str
    token_ids: tuple[int, ...]
    """Generated ids, an end-of-sequence token included; empty where `usage` counts them instead."""
    finish_reason: str
    """`stop` (end token or stop string) or `length`."""
    steps: tuple[Step, ...] = ()
    skipped_steps: int | None = 0
    """Steps left alone for want of finite candidates."""
    tie_steps: int | None = 0
    """Interventions where the i-th and the next logit were equal."""
    glued: int | None = 0
    """Interventions whose emitted token is not word-initial."""
    stopped_by_detour: bool | None = False
    """The emitted token of an intervention ended the text."""
    taboo_leak: bool | None = False
    """The text goes on to spell a masked token's own string."""
    entropy_mean: float | None = None
    """Mean next-token entropy before masking, in bits; None unless measured."""
    entropy_word_start: float | None = None
    """The same over the steps whose nominal token begins a word; None without one."""
    usage: Usage | None = None
    """Of an engine without a tokenizer."""


@dataclass(frozen=True)
class Completion:
    """A generation, or the error in its place, under its request's key."""

    key: str
    generation: Generation | None
    error_type: str | None = None
    error: str | None = None
    latency_s: float | None = None


@dataclass(frozen=True)
class EngineInfo:
    """What of an engine is recorded and enters generation_id."""

    name: str
    version: str
    """The engine's own and its runner's, e.g. "0.32.0/V1"."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that change numbers: dtype, prefix caching, batch invariance ..."""
    masks: bool = True
    """False where interventions are only acted: there is no mask to be checked before a sweep."""


class Engine(Protocol):
    """One model in memory. Not shared between processes; `generate` is called by one thread at a time
    unless `concurrent` is True."""

    info: EngineInfo
    max_context: int
    """Tokens of prompt and completion together."""
    concurrent: bool
    """True where two `generate` calls may run at once and share the engine's batch."""

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase | None:
        """The model's; None where a server renders and counts: prompts are then handed over as texts."""
        ...

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Yield one completion per request, in the order they end, drawing requests as room allows.

        A request that fails is a completion with an error. Raises EngineDied when the engine is gone.
        """
        ...

    def close(self) -> None:
        """Free the model."""
        ...


@dataclass(frozen=True)
class Hardware:
    """What placement gives one engine."""

    gpu_share: float | None = None
    """Part of each GPU's memory the engine may take; None without a GPU."""
    tensor_parallel: int = 1
    """GPUs of one node the model is split over."""
    threads: int = 1
    """CPU cores the engine may use."""


HARMLESS: Mapping[str, bool] = {"changes_numbers": False}
"""Metadata of an option that changes no record that has no error: it may differ when a run is resumed."""


@dataclass(frozen=True)
class EngineEntry:
    """What an engine's file registers."""

    options: type[Any]
    """Frozen dataclass of the engine's own settings, each with a default: `engine.NAME=...` on the command line.
    An option that only sets pace or memory is marked `field(default=..., metadata=HARMLESS)`."""
    build: Callable[[ResolvedModel, Any, Hardware], Engine]
    """(model, options, hardware) -> loaded engine. Raises UserError for a model that cannot be loaded as asked."""
    uses_gpu: bool = True
    """False where a GPU would be of no use to it."""
    own_tokenizer: Callable[[], PreTrainedTokenizerBase] | None = None
    """Makes the tokenizer, with a chat template, that it brings of its own; None where the model's is used."""
    find: Callable[[ModelConfig, Any], ResolvedModel] | None = None
    """(model, options) -> the model, where a server elsewhere holds it. Raises UserError for one that is not there.
    None: weights and tokenizer are looked for here or on the hub."""

    @property
    def served(self) -> bool:
        """Models are a server's: no weights, tokenizer or shape are needed here, and one engine per model is enough."""
        return self.find is not None


ENGINES: Registry[EngineEntry] = Registry("engine", "taboo_cluster.engines")
