"""What types cannot say of a config: ranges, choices, names of registries, things listed twice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.config import ModelConfig, RunConfig
from taboo_cluster.errors import UserError, unknown

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
    _at_least("n_shots", config.n_shots, 0)
    _at_least("max_attempts", config.max_attempts, 1)
    _at_least("cluster.cpus", config.cluster.cpus, 1)
    _at_least("cluster.cpus_per_engine", config.cluster.cpus_per_engine, 1)
    _at_least("cluster.max_restarts", config.cluster.max_restarts, 0)
    if not 0 <= config.max_error_share <= 1:
        raise UserError(f"max_error_share is a share from 0 to 1, not {config.max_error_share:g}")
    for gib in config.cluster.gpus or []:
        if not (math.isfinite(gib) and gib > 0):
            raise UserError(f"cluster.gpus holds the GiB of each GPU, not {gib:g}")
    _check_taboo(config)
    _check_models(config.models)
    _check_benchmarks(config, benchmarks)


def _check_taboo(config: RunConfig) -> None:
    from taboo_cluster.taboo.triggers.base import TRIGGERS
    from taboo_cluster.taboo.word_start import WORD_STARTS

    for rank in config.taboo.ranks:
        _at_least("taboo.ranks: a rank", rank, 0, " (0 is the baseline)")
    TRIGGERS.get(config.taboo.trigger)
    if config.taboo.word_start not in WORD_STARTS:
        raise unknown("taboo.word_start", config.taboo.word_start, WORD_STARTS)


def _check_models(models: list[ModelConfig]) -> None:
    if not models:
        raise UserError("models is empty: name a model set, or write models inline: 'models=[{path: /models/x}]'")
    for model in models:
        for setting in ("quantization", "dtype", "stage"):
            _choice(setting, getattr(model, setting), f"models.{model.name}.{setting}")
        _at_least(f"models.{model.name}.limit", model.limit, 1)
        if not model.name.strip():
            raise UserError("models: a model without a name; give name or path")
    _no_double("models", (f"{m.name} ({m.quantization}, {m.dtype})" for m in models))


def _check_benchmarks(config: RunConfig, benchmarks: Mapping[str, Benchmark]) -> None:
    if not config.benchmarks:
        raise UserError("benchmarks is empty: name at least one, like benchmarks=[gsm8k]")
    _no_double("benchmarks", config.benchmarks)
    for name, benchmark in benchmarks.items():
        if config.prompt_style is not None and config.prompt_style not in benchmark.styles:
            raise unknown(f"prompt_style of {name}", config.prompt_style, benchmark.styles)
        if config.n_shots is not None:  # refused by the benchmark that has not as many examples
            item = benchmark.items()[0]
            benchmark.prompt(item, item.question, config.prompt_style or benchmark.styles[0], config.n_shots)


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
