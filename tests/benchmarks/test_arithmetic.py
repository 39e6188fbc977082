"""arithmetic: generation, the held-out splits, prompts and scoring."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo_cluster.benchmarks import arithmetic
from taboo_cluster.benchmarks.arithmetic import (
    LARGEST,
    SHOTS,
    Arithmetic,
    Options,
    Step,
    held_out,
    problem,
    solve,
)
from taboo_cluster.benchmarks.arithmetic_templates import BOXES, FORMULAS, PEOPLE, TEST, THINGS, TIMES, TRAIN
from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.errors import UserError

_SLOTS = {
    **dict.fromkeys("ABC", "|".join(name for name, _ in PEOPLE)),
    **dict.fromkeys(["he", "him", "his", "He", "His"], "he|she|him|her|his|He|She|Her|His"),
    **dict.fromkeys("abc", r"\d+"),
    "things": "|".join(THINGS),
    "box": "|".join(one for one, _ in BOXES),
    "boxes": "|".join(many for _, many in BOXES),
    **{slot: "|".join(time for times in TIMES for time in times) for slot in ("t1", "t2", "t3")},
    **{slot: "|".join(time.capitalize() for times in TIMES for time in times) for slot in ("T1", "T2")},
}


def pattern(template: str) -> re.Pattern[str]:
    """What the template can spell, with any people, things and numbers."""
    text = re.escape(template).replace(r"\ ", " ").replace(r"\[", "(?:").replace(r"\]", ")").replace(r"\|", "|")
    text = re.sub(r"\\{(\w+)\\}", lambda slot: f"(?:{_SLOTS[slot[1]]})", text)
    return re.compile(text.replace(" ", " *"))


def test_problems_are_a_pure_function_of_split_seed_and_index() -> None:
    assert problem("test", 0, 17) == problem("test", 0, 17)
    assert problem("test", 0, 17) != problem("test", 1, 17)
    assert problem("test", 0, 17) != problem("test", 0, 17 + sum(map(len, TEST.values())))


def test_exact_first_items() -> None:
    items = Arithmetic(Options()).items()
    assert len(items) == 500
    first, eleventh = items[0], items[10]
    assert (first.item_id, first.split, first.cluster_id, first.gold) == ("0-00000", "test", "test-add-1", "46")
    assert first.question == (
        "On Monday Ben has 31 eggs. On Tuesday he buys 15 more. How many eggs does he have in total?"
    )
    assert (eleventh.item_id, eleventh.cluster_id, eleventh.gold) == ("0-00010", "test-add_sub-1", "9")
    assert eleventh.question == (
        "Henry finds 13 coins in the morning and 14 in the evening, but loses 18. How many coins are left?"
    )


def test_ids_are_unique_and_survive_another_number_of_items() -> None:
    items = Arithmetic(Options()).items()
    assert len({item.item_id for item in items}) == len(items)
    assert Arithmetic(Options(n=30)).items() == items[:30]


def test_other_seed_has_other_ids_and_questions() -> None:
    ours, others = Arithmetic(Options(n=40)).items(), Arithmetic(Options(seed=1, n=40)).items()
    assert not {item.item_id for item in ours} & {item.item_id for item in others}
    assert not {item.question for item in ours} & {item.question for item in others}


@pytest.mark.parametrize("split", ["train", "test"])
def test_gold_is_what_the_operations_give_and_stands_in_range(split: str) -> None:
    symbols = {"+": "+", "-": "-", "*": "*", "/": "//"}
    for index in range(600):
        made = problem(split, 3, index)
        formula = made.template.split("-")[1]
        values = dict(zip("abc", made.operands, strict=False))
        for left, operator, right in FORMULAS[formula].steps:
            exact = eval(f"{values[left]} {operator} {values[right]}")  # noqa: S307
            values["p"] = eval(f"{values[left]} {symbols[operator]} {values[right]}")  # noqa: S307
            assert exact == values["p"]
            assert 1 <= values["p"] <= LARGEST
        assert made.answer == values["p"]
        written = sorted(int(number) for number in re.findall(r"\d+", made.question))
        assert written == sorted(made.operands)


def test_solve_by_hand() -> None:
    assert solve("fewer_total", (20, 7)) == (Step(20, "-", 7, 13), Step(20, "+", 13, 33))
    assert solve("sub_div", (30, 6, 4)) == (Step(30, "-", 6, 24), Step(24, "/", 4, 6))
    assert solve("sub_div", (30, 5, 4)) is None, "25 / 4 is not whole"
    assert solve("sub", (5, 5)) is None, "0 is no answer"
    assert solve("add_add", (60, 40, 1)) is None, "over 100"


def test_no_training_question_tells_its_story_as_a_test_template_does() -> None:
    told = [pattern(template) for templates in TEST.values() for template in templates]
    assert all(any(one.fullmatch(problem("test", 0, index).question) for one in told) for index in range(50))
    for index in range(4000):
        question = problem("train", 0, index).question
        assert not any(one.fullmatch(question) for one in told), question


def test_a_wording_that_spells_a_test_template_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    test = TEST["sub_div"][0]
    monkeypatch.setattr(arithmetic, "_SPLITS", {"train": {"sub_div": (f"[{test}|How many stones are left?]",)}})
    assert {problem("train", 0, index).question for index in range(30)} == {"How many stones are left?"}


@pytest.mark.parametrize(("split", "held"), [("train", False), ("test", True)])
def test_splits_share_no_operands(split: str, held: bool) -> None:
    for index in range(1500):
        made = problem(split, 0, index)
        assert held_out(made.template.split("-")[1], made.operands) is held


def test_both_splits_have_operands_of_every_formula() -> None:
    for name, formula in FORMULAS.items():
        ranges = [range(low, high + 1) for low, high in formula.ranges.values()]
        tuples = itertools.islice((t for t in itertools.product(*ranges) if solve(name, t)), 20000)
        share = [held_out(name, operands) for operands in tuples]
        assert 0.1 < sum(share) / len(share) < 0.3, name


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["train", "test"]), st.integers(0, 2**31), st.integers(0, 2**40))
def test_a_question_is_clean_text(split: str, seed: int, index: int) -> None:
    question = problem(split, seed, index).question
    assert not re.search(r"[\[\]{}|]|  | [.?,]", question)
    assert question.endswith("?")
    assert problem(split, seed, index).unit in question


def test_shots_are_training_problems_with_their_right_answer() -> None:
    for question, answer in SHOTS:
        [formula] = [name for name, texts in TRAIN.items() if any(pattern(text).fullmatch(question) for text in texts)]
        operands = tuple(int(number) for number in re.findall(r"\d+", question))
        assert not held_out(formula, operands)
        steps = solve(formula, operands)
        assert steps is not None
        assert answer.endswith(f"The answer is {steps[-1].result}.")
        for step in steps:
            assert f"{step.left} {step.operator} {step.right} = {step.result}" in answer


def test_exact_prompt() -> None:
    benchmark = Arithmetic(Options())
    item = benchmark.items()[0]
    prompt = benchmark.prompt(item, item.question, "cot", 2)
    assert prompt.plain == (
        "Question: Rosa has 14 shells. A friend gives her 9 more. How many shells does Rosa have now?\n"
        "Answer: We add 9: 14 + 9 = 23. The answer is 23.\n\n"
        "Question: Sam has 6 bags with 4 coins each. He gives 9 coins to Ivy. How many coins does Sam have left?\n"
        "Answer: First, there are 6 * 4 = 24 coins. Then, this leaves 24 - 9 = 15 coins. The answer is 15.\n\n"
        "Question: On Monday Ben has 31 eggs. On Tuesday he buys 15 more. How many eggs does he have in total?\n"
        "Answer:"
    )
    assert prompt.stop == ("\n\nQuestion:", "\nQuestion:")
    assert prompt.shots[0] == (
        "Rosa has 14 shells. A friend gives her 9 more. How many shells does Rosa have now?\nReason step by step.",
        "We add 9: 14 + 9 = 23. The answer is 23.",
    )
    assert len(prompt.shots) == 2
    assert prompt.user == f"{item.question}\nReason step by step."
    assert prompt.chat_stop == ()


def test_prompt_takes_the_perturbed_question_and_no_shots() -> None:
    benchmark = Arithmetic(Options())
    prompt = benchmark.prompt(benchmark.items()[0], "W h a t ?", "cot", 0)
    assert prompt.plain == "Question: W h a t ?\nAnswer:"
    assert prompt.shots == ()


def test_unknown_style_shots_and_size_are_user_errors() -> None:
    benchmark = Arithmetic(Options())
    item = benchmark.items()[0]
    with pytest.raises(UserError, match=r"no prompt style 'direct'.*cot"):
        benchmark.prompt(item, item.question, "direct", 2)
    with pytest.raises(UserError, match="n_shots=5"):
        benchmark.prompt(item, item.question, "cot", 5)
    with pytest.raises(UserError, match=r"benchmark\.arithmetic\.n is 0"):
        Arithmetic(Options(n=0))


@pytest.mark.parametrize(
    ("completion", "finish", "outcome"),
    [
        (" First, 31 + 15 = 46. The answer is 46.", "stop", "correct"),
        (" So we get 46 eggs.", "stop", "correct"),
        (" The answer is 47.", "stop", "wrong"),
        (" There are many eggs.", "stop", "invalid_format"),
        ("", "stop", "no_response"),
        (" 31 + 15", "length", "truncated"),
        (" The answer is 46.\n\nQuestion: Ann has 3 hats.\nAnswer: The answer is 3.", "stop", "correct"),
    ],
)
def test_scores(completion: str, finish: str, outcome: str) -> None:
    benchmark = Arithmetic(Options())
    verdict = benchmark.score(benchmark.items()[0], completion, finish)
    assert verdict.outcome == outcome
    assert verdict.score == float(outcome == "correct")


def test_canaries_hold() -> None:
    benchmark = Arithmetic(Options())
    canaries = benchmark.canaries()
    assert {correct for _, _, correct in canaries} == {True, False}
    for item, completion, correct in canaries:
        assert benchmark.score(item, completion, "stop").correct is correct


def test_is_registered() -> None:
    entry = BENCHMARKS.get("arithmetic")
    benchmark = entry.build(entry.options(n=3))
    assert (benchmark.name, benchmark.styles, benchmark.default_shots) == ("arithmetic", ("cot",), 2)
    assert len(benchmark.items()) == 3
