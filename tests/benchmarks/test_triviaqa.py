"""triviaqa: items, exact prompts, canonical answer and aliases kept apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hub_folders import parquet_folder, serve

from taboo_cluster.benchmarks import triviaqa
from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.benchmarks.short_answer import normalise, readings
from taboo_cluster.benchmarks.traced import Traced
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Item

DATA = Path(__file__).parents[2] / "../shared/data/triviaqa/triviaqa_sm_sub.jsonl"

ROWS: list[dict[str, Any]] = [
    {
        "context": "Question: Who wrote Tom Sawyer?\nAnswer:",
        "answer": "Mark Twain",
        "aliases": ["Mark Twain", "Samuel Clemens", "Samuel Langhorne Clemens", "The weather in York", "🐎", "!!"],
    },
    {"context": "Question: How many states has the US?\nAnswer:", "answer": "50", "aliases": ["Fifty"]},
]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def benchmark(tmp_path: Path) -> triviaqa.TriviaQa:
    return triviaqa.TriviaQa(triviaqa.Options(path=write(tmp_path / "a.jsonl", ROWS)))


@pytest.fixture
def twain(benchmark: triviaqa.TriviaQa) -> Item:
    return next(item for item in benchmark.items() if item.gold == "Mark Twain")


def test_items_keep_the_canonical_answer_and_the_aliases_apart(twain: Item) -> None:
    assert twain.question == "Who wrote Tom Sawyer?"
    assert twain.split == "validation"
    assert twain.extras["aliases"] == [
        "Mark Twain",
        "Samuel Clemens",
        "Samuel Langhorne Clemens",
        "The weather in York",
        "🐎",
    ]


def test_the_hubs_form_gives_the_same_items(tmp_path: Path, benchmark: triviaqa.TriviaQa) -> None:
    rows = [
        {
            "question": row["context"].removeprefix("Question: ").removesuffix("\nAnswer:"),
            "question_id": f"q{index}",
            "answer": {"value": row["answer"], "aliases": row["aliases"], "normalized_aliases": ["nonsense"]},
        }
        for index, row in enumerate(ROWS)
    ]
    path = write(tmp_path / "hub.jsonl", rows[::-1])
    assert triviaqa.TriviaQa(triviaqa.Options(path=path)).items() == benchmark.items()


def test_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"value": "Mark Twain", "aliases": ["Samuel Clemens"], "normalized_aliases": ["samuel clemens"]}
    rows = [{"question": "Who wrote Tom Sawyer?", "question_id": "q", "answer": answer}]
    hidden = [{**rows[0], "answer": {**answer, "value": "<unk>"}}]
    folder = parquet_folder(tmp_path / "hub", "rc.nocontext", {"validation": rows, "test": hidden})
    serve(monkeypatch, "mandarjoshi/trivia_qa", folder)
    (item,) = triviaqa.TriviaQa(triviaqa.Options()).items()
    assert (item.gold, item.extras["aliases"]) == ("Mark Twain", ["Mark Twain", "Samuel Clemens"])
    with pytest.raises(UserError, match=r"test row 0: the answer is not public; take another split"):
        triviaqa.TriviaQa(triviaqa.Options(split="test")).items()


def test_a_question_that_occurs_twice_is_one_item_with_the_answers_of_both(tmp_path: Path) -> None:
    again = {**ROWS[0], "answer": "Clemens, Samuel", "aliases": ["S. Clemens"]}
    for name, rows in (("a", [ROWS[0], again]), ("b", [again, ROWS[0]])):
        (item,) = triviaqa.TriviaQa(triviaqa.Options(path=write(tmp_path / f"{name}.jsonl", rows))).items()
        assert item.gold == "Clemens, Samuel"
        assert {"Mark Twain", "S. Clemens", "Samuel Clemens", "Clemens, Samuel"} < set(item.extras["aliases"])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"context": "Question: x\nAnswer:", "aliases": []}, "line 1: no column 'answer'"),
        ({"context": "Question: x\nAnswer:", "answer": "!!"}, "line 1: the answer '!!' is nothing but punctuation"),
        ({"context": "x", "answer": "y", "aliases": "z"}, "line 1: 'aliases' must be a list of texts"),
        ({"question": "x", "answer": {"aliases": []}}, "line 1, answer: no column 'value'"),
        ({"answer": "y"}, "line 1: no column 'context'"),
    ],
)
def test_malformed_rows_are_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        triviaqa.TriviaQa(triviaqa.Options(path=write(tmp_path / "a.jsonl", [row]))).items()


def test_the_direct_prompt(benchmark: triviaqa.TriviaQa, twain: Item) -> None:
    prompt = benchmark.prompt(twain, twain.question, "direct", 2)
    assert prompt.plain == (
        "Question: Into which sea does the river of Prague carry its water in the end?\nAnswer: North Sea\n\n"
        "Question: Which of the gases in the air does a candle flame use up?\nAnswer: Oxygen\n\n"
        "Question: Who wrote Tom Sawyer?\nAnswer:"
    )
    asked = "Reply with one line: Answer: followed by the answer in a few words."
    assert prompt.user == f"Who wrote Tom Sawyer?\n\n{asked}"
    assert prompt.shots[1] == (
        f"Which of the gases in the air does a candle flame use up?\n\n{asked}",
        "Answer: Oxygen",
    )
    assert (prompt.stop, prompt.chat_stop) == (("\nQuestion:", "\nQ:"), ())


def test_the_cot_prompt(benchmark: triviaqa.TriviaQa, twain: Item) -> None:
    prompt = benchmark.prompt(twain, "Who?", "cot", 1)
    assert prompt.plain == (
        "Question: Into which sea does the river of Prague carry its water in the end?\n"
        "Reasoning: The river of Prague is the Vltava. It joins the Elbe, which ends near Hamburg in the North Sea.\n"
        "Answer: North Sea\n\nQuestion: Who?\nReasoning:"
    )
    assert prompt.user == (
        "Who?\n\nReason step by step. Write the last line as Answer: followed by the answer in a few words."
    )
    assert prompt.shots[0][1].endswith(" in the North Sea.\nAnswer: North Sea")


@pytest.mark.parametrize(("style", "n_shots", "message"), [("poem", 2, "no prompt style"), ("cot", 5, "n_shots=5")])
def test_unknown_style_and_too_many_shots(
    benchmark: triviaqa.TriviaQa, twain: Item, style: str, n_shots: int, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        benchmark.prompt(twain, twain.question, style, n_shots)


@pytest.mark.parametrize(
    "completion",
    [
        "Mark Twain",
        " mark twain.\n\nIt is a novel.",
        "Answer: **Mark Twain**",
        "The author of this book was Mark Twain.",
        "I recall a river.\nAnswer: Mark Twain",
        "<think>Dickens? No.</think>Mark Twain",
    ],
)
def test_the_canonical_answer_is_right(benchmark: triviaqa.TriviaQa, twain: Item, completion: str) -> None:
    verdict = benchmark.score(twain, completion, "stop")
    assert (verdict.outcome, verdict.answer, verdict.matched_alias) == ("correct", "mark twain", None)


@pytest.mark.parametrize(
    ("completion", "answer", "alias"),
    [
        ("Samuel Clemens", "samuel clemens", "Samuel Clemens"),
        ("weather in york!", "weather in york", "The weather in York"),
        ("🐎", "🐎", "🐎"),
    ],
)
def test_a32_an_alias_is_right_and_named(
    benchmark: triviaqa.TriviaQa, twain: Item, completion: str, answer: str, alias: str
) -> None:
    verdict = benchmark.score(twain, completion, "stop")
    assert (verdict.outcome, verdict.answer, verdict.matched_alias) == ("correct", answer, alias)


def test_a32_the_canonical_answer_goes_before_an_alias(benchmark: triviaqa.TriviaQa, twain: Item) -> None:
    assert benchmark.score(twain, "Samuel Clemens (Mark Twain)", "stop").matched_alias == "Samuel Clemens"
    assert benchmark.score(twain, "Samuel Clemens is Mark Twain", "stop").matched_alias is None


@pytest.mark.parametrize(
    "completion",
    [
        "not Mark Twain",
        "Answer: not Mark Twain",
        "The answer is not Mark Twain.",
        "It wasn't Mark Twain",
        "Mark",
        "Mark Twain, Charles Dickens",
        "Mark Twain Jr",
        "Charles Dickens\nMark Twain",
        "Answer: Mark Twain\nAnswer: Charles Dickens",
    ],
)
def test_a30_what_is_not_the_answer_is_wrong(benchmark: triviaqa.TriviaQa, twain: Item, completion: str) -> None:
    verdict = benchmark.score(twain, completion, "stop")
    assert (verdict.outcome, verdict.matched_alias, verdict.score) == ("wrong", None, 0.0)
    assert verdict.answer


@pytest.mark.parametrize(
    ("completion", "finish_reason", "outcome"),
    [
        ("", "stop", "no_response"),
        ("\xa0", "stop", "no_response"),
        ("((((", "stop", "invalid_format"),
        ("I don't know.", "stop", "invalid_format"),
        ("I'm sorry, but I can't answer that.", "stop", "refused"),
        ("Mark Twain", "length", "truncated"),
        ("Mark Twain\nwas born", "length", "correct"),
        ("He was born in a small town, and the river was near. Answer: Mark Twain", "length", "correct"),
        ("<think>Mark Twain", "length", "truncated"),
        ("Mark Twain\n\nQuestion: What?\nAnswer: That", "stop", "correct"),
    ],
)
def test_a16_a26_outcomes(
    benchmark: triviaqa.TriviaQa, twain: Item, completion: str, finish_reason: str, outcome: str
) -> None:
    verdict = benchmark.score(twain, completion, finish_reason)
    assert verdict.outcome == outcome
    assert verdict.details.get("truncated_but_parsed", False) is (finish_reason == "length" and outcome == "correct")


def test_canaries_hold(tmp_path: Path) -> None:
    entry = BENCHMARKS.get("triviaqa")
    built = entry.build(entry.options(path=write(tmp_path / "a.jsonl", ROWS)))
    for item, completion, right in built.canaries():
        assert built.score(item, completion, "stop").correct is right
    assert (built.name, built.chance) == ("triviaqa", None)


def test_real_file() -> None:
    if not DATA.is_file():
        pytest.skip("no TriviaQA file at ../shared/data/triviaqa")
    benchmark = triviaqa.TriviaQa(triviaqa.Options(path=str(DATA)))
    items = benchmark.items()
    assert len(items) == len({line for line in DATA.read_text().splitlines() if line})
    assert not {item.question for item in items} & {shot.question for shot in triviaqa.SHOTS}
    for item in items[::5]:
        for form in (f"Answer: {item.gold}", f" {item.gold}\n\nThat is all.", f"The answer is {item.gold}."):
            assert (benchmark.score(item, form, "stop").matched_alias, form) == (None, form)
            assert benchmark.score(item, form, "stop").correct, form
        assert not benchmark.score(item, f"Answer: not {item.gold}", "stop").correct
        for alias in item.extras["aliases"]:
            verdict = benchmark.score(item, f"Answer: {alias}", "stop")
            assert verdict.correct
            if normalise(item.gold) not in (normalise(reading.text) for reading in readings(Traced.of(alias))):
                assert normalise(str(verdict.matched_alias)) == normalise(alias)
