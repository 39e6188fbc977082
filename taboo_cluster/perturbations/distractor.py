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

_WORD = regex.compile(r"\p{L}{4,}")
_SENTENCE_END = regex.compile(r"(?<=[\p{Ll}\d]{3}[.?!]) +(?=\p{Lu})")
"""White space between two sentences: no abbreviation, number or initial before it."""


@dataclass(frozen=True)
class Options:
    """Where the sentence goes."""

    place: Literal["front", "middle", "end"] = "middle"
    """`front` or `end` of the question, or in the `middle`: before its last sentence, where that asks (`?`) and is not
    the only one; else in front. In a program it is always a comment in front."""


def distractor(subject: Subject, options: Options, rng: np.random.Generator) -> Subject:
    """A sentence drawn from those that share no word of four letters or more with the question.

    `A hen lays 3 eggs daily. How many in a week?` -> `A hen lays 3 eggs daily. A piano has to be tuned now and then.
    How many in a week?`
    """
    question = subject.item.question
    words = _words(question)
    order = rng.permutation(len(SENTENCES)).tolist()
    sentence = next((SENTENCES[n] for n in order if words.isdisjoint(_words(SENTENCES[n]))), None)
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
