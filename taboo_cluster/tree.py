"""Hydra's part: overrides and YAML files -> one plain, resolved tree. What the tree means is checked in compose.py.

Hydra is used through its compose API: no outputs folder, and every error becomes one line of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from taboo_cluster.errors import UserError, unknown

CONF = Path(__file__).resolve().parents[1] / "conf"
"""The shipped tree: beside the package, in a checkout as when installed."""


SUITE = ("suite", "suite_shots", "suite_offline", "suite_domains", "suite_answer_tokens", "suite_fragmentation")
"""Keys that others are made of by interpolation (conf/config.yaml); by then they have done their work."""


def group_files(group: str, config_dir: str | None = None) -> dict[str, Path]:
    """The files of a group (sweep, models, cluster, engine) by name, the user's own tree included.

    Raises UserError for a tree of the user's that is not there or cannot be used.
    """
    _check_user_tree(config_dir)
    found = {
        path.relative_to(root / group).with_suffix("").as_posix(): path
        for root in _roots(config_dir)
        for path in (root / group).rglob("*.yaml")
    }
    return dict(sorted(found.items()))


def compose_tree(overrides: Sequence[str], config_dir: str | None = None) -> dict[str, Any]:
    """The composed tree with interpolations resolved; `sweep` is the sweep's name, empty where none is asked for.

    `models` comes back as a mapping or list of settings, models written inline on the command line as a list under
    `inline_models`. Keys may be given with or without `+`.

    Raises:
        UserError: anything that cannot be composed.
    """
    _check_user_tree(config_dir)
    asked = _read(overrides, config_dir)
    search = [f"hydra.searchpath=['file://{root.as_posix()}']" for root in _roots(config_dir)[1:]]
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            composed = compose("config", overrides=[*search, *asked.hydra])
        tree = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException, yaml.YAMLError) as error:
        raise UserError(f"cannot compose the config: {_one_line(error)}") from error
    assert isinstance(tree, dict)
    if tree.get("sweep"):  # a file without the directive sets sweep.KEY, which nobody would read
        raise UserError(
            f"{group_files('sweep', config_dir)[asked.sweep]} must begin with the line '# @package _global_'"
        )
    typed = {str(key): value for key, value in tree.items() if key not in SUITE}
    return typed | {"sweep": asked.sweep, "inline_models": asked.models}


def parse_override(text: str) -> Override:
    """One `key=value` of the command line; raises UserError for one that cannot be read or gives several values."""
    try:
        override = OverridesParser.create().parse_override(text)
    except HydraException as error:
        raise _unreadable(text) from error
    if override.is_sweep_override():
        key, _, value = text.lstrip("+").partition("=")
        raise UserError(f"{text!r} gives several values without brackets: write '{key}=[{value}]'")
    return override


@dataclass
class _Asked:
    """The command line, sorted: what Hydra composes and what it cannot express."""

    sweep: str = ""
    models: list[dict[str, Any]] = field(default_factory=list)
    hydra: list[str] = field(default_factory=list)


def _read(overrides: Sequence[str], config_dir: str | None) -> _Asked:
    asked = _Asked()
    for text in overrides:
        override = parse_override(text)
        if override.is_delete():
            asked.hydra.append(text)
        elif override.key_or_group == "sweep":
            asked.sweep = _choice("sweep", override.value(), config_dir)
            asked.hydra.append(f"+sweep={asked.sweep}")
        elif override.key_or_group == "models":
            _read_models(override.value(), asked, config_dir)
        elif override.key_or_group == "prompt":
            asked.hydra.append(f"+prompt={_choice('prompt', override.value(), config_dir)}")
        elif override.key_or_group == "cluster" and isinstance(override.value(), str):
            asked.hydra.append(f"cluster={_choice('cluster', override.value(), config_dir)}")
        elif override.key_or_group == "engine" and isinstance(override.value(), str):
            name = override.value()
            own = name in group_files("engine", config_dir)
            asked.hydra.append(f"+engine={name}" if own else f"++engine.name='{name}'")
        elif override.key_or_group == "benchmark" and isinstance(override.value(), str):
            raise UserError(f"benchmark holds options by benchmark; to choose one: benchmarks=[{override.value()}]")
        else:  # "++" sets a key whether it is in the tree or not; whether it is a known one is checked later
            asked.hydra.append("++" + text.lstrip("+"))
    return asked


def _unreadable(text: str) -> UserError:
    key, equals, value = text.partition("=")
    if not equals:
        return UserError(f"cannot read {text!r}: settings are written key=value")
    bare = value.strip("[]").replace('"', "").replace("'", "")
    quoted = f'["{bare}"]' if value.startswith("[") else f'"{bare}"'
    return UserError(f"cannot read {text!r}: quote a value with brackets, spaces or commas inside: '{key}={quoted}'")


def _read_models(value: Any, asked: _Asked, config_dir: str | None) -> None:
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise UserError("models is empty: name a model set, or write models inline: 'models=[{path: /models/x}]'")
    names = [_model_set(entry, config_dir) for entry in entries if not isinstance(entry, dict)]
    asked.models = [dict(entry) for entry in entries if isinstance(entry, dict)]
    asked.hydra.append(f"models=[{','.join(names)}]")


def _model_set(name: Any, config_dir: str | None) -> str:
    known = group_files("models", config_dir)
    if isinstance(name, str) and name not in known and "/" in name:
        key = "path" if Path(name).expanduser().is_dir() or name[0] in "/.~" else "name"
        raise UserError(f"unknown model set {name!r}: a model by itself is written 'models=[{{{key}: {name}}}]'")
    return _choice("models", name, config_dir)


def _choice(group: str, name: Any, config_dir: str | None) -> str:
    known = group_files(group, config_dir)
    if str(name) not in known:
        raise unknown({"models": "model set"}.get(group, group), str(name), known)
    return str(name)


def _roots(config_dir: str | None) -> list[Path]:
    return [CONF, *([Path(config_dir).expanduser().resolve()] if config_dir else [])]


def _check_user_tree(config_dir: str | None) -> None:
    """A file named like a shipped one would be ignored by Hydra without a word."""
    for root in _roots(config_dir)[1:]:
        if not root.is_dir():
            raise UserError(f"--config-dir {config_dir}: no such directory")
        for path in sorted(root.rglob("*.yaml")):
            if (CONF / path.relative_to(root)).exists():
                raise UserError(f"{path} has the name of a shipped config: rename it")
            try:
                path.read_text(encoding="utf-8")
            except (UnicodeDecodeError, OSError) as error:
                raise UserError(f"{path} cannot be read: {error}") from error


def _one_line(error: Exception) -> str:
    return " ".join(line.strip() for line in str(error).splitlines()[:3] if line.strip())
