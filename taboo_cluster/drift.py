"""Settings of a recorded run that a new config would change in a way that does not show in the trials' ids.

A trial's id holds model, revision, quantization, dtype, engine, item, condition and replicate. What it does not hold -
how prompts are made, how many tokens may follow, how items are drawn - has to stay as it was, or one run would mix two
kinds of records under one name. Added models, ranks, benchmarks and prompt styles, another limit, and where and how
fast a run goes are no drift.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from taboo_cluster.engines.base import ENGINES

RUN = ("seed", "n_shots")
"""seed draws the items; a run's condition names leave the number of examples out."""

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
    yield from _common("", old, new, RUN)
    if not _styles(old) <= _styles(new):
        yield "prompt_style", old.get("prompt_style"), new.get("prompt_style")
    prompts = old.get("prompts", {}), new.get("prompts", {})
    yield from _common("prompts.", *prompts, prompts[1])
    yield "engine", old["engine"]["name"], new["engine"]["name"]
    if old["engine"]["name"] == new["engine"]["name"]:
        yield from _common("engine.", old["engine"], new["engine"], _deciding(new["engine"]))
    for name in old["benchmarks"]:
        if name in new["benchmarks"]:
            options = new["benchmark"].get(name, {})
            yield from _common(f"benchmark.{name}.", old["benchmark"].get(name, {}), options, options)
    for model in new["models"]:
        keys = [key for key in MODEL if key != "revision" or model[key] is not None]
        yield from _common(f"models.{model['name']}.", _counterpart(model, old, new), model, keys)


def _styles(config: Mapping[str, Any]) -> set[str | None]:
    """None stands for each benchmark's default."""
    named = config.get("prompt_style")
    return set(named) if isinstance(named, list) else {named}


def _common(
    where: str, old: Mapping[str, Any], new: Mapping[str, Any], keys: Iterable[str]
) -> Iterator[tuple[str, Any, Any]]:
    """The settings that both know: one that came or went with another version of this project says nothing."""
    yield from ((where + key, old[key], new[key]) for key in keys if key in old and key in new)


def _deciding(engine: Mapping[str, Any]) -> list[str]:
    """The engine's options, but those its dataclass marks as changing no number."""
    options = fields(ENGINES.get(engine["name"]).options)
    return [option.name for option in options if option.metadata.get("changes_numbers") is not False]


def _counterpart(model: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the recorded config says of a model of the new one; nothing where it is an added one.

    Another revision is an added model where either config lists several; else it is another state of the same model.
    """
    recorded, asked = (
        [one for one in config["models"] if _model_key(one) == _model_key(model)] for config in (old, new)
    )
    same = [one for one in recorded if model["revision"] in (None, one["revision"])]
    if not same and len(recorded) == len(asked) == 1:
        same = recorded
    return same[0] if same else {}


def _model_key(model: Mapping[str, Any]) -> tuple[Any, ...]:
    return model["name"], model.get("quantization"), model.get("dtype")


def _show(value: Any) -> str:
    return "null" if value is None else str(value)
