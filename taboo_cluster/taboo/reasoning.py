"""Whether a model has closed its reasoning, for interventions that are to begin after it (`scope: after_think`)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import PreTrainedTokenizerBase

from taboo_cluster.errors import UserError

SCOPES = ("all", "after_think")
"""Where interventions happen: everywhere, or once the reasoning is closed."""


@dataclass(frozen=True)
class ThinkTokens:
    """Ids of the tokens around a model's reasoning."""

    start: int
    """-1 where the vocabulary has none."""
    end: int

    def closed(self, ids: torch.Tensor) -> torch.Tensor:
        """[B] bool: the last such token of `ids` [B, T] closes the reasoning; False where there is none."""
        place = torch.arange(1, ids.shape[1] + 1, device=ids.device)
        last_end = torch.where(ids == self.end, place, 0).amax(1)
        return last_end > torch.where(ids == self.start, place, 0).amax(1)


def think_tokens(tokenizer: PreTrainedTokenizerBase) -> ThinkTokens:
    """The tokens `<think>` and `</think>`. Raises UserError for a vocabulary where `</think>` is no single token."""
    vocabulary = tokenizer.get_vocab()
    if "</think>" not in vocabulary:
        raise UserError("taboo.scope=after_think needs a model that closes its reasoning with the token </think>")
    return ThinkTokens(vocabulary.get("<think>", -1), vocabulary["</think>"])
