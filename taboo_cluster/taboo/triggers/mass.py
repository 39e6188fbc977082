"""Mask by probability mass in the place of a fixed number of tokens (beyond the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from taboo_cluster.errors import UserError
from taboo_cluster.taboo.triggers.base import TRIGGERS, DecodingStep, TriggerEntry


@dataclass(frozen=True)
class Options:
    """How much probability to take away."""

    q: float = 0.5
    """Nominal probability that the masked tokens reach together."""

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise UserError(f"mass: q is a probability above 0 and below 1, not {self.q:g}")


def mass(step: DecodingStep) -> torch.Tensor:
    """Where x_nom is word-initial, mask the fewest best tokens that reach probability q, and `rank` at least."""
    total = step.logits.double().logsumexp(1, keepdim=True)
    reached = (step.best.double() - total).exp().cumsum(1)
    fewest = (reached < step.facts.options["q"][:, None]).sum(1) + 1
    return torch.where(step.word_initial, torch.maximum(fewest, step.rank), 0)


TRIGGERS.register("mass")(TriggerEntry(mass, Options, whole=True))
