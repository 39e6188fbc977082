"""The flip radius: the smallest move of the hidden state that changes the most likely token."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo_cluster.stability.bound import bound
from taboo_cluster.stability.output_map import OutputMap

DOUBLE = torch.double


def by_hand(hidden: torch.Tensor, output: OutputMap) -> list[float]:
    """The definition, token by token, in float64."""
    weight = output.weight.double()
    bias = torch.zeros(len(weight), dtype=DOUBLE) if output.bias is None else output.bias.double()
    found = []
    for state in hidden.double():
        logits = weight @ state + bias
        top = int(logits.argmax())
        length = (weight[top] - weight).norm(dim=1)
        found.append(min(float(g / n) for g, n in zip(logits[top] - logits, length, strict=True) if n > 0))
    return found


def radius(hidden: torch.Tensor, output: OutputMap) -> list[float]:
    return [float(value) for value in bound(hidden, output).flip_radius]


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    tokens=st.integers(2, 300),
    cap=st.sampled_from([None, 3.0]),
    scale=st.sampled_from([1.0, 0.25]),
)
def test_the_top_token_is_kept_just_inside_and_changed_just_outside(
    seed: int, tokens: int, cap: float | None, scale: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(tokens, 6, generator=generator, dtype=DOUBLE)
    output = OutputMap(weight, torch.randn(tokens, generator=generator, dtype=DOUBLE), scale, cap)
    hidden = torch.randn(1, 6, generator=generator, dtype=DOUBLE)
    distance = bound(hidden, output).flip_radius
    top = output.logits(hidden).argmax(1)

    directions = weight - weight[top]
    directions = directions[directions.norm(dim=1) > 0]
    directions = directions / directions.norm(dim=1, keepdim=True)
    inside = output.logits(hidden + 0.999 * distance * directions).argmax(1)
    outside = output.logits(hidden + 1.001 * distance * directions).argmax(1)
    assert (inside == top).all()
    assert (outside != top).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_to_the_definition(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    output = OutputMap(torch.randn(1000, 32, generator=generator, dtype=dtype))
    hidden = torch.randn(40, 32, generator=generator, dtype=dtype)
    assert radius(hidden, output) == pytest.approx(by_hand(hidden, output), rel=1e-12)


def test_chunks_with_the_same_top_token_and_without() -> None:
    generator = torch.Generator().manual_seed(2)
    output = OutputMap(torch.randn(100, 8, generator=generator))
    hidden = torch.randn(5, 8, generator=generator)[[0, 1, 0, 2, 3, 4, 4]]
    assert radius(hidden, output) == pytest.approx(by_hand(hidden, output), rel=1e-12)


def test_a_tie_is_at_no_distance() -> None:
    assert radius(torch.tensor([[1.0, 1.0, 0.0]]), OutputMap(torch.eye(3))) == [0]


def test_equal_rows_cannot_take_over_from_each_other() -> None:
    """Tokens 0 and 1 stay level wherever h goes; token 2 is √2 away."""
    weight = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert radius(torch.tensor([[2.0, 0.0]]), OutputMap(weight)) == pytest.approx([math.sqrt(2)])


def test_an_equal_row_with_less_bias_never_takes_over() -> None:
    weight = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    output = OutputMap(weight, torch.tensor([0.0, -1e-3, 0.0]))
    assert radius(torch.tensor([[2.0, 0.0]]), output) == pytest.approx([math.sqrt(2)])


def test_behind_more_equal_rows_than_there_are_candidates() -> None:
    """Fifty rows that are the top token's, as of tokens that no text has, hide the one that can flip."""
    weight = torch.tensor([[1.0, 0.0]]).repeat(50, 1)
    weight = torch.cat([weight, torch.tensor([[0.0, 1.0], [0.0, 2.0]])])
    hidden = torch.tensor([[3.0, 1.0]])
    assert radius(hidden, OutputMap(weight)) == pytest.approx([1 / math.sqrt(5)])


@pytest.mark.parametrize("seed", range(5))
def test_next_to_rows_that_rounding_cannot_tell_apart(seed: int) -> None:
    """Rows at 0.01 from a top row of length 100: float32's expansion of their distance is rounding, often below 0."""
    generator = torch.Generator().manual_seed(seed)
    top = torch.nn.functional.normalize(torch.randn(1, 16, generator=generator))
    aside = torch.nn.functional.normalize(torch.randn(4, 16, generator=generator))
    aside *= (aside @ top.T).sign()
    output = OutputMap(torch.cat([100 * top, 100 * top - 0.01 * aside, torch.randn(50, 16, generator=generator)]))
    assert radius(2 * top, output) == pytest.approx(by_hand(2 * top, output), rel=1e-9)


def test_what_is_not_asked_for_is_not_there() -> None:
    found = bound(torch.ones(1, 2), OutputMap(torch.eye(2)), flip=False)
    assert found.flip_radius.isnan().all()
    assert found.flip_relative.isnan().all()
