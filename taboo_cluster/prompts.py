"""From a benchmark's prompt to what a model is fed: text as rendered, token ids, stop strings.

Base models get the plain form, aligned models their own chat template with the examples as turns.

Exactly one begin-of-sequence (BOS) token stands in front where the tokenizer has one to put there (`bos_to_add`); a
template that writes it itself is not given a second one. No end-of-sequence token is ever appended.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taboo_cluster.benchmarks.base import Prompt
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.trial import ResolvedModel

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TEMPLATE_DATE = datetime.datetime(2024, 7, 26)
"""What a template that writes today's date is given (Llama 3.1's own default), so that prompts never depend on it."""

TRAILING_SPACE = "prompt_ends_in_white_space"
"""Warning: the last token of the prompt is not one the model would go on from."""


@dataclass(frozen=True)
class Rendered:
    """A prompt ready to be fed."""

    text: str
    """Special tokens included; of a chat without a tokenizer, its turns as JSON."""
    ids: tuple[int, ...]
    """Empty without a tokenizer."""
    stop: tuple[str, ...]
    """Strings that end the completion."""
    warnings: tuple[str, ...] = ()
    messages: tuple[tuple[str, str], ...] = ()
    """(role, content) of the chat form's turns; empty for a base model."""


def render(prompt: Prompt, model: ResolvedModel, tokenizer: PreTrainedTokenizerBase | None) -> Rendered:
    """Render a prompt for a model; without a tokenizer for an engine that is given texts.

    Raises:
        UserError: an aligned model without a chat template, or a stop string that can only do harm.
        TrialError: `render_failed`, where the template or the tokenizer fails on this prompt.
    """
    if model.aligned and tokenizer is not None and not tokenizer.chat_template:
        raise UserError(f"{model.name} is aligned but its tokenizer has no chat template: set aligned=false for it")
    stop = stop_strings(prompt.chat_stop if model.aligned else prompt.stop, chat=model.aligned)
    messages = turns(prompt, model) if model.aligned else ()
    ends_in_space = not model.aligned and prompt.plain != prompt.plain.rstrip()
    warnings = (TRAILING_SPACE,) if ends_in_space else ()
    if tokenizer is None:
        return Rendered(_sendable(_as_json(messages) if messages else prompt.plain), (), stop, warnings, messages)
    try:
        text = _chat(messages, model, tokenizer) if model.aligned else prompt.plain
        ids = list(tokenizer(text, add_special_tokens=False).input_ids)
    except Exception as error:
        raise TrialError("render_failed", f"{type(error).__name__}: {error}") from error
    bos = bos_to_add(tokenizer)
    if bos is not None:
        while ids[:2] == [bos, bos]:
            ids = ids[1:]
            text = text.removeprefix(str(tokenizer.bos_token))
        if ids[:1] != [bos]:
            ids = [bos, *ids]
            text = f"{tokenizer.bos_token}{text}"
    return Rendered(text, tuple(ids), stop, warnings, messages)


@dataclass(frozen=True)
class PromptGauge:
    """Counts a model's tokens (`fitting.Gauge`)."""

    model: ResolvedModel
    tokenizer: PreTrainedTokenizerBase
    context: int

    def prompt(self, prompt: Prompt) -> int:
        """Tokens of a prompt as the model is fed it."""
        return len(render(prompt, self.model, self.tokenizer).ids)

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return len(self.tokenizer(text, add_special_tokens=False).input_ids)


def turns(prompt: Prompt, model: ResolvedModel) -> tuple[tuple[str, str], ...]:
    """(role, content) of each turn of the chat form: the system prompt, the examples, the question."""
    found = [("system", model.system_prompt)] if model.system_prompt else []
    for user, assistant in prompt.shots:
        found += [("user", user), ("assistant", assistant)]
    return (*found, ("user", prompt.user))


def stop_strings(stop: str | Sequence[str], *, chat: bool) -> tuple[str, ...]:
    r"""Stop strings as given in a config or by a benchmark: one string is one stop string, not its characters.

    Raises:
        UserError: an empty stop string, or with a chat template one of white space alone (a bare newline would cut
            every answer that has more than one line).
    """
    strings = (stop,) if isinstance(stop, str) else tuple(stop)
    for string in strings:
        if not string:
            raise UserError("a stop string is empty: it would end every completion at once")
        if chat and not string.strip():
            raise UserError(f"{string!r} cannot be a stop string with a chat template: it would cut every chat answer")
    return strings


def bos_to_add(tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Id of the BOS token that prompts of this tokenizer begin with; None where they begin with none.

    The tokenizer's own rule holds: it has a BOS token and puts it there itself, or its settings say
    `add_bos_token`. Where the settings say nothing and nothing is put there, a BOS token of its own (not also the
    end-of-sequence token) of a SentencePiece-type vocabulary (pieces with `▁`) counts too: Llama 2, Mistral and Gemma
    saw it in front of every text, and conversions (from GGUF, say) lose the setting. Byte-level tokenizers that want
    one carry it in their post-processor, and many name a turn marker as BOS that never opened a plain text.
    """
    bos = tokenizer.bos_token_id
    if bos is None:
        return None
    if list(tokenizer("x").input_ids[:1]) == [bos]:
        return int(bos)
    explicit = tokenizer.init_kwargs.get("add_bos_token")
    wanted = explicit if explicit is not None else bos != tokenizer.eos_token_id and _has_space_pieces(tokenizer)
    return int(bos) if wanted else None


def _has_space_pieces(tokenizer: PreTrainedTokenizerBase) -> bool:
    return any("▁" in piece for piece in tokenizer.tokenize("a b"))


def as_dicts(messages: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Turns as chat templates and servers take them."""
    return [{"role": role, "content": content} for role, content in messages]


def _as_json(messages: Sequence[tuple[str, str]]) -> str:
    return json.dumps(as_dicts(messages), ensure_ascii=False)


def _sendable(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TrialError("render_failed", f"the prompt is no Unicode text: {error}") from error
    return text


def _chat(messages: Sequence[tuple[str, str]], model: ResolvedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    text = tokenizer.apply_chat_template(
        as_dicts(messages),
        **{"strftime_now": TEMPLATE_DATE.strftime, **model.chat_template_kwargs},
        tokenize=False,
        add_generation_prompt=True,
    )
    return str(text)
