"""Words of a text, by Unicode's word boundaries (UAX #29): the same whatever the tokenizer."""

from __future__ import annotations

import regex

_BOUNDARY = regex.compile(r"(?V1w)\b")


def count_words(text: str) -> int:
    """Segments between word boundaries (UAX #29, default rules) that hold a letter or a number.

    "can't", "3.14" and "x_1" are one word each. Scripts that the default rules do not segment (Han, Thai ...) count
    one word per character, combining marks included.
    """
    return sum(any(map(str.isalnum, segment)) for segment in _BOUNDARY.split(text))
