"""arc, truthfulqa, mathqa, logiqa, gpqa: rows to items, exact prompts, letters scored, chance."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hub_folders import parquet_folder, serve

from taboo_cluster.benchmarks import logiqa
from taboo_cluster.benchmarks.base import BENCHMARKS, Benchmark, notes
from taboo_cluster.benchmarks.choice_items import choice_item, mixed
from taboo_cluster.benchmarks.mathqa import read_options
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.trial import Item

DATA = Path(__file__).parents[2] / "../shared/data"

ARC_HUB: list[dict[str, Any]] = [
    {
        "id": "1",
        "question": "What melts?",
        "choices": {"text": ["ice", "fire", "wind"], "label": ["A", "B", "C"]},
        "answerKey": "A",
    },
    {
        "id": "2",
        "question": "What is hot?",
        "choices": {"text": ["ice", "snow", "fire", "wind", "rain"], "label": ["1", "2", "3", "4", "5"]},
        "answerKey": "3",
    },
]
ARC_LOCAL: list[dict[str, Any]] = [
    {"query": "Question: What melts?", "choices": ["ice", "fire", "wind"], "gold": 0},
    {"query": "Question: What is hot?", "choices": ["ice", "snow", "fire", "wind", "rain"], "gold": 2},
]
TRUTH_LOCAL: list[dict[str, Any]] = [
    {"question": f"What is {n}?", "mc1_targets": {f"right {n}": 1, "wrong": 0, "worse": 0, "": 0}} for n in range(40)
]
MATH_LOCAL: list[dict[str, Any]] = [
    {"instruction": "what is 2 + 2 ? The options: A ) 3 , B ) 1,000 , C ) 4 , D ) nonE , E ) 5", "answer": "C"},
    {"instruction": "what is 1 + 1 ? The options: ['A ) 3', 'B ) 2', 'C ) 4', 'D ) 6', 'E ) 5']", "answer": "B"},
]
MATH_HUB: list[dict[str, Any]] = [
    {"Problem": "what is 2 + 2 ?", "options": "a ) 3 , b ) 1,000 , c ) 4 , d ) none , e ) 5", "correct": "c"},
    {"Problem": "what is 1 + 1 ?", "options": "['a ) 3', 'b ) 2', 'c ) 4', 'd ) 6', 'e ) 5']", "correct": "b"},
]
LOGIC_LOCAL: list[dict[str, Any]] = [
    {
        "query": f"Context: All cats purr.\nQuestion: What follows{n}?\nChoices: A. Tom purrs.\nB. No.\nC. C3\nD. D4\n",
        "choices": ["A", "B", "C", "D"],
        "gold": 1,
    }
    for n in range(2)
]
LOGIC_HUB: list[dict[str, Any]] = [
    {
        "context": "All cats purr.",
        "query": f"What follows{n}?",
        "options": ["Tom purrs.", "No.", "C3", "D4"],
        "correct_option": 1,
    }
    for n in range(2)
]
GPQA: list[dict[str, Any]] = [
    {
        "Question": f"Which particle is number {n}?\n",
        "Correct Answer": "muon ",
        "Incorrect Answer 1": "pion",
        "Incorrect Answer 2": "kaon",
        "Incorrect Answer 3": "tau",
        "High-level domain": "Physics",
    }
    for n in range(40)
]


def made(name: str, **options: Any) -> Benchmark:
    entry = BENCHMARKS.get(name)
    return entry.build(entry.options(**options))


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text(json.dumps(rows) if path.suffix == ".json" else "".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def gold_text(item: Item) -> str:
    return str(item.extras["choices"]["ABCDEFGHIJKLM".index(item.gold)])


def test_arc_has_options_in_letters_whatever_the_source_calls_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = serve(monkeypatch, "allenai/ai2_arc", parquet_folder(tmp_path / "hub", "ARC-Easy", {"test": ARC_HUB}))
    hub = made("arc", subset="easy")
    local = made("arc", path=write(tmp_path / "a.jsonl", ARC_LOCAL))
    assert hub.items() == local.items()
    assert {item.question: item.gold for item in hub.items()} == {"What melts?": "A", "What is hot?": "C"}
    assert asked == [None]
    assert hub.chance == pytest.approx((1 / 3 + 1 / 5) / 2, abs=1e-15)


def test_truthfulqa_gives_each_item_an_order_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = [list(row["mc1_targets"])[:3] for row in TRUTH_LOCAL]
    rows = [
        {"question": row["question"], "mc1_targets": {"choices": texts, "labels": [1, 0, 0]}}
        for row, texts in zip(TRUTH_LOCAL, targets, strict=True)
    ]
    folder = parquet_folder(tmp_path / "hub", "multiple_choice", {"validation": rows})
    serve(monkeypatch, "truthfulqa/truthful_qa", folder)
    items = made("truthfulqa", path=write(tmp_path / "mc_task.json", TRUTH_LOCAL)).items()
    assert made("truthfulqa").items() == items, "blank answers are no options"
    assert all(gold_text(item).startswith("right") for item in items)
    assert {item.gold for item in items} == {"A", "B", "C"}
    assert all(sorted(item.extras["choices"])[1:] == ["worse", "wrong"] for item in items)


def test_mathqa_from_both_of_its_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, "regisss/math_qa", parquet_folder(tmp_path / "hub", "default", {"test": MATH_HUB}))
    items = made("mathqa", path=write(tmp_path / "a.json", MATH_LOCAL)).items()
    assert made("mathqa").items() == items
    assert {item.question: (item.gold, gold_text(item)) for item in items} == {
        "what is 2 + 2 ?": ("C", "4"),
        "what is 1 + 1 ?": ("B", "2"),
    }


@pytest.mark.parametrize(
    ("printed", "options"),
    [
        ("a ) 1 , b ) 1,000 , c ) x , y , d ) 4 , e ) 5", ["1", "1,000", "x , y", "4", "5"]),
        ("a ) 1 , b ) 2 , c ) 3 , d ) 4", None),
        ("a ) 1 , b ) 2 , d ) 4 , c ) 3 , e ) 5", None),
        ("[broken", None),
    ],
)
def test_mathqa_options_are_read_whole_or_not_at_all(printed: str, options: list[str] | None) -> None:
    assert read_options(printed) == options


def test_logiqa_from_the_branch_that_needs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = parquet_folder(tmp_path / "hub", "default", {"test": LOGIC_HUB})
    (folder / "README.md").unlink()
    file = next((folder / "default").iterdir())
    (folder / "default" / "test").mkdir()
    file.rename(folder / "default" / "test" / "0000.parquet")
    # The hub's patterns reach into folders of folders, those of `serve` do not.
    monkeypatch.setattr(logiqa, "DATA", replace(logiqa.DATA, files=("*.parquet",)))
    asked = serve(monkeypatch, "lucasmccabe/logiqa", folder)
    items = made("logiqa").items()
    assert asked == ["refs/convert/parquet"]
    assert items == made("logiqa", path=write(tmp_path / "a.jsonl", LOGIC_LOCAL)).items()
    assert {item.question for item in items} == {"All cats purr.\nWhat follows0?", "All cats purr.\nWhat follows1?"}
    assert [gold_text(item) for item in items] == ["No.", "No."]
    assert len({item.cluster_id for item in items}) == 1
    assert items[0].cluster_id not in {item.item_id for item in items}


def test_gpqa_by_csv_and_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "hub"
    folder.mkdir()
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: gpqa_diamond\n  data_files: gpqa_diamond.csv\n---\n"
    )
    with (folder / "gpqa_diamond.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, list(GPQA[0]))
        out.writeheader()
        out.writerows(GPQA)
    serve(monkeypatch, "Idavidrein/gpqa", folder)
    benchmark = made("gpqa")
    items = benchmark.items()
    assert items == made("gpqa", path=str(folder / "gpqa_diamond.csv")).items()
    assert len(items) == 40
    assert {gold_text(item) for item in items} == {"muon"}
    assert {item.gold for item in items} == {"A", "B", "C", "D"}
    assert {item.group for item in items} == {"Physics"}
    assert benchmark.chance == 0.25


def test_an_order_of_its_own_follows_from_the_item_alone() -> None:
    item = choice_item("Which?", ["one", "two", "three", "none of the above"], 0, "test", "row 1")
    orders = {tuple(mixed(item).extras["choices"]) for _ in range(5)}
    assert len(orders) == 1
    assert orders.pop()[-1] == "none of the above"
    assert mixed(item).item_id == item.item_id


def test_the_prompt_asks_for_a_letter_in_a_tag(tmp_path: Path) -> None:
    benchmark = made("arc", path=write(tmp_path / "a.jsonl", ARC_LOCAL[:1]))
    item = benchmark.items()[0]
    assert (benchmark.styles, benchmark.default_shots) == (("cot", "direct"), 0)
    cot, direct = (benchmark.prompt(item, "What melts first?", style, 0) for style in benchmark.styles)
    assert cot.user == (
        "What melts first?\nA. ice\nB. fire\nC. wind\n\n"
        "Reason step by step. Then write <answer>X</answer>, where X is the letter of the right option."
    )
    assert cot.plain == f"Question: {cot.user}\nReasoning:"
    assert direct.user == (
        "What melts first?\nA. ice\nB. fire\nC. wind\n\n"
        "Do not explain anything. Write only <answer>X</answer>, where X is the letter of the right option."
    )
    assert direct.plain == f"Question: {direct.user}\nAnswer:"
    assert (cot.shots, direct.shots, cot.chat_stop) == ((), (), ())
    assert cot.stop == ("\nQuestion:", "\nQ:")


def test_with_examples_these_show_the_form(tmp_path: Path) -> None:
    benchmark = made("arc", path=write(tmp_path / "a.jsonl", ARC_LOCAL[:1]))
    item = benchmark.items()[0]
    for style in benchmark.styles:
        prompt = benchmark.prompt(item, item.question, style, 1)
        assert "<answer>" not in prompt.user + prompt.plain
        assert prompt.shots[0][1].endswith("Answer: B")
    with pytest.raises(UserError, match="arc has 5 worked examples; n_shots=6"):
        benchmark.prompt(item, item.question, "cot", 6)


@pytest.mark.parametrize(
    ("completion", "outcome", "answer"),
    [
        ("Ice does. <answer>A</answer>", "correct", "A"),
        ("<answer>(a)</answer>", "correct", "A"),
        ("<answer>A. ice</answer>", "correct", "A"),
        ("<answer>B</answer> no, <answer>A</answer>", "correct", "A"),
        (" A", "correct", "A"),
        ("<answer>B</answer>", "wrong", "B"),
        ("<answer>X</answer>", "invalid_format", None),
        ("<answer>D</answer>", "invalid_format", None),
        ("<answer>A or B</answer>", "invalid_format", None),
        ("((((", "invalid_format", None),
        ("", "no_response", None),
        ("\u00a0", "no_response", None),
        ("I'm sorry, but I can't answer that.", "refused", None),
    ],
)
def test_a26_parsing_is_kept_apart_from_being_right(
    tmp_path: Path, completion: str, outcome: str, answer: str | None
) -> None:
    benchmark = made("arc", path=write(tmp_path / "a.jsonl", ARC_LOCAL[:1]))
    verdict = benchmark.score(benchmark.items()[0], completion, "stop")
    assert (verdict.outcome, verdict.answer, verdict.parse_ok) == (outcome, answer, answer is not None)


@pytest.mark.parametrize(
    ("name", "file", "row", "problem"),
    [
        ("arc", "a.jsonl", {"query": "Question: What?", "gold": 0}, "has no options"),
        ("arc", "a.jsonl", {"question": "What?", "answerKey": "A"}, "has no options"),
        (
            "arc",
            "a.jsonl",
            {"question": "What?", "choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answerKey": "C"},
            "the answer 'C' is not an index from 0 to 1",
        ),
        ("truthfulqa", "a.json", {"question": "What?"}, "has no options"),
        ("truthfulqa", "a.json", {"question": "What?", "mc1_targets": {"x": 1, "y": 1}}, r"the answer \[0, 1\]"),
        ("mathqa", "a.json", {"instruction": "what ? The options: a ) 1 , b ) 2", "answer": "a"}, "has no options"),
        ("logiqa", "a.jsonl", {"query": "What?", "choices": ["A", "B"], "gold": 0}, "has no options"),
    ],
)
def test_a27_an_item_without_options_is_an_error_and_not_wrong(
    tmp_path: Path, name: str, file: str, row: dict[str, Any], problem: str
) -> None:
    whole = {"arc": ARC_LOCAL, "truthfulqa": TRUTH_LOCAL, "mathqa": MATH_LOCAL, "logiqa": LOGIC_LOCAL}[name][0]
    benchmark = made(name, path=write(tmp_path / file, [row, whole]))
    good, bad = benchmark.items()
    assert benchmark.prompt(good, good.question, "cot", 0)
    for style in benchmark.styles:
        with pytest.raises(TrialError, match=problem) as caught:
            benchmark.prompt(bad, bad.question, style, 0)
        assert caught.value.error_type == "item_invalid"
    with pytest.raises(UserError, match="no question can be asked"):
        made(name, path=write(tmp_path / file, [row])).items()


def test_a_json_file_holds_one_list(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"question": "x"}')
    with pytest.raises(UserError, match="does not hold a list of rows but dict"):
        made("truthfulqa", path=str(tmp_path / "a.json")).items()
    (tmp_path / "a.json").write_text("[1]")
    with pytest.raises(UserError, match="row 1 is not a JSON object but int"):
        made("truthfulqa", path=str(tmp_path / "a.json")).items()
    (tmp_path / "a.json").write_text("[")
    with pytest.raises(UserError, match="is not JSON"):
        made("truthfulqa", path=str(tmp_path / "a.json")).items()


REAL = {
    "arc": ("arc/arc_challenge_test.jsonl", 600, 600, 0.25),
    "truthfulqa": ("truthfulqa/mc_task.json", 790, 790, None),
    "mathqa": ("mathqa/mathqa_test_5options.json", 2985, 2985, 0.2),
    "logiqa": ("logiqa/logi_qa.jsonl", 330, 318, 0.25),
}
"""File, its rows, the items made of them, chance."""


@pytest.mark.parametrize("name", REAL)
def test_real_files(name: str) -> None:
    file, rows, count, chance = REAL[name]
    path = DATA / file
    if not path.is_file():
        pytest.skip(f"no file {file} at ../shared/data")
    text = path.read_text()
    assert (len(json.loads(text)) if path.suffix == ".json" else text.count("\n")) == rows
    benchmark = made(name, path=str(path))
    items = benchmark.items()
    assert len(items) == count
    assert not any("problem" in item.extras for item in items)
    if chance is not None:
        assert benchmark.chance == chance
    for item in items:
        letters = "ABCDEFGHIJKLM"[: len(item.extras["choices"])]
        for letter in letters:
            verdict = benchmark.score(item, f"So it is that.\n<answer>{letter}</answer>", "stop")
            assert (verdict.answer, verdict.correct) == (letter, letter == item.gold)
    for item, completion, right in benchmark.canaries():
        assert benchmark.score(item, completion, "stop").correct is right


def test_real_truthfulqa_keeps_the_right_answer_and_spreads_it() -> None:
    path = DATA / "truthfulqa/mc_task.json"
    if not path.is_file():
        pytest.skip("no file truthfulqa/mc_task.json at ../shared/data")
    right = {row["question"].strip(): next(iter(row["mc1_targets"])).strip() for row in json.loads(path.read_text())}
    items = made("truthfulqa", path=str(path)).items()
    assert {item.question: gold_text(item) for item in items} == right
    shares = [sum(item.gold == letter for item in items) / len(items) for letter in "ABCD"]
    assert all(0.1 < share < 0.3 for share in shares)


def test_real_logiqa_leaves_out_the_rows_with_another_options_letter() -> None:
    path = DATA / "logiqa/logi_qa.jsonl"
    if not path.is_file():
        pytest.skip("no file logiqa/logi_qa.jsonl at ../shared/data")
    benchmark = made("logiqa", path=str(path))
    assert notes(benchmark) == ("logiqa asks 318 questions; left out: 12 whose answer has another option's letter",)
    assert not any("The people in Harbin are all northerners" in item.question for item in benchmark.items())
