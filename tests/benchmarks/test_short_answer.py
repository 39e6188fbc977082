"""Short answers: finding one in a completion, and the form in which two are compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.benchmarks.short_answer import find_answer, is_no_answer, normalise, readings
from taboo_cluster.benchmarks.traced import Traced


def texts_read(answer: str) -> list[str]:
    return [reading.text for reading in readings(Traced.of(answer))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Beatles", "beatles"),
        ("A Tale of Two Cities!", "tale of two cities"),
        ("Jean-Luc “O'Neill”", "jean luc o neill"),
        ("snake_case", "snake case"),
        ("Ｐａｒｉｓ", "paris"),
        ("Horſe", "horse"),
        ("Beyoncé", "beyoncé"),
        ("Мо́сква — столица", "мо́сква столица"),
        ("£240", "240"),
        ("$85,000", "85000"),
        ("700,000", "700000"),
        ("1,2", "1 2"),
        ("4.5 miles.", "4.5 miles"),
        (".5", ".5"),
        ("-40", "-40"),
        ("\u221240", "-40"),
        ("1769-1850", "1769 1850"),
        ("Catch-22", "catch 22"),
        ("8%", "8"),
        ("The The", "the the"),
        ("((((", ""),
        ("🐎", "🐎"),
        ("zero\u200bwidth", "zerowidth"),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_a9_a_number_keeps_its_sign_and_its_point() -> None:
    assert normalise("5") != normalise("-5")
    assert normalise("1.5") != normalise("15")


@given(st.text(max_size=40))
def test_normalising_twice_changes_nothing_for_what_has_articles_and_marks(text: str) -> None:
    once = normalise(text)
    assert once == " ".join(once.split())
    assert normalise(f"  {text}\n") == once


@pytest.mark.parametrize(
    ("text", "answer", "complete"),
    [
        ("Mark Twain", "Mark Twain", False),
        (" Mark Twain\n\nHe wrote Tom Sawyer.", "Mark Twain", True),
        ("Answer: Mark Twain", "Mark Twain", True),
        ("**Answer:** Mark Twain", "Mark Twain", True),
        ("Answer:\n\nMark Twain", "Mark Twain", True),
        ("The answer is Mark Twain.", "Mark Twain.", True),
        ("Answer: The answer is: Mark Twain", "Mark Twain", True),
        ("Answer: Dickens\nNo.\nAnswer: Mark Twain", "Mark Twain", True),
        ("Answer: Mark Twain\n\nQuestion: And then?\nAnswer: Dickens", "Mark Twain", True),
        ("#### Mark Twain", "Mark Twain", True),
        ("<answer>Mark Twain</answer>", "Mark Twain", True),
        ("So $\\boxed{\\text{Mark Twain}}$.", "Mark Twain", True),
        ("The answer to the question, then, is Mark Twain", "Mark Twain", True),
        ('"Mark Twain"', "Mark Twain", False),
        ("<think>Answer: Dickens</think>Mark Twain", "Mark Twain", False),
    ],
)
def test_the_answer_found(text: str, answer: str, complete: bool) -> None:
    found = find_answer(text, "first_line")
    assert found is not None
    assert (found.text, found.complete) == (answer, complete)


@pytest.mark.parametrize("text", ["", "\xa0", "Answer:", "**Answer:** ", "<think>Mark Twain", "***"])
def test_a26_nothing_found(text: str) -> None:
    assert find_answer(text, "first_line") is None


def test_a_long_first_line_with_more_after_it_is_prose() -> None:
    prose = "He was born in Florida, Missouri, and he wrote about the river all his life."
    assert find_answer(f"{prose}\nMark Twain", "first_line") is None
    last = find_answer(f"{prose}\nMark Twain", "last_line")
    assert last is not None
    assert (last.text, last.form, last.complete) == ("Mark Twain", "last_line", False)


@pytest.mark.parametrize(
    ("answer", "one"),
    [
        ("It was Mark Twain", "Mark Twain"),
        ("The author is called Mark Twain", "Mark Twain"),
        ("Mark Twain (Samuel Clemens)", "Mark Twain"),
        ("Mark Twain. He wrote Tom Sawyer.", "Mark Twain"),
        ("St. Louis. It lies on the river", "St. Louis"),
        ("Mrs. Robinson", "Mrs. Robinson"),
        ("12. That is a dozen", "12"),
        ("Mark Twain, because he wrote it", "Mark Twain"),
        ("The song is What Is Love", "What Is Love"),
    ],
)
def test_what_an_answer_may_be_read_as(answer: str, one: str) -> None:
    assert texts_read(answer)[0] == answer
    assert one in texts_read(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "not Mark Twain",
        "It was not Mark Twain",
        "It wasn't Mark Twain",
        "It is not true that it was Mark Twain",
        "Nobody thinks that it is Mark Twain",
        "Mark Twain? No. Dickens",
        "Mark Twain or Dickens",
        "1973, 1974, Mark Twain",
    ],
)
def test_a30_a_denied_answer_is_never_read_as_the_answer(answer: str) -> None:
    assert "mark twain" not in map(normalise, texts_read(answer))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("I don't know.", True),
        ("I'm not sure, maybe Twain", True),
        ("Unknown", True),
        ("((((", True),
        ("I'm sorry, but I can't answer that", True),
        ("Don't Know Why", True),
        ("Mark Twain", False),
        ("The Unknown Soldier", False),
        ("Nonesuch", False),
    ],
)
def test_a22_words_that_are_no_answer(answer: str, expected: bool) -> None:
    assert is_no_answer(answer) is expected
