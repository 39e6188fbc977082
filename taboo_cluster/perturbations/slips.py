"""Typing errors: what a slip of the hand makes of a word."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from taboo_cluster.perturbations.lists.keyboard import NEIGHBOURS
from taboo_cluster.perturbations.lists.misspellings import MISSPELLINGS
from taboo_cluster.perturbations.lists.slip_words import SLIP_WORDS

KINDS = ("keyboard", "swap", "drop", "double", "misspelling")
"""A letter beside the right one; two letters in the wrong order; a letter left out; a letter typed twice; a usual wrong
spelling of the whole word."""


def slips(word: str, kind: str) -> list[str]:
    """Everything one slip of a kind makes of a word, in a fixed order.

    The first and last letters stay, a letter being a grapheme cluster. Left out is what would be another English word
    (`lists.slip_words`): `cost` never becomes `coat`.
    """
    if kind == "misspelling":
        wrong = MISSPELLINGS.get(word.lower())
        return [] if wrong is None else [word[0] + wrong[1:] if word[0].lower() == wrong[0] else wrong]
    letters = list(word) if word.isascii() else regex.findall(r"\X", word)
    found = dict.fromkeys("".join(slip) for slip in _SLIPS[kind](letters))
    return [slip for slip in found if slip != word and slip.lower() not in SLIP_WORDS]


def slip(word: str, kind: str, which: float, where: float) -> str | None:
    """One slip of a word; None where there is none.

    Args:
        word: of three letters or more, for there to be any but misspellings.
        kind: one of KINDS, or `any`.
        which: chooses the kind under `any`, from 0 to below 1, each that there is of this word alike.
        where: chooses among the slips of the kind, likewise.
    """
    found = [made for one in (KINDS if kind == "any" else (kind,)) if (made := slips(word, one))]
    if not found:
        return None
    of_kind = found[int(which * len(found))]
    return of_kind[int(where * len(of_kind))]


def _keyboard(letters: list[str]) -> Iterator[list[str]]:
    for n in range(1, len(letters) - 1):
        for beside in NEIGHBOURS.get(letters[n], ""):
            yield [*letters[:n], beside, *letters[n + 1 :]]


def _swap(letters: list[str]) -> Iterator[list[str]]:
    for n in range(1, len(letters) - 2):
        yield [*letters[:n], letters[n + 1], letters[n], *letters[n + 2 :]]


def _drop(letters: list[str]) -> Iterator[list[str]]:
    for n in range(1, len(letters) - 1):
        yield [*letters[:n], *letters[n + 1 :]]


def _double(letters: list[str]) -> Iterator[list[str]]:
    for n in range(1, len(letters) - 1):
        yield [*letters[:n], letters[n], *letters[n:]]


_SLIPS = {"keyboard": _keyboard, "swap": _swap, "drop": _drop, "double": _double}
