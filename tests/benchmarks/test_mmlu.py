"""mmlu: items from CSV, JSONL and the hub, exact prompts, letters scored."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hub_folders import parquet_folder, serve

from taboo_cluster.benchmarks import mmlu
from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.benchmarks.choices import LETTERS
from taboo_cluster.benchmarks.mmlu_data import SHOTS, Options
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.trial import Item

DATA = Path(__file__).parents[2] / "../shared/data/mmlu"

ROWS: list[dict[str, Any]] = [
    {"question": "Which is a city?", "subject": "geography", "choices": ["Rome", "Po", "Etna", "Elba"], "answer": 0},
    {"question": "What is 2 + 2?", "subject": "algebra", "choices": ["3", "5", "4", "22"], "answer": 2},
    {"question": "Which is a river?", "subject": "geography", "choices": ["Rome", "Po", "Etna", "Elba"], "answer": 1},
]
DEV: list[dict[str, Any]] = [
    {"question": "Which is a city?", "subject": "geography", "choices": ["Rome", "Po", "Etna", "Elba"], "answer": 0},
    {"question": "Which is a hill?", "subject": "geography", "choices": ["Rome", "Po", "Etna", "Elba"], "answer": 2},
    {"question": "Which is an island?", "subject": "geography", "choices": ["Rome", "Po", "Etna", "Elba"], "answer": 3},
]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def folder(root: Path, **splits: list[dict[str, Any]]) -> str:
    """A folder with JSONL files."""
    for split, rows in splits.items():
        write(root / f"{split}.jsonl", rows)
    return str(root)


def made(path: str, **options: Any) -> mmlu.Mmlu:
    return mmlu.Mmlu(Options(path=path, **options))


def asked(items: Sequence[Item], question: str) -> Item:
    return next(item for item in items if item.question == question)


def test_items_from_jsonl(tmp_path: Path) -> None:
    items = made(write(tmp_path / "a.jsonl", ROWS)).items()
    assert {item.question: (item.gold, item.group) for item in items} == {
        "Which is a city?": ("A", "geography"),
        "What is 2 + 2?": ("C", "algebra"),
        "Which is a river?": ("B", "geography"),
    }
    assert all(item.split == "test" and item.cluster_id == item.item_id for item in items)
    assert asked(items, "What is 2 + 2?").extras == {"choices": ["3", "5", "4", "22"]}


def test_csv_gives_the_same_items_as_jsonl(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    for subject in ("geography", "algebra"):
        with (tmp_path / "test" / f"{subject}_test.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["question", "choice0", "choice1", "choice2", "choice3", "answer"])
            out.writerows([r["question"], *r["choices"], r["answer"]] for r in ROWS if r["subject"] == subject)
    assert made(str(tmp_path)).items() == made(write(tmp_path / "a.jsonl", ROWS)).items()


def test_h11_h12_ids_come_from_subject_question_and_options(tmp_path: Path) -> None:
    items = made(write(tmp_path / "a.jsonl", ROWS)).items()
    assert made(write(tmp_path / "b.jsonl", [*reversed(ROWS), ROWS[0]])).items() == items
    other = made(write(tmp_path / "c.jsonl", [{**ROWS[0], "choices": ["Rome", "Po", "Etna", "Ischia"]}])).items()
    assert other[0].item_id not in {item.item_id for item in items}


def test_subjects(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", ROWS)
    assert [item.group for item in made(path, subjects=["algebra"]).items()] == ["algebra"]
    assert made(path, subjects="algebra").items() == made(path, subjects=["algebra"]).items()
    with pytest.raises(UserError, match="unknown MMLU subject 'algbra' - did you mean 'algebra'"):
        made(path, subjects=["algbra"]).items()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"choices": None}, "the question has no options"),
        ({"choices": []}, "the question has no options"),
        ({"choices": ["Rome"]}, "the question has 1 options, not 2 to 16"),
        ({"choices": ["Rome", " "]}, "an option is blank or not text"),
        ({"choices": ["Rome", 4]}, "an option is blank or not text"),
        ({"answer": 4}, "the answer 4 is not an index from 0 to 3"),
        ({"answer": -1}, "the answer -1 is not an index from 0 to 3"),
        ({"answer": None}, "the answer None is not an index from 0 to 3"),
        ({"answer": True}, "the answer True is not an index from 0 to 3"),
    ],
)
def test_a27_an_item_that_cannot_be_asked_is_an_error_and_not_wrong(
    tmp_path: Path, change: Mapping[str, Any], problem: str
) -> None:
    benchmark = made(write(tmp_path / "a.jsonl", [{**ROWS[0], **change}, ROWS[1]]))
    good, bad = benchmark.items()
    assert (good.question, bad.question) == ("What is 2 + 2?", "Which is a city?")
    assert benchmark.prompt(good, good.question, "cot", 0)
    for style in benchmark.styles:
        with pytest.raises(TrialError, match=problem) as caught:
            benchmark.prompt(bad, bad.question, style, 0)
        assert caught.value.error_type == "item_invalid"


def test_a27_a_question_with_two_answers_is_such_an_item(tmp_path: Path) -> None:
    rows = [ROWS[0], {**ROWS[0], "answer": 2}, ROWS[1]]
    benchmark, reversed_rows = made(write(tmp_path / "a.jsonl", rows)), made(write(tmp_path / "b.jsonl", rows[::-1]))
    bad = benchmark.items()[-1]
    assert bad == reversed_rows.items()[-1]
    with pytest.raises(TrialError, match="its rows give different answers, A/C"):
        benchmark.prompt(bad, bad.question, "cot", 2)


def test_a27_a_source_without_any_options_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no question can be asked; .*a.jsonl line 1: the question has no options"):
        made(write(tmp_path / "a.jsonl", [{**ROWS[0], "choices": []}])).items()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "test/x_test.csv",
            "Which is a city?,Rome,Po,Etna,Elba,A\n",
            "the first line has to name the columns",
        ),
        (
            "test/x_test.csv",
            "question,choice0,choice1,choice2,choice3,answer\nx,1,2\n",
            "line 2: it does not have",
        ),
        ("test/x.csv", "", r"there are no rows of files \*_test.csv"),
        ("test.jsonl", '{"question": "x"}', "line 1: no column 'subject'"),
    ],
)
def test_malformed_sources_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message):
        made(str(tmp_path)).items()


def test_a_csv_answer_that_is_no_index_makes_its_item_invalid(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    header = "question,choice0,choice1,choice2,choice3,answer\n"
    (tmp_path / "test" / "x_test.csv").write_text(f"{header}one,1,2,3,4,B\ntwo,1,2,3,4,3\n")
    assert [(item.question, item.gold) for item in made(str(tmp_path)).items()] == [("two", "D"), ("one", "B")]


def test_the_cot_prompt(tmp_path: Path) -> None:
    benchmark = made(write(tmp_path / "a.jsonl", ROWS))
    item = asked(benchmark.items(), "What is 2 + 2?")
    prompt = benchmark.prompt(item, item.question, "cot", 1)
    assert prompt.plain == (
        "Question: A train leaves at 9:40 and arrives at 13:05. How long does the ride take?\n"
        "A. 2 hours 25 minutes\nB. 3 hours 25 minutes\nC. 3 hours 35 minutes\nD. 4 hours 25 minutes\n"
        "Reasoning: From 9:40 to 12:40 it takes 3 hours. From 12:40 to 13:05 it takes 25 minutes more. "
        "Together this is 3 hours and 25 minutes.\n"
        "Answer: B\n\n"
        "Question: What is 2 + 2?\nA. 3\nB. 5\nC. 4\nD. 22\nReasoning:"
    )
    assert prompt.user == (
        "What is 2 + 2?\nA. 3\nB. 5\nC. 4\nD. 22\n\n"
        "Reason step by step. Write the last line as Answer: followed by the letter alone."
    )
    ((user, assistant),) = prompt.shots
    assert user.endswith("\nD. 4 hours 25 minutes\n\n" + prompt.user.rpartition("\n\n")[2])
    assert assistant.endswith("Together this is 3 hours and 25 minutes.\nAnswer: B")
    assert (prompt.stop, prompt.chat_stop) == (("\nQuestion:", "\nQ:"), ())


def test_the_direct_prompt_takes_its_examples_from_the_subjects_dev_rows(tmp_path: Path) -> None:
    benchmark = made(folder(tmp_path, test=ROWS, dev=DEV))
    item = asked(benchmark.items(), "Which is a city?")
    prompt = benchmark.prompt(item, item.question, "direct", 2)
    assert prompt.plain == (
        "Question: Which is a hill?\nA. Rome\nB. Po\nC. Etna\nD. Elba\nAnswer: C\n\n"
        "Question: Which is an island?\nA. Rome\nB. Po\nC. Etna\nD. Elba\nAnswer: D\n\n"
        "Question: Which is a city?\nA. Rome\nB. Po\nC. Etna\nD. Elba\nAnswer:"
    )
    assert [answer for _, answer in prompt.shots] == ["Answer: C", "Answer: D"]
    assert prompt.user.endswith("\n\nReply with one line: Answer: followed by the letter alone.")


def test_a_subject_without_enough_dev_rows_is_named(tmp_path: Path) -> None:
    benchmark = made(folder(tmp_path, test=ROWS, dev=DEV))
    item = asked(benchmark.items(), "What is 2 + 2?")
    with pytest.raises(UserError, match=r"algebra has 0 worked examples in split dev .* prompt_style=cot"):
        benchmark.prompt(item, item.question, "direct", 2)
    assert benchmark.prompt(item, item.question, "direct", 0).shots == ()
    alone = made(write(tmp_path / "a.jsonl", ROWS))
    with pytest.raises(UserError, match="has 0 worked examples"):
        alone.prompt(item, item.question, "direct", 1)


def test_unknown_style_and_too_many_shots(tmp_path: Path) -> None:
    benchmark = made(write(tmp_path / "a.jsonl", ROWS))
    item = benchmark.items()[0]
    with pytest.raises(UserError, match="no prompt style 'poem'; it has: cot, direct"):
        benchmark.prompt(item, item.question, "poem", 2)
    with pytest.raises(UserError, match="mmlu has 5 worked examples; n_shots=6"):
        benchmark.prompt(item, item.question, "cot", 6)


def test_a13_a17_stop_strings() -> None:
    with pytest.raises(UserError, match="stop string"):
        mmlu.Mmlu(Options(stop="\n"))
    with pytest.raises(UserError, match="max_tokens is 0"):
        mmlu.Mmlu(Options(max_tokens=0))


def test_worked_examples_name_no_letter_and_spread_their_answers() -> None:
    assert {shot.answer for shot in SHOTS} == {0, 1, 2, 3}
    for shot in SHOTS:
        assert len(set(shot.choices)) == 4
        assert not any(f" {letter} " in f" {shot.reasoning} " for letter in LETTERS)


def test_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve(monkeypatch, "cais/mmlu", parquet_folder(tmp_path / "hub", "all", {"test": ROWS, "dev": DEV}))
    benchmark = mmlu.Mmlu(Options(revision="v1"))
    assert benchmark.items() == made(folder(tmp_path, test=ROWS, dev=DEV)).items()
    item = asked(benchmark.items(), "Which is a river?")
    assert len(benchmark.prompt(item, item.question, "direct", 3).shots) == 3
    assert set(served) == {"v1"}


def test_canaries_hold(tmp_path: Path) -> None:
    entry = BENCHMARKS.get("mmlu")
    benchmark = entry.build(entry.options(path=write(tmp_path / "a.jsonl", ROWS)))
    for item, completion, right in benchmark.canaries():
        assert benchmark.score(item, completion, "stop").correct is right
    assert (benchmark.name, benchmark.chance) == ("mmlu", 0.25)


@pytest.fixture(scope="module")
def real() -> mmlu.Mmlu:
    if not DATA.is_dir():
        pytest.skip("no MMLU files at ../shared/data/mmlu")
    return made(str(DATA))


def test_real_files(real: mmlu.Mmlu) -> None:
    items = real.items()
    distinct = set()
    for file in sorted((DATA / "test").glob("*_test.csv")):
        with file.open(encoding="utf-8", newline="") as lines:
            distinct |= {(file.name, *(value.strip() for value in row)) for row in list(csv.reader(lines))[1:]}
    assert len(items) == len(distinct) > 5000
    assert not any("problem" in item.extras for item in items)
    assert not {item.question for item in items} & {shot.question for shot in SHOTS}
    for item in items[::20]:
        prompt = real.prompt(item, item.question, "direct", 5)
        assert len(prompt.shots) >= 4
        assert f"Question: {item.question}\nA. " not in prompt.plain.rpartition("\n\nQuestion: ")[0]


@pytest.mark.parametrize(
    "completion",
    [
        " Let us see.\nAnswer: {letter}",
        "{letter}",
        " {letter}. {text}",
        "The correct answer is ({letter}) {text}",
        "Antwort: {letter}",
        "$\\boxed{{{letter}}}$",
    ],
)
def test_real_gold_answers_are_correct_and_others_wrong(real: mmlu.Mmlu, completion: str) -> None:
    for item in real.items()[::20]:
        for letter, text in zip("ABCD", item.extras["choices"], strict=True):
            verdict = real.score(item, completion.format(letter=letter, text=text), "stop")
            assert (verdict.answer, verdict.correct) == (letter, letter == item.gold), (item, completion)
