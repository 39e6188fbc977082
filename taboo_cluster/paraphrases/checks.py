"""What a paraphrase has to keep of its question. Pure; the first reason that applies is given.

Numbers are compared as a multiset of values, digits and number words alike: `3 apples` may become `three apples`, but
no number may go, come or change, nor its sign. Spans that are no prose (formulas, code, text in brackets, addresses,
blanks to be filled) must stand in the paraphrase letter by letter. An answer's text, any choice's where there are some,
stays if the question names it and comes in otherwise nowhere. The choices are not part of what is paraphrased.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from taboo_cluster.asking import TURN_MARKS
from taboo_cluster.perturbations.protected import regions
from taboo_cluster.trial import Item

LENGTH_RATIO = (0.5, 2.0)
"""Characters of the paraphrase over those of the question: least and most."""

UNCHANGED = "the same words as the question"
NUMBERS = "the numbers are not the question's"
SPANS = "a formula, code, bracket, address or blank is not as it was"
ANSWER = "an answer is named that was not, or no longer"
TURNS = "it holds a chat template's marks"
LENGTH = f"its length is not {LENGTH_RATIO[0]:g} to {LENGTH_RATIO[1]:g} times the question's"
COSINE = "its embedding is too far from the question's"

_WORD = re.compile(r"\w+")
_DIGITS = re.compile(
    r"""\d+(?:\.\d+){2,} | (?P<sign>(?<![\w)\]}%])[-\u2212\u2013](?=[$\u20ac\u00a3]?\.?\d))?[$\u20ac\u00a3]?
    (?P<value>\d{1,3}(?:,\d{3})+(?!,?\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)""",
    re.VERBOSE,
)
_EXACT = re.compile(r"(?:https?://|www\.)\S*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|_{2,}|\.{4,}|\d+(?:\.\d+){2,}")

_UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: n for n, word in enumerate((*_UNITS, *_TEENS))}
_TENFOLD = {word: 10 * n for n, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_FACTORS = {"twice": 2, "double": 2, "doubles": 2, "doubled": 2, "thrice": 3, "triple": 3, "triples": 3, "tripled": 3}
_OTHERS: dict[str, int | Fraction] = {**_FACTORS, "dozen": 12, "dozens": 12, "half": Fraction(1, 2)}
_VALUES = {w: Fraction(n) for w, n in {**_SMALL, **_TENFOLD, **_SCALES, **_OTHERS}.items() if n != 1}
_NUMBER_WORD = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENFOLD)})[ -](?P<unit>{'|'.join(_UNITS[1:10])})|(?P<word>{'|'.join(_VALUES)}))\b"
)


def problem(item: Item, paraphrase: str) -> str | None:
    """Why a paraphrase of an item's question cannot be used; None where nothing speaks against it."""
    question = item.question
    if words(paraphrase) == words(question):
        return UNCHANGED
    if not same_numbers(question, paraphrase):
        return NUMBERS
    if not (_holds_spans(question, paraphrase) and _holds_spans(paraphrase, question)):
        return SPANS
    if any(_names(question, text) != _names(paraphrase, text) for text in answers(item)):
        return ANSWER
    if any(paraphrase.count(mark) > question.count(mark) for mark in TURN_MARKS):
        return TURNS
    least, most = LENGTH_RATIO
    return None if least * len(question) <= len(paraphrase) <= most * len(question) else LENGTH


def words(text: str) -> list[str]:
    """A text as it is compared: its words without case and punctuation, in one form of each letter."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def numbers(text: str) -> tuple[Counter[Fraction], Counter[Fraction]]:
    """How often each value is written, in digits and in words.

    `one` is not counted, being a pronoun as often as a number; nor are ordinals and fractions but `half`. `twenty-five`
    is 25, but `two hundred` is 2 and 100.
    """
    plain = unicodedata.normalize("NFKC", text).replace("\u2044", "/")
    digits = Counter(
        Fraction(found["value"].replace(",", "")) * (-1 if found["sign"] else 1)
        for found in _DIGITS.finditer(plain)
        if found["value"]  # 192.168.1.1 is no number, and a span
    )
    spelled: Counter[Fraction] = Counter()
    for found in _NUMBER_WORD.finditer(plain.casefold()):
        word = found["word"]
        spelled[_VALUES[word] if word else Fraction(_TENFOLD[found["tens"]] + _SMALL[found["unit"]])] += 1
    return digits, spelled


def same_numbers(question: str, paraphrase: str) -> bool:
    """Whether both hold the same values as often, whether written in digits or in words; a 1 may become `one`."""
    (digits, spelled), (new_digits, new_spelled) = numbers(question), numbers(paraphrase)
    before, after = digits + spelled, new_digits + new_spelled
    ones, new_ones = before.pop(Fraction(1), 0), after.pop(Fraction(1), 0)
    if before != after:
        return False
    return ones <= new_ones + _ones(paraphrase) and new_ones <= ones + _ones(question)


def spans(text: str) -> Counter[str]:
    """Spans that are no prose, as often as they stand in a text."""
    found = [text[start:end] for start, end in regions(text)]
    return Counter([*found, *(match[0] for match in _EXACT.finditer(text))])


def answers(item: Item) -> Sequence[str]:
    """Texts of the choices; without any the gold answer, unless it is a number, which `same_numbers` looks after."""
    choices: Sequence[str] = item.extras.get("choices", ())
    if choices:
        return choices
    return (item.gold,) if any(map(str.isalpha, item.gold)) else ()


def _holds_spans(one: str, other: str) -> bool:
    """Whether the spans of one text stand in the other, each as often."""
    return all(other.count(span) >= n for span, n in spans(one).items())


def _names(text: str, answer: str) -> bool:
    """Whether a text names an answer, as whole words."""
    named = words(answer)
    return bool(named) and f" {' '.join(named)} " in f" {' '.join(words(text))} "


def _ones(text: str) -> int:
    return words(text).count("one")
