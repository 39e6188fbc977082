"""From what an engine logged of its interventions to what is recorded of a generation (METHODS section 1). Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from taboo_cluster.engines.base import Generation, Step
from taboo_cluster.taboo.pieces import Pieces, of_word
from taboo_cluster.taboo.word_start import TAIL, WordStartTable


@dataclass(frozen=True)
class Detour:
    """One intervention, as an engine logs it."""

    position: int
    """Index of the emitted token among the generated ones, from 0."""
    nominal_id: int
    emitted_id: int
    emitted_rank: int
    """Tokens whose nominal logit is at least the emitted one's, itself included."""
    bits: float | None
    """Injected surprisal; None where it is not known."""
    tied: bool
    """The last masked logit and the next one were equal."""


@dataclass(frozen=True)
class Entropy:
    """Next-token entropy at one step, before masking."""

    bits: float
    word_initial: bool
    """The nominal token began a word."""


def generation(
    text: str,
    prompt_ids: Sequence[int],
    token_ids: Sequence[int],
    finish_reason: str,
    detours: Iterable[Detour],
    skipped_steps: int,
    pieces: Pieces,
    table: WordStartTable,
    entropies: Sequence[Entropy] = (),
) -> Generation:
    """What a request came to, with its interventions described.

    Args:
        text: the completion, cut before a stop string.
        prompt_ids: what came before.
        token_ids: generated ids, an end token or the tokens of a stop string included.
        finish_reason: `stop` or `length`.
        detours: interventions; those past the last token are left out.
        skipped_steps: steps left alone for want of candidates.
        pieces: the vocabulary.
        table: word starts, on the CPU.
        entropies: one for each position, or none; those past the last token are left out.
    """
    ids = tuple(token_ids)
    made = [detour for detour in detours if detour.position < len(ids)]
    measured = [one for one in entropies[: len(ids)] if math.isfinite(one.bits)]
    return Generation(
        text=text,
        token_ids=ids,
        finish_reason=finish_reason,
        steps=tuple(_step(detour, pieces) for detour in made),
        skipped_steps=skipped_steps,
        tie_steps=sum(detour.tied for detour in made),
        glued=len(made) - word_initial([d.position for d in made], prompt_ids, ids, table),
        stopped_by_detour=finish_reason == "stop" and any(d.position == len(ids) - 1 for d in made),
        taboo_leak=any(leaks(d.nominal_id, ids[d.position :], pieces) for d in made),
        entropy_mean=mean([one.bits for one in measured]),
        entropy_word_start=mean([one.bits for one in measured if one.word_initial]),
    )


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def word_initial(
    positions: Sequence[int], prompt_ids: Sequence[int], token_ids: Sequence[int], table: WordStartTable
) -> int:
    """How many of the tokens at these positions begin a word after what came before them."""
    if not positions:
        return 0
    before = [-1] * TAIL + list(prompt_ids[-TAIL:])
    emitted = torch.tensor([token_ids[position] for position in positions])
    tails = torch.tensor([[*before, *token_ids[:position]][-TAIL:] for position in positions])
    return int(table.start[table.state(tails), emitted].sum())


def _step(detour: Detour, pieces: Pieces) -> Step:
    return Step(
        position=detour.position,
        nominal_id=detour.nominal_id,
        nominal=pieces.readable(detour.nominal_id),
        emitted_id=detour.emitted_id,
        emitted=pieces.readable(detour.emitted_id),
        emitted_rank=detour.emitted_rank,
        bits=detour.bits,
    )


def leaks(nominal_id: int, following: Sequence[int], pieces: Pieces) -> bool:
    """Whether the tokens emitted in the place of a masked one spell its very string, as a word of its own.

    " London" masked, " Lon" + "don" or " LONDON" emitted: True. The string, its space included, has to stand where the
    token was masked: the same word later in the text is no leak. It has to end there too, before a character that is
    not of a word, a special token or the end of the text: " the" masked, " them" emitted is another word.

    Args:
        nominal_id: the masked token.
        following: ids from the one emitted in its place to the end of the generation.
        pieces: the vocabulary.
    """
    masked = pieces.readable(nominal_id).casefold()
    spelled = b""
    for token_id in following:
        if token_id in pieces.special:
            break
        spelled += pieces.spelled(token_id)
        if len(spelled.decode(errors="ignore").casefold()) > len(masked):
            break
    text = spelled.decode(errors="ignore").casefold()
    if not text.startswith(masked):
        return False
    rest = text[len(masked) :]
    return not rest or not of_word(rest[0])
