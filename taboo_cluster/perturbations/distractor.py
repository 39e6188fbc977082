"""Distractor: a true sentence that has nothing to do with the question (METHODS section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import regex

from taboo_cluster.perturbations.base import PERTURBATIONS, PerturbationEntry, Subject

SENTENCES = (
    "Honey keeps for a very long time in a closed jar.",
    "Cats sleep through a large part of their lives.",
    "Rain clouds look grey when they are seen from below.",
    "Wooden chairs are often painted or varnished.",
    "Fresh bread smells good right after baking.",
    "Sand gets hot in bright sunshine.",
    "Snow makes a street sound quieter.",
    "Old letters tend to turn yellow in a drawer.",
    "Moss likes to grow in the shade.",
    "Wet leaves can make a path slippery.",
    "A piano has to be tuned now and then.",
    "Swallows often build their nests under roofs.",
)
"""This project's own. None holds a number or anything that could be taken for one."""

MISLEADING = (
    "The neighbor works 7 days a week.",
    "The bus takes 25 minutes to get there.",
    "A ticket costs 12 dollars.",
    "Her cousin is 34 years old.",
)
"""Facts with a number that seems to matter and does not, as in the token constraint bound's one case."""

_WORD = regex.compile(r"\p{L}{4,}")
_SENTENCE_END = regex.compile(r"(?<=[\p{Ll}\d]{3}[.?!]) +(?=\p{Lu})")
"""White space between two sentences: no abbreviation, number or initial before it."""


@dataclass(frozen=True)
class Options:
    """Where the sentence goes."""

    place: Literal["front", "middle", "end"] = "middle"
    """`front` or `end` of the question, or in the `middle`: before its last sentence, where that asks (`?`) and is not
    the only one; else in front. In a program it is always a comment in front."""
    misleading: bool | None = None
    """true: a fact with a number that seems to matter. A name without it means the same as with false."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "misleading", self.misleading or None)


def distractor(subject: Subject, options: Options, rng: np.random.Generator) -> Subject:
    """A sentence drawn from those that share no word of four letters or more with the question.

    `A hen lays 3 eggs daily. How many in a week?` -> `A hen lays 3 eggs daily. A piano has to be tuned now and then.
    How many in a week?`
    """
    question = subject.item.question
    words = _words(question)
    sentences = MISLEADING if options.misleading else SENTENCES
    order = rng.permutation(len(sentences)).tolist()
    sentence = next((sentences[n] for n in order if words.isdisjoint(_words(sentences[n]))), None)
    if sentence is None:
        return subject
    if "entry_point" in subject.item.extras:
        return subject.with_question(f"# {sentence}\n{question}")
    if options.place == "end":
        return subject.with_question(f"{question} {sentence}" if question else sentence)
    asks = options.place == "middle" and question.rstrip().endswith("?")
    ends = [end.end() for end in _SENTENCE_END.finditer(question)] if asks else []
    start = ends[-1] if ends else 0
    return subject.with_question(f"{question[:start]}{sentence} {question[start:]}" if question else sentence)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))


PERTURBATIONS.register("distractor")(PerturbationEntry("distractor", distractor, Options))
