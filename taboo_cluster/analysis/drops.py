"""How large the worst of several drops is when there is no effect: METHODS section 2, drop and range. Exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class NullDrop:
    """The largest of K differences under no effect, as shares of the items."""

    drop: float
    """Its mean."""
    drop_high: float
    """The least value that it exceeds in at most 5% of cases."""
    range: float
    """Mean of max - min over the clean prompt and the K others."""


def null_drop(discordant: int, n: int, perturbations: int) -> NullDrop:
    """Drop and range over clean replicates with shuffled labels, once for each perturbation.

    Two replicates of the clean prompt differ in `discordant` of n items. Shuffling the labels of each item makes the
    difference of the two (2 B - discordant) / n with B binomial of probability 1/2; the worst of K such differences,
    taken to be independent, has the distribution function F^K.
    """
    if discordant == 0:
        return NullDrop(0.0, 0.0, 0.0)
    hits = np.arange(discordant + 1)
    steps = np.log((discordant - hits[:-1]) / hits[1:])
    density = np.exp(np.concatenate([[0.0], np.cumsum(steps)]) - discordant * np.log(2))
    below = np.minimum(np.cumsum(density), 1.0) ** perturbations
    below[-1] = 1.0
    worst = np.diff(below, prepend=0.0)
    value = (2 * hits - discordant) / n
    return NullDrop(
        float(worst @ value),
        float(value[np.argmax(below >= 0.95)]),
        float(2 * (worst @ np.maximum(value, 0.0))),
    )
