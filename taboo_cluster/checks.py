"""What types cannot say of a config: ranges, choices, names of registries, things listed twice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from taboo_cluster.benchmarks.base import BENCHMARKS, Benchmark
from taboo_cluster.config import ModelConfig, RunConfig
from taboo_cluster.errors import UserError, unknown
from taboo_cluster.sweep import conditions, prompt_styles

CHOICES: Mapping[str, tuple[str, ...]] = {
    "quantization": ("none", "nf4", "int8"),
    "dtype": ("bfloat16", "float16", "float32"),
    "stage": ("base", "sft", "dpo", "instruct"),
    "retry": ("transient", "permanent"),
    "on_drift": ("fail", "keep", "redo"),
}
"""Settings that take one of a few words."""


def check(config: RunConfig, benchmarks: Mapping[str, Benchmark]) -> None:
    """Raise UserError for the first value that no run could use.

    Args:
        config: complete and typed.
        benchmarks: the config's benchmarks, built.
    """
    _choice("retry", config.retry, "retry")
    _choice("on_drift", config.on_drift, "on_drift")
    _at_least("limit", config.limit, 1, " (null takes every item)")
    _at_least("replicates", config.replicates, 1)
    _at_least("variants", config.variants, 1)
    _at_least("n_shots", config.n_shots, 0)
    _at_least("max_attempts", config.max_attempts, 1)
    _at_least("cluster.cpus", config.cluster.cpus, 1)
    _at_least("cluster.cpus_per_engine", config.cluster.cpus_per_engine, 1)
    _at_least("cluster.max_restarts", config.cluster.max_restarts, 0)
    if config.cluster.stall_s is not None and not config.cluster.stall_s > 0:
        raise UserError(f"cluster.stall_s must be above 0 (null waits forever), not {config.cluster.stall_s:g}")
    if not 0 <= config.max_error_share <= 1:
        raise UserError(f"max_error_share is a share from 0 to 1, not {config.max_error_share:g}")
    for gib in config.cluster.gpus or []:
        if not (math.isfinite(gib) and gib > 0):
            raise UserError(f"cluster.gpus holds the GiB of each GPU, not {gib:g}")
    _check_taboo(config)
    _check_sampling(config)
    _check_files(config)
    _check_models(config.models)
    _check_benchmarks(config, benchmarks)


def _check_taboo(config: RunConfig) -> None:
    from taboo_cluster.taboo.reasoning import SCOPES
    from taboo_cluster.taboo.word_start import WORD_STARTS

    for rank in config.taboo.ranks:
        _at_least("taboo.ranks: a rank", rank, 0, " (0 is the baseline)")
    if not config.taboo.trigger:
        raise UserError("taboo.trigger is empty: name at least one, like taboo.trigger=word_start")
    if config.taboo.scope not in SCOPES:
        raise unknown("taboo.scope", config.taboo.scope, SCOPES)
    if config.taboo.word_start not in WORD_STARTS:
        raise unknown("taboo.word_start", config.taboo.word_start, WORD_STARTS)


def _check_sampling(config: RunConfig) -> None:
    sampling = config.sampling
    if not sampling.temperatures:
        raise UserError("sampling.temperatures is empty: [0] is greedy decoding")
    for temperature in sampling.temperatures:
        if not (math.isfinite(temperature) and temperature >= 0):
            raise UserError(f"sampling.temperatures: a temperature is 0 (greedy) or more, not {temperature:g}")
    if not 0 < sampling.top_p <= 1:
        raise UserError(f"sampling.top_p is a probability above 0 and up to 1, not {sampling.top_p:g}")
    if not sampling.seeds:
        raise UserError("sampling.seeds is empty: give at least one, like sampling.seeds=[0]")
    for seed in sampling.seeds:
        _at_least("sampling.seeds: a seed", seed, 0)
    _no_double("sampling.temperatures", (f"{temperature:g}" for temperature in sampling.temperatures))
    _no_double("sampling.seeds", map(str, sampling.seeds))


def is_path(option: str) -> bool:
    """True for the name of an option of an engine or benchmark that holds a local path."""
    return option == "path" or option.endswith("_path")


def _check_files(config: RunConfig) -> None:
    """What an engine reads when it starts must be there now; benchmarks and models look for their own."""
    for option, value in config.engine.items():
        if is_path(option) and value is not None and not Path(value).exists():
            raise UserError(f"engine.{option}: there is no file or folder {value}")


def _check_models(models: list[ModelConfig]) -> None:
    if not models:
        raise UserError("models is empty: name a model set, or write models inline: 'models=[{path: /models/x}]'")
    for model in models:
        for setting in ("quantization", "dtype", "stage"):
            _choice(setting, getattr(model, setting), f"models.{model.name}.{setting}")
        _at_least(f"models.{model.name}.limit", model.limit, 1)
        if not model.name.strip():
            raise UserError("models: a model without a name; give name or path")
    _no_double("models", (f"{_with_revision(m)} ({m.quantization}, {m.dtype})" for m in models))


def _with_revision(model: ModelConfig) -> str:
    return model.name if model.revision is None else f"{model.name}@{model.revision}"


def _check_benchmarks(config: RunConfig, benchmarks: Mapping[str, Benchmark]) -> None:
    if not config.benchmarks:
        raise UserError("benchmarks is empty: name at least one, like benchmarks=[gsm8k]")
    _no_double("benchmarks", config.benchmarks)
    for name in config.conditions_for:
        BENCHMARKS.get(name)
    for name, benchmark in benchmarks.items():
        styles = prompt_styles(config, benchmark)
        if not styles:
            raise UserError("prompt_style is empty: name at least one, or null for each benchmark's default")
        _no_double("prompt_style", styles)
        for style in styles:
            if style not in benchmark.styles:
                raise unknown(f"prompt_style of {name}", style, benchmark.styles)
    if config.n_shots or config.prompts:  # refused by the benchmark that has not as many examples
        for benchmark in benchmarks.values():
            try:
                item = benchmark.items()[0]
            except UserError:  # said when they are needed: a plan can do without
                continue
            asked = {(condition.prompt_style, condition.n_shots) for condition in conditions(config, benchmark)}
            for style, n_shots in sorted(asked):
                benchmark.prompt(item, item.question, style, n_shots)
    _check_prompt_search(config, benchmarks)


def _check_prompt_search(config: RunConfig, benchmarks: Mapping[str, Benchmark]) -> None:
    search = config.prompt_search
    if search is None:
        return
    if not 0 <= search.threshold <= 1:
        raise UserError(f"prompt_search.threshold is an accuracy from 0 to 1, not {search.threshold:g}")
    for benchmark in benchmarks.values():
        for key in ("baseline", "fragile", "stubborn"):
            style = getattr(search, key)
            if style is not None and style not in prompt_styles(config, benchmark):
                raise unknown(f"prompt_search.{key}", style, prompt_styles(config, benchmark))


def _choice(setting: str, value: str, where: str) -> None:
    if value not in CHOICES[setting]:
        raise unknown(where, value, CHOICES[setting])


def _at_least(where: str, value: int | None, least: int, remark: str = "") -> None:
    if value is not None and value < least:
        raise UserError(f"{where} must be at least {least}{remark}, not {value}")


def _no_double(where: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise UserError(f"{where}: {name} is listed {count} times")
