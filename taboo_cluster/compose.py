"""The run's config: composed by Hydra, checked against the typed config, made independent of where it was started."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, cast

from taboo_cluster.benchmarks.base import BENCHMARKS, Benchmark
from taboo_cluster.checks import CHOICES, check, is_path
from taboo_cluster.config import ClusterConfig, ModelConfig, RunConfig, TabooConfig
from taboo_cluster.drift import drift as drift
from taboo_cluster.engines.base import ENGINES, EngineEntry
from taboo_cluster.errors import UserError, unknown
from taboo_cluster.perturbations.stack import canonical, members
from taboo_cluster.prompting import Prompted, resolved
from taboo_cluster.spec import Spec
from taboo_cluster.tree import compose_tree, group_files
from taboo_cluster.typed import build


def load_config(overrides: Sequence[str], config_dir: str | None = None) -> RunConfig:
    """Compose `overrides` (as on the command line) into a checked config.

    Interpolations are resolved, `engine=auto` is decided, paths are absolute (relative ones start in the directory of
    the launch), ranks are sorted and include the baseline.

    Args:
        overrides: Hydra overrides; `+` before a key is optional.
        config_dir: a user's own conf tree, searched beside the shipped one.

    Raises:
        UserError: anything wrong, in one line, before anything starts.
    """
    tree = compose_tree(overrides, config_dir)
    tree["models"] = [*_as_list(tree.get("models") or []), *tree.pop("inline_models")]
    tree["models"] = [_named(model) for model in tree["models"]]
    config = _in_revisions(_absolute(from_dict(tree)))
    if config.precisions is not None:
        config = replace(config, models=_in_precisions(config.models, config.precisions), precisions=None)
    if not config.sweep:  # said last: a mistyped key is the better explanation
        raise UserError(f"no sweep given: add +sweep=NAME. Known: {', '.join(group_files('sweep', config_dir))}")
    check(config, {name: build_benchmark(config, name) for name in config.benchmarks})
    return config


def from_dict(data: Mapping[str, Any]) -> RunConfig:
    """The config from a plain dict, as actors and recorded runs have it; plugins are imported first.

    Options of the engine and of the run's benchmarks are completed with their defaults.
    """
    import_plugins(data.get("plugins") or [])
    models = [_model(model) for model in data.get("models") or []]
    config = build(RunConfig, {"benchmark": {}, **data, "models": models})
    benchmark = {
        name: _benchmark_options(config, name) for name in {**dict.fromkeys(config.benchmarks), **config.benchmark}
    }
    engine = _engine(config.engine, config.cluster)
    return replace(
        config,
        benchmark=benchmark,
        engine=engine,
        taboo=_taboo(config.taboo),
        conditions=_canonical(config.conditions),
        conditions_for={name: _canonical(stacks) for name, stacks in config.conditions_for.items()},
    )


def _taboo(config: TabooConfig) -> TabooConfig:
    """Ranks in order, the baseline among them; triggers as a list, each with all its options."""
    from taboo_cluster.taboo.triggers.base import choose

    named = [config.trigger] if isinstance(config.trigger, str) else config.trigger
    triggers = list(dict.fromkeys(str(choose(text).spec) for text in named))
    return replace(config, ranks=sorted({0, *config.ranks}), trigger=triggers)


def _canonical(stacks: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(canonical(stack) for stack in stacks))


def _in_revisions(config: RunConfig) -> RunConfig:
    """Every model that lists revisions once for each of them."""
    found = []
    for model in config.models:
        where = f"models.{model.name}.revisions"
        if model.revisions is None:
            found.append(model)
            continue
        if not model.revisions:
            raise UserError(f"{where} is empty: name branches, tags or commits, or leave it out")
        if model.path is not None or model.revision is not None:
            other = "revision" if model.path is None else "path"
            raise UserError(f"{where} names revisions on the hub, which {other} does too: leave one of them out")
        if engine_options(config)[0].served:
            raise UserError(f"{where}: a server holds one revision of a model; engine=transformers loads each")
        found += [replace(model, revision=revision, revisions=None) for revision in model.revisions]
    return replace(config, models=found)


def _in_precisions(models: Sequence[ModelConfig], precisions: Sequence[str]) -> list[ModelConfig]:
    """Every model in each precision: a type of numbers, or a quantization on top of the model's own type."""
    found = []
    for model in models:
        for precision in precisions:
            if precision not in (*CHOICES["dtype"], *CHOICES["quantization"]) or precision == "none":
                raise unknown("precision", precision, [*CHOICES["dtype"], *CHOICES["quantization"][1:]])
            plain = precision in CHOICES["dtype"]
            found.append(
                replace(model, dtype=precision, quantization="none")
                if plain
                else replace(model, quantization=precision)
            )
    return found


def to_dict(config: RunConfig) -> dict[str, Any]:
    """Plain dicts, lists and scalars: what is handed to actors and written to config.yaml."""
    plain: dict[str, Any] = _plain(config)
    return plain


def build_benchmark(config: RunConfig, name: str) -> Benchmark:
    """The benchmark with the config's options. Raises UserError for an unknown one or a missing local file.

    One that runs generated code has an option `allow_unsafe_code`, which the run's setting of that name turns on.
    """
    entry = BENCHMARKS.get(name)
    options = build(entry.options, config.benchmark.get(name, {}), f"benchmark.{name}")
    if config.allow_unsafe_code and hasattr(options, "allow_unsafe_code"):
        options = replace(options, allow_unsafe_code=True)
    benchmark = entry.build(options)
    return cast(Benchmark, Prompted(benchmark, config.prompts)) if config.prompts else benchmark


def engine_options(config: RunConfig) -> tuple[EngineEntry, Any]:
    """The engine's registry entry and its options."""
    given = dict(config.engine)
    entry = ENGINES.get(given.pop("name"))
    return entry, build(entry.options, given, "engine")


def import_plugins(names: Iterable[str]) -> None:
    """Import the modules that may register benchmarks, engines ...; raises UserError for one that fails."""
    for name in [names] if isinstance(names, str) else names:
        try:
            importlib.import_module(name)
        except Exception as error:  # a plugin may raise anything while it is imported
            raise UserError(f"plugin {name!r} cannot be imported: {type(error).__name__}: {error}") from error


# --- reading ---


def _as_list(models: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
    """Model sets are mappings by name, so that several can be merged; a list is taken as it is."""
    if not isinstance(models, Mapping):
        return list(models)
    entries = []
    for name, settings in models.items():
        if not isinstance(settings, Mapping | None):
            raise UserError(f"models.{name} must be a mapping of settings, not {settings!r}")
        entries.append({"name": name, **(settings or {})})
    return entries


def _named(model: Any) -> Any:
    """A model given by its path alone takes the folder's name."""
    if isinstance(model, Mapping) and not model.get("name") and isinstance(model.get("path"), str):
        return {**model, "name": Path(model["path"]).name}
    return model


def _model(data: Any) -> ModelConfig:
    if isinstance(data, ModelConfig):
        return data
    label = data.get("name") if isinstance(data, Mapping) else None
    return build(ModelConfig, data, f"models.{label}" if label else "models")


def _benchmark_options(config: RunConfig, name: str) -> dict[str, Any]:
    options = BENCHMARKS.get(name).options
    typed = build(options, config.benchmark.get(name, {}), f"benchmark.{name}")
    return {field.name: _plain(getattr(typed, field.name)) for field in fields(options)}


def _engine(engine: Mapping[str, Any], cluster: ClusterConfig) -> dict[str, Any]:
    """Name and all options; `auto` is vllm where a GPU is named or seen, else transformers."""
    name, given = engine.get("name", "auto"), {key: value for key, value in engine.items() if key != "name"}
    if name == "auto":
        name = "vllm" if _has_gpu(cluster) else "transformers"
    options = ENGINES.get(str(name)).options
    typed = build(options, given, "engine")
    return {"name": name, **{field.name: _plain(getattr(typed, field.name)) for field in fields(options)}}


def _has_gpu(cluster: ClusterConfig) -> bool:
    if cluster.gpus is not None:
        return bool(cluster.gpus)
    import torch

    return torch.cuda.is_available()


def _absolute(config: RunConfig) -> RunConfig:
    """Every local path absolute, so that it means the same in every actor."""
    return replace(
        config,
        run_dir=_full(config.run_dir, "run_dir"),
        reuse=[str(_full(path, "reuse")) for path in config.reuse],
        models=[replace(model, path=_full(model.path, f"models.{model.name}.path")) for model in config.models],
        benchmark={name: _full_paths(options, f"benchmark.{name}") for name, options in config.benchmark.items()},
        engine=_full_paths(config.engine, "engine"),
        prompts={
            name: resolved(name, replace(prompt, pool_path=_full(prompt.pool_path, f"prompts.{name}.pool_path")))
            for name, prompt in config.prompts.items()
        },
        conditions=[_full_stack(stack) for stack in config.conditions],
        conditions_for={name: [_full_stack(one) for one in stacks] for name, stacks in config.conditions_for.items()},
    )


def _full(path: str | None, where: str) -> str | None:
    """An absolute path; what has a scheme (s3://..., embedded:...) stays as it is. UserError for an empty one."""
    if path is None or ":" in path.split("/")[0]:
        return path
    if not path.strip():
        raise UserError(f"{where} is empty: name a path, or leave it out")
    return os.path.abspath(os.path.expanduser(path))


def _full_paths(options: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Options named `path` or `..._path` are local paths."""
    return {
        key: _full(value, f"{where}.{key}") if isinstance(value, str) and is_path(key) else value
        for key, value in options.items()
    }


def _full_stack(stack: str) -> str:
    """A stack whose perturbations' local paths are absolute. UserError for one that a condition's name cannot hold."""
    specs = [Spec(m.name, _full_paths(m.spec.options, f"perturbation {m.name}")) for m in members(stack)]
    for spec in specs:
        for key, value in spec.options.items():
            if is_path(key) and set(",()=") & set(str(value)):
                raise UserError(f"perturbation {spec.name}.{key}: {value} has one of , ( ) = in it: rename the folder")
    return "→".join(map(str, specs))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
