"""Spaces inside words: where they can go, and where each rule puts them."""

import json
import math
import random
from itertools import pairwise
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.fragmentation import EVERY_SLOT, Fragmentation

GSM8K = Path(__file__).parents[2] / "shared" / "data" / "gsm8k" / "test.jsonl"
LEVELS = [level / 10 for level in range(11)]
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
PIECES = [
    "cat",
    "a",
    "it's",
    "3.14",
    "e\u0301t\u00e9",
    FAMILY,
    "\u4e2d\u6587\u5b57",
    "\u0939\u093f\u0928\u094d\u0926\u0940",
    "\U0001f1e9\U0001f1ea",
    "x_1",
]
SPACES = [" ", " ", "  ", "\t", "\n", "\n\n", "\u00a0", "\u3000", "\r\n"]


def made(kind, amount, text, key=0):
    return Fragmentation(kind, amount, key).apply(text)


def texts(count, seed=0):
    """Random texts; the generator is the test's own."""
    draw = random.Random(seed)
    return ["".join(draw.choice(PIECES) + draw.choice(SPACES) for _ in range(draw.randrange(12))) for _ in range(count)]


def places(clean, spaced):
    """Places of the added spaces, as numbers of clusters of the clean text before them."""
    found, at, rest = set(), 0, regex.findall(r"\X", clean)
    for cluster in regex.findall(r"\X", spaced):
        if at < len(rest) and cluster == rest[at]:
            at += 1
        else:
            assert cluster == " "
            found.add(at)
    assert at == len(rest)
    return found


any_text = st.one_of(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(SPACES))).map(
        lambda parts: "".join(piece + space for piece, space in parts)
    ),
    st.text(max_size=40),
)
rates = st.floats(0, 1)


def test_cat_has_two_slots():
    assert [made("random", 1, "cat").slots, made("random", 0.5, "cat", key=3).slots] == [2, 2]
    spaced = {made("random", 0.5, "cat", key).text: made("random", 0.5, "cat", key).rate for key in range(20)}
    assert spaced == {"cat": 0, "c at": 0.5, "ca t": 0.5, "c a t": 1}


@pytest.mark.parametrize(
    ("text", "slots", "every"),
    [
        ("", 0, ""),
        ("a", 0, "a"),
        ("a b", 0, "a b"),
        ("\n\n", 0, "\n\n"),
        ("ab\n\ncd", 2, "a b\n\nc d"),
        ("\tab\tc", 1, "\ta b\tc"),
        ("ab\r\ncd", 2, "a b\r\nc d"),
        (f"a{FAMILY}b", 2, f"a {FAMILY} b"),
        ("e\u0301t\u00e9", 2, "e\u0301 t \u00e9"),
        ("\u4e2d\u6587", 1, "\u4e2d \u6587"),
        ("a\u3000bc", 1, "a\u3000b c"),
        ("it's 3.14", 6, "i t ' s 3 . 1 4"),
        ("a\u200bb", 2, "a \u200b b"),
    ],
)
def test_slots_and_every_one_filled(text, slots, every):
    found = EVERY_SLOT.apply(text)
    assert (found.text, found.slots, found.inserted) == (every, slots, slots)
    assert found.rate == (1 if slots else None)
    assert made("random", 0, text).text == text


def test_regular_puts_spaces_at_even_distances_of_a_line():
    assert made("regular", 0.5, "a black cat\nsat").text == "a bl ac k ca t\nsa t"  # slots 2, 4, 6; 2
    assert made("regular", 0.3, "abcdefghijk").text == "abcd efg hij k"  # s = 4, 7, 10
    assert made("regular", 1, "abc de").text == "a b c d e"
    assert made("regular", 0, "abc de").text == "abc de"


def test_regular_reaches_tenths_that_floats_do_not_hold():
    assert made("regular", 0.1, "a" * 11).text == "a" * 10 + " a"
    assert made("regular", 0.7, "a" * 11).inserted == 7


def test_regular_k_counts_from_the_start_of_each_word():
    assert made("regular_k", 2, "a black cat").text == "a bl ac k ca t"
    assert made("regular_k", 3, "abcdefg abc").text == "abc def g abc"
    assert made("regular_k", 1, "abc").text == "a b c"


def test_between_adds_to_gaps_of_a_line_alone():
    found = made("between", 1, "a cat\n  sat down\nhere\t ok")
    assert found.text == "a  cat\n  sat  down\nhere\t  ok"
    assert (found.inserted, found.slots, found.rate) == (0, 11, 0)


def test_regular_k_on_gsm8k_has_the_rates_of_the_definition():
    if not GSM8K.exists():
        pytest.skip("no GSM8K file")
    questions = [json.loads(line)["question"] for line in GSM8K.read_text(encoding="utf-8").splitlines()]
    for k, rate in ((1, 1.00), (2, 0.42), (3, 0.23), (4, 0.13)):
        found = [made("regular_k", k, question) for question in questions]
        assert sum(one.inserted for one in found) / sum(one.slots for one in found) == pytest.approx(rate, abs=0.005)


def test_the_spaces_of_a_lower_p_are_among_those_of_a_higher_one_in_1000_texts():
    for key, text in enumerate(texts(1000)):
        found = [places(text, made("random", p, text, key).text) for p in LEVELS]
        assert all(fewer <= more for fewer, more in pairwise(found))


@pytest.mark.parametrize("p", LEVELS)
def test_the_measured_rate_of_1000_texts_is_within_four_standard_errors_of_p(p):
    found = [made("random", p, text, key) for key, text in enumerate(texts(1000))]
    slots = sum(one.slots for one in found)
    rate = sum(one.inserted for one in found) / slots
    assert abs(rate - p) <= 4 * math.sqrt(p * (1 - p) / slots)


@pytest.mark.parametrize("p", LEVELS)
def test_the_regular_rate_is_within_one_slot_of_p_on_every_line(p):
    for text in texts(200):
        for line in text.split("\n"):
            found = made("regular", p, line)
            assert abs(found.inserted - p * found.slots) < 1
        whole = made("regular", p, text)
        assert whole.text == "\n".join(made("regular", p, line).text for line in text.split("\n"))


@given(any_text, rates, st.integers(0, 2**63 - 1), st.sampled_from(["random", "regular", "between"]))
def test_only_spaces_are_added_between_characters_and_lines_stay(text, p, key, kind):
    found = made(kind, p, text, key)
    assert found.text.count("\n") == text.count("\n")
    assert found.text.replace(" ", "") == text.replace(" ", "")
    assert len(found.text) - len(text) == (found.inserted if kind != "between" else len(found.text) - len(text))
    assert found == made(kind, p, text, key)


@given(any_text, st.integers(0, 9))
def test_no_grapheme_cluster_is_torn(text, key):
    clean = [cluster for cluster in regex.findall(r"\X", text) if not cluster.isspace()]
    spaced = [cluster for cluster in regex.findall(r"\X", made("random", 0.5, text, key).text) if not cluster.isspace()]
    assert spaced == clean


def test_draws_belong_to_key_and_name():
    how, text = Fragmentation("random", 0.5, 1), "fragmentation of words"
    assert how.apply(text, "a") == how.apply(text, "a")
    assert len({how.apply(text, name).text for name in "abcd"}) > 1
    assert len({made("random", 0.5, text, key).text for key in range(4)}) > 1


def test_places_differ_only_where_they_are_to_be_independent():
    text = "fragmentation of words"
    same, apart = (Fragmentation("random", 0.5, 1, independent) for independent in (False, True))
    assert same.apply(text, place=0) == same.apply(text, place=1)
    assert apart.apply(text, place=0) != apart.apply(text, place=1)
