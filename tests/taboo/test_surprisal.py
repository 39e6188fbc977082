import math

import pytest
import torch

from taboo_cluster.taboo.surprisal import Dose, dose, injected_bits


def test_bits_by_hand() -> None:
    # P = 1/2 and 1/8: log2 4 = 2 bits.
    assert injected_bits(math.log(1 / 2), math.log(1 / 8)) == pytest.approx(2.0)
    assert injected_bits(-1.5, -1.5) == 0.0


def test_logits_give_the_same_bits_as_log_probabilities() -> None:
    logits = torch.tensor([3.0, -1.0, 0.5, 2.25], dtype=torch.float64)
    logprobs = logits.log_softmax(0)
    assert injected_bits(float(logits[0]), float(logits[3])) == pytest.approx(0.75 / math.log(2))
    assert injected_bits(float(logprobs[0]), float(logprobs[3])) == pytest.approx(0.75 / math.log(2))


@pytest.mark.parametrize("emitted", [-math.inf, math.nan, math.inf])
def test_c9_what_is_not_finite_is_null(emitted: float) -> None:
    assert injected_bits(-1.0, emitted) is None


def test_totals_by_hand() -> None:
    assert dose([1.0, 2.0, 4.5]) == Dose(7.5, 2.5)
    assert dose([]) == Dose(0.0, None)
    assert dose([1.0, None]) == Dose(None, None)


def test_no_rounding_between_terms() -> None:
    assert dose([0.1] * 10).total == 1.0
    assert dose([1e16, 1.0, -1e16]).total == 1.0
