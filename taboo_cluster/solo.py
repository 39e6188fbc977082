"""One model in this process, for the commands that ask it something: which one, on what hardware, loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from taboo_cluster.compose import engine_options, load_config
from taboo_cluster.config import RunConfig
from taboo_cluster.engines.base import Engine, Hardware
from taboo_cluster.errors import EngineDied, UserError, unknown
from taboo_cluster.gpus import seen_gpus
from taboo_cluster.models import load_config as load_model_config
from taboo_cluster.models import resolve, shape_of
from taboo_cluster.placement import Demand, estimate, pack
from taboo_cluster.tree import group_files
from taboo_cluster.trial import ResolvedModel

SETTABLE = ("engine", "cluster", "plugins")
"""Settings of how one model runs."""


@dataclass(frozen=True)
class Solo:
    """A model by itself."""

    config: RunConfig
    """With this model alone."""
    model: ResolvedModel

    @property
    def engine_name(self) -> str:
        """Which engine runs it."""
        return str(self.config.engine["name"])

    @contextmanager
    def loaded(self) -> Iterator[Engine]:
        """The engine with the model, closed at the end.

        Raises UserError for a model that cannot be loaded, and in the place of EngineDied.
        """
        entry, options = engine_options(self.config)
        engine = entry.build(self.model, options, _hardware(self.config, self.model, entry.uses_gpu))
        try:
            yield engine
        except EngineDied as error:
            name = self.model.name
            raise UserError(f"the engine of {name} is gone ({error}); the same command goes on from here") from error
        finally:
            engine.close()


def solo(
    role: str, model: str, overrides: Sequence[str], config_dir: str | None, settable: Sequence[str] = SETTABLE
) -> Solo:
    """One model, as a model set has it or by itself, found but not loaded.

    Args:
        role: what the model is to be, for messages.
        model: a model of any model set, a hub name, a folder, or settings as in a model set: `{name: ..., ...}`.
        overrides: of the config, as on the command line.
        config_dir: a user's own conf tree.
        settable: the settings that these may set.

    Raises UserError for another setting, an unknown or unusable model, or anything wrong with the config.
    """
    config = _config(role, model, overrides, config_dir, settable)
    entry, options = engine_options(config)
    return Solo(config, entry.find(config.models[0], options) if entry.find else resolve(config.models[0]))


def _config(
    role: str, model: str, overrides: Sequence[str], config_dir: str | None, settable: Sequence[str]
) -> RunConfig:
    for text in overrides:
        if text.lstrip("+").partition("=")[0].partition(".")[0] not in settable:
            raise UserError(f"{text!r} has no effect on a {role}; what can be set: {', '.join(settable)}")
    fixed = ["+sweep=alignment", "benchmarks=[arithmetic]", *overrides]  # a config has to have some sweep
    if model.startswith("{"):
        return load_config([*fixed, f"models=[{model}]"], config_dir)
    sets = load_config([*fixed, f"models=[{','.join(group_files('models', config_dir))}]"], config_dir)
    for known in sets.models:
        if known.name == model:
            return replace(sets, models=[known])
    if model.startswith(("/", ".", "~", "embedded:")) or os.path.isdir(model):
        key = "path"
    elif model.count("/") == 1:
        key = "name"
    else:
        raise unknown(role, model, [known.name for known in sets.models])
    quoted = model.replace("\\", "\\\\").replace("'", "\\'")
    return load_config([*fixed, f"models=[{{{key}: '{quoted}', aligned: true, stage: instruct}}]"], config_dir)


def _hardware(config: RunConfig, model: ResolvedModel, uses_gpu: bool) -> Hardware:
    """All the cores, or the fewest GPUs that hold the model. Raises UserError for one that fits on none."""
    gpus = seen_gpus(config.cluster) if uses_gpu else []
    if not gpus:
        return Hardware(threads=config.cluster.cpus or os.cpu_count() or 1)
    shape = config.models[0].shape or shape_of(load_model_config(model))
    memory = estimate(shape, model.quantization, model.dtype, model.size_b)
    packing = pack([Demand(model.name, memory, shape.heads)], gpus)
    if packing.refused:
        raise UserError(packing.refused[0])
    place = packing.placements[0]
    return Hardware(place.gpu_share, place.tensor_parallel)
