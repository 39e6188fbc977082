"""The mask core: which logits become -inf at one decoding step (METHODS section 1).

Pure tensor code, vectorised over the batch: nothing is read back from the device and no loop runs over rows. Ties are
broken by the lower token id for x_nom and for the mask alike, so the same logits give the same mask in every engine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from taboo_cluster.taboo.triggers.base import DecodingStep, RowFacts, TriggerEntry
from taboo_cluster.taboo.word_start import WordStartTable

_BLOCK = 128
"""Ids per block of `ordered_top`: its two sorts are about as long as each other at 150,000 ids and rank 8."""


@dataclass(frozen=True)
class MaskOutcome:
    """What was done to each row; [B] each, unless said otherwise."""

    nominal: torch.Tensor
    """long: x_nom, the best token before masking."""
    nominal_logit: torch.Tensor
    """logits' dtype: its logit."""
    word_initial: torch.Tensor
    """bool: x_nom begins a word."""
    masked: torch.Tensor
    """long: how many tokens were masked; 0 = no intervention."""
    tied: torch.Tensor
    """bool: an intervention at whose boundary the last masked logit and the next one are equal."""
    skipped: torch.Tensor
    """bool: the trigger fired but there were no more finite candidates than tokens to mask; row left alone."""
    invalid: torch.Tensor
    """bool: the logits make no distribution (NaN, +inf, nothing but -inf); row left alone."""
    removed: torch.Tensor
    """[B, K], logits' dtype: what the masked logits were; -inf where nothing was masked."""

    @property
    def intervened(self) -> torch.Tensor:
        """bool: tokens were masked."""
        return self.masked > 0


def mask_top(
    logits: torch.Tensor,
    rank: torch.Tensor,
    table: WordStartTable,
    trigger: TriggerEntry,
    max_rank: int,
    protect_special: torch.Tensor | None = None,
    facts: RowFacts | None = None,
) -> MaskOutcome:
    """Mask the best logits of each row where the trigger fires, in place.

    Args:
        logits: [B, V] raw logits, modified in place; V may differ from the number of token ids.
        rank: [B] long, tokens to mask at an intervention; 0 leaves the row alone.
        table: word starts and special tokens, on the device of the logits.
        trigger: where to intervene; one for the batch (with several, call once for each, rank 0 in the other rows).
        max_rank: largest rank in the batch, known without reading `rank`.
        protect_special: [B] bool, rows whose special tokens are never masked, the next ordinary one in their place;
            None for no such row, which saves a copy of the logits.
        facts: what the trigger and the word-start table may ask of each row; None where they ask nothing.

    Returns:
        What was done to each row.
    """
    facts = RowFacts.none(len(logits), logits.device) if facts is None else facts
    count = len(table) if trigger.whole else max_rank + 1
    best, ids = ordered_top(_candidates(logits, table), count)
    top, nominal = best[:, 0], ids[:, 0]
    invalid = ~top.isfinite() | logits[:, len(table) :].isnan().any(1)
    word_initial = table.start[facts.state, nominal]
    fires = trigger.fires(DecodingStep(logits, best, nominal, rank, word_initial, table, facts))
    wanted = torch.where((rank > 0) & ~table.special[nominal] & ~invalid, fires, 0)

    if protect_special is not None:
        ordinary, ordinary_ids = ordered_top(_candidates(logits, table, ordinary_only=True), count)
        best = torch.where(protect_special[:, None], ordinary, best)
        ids = torch.where(protect_special[:, None], ordinary_ids, ids)

    # Counted from 0, candidate number `wanted` is the first to stay: it has to be there, and finite.
    boundary = torch.stack([wanted - 1, wanted], 1).clamp(0, best.shape[1])
    last_masked, first_kept = torch.nn.functional.pad(best, (0, 1), value=-torch.inf).gather(1, boundary).unbind(1)
    enough = first_kept > -torch.inf
    masked = torch.where(enough, wanted, 0)
    hit = torch.arange(ids.shape[1], device=ids.device) < masked[:, None]
    logits.scatter_(1, ids, torch.where(hit, -torch.inf, logits.gather(1, ids)))
    return MaskOutcome(
        nominal=nominal,
        nominal_logit=top,
        word_initial=word_initial,
        masked=masked,
        tied=(masked > 0) & (last_masked == first_kept),
        skipped=(wanted > 0) & ~enough,
        invalid=invalid,
        removed=torch.where(hit, best, -torch.inf),
    )


def entropy_bits(logits: torch.Tensor) -> torch.Tensor:
    """Next-token entropy [B], in bits, of the distribution that logits [B, V] give; NaN where they give none."""
    terms: torch.Tensor = torch.special.entr(logits.float().softmax(1))
    return terms.sum(1) / math.log(2)


def bits_paid(nominal: torch.Tensor, emitted: torch.Tensor) -> torch.Tensor:
    """Injected surprisal [B], double, in bits, of emitting one token in the place of another, from their logits [B].

    Infinite where it cannot be known.
    """
    bits = (nominal.double() - emitted.double()) / math.log(2)
    return torch.where(bits.isfinite(), bits, torch.inf)


def _candidates(logits: torch.Tensor, table: WordStartTable, ordinary_only: bool = False) -> torch.Tensor:
    """The logits [B, n] of the tokenizer's own ids, -inf at holes of the vocabulary and, if asked, special tokens."""
    own = logits[:, : len(table)]
    if table.gapless and not ordinary_only:
        return own
    barred = ~table.known | table.special if ordinary_only else ~table.known
    return own.masked_fill(barred[: own.shape[1]], -torch.inf)


def ordered_top(values: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The k best values of each row [B, n], best first and equal ones by lower id; (values, ids), [B, min(k, n)] each.

    `torch.topk` leaves the order of equal values open. This is exact, and faster: cut a row into blocks and order the
    blocks by (maximum, lower block first); the k best values lie in the first k blocks, for whatever lies in a later
    block comes after the maximum of each of these. NaN counts as infinity.
    """
    rows, size = values.shape
    k = min(k, size)
    if k * _BLOCK >= size:
        best, ids = torch.sort(values.nan_to_num(torch.inf, torch.inf, -torch.inf), dim=1, descending=True, stable=True)
        return best[:, :k], ids[:, :k]
    full = size // _BLOCK
    maxima = values[:, : full * _BLOCK].reshape(rows, full, _BLOCK).amax(2)
    if size % _BLOCK:
        maxima = torch.cat([maxima, values[:, full * _BLOCK :].amax(1, keepdim=True)], 1)
    blocks = _best_places(maxima.nan_to_num(torch.inf, torch.inf, -torch.inf), k)
    ids = (blocks[:, :, None] * _BLOCK + torch.arange(_BLOCK, device=values.device)).flatten(1)
    inside = values.gather(1, ids.clamp(max=size - 1)).nan_to_num(torch.inf, torch.inf, -torch.inf)
    places = _best_places(inside.masked_fill(ids >= size, -torch.inf), k)
    best, order = torch.sort(inside.gather(1, places), dim=1, descending=True, stable=True)
    return best, ids.gather(1, places.gather(1, order))


def _best_places(values: torch.Tensor, k: int) -> torch.Tensor:
    """Places [B, k], in ascending order, of the k best values of each row [B, n] without NaN; of equals, the first."""
    least = values.topk(k).values[:, -1:]
    above, equal = values > least, values == least
    chosen = above | (equal & (equal.cumsum(1) <= k - above.sum(1, keepdim=True)))
    early_first = torch.arange(values.shape[1], 0, -1, device=values.device)
    return torch.where(chosen, early_first, 0).topk(k).indices
