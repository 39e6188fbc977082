"""What a trigger is told about a step, and the registry of triggers (METHODS section 1)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import torch

from taboo_cluster.registry import Registry
from taboo_cluster.spec import Spec, complete, parse
from taboo_cluster.taboo.word_start import WordStartTable
from taboo_cluster.typed import build


@dataclass(frozen=True)
class RowFacts:
    """What a hook knows of each row's request; [B] each."""

    state: torch.Tensor
    """long: of the text before the step, as the word-start table counts it."""
    position: torch.Tensor
    """long: tokens generated so far."""
    seed: torch.Tensor
    """long: of the row's request (`draws.row_seed`)."""
    paid: torch.Tensor
    """double: bits that its interventions have cost so far; kept for triggers with `counts_bits` only."""
    options: Mapping[str, torch.Tensor] = field(default_factory=dict)
    """double: the trigger's own options, by name."""

    @classmethod
    def none(cls, rows: int, device: torch.device) -> RowFacts:
        """Nothing known: enough for triggers without options, and a table with one state."""
        zeros = torch.zeros(rows, dtype=torch.long, device=device)
        return cls(zeros, zeros, zeros, zeros.double())


@dataclass(frozen=True)
class DecodingStep:
    """What the mask core knows at one step before it masks; every row is one sequence."""

    logits: torch.Tensor
    """[B, V] nominal logits; not to be modified."""
    best: torch.Tensor
    """[B, K] nominal logits of the best candidates, best first; K is greater than every rank unless candidates end.
    Of a trigger with `whole`, all candidates."""
    nominal: torch.Tensor
    """[B] long: x_nom, the token the model would emit."""
    rank: torch.Tensor
    """[B] long: the rank asked for; 0 = no intervention."""
    word_initial: torch.Tensor
    """[B] bool: x_nom begins a word, given the text before it."""
    table: WordStartTable
    facts: RowFacts

    @property
    def cost(self) -> torch.Tensor:
        """[B] double: bits that the (rank+1)-th token costs against x_nom; infinite where there is none."""
        place = self.rank.clamp(max=self.best.shape[1] - 1)[:, None]
        bits = (self.best[:, 0] - self.best.gather(1, place).squeeze(1)).double() / math.log(2)
        return torch.where(self.rank < self.best.shape[1], bits, torch.inf)


Trigger = Callable[[DecodingStep], torch.Tensor]
"""Step -> [B] long, how many of the best tokens to mask: 0 leaves the row alone, `rank` is the usual number. Pure,
vectorised over rows, nothing read back from the device. The core itself leaves a row alone where x_nom is special,
where too few candidates are left, and where rank is 0."""


@dataclass(frozen=True)
class NoOptions:
    """A trigger without options."""


@dataclass(frozen=True)
class TriggerEntry:
    """What a trigger's file registers."""

    fires: Trigger
    options: type[Any] = NoOptions
    """Frozen dataclass of numbers, each with a default, checked in __post_init__ (UserError); null is handed on as
    infinity. Written in the config as `name(option=value,...)`."""
    whole: bool = False
    """It may mask more tokens than `rank`, so all of them have to be put in order: far slower."""
    counts_bits: bool = False
    """It reads `facts.paid`."""


TRIGGERS: Registry[TriggerEntry] = Registry("trigger", "taboo_cluster.taboo.triggers")


@dataclass(frozen=True)
class ChosenTrigger:
    """A trigger as a config names it."""

    name: str
    entry: TriggerEntry
    options: Any

    @property
    def spec(self) -> Spec:
        """With every option that has a value."""
        return complete(self.name, self.options)

    @property
    def numbers(self) -> dict[str, float]:
        """Options as the step's context holds them."""
        values = {f.name: getattr(self.options, f.name) for f in fields(self.options)}
        return {name: math.inf if value is None else float(value) for name, value in values.items()}


@functools.cache
def choose(text: str) -> ChosenTrigger:
    """The trigger that `name` or `name(option=value,...)` means. Raises UserError for one that does not exist."""
    spec = parse(text)
    entry = TRIGGERS.get(spec.name)
    return ChosenTrigger(spec.name, entry, build(entry.options, dict(spec.options), f"trigger {spec.name}"))
