"""Spaces inside words: where they can go, and where each rule puts them (METHODS section 3).

A character is an extended grapheme cluster, a space any Unicode White_Space. A word of k characters has k - 1 slots.
Newlines are spaces, so that no rule crosses a line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import regex

from taboo_cluster.hashing import stable_rng

Places = npt.NDArray[np.int64]
Kind = Literal["random", "regular", "regular_k", "between"]

_WHITE_SPACE = np.array(
    [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000],
    dtype=np.uint32,
)
_JOINING = regex.compile(
    r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}\p{GCB=Prepend}\p{GCB=L}\p{GCB=V}\p{GCB=T}\p{GCB=LV}\p{GCB=LVT}"
    r"\p{GCB=Regional_Indicator}]"
)
"""One of these is in every grapheme cluster of several code points, but CR LF, where each is a space (UAX #29)."""


@dataclass(frozen=True)
class Fragmented:
    """A text with spaces put in."""

    text: str
    inserted: int
    """Spaces put into words; those of the rule `between` are not counted."""
    slots: int

    @property
    def rate(self) -> float | None:
        """The measured word_fragmentation_rate; None for a text without a slot."""
        return self.inserted / self.slots if self.slots else None


@dataclass(frozen=True)
class Fragmentation:
    """A rule with its amount and seed: the same places for the same text, whoever asks.

    random     at each slot with probability p, one uniform draw per slot: those of a lower p are among those of a
               higher one
    regular    slots counted 1, 2, ... through each line; at slot s iff floor(s p + 1e-9) > floor((s - 1) p + 1e-9)
    regular_k  after every k-th character of a word
    between    one more space in a gap between two words of a line, with probability p
    """

    kind: Kind
    amount: float
    """p, or k."""
    key: int
    """Seed of the draws."""
    independent: bool = False
    """A text that stands in two places is fragmented anew in each."""

    def apply(self, text: str, name: str = "", place: int = 0) -> Fragmented:
        """The text with spaces put in.

        Args:
            text: whole, with its newlines: draws run through it from the start.
            name: of the text; other names have other draws.
            place: which of the places where the text stands; without effect unless `independent`.
        """
        characters = _Characters.of(text)
        if self.kind == "between":
            places = characters.gaps[self._draws(len(characters.gaps), name, place) < self.amount]
            return Fragmented(_spaced(text, places), 0, len(characters.slots))
        places = characters.slots[self._chosen(characters, name, place)]
        return Fragmented(_spaced(text, places), len(places), len(characters.slots))

    def _chosen(self, characters: _Characters, name: str, place: int) -> npt.NDArray[np.bool_]:
        if self.kind == "random":
            return self._draws(len(characters.slots), name, place) < self.amount
        if self.kind == "regular":
            s = characters.slot_of_line
            return np.asarray(np.floor(s * self.amount + 1e-9) > np.floor((s - 1) * self.amount + 1e-9))
        return np.asarray(characters.slot_of_word % int(self.amount) == 0)

    def _draws(self, count: int, name: str, place: int) -> npt.NDArray[np.float64]:
        own = place if self.independent else 0
        return stable_rng("fragmentation", self.kind, self.key, name, own).random(count)


@dataclass(frozen=True)
class _Characters:
    """The places in a text where a space can go, as offsets of the code point that then follows it."""

    slots: Places
    slot_of_line: Places
    """1, 2, ... through each line, for each slot."""
    slot_of_word: Places
    """1, 2, ... through each word, for each slot."""
    gaps: Places
    """Starts of words that do not begin their line."""

    @classmethod
    def of(cls, text: str) -> _Characters:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        starts = _starts(text, points)
        space = np.isin(points, _WHITE_SPACE)
        if len(starts) < len(points):  # a cluster is a space where all of it is
            space = np.logical_and.reduceat(space, starts) if len(starts) else space
        index = np.arange(len(starts))
        word_start = np.maximum.accumulate(np.where(space, index + 1, 0)) if len(starts) else index
        inside = index[~space & (index > word_start)]
        line = np.cumsum(points == 0x0A)[starts] if len(starts) else index
        of_line = line[inside]
        first = np.searchsorted(of_line, of_line, side="left")
        opening = index[~space & (index == word_start)]
        on_line = line[opening]
        later = np.arange(len(opening)) > np.searchsorted(on_line, on_line, side="left")
        return cls(
            slots=starts[inside],
            slot_of_line=np.arange(len(inside)) - first + 1,
            slot_of_word=inside - word_start[inside],
            gaps=starts[opening[later]],
        )


def _starts(text: str, points: npt.NDArray[np.uint32]) -> Places:
    """Offsets at which the text's grapheme clusters begin."""
    if _JOINING.search(text) is None:
        return np.arange(len(points))
    return np.array([match.start() for match in regex.finditer(r"\X", text)], dtype=np.int64)


def _spaced(text: str, places: Places) -> str:
    ends = [*places.tolist(), len(text)]
    return " ".join([text[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)])


EVERY_SLOT = Fragmentation("random", 1.0, 0)
"""A space at every slot: no rule makes a text longer."""
