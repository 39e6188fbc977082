"""‖J‖ from all tokens, relative to the top token t: the form that survives float32 (METHODS section 4).

With d_i = w_i - w_t, q = o but q_t = 0, and m = Σ q_i d_i,

    ‖J‖_F² = o_t² ‖m‖² + Σ q_i² ‖d_i‖² - 2 m·Σ q_i² d_i + ‖m‖² Σ q_i²

where the sums over d_i come from one product of q and q² with W. The q are kept as r_i = q_i / o_2, relative to the
second most likely token, and o_2 in double precision, so that no square underflows.
"""

from __future__ import annotations

import math

import torch

from taboo_cluster.stability.odds import Odds, odds_of
from taboo_cluster.stability.output_map import OutputMap


def exact_norm(
    output: OutputMap, memory: torch.Tensor, first: torch.Tensor, parts: list[slice]
) -> tuple[Odds, torch.Tensor]:
    """The odds, and ‖J‖.

    Args:
        output: the output map.
        memory: [2n, V], W h + bias in its first half; overwritten.
        first: [n, at least 2], the most likely tokens, best first.
        parts: the positions, as many at a time as there is memory for.

    Returns:
        The odds, and double [n]: ‖J‖, NaN where it is 0 in floating point.
    """
    weight, norms, count = output.weight, output.squared_norms, len(first)
    raw, second = memory[:count], memory[count:]
    top = weight[first[:, 0]].double()
    slope = output.slope(raw.gather(1, first[:, :1]))
    top = top if slope is None else top * slope
    odds, squares, lengths = [], [], []
    for part in parts:
        some, r = odds_of(raw[part], first[part], output)
        slope = output.slope(raw[part])
        # Every w_i comes with the slope of the cap at its logit.
        sloped = r if slope is None else r * slope
        torch.mul(sloped, r, out=second[part])
        raw[part] = sloped
        odds.append(some)
        squares.append(r.square().sum(1))
        lengths.append(sloped.square() @ norms)
    products = (memory @ weight).double()
    linear, quadratic = products[:count], products[count:]
    all_odds, square, length = Odds.join(odds), torch.cat(squares).double(), torch.cat(lengths).double()

    mean = linear - all_odds.rivals[:, None] * top
    square_mean = quadratic - square[:, None] * top
    longest = length + square * _dot(top, top)
    spread = longest - 2 * _dot(top, quadratic)
    factor, mean_length = all_odds.factor, _dot(mean, mean)
    squared = (
        (all_odds.top1.square() + factor.square() * square) * mean_length
        + spread
        - 2 * factor * _dot(mean, square_mean)
    )
    # What is left of terms that cancel is nothing when it is as small as their rounding.
    squared = torch.where(squared > 4 * torch.finfo(weight.dtype).eps * longest, squared, 0)
    norm = output.scale * factor * squared.sqrt()
    return all_odds, torch.where(norm > 0, norm, math.nan)


def _dot(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Row by row."""
    return (left * right).sum(1)
