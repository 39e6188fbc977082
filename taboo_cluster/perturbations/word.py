"""Word manipulation: typos, stop words left out, spaces in the wrong places (METHODS section 2).

Each finds its edits in one pass: places that it could change, in the order of the text, each with random numbers of its
own, drawn whatever the options are. So a larger rate makes the edits of a smaller one, and more. What `protected` says
must stay is never a place; beyond the question nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import regex

from taboo_cluster.errors import UserError
from taboo_cluster.perturbations.base import PERTURBATIONS, Apply, PerturbationEntry, on_question
from taboo_cluster.perturbations.lists.stop_words import STOP_WORDS
from taboo_cluster.perturbations.protected import Protection
from taboo_cluster.perturbations.slips import slip

Edit = tuple[int, int, str]
"""Start and end of what is replaced, and what replaces it."""

_LETTERS = regex.compile(r"(?<![\p{L}\p{M}\p{N}_])[\p{Lu}\p{Ll}][\p{Lu}\p{Ll}\p{M}]{3,}(?![\p{L}\p{M}\p{N}_])")
"""A word of four letters or more, in an alphabet with capital and small letters."""
_LETTER_B = regex.compile(r"\bb\b")
_MARKS = regex.compile(r"""[.,;:!?()"“”…]+""")


@dataclass(frozen=True)
class WordOptions:
    """How much is changed, and what is not."""

    rate: float = 0.1
    """Probability of a change at each place that can be changed."""
    protect: str | None = None
    """Words that stay as they are wherever they stand, separated by spaces: `protect='[id] dog.'`."""

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise UserError(f"a perturbation's rate is a probability from 0 to 1, not {self.rate:g}")
        if self.protect is not None and not self.protect.strip():
            raise UserError("a perturbation's protect names words, separated by spaces; leave it out to name none")


@dataclass(frozen=True)
class TypoOptions(WordOptions):
    """Settings of typos."""

    kind: Literal["any", "keyboard", "swap", "drop", "double", "misspelling"] = "any"
    """The slip of each typo; `any` draws it."""


@dataclass(frozen=True)
class EverywhereOptions(WordOptions):
    """Settings of what changes every place unless told otherwise."""

    rate: float = 1.0


@dataclass(frozen=True)
class SpaceRunOptions(WordOptions):
    """Settings of space_runs."""

    rate: float = 0.5
    most: int = 5
    """Spaces of the longest run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most < 2:
            raise UserError(f"space_runs: most is the length of the longest run, 2 or more, not {self.most}")


def typos(text: str, options: TypoOptions, rng: np.random.Generator) -> list[Edit]:
    """One typing error in some words of four letters or more; `rate` is the share of words that get one.

    `The farmer sells 16 baskets of apples at the market.` -> `The farmer seells 16 basets of apples at the mraket.`
    """
    words = [word.span() for word in _LETTERS.finditer(text)]
    draws = rng.random((len(words), 3)).tolist()
    hit = [(span, draw) for span, draw in zip(words, draws, strict=True) if draw[0] < options.rate]
    if not hit:
        return []
    free = Protection(text, options.protect).free
    edits = []
    for (start, end), (_, which, where) in hit:
        made = slip(text[start:end], options.kind, which, where) if free(start, end) else None
        if made is not None:
            edits.append((start, end, made))
    return edits


def stop_words(text: str, options: WordOptions, rng: np.random.Generator) -> list[Edit]:
    """Words left out without which the question can be understood, each with the space behind it.

    `Josh buys a house in the city for $80,000.` -> `Josh buys house city for $80,000.`

    A word stays beside anything protected (`3 times a day`), before white space other than one space, and at the end,
    so that something is always left; `a` stays where a letter `b` stands alone as well.
    """
    protection = Protection(text, options.protect)
    chunks, free = protection.chunks, protection.free
    draws = rng.random(len(chunks)).tolist()
    lettered = _LETTER_B.search(text) is not None
    kept = [not free(start, end) for start, end in chunks]
    edits = []
    for n in range(len(chunks) - 1):
        start, end = chunks[n]
        word = text[start:end].lower()
        if draws[n] >= options.rate or word not in STOP_WORDS or (word == "a" and lettered):
            continue
        if not (kept[n] or kept[n + 1] or (n and kept[n - 1])) and text[end : chunks[n + 1][0]] == " ":
            edits.append((start, end + 1, ""))
    return edits


def punctuation_spaces(text: str, options: WordOptions, rng: np.random.Generator) -> list[Edit]:
    """A space on both sides of punctuation marks, where there is no white space yet; none at either end of the text.

    `She said (twice), "Stop it."` -> `She said ( twice ), " Stop it ."`
    """
    marks = [mark.span() for mark in _MARKS.finditer(text)]
    draws = rng.random(len(marks)).tolist()
    free = Protection(text, options.protect).free
    edits = []
    for (start, end), draw in zip(marks, draws, strict=True):
        if draw < options.rate and free(start, end):
            places = [place for place in (start, end) if 0 < place < len(text)]
            edits += [(place, place, " ") for place in places if not _spaced(text, place)]
    return edits


def space_runs(text: str, options: SpaceRunOptions, rng: np.random.Generator) -> list[Edit]:
    """Spaces between two words of a line become runs of up to `most` spaces.

    `How many eggs are left?` -> `How many eggs are   left?`
    """
    gaps, free = _gaps(text, options)
    draws = rng.random((len(gaps), 2)).tolist()
    return [
        (end, end, " " * (1 + int(length * (options.most - 1))))
        for (start, end), (draw, length) in zip(gaps, draws, strict=True)
        if draw < options.rate and text[start:end].strip(" ") == "" and free(start, end)
    ]


def word_split(text: str, options: WordOptions, rng: np.random.Generator) -> list[Edit]:
    """A space inside some words of four letters or more, with two letters or more on either side.

    `The farmer sells 16 baskets.` -> `The far mer sel ls 16 bas kets.`
    """
    words = [word.span() for word in _LETTERS.finditer(text)]
    draws = rng.random((len(words), 2)).tolist()
    free = Protection(text, options.protect).free
    edits = []
    for (start, end), (draw, where) in zip(words, draws, strict=True):
        if draw < options.rate and free(start, end):
            places = [start + letter.start() for letter in regex.finditer(r"\X", text[start:end])][2:-1]
            edits += [(place, place, " ") for place in places[int(where * len(places)) :][:1]]
    return edits


def word_merge(text: str, options: WordOptions, rng: np.random.Generator) -> list[Edit]:
    """The one space between some pairs of words is left out.

    `What is left of the cake?` -> `Whatis left ofthecake?`
    """
    gaps, free = _gaps(text, options)
    draws = rng.random(len(gaps)).tolist()
    edits = []
    for n, ((start, end), draw) in enumerate(zip(gaps, draws, strict=True)):
        if draw < options.rate and text[start:end] == " " and text[start - 1].isalpha() and text[end].isalpha():
            before = gaps[n - 1][1] if n else 0
            after = gaps[n + 1][0] if n + 1 < len(gaps) else len(text)
            if free(before, after):
                edits.append((start, end, ""))
    return edits


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with its edits made; they come in the order of the text and do not overlap."""
    parts, done = [], 0
    for start, end, replacement in edits:
        parts += [text[done:start], replacement]
        done = end
    return "".join([*parts, text[done:]])


def _gaps(text: str, options: WordOptions) -> tuple[list[tuple[int, int]], Callable[[int, int], bool]]:
    """White space between two chunks, and what is free."""
    protection = Protection(text, options.protect)
    return [(one[1], other[0]) for one, other in pairwise(protection.chunks)], protection.free


def _spaced(text: str, place: int) -> bool:
    return text[place - 1].isspace() or text[place].isspace()


def _by_edits(find: Callable[[str, Any, np.random.Generator], list[Edit]]) -> Apply:
    return on_question(lambda text, options, rng: edited(text, find(text, options, rng)))


PERTURBATIONS.register("typos")(PerturbationEntry("word", _by_edits(typos), TypoOptions))
PERTURBATIONS.register("stop_words")(PerturbationEntry("word", _by_edits(stop_words), EverywhereOptions))
PERTURBATIONS.register("punctuation_spaces")(
    PerturbationEntry("word", _by_edits(punctuation_spaces), EverywhereOptions)
)
PERTURBATIONS.register("space_runs")(PerturbationEntry("word", _by_edits(space_runs), SpaceRunOptions))
PERTURBATIONS.register("word_split")(PerturbationEntry("word", _by_edits(word_split), WordOptions))
PERTURBATIONS.register("word_merge")(PerturbationEntry("word", _by_edits(word_merge), WordOptions))
