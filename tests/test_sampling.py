import torch

from taboo_cluster.sampling import draw, uniforms

LOGITS = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()


def drawn(uniform: float, top_p: float = 1.0, temperature: float = 1.0, logits: torch.Tensor = LOGITS) -> int:
    one = torch.ones(1)
    return int(draw(logits[None], temperature * one, top_p * one, torch.tensor([uniform], dtype=torch.float64)))


def test_a_token_takes_its_share_of_the_interval() -> None:
    assert [drawn(u) for u in (0.0, 0.49, 0.51, 0.79, 0.81, 0.94, 0.96, 1 - 1e-16)] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_the_nucleus_is_the_smallest_set_that_reaches_top_p() -> None:
    # {0, 1} reaches 0.8; shares within it 0.625 and 0.375.
    assert [drawn(u, top_p=0.79) for u in (0.0, 0.62, 0.63, 0.999999)] == [0, 0, 1, 1]
    assert [drawn(u, top_p=0.81) for u in (0.0, 0.999999)] == [0, 2]
    assert drawn(0.999999, top_p=1e-9) == 0


def test_temperature_flattens_and_sharpens() -> None:
    # Squares of the probabilities, normalised: 0.684, 0.246, 0.062, 0.007.
    assert [drawn(u, temperature=0.5) for u in (0.68, 0.69, 0.92, 0.94)] == [0, 1, 1, 2]


def test_a_masked_token_is_never_drawn() -> None:
    logits = torch.tensor([-torch.inf, 1.0, -torch.inf, 1.0])
    assert {drawn(u / 50, logits=logits) for u in range(50)} == {1, 3}


def test_rows_are_independent() -> None:
    uniform = torch.tensor([0.1, 0.6, 0.9], dtype=torch.float64)
    both = draw(LOGITS.expand(3, 4), torch.ones(3), torch.tensor([1.0, 0.4, 1.0]), uniform)
    assert both.tolist() == [0, 0, 2]


def test_frequencies_are_the_probabilities() -> None:
    numbers = uniforms(0, (), 20000)
    ids = draw(LOGITS.expand(20000, 4), torch.ones(20000), torch.ones(20000), numbers)
    share = ids.bincount(minlength=4) / 20000
    assert torch.allclose(share, LOGITS.exp(), atol=0.015)


def test_numbers_follow_from_seed_and_prompt_alone() -> None:
    first = uniforms(1, (5, 6), 8)
    before = torch.random.get_rng_state()
    assert torch.equal(first, uniforms(1, [5, 6], 8))
    assert torch.equal(first[:3], uniforms(1, (5, 6), 3))
    assert not torch.equal(first, uniforms(2, (5, 6), 8))
    assert not torch.equal(first, uniforms(1, (5, 7), 8))
    assert torch.equal(before, torch.random.get_rng_state())
    assert ((first >= 0) & (first < 1)).all()
