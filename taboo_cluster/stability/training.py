"""The bound as a term of a training loss (METHODS section 4): small where the next token is hard to move."""

from __future__ import annotations

import torch


def tcb_loss(hidden: torch.Tensor, weight: torch.Tensor, lam: float, eps: float) -> torch.Tensor:
    """λ / (δ + eps), mean over positions, with δ = 1 / ‖J‖_F; differentiable in both tensors.

    The same form relative to the top token as the bound's, written for automatic differentiation: memory holds several
    times the logits. Half precision is computed in float32. A position with ‖J‖ = 0 in floating point (δ infinite) adds
    0 and has no gradient.

    Args:
        hidden: [..., d], what the output matrix multiplies.
        weight: [V, d], the output matrix.
        lam: λ, the weight of the term.
        eps: what is added to δ; the term is never above λ / eps.

    Returns:
        The loss, without a dimension.
    """
    if weight.dtype != torch.float64:
        hidden, weight = hidden.float(), weight.float()
    hidden = hidden.reshape(-1, hidden.shape[-1]).to(weight.dtype)
    probabilities = (hidden @ weight.T).softmax(1)
    top1, first = probabilities.max(1, keepdim=True)
    top = weight[first[:, 0]]
    q = probabilities.scatter(1, first, 0)
    square = q.square()
    mean = q @ weight - q.sum(1, keepdim=True) * top
    quadratic = square @ weight
    spread = square @ weight.square().sum(1) - 2 * (top * quadratic).sum(1) + square.sum(1) * top.square().sum(1)
    square_mean = quadratic - square.sum(1, keepdim=True) * top
    squared = (top1[:, 0].square() + square.sum(1)) * mean.square().sum(1) + spread - 2 * (mean * square_mean).sum(1)
    positive = squared > 0
    norm = torch.where(positive, squared, 1).sqrt()
    # λ / (1 / ‖J‖ + eps), without the division that fails where ‖J‖ is 0
    return torch.where(positive, lam * norm / (1 + eps * norm), 0).mean()
