"""Plain values over a pipe. What a hostile program sends can only ever become a value: no pickle, no code, no objects.

A message is four bytes of length, then JSON. What JSON lacks is an object with one key, the type's name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

MAX_MESSAGE = 16 * 1024**2
"""Bytes of the longest message that is read."""
_LONG = 1 << 63
"""Integers from here on travel in hexadecimal: turning them into decimal digits takes quadratic time."""


def encode(value: Any) -> Any:
    """A plain value (numbers, text, bytes, None, lists, tuples, dicts, sets of these) as JSON can hold it.

    Subclasses become what they extend: a Counter is a dict. Raises TypeError for anything else.
    """
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, int):
        return int(value) if -_LONG < value < _LONG else {"int": hex(value)}
    if isinstance(value, list):
        return _all(value)
    if isinstance(value, dict):
        return {"dict": [_all(pair) for pair in value.items()]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    for kind in (tuple, set, frozenset):
        if isinstance(value, kind):
            return {kind.__name__: _all(value)}
    raise TypeError(f"{type(value).__name__} is not a plain value")


def decode(data: Any) -> Any:
    """The value that `encode` was given. Raises ValueError or TypeError for what it never makes."""
    if isinstance(data, list):
        return [decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    ((kind, content),) = data.items()
    if kind == "int":
        return int(content, 16)
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "complex":
        return complex(*content)
    if kind == "dict":
        return {decode(key): decode(value) for key, value in content}
    return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](decode(item) for item in content)


def message(content: Any) -> bytes:
    """A message as it goes over the pipe."""
    body = json.dumps(content).encode("ascii")
    return len(body).to_bytes(4, "big") + body


def send(pipe: int, content: Any) -> None:
    """Write one message. Raises OSError where nobody reads."""
    rest = memoryview(message(content))
    while rest:
        rest = rest[os.write(pipe, rest) :]


def receive(pipe: int) -> Any:
    """The next message, read to its last byte and no further. Raises EOFError at the end, ValueError for no message."""
    size = int.from_bytes(_read(pipe, 4), "big")
    if size > MAX_MESSAGE:
        raise ValueError(f"a message of {size} bytes; {MAX_MESSAGE} are the most")
    return json.loads(_read(pipe, size))


def _read(pipe: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(pipe, min(size, 1 << 16))
        if not part:
            raise EOFError("the other end is closed")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _all(values: Iterable[Any]) -> list[Any]:
    return [encode(value) for value in values]
