"""Words of a text, by Unicode's word boundaries (UAX #29): the same whatever the tokenizer."""

from __future__ import annotations

import regex

_BOUNDARY = regex.compile(r"(?V1w)\b(?:(?<!\p{LB=SA})|(?!\p{LB=SA}))")
"""Not between two characters of a script like Thai."""


def count_words(text: str) -> int:
    """Segments between word boundaries (UAX #29) that hold a letter or a number.

    "can't", "3.14" and "x_1" are one word each, "a-b" two; Chinese characters and Hiragana one each. What the standard
    leaves open: a run of Thai, Lao, Khmer or Burmese is one word, as for word starts.
    """
    return sum(any(map(str.isalnum, segment)) for segment in _BOUNDARY.split(text))
