"""Fragmentation: spaces inside words, from none to one at every slot (METHODS section 3; Text Uncanny Valley).

The draws belong to the item and the seed alone, so that the spaces of a lower p are among those of a higher one. Of a
document each line is fragmented once, wherever it stands; its target lines follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from taboo_cluster.documents import PAGES
from taboo_cluster.errors import UserError
from taboo_cluster.fragmentation import Fragmentation, Kind
from taboo_cluster.perturbations.base import PERTURBATIONS, PerturbationEntry, Subject


@dataclass(frozen=True)
class Rate:
    """Settings of the rules that have a probability."""

    p: float = 0.3
    """From 0, which leaves the text as it is, to 1, a space at every slot."""

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise UserError(f"p is a probability from 0 to 1, not {self.p:g}")


@dataclass(frozen=True)
class Random(Rate):
    """Settings of `fragment`."""

    independent: bool | None = None
    """true: the two appearances of a document's line are fragmented separately. A name without it means the same as
    with false."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "independent", self.independent or None)


@dataclass(frozen=True)
class Regular:
    """Settings of `fragment_regular_k`."""

    k: int = 2
    """Characters between two spaces; 1 separates all."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise UserError(f"k is a number of characters, 1 or more, not {self.k}")


def fragment(subject: Subject, options: Random, rng: np.random.Generator) -> Subject:
    """A space at each slot with probability p: `cat` -> `c at`, 1 of 2 slots."""
    return _fragmented(subject, "random", options.p, rng, options.independent is True)


def fragment_regular(subject: Subject, options: Rate, rng: np.random.Generator) -> Subject:
    """Spaces at even distances through each line, p of all slots: at p = 0.5 `a black cat` -> `a bl ac k ca t`."""
    return _fragmented(subject, "regular", options.p, rng)


def fragment_regular_k(subject: Subject, options: Regular, rng: np.random.Generator) -> Subject:
    """A space after every k-th character of a word: at k = 2 `a black cat` -> `a bl ac k ca t`."""
    return _fragmented(subject, "regular_k", options.k, rng)


def fragment_between(subject: Subject, options: Rate, rng: np.random.Generator) -> Subject:
    """The control: one more space between two words with probability p, none inside: `a cat` -> `a  cat`."""
    return _fragmented(subject, "between", options.p, rng)


def _fragmented(
    subject: Subject, kind: Kind, amount: float, rng: np.random.Generator, independent: bool = False
) -> Subject:
    how = Fragmentation(kind, amount, int(rng.integers(2**63)), independent)
    item = subject.item
    pages = item.extras.get(PAGES)
    if pages is None:
        made = how.apply(item.question)
        changed = replace(item, question=made.text)
    else:
        made = how.apply(item.question, pages.document.name)
        changed = pages.fragmented(how).of(item)
    measured: Mapping[str, float | None] = {
        "fragment_p": None if kind == "regular_k" else amount,
        "word_fragmentation_rate": made.rate,
    }
    numbers = {name: value for name, value in measured.items() if value is not None}
    still = amount == 0 or (pages is None and made.text == item.question)
    return replace(subject, item=item if still else changed, numbers={**subject.numbers, **numbers})


for name, apply, options in (
    ("fragment", fragment, Random),
    ("fragment_regular", fragment_regular, Rate),
    ("fragment_regular_k", fragment_regular_k, Regular),
    ("fragment_between", fragment_between, Rate),
):
    entry = PerturbationEntry("fragmentation", apply, options, needs="prose", documents=True)
    PERTURBATIONS.register(name)(entry)
