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

from taboo_cluster.taboo.detours import Detour, Entropy
from taboo_cluster.taboo.mask import MaskOutcome, bits_paid, entropy_bits, mask_top
from taboo_cluster.taboo.reasoning import think_tokens
from taboo_cluster.taboo.surprisal import injected_bits
from taboo_cluster.taboo.triggers.base import RowFacts, choose
from taboo_cluster.taboo.word_start import TAIL, WordStartTable, word_start_table
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
        taboo: one intervention for all rows, or one for each; those above rank 0 share trigger (its options may
            differ) and word starts.
        table: the word-start table, where it is made already.
        seeds: of each row, for triggers that draw (`draws.row_seed`); None takes the row's number.
        entropy: measure next-token entropy at every step.

    Raises:
        UserError: an unknown trigger or kind of word starts, or a tokenizer that marks none.
        ValueError: a negative rank, or rows that differ in trigger or word starts.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        taboo: Taboo | Sequence[Taboo],
        table: WordStartTable | None = None,
        *,
        seeds: Sequence[int] | None = None,
        entropy: bool = False,
    ) -> None:
        rows = [taboo] if isinstance(taboo, Taboo) else taboo
        if any(row.rank < 0 for row in rows):
            raise ValueError("a rank must be 0 or more")
        modes = {(row.trigger_name, row.word_start) for row in rows if row.rank} or {
            (rows[0].trigger_name, rows[0].word_start)
        }
        if len(modes) > 1:
            raise ValueError(f"the rows of one batch must share trigger and word starts, not {sorted(modes)}")
        _, word_start = modes.pop()
        active = next((row for row in rows if row.rank), rows[0])
        self._taboo = taboo
        self._trigger = choose(active.trigger).entry
        self._max_rank = max(row.rank for row in rows)
        self._table = word_start_table(tokenizer, word_start) if table is None else table
        self._think = think_tokens(tokenizer) if any(row.rank and row.scope == "after_think" for row in rows) else None
        self._seeds = seeds
        self._measure = entropy
        self._last: MaskOutcome | None = None
        self._position = -1
        self._skipped: list[torch.Tensor] = []
        self._settled: list[_Settled] = []
        self._entropy: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Mask the scores [B, V] in place; `input_ids` [B, T] end with the tokens chosen at the last step."""
        if self._last is None:
            self._start(input_ids, scores)
        elif input_ids.shape[1] != self._prompt_length + self._position + 1:
            raise ValueError("one TabooLogitsProcessor serves one call of generate, without assisted decoding")
        else:
            self._settle(input_ids[:, -1])
        self._position += 1
        entropy = entropy_bits(scores) if self._measure else None
        facts = RowFacts(
            state=self._table.state(input_ids[:, -TAIL:]),
            position=torch.full_like(self._rank, self._position),
            seed=self._seed,
            paid=self._paid,
            options=self._options,
        )
        rank = self._rank
        if self._think is not None:
            rank = torch.where(self._late & ~self._think.closed(input_ids), 0, rank)
        self._scores = scores
        self._last = mask_top(scores, rank, self._table, self._trigger, self._max_rank, self._protect_special, facts)
        self._skipped.append(self._last.skipped)
        if entropy is not None:
            self._entropy.append((entropy, self._last.word_initial))
        return scores

    @property
    def invalid(self) -> torch.Tensor:
        """[B] bool: rows whose logits made no distribution at the last step."""
        assert self._last is not None
        return self._last.invalid

    def detours(self, output: torch.Tensor) -> list[list[Detour]]:
        """The interventions of each row, once `generate` has returned its `output` [B, T].

        Where a row ends before the others, what it is padded with counts as emitted: leave out what lies past its end.
        """
        if output.shape[1] == self._prompt_length + self._position + 1:
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
        flags = torch.stack(self._skipped, 1).tolist()
        return [[position for position, skipped in enumerate(row) if skipped] for row in flags]

    def entropies(self) -> list[list[Entropy]]:
        """Of each row, what was measured at each position; empty lists where nothing was to be."""
        if not self._entropy:
            return [[] for _ in self._rank]
        bits, initial = (torch.stack(values, 1).tolist() for values in zip(*self._entropy, strict=True))
        return [[Entropy(*one) for one in zip(*row, strict=True)] for row in zip(bits, initial, strict=True)]

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
        self._late = torch.tensor([row.scope == "after_think" for row in rows], device=device)
        seeds = range(size) if self._seeds is None else self._seeds
        self._seed = torch.tensor(list(seeds), dtype=torch.long, device=device)
        self._paid = torch.zeros(size, dtype=torch.double, device=device)
        numbers = [choose(row.trigger).numbers if row.rank else {} for row in rows]
        names = {name for row in numbers for name in row}
        self._options = {
            name: torch.tensor([row.get(name, 0.0) for row in numbers], dtype=torch.double, device=device)
            for name in names
        }
        self._table = self._table.to(device)

    def _settle(self, emitted: torch.Tensor) -> None:
        """Log the last step's interventions, now that the emitted tokens [B] are known.

        An emitted token was not masked, so its nominal logit is still there; those removed are counted separately.
        """
        step = self._last
        if not self._max_rank or step is None or (self._settled and self._settled[-1].position == self._position):
            return
        row = step.masked.nonzero().squeeze(1)
        scores, token = self._scores[row], emitted[row]
        logit = scores.gather(1, token[:, None])
        if self._trigger.counts_bits:
            self._paid[row] += bits_paid(step.nominal_logit[row], logit.squeeze(1))
        self._settled.append(
            _Settled(
                position=self._position,
                row=row,
                nominal=step.nominal[row],
                nominal_logit=step.nominal_logit[row],
                emitted=token,
                emitted_logit=logit.squeeze(1),
                emitted_rank=(scores >= logit).sum(1) + (step.removed[row] >= logit).sum(1),
                tied=step.tied[row],
            )
        )
