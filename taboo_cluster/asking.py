"""Asking a model about texts that others wrote: questions, perturbed questions, completions.

Such a text is hostile: it stands between marks that it cannot know, and tokens that would end the asked model's turn
are broken up in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from taboo_cluster.benchmarks.base import Prompt
from taboo_cluster.engines.base import Completion, Engine, Request
from taboo_cluster.errors import TrialError
from taboo_cluster.hashing import stable_hash
from taboo_cluster.prompts import render
from taboo_cluster.trial import ResolvedModel, Sampling

VERDICT_TOKENS, LEAST_TOKENS = 1024, 32
"""Of a verdict with its reason, at most; of any answer, the fewest that must be left of the model's context."""

TURN_MARKS = (
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>"),
    *("<|end_header_id|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|eom_id|>", "<start_of_turn>"),
    *("<end_of_turn>", "<bos>", "<eos>", "<s>", "</s>", "[INST]", "[/INST]", "<|START_OF_TURN_TOKEN|>"),
    *("<|END_OF_TURN_TOKEN|>", "<|start|>", "<|channel|>", "<|message|>", "<|return|>"),
)
"""Broken up for a model behind a server, whose own tokens are not known here."""

Ask = Callable[[Collection[str]], Prompt]
"""(reserved strings, which must not come out of the texts whole) -> prompt."""


@dataclass(frozen=True)
class Said:
    """What the model said to one prompt, or why it could not be asked."""

    key: str
    text: str = ""
    finish_reason: str = ""
    """stop or length."""
    error: str | None = None


@dataclass(frozen=True)
class Judgement:
    """What a judge said of something, or why it could not be asked."""

    key: str
    verdict: str | None
    """One of two words in lower case, or None where it gave no verdict in the form asked for."""
    text: str = ""
    error: str | None = None


def ask(
    engine: Engine,
    model: ResolvedModel,
    prompts: Iterable[tuple[str, Ask]],
    max_tokens: int,
    sampling: Sampling = Sampling(),
) -> Iterator[Said]:
    """Ask each (key, prompt), drawn as the engine has room, and yield what is said in the order the engine ends.

    Raises UserError for an aligned model without a chat template, EngineDied.
    """
    reserved = TURN_MARKS if engine.tokenizer is None else set(engine.tokenizer.get_added_vocab())
    refused: list[Said] = []

    def requests() -> Iterator[Request]:
        for key, prompt in prompts:
            try:
                yield _request(engine, model, key, prompt(reserved), max_tokens, sampling)
            except TrialError as error:
                refused.append(Said(key, error=f"{error.error_type}: {error}"))

    for completion in engine.generate(requests()):
        while refused:
            yield refused.pop(0)
        yield _said(completion)
    yield from refused


def verdicts(
    engine: Engine, model: ResolvedModel, prompts: Iterable[tuple[str, Ask]], words: tuple[str, str]
) -> Iterator[Judgement]:
    """Ask each (key, prompt) greedily for a verdict in one of two words; order and errors are those of `ask`."""
    for said in ask(engine, model, prompts, VERDICT_TOKENS):
        verdict = None if said.error else read_verdict(said.text, said.finish_reason, words)
        yield Judgement(said.key, verdict, said.text, said.error)


def marked(version: str, texts: Mapping[str, str], reserved: Collection[str]) -> tuple[str, dict[str, str]]:
    """A mark that none of the texts can hold, being a hash of them all, and the texts with reserved strings broken."""
    mark = f"[{stable_hash(version, dict(texts))[:16]}]"
    return mark, {name: broken_up(text, reserved) for name, text in texts.items()}


def broken_up(text: str, reserved: Collection[str]) -> str:
    """The text with a space after the first character of each reserved string of two characters or more."""
    pieces = sorted(piece for piece in reserved if len(piece) > 1 and not piece[0].isspace())
    if not pieces:
        return text
    found = re.compile("|".join(re.escape(piece) for piece in pieces))
    while found.search(text):  # what stands around one may make another
        text = found.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
    return text


def read_verdict(text: str, finish_reason: str, words: tuple[str, str]) -> str | None:
    """One of two words in lower case, as the last line says in exactly the form `VERDICT: WORD` (bold or not).

    None for anything else; a text cut by its length has no last line.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    form = rf"\**VERDICT:\**[ \t]*\**({'|'.join(words)})\**\.?\**"
    found = re.fullmatch(form, lines[-1]) if lines and finish_reason == "stop" else None
    return found[1].lower() if found else None


def _request(
    engine: Engine, model: ResolvedModel, key: str, prompt: Prompt, max_tokens: int, sampling: Sampling
) -> Request:
    rendered = render(prompt, model, engine.tokenizer)
    room = engine.max_context - len(rendered.ids)
    if room < LEAST_TOKENS:
        raise TrialError("prompt_too_long", f"{len(rendered.ids)} tokens in a context of {engine.max_context}")
    tokens = min(max_tokens, room)
    return Request(
        key, rendered.text, rendered.ids, tokens, rendered.stop, sampling=sampling, messages=rendered.messages
    )


def _said(completion: Completion) -> Said:
    made = completion.generation
    if made is None:
        return Said(completion.key, error=f"{completion.error_type}: {completion.error}")
    return Said(completion.key, made.text, made.finish_reason)
