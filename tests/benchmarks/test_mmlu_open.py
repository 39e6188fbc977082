"""mmlu_open: which questions are asked, exact prompts, scoring by the right option's text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taboo_cluster.benchmarks import mmlu, mmlu_open
from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.benchmarks.mmlu_data import Options
from taboo_cluster.benchmarks.mmlu_open import differ_by_number, gold_text, left_out, named
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.trial import Item

DATA = Path(__file__).parents[2] / "../shared/data/mmlu"

ACIDS = ("acid", "nucleic acid", "the base", "salt")


def item(*choices: str, gold: str = "A", question: str = "What is it?") -> Item:
    return Item("id", question, gold, "test", "id", "subject", {"choices": list(choices)})


def opened(*choices: str, gold: str = "A") -> Item:
    """An item as mmlu_open has it, its gold answer a text."""
    made = item(*choices, gold=gold)
    return replace(made, gold=gold_text(made))


def row(question: str, *choices: str, answer: int = 0) -> dict[str, Any]:
    return {"question": question, "subject": "subject", "choices": list(choices), "answer": answer}


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def benchmark() -> mmlu_open.MmluOpen:
    return mmlu_open.MmluOpen(Options())


@pytest.mark.parametrize(
    "question",
    [
        "Which of the following is an acid?",
        "Which of these is an acid?",
        "Which one is an acid?",
        "Which statement holds?",
        "What one of these is an acid?",
        "All are acids EXCEPT",
        "An acid does all this except:",
        "Which is NOT an acid?",
        "Which acid is LEAST strong?",
        "Statement 1 | It is an acid. Statement 2 | It is a base.",
        "Which is the odd one out?",
        "Select the best name.",
        "Which pair below is an acid and a base?",
    ],
)
def test_a28_questions_that_speak_of_their_options_are_left_out(question: str) -> None:
    assert left_out(item(*ACIDS, question=question)) == "that speak of their options"


@pytest.mark.parametrize(
    "choice",
    [
        "all of the above",
        "None of these.",
        "Both of these",
        "either of the above",
        "both A and B",
        "A and C",
        "(A) or (B)",
        "neither B nor D",
        "Some of them",
        "none",
    ],
)
def test_a28_so_are_questions_whose_options_speak_of_one_another(choice: str) -> None:
    assert left_out(item("acid", "base", choice, "salt")) == "that speak of their options"


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        (ACIDS, None),
        (("a base, that is to say an alkali", "acid"), "with an answer of more than 5 words"),
        (("a base that is an alkali", "acid"), None),
        (("Yes", "No"), "with an answer that guessing gets right"),
        (("True, False", "False, True"), "with an answer that guessing gets right"),
        (("p ∨ q", "p ⊃ q", "q ⊃ p"), "whose options differ in signs only"),
        (("q ⊃ p", "p ∨ q", "p ⊃ q"), None),
        (("acid", "acid", "base"), None),
        (("Norway", "Nothing at all"), None),
        (("vitamin a and sugar", "nonesuch", "the whole of it"), None),
    ],
)
def test_which_answers_can_be_asked_for(choices: tuple[str, ...], reason: str | None) -> None:
    assert left_out(item(*choices)) == reason


def test_the_note_counts_what_is_left_out(tmp_path: Path) -> None:
    rows = [row("What is it?", *ACIDS), row("Which of these?", *ACIDS), row("Is it?", "yes", "no")]
    made = mmlu_open.MmluOpen(Options(path=write(tmp_path / "a.jsonl", *rows)))
    assert [each.question for each in made.items()] == ["What is it?"]
    (note,) = made.notes
    assert note.startswith("mmlu_open asks 1 questions; left out: 1 that speak of their options, 1 with an answer that")
    with pytest.raises(UserError, match="has no question that can be asked without its options"):
        mmlu_open.MmluOpen(Options(path=write(tmp_path / "b.jsonl", rows[1]))).items()


def test_items_are_those_of_mmlu(tmp_path: Path) -> None:
    options = Options(path=write(tmp_path / "a.jsonl", row("What is it?", *ACIDS), row("Which?", "salt", "acid")))
    own, lettered = mmlu_open.MmluOpen(options).items(), mmlu.Mmlu(options).items()
    assert [replace(each, gold="") for each in own] == [replace(each, gold="") for each in lettered]
    assert {each.gold for each in own} == {"acid", "salt"}


def test_a27_an_item_that_cannot_be_asked_is_an_error_and_not_left_out(tmp_path: Path) -> None:
    made = mmlu_open.MmluOpen(Options(path=write(tmp_path / "a.jsonl", row("Which?"), row("What is it?", *ACIDS))))
    good, bad = made.items()
    assert made.prompt(good, good.question, "cot", 0)
    with pytest.raises(TrialError, match="the question has no options"):
        made.prompt(bad, bad.question, "cot", 0)


def test_the_prompts(benchmark: mmlu_open.MmluOpen) -> None:
    prompt = benchmark.prompt(item(*ACIDS), "What is it?", "cot", 1)
    assert prompt.plain == (
        "Question: A train leaves at 9:40 and arrives at 13:05. How long does the ride take?\n"
        "Reasoning: From 9:40 to 12:40 it takes 3 hours. From 12:40 to 13:05 it takes 25 minutes more. "
        "Together this is 3 hours and 25 minutes.\n"
        "Answer: 3 hours 25 minutes\n\n"
        "Question: What is it?\nReasoning:"
    )
    assert prompt.user == (
        "What is it?\n\nReason step by step. Write the last line as Answer: followed by the answer in a few words."
    )
    direct = benchmark.prompt(item(*ACIDS), "What is it?", "direct", 2)
    assert direct.plain == (
        "Question: A train leaves at 9:40 and arrives at 13:05. How long does the ride take?\n"
        "Answer: 3 hours 25 minutes\n\n"
        "Question: A metal spoon stands in hot soup. By what process does its dry handle become hot?\n"
        "Answer: Conduction\n\n"
        "Question: What is it?\nAnswer:"
    )
    assert direct.user.endswith("\n\nReply with one line: Answer: followed by the answer in a few words.")
    with pytest.raises(UserError, match="no prompt style"):
        benchmark.prompt(item(*ACIDS), "x", "poem", 0)
    with pytest.raises(UserError, match="n_shots=6"):
        benchmark.prompt(item(*ACIDS), "x", "cot", 6)


@pytest.mark.parametrize(
    ("gold", "completion", "outcome"),
    [
        ("A", "Answer: Acid.", "correct"),
        ("A", "Let us see.\nAnswer: an acid", "correct"),
        ("A", "It tastes sour.\n\nSo it is an acid.", "correct"),
        ("A", "Answer: it must be some acid", "correct"),
        ("A", "Answer: nucleic acid", "wrong"),
        ("B", "Answer: a nucleic acid like DNA", "correct"),
        ("B", "Answer: nucleic acid, a kind of acid", "wrong"),
        ("A", "Answer: an acid or a salt", "wrong"),
        ("A", "Answer: not acid", "wrong"),
        ("A", "Answer: it is no acid", "wrong"),
        ("A", "Answer: acids", "wrong"),
        ("C", "Answer: base", "correct"),
        ("A", "Answer: A", "wrong"),
        ("A", "acid\n\nAnswer: salt", "wrong"),
        ("A", "", "no_response"),
        ("A", "I don't know.", "invalid_format"),
        ("A", "((((", "invalid_format"),
        ("A", "I'm sorry, but I can't answer that.", "refused"),
    ],
)
def test_a30_answers_in_words(benchmark: mmlu_open.MmluOpen, gold: str, completion: str, outcome: str) -> None:
    assert benchmark.score(opened(*ACIDS, gold=gold), completion, "stop").outcome == outcome


@pytest.mark.parametrize(
    ("completion", "outcome"),
    [
        ("It is sour, so it is an acid", "truncated"),
        ("Answer: acid", "correct"),
        ("<think>Answer: acid", "truncated"),
    ],
)
def test_a16_a_text_stopped_by_length_needs_a_final_form(
    benchmark: mmlu_open.MmluOpen, completion: str, outcome: str
) -> None:
    assert benchmark.score(opened(*ACIDS), completion, "length").outcome == outcome


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        (("1", "2.5", "-3", "1/2"), True),
        (("$1,200", "$400"), True),
        (("10 m/s", "20 m/s."), True),
        (("10 V", "10 mV"), False),
        (("(1,6)", "(3,6)"), False),
        (("0", "1", "0,1"), False),
        (("3 and 5", "4 and 5"), False),
        (("vitamin B12", "vitamin B6"), False),
        (ACIDS, False),
    ],
)
def test_options_that_differ_by_one_number(choices: tuple[str, ...], expected: bool) -> None:
    assert differ_by_number(choices) is expected


@pytest.mark.parametrize(
    ("completion", "outcome"),
    [
        ("Answer: 1,200 m/s", "correct"),
        ("Answer: 1200", "correct"),
        ("Answer: 1200.0 meters per second", "correct"),
        ("So $\\boxed{1200}$.", "correct"),
        ("600 * 2 = 1200", "correct"),
        ("Answer: 12", "wrong"),
        ("Answer: 1200, no, 400", "correct"),
        ("Answer: not 1200", "wrong"),
        ("Answer: very fast", "invalid_format"),
    ],
)
def test_a9_numbers_by_value(benchmark: mmlu_open.MmluOpen, completion: str, outcome: str) -> None:
    assert benchmark.score(opened("1,200 m/s", "400 m/s"), completion, "stop").outcome == outcome


def test_a_longer_option_hides_a_shorter_one_inside_it() -> None:
    assert named("it is a nucleic acid", ACIDS) == {"nucleic acid"}
    assert named("nucleic acid and acid", ACIDS) == {"nucleic acid", "acid"}
    assert named("acidity", ACIDS) == set()


def test_canaries_hold(tmp_path: Path) -> None:
    entry = BENCHMARKS.get("mmlu_open")
    for choices in (ACIDS, ("30", "40"), ("x", "x", "y")):
        built = entry.build(entry.options(path=write(tmp_path / "a.jsonl", row("What is it?", *choices))))
        for each, completion, right in built.canaries():
            assert built.score(each, completion, "stop").correct is right
    assert (built.name, built.chance) == ("mmlu_open", None)


def test_real_files() -> None:
    if not DATA.is_dir():
        pytest.skip("no MMLU files at ../shared/data/mmlu")
    made = mmlu_open.MmluOpen(Options(path=str(DATA)))
    items, every = made.items(), mmlu.Mmlu(Options(path=str(DATA))).items()
    assert {each.item_id for each in items} < {each.item_id for each in every}
    counts = [int(word.replace(",", "")) for word in made.notes[0].split() if word[0].isdigit() and word != "5"]
    assert counts[0] == len(items)
    assert sum(counts) == len(every)
    for each in items:
        gold = each.gold
        for form in (f"Let us see.\nAnswer: {gold}", f" {gold}", f"The answer is {gold}"):
            assert made.score(each, form, "stop").correct, (form, each)
        assert not made.score(each, f"Answer: not {gold}", "stop").correct
        for other in each.extras["choices"]:
            if other != gold:
                assert not made.score(each, f"Answer: {other}", "stop").correct, (other, each)
