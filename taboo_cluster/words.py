"""Words and characters of a text, by Unicode's boundaries (UAX #29): the same whatever the tokenizer."""

from __future__ import annotations

import regex

_BOUNDARY = regex.compile(r"(?V1w)\b(?:(?<!\p{LB=SA})|(?!\p{LB=SA}))")
"""Not between two characters of a script like Thai."""
_WHITE_SPACE = regex.compile(r"\p{White_Space}+")
_SEPARATORS = regex.compile(r"[\x1C-\x1F]")
"""What str.split() takes for white space beyond Unicode's."""
_CHARACTER = regex.compile(r"\X")


def count_words(text: str) -> int:
    """Segments between word boundaries (UAX #29) that hold a letter or a number.

    "can't", "3.14" and "x_1" are one word each, "a-b" two; Chinese characters and Hiragana one each. What the standard
    leaves open: a run of Thai, Lao, Khmer or Burmese is one word, as for word starts.
    """
    return sum(any(map(str.isalnum, segment)) for segment in _BOUNDARY.split(text))


def without_spaces(text: str) -> str:
    """The text without any white space (Unicode's White_Space)."""
    return str(_WHITE_SPACE.sub("", text)) if _SEPARATORS.search(text) else "".join(text.split())


def count_characters(text: str) -> int:
    """Extended grapheme clusters of the text without its white space: the same wherever spaces are put in."""
    text = without_spaces(text)
    return len(text) if text.isascii() else sum(1 for _ in _CHARACTER.finditer(text))
