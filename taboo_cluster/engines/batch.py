"""One call of transformers' `model.generate` for a batch whose rows mix ranks, sampling, stop strings and limits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedTokenizerBase,
    StoppingCriteria,
    StoppingCriteriaList,
)

from taboo_cluster.engines.base import Completion, Request
from taboo_cluster.sampling import draw, uniforms
from taboo_cluster.taboo.detours import generation
from taboo_cluster.taboo.draws import row_seed
from taboo_cluster.taboo.pieces import Pieces
from taboo_cluster.taboo.transformers_hook import TabooLogitsProcessor
from taboo_cluster.taboo.word_start import WordStartTable


@dataclass(frozen=True)
class Vocabulary:
    """What is read of a tokenizer once."""

    tokenizer: PreTrainedTokenizerBase
    pieces: Pieces
    ends: frozenset[int]
    """Tokens that end a text."""
    table: WordStartTable
    """Of the kind that the batch uses; on the CPU."""


@torch.inference_mode()
def generate_batch(
    model: Any, vocabulary: Vocabulary, requests: Sequence[Request], limits: Sequence[int]
) -> list[Completion]:
    """Complete requests that share trigger and word starts where their rank is above 0.

    Args:
        model: a causal language model whose generation config is empty, or it would be merged into the call.
        vocabulary: of the model's tokenizer.
        requests: each with at least one token of prompt.
        limits: most tokens to generate for each.

    Returns:
        One completion per request, in order; an error `nan_logits` where the model gave no distribution.
    """
    begin = time.perf_counter()
    rows = [Row(request, limit, vocabulary) for request, limit in zip(requests, limits, strict=True)]
    taboo = TabooLogitsProcessor(
        vocabulary.tokenizer,
        [request.taboo for request in requests],
        vocabulary.table,
        seeds=[row_seed(request.prompt_ids, request.sampling.seed) for request in requests],
        entropy=any(request.entropy for request in requests),
    )
    pad = min(vocabulary.ends, default=0)
    input_ids, attention_mask = left_padded([request.prompt_ids for request in requests], pad)
    settings = GenerationConfig(max_new_tokens=max(limits), do_sample=False, num_beams=1, pad_token_id=pad)  # type: ignore[no-untyped-call]
    output = model.generate(
        input_ids=input_ids.to(model.device),
        attention_mask=attention_mask.to(model.device),
        generation_config=settings,
        logits_processor=LogitsProcessorList([taboo, Sampler(rows, model.device)]),
        stopping_criteria=StoppingCriteriaList([RowEnds(rows, taboo)]),
    )
    logs = zip(taboo.detours(output), taboo.skipped(), taboo.entropies(), strict=True)
    seconds = time.perf_counter() - begin
    completions = []
    for row, (made, left_alone, entropies) in zip(rows, logs, strict=True):
        if row.finish_reason is None:
            message = f"the logits of token {len(row.ids)} make no distribution (NaN, inf, or none that is finite)"
            completions.append(Completion(row.request.key, None, "nan_logits", message, seconds))
            continue
        count = sum(position < len(row.ids) for position in left_alone)
        result = generation(
            text=row.text,
            prompt_ids=row.request.prompt_ids,
            token_ids=row.ids,
            finish_reason=row.finish_reason,
            detours=made,
            skipped_steps=count,
            pieces=vocabulary.pieces,
            table=vocabulary.table,
            entropies=entropies if row.request.entropy else (),
        )
        completions.append(Completion(row.request.key, result, latency_s=seconds))
    return completions


class Row:
    """A request as its text grows, until it ends: at an end token, a stop string or its limit."""

    def __init__(self, request: Request, limit: int, vocabulary: Vocabulary) -> None:
        self.request = request
        self.limit = limit
        self.ids: list[int] = []
        self.finish_reason: str | None = None
        self.open = True
        self._pieces = vocabulary.pieces
        self._ends = vocabulary.ends
        self._stops = [stop.encode() for stop in request.stop if stop]
        self._spelled = bytearray()

    @property
    def text(self) -> str:
        """The text so far, before the stop string; white space is kept, special tokens are left out."""
        return self._spelled.decode(errors="replace")

    def add(self, token_id: int) -> None:
        """Take the next token."""
        self.ids.append(token_id)
        seen = len(self._spelled)
        if token_id not in self._pieces.special:
            self._spelled += self._pieces.spelled(token_id)
        cuts = [self._spelled.find(stop, max(0, seen - len(stop) + 1)) for stop in self._stops]
        found = [cut for cut in cuts if cut >= 0]
        if found:
            del self._spelled[min(found) :]
        if found or token_id in self._ends:
            self.finish_reason = "stop"
        elif len(self.ids) == self.limit:
            self.finish_reason = "length"
        self.open = self.finish_reason is None

    def fail(self) -> None:
        """End without a result: the token just chosen means nothing."""
        self.open = False


class RowEnds(StoppingCriteria):
    """Ends each row at its own place; what a row generates after that, until the last one has ended, is not kept."""

    def __init__(self, rows: Sequence[Row], taboo: TabooLogitsProcessor) -> None:
        self._rows = rows
        self._taboo = taboo

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor | None, **_: object) -> torch.Tensor:
        """[B] bool: the rows that have ended."""
        tokens, invalid = input_ids[:, -1].tolist(), self._taboo.invalid.tolist()
        for row, token_id, lost in zip(self._rows, tokens, invalid, strict=True):
            if row.open and lost:
                row.fail()
            elif row.open:
                row.add(token_id)
        return torch.tensor([not row.open for row in self._rows], device=input_ids.device)


class Sampler(LogitsProcessor):
    """Draws the token of each row that samples and leaves it as the only choice; greedy rows pass unchanged."""

    def __init__(self, rows: Sequence[Row], device: torch.device) -> None:
        sampled = [index for index, row in enumerate(rows) if not row.request.sampling.greedy]
        chosen = [rows[index] for index in sampled]
        self._rows = torch.tensor(sampled, dtype=torch.long, device=device)
        self._temperature = torch.tensor([row.request.sampling.temperature for row in chosen], device=device)
        self._top_p = torch.tensor([row.request.sampling.top_p for row in chosen], device=device)
        longest = max((row.limit for row in chosen), default=0)
        numbers = [uniforms(row.request.sampling.seed, row.request.prompt_ids, longest) for row in chosen]
        self._uniforms = torch.stack(numbers).to(device) if numbers else None
        self._step = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores [B, V] in which each sampled row has one finite entry."""
        if self._uniforms is None or self._step >= self._uniforms.shape[1]:
            return scores
        uniform = self._uniforms[:, self._step]
        self._step += 1
        token = draw(scores[self._rows], self._temperature, self._top_p, uniform)
        decided = scores.clone()
        decided[self._rows] = -torch.inf
        decided[self._rows, token] = 0.0
        return decided


def left_padded(prompts: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Prompts as one tensor [B, T] with padding on the left, and its attention mask."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[pad] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    return ids, mask
