"""Two versions of a document: which lines are targets, what each version shows, where it is cut (METHODS section 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from taboo_cluster.benchmarks.outcome import is_blank
from taboo_cluster.fragmentation import Fragmentation
from taboo_cluster.hashing import stable_rng
from taboo_cluster.trial import Item
from taboo_cluster.words import without_spaces

PAGES = "pages"
"""Key of `Pages` among an item's extras."""

Task = Literal["absence", "needle"]


@dataclass(frozen=True)
class Document:
    """A text of some domain, line by line."""

    name: str
    """Unique; fragmentation draws by it."""
    domain: str
    lines: tuple[str, ...]
    changed_only: bool = False
    """A diff: its targets are + and - lines."""

    @property
    def text(self) -> str:
        """The whole document."""
        return "\n".join(self.lines)

    def candidates(self) -> tuple[bool, ...]:
        """For each line whether it can be a target: not blank, and its only occurrence.

        Compared without case and white space, so that lines stay apart however they are fragmented.
        """
        bare = ["" if is_blank(line) else bare_line(line) for line in self.lines]
        count = Counter(bare)
        return tuple(
            count[own] == 1 and bool(own) and (not self.changed_only or _changed(line))
            for own, line in zip(bare, self.lines, strict=True)
        )


@dataclass(frozen=True)
class Versions:
    """What is shown, and what is asked for."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    targets: tuple[str, ...]
    """Lines of the first version that the second lacks (absence), or of the second that were added (needle)."""


@dataclass(frozen=True)
class Pages:
    """A document in two versions: the second lacks lines of the first, or has lines of another document."""

    task: Task
    document: Document
    seed: int
    """Of the targets; fragmentation has one of its own."""
    target_rate: float
    """Probability of a line to be a target (needle: to be followed by one)."""
    other: Document | None = None
    """needle: the document that the added lines are from."""
    kept: int | None = None
    """Lines of the document that are used; None for all."""
    fragmentations: tuple[Fragmentation, ...] = ()
    """In the order applied."""

    @property
    def total(self) -> int:
        """Lines of the whole document."""
        return len(self.document.lines)

    @property
    def used(self) -> int:
        """Lines of the document that are used."""
        return self.total if self.kept is None else self.kept

    def fragmented(self, how: Fragmentation) -> Pages:
        """The same lines and targets, fragmented (once more)."""
        return replace(self, fragmentations=(*self.fragmentations, how))

    def cut(self, lines: int) -> Pages:
        """The first lines alone; the targets among them stay what they are."""
        return replace(self, kept=lines)

    def of(self, item: Item) -> Item:
        """The item with this in the place of its document: its text and its target lines, as shown."""
        return replace(
            item,
            question="\n".join(self._shown(self.document, 0)),
            gold="\n".join(self.versions.targets),
            extras={**item.extras, PAGES: self},
        )

    @cached_property
    def versions(self) -> Versions:
        """Both versions and the targets, line by line."""
        first = second = self._shown(self.document, 0)[: self.used]
        if any(how.independent for how in self.fragmentations):
            second = self._shown(self.document, 1)[: self.used]
        if self.task == "absence":
            places = target_places(self.document.candidates(), self._draws(), self.target_rate, self.used)
            kept = tuple(line for index, line in enumerate(second) if index not in places)
            return Versions(first, kept, tuple(first[index] for index in places))
        places = target_places([True] * self.total, self._draws(), self.target_rate, self.used)
        needles = dict(zip(places, self._needles(len(places)), strict=False))
        longer = [line for index, own in enumerate(second) for line in (own, needles.get(index)) if line is not None]
        return Versions(first, tuple(longer), tuple(needles.values()))

    def __getstate__(self) -> dict[str, Any]:
        """Without the versions, which are made again where they are needed."""
        return {name: value for name, value in vars(self).items() if name != "versions"}

    def _draws(self) -> npt.NDArray[np.float64]:
        """One for each line of the whole document."""
        return stable_rng("targets", self.task, self.document.name, self.seed).random(self.total)

    def _needles(self, count: int) -> list[str]:
        """Lines to add, as shown: of the other document, none like one of this document."""
        assert self.other is not None
        present = {bare_line(line) for line in self.document.lines}
        chosen = needle_places(self.other, present, self.seed)[:count]
        shown = self._shown(self.other, 1)
        return [shown[index] for index in chosen]

    def _shown(self, document: Document, place: int) -> tuple[str, ...]:
        """The lines of a whole document as they are shown in the first (0) or second (1) version."""
        text = document.text
        for how in self.fragmentations:
            text = how.apply(text, document.name, place).text
        return tuple(text.split("\n"))


def bare_line(line: str) -> str:
    """A line without case and white space."""
    return without_spaces(line).casefold()


def target_places(
    candidates: Sequence[bool], draws: npt.NDArray[np.float64], rate: float, used: int
) -> tuple[int, ...]:
    """Indices of the targets among the first `used` lines: candidates whose draw is below the rate, else the least.

    A line's draw is its own, so that a shorter cut has the targets that it keeps. Empty without a candidate.
    """
    able = [index for index in range(used) if candidates[index]]
    chosen = tuple(index for index in able if draws[index] < rate)
    return chosen or tuple(sorted(able, key=lambda index: draws[index])[:1])


def needle_places(other: Document, present: set[str], seed: int) -> list[int]:
    """Indices of the lines of another document that can be added, in the seeded order in which they are taken."""
    able = [
        index for index, fit in enumerate(other.candidates()) if fit and bare_line(other.lines[index]) not in present
    ]
    order = stable_rng("needles", other.name, seed).permutation(len(able))
    return [able[index] for index in order]


def _changed(line: str) -> bool:
    return line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- ")) and bool(line[1:].strip())
