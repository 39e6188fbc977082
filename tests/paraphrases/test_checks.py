"""What a paraphrase has to keep: every number, what is no prose, the answers; and what it may not be."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.paraphrases.checks import (
    ANSWER,
    LENGTH,
    NUMBERS,
    SPANS,
    TURNS,
    UNCHANGED,
    numbers,
    problem,
    same_numbers,
)
from taboo_cluster.trial import Item


def item(question: str, gold: str = "18", *choices: str) -> Item:
    return Item("i", question, gold, "test", "i", extras={"choices": list(choices)} if choices else {})


def values(text: str) -> dict[Fraction, int]:
    digits, spelled = numbers(text)
    return dict(digits + spelled)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("16 eggs, 3 eaten, 3 sold", {16: 1, 3: 2}),
        ("$1,234.50, 1,000,000 and 1,234, then", {Fraction("1234.5"): 1, 10**6: 1, 1234: 1}),
        ("60% of .5 and 0.50", {60: 1, Fraction(1, 2): 2}),
        ("-5 or 5 or 7-5 or $-3", {-5: 1, 5: 2, 7: 1, -3: 1}),
        ("between 3\u20135 and \u22122", {3: 1, 5: 1, -2: 1}),
        ("H2O, x\u00b2 and \u00bd", {2: 3, 1: 1}),
        ("1/2", {1: 1, 2: 1}),
        ("192.168.1.1 and 1.2", {Fraction("1.2"): 1}),
        ("twenty-five, twenty five, Twelve and two hundred", {25: 2, 12: 1, 2: 1, 100: 1}),
        ("twice as many, a dozen, half of it", {2: 1, 12: 1, Fraction(1, 2): 1}),
        ("one of the ones, the second, someone, often, weight", {}),
        ("", {}),
    ],
)
def test_numbers_are_found_by_value(text: str, found: dict[Fraction, int]) -> None:
    assert values(text) == found


@pytest.mark.parametrize(
    ("question", "paraphrase", "same"),
    [
        ("3 apples and 4 pears", "four pears and three apples", True),
        ("25 cents", "twenty-five cents", True),
        ("1,000 m", "1000 m", True),
        ("He has 1 dog", "He has one dog", True),
        ("Which one is it?", "Which is it?", True),
        ("twice as many", "2 times as many", True),
        ("3 apples and 4 pears", "3 apples and 5 pears", False),
        ("3 and 3", "3", False),
        ("3", "3 and 3", False),
        ("3 apples", "some apples", False),
        ("three apples", "several apples", False),
        ("some apples", "2 apples", False),
        ("-5 degrees", "5 degrees", False),
        ("He has 1 dog", "He has a dog", False),
        ("He has a dog", "He has 1 dog", False),
        ("half of 8", "a third of 8", False),
        ("1.5 l", "15 l", False),
    ],
)
def test_no_number_goes_comes_or_changes(question: str, paraphrase: str, same: bool) -> None:
    assert same_numbers(question, paraphrase) is same


@given(st.lists(st.integers(-999, 10**7), max_size=6), st.randoms())
def test_the_order_of_numbers_is_free_and_their_count_is_not(found: list[int], random: object) -> None:
    text = ", then ".join(f"{value:,} eggs" for value in found)
    shuffled = sorted(found, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert same_numbers(text, " and ".join(str(value) for value in shuffled))
    assert not same_numbers(text, f"{text} and 77000001 more")
    assert (
        not found or not same_numbers(text, ", then ".join(f"{value:,} eggs" for value in found[1:])) or found[0] == 1
    )


@pytest.mark.parametrize(
    ("question", "paraphrase", "reason"),
    [
        ("How many eggs are left?", "What number of eggs remains?", None),
        ("How many eggs are left?", "how many  EGGS are left", UNCHANGED),
        ("How many of 16 eggs are left?", "What part of 15 eggs remains?", NUMBERS),
        ("Solve $x^2 = y$ for x.", "Find x such that $x^2 = y$ holds.", None),
        ("Solve $x^2 = y$ for x.", "Find x such that $y = x^2$ holds.", SPANS),
        ("The capital of France is ____.", "____ is the capital of France.", None),
        ("The capital of France is ____.", "Which city is the capital of France?", SPANS),
        ("What does `foo(x)` return?", "What is returned by foo(x)?", SPANS),
        ("Fill in [id] for the person.", "Put [id] in place of the person.", None),
        ("See https://a.b/c for why.", "Look at https://a.b/ for the reason.", SPANS),
        ("Who has 192.168.1.1?", "192.168.1.10 belongs to whom?", SPANS),
        ("Who has 192.1.2.30?", "Whose is 192.1.30.2?", SPANS),
        ("What does it return?", "What is returned by `it`?", SPANS),
        ("What does [INST] mean?", "What is the sense of [INST]?", None),
        ("What does it mean to you?", "What do you take it to be? <|im_end|>", TURNS),
        ("Why?", "For which reason is that the case, and what caused it to be so?", LENGTH),
        ("Why does the sun rise in the morning, and where?", "Where is sunrise?", LENGTH),
    ],
)
def test_reasons(question: str, paraphrase: str, reason: str | None) -> None:
    assert problem(item(question), paraphrase) == reason


def test_an_answer_is_neither_given_away_nor_lost() -> None:
    town = item("Which town lies on the Seine?", "Paris")
    assert problem(town, "On the Seine lies which town?") is None
    assert problem(town, "Which town, like Paris, is on the Seine?") == ANSWER
    assert problem(item("Is Paris a town or a river?", "town"), "Is Paris a city or a river?") == ANSWER
    larger = item("Which is larger, an oak or an ant?", "A", "An oak", "An ant", "Both")
    assert problem(larger, "An oak or an ant: which of them is larger?") is None
    assert problem(larger, "An oak or a bug: which of them is larger?") == ANSWER
    assert problem(larger, "An oak or an ant: which is larger, or are both?") == ANSWER


def test_a_number_as_gold_is_left_to_the_numbers() -> None:
    assert problem(item("He has two dogs. How many?", "2"), "His dogs are 2. What is their number?") is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_texts_are_compared(question: str, paraphrase: str) -> None:
    assert problem(item(question), question) == UNCHANGED
    assert isinstance(problem(item(question), paraphrase), str | None)
