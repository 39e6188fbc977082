"""gsm8k and gsm_symbolic."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from taboo_cluster.benchmarks import gsm8k, gsm_symbolic
from taboo_cluster.benchmarks.base import BENCHMARKS, Benchmark
from taboo_cluster.benchmarks.numeric import gold_value
from taboo_cluster.benchmarks.word_problems import SHOTS
from taboo_cluster.errors import UserError

DATA = Path(__file__).parents[2] / "../shared/data/gsm8k"

ROWS = [
    {"question": "Ann has 2 pens and buys 3. How many now?", "answer": "2+3=<<2+3=5>>5\n#### 5"},
    {"question": "A car costs $1,200 less 200. What is paid?", "answer": "It is 1,000.\n#### 1,000"},
    {"question": "Half of 5?", "answer": "#### 2.5"},
]


def write(path: Path, rows: list[dict[str, str]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def symbolic(**options: int) -> Benchmark:
    return gsm_symbolic.build(gsm_symbolic.Options(**options))


def test_gsm8k_items_from_a_local_file(tmp_path: Path) -> None:
    items = gsm8k.build(gsm8k.Options(path=write(tmp_path / "a.jsonl", ROWS))).items()
    assert {item.question: item.gold for item in items} == {
        "Ann has 2 pens and buys 3. How many now?": "5",
        "A car costs $1,200 less 200. What is paid?": "1000",
        "Half of 5?": "2.5",
    }
    assert all(item.cluster_id == item.item_id and item.split == "test" for item in items)


def test_h11_h12_ids_come_from_the_content_and_not_from_its_place(tmp_path: Path) -> None:
    one = gsm8k.build(gsm8k.Options(path=write(tmp_path / "a.jsonl", ROWS))).items()
    two = gsm8k.build(gsm8k.Options(path=write(tmp_path / "b.jsonl", [*reversed(ROWS), ROWS[0]]))).items()
    assert one == two
    assert len({item.item_id for item in one}) == 3


def test_h12_one_question_with_two_answers_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [ROWS[0], {**ROWS[0], "answer": "#### 6"}])
    with pytest.raises(UserError, match="one question has two answers, 5 and 6"):
        gsm8k.build(gsm8k.Options(path=path)).items()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "Half of 5?"}, "line 1: no column 'answer'"),
        ({"question": "Half of 5?", "answer": "many"}, "line 1: the answer holds no number: 'many'"),
    ],
)
def test_malformed_rows_are_named(tmp_path: Path, row: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        gsm8k.build(gsm8k.Options(path=write(tmp_path / "a.jsonl", [row]))).items()
    assert message in str(caught.value)


@pytest.mark.skipif(not DATA.is_dir(), reason="no GSM8K files at ../shared/data/gsm8k")
def test_real_gsm8k_files_and_no_shot_among_their_questions() -> None:
    test = gsm8k.build(gsm8k.Options(path=str(DATA))).items()
    train = gsm8k.build(gsm8k.Options(path=str(DATA), split="train")).items()
    assert (len(test), len(train)) == (700, 500)
    questions = {item.question for item in [*test, *train]}
    assert len(questions) == 1200
    assert not questions & {question for question, _ in SHOTS}


def test_gsm_symbolic_is_generated_offline_and_a_larger_size_contains_a_smaller_one() -> None:
    few, many = symbolic(size=30).items(), symbolic(size=60).items()
    assert {item.item_id for item in few} < {item.item_id for item in many}
    assert few == symbolic(size=30).items()
    other = {item.item_id for item in symbolic(size=30, seed=7).items()}
    assert len({item.item_id for item in few} & other) < 10


def test_gsm_symbolic_questions_carry_no_instruction_and_share_a_cluster_with_their_template() -> None:
    items = symbolic(size=200).items()
    assert not any("final answer" in item.question for item in items)
    clusters: dict[str, list[str]] = {}
    for item in items:
        clusters.setdefault(item.cluster_id, []).append(item.question)
        gold_value(item.gold)
    assert 20 < len(clusters) < 100
    largest = max(clusters.values(), key=len)
    endings = {question.split()[-1] for question in largest}
    assert len(largest) > 2
    assert len(endings) == 1


def test_plain_and_chat_form_of_a_prompt() -> None:
    benchmark = symbolic(size=1)
    prompt = benchmark.prompt(benchmark.items()[0], "How many?", "cot", 2)
    (first, worked), (second, _) = SHOTS[:2]
    assert prompt.plain.startswith(f"Question: {first}\nAnswer: {worked}\n\nQuestion: {second}\nAnswer: ")
    assert prompt.plain.endswith("\n\nQuestion: How many?\nAnswer:")
    assert [answer for _, answer in prompt.shots] == [answer for _, answer in SHOTS[:2]]
    assert prompt.user.startswith("How many?\n")
    instruction = prompt.user.removeprefix("How many?")
    assert all(user.endswith(instruction) for user, _ in prompt.shots)
    assert "\nQuestion:" in prompt.stop
    assert prompt.chat_stop == ()


def test_the_direct_style_shows_answers_without_reasoning() -> None:
    benchmark = symbolic(size=1)
    prompt = benchmark.prompt(benchmark.items()[0], "How many?", "direct", 1)
    asked, worked = SHOTS[0]
    assert worked.endswith("\n#### 75")
    assert prompt.plain == f"Question: {asked}\nAnswer: #### 75\n\nQuestion: How many?\nAnswer:"
    assert prompt.user == "How many?\n\nReply with one line: #### followed by the number alone."
    assert prompt.shots == ((asked + prompt.user.removeprefix("How many?"), "#### 75"),)


@pytest.mark.parametrize(
    ("style", "how", "lead"),
    [
        ("cot", "Reason step by step. Then write", "Reasoning:"),
        ("direct", "Do not explain anything. Write only", "Answer:"),
    ],
)
def test_without_examples_the_answer_is_asked_for_in_a_tag(style: str, how: str, lead: str) -> None:
    benchmark, asked = symbolic(size=1), f"{how} <answer>X</answer>, where X is the final number alone."
    prompt = benchmark.prompt(benchmark.items()[0], "How many?", style, 0)
    assert prompt.user == f"How many?\n\n{asked}"
    assert prompt.plain == f"Question: How many?\n\n{asked}\n{lead}"
    assert (prompt.shots, prompt.stop, prompt.chat_stop) == ((), ("\nQuestion:", "\nQ:"), ())


@pytest.mark.parametrize(
    ("completion", "outcome"),
    [
        ("It is 2 + 3 = 5. <answer>5</answer>", "correct"),
        ("<answer>$5.00</answer>\n<answer>X</answer>", "invalid_format"),
        ("Write <answer>X</answer>? So <answer>5</answer>", "correct"),
        ("<answer>6</answer>", "wrong"),
        (" 5", "correct"),
    ],
)
def test_a26_a_tag_without_a_number_is_no_answer(completion: str, outcome: str, tmp_path: Path) -> None:
    benchmark = gsm8k.build(gsm8k.Options(path=write(tmp_path / "a.jsonl", ROWS[:1])))
    assert benchmark.score(benchmark.items()[0], completion, "stop").outcome == outcome


@pytest.mark.parametrize(("question", "answer"), SHOTS)
def test_shots_are_right(question: str, answer: str) -> None:
    operations = {"+": Fraction.__add__, "-": Fraction.__sub__, "*": Fraction.__mul__, "/": Fraction.__truediv__}
    found = re.findall(r"([\d.]+)((?: [-+*/] [\d.]+)+) = \$?(\d+(?:\.\d+)?)", answer)
    assert len(found) == answer.count("=")
    for first, rest, result in found:
        value = Fraction(first)
        for operator, operand in re.findall(r" ([-+*/]) ([\d.]+)", rest):
            value = operations[operator](value, Fraction(operand))
        assert value == Fraction(result), answer
    assert gold_value(answer) == Fraction(found[-1][2])
    assert answer.endswith(f"\n#### {found[-1][2]}")


@pytest.mark.parametrize(("style", "n_shots", "message"), [("poem", 2, "no prompt style"), ("cot", 9, "n_shots=9")])
def test_unknown_style_and_too_many_shots(style: str, n_shots: int, message: str) -> None:
    benchmark = symbolic(size=1)
    with pytest.raises(UserError, match=message):
        benchmark.prompt(benchmark.items()[0], "x", style, n_shots)


def test_a13_a_bare_stop_string_is_one_stop_string() -> None:
    benchmark = gsm_symbolic.build(gsm_symbolic.Options(size=1, stop="Question:"))
    prompt = benchmark.prompt(benchmark.items()[0], "x", "cot", 0)
    assert prompt.stop == prompt.chat_stop == ("Question:",)


@pytest.mark.parametrize("stop", ["\n", ["###", "\n\n"], "", [""]])
def test_a17_a_stop_that_cuts_every_answer_is_a_config_error(stop: str | list[str]) -> None:
    with pytest.raises(UserError, match="stop string"):
        gsm8k.build(gsm8k.Options(stop=stop))


def test_settings_out_of_range() -> None:
    with pytest.raises(UserError, match="max_tokens is 0"):
        gsm8k.build(gsm8k.Options(max_tokens=0))
    with pytest.raises(UserError, match="size is 0"):
        symbolic(size=0)


@pytest.mark.parametrize("name", ["gsm8k", "gsm_symbolic"])
def test_canaries_hold(name: str, tmp_path: Path) -> None:
    entry = BENCHMARKS.get(name)
    path = {"path": write(tmp_path / "a.jsonl", ROWS)} if name == "gsm8k" else {"size": 5}
    benchmark = entry.build(entry.options(**path))
    for item, completion, right in benchmark.canaries():
        assert benchmark.score(item, completion, "stop").correct is right
    assert benchmark.name == name
