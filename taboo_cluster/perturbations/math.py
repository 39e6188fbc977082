"""Math: the same quantities written in another way (METHODS section 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import regex

from taboo_cluster.errors import UserError
from taboo_cluster.perturbations.base import PERTURBATIONS, PerturbationEntry, on_question
from taboo_cluster.perturbations.protected import regions
from taboo_cluster.perturbations.python_source import python_source

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:/\d+)?"
_BEFORE, _BEHIND = r"(?<![\w.,/:$])", r"(?![\w/:%]|[.,]\d)"
_AMOUNT = rf"{_BEFORE}\$?{_NUMBER}%?{_BEHIND}"
_OPERAND = rf"{_BEFORE}(?:\$?{_NUMBER}%?|[a-z]){_BEHIND}"


def _chain(operand: str, operator: str) -> str:
    return rf"{operand}(?:\s*(?:{operator})\s*{operand})+"


_CHAINS = regex.compile(
    "|".join(
        [
            _chain(_OPERAND, "[+]"),
            _chain(_OPERAND, "[*×·]"),
            _chain(_AMOUNT, "plus"),
            _chain(_AMOUNT, "times|multiplied by"),
            rf"(?<=\b(?:[Ss]um|[Pp]roduct) of ){_chain(_OPERAND, 'and')}",
        ]
    )
)
"""Operands joined by one operator; letters only with signs, and in a sum or product that is named."""
_OPERANDS = regex.compile(rf"({_OPERAND})")

_SHORT = r"\b(?!(?:is|if|as|in|or|so|be|to|at|on|do)\b)[a-zA-Z]{1,2}"
"""A letter or two that are no English word: a variable or a product of variables."""
_BOUND_BEFORE = regex.compile(
    r"(?:[-+*/×·÷^%−–)√]|\\\w+|\d|" + _SHORT + r"|\b(?:minus|plus|times|over|than|twice|thrice|double|triple|half|root|"
    r"negative|log|exp|sin|cos|tan|sqrt|mod|from|[\w-]+ths?|each|every))\s*\Z"
)
"""What may take the first operand for itself, so that it has to stay first."""
_BOUND_BEHIND = regex.compile(
    r"\s*(?:[-+*/×·÷^%−–!(\d…]|\.\.|" + _SHORT + r"\b|\b(?:minus|plus|times|multiplied|divided|over|mod|squared|cubed|"
    r"percent|per|raised|factorial|more|less)\b)"
)
"""What may take the last operand for itself."""
_DEFINED = regex.compile(
    rf"{_chain(_AMOUNT, '[-+*×·]')}\s*=\s*\d|{_chain('[a-z]', '[*×·]')}\s*="
    r"|(?:(?<![\w)\s%])|[a-zA-Z]{2})\s*\*|\*\s*(?:[a-zA-Z]{2}|(?![\s\w($]))"
)
"""A sign that the text gives a meaning of its own (`if 2 + 3 = 31`, `a * b = 2a + b`, `what digit is *?`)."""
_ORDER_COUNTS = regex.compile(
    r"\b(?:(?:sub)?groups?|rings?|matri\w+|(?:binary )?operations?|commut\w+|associat\w+|vectors?|permut\w+"
    r"|strings?)\b",
    regex.IGNORECASE,
)
"""In a text that has one of these, letters may stand for something other than numbers."""

_TERM = rf"(?:\d*[a-zA-Z]|\$?{_NUMBER}%?)"
_EXPRESSION = regex.compile(rf"(?<!\S)(?:{_TERM}(?: ?[-+*/=<>^×·÷−] ?{_TERM})+|\$?{_NUMBER}%?)(?=[.,;:!?]*(?:\s|\Z))")
_TUPLE = regex.compile(r"\([\d\s,.;-]*\)")
_SIGNS = regex.compile(r"[$%]")


@dataclass(frozen=True)
class Options:
    """How much is changed."""

    rate: float = 1.0
    """Probability of a change at each place that can be changed."""

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise UserError(f"a perturbation's rate is a probability from 0 to 1, not {self.rate:g}")


def symmetric_operations(text: str, options: Options, rng: np.random.Generator) -> str:
    """The operands of sums and products in the opposite order.

    `What is 3 plus 4?` -> `What is 4 plus 3?`; `a * b` -> `b * a`; `1 + 2 + 3` -> `3 + 2 + 1`; `the sum of 3 and 4` ->
    `the sum of 4 and 3`.

    Only where that cannot change the value: nothing else may bind to an operand (`10 - 3 + 4` and `twice 3 plus 4`
    stay), money and percentages are not mixed with plain numbers, letters stay where the text speaks of groups,
    matrices and the like, and all stays in a text that defines an operation. Code and LaTeX stay.
    """
    chains = [] if _DEFINED.search(text) else list(_outside(text, _CHAINS))
    draws = rng.random(len(chains)).tolist()
    hit = [span for span, draw in zip(chains, draws, strict=True) if draw < options.rate]
    for start, end in reversed(hit):
        text = text[:start] + _turned(text, start, end) + text[end:]
    return text


def latex(text: str, options: Options, rng: np.random.Generator) -> str:
    r"""Numbers and expressions that stand by themselves, as LaTeX mathematics.

    `He pays $7.50 for 3 pens, so 3 + 4 = 7.` -> `He pays $\$7.50$ for $3$ pens, so $3 + 4 = 7$.`

    Code, LaTeX, numbers in words (`5-mile`, `3rd`), times, addresses and tuples stay.
    """
    tuples = [found.span() for found in _TUPLE.finditer(text)]
    places = [span for span in _outside(text, _EXPRESSION) if not _overlaps(span, tuples)]
    draws = rng.random(len(places)).tolist()
    hit = [span for span, draw in zip(places, draws, strict=True) if draw < options.rate]
    for start, end in reversed(hit):
        text = f"{text[:start]}${_SIGNS.sub(lambda sign: chr(92) + sign[0], text[start:end])}${text[end:]}"
    return text


def _outside(text: str, pattern: regex.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Spans of a pattern outside code, LaTeX, brackets and braces."""
    if python_source(text) is None:
        inside = list(regions(text))
        yield from (span for found in pattern.finditer(text) if not _overlaps(span := found.span(), inside))


def _overlaps(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _turned(text: str, start: int, end: int) -> str:
    """A chain of operands with its operands in the opposite order; as it is where that may change the value."""
    parts = _OPERANDS.split(text[start:end])
    operands, operators = parts[1::2], parts[2:-1:2]
    named = operators[0].strip() == "and"
    alike = len({(operand[0] == "$", operand[-1] == "%") for operand in operands}) == 1
    bound = _BOUND_BEHIND.match(text, end) or (not named and _BOUND_BEFORE.search(text[:start]))
    lettered = any(operand.isalpha() for operand in operands) and _ORDER_COUNTS.search(text)
    if bound or lettered or not alike or len({operator.strip() for operator in operators}) > 1:
        return text[start:end]
    return "".join(operand + operator for operand, operator in zip(reversed(operands), [*operators, ""], strict=True))


PERTURBATIONS.register("symmetric_operations")(
    PerturbationEntry("math", on_question(symmetric_operations), Options, needs="math")
)
PERTURBATIONS.register("latex")(PerturbationEntry("math", on_question(latex), Options, needs="math"))
