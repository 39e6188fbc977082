"""‖J‖ from the most likely tokens alone, and how far from it the exact one can be.

Let K be the k most likely tokens, t the first, R the rest, e = Σ_R o_i, d_i = w_i - w_t, m_K = Σ_K o_i d_i, and J_K the
rows o_i (d_i - m_K) of K. With D = max_i ‖w_i‖ + ‖w_t‖, which no ‖d_i‖ exceeds:

- the true mean is m = m_K + Σ_R o_i d_i, within e D of m_K, so the rows of K in J differ from those of J_K by
  A = e D (Σ_K o_i²)^½ at most;
- a row of R has length o_i ‖d_i - m‖ <= o_i (D + ‖m_K‖ + e D), together B = (Σ_R o_i²)^½ (D + ‖m_K‖ + e D) at most.

Hence ‖J_K‖ - A <= ‖J‖ <= ((‖J_K‖ + A)² + B²)^½. Σ_R o_i² is summed; e o_(k+1), which is never less, is not needed.
"""

from __future__ import annotations

import math

import torch

from taboo_cluster.stability.odds import Odds, odds_of
from taboo_cluster.stability.output_map import OutputMap


def truncated_norm(
    output: OutputMap, raw: torch.Tensor, first: torch.Tensor, parts: list[slice]
) -> tuple[Odds, torch.Tensor]:
    """‖J_K‖ and what ‖J‖ can be.

    Args:
        output: the output map.
        raw: [n, V], W h + bias.
        first: [n, k], the tokens of K, best first.
        parts: the positions, as many at a time as there is memory for.

    Returns:
        The odds over the whole vocabulary, and double [3, n]: ‖J_K‖ (NaN where it is 0), the most and the least that
        ‖J‖ can be, up to rounding.
    """
    longest = output.squared_norms.max().double().sqrt()
    odds, norms = [], []
    for part in parts:
        ids = first[part]
        some, r = odds_of(raw[part], ids, output)
        kept = r.gather(1, ids).double()
        rest = r.scatter_(1, ids, 0)
        slope = output.slope(raw[part].gather(1, ids))
        rows = output.weight[ids].double()
        rows = rows if slope is None else rows * slope[:, :, None]
        odds.append(some)
        norms.append(_norms(rows, kept, rest.sum(1).double(), rest.square().sum(1).double(), some, longest))
    exact, most, least = output.scale * torch.cat(norms, 1)
    return Odds.join(odds), torch.stack([torch.where(exact > 0, exact, math.nan), most, least])


def _norms(
    rows: torch.Tensor, kept: torch.Tensor, rest: torch.Tensor, squares: torch.Tensor, odds: Odds, longest: torch.Tensor
) -> torch.Tensor:
    """(‖J_K‖, the most, the least) [3, n] of K's rows [n, k, d] and their r [n, k], of Σ_R r_i and Σ_R r_i² [n].

    All in units of f, as the r_i are.
    """
    top, factor = rows[:, 0], odds.factor
    differences = rows - top[:, None]
    mean = torch.einsum("nk,nkd->nd", kept, differences)
    mean_length = torch.linalg.vector_norm(mean, dim=1)
    moved = torch.linalg.vector_norm(differences - (factor[:, None] * mean)[:, None], dim=2)
    norm = ((odds.top1 * mean_length).square() + (kept * moved).square().sum(1)).sqrt()

    reach = longest + torch.linalg.vector_norm(top, dim=1)
    shift = rest * reach * (odds.top1.square() + (factor[:, None] * kept).square().sum(1)).sqrt()
    left_out = squares.sqrt() * (reach + factor * (mean_length + rest * reach))
    most = ((norm + shift).square() + left_out.square()).sqrt()
    return factor * torch.stack([norm, most, (norm - shift).clamp(min=0)])
