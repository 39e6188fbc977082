"""Where in a completion each benchmark reads its answer: the exact characters, whatever stands around them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.benchmarks.base import Verdict
from taboo_cluster.benchmarks.choices import score_letter
from taboo_cluster.benchmarks.forbidden_words import ForbiddenWords
from taboo_cluster.benchmarks.forbidden_words import Options as ForbiddenOptions
from taboo_cluster.benchmarks.lm_eval import last_place
from taboo_cluster.benchmarks.mmlu_data import Options as MmluOptions
from taboo_cluster.benchmarks.mmlu_open import MmluOpen
from taboo_cluster.benchmarks.multiple_choice import MultipleChoice
from taboo_cluster.benchmarks.numeric import extract_number, score_number
from taboo_cluster.benchmarks.outcome import verdict
from taboo_cluster.benchmarks.short_answer import normalise
from taboo_cluster.benchmarks.triviaqa import Options as TriviaOptions
from taboo_cluster.benchmarks.triviaqa import TriviaQa
from taboo_cluster.benchmarks.word_problems import WordProblems
from taboo_cluster.trial import Item

CITIES = ("Paris", "Rome", "4", "None of these")


def marked(text: str) -> tuple[str, tuple[int, int] | None]:
    """A completion written with `⟦⟧` around the answer, and the place that they mark."""
    start, end = text.find("⟦"), text.find("⟧")
    return text.replace("⟦", "").replace("⟧", ""), (start, end - 1) if start >= 0 else None


def check(score: Callable[[str], Verdict], text: str) -> Verdict:
    """The span is exactly what is marked."""
    completion, span = marked(text)
    found = score(completion)
    shown = found.span and completion[slice(*found.span)]
    assert found.span == span, f"{found.answer!r} was read at {found.span}: {shown!r}"
    return found


def number(completion: str, finish_reason: str = "stop") -> Verdict:
    return score_number("1", completion, finish_reason)


def letter(completion: str, finish_reason: str = "stop") -> Verdict:
    return score_letter("B", CITIES, completion, finish_reason)


TWAIN = Item("id", "Who?", "Mark Twain", "test", "id", extras={"aliases": ["Samuel Clemens", "Twain"]})


def trivia(completion: str, finish_reason: str = "stop") -> Verdict:
    return TriviaQa(TriviaOptions()).score(TWAIN, completion, finish_reason)


def opened(completion: str, *choices: str) -> Verdict:
    found = list(choices or CITIES)
    item = Item("id", "Where?", found[0], "test", "id", extras={"choices": found})
    return MmluOpen(MmluOptions()).score(item, completion, "stop")


# --- numbers ---


@pytest.mark.parametrize(
    "text",
    [
        "#### ⟦42⟧",
        "####⟦42⟧",
        "#### 3\nNo, wait.\n#### ⟦42⟧",
        "It is 7.\n#### ⟦1,200.50⟧ dollars",
        "#### ⟦-5⟧",
        "#### ⟦- 5⟧",
        "#### ⟦\u22125⟧",
        "#### $⟦1,200.50⟧",
        "#### $⟦-3⟧",
        "#### ⟦-$3⟧",
        "#### US$⟦20⟧.",
        r"#### \$⟦20⟧",
        "#### USD ⟦20⟧",
        "#### ⟦60⟧%",
        "#### ⟦60⟧ percent of them",
        "#### ⟦3 million⟧ people",
        "#### ⟦3/4⟧ of it",
        "#### ⟦3 1/2⟧",
        "**#### ⟦42⟧.**",
        "#### 6 * 7 = ⟦42⟧",
        "#### <<6*7=42>>⟦42⟧",
        "#### ⟦1.234,50⟧ €",
        "#### ⟦１２⟧",
        "#### ⟦4\u200b2⟧",
        "#### ⟦10\u202f000⟧",
        "#### ⟦½⟧",
        "#### ⟦3½⟧",
        "#### ⟦10³⟧",
        "#### ⟦-.5⟧",
        "#### ⟦1e5⟧",
        r"#### ⟦3 \times 10^{4}⟧ m",
    ],
)
def test_numbers_after_hashes(text: str) -> None:
    assert check(number, text).details["form"] == "hashes"


@pytest.mark.parametrize(
    "text",
    [
        r"So \boxed{⟦42⟧}.",
        r"\boxed{1} or rather $\boxed{⟦-42⟧}$",
        r"\boxed{x = ⟦42⟧}",
        r"\boxed{x \approx ⟦4.2⟧}",
        r"\boxed{⟦12\,500⟧}",
        r"\boxed{⟦12{,}500⟧}",
        r"\boxed{⟦12 500⟧}",
        r"\boxed{\$⟦1{,}200.50⟧}",
        r"\boxed{⟦42⟧\text{ apples}}",
        r"\boxed{\text{⟦42⟧}}",
        r"\boxed{⟦\frac{3}{4}⟧}",
        r"\boxed{⟦-\frac{3}{4}⟧}",
        r"\boxed{⟦\dfrac34⟧}",
        r"\boxed{⟦2\frac{1}{2}⟧}",
        r"\boxed{⟦60⟧\%}",
        r"\boxed{⟦42⟧ \text{ is } \textbf{it}}",
    ],
)
def test_numbers_in_boxes(text: str) -> None:
    assert check(number, text).details["form"] == "boxed"


@pytest.mark.parametrize(
    "text",
    [
        "<answer>⟦42⟧</answer>",
        "<answer> $⟦1,200⟧ </answer>",
        "<answer>1</answer>\n<answer>6 + 7 = ⟦13⟧</answer>",
        "The answer is ⟦42⟧.",
        "The answer is 6 x 7 = ⟦42⟧ apples.",
        "Answer: ⟦42⟧",
        "**Answer:** ⟦42⟧",
        "The final answer is: $⟦42⟧$",
        "Answer: 1\nAnswer: ⟦2⟧",
    ],
)
def test_numbers_in_tags_and_after_phrases(text: str) -> None:
    assert check(number, text).details["form"] in ("tag", "phrase")


@pytest.mark.parametrize(
    "text",
    [
        "3 and 4 make ⟦7⟧ apples",
        "So: **⟦42⟧**",
        "1. It has 2 wheels.\n2. Those cost £⟦8⟧ each.",
        "On the 3rd day it was ⟦40⟧",
        "On the ⟦3⟧rd day",
        "the temperature fell to ⟦–5⟧ degrees",
        "ﬁve of ⟦12⟧",
        "😀😀 e\u0301 ½ + ½ makes ⟦1⟧",
        "<<1+1=2>> \u200b\u200b \\text{so} ⟦2⟧",
    ],
)
def test_the_last_number_of_a_text(text: str) -> None:
    assert check(number, text).details["form"] == "last_number"


@pytest.mark.parametrize(
    "text",
    [
        "<think>#### 9</think>#### ⟦42⟧",
        "<think>x</think> 9 <thinking>#### 9</thinking>\n\n#### ⟦42⟧",
        "#### ⟦42⟧\n<think>#### 9",
        "#### ⟦42⟧\n\nQuestion: And then?\nAnswer: #### 9",
        "Question: the same again\n#### ⟦42⟧\nQuestion 2: more\n#### 9",
        "答案：①² <think>#### 9</think> ½ é #### ⟦42⟧ #### none",
    ],
)
def test_only_the_part_that_counts_is_read(text: str) -> None:
    assert check(number, text).answer == "42"
    assert check(lambda completion: number(completion, "length"), text).answer == "42"


@pytest.mark.parametrize("text", ["", "I do not know.", r"It is 3. \boxed{1, 2}", "<think>#### 42", "\u200b"])
def test_no_number_no_place(text: str) -> None:
    assert number(text).span is None


def test_a_number_that_does_not_count_in_a_cut_text_has_no_place() -> None:
    assert number("So far it is 42", "length").span is None
    assert check(lambda completion: number(completion, "length"), "#### ⟦42⟧").details["truncated_but_parsed"]


def test_every_benchmark_of_numbers_tells_the_place() -> None:
    item = Item("id", "How many?", "42", "test", "id")
    assert WordProblems("gsm8k", list, 64).score(item, "It is\n#### 42.", "stop").span == (11, 13)


# --- letters ---


@pytest.mark.parametrize(
    "text",
    [
        "Answer: ⟦B⟧",
        "Answer: (⟦b⟧)",
        "**Answer:** **⟦B⟧**",
        "The correct option is (⟦C⟧) 4",
        "Answer: option ⟦B⟧. Rome",
        "Answer: A\nNo.\nAnswer: ⟦B⟧\nA was wrong",
        "Antwort:\n\nAntwort: ⟦C⟧",
        "答案：⟦Ｂ⟧",
        "㎏ ﬁ e\u0301 ½: 答案是 ⟦B⟧",
        "#### ⟦B⟧",
        "Answer:\u200b ⟦B⟧",
        "The answer is ⟦A⟧ because cars move.",
        "Answer: the right one is a car, so the answer is ⟦D⟧",
        "<answer>⟦B⟧",
    ],
)
def test_letters_after_phrases(text: str) -> None:
    assert check(letter, text).details["form"] == "phrase"


@pytest.mark.parametrize(
    "text",
    [
        "<answer>⟦B⟧</answer>",
        "<answer>A</answer> no: <answer> (⟦B⟧) Rome</answer>",
        "Answer: A <answer>option ⟦c⟧</answer>",
        r"So $\boxed{⟦B⟧}$.",
        r"$\boxed{\text{⟦B⟧}}$",
        r"ﬁ \textbf{so} \boxed{\text{(⟦B⟧) Rome}}",
        r"\boxed{A} and \boxed{⟦C⟧}",
    ],
)
def test_letters_in_tags_and_boxes(text: str) -> None:
    assert check(letter, text).details["form"] in ("tag", "boxed")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Option ⟦B⟧ is correct.", "claim"),
        ("**⟦B⟧** is the best answer. A is not.", "claim"),
        ("I choose A. I would pick (⟦D⟧)", "claim"),
        ("⟦B⟧", "first_line"),
        (" (⟦b⟧)\n\nIt is the capital.", "first_line"),
        ("(⟦C⟧) 4", "line"),
        ("2 + 2 = 4\n\n⟦C⟧\nC. 4", "line"),
        ("So it must be (⟦B⟧).", "mention"),
        ("Hm.\nIt must be (⟦B⟧), yes, option B\n\n", "mention"),
        ("\u200b\n ½ \nof these, option ⟦b⟧ it seems", "mention"),
    ],
)
def test_letters_in_other_forms(text: str, form: str) -> None:
    assert check(letter, text).details["form"] == form


@pytest.mark.parametrize(
    "text",
    [
        "<think>Answer: A</think> Answer: ⟦B⟧",
        "Answer: ⟦B⟧\n\nQuestion: What next?\nAnswer: D",
        "½ <think>ﬁ Answer: A</think>\n<answer>⟦Ｂ⟧</answer><think>Answer: C",
    ],
)
def test_only_the_part_that_counts_is_read_for_a_letter(text: str) -> None:
    assert check(letter, text).answer == "B"
    assert check(lambda completion: letter(completion, "length"), text).answer == "B"


@pytest.mark.parametrize("text", ["", "Let us see.", "Answer: A or B", r"\boxed{7}", "Answer: none of the above"])
def test_no_letter_no_place(text: str) -> None:
    assert letter(text).span is None


def test_a_letter_that_does_not_count_in_a_cut_text_has_no_place() -> None:
    assert letter("Option B is correct and", "length").span is None


def test_every_benchmark_of_letters_tells_the_place() -> None:
    item = Item("id", "Where?", "B", "test", "id", extras={"choices": list(CITIES)})
    assert MultipleChoice("arc", list, 64).score(item, "Answer: B", "stop").span == (8, 9)


# --- words ---


@pytest.mark.parametrize(
    "text",
    [
        "⟦Mark Twain⟧",
        " ⟦Mark Twain⟧.\n\nHe wrote Tom Sawyer.",
        "Answer: ⟦Mark Twain⟧",
        "**Answer:** **⟦Mark Twain⟧**",
        'Answer:\n\n"⟦Mark Twain⟧."',
        "The answer is ⟦Mark Twain⟧.",
        "Answer: Dickens\nNo.\nAnswer: ⟦Samuel Clemens⟧",
        "Answer: ⟦Mark Twain⟧\n\nQuestion: And then?\nAnswer: Dickens",
        "<answer>⟦Mark Twain⟧</answer>",
        r"So $\boxed{\text{⟦Mark Twain⟧}}$.",
        "<think>Answer: Dickens</think>⟦Mark Twain⟧",
        "<think>x</think>\u200b It was written by a man who was called ⟦Twain⟧.",
        "⟦Mark Twain⟧ (Samuel Clemens)",
        "“⟦Mark Twain⟧” (he)!",
        "⟦Mark Twain⟧. He wrote Tom Sawyer.",
        "⟦Mark Twain⟧, because he wrote it",
        "The author is ⟦Ｍａｒｋ Twain⟧!",
        "⟦Mark\u200b Twain⟧",
    ],
)
def test_right_answers_in_words(text: str) -> None:
    assert check(trivia, text).correct


@pytest.mark.parametrize(
    "text",
    [
        "Answer: ⟦Charles Dickens⟧.",
        "⟦Not Mark Twain⟧",
        "Answer: ⟦The Sea (of Tranquility⟧)",
        "Answer: ⟦-5⟧",
        "<think>Mark Twain</think>\n\n“⟦Dickens⟧”",
    ],
)
def test_wrong_answers_in_words(text: str) -> None:
    assert check(trivia, text).outcome == "wrong"


@pytest.mark.parametrize("text", ["", "I don't know.", "Answer:", "((((", "<think>Mark Twain"])
def test_no_words_no_place(text: str) -> None:
    assert trivia(text).span is None


def test_words_that_may_have_been_cut_have_no_place() -> None:
    assert trivia("Mark Twain", "length").span is None
    assert check(lambda completion: trivia(completion, "length"), "Answer: ⟦Mark Twain⟧").correct


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("It has a tower.\nAnswer: ⟦Paris⟧.", "correct"),
        ("Answer: Rome\nAnswer: **⟦Paris⟧**", "correct"),
        ("<think>Rome</think>\n⟦Paris, of course⟧", "correct"),
        ("½ ﬁ Answer: ⟦Rome⟧", "wrong"),
    ],
)
def test_questions_without_their_options(text: str, outcome: str) -> None:
    assert check(opened, text).outcome == outcome


def test_questions_whose_options_are_numbers() -> None:
    found = check(lambda completion: opened(completion, "$1,200", "$5", "$7"), "So\nAnswer: $⟦1,200⟧ in all")
    assert found.correct
    assert opened("Answer: I don't know", "1", "2").span is None


# --- what another filter read ---


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("42", "#### ⟦42⟧"),
        ("42", "42 or 41, so ⟦42⟧."),
        ("4", "it is ⟦4⟧, not 14, 4.5 or 3,4 or 4x"),
        ("-5", "#### ⟦-5⟧"),
        ("(B)", "So (A), no ⟦(B)⟧."),
        ("f(x)", "that is ⟦f(x)⟧"),
        ("a+", "⟦a+⟧ and aa+"),
        ("1200", "#### 1,200"),
        ("two words", "⟦two words⟧\n"),
    ],
)
def test_the_last_place_of_what_a_filter_gave(answer: str, text: str) -> None:
    completion, span = marked(text)
    assert last_place(answer, completion, 0, len(completion)) == span


def test_only_a_range_is_searched() -> None:
    assert last_place("42", "42 <think>42</think> 42\n\n42", 20, 23) == (21, 23)
    assert last_place("42", "42 <think>42</think> no", 20, 23) is None


# --- no one place ---


def test_answers_that_stand_in_no_one_place() -> None:
    item = Item("id", "Write.", '["sun"]', "test", "id")
    found = ForbiddenWords(ForbiddenOptions()).score(item, "The moon shines.", "stop")
    assert (found.correct, found.span) == (True, None)


def test_a_verdict_keeps_the_place_of_an_answer_that_counts() -> None:
    assert verdict("42", "stop", answer="42", final=False, score=1.0, span=(0, 2)).span == (0, 2)
    assert verdict("42", "length", answer="42", final=False, score=1.0, span=(0, 2)).span is None
    assert verdict("\u200b", "stop", answer="42", final=True, score=1.0, span=(0, 1)).span is None


# --- whatever stands around ---

AROUND = st.text(
    st.sampled_from("aé½³ﬁ：１㎏\u0301\u200b\u00a0\n \\{}$*_#<>=,.()-😀ｶ\uff9e"), max_size=30
) | st.sampled_from(
    [
        "<think>#### 9 Answer: A</think>",
        "<think>x</think>\n<<1+1=2>>",
        r"\text{so} \frac{1}{2} ",
        "It is 1,000 or (C).\n",
    ]
)
ENDS = st.sampled_from(["", ".", "\n", "\n\nQuestion: x\n#### 9\nAnswer: A", "<think>#### 9 Answer: A", " \u200b\n\nﬁ"])

NUMBERS = st.builds(
    lambda value, sign, form: sign + form(value),
    st.integers(0, 10**9),
    st.sampled_from(["", "-"]),
    st.sampled_from([str, "{:,}".format, "{:.2f}".format, "{:,.2f}".format, "{}/7".format]),
)


@given(AROUND, st.sampled_from(["#### {}", r"\boxed{{{}}}", "<answer>{}</answer>", "Answer: ${}"]), NUMBERS, ENDS)
def test_a_number_is_found_where_it_was_put(before: str, form: str, written: str, after: str) -> None:
    start = len(before) + 1 + form.format("?").index("?")
    found = number(f"{before}\n{form.format(written)}{after}")
    if found.answer == exact(written):
        assert found.span == (start, start + len(written))


@given(AROUND, NUMBERS, AROUND)
def test_what_stands_in_the_place_of_a_number_is_the_answer(before: str, written: str, after: str) -> None:
    completion = f"{before} {written} {after}"
    found = number(completion)
    if found.span is None:
        assert found.answer is None
    else:
        assert exact(completion[slice(*found.span)]) == found.answer


def exact(written: str) -> str | None:
    found = extract_number(f"#### {written}")
    return found.text if found else None


@given(
    AROUND, st.sampled_from(["Answer: {}", "({}) is correct", r"\boxed{{{}}}", "<answer>**{}**</answer>", "({})"]), ENDS
)
def test_what_stands_in_the_place_of_a_letter_is_the_answer(before: str, form: str, after: str) -> None:
    for chosen in "ABCDabcd":
        completion = f"{before}\n{form.format(chosen)}{after}"
        found = letter(completion)
        assert (found.span is None) == (found.answer is None)
        if found.span is not None:
            assert completion[slice(*found.span)].upper() == found.answer


@given(AROUND, st.sampled_from(["Answer: {}", "{}", "It is {}.", "<answer>{}</answer>", "“{}” (he)"]), AROUND)
def test_what_stands_in_the_place_of_words_is_the_answer(before: str, form: str, after: str) -> None:
    for name in ("Mark Twain", "Samuel Clemens", "Dickens"):
        completion = f"{before}\n{form.format(name)}{after}"
        found = trivia(completion)
        assert (found.span is None) == (found.answer is None)
        if found.correct and found.span is not None:
            there = completion[slice(*found.span)]  # a remark may stand inside it
            assert found.answer in (normalise(there), normalise(re.sub(r"\([^()]*\)", "", there)))


@given(st.text(max_size=60))
def test_a_place_is_a_part_of_the_completion(text: str) -> None:
    for score in (number, letter, trivia, opened):
        found = score(text)
        assert (found.span is None) == (found.answer is None)
        if found.span is not None:
            start, end = found.span
            assert 0 <= start < end <= len(text)
            assert not re.match(r"\s", text[start])
