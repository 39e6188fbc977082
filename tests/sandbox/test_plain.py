"""Values over a pipe to a process that may send anything."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.sandbox.inside.plain import MAX_MESSAGE, decode, encode, message, receive, send

KEYS = st.none() | st.booleans() | st.integers() | st.text(st.characters()) | st.binary()
VALUES = st.recursive(
    KEYS | st.floats(allow_nan=False) | st.complex_numbers(allow_nan=False) | st.sets(KEYS) | st.frozensets(KEYS),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS, inner),
    max_leaves=20,
)


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    back = decode(json.loads(json.dumps(encode(value))))
    assert back == value
    assert repr(type(back)) == repr(type(value))


@pytest.mark.parametrize("value", [object(), lambda: 1, [object()], {"a": iter([])}, range(3), Exception("x")])
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="is not a plain value"):
        encode(value)


@pytest.mark.parametrize(
    "data", [{"list": []}, {}, {"tuple": [], "set": []}, {"set": [[]]}, {"int": "x"}, {"dict": [1]}, {"bytes": 5}]
)
def test_what_is_never_sent_cannot_be_read(data: object) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        decode(data)


def test_messages_are_read_to_their_end_and_no_further() -> None:
    reading, writing = os.pipe()
    send(writing, ["one"])
    send(writing, "two")
    assert receive(reading) == ["one"]
    assert os.read(reading, 100) == message("two")
    os.close(writing)
    with pytest.raises(EOFError):
        receive(reading)
    os.close(reading)


def test_a_message_that_is_too_long_is_not_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, (MAX_MESSAGE + 1).to_bytes(4, "big"))
    with pytest.raises(ValueError, match="a message of 16777217 bytes; 16777216 are the most"):
        receive(reading)
