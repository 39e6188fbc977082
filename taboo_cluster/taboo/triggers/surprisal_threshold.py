"""Intervene at word starts by what the detour would cost (beyond the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from taboo_cluster.errors import UserError
from taboo_cluster.taboo.triggers.base import TRIGGERS, DecodingStep, TriggerEntry


@dataclass(frozen=True)
class Options:
    """Between which costs, in bits."""

    at_least: float = 0.0
    """Intervene where the detour costs this or more."""
    at_most: float | None = None
    """Intervene where it costs this or less; null sets no upper end."""

    def __post_init__(self) -> None:
        if not 0 <= self.at_least < math.inf:
            raise UserError(f"surprisal_threshold: at_least is a number of bits from 0 up, not {self.at_least:g}")
        if self.at_most is not None and not self.at_most >= self.at_least:
            raise UserError(f"surprisal_threshold: at_most={self.at_most:g} is below at_least={self.at_least:g}")


def surprisal_threshold(step: DecodingStep) -> torch.Tensor:
    """Mask the top `rank` tokens where x_nom is word-initial and the (rank+1)-th token costs a number of bits.

    The cost is that of the best token left, also where tokens are sampled.
    """
    wanted = (step.cost >= step.facts.options["at_least"]) & (step.cost <= step.facts.options["at_most"])
    return torch.where(step.word_initial & wanted, step.rank, 0)


TRIGGERS.register("surprisal_threshold")(TriggerEntry(surprisal_threshold, Options))
