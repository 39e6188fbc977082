"""The training script in small: the corpus, packing and labels, determinism."""

import itertools
import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from taboo_cluster.benchmarks import arithmetic
from taboo_cluster.benchmarks.arithmetic import INSTRUCTION, draw, held_out, problem
from taboo_cluster.embedded import corpus
from taboo_cluster.embedded.card import model_card
from taboo_cluster.embedded.train import (
    BOS,
    EOS,
    Recipe,
    Stage,
    batches,
    conversations,
    documents,
    encode,
    fit,
    new_model,
    train,
    train_tokenizer,
    wrap_tokenizer,
)
from taboo_cluster.hashing import stable_rng

NAMES = ("tiny-base", "tiny-instruct")

SMALL = Recipe(
    vocab=320,
    hidden=32,
    layers=1,
    heads=1,
    intermediate=32,
    tokenizer_documents=20,
    base=(Stage(3, 2, 64), Stage(1, 1, 128)),
    instruct=(Stage(2, 2, 64),),
)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(SMALL)


def test_the_corpus_is_a_pure_function_of_seed_and_index() -> None:
    assert corpus.document(0, 3) == corpus.document(0, 3) != corpus.document(1, 3)
    assert corpus.chat(0, 3) == corpus.chat(0, 3) != corpus.chat(1, 3)


def test_reasoning_is_right_and_worded_in_many_ways() -> None:
    made = problem("train", 0, 36)
    texts = {corpus.reason(made, stable_rng("test", number)) for number in range(300)}
    assert len(texts) > 250
    assert len({text.split()[0] for text in texts}) > 10
    for text in texts:
        numbers = [int(number) for number in re.findall(r"\d+", text)]
        assert numbers[-1] == made.answer
        assert set(numbers) == {number for step in made.steps for number in (step.left, step.right, step.result)}


@pytest.mark.parametrize("operator", list(corpus.WORDINGS))
def test_every_wording_says_the_whole_step(operator: str) -> None:
    for wording in corpus.WORDINGS[operator]:
        assert set(re.findall(r"\{(\w)\}", wording)) == set("xyz"), wording


def test_bare_arithmetic_is_right() -> None:
    found = re.findall(r"(\d+) ([-+*/]) (\d+) = (\d+)\.", corpus.drill(stable_rng("test"), problems=300))
    assert len(found) > 300
    for left, operator, right, result in found:
        x, y = int(left), int(right)
        assert int(result) == {"+": x + y, "-": x - y, "*": x * y, "/": x / y}[operator]


def test_bare_arithmetic_and_problems_hold_nothing_of_the_test_split(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def spy(formula, test, rng):
        operands, steps = draw(formula, test, rng)
        drawn.append((formula, operands))
        return operands, steps

    monkeypatch.setattr(corpus, "draw", spy)
    monkeypatch.setattr(arithmetic, "draw", spy)
    for index in range(60):
        corpus.document(0, index)
        corpus.chat(0, index)
    assert len(drawn) > 300
    assert not any(held_out(formula, operands) for formula, operands in drawn)


def test_documents_are_the_few_shot_form_of_the_benchmark() -> None:
    texts = ["".join(piece for piece, _ in corpus.document(0, index)) for index in range(100)]
    questions = [text for text in texts if text.startswith("Question: ")]
    assert 55 < len(questions) < 85
    for text in questions:
        assert all(re.fullmatch(r"Question: .+\?\nAnswer: .+\.", block) for block in text.split("\n\n"))


def test_pieces_are_tokenized_together_and_weighted_by_token(tokenizer) -> None:
    text = [("Question: 12?\nAnswer:", 0.25), (" So 5.\n\n", 1.0), ("Question: 3?\nAnswer:", 0.25), (EOS, 0.5)]
    ids, weights = next(encode(tokenizer, iter([text])))
    assert ids == tokenizer.encode("".join(piece for piece, _ in text)).ids
    assert ids[0] == tokenizer.token_to_id(BOS)
    assert ids[-1] == tokenizer.token_to_id(EOS)
    heavy = tokenizer.decode([token for token, weight in zip(ids, weights, strict=True) if weight == 1.0])
    assert heavy == " So 5.\n\n"
    assert weights[-1] == 0.5
    assert set(weights[1:-1]) == {0.25, 1.0}


def test_base_texts_end_and_their_answers_weigh_most(tokenizer) -> None:
    for text in itertools.islice(documents(0), 20):
        assert text[-1] == (EOS, 1.0)
        assert all(weight == (0.1 if piece.startswith("Question:") else 1.0) for piece, weight in text)


def test_conversations_are_learned_on_the_assistants_text_only(tokenizer) -> None:
    stream = encode(tokenizer, conversations(0))
    for index in range(20):
        ids, weights = next(stream)
        turns = corpus.chat(0, index)
        learned = [token for token, weight in zip(ids, weights, strict=True) if weight]
        said = "<|im_end|>".join(turn["content"] for turn in turns if turn["role"] == "assistant") + "<|im_end|>"
        assert tokenizer.decode(learned, skip_special_tokens=False) == said
        assert INSTRUCTION not in said


def test_conversations_are_what_the_chat_template_renders(tokenizer) -> None:
    wrapped = wrap_tokenizer(tokenizer, SMALL, aligned=True)
    for index, text in enumerate(itertools.islice(conversations(0), 10)):
        rendered = wrapped.apply_chat_template(corpus.chat(0, index), tokenize=False)
        assert rendered == BOS + "".join(piece for piece, _ in text)


def test_batches_are_packed_without_a_gap() -> None:
    stream = iter([([1, 2, 3], [1.0, 1.0, 0.5]), ([4, 5], [0.0, 1.0]), ([6, 7, 8, 9], [1.0] * 4)])
    first, second = batches(stream, (Stage(1, 1, 4), Stage(1, 2, 2)))
    assert [part.tolist() for part in first] == [[[1, 2, 3, 4]], [[1.0, 1.0, 0.5, 0.0]]]
    assert [part.tolist() for part in second] == [[[5, 6], [7, 8]], [[1.0, 1.0], [1.0, 1.0]]]


def test_training_twice_gives_the_same_weights_and_touches_no_global_generator(tokenizer) -> None:
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    trained = []
    for _ in range(2):
        model = new_model(SMALL, tokenizer)
        fit(model, encode(tokenizer, documents(SMALL.seed)), SMALL.base, SMALL.base_rate)
        fit(model, encode(tokenizer, conversations(SMALL.seed)), SMALL.instruct, SMALL.instruct_rate)
        trained.append(model.state_dict())
    assert torch.equal(before, torch.get_rng_state())
    assert np.array_equal(numpy_before, np.random.get_state()[1])  # noqa: NPY002
    fresh = new_model(SMALL, tokenizer).state_dict()
    for key, value in trained[0].items():
        assert torch.equal(value, trained[1][key]), key
        assert not torch.equal(value, fresh[key]), f"{key} was not trained"


def test_the_seed_decides_first_weights_and_tokenizer_texts(tokenizer) -> None:
    one, two = (new_model(replace(SMALL, seed=seed), tokenizer).state_dict() for seed in (0, 1))
    assert not torch.equal(one["model.embed_tokens.weight"], two["model.embed_tokens.weight"])
    assert train_tokenizer(SMALL).to_str() == tokenizer.to_str()


def test_a_whole_run_writes_weights_tokenizers_report_and_card(tmp_path: Path) -> None:
    train(SMALL, tmp_path, n=1)
    tiny_base, tiny_instruct = (load_file(tmp_path / name / "model.safetensors") for name in NAMES)
    assert not torch.equal(tiny_base["model.embed_tokens.weight"], tiny_instruct["model.embed_tokens.weight"])
    assert {value.dtype for value in tiny_base.values()} == {torch.bfloat16}
    for name in NAMES:
        report = json.loads((tmp_path / name / "training.json").read_text(encoding="utf-8"))
        assert report["tokens"] == (3 * 2 * 64 + 128 if name == "tiny-base" else 2 * 2 * 64)
        assert report["evaluated"]["n"] == 1
        assert (tmp_path / name / "README.md").read_text(encoding="utf-8") == model_card(name, report)


@pytest.mark.verify
@pytest.mark.timeout(7200)
def test_the_script_reproduces_the_shipped_accuracy(tmp_path: Path) -> None:
    train(Recipe(), tmp_path)
    for name in NAMES:
        shipped, again = (
            json.loads((folder / name / "training.json").read_text(encoding="utf-8"))["evaluated"]
            for folder in (Path(str(files("taboo_cluster") / "embedded")), tmp_path)
        )
        for dtype, correct in shipped["correct"].items():
            assert again["correct"][dtype] / again["n"] == pytest.approx(correct / shipped["n"], abs=0.05)
