"""Taboo for `model.generate` of transformers, greedy or sampling.

taboo = TabooLogitsProcessor(tokenizer, Taboo(rank=1))
output = model.generate(**inputs, logits_processor=[taboo])
taboo.detours(output)  # the interventions of each row
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers import LogitsProcessor, PreTrainedTokenizerBase

from taboo_cluster.taboo.detours import Detour
from taboo_cluster.taboo.mask import MaskOutcome, mask_top
from taboo_cluster.taboo.surprisal import injected_bits
from taboo_cluster.taboo.triggers.base import TRIGGERS
from taboo_cluster.taboo.word_start import WordStartTable, word_start_table
from taboo_cluster.trial import Taboo


@dataclass(frozen=True)
class _Settled:
    """The interventions of one step, the tokens emitted in their place known: one entry for each masked row."""

    position: int
    row: torch.Tensor
    nominal: torch.Tensor
    nominal_logit: torch.Tensor
    emitted: torch.Tensor
    emitted_logit: torch.Tensor
    emitted_rank: torch.Tensor
    tied: torch.Tensor


class TabooLogitsProcessor(LogitsProcessor):
    """Masks the top logits of each row where its intervention fires, and logs what was emitted in their place.

    One object serves one call of `generate`, without beams or assisted decoding. It works on the raw logits, so it
    comes first; a processor after it must not write into the scores it is given, or the log would be wrong.

    Args:
        tokenizer: of the model; byte-level BPE or SentencePiece.
        taboo: one intervention for all rows, or one for each; those above rank 0 share trigger and word starts.
        table: the word-start table, where it is made already.

    Raises:
        UserError: an unknown trigger or kind of word starts, or a tokenizer that marks none.
        ValueError: a negative rank, or rows that differ in trigger or word starts.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, taboo: Taboo | Sequence[Taboo], table: WordStartTable | None = None
    ) -> None:
        rows = [taboo] if isinstance(taboo, Taboo) else taboo
        if any(row.rank < 0 for row in rows):
            raise ValueError("a rank must be 0 or more")
        modes = {(row.trigger, row.word_start) for row in rows if row.rank} or {(rows[0].trigger, rows[0].word_start)}
        if len(modes) > 1:
            raise ValueError(f"the rows of one batch must share trigger and word starts, not {sorted(modes)}")
        trigger, word_start = modes.pop()
        self._taboo = taboo
        self._trigger = TRIGGERS.get(trigger)
        self._max_rank = max(row.rank for row in rows)
        self._table = word_start_table(tokenizer, word_start) if table is None else table
        self._steps: list[MaskOutcome] = []
        self._settled: list[_Settled] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Mask the scores [B, V] in place; `input_ids` [B, T] end with the tokens chosen at the last step."""
        if not self._steps:
            self._start(input_ids, scores)
        elif input_ids.shape[1] != self._prompt_length + len(self._steps):
            raise ValueError("one TabooLogitsProcessor serves one call of generate, without assisted decoding")
        else:
            self._settle(input_ids[:, -1])
        self._scores = scores
        self._steps.append(
            mask_top(scores, self._rank, self._table, self._trigger, self._max_rank, self._protect_special)
        )
        return scores

    @property
    def invalid(self) -> torch.Tensor:
        """[B] bool: rows whose logits made no distribution at the last step."""
        return self._steps[-1].invalid

    def detours(self, output: torch.Tensor) -> list[list[Detour]]:
        """The interventions of each row, once `generate` has returned its `output` [B, T].

        Where a row ends before the others, what it is padded with counts as emitted: leave out what lies past its end.
        """
        if output.shape[1] == self._prompt_length + len(self._steps):
            self._settle(output[:, -1])
        found: list[list[Detour]] = [[] for _ in output]
        for step in self._settled:
            rows, nominal, emitted = step.row.tolist(), step.nominal.tolist(), step.emitted.tolist()
            bits = map(injected_bits, step.nominal_logit.tolist(), step.emitted_logit.tolist())
            about = zip(nominal, emitted, step.emitted_rank.tolist(), bits, step.tied.tolist(), strict=True)
            for row, detour in zip(rows, about, strict=True):
                found[row].append(Detour(step.position, *detour))
        return found

    def skipped(self) -> list[list[int]]:
        """Of each row, the positions left alone for want of candidates."""
        flags = torch.stack([step.skipped for step in self._steps], 1).tolist()
        return [[position for position, skipped in enumerate(row) if skipped] for row in flags]

    def _start(self, input_ids: torch.Tensor, scores: torch.Tensor) -> None:
        """Bring the settings to the number of rows and to the device."""
        size, device = scores.shape[0], scores.device
        rows = [self._taboo] * size if isinstance(self._taboo, Taboo) else self._taboo
        if len(rows) != size:
            raise ValueError(f"{len(rows)} interventions were given for a batch of {size} rows")
        self._prompt_length = input_ids.shape[1]
        self._rank = torch.tensor([row.rank for row in rows], device=device)
        protected = [row.protect_special for row in rows]
        self._protect_special = torch.tensor(protected, device=device) if any(protected) else None
        self._table = self._table.to(device)

    def _settle(self, emitted: torch.Tensor) -> None:
        """Log the last step's interventions, now that the emitted tokens [B] are known.

        An emitted token was not masked, so its nominal logit is still there; those removed are counted separately.
        """
        position = len(self._steps) - 1
        if not self._max_rank or (self._settled and self._settled[-1].position == position):
            return
        step = self._steps[-1]
        row = step.masked.nonzero().squeeze(1)
        scores, token = self._scores[row], emitted[row]
        logit = scores.gather(1, token[:, None])
        self._settled.append(
            _Settled(
                position=position,
                row=row,
                nominal=step.nominal[row],
                nominal_logit=step.nominal_logit[row],
                emitted=token,
                emitted_logit=logit.squeeze(1),
                emitted_rank=(scores >= logit).sum(1) + (step.removed[row] >= logit).sum(1),
                tied=step.tied[row],
            )
        )
