"""Texts whose characters keep their place in a source."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.benchmarks.traced import Traced

SOURCE = "ab  cd\n\n ef"

ODD = st.text(
    st.sampled_from("aBq \n１½³ﬁ㎏´éｶ\uff9e\u0301\u0307\u0323\u200b가\u1100\u1161\u11a8\u0b47\u0b3e\ud800😀"),
    max_size=24,
)
"""What NFKC composes, takes apart, reorders and leaves alone."""


def source_of(text: Traced) -> str:
    return SOURCE[slice(*text.span)]


def test_a_part_knows_its_place() -> None:
    text = Traced.of(SOURCE)
    assert text.span == (0, 11)
    assert text[4:6].span == (4, 6)
    assert text[4:][:1].span == (4, 5)
    assert text[2:8].strip().span == (4, 6)
    assert text[2:8].lstrip().text == "cd\n\n"
    assert text.strip("abef").span == (2, 9)
    assert text[2:4].strip().text == ""
    assert [(line.text, line.span) for line in text.lines()] == [("ab  cd", (0, 6)), ("ef", (9, 11))]


def test_what_replaces_a_match_stands_for_all_of_it() -> None:
    text = Traced.of(SOURCE).sub(r"\s+", "-")
    assert text.text == "ab-cd-ef"
    assert source_of(text[2:3]) == "  "
    assert source_of(text[3:7]) == "cd\n\n e"
    longer = Traced.of("x½y").sub("½", lambda match: f"<{match[0]}>")
    assert (longer.text, [longer[n : n + 1].span for n in range(5)]) == ("x<½>y", [(0, 1), *[(1, 2)] * 3, (2, 3)])


def test_what_is_unwrapped_keeps_its_place() -> None:
    text = Traced.of(r"is \text{42}!").unwrap(r"\\text\{(.*?)\}", " ")
    assert text.text == "is  42 !"
    assert text[4:6].span == (9, 11)
    assert text[4:7].span == (9, 12)
    assert text[7:].span == (12, 13)


def test_changes_add_up() -> None:
    text = Traced.of("a--b__c").sub("--", "-").sub("__").translate({ord("c"): ord("C")})
    assert text.text == "a-bC"
    assert [text[n : n + 1].span for n in range(4)] == [(0, 1), (1, 3), (3, 4), (6, 7)]


def test_nothing_to_change_is_the_same_text() -> None:
    text = Traced.of("plain")
    assert text.sub("x", "y") is text
    assert text.nfkc() is text


@pytest.mark.parametrize(
    ("source", "char", "span"),
    [
        ("答案：Ｂ", "B", (3, 4)),
        ("㎏Ｂ", "B", (1, 2)),
        ("e\u0301Ｂ", "B", (2, 3)),
        ("e\u0301Ｂ", "é", (0, 2)),
        ("\u1100\u1161\u11a8Ｂ", "각", (0, 3)),
        ("ｶ\uff9eＢ", "ガ", (0, 2)),
    ],
)
def test_normalised_characters_keep_their_places(source: str, char: str, span: tuple[int, int]) -> None:
    text = Traced.of(source).nfkc()
    place = text.text.index(char)
    assert text[place : place + 1].span == span


@given(ODD)
def test_the_normal_form_is_that_of_the_whole(source: str) -> None:
    text = Traced.of(source).nfkc()
    assert text.text == unicodedata.normalize("NFKC", source)
    assert len(text.text) == len(text.starts) == len(text.ends)
    assert list(text.starts) == sorted(text.starts)


@given(
    st.text("ab- ", max_size=20), st.sampled_from(["a+", "b", " ", "(?<=a)b", "-+$"]), st.sampled_from(["", "x", "yz"])
)
def test_substitution_is_that_of_re(source: str, pattern: str, new: str) -> None:
    text = Traced.of(source).sub(pattern, new)
    assert text.text == re.sub(pattern, new, source)
    assert all(text.text[n] == source[start] for n, start in enumerate(text.starts) if text.text[n] in "ab- ")
    assert all(end > start for start, end in zip(text.starts, text.ends, strict=True))


@given(st.text(max_size=20), st.sampled_from([None, " ", "ab"]))
def test_strips_and_lines_are_those_of_str(source: str, chars: str | None) -> None:
    assert Traced.of(source).strip(chars).text == source.strip(chars)
    assert [line.text for line in Traced.of(source).lines()] == [s.strip() for s in source.splitlines() if s.strip()]
