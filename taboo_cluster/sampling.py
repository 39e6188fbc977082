"""Drawing tokens so that a row's choices depend on its own request alone: not on its batch, nor on any global state."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from taboo_cluster.hashing import stable_rng


def uniforms(seed: int | None, prompt_ids: Sequence[int], count: int) -> torch.Tensor:
    """The numbers in [0, 1) that decide a request's tokens, one a step: float64 [count].

    They follow from seed and prompt, so one seed gives unrelated draws to different items, and the same ones to every
    condition of an item that leaves its prompt as it is.
    """
    return torch.from_numpy(stable_rng("sampling", seed, list(prompt_ids)).random(count))


def draw(logits: torch.Tensor, temperature: torch.Tensor, top_p: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """One token id for each row, by inverse transform sampling from its nucleus.

    The nucleus is the smallest set of best tokens that reaches probability top_p; equal ones come in by lower id.

    Args:
        logits: [B, V], masked or not.
        temperature: [B], above 0.
        top_p: [B], in (0, 1].
        uniform: [B], in [0, 1).

    Returns:
        [B] long.
    """
    best, ids = torch.sort(logits.double() / temperature[:, None], dim=1, descending=True, stable=True)
    probability = best.softmax(1)
    reached = probability.cumsum(1)
    size = ((reached - probability) < top_p[:, None]).sum(1, keepdim=True).clamp(min=1)
    target = uniform[:, None] * reached.gather(1, size - 1)
    place = (reached <= target).sum(1, keepdim=True)
    return ids.gather(1, torch.minimum(place, size - 1)).squeeze(1)
