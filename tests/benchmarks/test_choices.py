"""Letters of choices: what counts as one, and which of several is the answer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.benchmarks.choices import (
    lettered,
    name_letters,
    read_letters,
    score_letter,
    shuffled_order,
)
from taboo_cluster.hashing import stable_rng

CHOICES = ("Paris", "Rome", "4", "None of these")


def letters(text: str, choices: tuple[str, ...] = CHOICES) -> str | None:
    """The letters read, "" for a form without one, None for no answer at all."""
    found = read_letters(text, choices)
    return None if found is None else "".join(found.letters)


def test_options_are_shown_one_a_line() -> None:
    assert lettered(CHOICES) == "A. Paris\nB. Rome\nC. 4\nD. None of these"


def test_a16_reasoning_is_no_answer() -> None:
    assert letters("<think>A or B</think> Answer: C") == "C"
    cut = score_letter("C", CHOICES, "<think>maybe Answer: C", "length")
    assert (cut.outcome, cut.answer, cut.correct) == ("truncated", None, False)


def test_a18_the_first_letter_of_a_word_is_no_letter() -> None:
    assert letters("Antwort:\n\nAntwort: C") == "C"
    assert letters("Antwort:") is None
    assert letters("Die richtige Antwort ist D") == "D"
    assert letters("Answer: Apples") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d", "D"),
        ("b. 4", "B"),
        ("The answer is B because a car moves.", "B"),
        ("I would pick B — a safe choice.", "B"),
        ("The answer is a car.", None),
        ("The answer is b, a car moves.", "B"),
        ("We go with (c) and not a car", "C"),
        ("The answer is a.", "A"),
        ("The answer is A because cars move.", "A"),
    ],
)
def test_a19_the_article_is_no_letter(text: str, expected: str | None) -> None:
    assert letters(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "A perfect answer cannot be found.",
        "Answer: A perfect answer cannot be found.",
        "A car moves.\nA bus stands.",
        "Let us see what fits.",
        "B vitamins are soluble in water.",
        "C is a programming language, so it may be any of them.",
        "C++ and A-levels",
        "((((",
        "A B C D",
    ],
)
def test_a20_nothing_is_guessed(text: str) -> None:
    assert letters(text) is None
    verdict = score_letter("A", CHOICES, text, "stop")
    assert (verdict.outcome, verdict.answer, verdict.score) == ("invalid_format", None, 0.0)


@pytest.mark.parametrize(
    "text", ["ANSWER: None of the above", "Don't know", "I don't know", "Answer: I don't know", "Answer: unknown"]
)
def test_a22_no_answer_is_none(text: str) -> None:
    assert not letters(text)
    assert score_letter("D", CHOICES, text, "stop").outcome == "invalid_format"


def test_a22_an_earlier_letter_is_not_taken_in_its_place() -> None:
    assert letters("Answer: B\nSorry. ANSWER: None of the above") == ""
    assert letters("Answer: B. But then \\boxed{7}") == ""
    assert letters("Answer: B, or \\boxed{C") == ""
    assert letters("Answer: B\nFinal answer: E") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("True answer: only chapter 2 remains…\nANSWER: A", "A"),
        ("ANSWER: b", "B"),
        ("A, B and C", "ABC"),
        ("Answer: A, B and C", "ABC"),
        ("The answer is (A) or (D).", "AD"),
        ("Answer: B/C", "BC"),
        ("Answer: A and B only", "AB"),
        ("\\boxed{C, A}", "AC"),
    ],
)
def test_a23_last_marker_and_several_letters(text: str, expected: str) -> None:
    assert letters(text) == expected


def test_a23_several_letters_are_no_single_answer() -> None:
    verdict = score_letter("A", CHOICES, "Answer: A, B and C", "stop")
    assert (verdict.outcome, verdict.answer) == ("invalid_format", None)
    assert verdict.details == {"form": "phrase", "letters": ["A", "B", "C"]}


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("", "no_response"),
        ("\xa0\n\u200b", "no_response"),
        ("((((", "invalid_format"),
        ("I'm sorry, but I cannot answer that.", "refused"),
        ("Answer: C", "correct"),
        ("Answer: D", "wrong"),
    ],
)
def test_a26_outcomes(text: str, outcome: str) -> None:
    assert score_letter("C", CHOICES, text, "stop").outcome == outcome


def test_a28_the_option_none_of_these_is_named_by_its_letter() -> None:
    assert letters("Answer: D. None of these") == "D"
    assert letters("Answer: D") == "D"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Answer:** C", "C"),
        ("**Answer: C**", "C"),
        ("Answer: `C`", "C"),
        ("Answer: $C$", "C"),
        ("Answer:\nC", "C"),
        ("Answer: option C", "C"),
        ("Answer: Ｃ", "C"),
        ("Answer： C", "C"),
        ("答案是C。", "C"),
        ("La respuesta correcta es C", "C"),
        ("Réponse : C", "C"),
        ("The answer is (C) 4.", "C"),
        ("The correct option is (c)", "C"),
        ("The best choice would be C: 4", "C"),
        ("The answer, therefore, is C", "C"),
        ("The answer to the question is C", "C"),
        ("The answer (from the list) is: C", "C"),
        ("The answer is most likely C, since 2 + 2 = 4", "C"),
        ("The final answer\n\nC", "C"),
        ("#### C", "C"),
        ("\\boxed{\\text{C}}", "C"),
        ("$\\boxed{(C)}$", "C"),
        ("<answer>C</answer>", "C"),
        ("<answer>\nC. 4\n</answer>", "C"),
        ("Answer: B\nNo, wait.\nAnswer: C", "C"),
        ("Answer: C\nA is wrong since it is a city.", "C"),
        ("Answer: C\n\nQuestion: What next?\nAnswer: D", "C"),
        ("The answer is C. The answer is not A because it is a city.", "C"),
        ("Answer: A Paris", "A"),
        ("Answer: B Rome", "B"),
    ],
)
def test_final_forms(text: str, expected: str) -> None:
    found = read_letters(text, CHOICES)
    assert found is not None
    assert found.letters == (expected,)
    assert found.final


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Option B is correct.", ("B", "claim")),
        ("B is the correct answer", ("B", "claim")),
        ("Let me think. I choose D.", ("D", "claim")),
        ("(C) 4", ("C", "line")),
        ("2 + 2 = 4\n\nC", ("C", "line")),
        ("So it must be (B).", ("B", "mention")),
        ("A. It is a city.\nB. So is this.\nC. This is a number.", None),
        ("The answer is not B", None),
        ("a thing is correct", None),
        ("D. neither A nor B is correct", ("D", "line")),
        ("C. Invalid when A is true and B is false", ("C", "line")),
        ("B", ("B", "first_line")),
        (" (b)\n\nIt is the capital.", ("B", "first_line")),
    ],
)
def test_other_forms(text: str, expected: tuple[str, str] | None) -> None:
    found = read_letters(text, CHOICES)
    assert (found and ("".join(found.letters), found.form)) == expected


def test_a_text_stopped_by_length_needs_a_final_form() -> None:
    assert score_letter("B", CHOICES, "Option B is correct and", "length").outcome == "truncated"
    cut = score_letter("B", CHOICES, "Answer: B\nThis is", "length")
    assert (cut.outcome, cut.details) == ("correct", {"form": "phrase", "truncated_but_parsed": True})
    assert score_letter("B", CHOICES, " B\n\nIt is the", "length").outcome == "correct"


@pytest.mark.parametrize(
    ("count", "text", "expected"),
    [(2, "Answer: C", ""), (5, "Answer: E", "E"), (10, "I don't know", None), (10, "Answer: I", "I")],
)
def test_only_the_items_own_letters_count(count: int, text: str, expected: str | None) -> None:
    assert letters(text, tuple(f"option {n}" for n in range(count))) == expected


@given(st.text(alphabet="ABCDabcd answer:is()\n.,\\{}boxed<>#and_*", max_size=60))
def test_readings_are_letters_of_the_item(text: str) -> None:
    found = read_letters(text, CHOICES)
    assert found is None or (set(found.letters) <= set("ABCD") and list(found.letters) == sorted(found.letters))
    verdict = score_letter("A", CHOICES, text, "stop")
    assert verdict.correct is (found is not None and found.letters == ("A",) and verdict.outcome != "no_response")


@given(st.sampled_from("ABCD"), st.sampled_from("ABCD"))
def test_the_last_final_form_wins(first: str, last: str) -> None:
    assert letters(f"Answer: {first}\nHm.\nThe answer is {last}.") == last


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<answer>A or B</answer>", "AB"),
        ("<answer>A</answer>", "A"),
        ("<answer>B. Rome</answer>", "B"),
        ("<answer>B", "B"),
        ("<answer>X</answer>", ""),
        ("<answer>A</answer> or rather <answer>C", "C"),
    ],
)
def test_a_closed_tag_is_read_as_a_whole(text: str, expected: str) -> None:
    assert letters(text) == expected
    found = read_letters(text, CHOICES)
    assert found is not None
    assert found.form == ("tag" if text.endswith("</answer>") else "phrase")


def test_as_many_letters_as_options() -> None:
    many = tuple(f"option {n}" for n in range(13))
    assert letters("<answer>M</answer>", many) == "M"
    assert letters("<answer>N</answer>", many) == ""
    assert letters("I think so", many) is None
    assert lettered(many).endswith("\nM. option 12")


@pytest.mark.parametrize(
    "choice",
    ["Both A and B", "A and B only", "both (a) and (b)", "B, C", "neither A nor D", "a and c", "only b", "option C"],
)
def test_a28_options_that_name_others_by_letter(choice: str) -> None:
    assert name_letters(["x", "y", "z", choice])
    rng = stable_rng("test")
    assert shuffled_order(["x", "y", "z", choice], rng) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "choice", ["both a cat and a dog", "H and I", "a and b are friends", "only a few", "Answers vary", "Vitamin A", "A"]
)
def test_a_letter_that_is_a_word_or_no_option_names_none(choice: str) -> None:
    assert not name_letters(["x", "y", "z", choice])


@pytest.mark.parametrize(
    ("choices", "free"),
    [
        (("x", "y", "z", "w"), 4),
        (("x", "y", "z", "all of the above"), 3),
        (("x", "y", "z", "None of these"), 3),
        (("x", "y", "all of the above", "none of the above"), 2),
        (("x", "y", "either of the above"), 2),
        (("x", "y", "z", "either of the above"), 0),
        (("x", "y", "both of the above", "neither of the above"), 2),
        (("x", "all of the above", "y", "z"), 0),
        (("none of the above", "x", "y", "z"), 0),
    ],
)
def test_a28_options_that_speak_of_others_stay_in_place(choices: tuple[str, ...], free: int) -> None:
    orders = {tuple(shuffled_order(choices, stable_rng("test", n))) for n in range(400)}
    rest = tuple(range(free, len(choices)))
    assert orders == {(*order, *rest) for order in itertools.permutations(range(free))}
