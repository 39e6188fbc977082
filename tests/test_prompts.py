from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, processors
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Metaspace, Split
from transformers import PreTrainedTokenizerFast

from taboo_cluster.benchmarks.base import Prompt
from taboo_cluster.config import ModelConfig
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.models import load_tokenizer, resolve
from taboo_cluster.prompts import TRAILING_SPACE, bos_to_add, render, stop_strings
from taboo_cluster.trial import ResolvedModel

MODELS = os.environ.get("TABOO_MODELS")
needs_models = pytest.mark.skipif(not MODELS, reason="TABOO_MODELS names no folder of real models")

PROMPT = Prompt(shots=(("a", "b"),), user="c", plain="a b", stop=("\nQuestion:",), chat_stop=("c:",))
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} {{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}assistant :{% endif %}"
)
WORDS = ["<unk>", "<s>", "</s>", "a", "b", "c", ":", "user", "assistant", "system"]


def tokenizer(*, metaspace: bool = False, adds_bos: bool = False, **settings: Any) -> PreTrainedTokenizerFast:
    """A word-level tokenizer; with `metaspace` its pieces carry ▁, as SentencePiece's do."""
    pieces = WORDS + ["▁" + word for word in WORDS[3:]]
    made = Tokenizer(WordLevel({piece: n for n, piece in enumerate(pieces)}, unk_token="<unk>"))
    made.pre_tokenizer = Metaspace() if metaspace else Split(Regex(r"\s+"), "removed")
    if adds_bos:
        made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokens = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", **settings}
    return PreTrainedTokenizerFast(tokenizer_object=made, **tokens)


def model(aligned: bool = False, **settings: Any) -> ResolvedModel:
    fixed = {"name": "m", "revision": "r", "source": "s", "family": None, "size_b": None, "stage": "base", "pair": None}
    return ResolvedModel(**{**fixed, "aligned": aligned, "quantization": "none", "dtype": "float32", **settings})


def test_base_models_get_the_plain_form() -> None:
    rendered = render(PROMPT, model(), tokenizer())
    assert rendered.text == "a b"
    assert rendered.ids == (3, 4)
    assert rendered.stop == ("\nQuestion:",)
    assert rendered.warnings == ()


def test_aligned_models_get_their_template_with_shots_as_turns() -> None:
    rendered = render(PROMPT, model(True, system_prompt="b"), tokenizer(chat_template=TEMPLATE))
    assert rendered.text == "system : b </s>user : a </s>assistant : b </s>user : c </s>assistant :"
    assert rendered.ids[-2:] == (8, 6)
    assert rendered.stop == ("c:",)


def test_without_a_tokenizer_a_prompt_is_text_or_turns() -> None:
    plain = render(PROMPT, model(), None)
    assert (plain.text, plain.ids, plain.stop, plain.messages) == ("a b", (), ("\nQuestion:",), ())
    turned = render(PROMPT, model(True, system_prompt="be ü"), None)
    assert turned.messages == (("system", "be ü"), ("user", "a"), ("assistant", "b"), ("user", "c"))
    assert turned.text.startswith('[{"role": "system", "content": "be ü"}, {"role": "user", "content": "a"}')
    assert (turned.ids, turned.stop) == ((), ("c:",))
    assert (
        turned.messages == render(PROMPT, model(True, system_prompt="be ü"), tokenizer(chat_template=TEMPLATE)).messages
    )


def test_without_a_tokenizer_too_a_prompt_is_checked() -> None:
    assert render(Prompt((), "", "a ", ()), model(), None).warnings == (TRAILING_SPACE,)
    with pytest.raises(UserError, match="cannot be a stop string"):
        render(Prompt((), "c", "c", (), ("\n",)), model(True), None)
    for broken in (Prompt((), "", "a \ud800", ()), Prompt((), "\ud800", "a", ())):
        with pytest.raises(TrialError) as caught:
            render(broken, model(aligned=not broken.user.isascii()), None)
        assert caught.value.error_type == "render_failed"


def test_template_settings_reach_the_template() -> None:
    template = "{% if thinking %}a{% else %}b{% endif %}"
    shown = model(True, chat_template_kwargs={"thinking": True})
    assert render(PROMPT, shown, tokenizer(chat_template=template)).text == "a"
    assert render(PROMPT, model(True), tokenizer(chat_template=template)).text == "b"


def test_a_template_that_writes_the_date_writes_the_same_one_every_day() -> None:
    made = tokenizer(chat_template="{{ strftime_now('%d %b %Y') }}")
    assert render(PROMPT, model(True), made).text == "26 Jul 2024"


@pytest.mark.parametrize("template", ["{{ bos_token }} a", "{{ bos_token }}{{ bos_token }} a", "a"])
def test_exactly_one_bos_with_a_template(template: str) -> None:
    made = tokenizer(adds_bos=True, chat_template=template)
    rendered = render(PROMPT, model(True), made)
    assert rendered.ids == (1, 3)
    assert rendered.text.count("<s>") == 1


def test_exactly_one_bos_in_a_plain_prompt() -> None:
    rendered = render(PROMPT, model(), tokenizer(adds_bos=True))
    assert (rendered.text, rendered.ids) == ("<s>a b", (1, 3, 4))


def test_no_end_token_is_appended() -> None:
    made = tokenizer()
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    assert render(PROMPT, model(), made).ids == (1, 3, 4)


@pytest.mark.parametrize(
    ("settings", "bos"),
    [
        ({"adds_bos": True}, 1),
        ({}, None),
        ({"bos_token": None}, None),
        ({"metaspace": True}, 1),
        ({"metaspace": True, "bos_token": "</s>"}, None),
        ({"metaspace": True, "add_bos_token": False}, None),
        ({"add_bos_token": True}, 1),
    ],
)
def test_who_gets_a_bos(settings: dict[str, Any], bos: int | None) -> None:
    assert bos_to_add(tokenizer(**settings)) == bos


def test_an_aligned_model_needs_a_chat_template() -> None:
    with pytest.raises(UserError, match="m is aligned but its tokenizer has no chat template"):
        render(PROMPT, model(True), tokenizer())


def test_a_template_that_refuses_the_prompt_is_an_error_of_the_trial() -> None:
    made = tokenizer(chat_template="{{ raise_exception('no system role') }}")
    with pytest.raises(TrialError, match="no system role") as caught:
        render(PROMPT, model(True), made)
    assert caught.value.error_type == "render_failed"


def test_text_that_cannot_be_encoded_is_an_error_of_the_trial() -> None:
    broken = Prompt(shots=(), user="", plain="a \ud800", stop=())
    with pytest.raises(TrialError) as caught:
        render(broken, model(), tokenizer())
    assert caught.value.error_type == "render_failed"


@pytest.mark.parametrize(("plain", "warned"), [("a b ", True), ("a b\n", True), ("a b\xa0", True), ("a b", False)])
def test_c19_a_prompt_that_ends_in_white_space_is_flagged(plain: str, warned: bool) -> None:
    rendered = render(Prompt(shots=(), user="", plain=plain, stop=()), model(), tokenizer())
    assert rendered.warnings == ((TRAILING_SPACE,) if warned else ())


def test_c19_the_templates_own_line_end_is_not_flagged() -> None:
    assert render(PROMPT, model(True), tokenizer(chat_template="a \n")).warnings == ()


def test_a13_a_bare_string_is_one_stop_string() -> None:
    assert stop_strings("Question:", chat=True) == ("Question:",)
    assert stop_strings(["a", "b"], chat=True) == ("a", "b")
    assert stop_strings([], chat=True) == ()


@pytest.mark.parametrize("stop", ["\n", "\n\n", " ", ["x", "\r\n"]])
def test_a17_white_space_is_no_stop_with_a_chat_template(stop: str | list[str]) -> None:
    with pytest.raises(UserError, match="cannot be a stop string with a chat template"):
        stop_strings(stop, chat=True)
    assert stop_strings(stop, chat=False)
    bad = Prompt(shots=(), user="c", plain="c", stop=(), chat_stop=tuple(stop))
    with pytest.raises(UserError):
        render(bad, model(True), tokenizer(chat_template=TEMPLATE))


def test_an_empty_stop_string_is_refused_everywhere() -> None:
    with pytest.raises(UserError, match="empty"):
        stop_strings(["a", ""], chat=False)


def real(name: str, aligned: bool) -> tuple[ResolvedModel, Any]:
    found = resolve(ModelConfig(name=name, path=str(Path(MODELS or "") / name), aligned=aligned))
    return found, load_tokenizer(found)


@needs_models
def test_smollm2_chat_and_plain() -> None:
    found, made = real("SmolLM2-135M-Instruct", aligned=True)
    chat = render(PROMPT, found, made)
    assert chat.text.startswith("<|im_start|>system\n")
    assert chat.text.endswith("<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n")
    assert chat.ids[:2] == (1, made.convert_tokens_to_ids("system"))
    assert made.decode(chat.ids) == chat.text
    plain = render(PROMPT, real("SmolLM2-135M-Instruct", aligned=False)[0], made)
    assert 1 not in plain.ids


@needs_models
def test_gemma_gets_one_bos_although_its_conversion_lost_the_setting() -> None:
    found, made = real("gemma-3-270m", aligned=False)
    rendered = render(PROMPT, found, made)
    assert rendered.ids[0] == made.bos_token_id == 2
    assert rendered.ids.count(2) == 1
    assert rendered.text == "<bos>a b"
