"""The transformers engine: `model.generate` in dynamic batches of requests of about the same length."""

from __future__ import annotations

import gc
import importlib.util
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
import transformers
from transformers import (
    AutoModelForCausalLM,
    BitsAndBytesConfig,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from taboo_cluster.engines.base import ENGINES, HARMLESS, Completion, EngineEntry, EngineInfo, Hardware, Request
from taboo_cluster.engines.batch import Vocabulary, generate_batch
from taboo_cluster.errors import EngineDied, UserError
from taboo_cluster.models import load_tokenizer
from taboo_cluster.taboo.pieces import read_pieces
from taboo_cluster.taboo.word_start import word_start_table
from taboo_cluster.trial import ResolvedModel, Taboo

_WINDOW = 4
"""Batches' worth of requests drawn at once and sorted by length."""

_NO_MEMORY = ("not enough memory", "can't allocate memory", "out of memory")
"""How torch says so where it has no type of its own for it."""


@dataclass(frozen=True)
class TransformersOptions:
    """Settings of the engine."""

    batch_size: int = field(default=64, metadata=HARMLESS)
    """Most requests in a batch."""
    max_batch_tokens: int = field(default=32768, metadata=HARMLESS)
    """Most tokens in a batch, its padded prompts and all that may be generated; halved when memory runs out."""
    max_context: int | None = None
    """Longest sequence; null takes it from the model's config."""

    def __post_init__(self) -> None:
        for name in ("batch_size", "max_batch_tokens", "max_context"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"engine.{name} must be at least 1, not {value}")


class TransformersEngine:
    """One model in memory, run by `model.generate`.

    A prompt that leaves no room in the context is an error of its own. Where the context ends before `max_tokens`, so
    does the generation, with finish_reason `length`.
    """

    concurrent = False

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, info: EngineInfo, options: TransformersOptions
    ) -> None:
        self.info = info
        self.tokenizer = tokenizer
        context = int(model.config.get_text_config().max_position_embeddings)
        self.max_context = min(context, options.max_context or context)
        self._model = model
        self._batch_size = options.batch_size
        self._batch_tokens = options.max_batch_tokens
        self._pieces = read_pieces(tokenizer)
        self._ends = end_ids(model, tokenizer)
        self._vocabularies: dict[str, Vocabulary] = {}
        # What the model's own file says of sampling and penalties would be merged into every call.
        model.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Yield one completion per request, batch by batch; see the protocol."""
        source = iter(requests)
        while window := list(islice(source, self._batch_size * _WINDOW)):
            refused = [completion for request in window if (completion := self._refused(request))]
            yield from refused
            keys = {completion.key for completion in refused}
            for batch in self._batches([request for request in window if request.key not in keys]):
                yield from self._run(batch)

    def close(self) -> None:
        """Free the model."""
        del self._model
        free_memory()

    def _refused(self, request: Request) -> Completion | None:
        length = len(request.prompt_ids)
        if length == 0:
            return Completion(request.key, None, "generation_failed", "the prompt has no tokens")
        if length >= self.max_context:
            message = f"a prompt of {length} tokens leaves no room in a context of {self.max_context}"
            return Completion(request.key, None, "prompt_too_long", message)
        return None

    def _limit(self, request: Request) -> int:
        """Most tokens that may be generated."""
        return min(request.max_tokens, self.max_context - len(request.prompt_ids))

    def _tokens(self, batch: Sequence[Request]) -> int:
        """Tokens a batch may come to."""
        return len(batch) * (max(len(request.prompt_ids) for request in batch) + max(map(self._limit, batch)))

    def _batches(self, requests: Sequence[Request]) -> Iterator[list[Request]]:
        """Batches of one trigger and kind of word starts, longest requests first: what does not fit shows early.

        Requests of rank 0 join the largest group there is; where their entropy at word starts is measured, the largest
        with their kind of word starts.
        """
        modes = Counter(_mode(request.taboo) for request in requests if request.taboo.rank)
        groups: dict[tuple[str, str], list[Request]] = {}
        for request in sorted(requests, key=lambda request: -len(request.prompt_ids) - self._limit(request)):
            mode = own = _mode(request.taboo)
            if not request.taboo.rank:
                fitting = [m for m, _ in modes.most_common() if not request.entropy or m[1] == own[1]]
                mode = fitting[0] if fitting else own
            groups.setdefault(mode, []).append(request)
        for group in groups.values():
            batch: list[Request] = []
            for request in group:
                grown = [*batch, request]
                if batch and (len(grown) > self._batch_size or self._tokens(grown) > self._batch_tokens):
                    yield batch
                    grown = [request]
                batch = grown
            yield batch

    def _run(self, batch: list[Request]) -> Iterator[Completion]:
        """Generate a batch, in halves when memory runs out; another failure is an error of each of its requests."""
        fits = True
        try:
            completions = self._generate(batch)
        except Exception as error:
            if isinstance(error, torch.AcceleratorError) and not out_of_memory(error):
                raise EngineDied(f"the device failed: {_line(error)}") from error
            fits = not out_of_memory(error)
            kind = "generation_failed" if fits else "out_of_memory"
            completions = [Completion(request.key, None, kind, _line(error)) for request in batch]
        if not fits:
            free_memory()  # here, where the error no longer holds what the batch had allocated
        if fits or len(batch) == 1:
            yield from completions
            return
        halves = batch[: len(batch) // 2], batch[len(batch) // 2 :]
        self._batch_tokens = min(self._batch_tokens, max(map(self._tokens, halves)))
        for half in halves:
            yield from self._run(half)

    def _generate(self, batch: Sequence[Request]) -> list[Completion]:
        kind = next((request.taboo.word_start for request in batch if request.taboo.rank), batch[0].taboo.word_start)
        return generate_batch(self._model, self._vocabulary(kind), batch, [self._limit(request) for request in batch])

    def _vocabulary(self, kind: str) -> Vocabulary:
        if kind not in self._vocabularies:
            table = word_start_table(self.tokenizer, kind, self._ends)
            self._vocabularies[kind] = Vocabulary(self.tokenizer, self._pieces, self._ends, table)
        return self._vocabularies[kind]


def build(model: ResolvedModel, options: TransformersOptions, hardware: Hardware) -> TransformersEngine:
    """Load a model; raises UserError for one that cannot be loaded as asked."""
    if hardware.tensor_parallel > 1:
        raise UserError(f"{model.name}: the transformers engine runs a model on one GPU; use engine=vllm for several")
    loaded = load_model(model, hardware)
    info = EngineInfo(
        name="transformers",
        version=f"{transformers.__version__}/torch {torch.__version__}",
        settings={"device": loaded.device.type, "attention": loaded.config._attn_implementation},
    )
    return TransformersEngine(loaded, load_tokenizer(model), info, options)


def end_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """The tokens that end a text, by the model's generation config, its config and its tokenizer."""
    told = (
        model.generation_config.eos_token_id if model.generation_config else None,
        model.config.get_text_config().eos_token_id,
        tokenizer.eos_token_id,
    )
    return frozenset(i for ids in told if ids is not None for i in (ids if isinstance(ids, list) else [ids]))


def load_model(model: ResolvedModel, hardware: Hardware) -> PreTrainedModel:
    """The model in memory, ready to be run; split over the GPUs where it was given several.

    Raises UserError for one that cannot be loaded as asked.
    """
    torch.set_num_threads(hardware.threads)
    device = torch.device("cpu" if hardware.gpu_share is None else "cuda")
    if hardware.gpu_share is not None:
        torch.cuda.set_per_process_memory_fraction(hardware.gpu_share)
    settings: dict[str, Any] = {
        "revision": None if model.is_local else model.revision,
        "trust_remote_code": model.trust_remote_code,
        "dtype": getattr(torch, model.dtype),
        "output_loading_info": True,
    }
    if model.quantization != "none":
        settings |= {"quantization_config": _quantization(model), "device_map": {"": device}}
    if hardware.tensor_parallel > 1:
        settings["device_map"] = "auto"
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # it would fill a log
    auto: Any = AutoModelForCausalLM
    try:
        loaded, about = auto.from_pretrained(model.source, **settings)
    except (OSError, ValueError, ImportError) as error:
        raise UserError(f"{model.name} cannot be loaded from {model.source}: {_line(error)}") from error
    if missing := sorted(about["missing_keys"]):
        raise UserError(f"{model.name}: {model.source} lacks {len(missing)} weights of the model, {missing[0]} first")
    ready: PreTrainedModel = loaded.eval() if "device_map" in settings else loaded.eval().to(device)
    return ready


def _quantization(model: ResolvedModel) -> Any:
    """nf4 with double quantization, as in vLLM, or int8."""
    lacking = [name for name in ("bitsandbytes", "accelerate") if importlib.util.find_spec(name) is None]
    if lacking:
        raise UserError(
            f"{model.name}: quantization={model.quantization} needs {' and '.join(lacking)}: pip install it"
        )
    config: Any = BitsAndBytesConfig
    if model.quantization == "int8":
        return config(load_in_8bit=True)
    return config(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=getattr(torch, model.dtype),
    )


def _mode(taboo: Taboo) -> tuple[str, str]:
    return taboo.trigger_name, taboo.word_start


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)
    )


def free_memory() -> None:
    """Give back what no tensor holds any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _line(error: BaseException) -> str:
    """An error as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


ENGINES.register("transformers")(EngineEntry(TransformersOptions, build))
