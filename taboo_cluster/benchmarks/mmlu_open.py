"""mmlu_open: MMLU's questions without their options, answered in words and scored by the right option's text.

Left out are questions that cannot be asked so (`left_out`): those that speak of their options (`which of the
following`, `all of the above`), those whose answer has more than five words, which nobody would word alike, those whose
answer is yes, no, true or false, which guessing gets right, and those where another option differs from the answer in
signs only (`p ∨ q`, `p ⊃ q`), which normalisation does not tell apart. `notes` says how many.

An answer is right where it equals the right option's text, both normalised as for triviaqa, or where that text and no
other option's occurs in it, unless the answer denies something. Where all options are one number each, with the same
words around it, the number decides, by exact value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry, Prompt, Verdict
from taboo_cluster.benchmarks.choice_items import checked_choices
from taboo_cluster.benchmarks.choices import LETTERS, speaks_of_options
from taboo_cluster.benchmarks.few_shot import COT, DIRECT, Example, check_condition, checked, few_shot, instruction
from taboo_cluster.benchmarks.mmlu_data import DATA, SHOTS, Options, load
from taboo_cluster.benchmarks.numeric import extract_number, score_number
from taboo_cluster.benchmarks.outcome import verdict
from taboo_cluster.benchmarks.short_answer import NEGATION, find_answer, is_no_answer, normalise, place_of, readings
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Item

MOST_WORDS = 5
"""Of an answer."""

_ASKS_FOR_ONE = re.compile(
    r"\b(?:following|[Ss]tatement [1I]\b|[Oo]f (?:these|those)|odd one out|[Ss]elect|[Cc]hoose)\b"
    r"|\b(?:EXCEPT|NOT|LEAST|MOST|BEST)\b|\bexcept:?\s*$|\b[Ww]hich (?:one|statement|option|answer|choice)\b"
    r"|\bWhat one\b|\bbelow\b"
)
_GUESSABLE = re.compile(r"(?:yes|no|true|false)\b")
_NUMBER = re.compile(r"-?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:/\d+)?")


class MmluOpen:
    """Questions without options. Both styles have worked examples of their own."""

    name = "mmlu_open"
    scorer_version = "mmlu_open-2"
    styles: tuple[str, ...] = (COT, DIRECT)
    default_shots = 2
    chance: float | None = None

    def __init__(self, options: Options) -> None:
        self.max_tokens = options.max_tokens
        self._stop = checked(self.name, options.max_tokens, options.stop)
        self._options = options

    @cached_property
    def _sorted(self) -> tuple[Sequence[Item], Counter[str]]:
        """Items to be asked, and how many of the others are left out for which reason."""
        items, reasons = [], Counter[str]()
        for item in load(self._options).items:
            if "problem" in item.extras:
                items.append(item)
            elif reason := left_out(item):
                reasons[reason] += 1
            else:
                items.append(replace(item, gold=gold_text(item)))
        if not items or "problem" in items[0].extras:
            raise UserError(f"{self._options.path or DATA.name} has no question that can be asked without its options")
        return items, reasons

    def items(self) -> Sequence[Item]:
        """In order of their ids, gold is the right option's text; those that cannot be asked at all come last.

        Raises UserError.
        """
        return self._sorted[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """How many questions are left out, and why."""
        items, reasons = self._sorted
        counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
        return (f"mmlu_open asks {len(items):,} questions; left out: {counts or 'none'}",)

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """The question, then the reasoning or the answer.

        Raises:
            TrialError: `item_invalid`, for an item without options or with an answer that is none of them.
            UserError: an unknown style, or more examples than there are.
        """
        check_condition(self.name, self.styles, style, n_shots, len(_SHOTS))
        checked_choices(item)
        return few_shot(question, _SHOTS[:n_shots], style, instruction(style, "the answer in a few words"), self._stop)

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """The answer against the right option's text; numbers by value."""
        choices, gold = item.extras["choices"], item.gold
        found = find_answer(completion, "last_line")
        if differ_by_number(choices) and not (found and NEGATION.match(found.text)):
            return score_number(gold, completion, finish_reason)
        if found is None:
            return verdict(completion, finish_reason, answer=None, final=False, score=0.0)
        given, target = [normalise(reading.text) for reading in readings(found.words)], normalise(gold)
        right = target in given or (not NEGATION.search(found.text) and named(given[0], choices) == {target})
        answer = None if not right and is_no_answer(found.text) else given[0]
        return verdict(
            completion,
            finish_reason,
            answer=answer,
            final=found.complete,
            score=float(right),
            details={"form": found.form},
            span=None if answer is None else place_of(found.words),
        )

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """The right option's text is correct; an empty text and another option's are not."""
        item = self.items()[0]
        other = next(choice for choice in item.extras["choices"] if normalise(choice) != normalise(item.gold))
        return ((item, f"Answer: {item.gold}", True), (item, "", False), (item, f"Answer: {other}", False))


def gold_text(item: Item) -> str:
    """The right option's text, of an item of mmlu."""
    return str(item.extras["choices"][LETTERS.index(item.gold)])


def left_out(item: Item) -> str | None:
    """Why a question of mmlu cannot be asked without its options; None where it can."""
    text, choices = gold_text(item), item.extras["choices"]
    gold = normalise(text)
    if _ASKS_FOR_ONE.search(item.question) or any(map(speaks_of_options, choices)):
        return "that speak of their options"
    if not gold or len(gold.split()) > MOST_WORDS:
        return f"with an answer of more than {MOST_WORDS} words"
    if _GUESSABLE.match(gold):
        return "with an answer that guessing gets right"
    if any(normalise(choice) == gold for choice in choices if choice != text):
        return "whose options differ in signs only"
    return None


def differ_by_number(choices: Sequence[str]) -> bool:
    """True where every option is one number that can be read, with the same words or none around it in all."""
    around = {_NUMBER.sub("#", choice.rstrip(".")).replace(" ", "") for choice in choices}
    return len(around) == 1 and around.pop().count("#") == 1 and all(map(extract_number, choices))


def named(answer: str, choices: Sequence[str]) -> set[str]:
    """The options, normalised, whose text occurs in an answer: whole words, and not only inside a longer option's."""
    rest, found = f" {answer} ", set()
    for choice in sorted(map(normalise, choices), key=len, reverse=True):
        if choice and f" {choice} " in rest:
            found.add(choice)
            rest = rest.replace(f" {choice} ", " | ")
    return found


_SHOTS = [Example(e.question, e.reasoning, e.choices[e.answer].rstrip(".")) for e in SHOTS]

BENCHMARKS.register("mmlu_open")(BenchmarkEntry(Options, MmluOpen))
