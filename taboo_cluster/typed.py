"""Plain values -> frozen dataclasses, with an error a person can act on for every key and value that does not fit."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from taboo_cluster.errors import UserError, nearest

T = TypeVar("T")

_WORDS: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def build(cls: type[T], data: Any, where: str = "") -> T:
    """The dataclass `cls` filled from `data`, checked key by key.

    Args:
        cls: a dataclass whose fields are plain types, lists, mappings, unions with None, or dataclasses.
        data: a mapping, as read from YAML.
        where: dotted path of `data`, for messages; empty at the top.

    Raises:
        UserError: an unknown key (with the nearest known one), a missing key or a value of another type.
    """
    if not isinstance(data, Mapping):
        raise UserError(f"{where or 'the config'} must be a mapping of settings, not {data!r}")
    hints = get_type_hints(cls)
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    for key in data:
        if key not in known:
            raise _unknown_key(cls, str(key), where)
    missing = [name for name, field in known.items() if name not in data and _required(field)]
    if missing:
        raise UserError(f"{_join(where, missing[0])} is not set")
    return cls(**{key: _convert(value, hints[key], _join(where, key)) for key, value in data.items()})


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _unknown_key(cls: type[Any], key: str, where: str) -> UserError:
    """Names the nearest sibling, or the same key where it does exist one level down."""
    names = [field.name for field in fields(cls)]
    below = {
        inner.name: f"{name}.{inner.name}"
        for name, hint in get_type_hints(cls).items()
        if is_dataclass(hint)
        for inner in fields(hint)
    }
    close = below.get(key) or nearest(key, names)
    hint = f" - did you mean {_join(where, close)!r}?" if close else "."
    return UserError(f"unknown key {_join(where, key)!r}{hint} Known: {', '.join(sorted(names)) or 'none'}")


def _convert(value: Any, hint: Any, where: str) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        return _first_that_fits(value, [arm for arm in args if arm is not type(None)], where)
    if origin is Literal:
        if value not in args:
            raise UserError(f"{where} must be one of {', '.join(map(str, args))}, not {value!r}")
        return value
    if origin in (list, tuple, Sequence):
        if not isinstance(value, (list, tuple)):
            raise UserError(f"{where} must be a list, like [{_shown(value)}], not {value!r}")
        items = [_convert(item, args[0], f"{where}[{index}]") for index, item in enumerate(value)]
        return tuple(items) if origin is tuple else items
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise UserError(f"{where} must be a mapping of settings, not {value!r}")
        return {str(key): _convert(item, args[1], _join(where, str(key))) for key, item in value.items()}
    if is_dataclass(hint) and isinstance(hint, type):
        return value if isinstance(value, hint) else build(hint, value, where)
    return _scalar(value, hint, where)


def _first_that_fits(value: Any, arms: list[Any], where: str) -> Any:
    for arm in arms[:-1]:
        try:
            return _convert(value, arm, where)
        except UserError:
            continue
    return _convert(value, arms[-1], where)


def _scalar(value: Any, hint: Any, where: str) -> Any:
    """bool, int, float and str exactly (a number never stands for true or for text), but a float may be whole."""
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        quoted = f" (put it in quotes: '{where}=\"{value}\"')" if hint is str and value is not None else ""
        raise UserError(f"{where} must be {_WORDS.get(hint, str(hint))}, not {value!r}{quoted}")
    return value


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
