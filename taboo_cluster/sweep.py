"""From a config to trials: cells, the items of each, and their order. Pure; nothing is held that grows with the sweep
but one integer per trial of one model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.config import RunConfig, SamplingConfig, TabooConfig
from taboo_cluster.hashing import stable_hash, stable_rng
from taboo_cluster.perturbations.stack import variant_seed
from taboo_cluster.prompting import Prompted
from taboo_cluster.trial import Condition, Item, ResolvedModel, Sampling, Taboo, Trial

CHUNK = 256
"""Items whose perturbed texts are made at once."""


@dataclass(frozen=True)
class Cell:
    """All trials of one model x benchmark x condition, one replicate of them."""

    model: int
    """Index of the model in the config."""
    benchmark: str
    condition: Condition
    replicate: int
    phase: int
    """A model's phase ends before the next begins, so that no replicate shares a batch with its replicate 0."""


@dataclass(frozen=True)
class Block:
    """Some trials of one model and one phase: what is handed to an actor at once."""

    phase: int
    trials: tuple[Trial, ...]


def conditions(config: RunConfig, benchmark: Benchmark) -> list[Condition]:
    """For each prompt style its baseline (no intervention, greedy), then every intervention x sampling, rank 0 sampled
    included; then all of these under each stack of perturbations and seed.

    In the benchmark's default number of examples unless the config names another.
    """
    default = benchmark.default_shots if config.n_shots is None else config.n_shots
    none, *taboos = interventions(config.taboo)
    greedy, drawn = samplings(config.sampling)
    every = [(none, Sampling()), *((none, how) for how in drawn)]
    every += [(taboo, how) for taboo in taboos for how in (*greedy, *drawn)]
    seeds = [variant_seed(config.seed, variant) for variant in range(config.variants)]
    variants = [(stack, seed) for stack in stacks(config, benchmark) for seed in seeds]
    found: list[Condition] = []
    for style in prompt_styles(config, benchmark):
        prompted = benchmark if isinstance(benchmark, Prompted) else None
        own = prompted.shots(style) if prompted else None
        shots, content = default if own is None else own, prompted.content(style) if prompted else None
        clean = [Condition(style, shots, taboo, how, prompt_content=content) for taboo, how in every]
        perturbed = [replace(c, perturbations=stack, perturbation_seed=seed) for stack, seed in variants for c in clean]
        found += clean + perturbed
    return found


def stacks(config: RunConfig, benchmark: Benchmark) -> list[str]:
    """Stacks of perturbations for every benchmark, then those for this one."""
    return list(dict.fromkeys([*config.conditions, *config.conditions_for.get(benchmark.name, [])]))


def prompt_styles(config: RunConfig, benchmark: Benchmark) -> list[str]:
    """The styles that the config names, else the benchmark's default."""
    named = benchmark.styles[0] if config.prompt_style is None else config.prompt_style
    return [named] if isinstance(named, str) else list(named)


def interventions(config: TabooConfig) -> list[Taboo]:
    """Rank 0, then each trigger at each rank above it; triggers as in a completed config."""
    triggers = [config.trigger] if isinstance(config.trigger, str) else config.trigger
    none = Taboo(0, triggers[0], config.word_start, config.protect_special, config.scope)
    ranks = [rank for rank in config.ranks if rank > 0]
    return [none, *(replace(none, rank=rank, trigger=trigger) for trigger in triggers for rank in ranks)]


def samplings(config: SamplingConfig) -> tuple[list[Sampling], list[Sampling]]:
    """Greedy decoding, where it is asked for, and each temperature above 0 with each seed."""
    greedy = [Sampling()] if 0.0 in config.temperatures else []
    warm = [temperature for temperature in config.temperatures if temperature > 0]
    return greedy, [Sampling(temperature, config.top_p, seed) for temperature in warm for seed in config.seeds]


def cells(config: RunConfig, models: Sequence[object], benchmarks: Mapping[str, Benchmark]) -> list[Cell]:
    """Every cell of the sweep, by model, benchmark, condition and replicate.

    Replicates are made of each prompt style's baseline and of one intervention, the first at the lowest rank: the noise
    floor (METHODS, section 0). Phase 0 holds replicate 0 of these; with one replicate there is nothing to keep apart
    and everything clean is phase 0. Perturbed cells have a phase of their own at the end: a text that a stack leaves as
    it is takes the output of the clean one.
    """
    found = []
    for model in range(len(models)):
        for name, benchmark in benchmarks.items():
            every = conditions(config, benchmark)
            repeated = _repeated(every)
            for condition in every:
                count = config.replicates if condition in repeated else 1
                for replicate in range(count):
                    first = config.replicates == 1 or (count > 1 and replicate == 0)
                    phase = 2 if condition.perturbations else 0 if first else 1
                    found.append(Cell(model, name, condition, replicate, phase))
    return found


def _repeated(every: Sequence[Condition]) -> list[Condition]:
    """Of each prompt style the baseline and the first intervention at the lowest rank."""
    found = []
    for style in dict.fromkeys(condition.prompt_style for condition in every):
        clean = [c for c in every if c.prompt_style == style and not c.perturbations]
        found += [clean[0], min((c for c in clean if c.taboo.rank), key=lambda c: c.taboo.rank, default=clean[0])]
    return found


def subsample(items: Sequence[Item], limit: int | None, seed: int) -> list[Item]:
    """At most `limit` items: those whose seeded hash of item_id is lowest, in the order of that hash.

    The same items whatever the order of `items`, for every model and condition; a larger limit contains a smaller one,
    as its beginning.
    """
    return sorted(items, key=lambda item: stable_hash("subsample", seed, item.item_id))[:limit]


def model_limit(limit: int | None, own: int | None) -> int | None:
    """The smaller of the run's limit and the model's own."""
    given = [value for value in (limit, own) if value is not None]
    return min(given) if given else None


def trials(
    model: ResolvedModel, engine: str, cells: Sequence[Cell], items: Mapping[str, Sequence[Item]], seed: int
) -> Iterator[tuple[int, Trial]]:
    """(phase, trial) of every trial of one model, made as they are asked for.

    A phase's trials come in one seeded order that mixes benchmarks, conditions and replicates; perturbed ones chunk by
    chunk of texts, the same order of chunks for every model, so that a text is made once for all. `items` are by
    benchmark, subsampled already.
    """
    for phase in sorted({cell.phase for cell in cells}):
        chosen = [cell for cell in cells if cell.phase == phase]
        for number, (own, first, last) in enumerate(_chunks(chosen, items, seed)):
            parts = [items[cell.benchmark][first:last] for cell in own]
            ends = np.cumsum([len(part) for part in parts])
            order = stable_rng("trial order", seed, model.name, phase, number).permutation(int(ends[-1]))
            for position in order:
                index = int(np.searchsorted(ends, position, side="right"))
                cell, part = own[index], parts[index]
                item = part[len(part) - int(ends[index] - position)]
                yield phase, Trial(model, engine, cell.benchmark, item, cell.condition, cell.replicate)


def _chunks(
    cells: Sequence[Cell], items: Mapping[str, Sequence[Item]], seed: int
) -> Iterator[tuple[list[Cell], int, int | None]]:
    """Cells with the range of items that is done together: clean cells whole, perturbed ones by chunk of texts."""
    clean = [cell for cell in cells if not cell.condition.perturbations]
    if clean:
        yield clean, 0, None
    by_text: dict[tuple[str, str, int], list[Cell]] = {}
    for cell in cells:
        condition = cell.condition
        if condition.perturbations:
            key = (cell.benchmark, condition.perturbations, condition.perturbation_seed or 0)
            by_text.setdefault(key, []).append(cell)
    chunks = [(key, first) for key in by_text for first in range(0, len(items[key[0]]), CHUNK)]
    for key, first in sorted(chunks, key=lambda chunk: stable_hash("chunk order", seed, chunk)):
        yield by_text[key], first, first + CHUNK


def blocks(
    model: ResolvedModel,
    engine: str,
    cells: Sequence[Cell],
    items: Mapping[str, Sequence[Item]],
    seed: int,
    skip: frozenset[str] | set[str] = frozenset(),
    size: int = 256,
) -> Iterator[Block]:
    """The trials of one model in blocks of at most `size`, made as they are asked for; a block has one phase.

    Args:
        model: the model of every cell.
        engine: name of the engine.
        cells: cells of that model only.
        items: items by benchmark, subsampled already.
        seed: the run's seed.
        skip: trial_ids that are recorded already.
        size: trials of a full block.
    """
    phase, waiting = -1, list[Trial]()
    for next_phase, trial in trials(model, engine, cells, items, seed):
        if waiting and (next_phase != phase or len(waiting) == size):
            yield Block(phase, tuple(waiting))
            waiting = []
        phase = next_phase
        if not skip or trial.trial_id not in skip:
            waiting.append(trial)
    if waiting:
        yield Block(phase, tuple(waiting))
