"""What an intervention costs, in bits (METHODS section 1).

ΔS = log2 P_nom(x_nom) - log2 P_nom(x_emitted) >= 0
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


def injected_bits(nominal: float, emitted: float) -> float | None:
    """Bits paid for emitting one token in the place of another; None where they cannot be known (-inf, NaN).

    Args:
        nominal: natural log-probability of the nominal token, or its raw logit.
        emitted: the same of the emitted token. Two logits differ by as much as their log-probabilities do.
    """
    bits = (float(nominal) - float(emitted)) / math.log(2)
    return bits if math.isfinite(bits) else None


@dataclass(frozen=True)
class Dose:
    """A trial's injected surprisal, in bits."""

    total: float | None
    """Sum over interventions: 0 if there were none, None if some are not known."""
    mean: float | None
    """Per intervention; None if there were none or some are not known."""


def dose(bits: Iterable[float | None]) -> Dose:
    """Totals of a trial from its interventions' bits, summed in double precision without rounding between terms."""
    terms = list(bits)
    known = [term for term in terms if term is not None]
    if len(known) < len(terms):
        return Dose(None, None)
    total = math.fsum(known)
    return Dose(total, total / len(terms) if terms else None)
