"""Settings of a recorded run that a new config would change in a way that does not show in the trials' ids.

A trial's id holds model, revision, quantization, dtype, engine, item, condition and replicate. What it does not hold -
how prompts are made, how many tokens may follow, how items are drawn - has to stay as it was, or one run would mix two
kinds of records under one name. Added models, ranks and benchmarks, another limit, and where and how fast a run goes
are no drift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from taboo_cluster.engines.base import ENGINES

RUN = ("seed", "prompt_style", "n_shots")
"""seed draws the items; a run's condition names leave prompt style and number of examples out."""

MODEL = (
    "path",
    "revision",
    "system_prompt",
    "chat_template_kwargs",
    "trust_remote_code",
    "aligned",
    "stage",
    "pair",
    "family",
    "size_b",
)
"""What changes a model's prompts or weights under the same name, or is recorded with every trial."""


def drift(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Each such setting as "name: old -> new"; empty where the new config only extends or repeats the old one.

    Args:
        old: the recorded config (`compose.to_dict`).
        new: the one asked for. A model's revision that it leaves open is whatever was recorded.
    """
    return [f"{name}: {_show(before)} -> {_show(after)}" for name, before, after in _pairs(old, new) if before != after]


def _pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in RUN:
        yield name, old.get(name), new.get(name)
    yield from _engine(old["engine"], new["engine"])
    for name in old["benchmarks"]:
        if name in new["benchmarks"]:
            before, after = old["benchmark"].get(name, {}), new["benchmark"].get(name, {})
            for key in sorted({**before, **after}):
                yield f"benchmark.{name}.{key}", before.get(key), after.get(key)
    recorded = {_model_key(model): model for model in old["models"]}
    for model in new["models"]:
        if (same := recorded.get(_model_key(model))) is None:
            continue
        for key in MODEL:
            if key != "revision" or model.get(key) is not None:
                yield f"models.{model['name']}.{key}", same.get(key), model.get(key)


def _engine(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Another engine is drift by itself; else its options, but those its dataclass marks as changing no number."""
    yield "engine", old["name"], new["name"]
    if old["name"] == new["name"]:
        harmless = {
            f.name for f in fields(ENGINES.get(new["name"]).options) if f.metadata.get("changes_numbers") is False
        }
        for key in sorted(({**old, **new}.keys()) - harmless - {"name"}):
            yield f"engine.{key}", old.get(key), new.get(key)


def _model_key(model: Mapping[str, Any]) -> tuple[Any, ...]:
    return model["name"], model.get("quantization"), model.get("dtype")


def _show(value: Any) -> str:
    return "null" if value is None else str(value)
