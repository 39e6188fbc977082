from __future__ import annotations

import dataclasses
import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE
from transformers import Gemma3Config, LlamaConfig, Olmo2Config, PreTrainedTokenizerFast, Qwen2Config

from taboo_cluster.config import ModelConfig, Shape
from taboo_cluster.errors import UserError
from taboo_cluster.models import (
    check_shape,
    check_template,
    load_tokenizer,
    local_folder,
    resolve,
    shape_of,
    template_hash,
)
from taboo_cluster.models import tokenizer_hash as hash_of

MODELS = os.environ.get("TABOO_MODELS")


def weights(data: bytes) -> bytes:
    """A safetensors file with one tensor."""
    header = json.dumps({"w": {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}}).encode()
    return struct.pack("<Q", len(header)) + header + data


def tokenizer(merges: list[tuple[str, str]], **settings: Any) -> PreTrainedTokenizerFast:
    vocabulary = {"<unk>": 0, "a": 1, "b": 2, "ab": 3}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(BPE(vocabulary, merges, unk_token="<unk>")), **settings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A complete model folder."""
    root = tmp_path / "model"
    config = {"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    tokenizer([("a", "b")]).save_pretrained(root)
    (root / "config.json").write_text(json.dumps(config))
    (root / "model.safetensors").write_bytes(weights(bytes(10**6)))
    return root


def config(folder: Path, **settings: Any) -> ModelConfig:
    return ModelConfig(name="mine", path=str(folder), **settings)


def test_a_local_folder_keeps_the_users_name_and_what_the_config_says(folder: Path) -> None:
    asked = config(folder, family="f", size_b=0.1, aligned=True, stage="sft", pair="p", quantization="nf4")
    found = resolve(dataclasses.replace(asked, system_prompt="s", chat_template_kwargs={"k": 1}))
    assert (found.name, found.source, found.is_local) == ("mine", str(folder), True)
    assert (found.family, found.size_b, found.aligned, found.stage, found.pair) == ("f", 0.1, True, "sft", "p")
    assert (found.quantization, found.system_prompt, dict(found.chat_template_kwargs)) == ("nf4", "s", {"k": 1})
    assert load_tokenizer(found)("ab").input_ids == [3]


def test_the_revision_is_the_same_wherever_the_folder_is(folder: Path, tmp_path: Path) -> None:
    before = resolve(config(folder)).revision
    moved = folder.rename(tmp_path / "elsewhere")
    (moved / "README.md").write_text("not part of the model")
    assert resolve(config(moved)).revision == before


@pytest.mark.parametrize("changed", ["config.json", "tokenizer.json", "header", "size", "values", "last value"])
def test_the_revision_changes_with_config_tokenizer_and_weights(folder: Path, changed: str) -> None:
    before = resolve(config(folder)).revision
    file = folder / "model.safetensors"
    data = file.read_bytes()
    if changed.endswith(".json"):
        (folder / changed).write_text((folder / changed).read_text() + "\n")
    elif changed == "header":
        file.write_bytes(data.replace(b'"w"', b'"v"'))
    elif changed == "size":
        file.write_bytes(weights(bytes(10**6 + 1)))
    elif changed == "values":
        file.write_bytes(weights(b"\x01" * 10**6))
    else:
        file.write_bytes(weights(bytes(10**6 - 1) + b"\x01"))
    assert resolve(config(folder)).revision != before


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (None, "there is no folder"),
        ("config.json", "has no config.json"),
        ("tokenizer.json", "has no tokenizer"),
        ("model.safetensors", "has no weights"),
    ],
)
def test_an_incomplete_folder_is_one_clear_line(folder: Path, missing: str | None, message: str) -> None:
    if missing:
        (folder / missing).unlink()
    asked = folder if missing else folder / "none"
    with pytest.raises(UserError, match=message) as caught:
        resolve(config(asked))
    assert str(asked) in str(caught.value)
    assert str(caught.value).startswith("mine: ")


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"])
def test_weights_that_are_none_are_one_clear_line(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(UserError, match="is not a safetensors file"):
        resolve(config(folder))


def test_a_missing_shard_is_named(folder: Path) -> None:
    index = {"weight_map": {"w": "model.safetensors", "v": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UserError, match=r"lacks model-2.safetensors \(1 weight files missing\)"):
        resolve(config(folder))
    (folder / "model.safetensors.index.json").write_text("[]")
    with pytest.raises(UserError, match="is not an index of weights"):
        resolve(config(folder))


def test_settings_that_contradict_each_other(folder: Path) -> None:
    with pytest.raises(UserError, match="system_prompt needs a chat template"):
        resolve(config(folder, system_prompt="s"))
    with pytest.raises(UserError, match="chat_template_kwargs cannot set tokenize"):
        resolve(config(folder, aligned=True, chat_template_kwargs={"tokenize": True}))


def test_a_broken_tokenizer_is_one_clear_line(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(UserError, match="the tokenizer of mine cannot be loaded") as caught:
        load_tokenizer(resolve(config(folder)))
    assert "\n" not in str(caught.value)


def test_embedded_models_are_known_by_name() -> None:
    with pytest.raises(UserError, match="unknown embedded model 'tiny-bsae'"):
        local_folder("embedded:tiny-bsae")


@pytest.mark.parametrize("name", ["tiny-base", "tiny-instruct"])
def test_the_shipped_models_resolve(name: str) -> None:
    found = resolve(ModelConfig(name=name, path=f"embedded:{name}", aligned=name == "tiny-instruct"))
    assert found.is_local
    assert Path(found.source).name == name
    assert (template_hash(load_tokenizer(found)) is not None) == found.aligned


def test_b13_same_name_other_content_other_hash() -> None:
    plain = hash_of(tokenizer([("a", "b")]))
    assert plain == hash_of(tokenizer([("a", "b")]))
    assert plain != hash_of(tokenizer([]))
    more = tokenizer([("a", "b")])
    more.add_tokens([AddedToken("c")])
    assert hash_of(more) != plain


def test_the_hash_does_not_depend_on_what_was_tokenized_before() -> None:
    used = tokenizer([("a", "b")], pad_token="<unk>")
    before = hash_of(used)
    used(["a", "abab"], padding=True, truncation=True, max_length=2)
    assert hash_of(used) == before


def test_template_hash() -> None:
    assert template_hash(tokenizer([])) is None
    assert template_hash(tokenizer([], chat_template="a")) != template_hash(tokenizer([], chat_template="b"))


TEXT = {
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}
SHAPE = Shape(
    layers=3, hidden=64, heads=8, kv_heads=2, head_dim=8, intermediate=128, vocab=100, tied=False, context=512
)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (LlamaConfig(**TEXT), SHAPE),
        (LlamaConfig(**{**TEXT, "num_key_value_heads": None}), dataclasses.replace(SHAPE, kv_heads=8)),
        (Qwen2Config(**TEXT, tie_word_embeddings=True), dataclasses.replace(SHAPE, tied=True)),
        (Olmo2Config(**TEXT), SHAPE),
        (Gemma3Config(text_config={**TEXT, "head_dim": 16}), dataclasses.replace(SHAPE, head_dim=16, tied=True)),
    ],
    ids=["llama", "llama without kv heads", "qwen2 tied", "olmo2", "gemma3 nested"],
)
def test_shape_of_config_layouts(made: Any, expected: Shape, tmp_path: Path) -> None:
    assert shape_of(made) == expected
    made.save_pretrained(tmp_path)
    assert shape_of(tmp_path) == expected
    check_shape(made, expected, "m")


TEMPLATE = "{{ messages[0].content }}"


@pytest.mark.parametrize(
    ("files", "known"),
    [
        ({}, False),
        ({"tokenizer_config.json": "{}"}, False),
        ({"tokenizer_config.json": '{"chat_template": null}'}, False),
        ({"tokenizer_config.json": json.dumps({"chat_template": TEMPLATE})}, True),
        ({"tokenizer_config.json": json.dumps({"chat_template": [{"name": "default", "template": TEMPLATE}]})}, True),
        ({"tokenizer_config.json": "{}", "chat_template.jinja": TEMPLATE}, True),
        ({"chat_template.json": json.dumps({"chat_template": TEMPLATE})}, True),
        ({"additional_chat_templates/tool.jinja": TEMPLATE}, True),
        ({"tekken.json": "{}"}, True),
    ],
)
def test_a_missing_chat_template_is_seen_before_the_model_is_loaded(
    folder: Path, files: dict[str, str], known: bool
) -> None:
    for name in ("tokenizer_config.json", "chat_template.jinja"):
        (folder / name).unlink(missing_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    check_template(resolve(config(folder, aligned=False)))
    check_template(resolve(config(folder, aligned=True, trust_remote_code=True)))
    if known:
        check_template(resolve(config(folder, aligned=True)))
    else:
        with pytest.raises(UserError, match="is aligned but its tokenizer has no chat template: set aligned=false"):
            check_template(resolve(config(folder, aligned=True)))


def test_an_unreadable_tokenizer_config_is_one_clear_line(folder: Path) -> None:
    for text in ("{", "[]"):
        (folder / "tokenizer_config.json").write_text(text)
        with pytest.raises(UserError, match="is not a JSON object of settings"):
            check_template(resolve(config(folder, aligned=True)))


def test_a_hub_models_template_is_looked_for_in_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cache has not the tokenizer's config, nothing is said before the model is loaded."""
    asked = []

    def snapshot(kind: str, name: str, revision: str | None, files: list[str]) -> Path:
        asked.append((kind, name, revision))
        return tmp_path

    monkeypatch.setattr("taboo_cluster.models.snapshot", snapshot)
    found = dataclasses.replace(
        resolve(ModelConfig(name="m", path="embedded:tiny-instruct", aligned=True)), source="o/m", is_local=False
    )
    check_template(found)
    assert asked == [("model", "o/m", found.revision)]
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(UserError, match="no chat template"):
        check_template(found)


def test_check_shape_names_each_field_that_differs() -> None:
    with pytest.raises(UserError) as caught:
        check_shape(LlamaConfig(**TEXT), dataclasses.replace(SHAPE, layers=4, vocab=101), "mine")
    assert str(caught.value) == (
        "mine has another shape than its model set says: layers is 3, not 4; vocab is 100, not 101"
    )


def test_check_shape_takes_a_longer_context_and_refuses_a_shorter_one() -> None:
    check_shape(LlamaConfig(**TEXT), dataclasses.replace(SHAPE, context=SHAPE.context - 1), "mine")
    with pytest.raises(UserError, match=f"context is {SHAPE.context}, not {SHAPE.context + 1}"):
        check_shape(LlamaConfig(**TEXT), dataclasses.replace(SHAPE, context=SHAPE.context + 1), "mine")


@pytest.mark.parametrize("content", ["{", '{"model_type": "no-such-type"}'])
def test_an_unreadable_config_is_one_clear_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(UserError, match="cannot be read") as caught:
        shape_of(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not MODELS, reason="TABOO_MODELS names no folder of real models")
def test_shape_of_real_models() -> None:
    smol = shape_of(Path(MODELS or "") / "SmolLM2-135M-Instruct")
    assert smol == Shape(30, 576, 9, 3, 64, 1536, 49152, True, 8192)
    gemma = shape_of(Path(MODELS or "") / "gemma-3-270m")
    assert gemma == Shape(18, 640, 4, 1, 256, 2048, 262144, True, 32768)
