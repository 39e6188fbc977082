"""What a perturbation is, and the registry of perturbations (METHODS section 2).

A perturbation keeps the gold answer and every fact that the answer needs. It is a pure function of a subject and a
random generator: the same subject, options and seed give the same result in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from taboo_cluster.registry import Registry
from taboo_cluster.trial import Item


@dataclass(frozen=True)
class Subject:
    """What a stack works on: an item's question and choices, and what is put around the user's message."""

    item: Item
    """Its `question` is what most perturbations change; `extras["choices"]` and the gold answer follow shuffled
    choices. item_id, split, cluster_id and group never change."""
    before: str = ""
    """Put in front of the whole user message (padding, augmentation)."""
    after: str = ""
    """Put behind it."""
    choice_order: tuple[int, ...] | None = None
    """Original index of each choice as shown; None while nothing has shuffled them."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """What a perturbation measured of itself, for columns of the record: word_fragmentation_rate ..."""

    def with_question(self, question: str) -> Subject:
        """The same subject with another question."""
        return replace(self, item=replace(self.item, question=question))


Apply = Callable[[Subject, Any, np.random.Generator], Subject]
"""(subject, options, rng) -> subject. Pure; the subject it was given where it cannot change anything."""


@dataclass(frozen=True)
class NoOptions:
    """A perturbation without options."""


@dataclass(frozen=True)
class PerturbationEntry:
    """What a perturbation's file registers."""

    family: str
    """word, augmentation, padding, paraphrase, choices, math, code, distractor or fragmentation."""
    apply: Apply
    options: type[Any] = NoOptions
    """Frozen dataclass of the perturbation's own settings, each with a default, checked in __post_init__ (UserError).
    Written in the config as `name(option=value,...)`."""
    needs: str | None = None
    """What an item must have for it to apply: `choices` (multiple choice), `code` (a program to complete), `math`
    (a word problem with numbers), `prose` (no program); None for any text."""
    documents: bool = False
    """It works on the lines of a document too (`documents.Pages`)."""
    check: Callable[[Any, str], None] | None = None
    """(options, benchmark's name); raises UserError where it has nothing for that benchmark."""
    first: bool = False
    """It looks the clean question up, so that it can only stand first in its stack."""


PERTURBATIONS: Registry[PerturbationEntry] = Registry("perturbation", "taboo_cluster.perturbations")


def on_question(change: Callable[[str, Any, np.random.Generator], str]) -> Apply:
    """An `Apply` from a pure function (question, options, rng) -> question."""

    def apply(subject: Subject, options: Any, rng: np.random.Generator) -> Subject:
        return subject.with_question(change(subject.item.question, options, rng))

    return apply
