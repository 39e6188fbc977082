"""Python values made fit for a column: the right type, nothing that Parquet text or statistics cannot hold."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pyarrow as pa

Cleaner = Callable[[Any], Any]


def clean_text(text: str) -> str:
    """The text with what UTF-8 cannot hold (lone surrogates) replaced by U+FFFD; most texts come back as they are."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def cleaner(kind: pa.DataType) -> Cleaner:
    """A function that makes one value fit a column of this type; None stays None.

    NaN and infinities become None. The function raises TypeError or ValueError for a value of another type, an
    integer out of range or a time without a zone.
    """
    if pa.types.is_list(kind):
        inner = cleaner(kind.value_type)
        return _optional(lambda values: [inner(value) for value in values])
    if pa.types.is_struct(kind):
        fields = {field.name: cleaner(field.type) for field in kind}
        return _optional(lambda value: _struct(value, fields))
    if pa.types.is_integer(kind):
        limit = 2 ** (kind.bit_width - 1)
        return _optional(lambda value: _integer(value, limit))
    if pa.types.is_floating(kind):
        return _optional(_float)
    if pa.types.is_boolean(kind):
        return _optional(_boolean)
    if pa.types.is_timestamp(kind):
        return _optional(_time)
    if pa.types.is_string(kind):
        return _optional(_text)
    raise TypeError(f"no column holds {kind}")


def _optional(clean: Cleaner) -> Cleaner:
    return lambda value: None if value is None else clean(value)


def _struct(value: Any, fields: dict[str, Cleaner]) -> dict[str, Any]:
    if unknown := value.keys() - fields.keys():
        raise ValueError(f"unknown fields {sorted(unknown)}")
    return {name: clean(value.get(name)) for name, clean in fields.items()}


def _integer(value: Any, limit: int) -> int:
    if isinstance(value, bool):
        raise TypeError("a bool is not a count")
    whole = operator.index(value)
    if not -limit <= whole < limit:
        raise ValueError(f"{whole} is out of range")
    return whole


def _float(value: Any) -> float | None:
    if isinstance(value, str | bool):
        raise TypeError(f"{value!r} is not a number")
    number = float(value)
    return number if math.isfinite(number) else None


def _boolean(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise TypeError(f"{value!r} is not a bool")


def _time(value: Any) -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise TypeError(f"{value!r} is not a time with a zone")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return clean_text(value)
