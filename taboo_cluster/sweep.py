"""From a config to trials: cells, the items of each, and their order. Pure; nothing is held that grows with the sweep
but one integer per trial of one model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.config import RunConfig
from taboo_cluster.hashing import stable_hash, stable_rng
from taboo_cluster.trial import Condition, Item, ResolvedModel, Taboo, Trial


@dataclass(frozen=True)
class Cell:
    """All trials of one model x benchmark x condition, one replicate of them."""

    model: int
    """Index of the model in the config."""
    benchmark: str
    condition: Condition
    replicate: int
    phase: int
    """A model's phase 0 ends before its phase 1 begins, so that no replicate shares a batch with its replicate 0."""


@dataclass(frozen=True)
class Block:
    """Some trials of one model and one phase: what is handed to an actor at once."""

    phase: int
    trials: tuple[Trial, ...]


def conditions(config: RunConfig, benchmark: Benchmark) -> list[Condition]:
    """One per rank, in the benchmark's default prompt style and number of examples unless the config names others."""
    style = benchmark.styles[0] if config.prompt_style is None else config.prompt_style
    shots = benchmark.default_shots if config.n_shots is None else config.n_shots
    taboo = config.taboo
    return [
        Condition(style, shots, Taboo(rank, taboo.trigger, taboo.word_start, taboo.protect_special))
        for rank in taboo.ranks
    ]


def cells(config: RunConfig, models: Sequence[object], benchmarks: Mapping[str, Benchmark]) -> list[Cell]:
    """Every cell of the sweep, by model, benchmark, rank and replicate.

    Replicates are made of the baseline and of the lowest rank above 0: the noise floor (METHODS, section 0). Phase 0
    holds replicate 0 of these; with one replicate there is nothing to keep apart and everything is phase 0.
    """
    repeated = {0, *sorted(rank for rank in config.taboo.ranks if rank > 0)[:1]}
    found = []
    for model in range(len(models)):
        for name, benchmark in benchmarks.items():
            for condition in conditions(config, benchmark):
                count = config.replicates if condition.taboo.rank in repeated else 1
                for replicate in range(count):
                    first = config.replicates == 1 or (count > 1 and replicate == 0)
                    found.append(Cell(model, name, condition, replicate, phase=0 if first else 1))
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

    A phase's trials come in one seeded order that mixes benchmarks, conditions and replicates. `items` are by
    benchmark, subsampled already.
    """
    for phase in sorted({cell.phase for cell in cells}):
        chosen = [cell for cell in cells if cell.phase == phase]
        ends = np.cumsum([len(items[cell.benchmark]) for cell in chosen])
        order = stable_rng("trial order", seed, model.name, phase).permutation(int(ends[-1]))
        for position in order:
            index = int(np.searchsorted(ends, position, side="right"))
            cell = chosen[index]
            of_cell = items[cell.benchmark]
            item = of_cell[len(of_cell) - int(ends[index] - position)]
            yield phase, Trial(model, engine, cell.benchmark, item, cell.condition, cell.replicate)


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
