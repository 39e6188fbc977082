"""The token constraint bound: how far the hidden state may move before the next-token distribution does (METHODS 4).

With o = softmax(z), w_i the rows of the output matrix (times scale and slope of the cap) and μ = Σ o_i w_i,

    ‖J‖_F² = Σ o_i² ‖w_i - μ‖²,   δ = ε / ‖J‖_F.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import repeat

import torch

from taboo_cluster.errors import UserError
from taboo_cluster.stability.exact import exact_norm
from taboo_cluster.stability.flip import flip_radius
from taboo_cluster.stability.output_map import OutputMap
from taboo_cluster.stability.truncated import truncated_norm

_PARTS = 16
"""Elementwise work is done in this many parts of a chunk's positions, which keeps its temporaries small."""


@dataclass(frozen=True)
class Bound:
    """Of each position; double [n] each, NaN where a value does not exist."""

    delta: torch.Tensor
    """ε / ‖J‖_F, in units of the hidden state; NaN where ‖J‖ is 0 in floating point (saturated)."""
    delta_low: torch.Tensor
    """With `top_k`, the least that the exact δ can be for what was left out; without it, δ."""
    delta_high: torch.Tensor
    """With `top_k`, the most, possibly infinite; without it, δ."""
    relative: torch.Tensor
    """δ / ‖h‖: the one to compare across models."""
    flip_radius: torch.Tensor
    """Length of the smallest move of h that changes the most likely token; NaN where not asked for or none can."""
    flip_relative: torch.Tensor
    """flip_radius / ‖h‖."""
    entropy: torch.Tensor
    """Of the next token, in bits."""
    margin: torch.Tensor
    """ln of the most likely token's probability over the second's, in nats."""
    top1: torch.Tensor
    """Probability of the most likely token."""
    logprob: torch.Tensor
    """ln of the probability of the token that was emitted; NaN where none is given."""

    @classmethod
    def join(cls, parts: Iterable[Bound]) -> Bound:
        """The bounds of positions in several parts, one after the other."""
        kept = list(parts)
        return cls(*(torch.cat([getattr(part, field.name) for part in kept]) for field in fields(cls)))


@torch.no_grad()
def bound(
    hidden: torch.Tensor,
    output: OutputMap,
    *,
    epsilon: float = 1.0,
    flip: bool = True,
    top_k: int | None = None,
    emitted: torch.Tensor | None = None,
    chunk: int = 64,
) -> Bound:
    """The token constraint bound of each position, and what else is known of its next token.

    Computed in the dtype of the output matrix (float32 or float64) on its device. Besides the matrix, memory holds two
    times the logits of one chunk. In float32, torch's matrix products have to be in full precision, as they are unless
    `torch.set_float32_matmul_precision` says otherwise.

    Args:
        hidden: [n, d], what the output matrix multiplies, after the last norm; any floating dtype.
        output: the output matrix and what follows it; at least two tokens.
        epsilon: the numerator of δ: a scale, not a certified radius.
        flip: whether to compute the flip radius, which costs about one more product with W.
        top_k: compute δ from so many most likely tokens alone, at least 2, and an interval for the exact one; None
            for all.
        emitted: [n], the token that came next at each position, for its probability.
        chunk: positions at a time.

    Returns:
        The values of each position.
    """
    if top_k is not None and top_k < 2:
        raise UserError(f"top_k must be at least 2, or null for all tokens, not {top_k}")
    hidden = hidden.to(output.weight)
    size = max(1, min(chunk, len(hidden)))
    memory = torch.empty(2 * size, len(output.weight), dtype=hidden.dtype, device=hidden.device)
    tokens: Iterable[torch.Tensor | None] = repeat(None) if emitted is None else torch.split(emitted, size)
    return Bound.join(
        _chunk(part, output, memory, some, epsilon, flip, top_k)
        for part, some in zip(torch.split(hidden, size), tokens, strict=False)
    )


def _chunk(
    hidden: torch.Tensor,
    output: OutputMap,
    memory: torch.Tensor,
    emitted: torch.Tensor | None,
    epsilon: float,
    flip: bool,
    top_k: int | None,
) -> Bound:
    """The bound of positions [n, d]; memory [at least 2n, V] is overwritten."""
    count = len(hidden)
    raw = output.raw(hidden, out=memory[:count])
    first = raw.topk(min(top_k or 2, raw.shape[1])).indices
    step = max(1, math.ceil(count / _PARTS))
    parts = [slice(begin, begin + step) for begin in range(0, max(1, count), step)]
    radius = ahead = torch.full([count], math.nan, dtype=torch.double, device=raw.device)
    if flip:
        radius = flip_radius(hidden, output, raw, first[:, 0], parts, memory[count : 2 * count])
    if emitted is not None:
        best, own = output.shaped(raw.gather(1, torch.stack([first[:, 0], emitted], 1))).double().unbind(1)
        ahead = own - best
    if top_k is None:
        odds, norm = exact_norm(output, memory[: 2 * count], first, parts)
        delta = low = high = epsilon / norm
    else:
        odds, interval = truncated_norm(output, raw, first, parts)
        delta, low, high = epsilon / interval
    length = torch.linalg.vector_norm(hidden.double(), dim=1)
    length = torch.where(length > 0, length, math.nan)
    return Bound(
        delta=delta,
        delta_low=low,
        delta_high=high,
        relative=delta / length,
        flip_radius=radius,
        flip_relative=radius / length,
        entropy=odds.entropy / math.log(2),
        margin=odds.margin,
        top1=odds.top1,
        logprob=ahead + odds.log_top1,
    )
