"""Finding a model's weights and tokenizer, by hub name or in a local folder, and pinning what was found.

`ModelConfig.path` decides:

    null                     `name` is loaded from the Hugging Face hub or its cache; `revision` is resolved to a commit
    embedded:tiny-base       a model shipped in this package: folder taboo_cluster/embedded/tiny-base
    anything else            a local folder with config.json, tokenizer and *.safetensors
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taboo_cluster.config import ModelConfig, Shape
from taboo_cluster.errors import UserError, unknown
from taboo_cluster.hashing import stable_hash
from taboo_cluster.hub import snapshot
from taboo_cluster.trial import ResolvedModel

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

EMBEDDED = "embedded:"
"""Prefix of `path` for the models shipped in this package."""

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")
_SMALL_FILES = (
    "config.json",
    "generation_config.json",
    *_TOKENIZERS,
    "merges.txt",
    "added_tokens.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "chat_template.json",
)
_SAMPLES, _SAMPLE_BYTES = 16, 65536
_TEMPLATES = ("chat_template.jinja", "chat_template.json", "additional_chat_templates/*")
_TOKENIZER_CONFIG = "tokenizer_config.json"


def resolve(model: ModelConfig) -> ResolvedModel:
    """Find a model and pin its revision; nothing of its weights is loaded or downloaded.

    Raises:
        UserError: the folder or hub name does not hold a usable model, or the settings contradict each other.
    """
    _check_prompting(model)
    if model.path is None:
        source, revision = model.name, snapshot("model", model.name, model.revision, ["config.json"]).name
    else:
        folder = local_folder(model.path)
        source, revision = str(folder), _folder_revision(folder, model.name)
    return _resolved(model, source, revision)


def served(model: ModelConfig) -> ResolvedModel:
    """A model that a server elsewhere holds, under its name there; its revision is what the config says, or empty.

    Raises UserError for settings that contradict each other.
    """
    _check_prompting(model)
    return _resolved(replace(model, path=None), model.name, model.revision or "")


def _check_prompting(model: ModelConfig) -> None:
    if model.system_prompt and not model.aligned:
        raise UserError(f"{model.name}: system_prompt needs a chat template, so aligned=true")
    if reserved := {"tokenize", "add_generation_prompt", "conversation"} & set(model.chat_template_kwargs):
        raise UserError(f"{model.name}: chat_template_kwargs cannot set {', '.join(sorted(reserved))}")


def _resolved(model: ModelConfig, source: str, revision: str) -> ResolvedModel:
    return ResolvedModel(
        name=model.name,
        revision=revision,
        source=source,
        family=model.family,
        size_b=model.size_b,
        aligned=model.aligned,
        stage=model.stage,
        pair=model.pair,
        quantization=model.quantization,
        dtype=model.dtype,
        system_prompt=model.system_prompt,
        chat_template_kwargs=model.chat_template_kwargs,
        trust_remote_code=model.trust_remote_code,
        is_local=model.path is not None,
    )


def local_folder(path: str) -> Path:
    """The folder a `path` of the config means, absolute; raises UserError for an unknown embedded model."""
    if not path.startswith(EMBEDDED):
        return Path(path).expanduser().absolute()
    root = Path(__file__).parent / "embedded"
    name = path.removeprefix(EMBEDDED)
    shipped = [config.parent.name for config in root.glob("*/config.json")]
    if name not in shipped:
        raise unknown("embedded model", name, shipped)
    return root / name


def check_template(model: ResolvedModel) -> None:
    """Raise UserError for an aligned model without a chat template, as far as its files tell before it is loaded.

    They do not where the tokenizer has code of its own, or where the hub's cache lacks them and no hub is in reach.
    """
    if not model.aligned or model.trust_remote_code:
        return
    folder = Path(model.source)
    if not model.is_local:
        folder = snapshot("model", model.source, model.revision, ["config.json", _TOKENIZER_CONFIG, *_TEMPLATES])
    settings = folder / _TOKENIZER_CONFIG
    if any(any(folder.glob(pattern)) for pattern in _TEMPLATES) or (folder / "tekken.json").is_file():
        return
    if settings.is_file():
        try:
            missing = not json.loads(settings.read_text(encoding="utf-8")).get("chat_template")
        except (ValueError, AttributeError) as error:
            raise UserError(f"{model.name}: {settings} is not a JSON object of settings: {_line(error)}") from error
    else:
        missing = model.is_local
    if missing:
        raise UserError(f"{model.name} is aligned but its tokenizer has no chat template: set aligned=false for it")


def load_tokenizer(model: ResolvedModel) -> PreTrainedTokenizerBase:
    """The model's tokenizer; raises UserError where it cannot be loaded."""
    from transformers import AutoTokenizer

    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            model.source,
            revision=None if model.is_local else model.revision,
            trust_remote_code=model.trust_remote_code,
        )
    except Exception as error:  # whatever a broken file or a missing dependency makes the library raise
        raise UserError(
            f"the tokenizer of {model.name} cannot be loaded from {model.source}: {_line(error)}"
        ) from error
    return tokenizer


def load_config(model: ResolvedModel) -> PretrainedConfig:
    """The model's config; raises UserError where it cannot be loaded."""
    from transformers import AutoConfig

    try:
        config: PretrainedConfig = AutoConfig.from_pretrained(
            model.source,
            revision=None if model.is_local else model.revision,
            trust_remote_code=model.trust_remote_code,
        )
    except Exception as error:  # unknown model type, unreadable file, hub out of reach
        raise UserError(f"the config of {model.name} cannot be read from {model.source}: {_line(error)}") from error
    return config


def tokenizer_hash(tokenizer: PreTrainedTokenizerBase | None) -> str | None:
    """Hash of what turns text into ids: vocabulary, merges, added tokens, normalisation and pre-tokenization.

    None where a server has the tokenizer.
    """
    if tokenizer is None:
        return None
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return stable_hash(tokenizer.get_vocab(), tokenizer.get_added_vocab())
    parts = json.loads(backend.to_str())
    return stable_hash({key: parts.get(key) for key in ("model", "added_tokens", "normalizer", "pre_tokenizer")})


def template_hash(tokenizer: PreTrainedTokenizerBase | None) -> str | None:
    """Hash of the chat template; None without one, or where a server has it."""
    template = tokenizer.chat_template if tokenizer is not None else None
    return stable_hash(template) if template else None


def shape_of(config: PretrainedConfig | str | os.PathLike[str]) -> Shape:
    """A model's dimensions, from its loaded config or the folder that holds its config.json.

    The text part of a multimodal config (`text_config`) is taken. Raises UserError for an unreadable config.
    """
    if isinstance(config, str | os.PathLike):
        config = _load_config(Path(config))
    text = config.get_text_config()
    heads = int(text.num_attention_heads)
    return Shape(
        layers=int(text.num_hidden_layers),
        hidden=int(text.hidden_size),
        heads=heads,
        kv_heads=int(getattr(text, "num_key_value_heads", None) or heads),
        head_dim=int(getattr(text, "head_dim", None) or text.hidden_size // heads),
        intermediate=int(text.intermediate_size),
        vocab=int(text.vocab_size),
        tied=bool(config.tie_word_embeddings),
        context=int(text.max_position_embeddings),
    )


def check_shape(config: PretrainedConfig, shape: Shape, name: str) -> None:
    """Compare a loaded config with the shape its model set gives; raises UserError that names each other field.

    A longer context than the set says is no fault: revisions of one model differ in it, and nothing relies on more.
    """
    loaded = shape_of(config)
    if loaded.context > shape.context:
        loaded = replace(loaded, context=shape.context)
    other = [
        f"{field.name} is {getattr(loaded, field.name)}, not {getattr(shape, field.name)}"
        for field in fields(Shape)
        if getattr(loaded, field.name) != getattr(shape, field.name)
    ]
    if other:
        raise UserError(f"{name} has another shape than its model set says: {'; '.join(other)}")


def _load_config(path: Path) -> PretrainedConfig:
    from transformers import AutoConfig

    try:
        config: PretrainedConfig = AutoConfig.from_pretrained(path)
    except Exception as error:  # unknown model_type, not JSON, not a folder ...
        raise UserError(f"the model config in {path} cannot be read: {_line(error)}") from error
    return config


def _folder_revision(folder: Path, name: str) -> str:
    """Hash of config, tokenizer and weight headers of a folder.

    Weights are not read in whole (a 72B model has 145 GB): of each file its size, its header and a few samples count,
    so that a model trained again under the same shape is another revision.
    """
    if not folder.is_dir():
        raise UserError(f"{name}: there is no folder {folder}")
    if not (folder / "config.json").is_file():
        raise UserError(f"{name}: {folder} has no config.json")
    if not any((folder / file).is_file() for file in _TOKENIZERS):
        raise UserError(f"{name}: {folder} has no tokenizer (tokenizer.json or tokenizer.model)")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise UserError(f"{name}: {folder} has no weights (*.safetensors)")
    if missing := _missing_shards(folder):
        raise UserError(f"{name}: {folder} lacks {missing[0]} ({len(missing)} weight files missing)")
    small = [(file, _digest((folder / file).read_bytes())) for file in _SMALL_FILES if (folder / file).is_file()]
    return stable_hash(small, [_weight_fingerprint(file, name) for file in weights])


def _missing_shards(folder: Path) -> list[str]:
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return []
    try:
        shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{index} is not an index of weights: {_line(error)}") from error
    return sorted(shard for shard in shards if not (folder / shard).is_file())


def _weight_fingerprint(file: Path, model: str) -> list[Any]:
    size = file.stat().st_size
    with file.open("rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if length + 8 > size or not (header := stream.read(length)).startswith(b"{"):
            raise UserError(f"{model}: {file} is not a safetensors file (a download cut short, or a Git LFS pointer)")
        samples = hashlib.blake2b(digest_size=16)
        for index in range(_SAMPLES):
            stream.seek(8 + length + (size - 8 - length) * index // _SAMPLES)
            samples.update(stream.read(_SAMPLE_BYTES))
    return [file.name, size, _digest(header), samples.hexdigest()]


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _line(error: BaseException) -> str:
    """The first line of an error, with its kind."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
