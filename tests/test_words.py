from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.words import count_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        (" \n\t", 0),
        ("... -- !? 😀 👩‍👩‍👧", 0),
        ("can't stop, won't", 3),
        ("3.14 of 1,000 items", 4),
        ("snake_case __init__ __", 2),
        ("a-b e.g. x\r\ny", 5),
        ("no-break\u00a0space", 3),
        ("été e\u0301te\u0301", 2),
        ("नमस्ते दुनिया", 2),
        ("قال \"مرحبا\"", 2),
        ("カタカナ", 1),
        ("日本語", 3),
        ("สวัสดีครับ ผม", 2),
        ("ສະບາຍດີ ភាសាខ្មែរ မြန်မာ", 3),
    ],
)  # fmt: skip
def test_words_of(text: str, words: int) -> None:
    assert count_words(text) == words


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_line_break_parts_words(one: str, other: str) -> None:
    assert count_words(f"{one}\n{other}") == count_words(one) + count_words(other)
