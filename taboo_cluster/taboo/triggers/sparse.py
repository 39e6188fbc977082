"""Intervene at a random part of the word starts (beyond the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from taboo_cluster.errors import UserError
from taboo_cluster.taboo.draws import uniform
from taboo_cluster.taboo.triggers.base import TRIGGERS, DecodingStep, TriggerEntry


@dataclass(frozen=True)
class Options:
    """How many word starts, and which."""

    p: float = 0.5
    """Probability of an intervention at a word start."""
    seed: int = 0
    """Another seed chooses other places."""

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise UserError(f"sparse: p is a probability from 0 to 1, not {self.p:g}")
        if not 0 <= self.seed < 2**31:
            raise UserError(f"sparse: seed is a whole number from 0 to {2**31 - 1}, not {self.seed}")


def sparse(step: DecodingStep) -> torch.Tensor:
    """Mask the top `rank` tokens with probability p where x_nom is word-initial.

    The draw belongs to request and position: at a larger p the same places are hit, and more.
    """
    draw = uniform(step.facts.seed, step.facts.position, step.facts.options["seed"])
    return torch.where(step.word_initial & (draw < step.facts.options["p"]), step.rank, 0)


TRIGGERS.register("sparse")(TriggerEntry(sparse, Options))
