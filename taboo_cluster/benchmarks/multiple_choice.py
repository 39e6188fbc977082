"""Benchmarks of questions with lettered options: prompts, letters, chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from statistics import fmean

from taboo_cluster.benchmarks.base import Prompt, Verdict
from taboo_cluster.benchmarks.choice_items import by_letter, shown
from taboo_cluster.benchmarks.choices import LETTERS, SCORER_VERSION, lettered, score_letter
from taboo_cluster.benchmarks.few_shot import (
    COT,
    DIRECT,
    Example,
    check_condition,
    checked,
    few_shot,
    instruction,
    zero_shot,
)
from taboo_cluster.benchmarks.mmlu_data import SHOTS
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Item


class MultipleChoice:
    """A benchmark whose answer is an option's letter.

    Args:
        name: of the benchmark.
        load: makes the items when they are first asked for; see `choice_items`.
        max_tokens: most tokens of a completion.
        stop: strings that end a completion, in place of the benchmark's own; None keeps those.
    """

    scorer_version = SCORER_VERSION
    styles: tuple[str, ...] = (COT, DIRECT)
    default_shots = 0

    def __init__(
        self,
        name: str,
        load: Callable[[], Sequence[Item]],
        max_tokens: int,
        stop: Sequence[str] | str | None = None,
    ) -> None:
        self.name = name
        self.max_tokens = max_tokens
        self._load = load
        self._stop = checked(name, max_tokens, stop)

    @cached_property
    def _items(self) -> Sequence[Item]:
        items = self._load()
        if "problem" in items[0].extras:
            raise UserError(f"{self.name}: no question can be asked; {items[0].extras['problem']}")
        return items

    def items(self) -> Sequence[Item]:
        """The items, in order of their ids; those that cannot be asked come last. Raises UserError."""
        return self._items

    @cached_property
    def chance(self) -> float | None:
        """Accuracy of guessing: the mean, over the items that can be asked, of 1 / number of options."""
        return fmean(1 / len(self.options(item)) for item in self.items() if "problem" not in item.extras)

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """Question and options, then the reasoning or the letter.

        Raises:
            TrialError: `item_invalid`, for an item without options or with an answer that is none of them.
            UserError: an unknown style, or more examples than there are.
        """
        check_condition(self.name, self.styles, style, n_shots, len(SHOTS))
        asked = self.shown(item, question)
        if not n_shots:
            return zero_shot(asked, style, "the letter of the right option", self._stop)
        examples = self.examples(item, style, n_shots)
        return few_shot(asked, examples, style, instruction(style, "the letter alone"), self._stop)

    def shown(self, item: Item, question: str) -> str:
        """The question and its options; raises TrialError `item_invalid` where it cannot be asked."""
        return shown(item, question)

    def options(self, item: Item) -> Sequence[str]:
        """The options' texts in the order of their letters."""
        return by_letter(item)

    def examples(self, item: Item, style: str, n_shots: int) -> Sequence[Example]:
        """Worked examples for an item's prompt: the first of this project's own."""
        return _EXAMPLES[:n_shots]

    def judged_as(self, item: Item, question: str) -> tuple[str, str]:
        """For a judge: the question with its options, and the right one with its letter."""
        return self.shown(item, question), f"{item.gold}. {self.options(item)[LETTERS.index(item.gold)]}"

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """The letter against the gold one."""
        return score_letter(item.gold, self.options(item), completion, finish_reason)

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """The gold letter is correct; an empty text and another letter are not."""
        item = self.items()[0]
        other = next(letter for letter in LETTERS if letter != item.gold)
        return ((item, f"<answer>{item.gold}</answer>", True), (item, "", False), (item, f"Answer: {other}", False))


_EXAMPLES = [Example(f"{e.question}\n{lettered(e.choices)}", e.reasoning, LETTERS[e.answer]) for e in SHOTS]
