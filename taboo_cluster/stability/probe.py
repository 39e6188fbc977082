"""The probe: one teacher-forced forward pass over prompt and completion gives the bound at every position.

METHODS section 4, "Per trial". The model's distribution is the one before any intervention.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from transformers import PreTrainedModel

from taboo_cluster.engines.transformers import free_memory, out_of_memory
from taboo_cluster.errors import UserError
from taboo_cluster.stability.bound import Bound, bound
from taboo_cluster.stability.output_map import OutputMap, output_map_of
from taboo_cluster.taboo.pieces import Pieces

TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-6}
"""Of the logits made from hidden state and output matrix against the model's own, relative to the largest; 16-bit
models round theirs to 8 or 11 bits, and get `ROUNDED`."""
ROUNDED = 0.02


@dataclass(frozen=True)
class Case:
    """What of a trial is probed."""

    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    """Of the completion, its end token included."""
    answer: tuple[int, int] | None
    """The answer's first token, counted from the completion's first, and the one after its last."""
    reason: str | None
    """Why there is no answer."""


@dataclass(frozen=True)
class Probed:
    """What was measured of a case."""

    case: Case
    bound: Bound
    """An entry for each token of the completion, where it is predicted; one for the prompt's last position where there
    is none. On the CPU."""


class Probe:
    """A model in memory, asked how stable its predictions are.

    Args:
        model: the model, loaded for generation.
        name: of the model, for messages.
        epsilon: scale of the bound.
        top_k: tokens that it is computed from; None takes all.
        batch_tokens: most tokens of a batch, padding included.

    Raises:
        UserError: logits that are not what the output matrix and the model's config make of its hidden states.
    """

    def __init__(
        self, model: PreTrainedModel, name: str, *, epsilon: float, top_k: int | None, batch_tokens: int
    ) -> None:
        head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
        weight = getattr(head, "weight", None)
        if weight is None or not weight.is_floating_point():
            raise UserError(f"{name} has no output matrix that the bound could be computed from")
        self._model, self._name = model, name
        self._output: OutputMap = output_map_of(model.config, weight.detach(), getattr(head, "bias", None))
        self._epsilon, self._top_k, self._batch_tokens = epsilon, top_k, batch_tokens
        self._checked = False

    def run(self, cases: Mapping[str, Case]) -> Iterator[tuple[str, Probed | str]]:
        """What is measured of each case, or why nothing was, in an order of its own."""
        waiting = sorted(cases, key=lambda key: -_length(cases[key]))
        while waiting:
            size = max(1, self._batch_tokens // _length(cases[waiting[0]]))
            batch = waiting[:size]
            try:
                found: list[Probed | str] = list(self._measure([cases[key] for key in batch]))
            except Exception as error:
                if not out_of_memory(error):
                    raise
                found = []
            if not found:
                free_memory()  # here, where the error no longer holds what the batch had allocated
                if len(batch) > 1:
                    self._batch_tokens = max(1, _length(cases[batch[0]]) * (len(batch) // 2))
                    continue
                found = ["memory ran out"]
            yield from zip(batch, found, strict=True)
            waiting = waiting[len(batch) :]

    @torch.inference_mode()
    def _measure(self, batch: Sequence[Case]) -> Iterator[Probed]:
        hidden = self._hidden(batch)
        for case, states in zip(batch, hidden, strict=True):
            emitted = torch.tensor(case.token_ids or (0,), device=states.device)
            found = bound(states, self._output, epsilon=self._epsilon, top_k=self._top_k, emitted=emitted)
            yield Probed(case, Bound(*(getattr(found, f.name).double().cpu() for f in fields(found))))

    def _hidden(self, batch: Sequence[Case]) -> list[torch.Tensor]:
        """The hidden states that predict each completion's tokens."""
        width = _length(batch[0])
        ids = torch.zeros((len(batch), width), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, case in enumerate(batch):
            own = [*case.prompt_ids, *case.token_ids]
            ids[row, : len(own)] = torch.tensor(own)
            mask[row, : len(own)] = 1
        ids, mask = ids.to(self._model.device), mask.to(self._model.device)
        decoder: Any = self._model.base_model
        states = decoder(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        parts = [
            states[row, len(case.prompt_ids) - 1 : len(case.prompt_ids) - 1 + max(1, len(case.token_ids))]
            for row, case in enumerate(batch)
        ]
        if not self._checked:
            own = self._model(input_ids=ids[:1, : len(batch[0].prompt_ids)], use_cache=False).logits[0, -1]
            self._check(parts[0][:1], own)
        return parts

    def _check(self, state: torch.Tensor, own: torch.Tensor) -> None:
        """The model's own logits at one position must be those that the bound is computed from."""
        wide = torch.float64 if state.dtype == torch.float64 else torch.float32
        made = self._output.logits(state.to(wide))[0]
        off = float((made - own.to(wide)).abs().max() / own.to(wide).abs().max().clamp_min(1e-6))
        if not off <= TOLERANCE.get(state.dtype, ROUNDED):
            raise UserError(
                f"{self._name}: its logits are not what its output matrix and config make of its hidden states (off by "
                f"{off:.2g} of the largest): its map from logits is unknown here, and the bound would be wrong"
            )
        self._checked = True


def token_span(
    pieces: Pieces, token_ids: Sequence[int], completion: str, start: int, end: int
) -> tuple[int, int] | None:
    """The tokens that spell the characters from `start` to `end`: the first, and the one after the last.

    A character of several tokens begins with the first of them. None where the tokens do not spell the completion up
    to there.
    """

    def spelled(count: int) -> str:
        return pieces.text(token_ids[:count])

    if not spelled(len(token_ids)).startswith(completion[:end]):
        return None
    counts = range(len(token_ids) + 1)
    first = bisect_left(counts, start + 1, key=lambda count: len(spelled(count))) - 1
    last = bisect_left(counts, end, key=lambda count: len(spelled(count)))
    while last < len(token_ids) and not spelled(last).startswith(completion[:end]):
        last += 1  # the last character is not whole
    return first, last


def _length(case: Case) -> int:
    return len(case.prompt_ids) + len(case.token_ids)
