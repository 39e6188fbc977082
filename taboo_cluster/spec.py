"""Names with options, as they are written in a config: `sparse(p=0.3,seed=7)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import yaml

from taboo_cluster.errors import UserError

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_OPTION = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([^,()=]+?)\s*")
_EXPONENT = re.compile(r"[-+]?\d+e[-+]?\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Spec:
    """A name and the options written with it."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        inside = ",".join(f"{key}={_written(value)}" for key, value in self.options.items())
        return f"{self.name}({inside})" if inside else self.name


def parse(text: str) -> Spec:
    """Read `name` or `name(key=value,...)`; values are scalars as in YAML. Raises UserError for anything else."""
    call = _CALL.fullmatch(text)
    if call is None:
        raise UserError(f"cannot read {text!r}: it is written name or name(option=value,...)")
    options: dict[str, Any] = {}
    for part in (call[2] or "").split(",") if (call[2] or "").strip() else []:
        option = _OPTION.fullmatch(part)
        if option is None:
            raise UserError(f"cannot read {part.strip()!r} in {text!r}: an option is written key=value")
        if option[1] in options:
            raise UserError(f"{option[1]} is given twice in {text!r}")
        try:
            options[option[1]] = _read(option[2])
        except yaml.YAMLError:
            raise UserError(f"cannot read {option[2]!r} in {text!r}: put it in quotes, {option[1]}='...'") from None
    return Spec(call[1], options)


def complete(name: str, options: Any) -> Spec:
    """The spec of a dataclass of options, in the order of its fields and with its defaults; nulls are left out."""
    values = {f.name: getattr(options, f.name) for f in fields(options)}
    return Spec(name, {key: value for key, value in values.items() if value is not None})


def _read(text: str) -> Any:
    """A scalar as YAML reads it, and numbers such as 1e-5, which YAML 1.1 takes for text."""
    return float(text) if _EXPONENT.fullmatch(text) else yaml.safe_load(text)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and not _reads_as_text(value):
        return "'" + value.replace("'", "''") + "'"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _reads_as_text(value: str) -> bool:
    """Whether YAML reads the text as itself without quotes; `[id]`, `no` and `1` it does not."""
    try:
        return bool(_read(value) == value)
    except yaml.YAMLError:
        return False
