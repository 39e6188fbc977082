"""Prompts of the user's own: instructions and worked examples around a benchmark's prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.compose import build_benchmark, load_config
from taboo_cluster.config import PromptConfig
from taboo_cluster.errors import UserError
from taboo_cluster.fitting import of_documents
from taboo_cluster.prompting import Prompted, worked_examples
from taboo_cluster.records.storage import Store
from taboo_cluster.stability.prompt_search import FOLDER, save
from taboo_cluster.sweep import conditions
from taboo_cluster.trial import Item

BASE = ("+sweep=alignment", "engine=scripted", "taboo.ranks=[0]", "replicates=1")
EXAMPLES = [{"question": "What is 1 + 1?", "answer": "The answer is 2."}, {"question": "2 + 2?", "answer": "It is 4."}]


def arithmetic(**prompts: PromptConfig) -> Prompted:
    entry = BENCHMARKS.get("arithmetic")
    return Prompted(entry.build(entry.options()), prompts)


def test_a_style_of_the_benchmark_stays_as_it_is() -> None:
    entry = BENCHMARKS.get("arithmetic")
    plain, own = entry.build(entry.options()), arithmetic(careful=PromptConfig("Be careful."))
    item = plain.items()[0]
    assert own.prompt(item, item.question, "cot", 2) == plain.prompt(item, item.question, "cot", 2)
    assert own.styles == ("cot", "careful")
    assert own.items() == plain.items()
    assert own.score(item, f"The answer is {item.gold}.", "stop").correct
    assert own.scorer_version == plain.scorer_version


def test_an_instruction_stands_in_front() -> None:
    own = arithmetic(careful=PromptConfig("Be careful."))
    item = own.items()[0]
    made, plain = own.prompt(item, "What?", "careful", 1), own.prompt(item, "What?", "cot", 1)
    assert made.user == f"Be careful.\n\n{plain.user}"
    assert made.plain == f"Be careful.\n\n{plain.plain}"
    assert (made.shots, made.stop) == (plain.shots, plain.stop)


def test_examples_take_the_place_of_the_benchmarks() -> None:
    own = arithmetic(taught=PromptConfig(examples=EXAMPLES))
    item = own.items()[0]
    made = own.prompt(item, "What is 3 + 3?", "taught", own.shots("taught") or 0)
    assert made.plain == (
        "Question: What is 1 + 1?\nAnswer: The answer is 2.\n\nQuestion: 2 + 2?\nAnswer: It is 4.\n\n"
        "Question: What is 3 + 3?\nAnswer:"
    )
    assert made.shots == (
        ("What is 1 + 1?\nReason step by step.", "The answer is 2."),
        ("2 + 2?\nReason step by step.", "It is 4."),
    )
    assert made.user == "What is 3 + 3?\nReason step by step."


def test_examples_are_drawn_from_a_pool_with_a_seed(tmp_path: Path) -> None:
    pool = tmp_path / "pool.jsonl"
    pool.write_text("".join(json.dumps({"question": f"q{n}", "answer": f"a{n}"}) + "\n" for n in range(20)))
    drawn = [worked_examples("x", PromptConfig(pool_path=str(pool), pool_n=3, pool_seed=seed)) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len({question for question, _ in drawn[0]}) == 3
    assert all(answer == question.replace("q", "a") for question, answer in drawn[0])
    with pytest.raises(UserError, match=r"pool_n is 21; .* has 20 examples"):
        worked_examples("x", PromptConfig(pool_path=str(pool), pool_n=21))
    with pytest.raises(UserError, match="one of the two"):
        worked_examples("x", PromptConfig(pool_path=str(pool), examples=EXAMPLES))


def test_the_number_of_examples_is_the_conditions() -> None:
    two = "two: {examples: [{question: q, answer: a}, {question: r, answer: b}]}"
    prompts = f"prompts={{plain: {{}}, one: {{n_shots: 1}}, {two}}}"
    config = load_config([*BASE, prompts, "prompt_style=[plain,one,two]"])
    shots = {c.prompt_style: c.n_shots for c in conditions(config, build_benchmark(config, "arithmetic"))}
    assert shots == {"plain": 2, "one": 1, "two": 2}


def test_the_choice_is_saved_as_a_config_for_other_sweeps(tmp_path: Path) -> None:
    prompts = {"careful": PromptConfig("Be careful."), "taught": PromptConfig(examples=EXAMPLES)}
    same = {"model_revision": "r", "quantization": "none", "dtype": "float32", "benchmark": "arithmetic"}
    rows = [
        same | {"model": "org/a", "prompt_style": "careful", "n_shots": 1},
        same | {"model": "b", "prompt_style": "taught", "n_shots": 2},
        same | {"model": "c", "prompt_style": "cot", "n_shots": 2},
    ]
    saved = save(Store.open(str(tmp_path)), prompts, rows)
    assert [(one.model, one.prompt) for one in saved] == [("org/a", "careful"), ("b", "taught"), ("c", "cot")]
    used = [load_config([*BASE, f"prompt={one.name}"], str(tmp_path / FOLDER)) for one in saved]
    assert [config.prompt_style for config in used] == ["careful", "taught", "cot"]
    assert used[0].prompts == {"careful": PromptConfig("Be careful.", n_shots=1)}
    assert used[1].prompts == {"taught": PromptConfig(examples=EXAMPLES)}
    assert used[2].prompts == {}


def test_documents_stay_documents() -> None:
    entry = BENCHMARKS.get("absence")
    assert of_documents(Prompted(entry.build(entry.options()), {"x": PromptConfig("Look.")}))


def test_a_prompts_content_is_part_of_a_trial_and_its_pool_is_drawn_once(tmp_path: Path) -> None:
    pool = tmp_path / "pool.jsonl"
    pool.write_text("".join(json.dumps({"question": f"q{n}", "answer": f"a{n}"}) + "\n" for n in range(9)))

    def ids(prompt: str) -> set[str | None]:
        config = load_config([*BASE, f"prompts={{x: {prompt}}}", "prompt_style=[x]"])
        assert config.prompts["x"].pool_path is None
        benchmark = build_benchmark(config, "arithmetic")
        (condition,) = conditions(config, benchmark)
        assert condition.n_shots == (3 if "pool" in prompt else 2)
        return {condition.prompt_content}

    drawn = f"{{pool_path: {pool}, pool_n: 3}}"
    found = [ids("{instruction: a}"), ids("{instruction: b}"), ids("{instruction: a}"), ids(drawn)]
    pool.write_text("".join(json.dumps({"question": f"r{n}", "answer": f"a{n}"}) + "\n" for n in range(9)))
    found.append(ids(drawn))
    assert found[0] == found[2]
    assert len(set().union(*found)) == 4
    plain = load_config(BASE)
    assert conditions(plain, build_benchmark(plain, "arithmetic"))[0].prompt_content is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["prompts={cot: {}}"], "prompts.cot: arithmetic has a prompt style of that name"),
        (["prompts={x: {style: direct}}"], "arithmetic has no style 'direct'"),
        (["prompts={x: {examples: [{question: q}]}}"], "an example is a question and an answer, both texts"),
        (["prompts={x: {n_shots: 1, examples: [{question: q, answer: a}]}}"], "one of the two"),
        (["prompts={x: {n_shots: 9}}", "prompt_style=[x]"], "n_shots=9 is not from 0 to that"),
        (
            ["prompts={x: {instructoin: y}}"],
            "unknown key 'prompts.x.instructoin' - did you mean 'prompts.x.instruction'",
        ),
        (["prompt_search={baseline: x}"], "unknown prompt_search.baseline 'x'"),
        (["prompt_search={baseline: cot, threshold: 2}"], "threshold is an accuracy from 0 to 1, not 2"),
        (["prompt_search={baseline: cot, fragile: x}"], "unknown prompt_search.fragile 'x'"),
        (["prompt=mine"], "unknown prompt 'mine'"),
    ],
)
def test_what_cannot_be_asked_is_said(settings: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        load_config([*BASE, *settings])
    assert message in str(caught.value)


def test_examples_are_not_for_documents() -> None:
    entry = BENCHMARKS.get("absence")
    benchmark = Prompted(entry.build(entry.options()), {"x": PromptConfig(examples=EXAMPLES)})
    item = benchmark.items()[0]
    with pytest.raises(UserError, match="absence has documents, which they have not"):
        benchmark.prompt(item, item.question, "x", 0)


def test_examples_need_questions_without_choices() -> None:
    entry = BENCHMARKS.get("mmlu")
    benchmark = Prompted(entry.build(entry.options()), {"x": PromptConfig(examples=EXAMPLES)})
    item = Item("i", "Which?", "A", "test", "i", extras={"choices": ("a", "b", "c", "d")})
    with pytest.raises(UserError, match="mmlu has choices, which they have not"):
        benchmark.prompt(item, "Which?", "x", 0)
