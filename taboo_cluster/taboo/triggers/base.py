"""What a trigger is told about a step, and the registry of triggers (METHODS section 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from taboo_cluster.registry import Registry
from taboo_cluster.taboo.word_start import WordStartTable


@dataclass(frozen=True)
class DecodingStep:
    """What the mask core knows at one step before it masks; every row is one sequence."""

    logits: torch.Tensor
    """[B, V] nominal logits; not to be modified."""
    best: torch.Tensor
    """[B, K] nominal logits of the best candidates, best first; K is greater than every rank unless candidates end.
    (best[:, 0] - best[:, i]) / ln 2 is what the (i+1)-th token costs in bits."""
    nominal: torch.Tensor
    """[B] long: x_nom, the token the model would emit."""
    rank: torch.Tensor
    """[B] long: the rank asked for; 0 = no intervention."""
    table: WordStartTable
    context: Mapping[str, torch.Tensor] = field(default_factory=dict)
    """Per-request numbers a hook keeps for the trigger, [B] each: parameters, position, seed, bits paid so far ..."""

    @property
    def word_initial(self) -> torch.Tensor:
        """[B] bool: x_nom begins a word."""
        return self.table.start[self.nominal]


Trigger = Callable[[DecodingStep], torch.Tensor]
"""Step -> [B] long, how many of the best tokens to mask: 0 leaves the row alone, `rank` is the usual number, and none
may exceed the batch's largest rank. Pure, vectorised over rows, nothing read back from the device. The core itself
leaves a row alone where x_nom is special, where too few candidates are left, and where rank is 0."""

TRIGGERS: Registry[Trigger] = Registry("trigger", "taboo_cluster.taboo.triggers")
