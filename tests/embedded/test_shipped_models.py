"""The shipped weights: size, format, tokenizer, chat template, baseline."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from taboo_cluster.embedded.card import model_card
from taboo_cluster.embedded.evaluate import evaluate
from taboo_cluster.embedded.train import Recipe, fingerprint

ROOT = Path(str(files("taboo_cluster") / "embedded"))
NAMES = ("tiny-base", "tiny-instruct")


@pytest.fixture(scope="module")
def tokenizers():
    return {name: AutoTokenizer.from_pretrained(ROOT / name) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_small_and_bfloat16(name: str) -> None:
    path = ROOT / name / "model.safetensors"
    assert path.stat().st_size < 10 * 2**20
    with safe_open(path, "pt") as weights:
        tensors = [weights.get_tensor(key) for key in weights.keys()]  # noqa: SIM118
    assert {tensor.dtype for tensor in tensors} == {torch.bfloat16}
    assert all(tensor.isfinite().all() for tensor in tensors)
    assert sum(tensor.numel() for tensor in tensors) <= 4_000_000


@pytest.mark.parametrize(("name", "end"), [("tiny-base", "<|eos|>"), ("tiny-instruct", "<|im_end|>")])
def test_config_is_a_llama_any_engine_loads(name: str, end: str, tokenizers) -> None:
    config = AutoConfig.from_pretrained(ROOT / name)
    assert config.architectures == ["LlamaForCausalLM"]
    assert config.head_dim in (32, 64, 96, 128)
    assert config.max_position_embeddings >= 512
    assert config.tie_word_embeddings
    assert config.vocab_size == len(tokenizers[name])
    ends = json.loads((ROOT / name / "generation_config.json").read_text(encoding="utf-8"))["eos_token_id"]
    assert ends == config.eos_token_id == tokenizers[name].eos_token_id == tokenizers[name].convert_tokens_to_ids(end)


def test_both_have_one_vocabulary(tokenizers) -> None:
    base, instruct = (tokenizers[name].get_vocab() for name in NAMES)
    assert base == instruct
    assert len(base) <= 2048


def test_tokenizer_is_byte_level_with_single_digits_and_one_bos(tokenizers) -> None:
    tokenizer = tokenizers["tiny-base"]
    assert tokenizer.convert_ids_to_tokens(tokenizer("Answer: The answer is 123.").input_ids) == [
        *["<|bos|>", "Answer", ":", "ĠThe", "Ġanswer", "Ġis", "Ġ", "1", "2", "3", "."]
    ]
    assert not [piece for piece in tokenizer.get_vocab() if len(piece) > 1 and any(map(str.isdigit, piece))]


@settings(max_examples=100, deadline=None)
@given(st.text().filter(lambda text: "<|" not in text))
def test_any_text_survives_the_tokenizer(text: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "tiny-base")
    assert tokenizer.decode(tokenizer(text, add_special_tokens=False).input_ids) == text


def test_chat_template_renders(tokenizers) -> None:
    turns = [
        {"role": "system", "content": "You solve word problems."},
        {"role": "user", "content": "How many?"},
        {"role": "assistant", "content": "The answer is 3."},
        {"role": "user", "content": "And now?"},
    ]
    assert tokenizers["tiny-instruct"].apply_chat_template(turns, tokenize=False, add_generation_prompt=True) == (
        "<|bos|><|im_start|>system\nYou solve word problems.<|im_end|>\n"
        "<|im_start|>user\nHow many?<|im_end|>\n"
        "<|im_start|>assistant\nThe answer is 3.<|im_end|>\n"
        "<|im_start|>user\nAnd now?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert tokenizers["tiny-base"].chat_template is None


@pytest.mark.parametrize("name", NAMES)
def test_report_and_card_belong_to_the_script_as_it_is(name: str) -> None:
    report = json.loads((ROOT / name / "training.json").read_text(encoding="utf-8"))
    recipe = json.loads(json.dumps(Recipe().__dict__, default=lambda stage: stage.__dict__))
    assert report["recipe"] == recipe
    assert report["corpus"] == fingerprint(Recipe().seed)
    assert (ROOT / name / "README.md").read_text(encoding="utf-8") == model_card(name, report)
    assert report["evaluated"]["n"] == 200
    assert min(report["evaluated"]["correct"].values()) >= 160


@pytest.mark.parametrize("name", NAMES)
def test_baseline_on_40_held_out_items(name: str, tokenizers) -> None:
    model = AutoModelForCausalLM.from_pretrained(ROOT / name, dtype=torch.float32)
    found = evaluate(model, tokenizers[name], name == "tiny-instruct", n=40, batch=40)
    assert found.accuracy >= 0.7
    assert 2 * found.longest <= 160, "max_tokens has to be at least twice the longest baseline"
