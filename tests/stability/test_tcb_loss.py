"""The bound as a term of a training loss."""

from __future__ import annotations

import math

import pytest
import torch

from taboo_cluster.stability.bound import bound
from taboo_cluster.stability.output_map import OutputMap
from taboo_cluster.stability.training import tcb_loss


def states_and_matrix(dtype: torch.dtype = torch.double) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 4, generator=generator).to(dtype), torch.randn(9, 4, generator=generator).to(dtype)


def test_by_hand() -> None:
    """δ = 2 at W = I, h = 0 and 8/3 at probabilities 3/4 and 1/4: the mean of 3/(2 + 1) and 3/(8/3 + 1)."""
    hidden = torch.tensor([[0, 0], [math.log(3), 0]], dtype=torch.double)
    loss = tcb_loss(hidden, torch.eye(2, dtype=torch.double), lam=3, eps=1)
    assert loss.item() == pytest.approx((1 + 9 / 11) / 2, rel=1e-14)


def test_the_same_bound() -> None:
    hidden, weight = states_and_matrix()
    delta = bound(hidden.flatten(0, 1), OutputMap(weight)).delta
    torch.testing.assert_close(tcb_loss(hidden, weight, 0.5, 0.1), (0.5 / (delta + 0.1)).mean(), rtol=1e-12, atol=0)


def test_gradient() -> None:
    hidden, weight = (part.requires_grad_() for part in states_and_matrix())
    assert torch.autograd.gradcheck(lambda h, w: tcb_loss(h, w, 0.7, 0.2), (hidden, weight))


def test_a_step_against_the_gradient_widens_the_bound() -> None:
    hidden, weight = states_and_matrix()
    weight.requires_grad_()
    tcb_loss(hidden, weight, 1, 1).backward()
    assert weight.grad is not None
    stepped = (weight - 0.1 * weight.grad).detach()
    assert tcb_loss(hidden, stepped, 1, 1) < tcb_loss(hidden, weight, 1, 1)


def test_a_saturated_position_adds_nothing_and_breaks_nothing() -> None:
    hidden = torch.tensor([[0.0, 0.0], [500.0, -500.0]], requires_grad=True)
    loss = tcb_loss(hidden, torch.eye(2), lam=1, eps=0)
    loss.backward()
    assert loss.item() == pytest.approx(0.25)
    assert hidden.grad is not None
    assert hidden.grad.isfinite().all()
    assert hidden.grad[1].tolist() == [0, 0]


def test_half_precision() -> None:
    hidden, weight = states_and_matrix(torch.bfloat16)
    weight.requires_grad_()
    loss = tcb_loss(hidden, weight, 1, 1)
    loss.backward()
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(tcb_loss(hidden.double(), weight.double(), 1, 1).item(), rel=1e-5)
    assert weight.grad is not None
    assert weight.grad.dtype == torch.bfloat16
