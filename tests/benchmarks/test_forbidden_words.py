"""forbidden_words: IFEval's prompts that forbid words, judged as IFEval judges them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hub_folders import jsonl_folder, serve
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.benchmarks import forbidden_words
from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.benchmarks.forbidden_words import ForbiddenWords, Options, occurs
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Item

DATA = Path(__file__).parents[2] / "../shared/data/ifeval"

FORBIDDEN = "keywords:forbidden_words"
ROWS: list[dict[str, Any]] = [
    {
        "key": 7,
        "prompt": "Write a song without the words rock and roll, in capitals.",
        "instruction_id_list": ["change_case:english_capital", FORBIDDEN],
        "kwargs": [{}, {"forbidden_words": ["rock", "roll"]}],
    },
    {
        "key": 8,
        "prompt": "Write 300 words.",
        "instruction_id_list": ["length_constraints:number_words"],
        "kwargs": [{"relation": "at least", "num_words": 300}],
    },
]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def benchmark(tmp_path: Path) -> ForbiddenWords:
    return ForbiddenWords(Options(path=write(tmp_path / "a.jsonl", ROWS)))


@pytest.fixture
def song(benchmark: ForbiddenWords) -> Item:
    (item,) = benchmark.items()
    return item


def test_only_prompts_that_forbid_words_are_items(song: Item) -> None:
    assert song.question == "Write a song without the words rock and roll, in capitals."
    assert (song.gold, song.split, song.cluster_id) == ('["rock", "roll"]', "train", "ifeval-7")


def test_prompts_made_of_one_share_its_cluster(tmp_path: Path) -> None:
    rows = [ROWS[0], {**ROWS[0], "prompt": "Write a song without the word rock."}]
    items = ForbiddenWords(Options(path=write(tmp_path / "a.jsonl", rows))).items()
    assert len({item.item_id for item in items}) == 2
    assert {item.cluster_id for item in items} == {"ifeval-7"}


def test_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, song: Item) -> None:
    serve(monkeypatch, "google/IFEval", jsonl_folder(tmp_path / "hub", "ifeval_input_data.jsonl", ROWS))
    assert ForbiddenWords(Options()).items() == [song]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kwargs": [{}, {}]}, "line 1: keywords:forbidden_words must list its words"),
        ({"kwargs": [{}, {"forbidden_words": []}]}, "line 1: keywords:forbidden_words must list its words"),
        ({"kwargs": [{}, {"forbidden_words": [" "]}]}, "line 1: keywords:forbidden_words must list its words"),
        ({"kwargs": [{}]}, "line 1: 'instruction_id_list' and 'kwargs' must be lists of the same length"),
        ({"instruction_id_list": None}, "line 1: 'instruction_id_list' and 'kwargs' must be lists"),
        ({"instruction_id_list": ["a", "b"]}, "has no prompt with the instruction keywords:forbidden_words"),
    ],
)
def test_malformed_rows_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        ForbiddenWords(Options(path=write(tmp_path / "a.jsonl", [{**ROWS[0], **change}]))).items()


def test_the_prompt_carries_its_rule_and_nothing_else(benchmark: ForbiddenWords, song: Item) -> None:
    prompt = benchmark.prompt(song, song.question, "direct", 0)
    assert prompt.user == song.question
    assert prompt.plain == ("Instruction: Write a song without the words rock and roll, in capitals.\nResponse:")
    assert (prompt.shots, prompt.stop, prompt.chat_stop) == ((), ("\nInstruction:",), ())
    with pytest.raises(UserError, match="forbidden_words has 0 worked examples; n_shots=2"):
        benchmark.prompt(song, song.question, "direct", 2)
    with pytest.raises(UserError, match="no prompt style 'cot'; it has: direct"):
        benchmark.prompt(song, song.question, "cot", 0)


@pytest.mark.parametrize(
    ("completion", "finish_reason", "outcome", "answer", "details"),
    [
        ("A SONG ABOUT STONES", "stop", "correct", "kept", {}),
        ("ROCKING AND ROLLING", "stop", "correct", "kept", {}),
        ("WE ROCK!", "stop", "wrong", "broken", {"used": ["rock"]}),
        ("rock-'n'-Roll", "stop", "wrong", "broken", {"used": ["rock", "roll"]}),
        ("", "stop", "no_response", None, {}),
        (" \u200b\n", "stop", "no_response", None, {}),
        ("I'm sorry, but I can't do that.", "stop", "correct", "kept", {}),
        ("<think>not rock, not roll</think>STONES", "stop", "correct", "kept", {}),
        ("<think>not rock", "length", "truncated", None, {}),
        ("A SONG ABOUT", "length", "correct", "kept", {"truncated_but_parsed": True}),
        ("ROCK AND", "length", "wrong", "broken", {"used": ["rock"], "truncated_but_parsed": True}),
    ],
)
def test_scoring(
    benchmark: ForbiddenWords,
    song: Item,
    completion: str,
    finish_reason: str,
    outcome: str,
    answer: str | None,
    details: dict[str, Any],
) -> None:
    verdict = benchmark.score(song, completion, finish_reason)
    assert (verdict.outcome, verdict.answer, verdict.details) == (outcome, answer, details)
    assert verdict.score == float(outcome == "correct")


@pytest.mark.parametrize(
    ("word", "text", "expected"),
    [
        ("rock", "Rock.", True),
        ("rock", "rocks", False),
        ("rock", "bed_rock", False),
        ("rock", "bedrock", False),
        ("rock", "hard rock music", True),
        ("c++", "I like C++.", True),
        ("c++", "c", False),
        (".", "a", False),
        ("straße", "STRASSE", False),
        ("état", "L'ÉTAT", True),
        ("hard rock", "some Hard Rock", True),
    ],
)
def test_whole_words_in_any_case(word: str, text: str, expected: bool) -> None:
    assert occurs(word, text) is expected


@given(st.text(alphabet="abc ", min_size=1, max_size=30), st.sampled_from(["a", "ab", "cab"]))
def test_a_word_occurs_where_a_list_of_the_words_has_it(text: str, word: str) -> None:
    assert occurs(word, text) is (word in text.split())


def test_canaries_hold(tmp_path: Path) -> None:
    entry = BENCHMARKS.get("forbidden_words")
    built = entry.build(entry.options(path=write(tmp_path / "a.jsonl", ROWS)))
    for item, completion, right in built.canaries():
        assert built.score(item, completion, "stop").correct is right
    assert (built.name, built.chance, built.default_shots) == ("forbidden_words", None, 0)


@pytest.mark.parametrize(("name", "single"), [("input_data", False), ("ifeval_single_keyword_exclude", True)])
def test_real_files(name: str, single: bool) -> None:
    file = DATA / f"{name}.jsonl"
    if not file.is_file():
        pytest.skip(f"no IFEval file at ../shared/data/ifeval/{name}.jsonl")
    benchmark = ForbiddenWords(Options(path=str(file)))
    items = benchmark.items()
    assert len(items) == sum(FORBIDDEN in line for line in file.read_text(encoding="utf-8").splitlines())
    assert len({item.item_id for item in items}) == len(items)
    for item in items:
        words = json.loads(item.gold)
        assert words
        assert len(words) == 1 or not single
        assert benchmark.score(item, "...", "stop").correct
        for word in words:
            assert benchmark.score(item, f"This {word.title()}, then.", "stop").details == {"used": [word]}


def test_settings_out_of_range() -> None:
    with pytest.raises(UserError, match="max_tokens is 0"):
        forbidden_words.ForbiddenWords(Options(max_tokens=0))
