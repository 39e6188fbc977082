"""What a sweep would cost: cells, trials, tokens, memory, placement and hours, without a model, a GPU or the hub.

Counts are exact where the items are on this machine. Tokens and hours are rough, and rest on the assumptions below.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace

from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.benchmarks.base import notes as benchmark_notes
from taboo_cluster.compose import build_benchmark, engine_options
from taboo_cluster.config import ModelConfig, RunConfig, Shape
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.labels import labels
from taboo_cluster.launch import new_launch, recorded_revisions
from taboo_cluster.models import local_folder, resolve, served, shape_of
from taboo_cluster.pending import pending, tally
from taboo_cluster.placement import Demand, Gpu, Memory, Packing, estimate, pack, parameters
from taboo_cluster.records.reader import recorded
from taboo_cluster.sweep import Cell, cells, conditions, model_limit, subsample, trials
from taboo_cluster.trial import Item, ResolvedModel

CHARS_PER_TOKEN = 4
"""Of English prompts."""
PROMPT_TOKENS = 400
"""Where no item is at hand to measure: a question with two worked examples."""
USED_SHARE = 1 / 3
"""Part of max_tokens that a completion uses on average; max_tokens leaves room for the longest, and twice that."""
BANDWIDTH, FLOPS = 1e12, 1e14
"""Of one GPU: bytes read per second while decoding, operations per second while reading prompts."""
NF4_TRAFFIC = 4.5
"""Bytes moved per weight and step: unpacked to 16 bits, written and read again."""
START, DISK = 60.0, 1e9
"""Seconds to start an engine on a GPU, and bytes of 16-bit weights read per second before it starts."""
CPU_FLOPS = 5e10
"""Of one engine on CPU cores."""
SAMPLE = 20
"""Items whose prompts are measured."""

ASSUMPTIONS = (
    f"{CHARS_PER_TOKEN} characters per prompt token, completions of a third of max_tokens; a GPU that moves "
    f"{BANDWIDTH / 1e12:g} TB/s and computes {FLOPS / 1e12:g} TFLOP/s, weights read at "
    f"{DISK / 1e9:g} GB/s, {START:g} s to start; a CPU engine of {CPU_FLOPS / 1e9:g} GFLOP/s"
)


@dataclass(frozen=True)
class ModelPlan:
    """One model's part of a sweep."""

    name: str
    quantization: str
    cells: int
    trials: int
    recorded: int
    """Of the trials: recorded already, so that they are not made again."""
    prompt_tokens: int
    """Of the trials left."""
    completion_tokens: int
    memory: Memory | None
    """None where a server holds the model."""
    load_s: float
    """Seconds until the engine is up."""
    work_s: float
    """Seconds of one engine for the trials left; 0 where they are a server's."""

    @property
    def left(self) -> int:
        """Trials to be made."""
        return self.trials - self.recorded

    @property
    def hours(self) -> float:
        """Hours of one engine from start to end; 0 where nothing is left."""
        return (self.load_s + self.work_s) / 3600 if self.left else 0.0


@dataclass(frozen=True)
class Plan:
    """A whole sweep."""

    models: tuple[ModelPlan, ...]
    items: Mapping[str, int]
    """Items by benchmark, before any model's own limit."""
    packing: Packing | None
    """None where no GPU is named or seen."""
    notes: tuple[str, ...]
    """What had to be assumed."""

    @property
    def refused(self) -> list[str]:
        """A line for each model that fits on none of the GPUs."""
        return list(self.packing.refused.values()) if self.packing else []

    @property
    def engine_hours(self) -> float:
        """GPU-hours (on a CPU: engine-hours) of all models that fit."""
        if self.packing is None:
            return sum(model.hours for model in self.models)
        width = {placement.model: placement.tensor_parallel for placement in self.packing.placements}
        return sum(self.models[index].hours * gpus for index, gpus in width.items())

    @property
    def wall_hours(self) -> float | None:
        """Hours from start to end on these GPUs: the fullest GPU of each wave, summed. None without GPUs."""
        if self.packing is None:
            return None
        copies: dict[int, int] = {}
        for placement in self.packing.placements:
            copies[placement.model] = copies.get(placement.model, 0) + 1
        busy: dict[int, dict[int, float]] = {}
        for placement in self.packing.placements:
            model = self.models[placement.model]
            share = (model.load_s + model.work_s / copies[placement.model]) / 3600 if model.left else 0.0
            wave = busy.setdefault(placement.wave, {})
            for gpu in placement.gpus:
                wave[gpu] = wave.get(gpu, 0.0) + share
        return sum(max(wave.values()) for wave in busy.values())


@dataclass(frozen=True)
class _Questions:
    """What is known of one benchmark's items."""

    items: Sequence[Item] | None
    """None where the data set is not on this machine."""
    count: int
    prompt_tokens: int
    """Of one prompt, on average."""
    completion_tokens: int
    max_tokens: int


def plan(config: RunConfig, gpus: Sequence[Gpu]) -> Plan:
    """Plan a sweep on these GPUs; none plans for CPU engines.

    Raises:
        UserError: a local file or model folder is missing, run_dir is no run, or nothing says how many items or how
            large a model there is.
    """
    earlier = new_launch(config)[1] if config.run_dir else []
    config = recorded_revisions(config, earlier)
    benchmarks = {name: build_benchmark(config, name) for name in config.benchmarks}
    notes: list[str] = []
    questions = {name: _questions(config, benchmark, notes) for name, benchmark in benchmarks.items()}
    by_model: dict[int, list[Cell]] = {index: [] for index in range(len(config.models))}
    for cell in cells(config, config.models, benchmarks):
        by_model[cell.model].append(cell)
    if on_server := engine_options(config)[0].served:
        gpus = ()
        notes.append("a server holds the models: hours and memory are its own")
    models, demands, names = [], [], labels(config.models)
    for index, model in enumerate(config.models):
        shape = None if on_server else _shape(model)
        memory = _memory(config, model, shape, questions) if shape else None
        planned = _plan_model(config, model, by_model[index], questions, memory, shape, bool(gpus), bool(earlier))
        planned = replace(planned, name=names[index])
        models.append(planned)
        if shape is None or memory is None:
            continue
        demands.append(
            Demand(names[index], memory, shape.heads, _sequences(config), planned.work_s, _splittable(model))
        )
    counts = {name: min(known.count, config.limit or known.count) for name, known in questions.items()}
    return Plan(tuple(models), counts, pack(demands, gpus) if gpus else None, tuple(notes))


def _questions(config: RunConfig, benchmark: Benchmark, notes: list[str]) -> _Questions:
    """Measured on the items; where they are on the hub only, counted as `limit` says."""
    completion = int(benchmark.max_tokens * USED_SHARE)
    try:
        items = benchmark.items()
    except UserError as error:
        if config.benchmark[benchmark.name].get("path") is not None:
            raise
        if config.limit is None:
            raise UserError(f"{benchmark.name}: how many items there are is not known here; add limit=N") from error
        notes.append(f"{benchmark.name} is not on this machine: reckoned with {config.limit} items, as limit says")
        return _Questions(None, config.limit, PROMPT_TOKENS, completion, benchmark.max_tokens)
    styles = dict.fromkeys((condition.prompt_style, condition.n_shots) for condition in conditions(config, benchmark))
    prompts = []
    for item in items[:SAMPLE]:
        with suppress(TrialError):  # an item that cannot be asked has no prompt
            prompts += [benchmark.prompt(item, item.question, style, shots).plain for style, shots in styles]
    prompt = sum(map(len, prompts)) // (max(len(prompts), 1) * CHARS_PER_TOKEN)
    notes.extend(benchmark_notes(benchmark))
    return _Questions(items, len(items), prompt, completion, benchmark.max_tokens)


def _plan_model(
    config: RunConfig,
    model: ModelConfig,
    own: Sequence[Cell],
    questions: Mapping[str, _Questions],
    memory: Memory | None,
    shape: Shape | None,
    on_gpu: bool,
    resumed: bool,
) -> ModelPlan:
    limit = model_limit(config.limit, model.limit)
    counts = {name: min(known.count, limit or known.count) for name, known in questions.items()}
    total = sum(counts[cell.benchmark] for cell in own)
    settled = _settled(config, model, own, questions, total) if resumed else 0
    share = (total - settled) / total
    prompt = share * sum(counts[cell.benchmark] * questions[cell.benchmark].prompt_tokens for cell in own)
    completion = share * sum(counts[cell.benchmark] * questions[cell.benchmark].completion_tokens for cell in own)
    work_s = load_s = 0.0
    if shape and memory:
        work_s = _seconds(shape, model, memory, prompt, completion, _sequences(config) if on_gpu else None)
        load_s = START + 2 * sum(parameters(shape)) / DISK if on_gpu else 0.0
    return ModelPlan(
        model.name,
        model.quantization,
        len(own),
        total,
        settled,
        int(prompt),
        int(completion),
        memory,
        load_s,
        work_s,
    )


def _settled(
    config: RunConfig, model: ModelConfig, own: Sequence[Cell], questions: Mapping[str, _Questions], total: int
) -> int:
    """Trials of the model that its run has already. Items that are not on this machine have no trial_id: 0."""
    limit = model_limit(config.limit, model.limit)
    items = {name: subsample(known.items or (), limit, config.seed) for name, known in questions.items()}
    known = pending(
        recorded(str(config.run_dir), model.name),
        max_attempts=config.max_attempts,
        permanent=config.retry == "permanent",
    )
    identity = served(model) if engine_options(config)[0].served else _identity(model)
    found = (trial for _, trial in trials(identity, str(config.engine["name"]), own, items, config.seed))
    return tally(found, known, total).settled


def _identity(model: ModelConfig) -> ResolvedModel:
    """The model as trial ids name it. A hub name is not looked up: its recorded commit is in the config already."""
    if model.path is not None:
        return resolve(model)
    shared = {field.name for field in fields(ResolvedModel)} & {field.name for field in fields(ModelConfig)}
    values = {name: getattr(model, name) for name in shared}
    return ResolvedModel(**{**values, "revision": model.revision or "", "source": model.name})


def _shape(model: ModelConfig) -> Shape:
    """As the model set says; else from the model's own config, in its folder, on the hub or in the hub's cache."""
    if model.path is not None:
        folder = resolve(model).source  # also where the shape is given: a missing folder is better found now
        return model.shape or shape_of(folder)
    if model.shape is not None:
        return model.shape
    from transformers import AutoConfig

    revision, trusted = resolve(model).revision, model.trust_remote_code
    return shape_of(AutoConfig.from_pretrained(model.name, revision=revision, trust_remote_code=trusted))


def _splittable(model: ModelConfig) -> bool:
    """False for local weights that bitsandbytes saved quantized: vLLM does not split these over GPUs."""
    if model.path is None:
        return True
    config = json.loads((local_folder(model.path) / "config.json").read_text(encoding="utf-8"))
    return (config.get("quantization_config") or {}).get("quant_method") != "bitsandbytes"


def _memory(config: RunConfig, model: ModelConfig, shape: Shape, questions: Mapping[str, _Questions]) -> Memory:
    length = max(known.prompt_tokens + known.max_tokens for known in questions.values())
    return estimate(shape, model.quantization, model.dtype, model.size_b, length, _sequences(config))


def _sequences(config: RunConfig) -> int:
    """Sequences the engine decodes at once."""
    for option in ("max_num_seqs", "batch_size"):
        if isinstance(config.engine.get(option), int):
            return int(config.engine[option])
    return 64


def _seconds(
    shape: Shape, model: ModelConfig, memory: Memory, prompt: float, completion: float, sequences: int | None
) -> float:
    """Time of one engine: prompts by arithmetic, decoding by what each step reads. sequences=None: on a CPU."""
    linear, embeddings = parameters(shape)
    operations = 2 * (linear + embeddings)
    if sequences is None:
        return operations * (prompt + completion) / CPU_FLOPS
    read = NF4_TRAFFIC * linear if model.quantization == "nf4" else memory.weights
    step = (read + sequences * memory.kv_per_sequence) / BANDWIDTH
    return operations * prompt / FLOPS + completion / sequences * step
