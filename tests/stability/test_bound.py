"""The token constraint bound (METHODS section 4): by hand, against automatic differentiation, and its invariants."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo_cluster.errors import UserError
from taboo_cluster.stability.bound import Bound, bound
from taboo_cluster.stability.output_map import OutputMap

DOUBLE = torch.double
MAPS = {
    "plain": (False, 1.0, None),
    "bias": (True, 1.0, None),
    "scaled": (False, 0.3, None),
    "capped": (False, 1.0, 2.0),
    "all": (True, 0.7, 3.0),
}


def doubles(*rows: object) -> torch.Tensor:
    return torch.tensor(rows, dtype=DOUBLE)


def random_map(kind: str, tokens: int, width: int, seed: int) -> tuple[torch.Tensor, OutputMap]:
    """Hidden states of 6 positions and an output map, in float64."""
    generator = torch.Generator().manual_seed(seed)
    biased, scale, cap = MAPS[kind]
    weight = torch.randn(tokens, width, generator=generator, dtype=DOUBLE)
    bias = torch.randn(tokens, generator=generator, dtype=DOUBLE) if biased else None
    return torch.randn(6, width, generator=generator, dtype=DOUBLE), OutputMap(weight, bias, scale, cap)


def probabilities(hidden: torch.Tensor, output: OutputMap) -> torch.Tensor:
    """Of one hidden state [d], written again from METHODS."""
    logits = output.weight @ hidden
    logits = output.scale * (logits if output.bias is None else logits + output.bias)
    return (logits if output.cap is None else output.cap * torch.tanh(logits / output.cap)).softmax(0)


def differentiated(hidden: torch.Tensor, output: OutputMap) -> torch.Tensor:
    """1 / ‖J‖_F of each position, J from automatic differentiation."""
    jacobian = torch.func.jacrev(probabilities)
    return torch.stack([1 / torch.linalg.norm(jacobian(state, output)) for state in hidden])


def same(left: Bound, right: Bound, rtol: float, atol: float = 1e-12) -> None:
    for field in fields(Bound):
        values = getattr(left, field.name), getattr(right, field.name)
        torch.testing.assert_close(*values, rtol=rtol, atol=atol, equal_nan=True, msg=field.name)


def test_two_tokens_and_the_identity() -> None:
    """o = (1/2, 1/2), μ = (1/2, 1/2): ‖J‖² = 2 · 1/4 · 1/2 = 1/4."""
    found = bound(doubles([0, 0]), OutputMap(torch.eye(2, dtype=DOUBLE)))
    assert found.delta.tolist() == pytest.approx([2], rel=1e-15)
    assert found.entropy.tolist() == pytest.approx([1], rel=1e-15)
    assert found.margin.tolist() == [0]
    assert found.top1.tolist() == pytest.approx([0.5], rel=1e-15)
    assert found.flip_radius.tolist() == [0]
    assert found.relative.isnan().all()
    assert found.flip_relative.isnan().all()
    assert found.logprob.isnan().all()


def test_three_to_one_by_hand() -> None:
    """o = (3/4, 1/4): both rows of J have length o_1 o_2 ‖w_1 - w_2‖, so ‖J‖ = √2 · 3/16 · √2 = 3/8."""
    hidden = doubles([math.log(3), 0])
    found = bound(hidden, OutputMap(torch.eye(2, dtype=DOUBLE)), epsilon=3, emitted=torch.tensor([1]))
    assert found.delta.tolist() == pytest.approx([8], rel=1e-14)
    assert found.relative.tolist() == pytest.approx([8 / math.log(3)], rel=1e-14)
    assert found.margin.tolist() == pytest.approx([math.log(3)], rel=1e-14)
    assert found.top1.tolist() == pytest.approx([0.75], rel=1e-14)
    assert found.entropy.tolist() == pytest.approx([2 - 0.75 * math.log2(3)], rel=1e-14)
    assert found.logprob.tolist() == pytest.approx([math.log(0.25)], rel=1e-14)
    # from (ln 3, 0) to the line on which both are equal
    assert found.flip_radius.tolist() == pytest.approx([math.log(3) / math.sqrt(2)], rel=1e-14)
    assert found.flip_relative.tolist() == pytest.approx([1 / math.sqrt(2)], rel=1e-14)


def test_uniform_over_orthogonal_rows() -> None:
    """o_i = 1/V and ‖e_i - μ‖² = 1 - 1/V: ‖J‖² = (1 - 1/V) / V; V = 5 gives 4/25."""
    found = bound(torch.zeros(1, 5), OutputMap(torch.eye(5)))
    assert found.delta.tolist() == pytest.approx([2.5], rel=1e-6)
    assert found.entropy.tolist() == pytest.approx([math.log2(5)], rel=1e-6)


def test_a_scale_multiplies_and_a_cap_flattens() -> None:
    """At h = 0 the cap's slope is 1, so only the scale counts; at z = c/2 it is 3/4 for both tokens."""
    eye = torch.eye(2, dtype=DOUBLE)
    assert bound(doubles([0, 0]), OutputMap(eye, scale=4, cap=9)).delta.tolist() == pytest.approx([0.5], rel=1e-14)
    level = 2 * math.atanh(0.5)  # 2 tanh(level / 2) = 1 = c/2
    assert bound(doubles([level, level]), OutputMap(eye, cap=2)).delta.tolist() == pytest.approx([2 / 0.75], rel=1e-14)


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize(("tokens", "width"), [(2, 3), (37, 4), (500, 24)])
def test_equal_to_automatic_differentiation(kind: str, tokens: int, width: int) -> None:
    hidden, output = random_map(kind, tokens, width, seed=tokens)
    torch.testing.assert_close(bound(hidden, output).delta, differentiated(hidden, output), rtol=1e-9, atol=0)


@pytest.mark.parametrize("kind", MAPS)
def test_entropy_margin_and_probabilities(kind: str) -> None:
    hidden, output = random_map(kind, 100, 8, seed=1)
    emitted = torch.tensor([0, 1, 50, 99, 3, 7])
    found = bound(hidden, output, emitted=emitted)
    o = torch.stack([probabilities(state, output) for state in hidden])
    best = o.topk(2).values
    torch.testing.assert_close(found.entropy, -(o * o.log2()).sum(1))
    torch.testing.assert_close(found.margin, (best[:, 0] / best[:, 1]).log())
    torch.testing.assert_close(found.top1, best[:, 0])
    torch.testing.assert_close(found.logprob, o.gather(1, emitted[:, None])[:, 0].log())


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), factor=st.floats(1e-3, 1e3), kind=st.sampled_from(sorted(MAPS)))
def test_rescaling_states_against_the_matrix(seed: int, factor: float, kind: str) -> None:
    """h / c and c W are the same model: what is relative to ‖h‖ does not change, δ shrinks by c."""
    hidden, output = random_map(kind, 20, 5, seed)
    other = OutputMap(output.weight * factor, output.bias, output.scale, output.cap)
    before, after = bound(hidden, output), bound(hidden / factor, other)
    torch.testing.assert_close(after.relative, before.relative, rtol=1e-9, atol=0)
    torch.testing.assert_close(after.flip_relative, before.flip_relative, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(after.delta, before.delta / factor, rtol=1e-9, atol=0)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["plain", "bias", "scaled"]))
def test_a_vector_added_to_every_row_changes_nothing(seed: int, kind: str) -> None:
    """Softmax does not see it (a cap would)."""
    hidden, output = random_map(kind, 20, 5, seed)
    added = torch.randn(5, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)
    same(bound(hidden, OutputMap(output.weight + added, output.bias, output.scale)), bound(hidden, output), rtol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_chunks_give_the_same_as_one_piece(size: int) -> None:
    hidden, output = random_map("all", 50, 8, seed=2)
    emitted = torch.arange(6)
    whole = bound(hidden, output, emitted=emitted)
    same(bound(hidden, output, emitted=emitted, chunk=size), whole, rtol=1e-12)
    truncated = bound(hidden, output, emitted=emitted, top_k=5)
    same(bound(hidden, output, emitted=emitted, top_k=5, chunk=size), truncated, rtol=1e-12)


def test_no_positions() -> None:
    assert len(bound(torch.zeros(0, 4), OutputMap(torch.eye(4))).delta) == 0


def test_nothing_given_is_changed() -> None:
    hidden, output = random_map("all", 30, 4, seed=3)
    before = hidden.clone(), output.weight.clone()
    bound(hidden, output)
    assert torch.equal(hidden, before[0])
    assert torch.equal(output.weight, before[1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_float32(dtype: torch.dtype) -> None:
    hidden, output = random_map("bias", 300, 16, seed=4)
    half, weight, bias = hidden.to(dtype), output.weight.to(dtype), output.bias
    assert bias is not None
    found = bound(half, OutputMap(weight, bias.to(dtype)))
    exact = bound(half.double(), OutputMap(weight.double(), bias.to(dtype).double()))
    same(found, exact, rtol=1e-5, atol=1e-5)
    assert found.delta.dtype == torch.double


def test_saturated_where_the_distribution_has_one_token_left() -> None:
    """The second token's probability is e^-2000: nothing in double precision."""
    found = bound(doubles([1000, -1000], [1, 0]), OutputMap(torch.eye(2, dtype=DOUBLE)))
    assert found.delta.isnan().tolist() == [True, False]
    assert found.relative.isnan().tolist() == [True, False]
    assert found.top1[0] == 1
    assert found.entropy[0] == 0
    assert found.flip_radius[0].item() == pytest.approx(2000 / math.sqrt(2))


def test_not_saturated_where_float32_alone_would_be() -> None:
    """o_2 = e^-200: its square, and itself, are 0 in float32. ‖J‖ = o_2 · √2 · √2."""
    found = bound(torch.tensor([[100.0, -100.0]]), OutputMap(torch.eye(2)))
    assert found.delta.log().tolist() == pytest.approx([200 - math.log(2)], rel=1e-6)


def test_equal_rows_saturate() -> None:
    """No move of h changes anything, and rounding is not taken for something."""
    weight = torch.randn(7, generator=torch.Generator().manual_seed(0)).expand(100, 7)
    found = bound(torch.ones(2, 7), OutputMap(weight))
    assert found.delta.isnan().all()
    assert found.flip_radius.isnan().all()
    assert found.entropy.tolist() == pytest.approx([math.log2(100)] * 2, rel=1e-6)


def test_not_a_number_stays_so() -> None:
    found = bound(doubles([math.nan, 0], [0, 0]), OutputMap(torch.eye(2, dtype=DOUBLE)))
    assert found.delta.isnan().tolist() == [True, False]
    assert found.flip_radius.isnan().tolist() == [True, False]


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("count", [2, 5, 30, 200])
def test_interval_of_the_most_likely_tokens_holds_the_exact_bound(kind: str, count: int) -> None:
    hidden, output = random_map(kind, 200, 12, seed=5)
    exact, found = bound(hidden, output).delta, bound(hidden, output, top_k=count)
    assert (found.delta_low <= exact * (1 + 1e-12)).all()
    assert (exact <= found.delta_high * (1 + 1e-12)).all()
    assert (found.delta_low <= found.delta).all()
    assert (found.delta <= found.delta_high).all()
    if count == 200:
        torch.testing.assert_close(found.delta, exact)
        torch.testing.assert_close(found.delta_low, found.delta_high)


def test_interval_by_hand() -> None:
    """Three orthogonal tokens, o = (1/2, 1/4, 1/4), the first two kept.

    d_2 = e_2 - e_1, m_K = d_2 / 4; ‖J_K‖² = 1/4 · 2/16 + 1/16 · 9/16 · 2 = 13/128. D = 2, e = 1/4, Σ_K o² = 5/16,
    so A = √5/8; B = 1/4 (2 + √2/4 + 1/2).
    """
    hidden = doubles([math.log(2), 0, 0])
    found = bound(hidden, OutputMap(torch.eye(3, dtype=DOUBLE)), top_k=2)
    norm, shift, left_out = math.sqrt(13 / 128), math.sqrt(5) / 8, (2.5 + math.sqrt(2) / 4) / 4
    assert found.delta.tolist() == pytest.approx([1 / norm])
    assert found.delta_high.tolist() == pytest.approx([1 / (norm - shift)])
    assert found.delta_low.tolist() == pytest.approx([1 / math.hypot(norm + shift, left_out)])


def test_interval_is_narrow_where_little_is_left_out() -> None:
    hidden, output = random_map("plain", 500, 16, seed=6)
    found = bound(4 * hidden, output, top_k=50)
    assert (found.delta_high / found.delta_low - 1 < 1e-3).all()


def test_too_few_tokens() -> None:
    with pytest.raises(UserError, match="top_k must be at least 2"):
        bound(torch.zeros(1, 2), OutputMap(torch.eye(2)), top_k=1)


KINDS = ("random", "many rivals", "one rival", "two tokens", "flat")


@pytest.mark.parametrize("kind", KINDS)
def test_float32_keeps_five_digits(kind: str) -> None:
    """Against the definition in float64, at largest probabilities up to 1 - 1e-6; full size in tests/performance."""
    generator = torch.Generator().manual_seed(7)
    weight = torch.randn(20_000, 64, generator=generator) / 8
    first, second = weight[:4], weight[4:8]
    bias = None
    if kind == "many rivals":
        hidden = sharpened(torch.zeros_like(first), first, weight)
    elif kind == "one rival":
        hidden = sharpened(60 * second, first - second, weight)
    elif kind == "two tokens":
        hidden = torch.randn(4, 64, generator=generator)
        bias = torch.full([20_000], -60.0).index_fill(0, torch.tensor([5, 17]), 0)
    else:
        hidden = {"random": 8.0, "flat": 0.0}[kind] * torch.randn(4, 64, generator=generator)
    logits = hidden.double() @ weight.double().T
    o = (logits if bias is None else logits + bias.double()).softmax(1)
    if kind in ("many rivals", "one rival"):
        assert o.amax(1).tolist() == pytest.approx([1 - 1e-6] * 4, abs=1e-7)
    spread = weight.double() - (o @ weight.double())[:, None]
    exact = 1 / torch.linalg.vector_norm(o[:, :, None] * spread, dim=(1, 2))
    torch.testing.assert_close(bound(hidden, OutputMap(weight, bias)).delta, exact, rtol=1e-5, atol=0)


def sharpened(start: torch.Tensor, along: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """start + x along, with the x at which all tokens but one's own share 1e-6; position i's own token is i."""
    own = torch.arange(len(start))[:, None]
    base, slope = (part.double() @ weight.double().T for part in (start, along))
    low, high = torch.zeros_like(own, dtype=DOUBLE), torch.full_like(own, 100, dtype=DOUBLE)
    for _ in range(60):
        middle = (low + high) / 2
        logits = base + middle * slope
        odds = logits.scatter(1, own, -torch.inf).logsumexp(1, keepdim=True) - logits.gather(1, own)
        sharp = odds < math.log(1e-6)
        low, high = torch.where(sharp, low, middle), torch.where(sharp, middle, high)
    return start + high.float() * along
