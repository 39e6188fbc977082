"""Intervene at word starts until a number of bits has been paid (beyond the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from taboo_cluster.errors import UserError
from taboo_cluster.taboo.triggers.base import TRIGGERS, DecodingStep, TriggerEntry


@dataclass(frozen=True)
class Options:
    """How much may be paid."""

    bits: float = 20.0
    """Interventions end once the trial has paid this much; the last one may go beyond it."""

    def __post_init__(self) -> None:
        if not 0 < self.bits < math.inf:
            raise UserError(f"bit_budget: bits is a number above 0, not {self.bits:g}")


def bit_budget(step: DecodingStep) -> torch.Tensor:
    """Mask the top `rank` tokens where x_nom is word-initial, while the injected surprisal so far is below `bits`."""
    return torch.where(step.word_initial & (step.facts.paid < step.facts.options["bits"]), step.rank, 0)


TRIGGERS.register("bit_budget")(TriggerEntry(bit_budget, Options, counts_bits=True))
