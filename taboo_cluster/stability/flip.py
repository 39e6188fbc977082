"""The flip radius: the smallest move of the hidden state that changes the most likely token (METHODS section 4).

    min over j of (a_t - a_j) / ‖w_t - w_j‖,   a = W h + bias, before scale and cap, which keep the order.

The distance to the nearest of the planes on which token j draws level with the top token t: exact, with the move along
w_j - w_t. A row equal to w_t never draws level, nor leaves it.
"""

from __future__ import annotations

import math

import torch

from taboo_cluster.stability.output_map import OutputMap

_CANDIDATES = 8
_ROWS = 4096
"""Rows of W at a time where all are looked at."""


def flip_radius(
    hidden: torch.Tensor,
    output: OutputMap,
    raw: torch.Tensor,
    top: torch.Tensor,
    parts: list[slice],
    memory: torch.Tensor,
) -> torch.Tensor:
    """The flip radius of each position.

    The candidates are the tokens whose ratio may be least for all that rounding can do to ‖w_t - w_j‖² expanded; theirs
    is computed from differences in double precision. Where a token that was left out might have less than the best of
    them - many rows next to w_t, say - all are looked at.

    Args:
        hidden: [n, d], in the dtype of the output matrix.
        output: the output map.
        raw: [n, V], W h + bias.
        top: [n], the most likely tokens.
        parts: the positions, as many at a time as there is memory for.
        memory: [n, V], overwritten.

    Returns:
        double [n]; 0 at a tie, NaN where every row equals w_t.
    """
    distinct, which = torch.unique(top, return_inverse=True)
    products = torch.mm(output.weight[distinct], output.weight.T, out=memory[: len(distinct)])
    radius, unseen = torch.cat(
        [_of_candidates(hidden[part], output, raw[part], top[part], products[which[part]]) for part in parts], 1
    )
    # One look at the device for a chunk of positions; nearly always there are none.
    for position in (unseen < radius).nonzero().flatten().tolist():
        radius[position] = _of_all(hidden[position], output, top[position])
    return torch.where(radius.isfinite(), radius, math.nan)


def _of_candidates(
    hidden: torch.Tensor, output: OutputMap, raw: torch.Tensor, top: torch.Tensor, products: torch.Tensor
) -> torch.Tensor:
    """double [2, n]: the least ratio of the candidates, and the least that any other token's can be."""
    rounding = 4 * torch.finfo(raw.dtype).eps
    norms = output.squared_norms
    both = norms + norms[top][:, None]
    longest = (both - 2 * products + rounding * both).clamp_(min=0).sqrt_()
    sway = rounding * torch.linalg.vector_norm(hidden, dim=1, keepdim=True) * both.sqrt_()
    ratios = (raw.gather(1, top[:, None]) - raw - sway).clamp_(min=0) / longest
    ratios.scatter_(1, top[:, None], math.inf)
    least, ids = ratios.topk(min(_CANDIDATES, ratios.shape[1]), largest=False)
    exact = _ratios(hidden.double(), output, top, ids)
    return torch.stack([exact.amin(1), least[:, -1].double()])


def _of_all(hidden: torch.Tensor, output: OutputMap, top: torch.Tensor) -> torch.Tensor:
    """double, no dimension: the least ratio of all tokens at one position, hidden [d]."""
    ids = torch.arange(len(output.weight), device=hidden.device)
    ratios = [_ratios(hidden.double()[None], output, top[None], some[None]).amin() for some in torch.split(ids, _ROWS)]
    return torch.stack(ratios).amin()


def _ratios(hidden: torch.Tensor, output: OutputMap, top: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """double [n, k]: the ratios of tokens [n, k] from differences of rows, infinite where these are equal."""
    differences = output.weight[top].double()[:, None] - output.weight[ids].double()
    gaps = torch.einsum("nkd,nd->nk", differences, hidden)
    if output.bias is not None:
        gaps += output.bias[top].double()[:, None] - output.bias[ids].double()
    lengths = torch.linalg.vector_norm(differences, dim=2)
    return torch.where(lengths > 0, gaps.clamp(min=0) / lengths, math.inf)
