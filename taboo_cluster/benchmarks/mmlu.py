"""mmlu: multiple choice by letter over 57 subjects (Hendrycks et al. 2021), from the hub or from local CSV or JSONL.

A boundary control: an intervention at word starts masks the letter itself, so it has its own table with its chance
level and stays out of every average of retention (METHODS, section 1). An option named by its text alone is no
answer here; `mmlu_open` asks for the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry, Prompt, Verdict
from taboo_cluster.benchmarks.choices import LETTERS, SCORER_VERSION, lettered, score_letter
from taboo_cluster.benchmarks.few_shot import COT, DIRECT, Example, check_condition, checked, few_shot, instruction
from taboo_cluster.benchmarks.mmlu_data import DATASET, EXAMPLES, SHOTS, Options, Questions, checked_choices, load
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Item


class Mmlu:
    """Questions with lettered options.

    Style `cot` has worked examples of its own: MMLU's have no reasoning. Style `direct` takes the item's subject's
    examples from MMLU's dev split, in their order, without the item's own question where it is among them.
    """

    name = "mmlu"
    scorer_version = SCORER_VERSION
    styles: tuple[str, ...] = (COT, DIRECT)
    default_shots = 2
    chance: float | None = 0.25

    def __init__(self, options: Options) -> None:
        self.max_tokens = options.max_tokens
        self._stop = checked(self.name, options.max_tokens, options.stop)
        self._options = options

    @cached_property
    def _questions(self) -> Questions:
        return load(self._options)

    def items(self) -> Sequence[Item]:
        """The items, in order of their ids; those that cannot be asked come last. Raises UserError."""
        return self._questions.items

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """Question and options, then the reasoning or the letter.

        Raises:
            TrialError: `item_invalid`, for an item without options or with an answer that is none of them.
            UserError: an unknown style, or more examples than there are.
        """
        check_condition(self.name, self.styles, style, n_shots, len(SHOTS))
        shown = f"{question}\n{lettered(checked_choices(item))}"
        examples = _SHOTS[:n_shots] if style == COT else self._own_examples(item, n_shots)
        return few_shot(shown, examples, style, instruction(style, "the letter alone"), self._stop)

    def _own_examples(self, item: Item, n_shots: int) -> list[Example]:
        examples = self._questions.examples.get(str(item.group), ()) if n_shots else ()
        if n_shots > len(examples):
            raise UserError(
                f"mmlu: {item.group} has {len(examples)} worked examples in split {EXAMPLES} of "
                f"{self._options.path or DATASET}; set n_shots to that or less, or prompt_style=cot"
            )
        others = [example for example in examples if example.question != item.question][:n_shots]
        return [Example(f"{e.question}\n{lettered(checked_choices(e))}", "", e.gold) for e in others]

    def judged_as(self, item: Item, question: str) -> tuple[str, str]:
        """For a judge: the question with its options, and the right one with its letter."""
        choices = checked_choices(item)
        return f"{question}\n{lettered(choices)}", f"{item.gold}. {choices[LETTERS.index(item.gold)]}"

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """The letter against the gold one."""
        return score_letter(item.gold, item.extras["choices"], completion, finish_reason)

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """The gold letter is correct; an empty text and another letter are not."""
        item = self.items()[0]
        other = next(letter for letter in LETTERS if letter != item.gold)
        return ((item, f"Answer: {item.gold}", True), (item, "", False), (item, f"Answer: {other}", False))


_SHOTS = [Example(f"{e.question}\n{lettered(e.choices)}", e.reasoning, LETTERS[e.answer]) for e in SHOTS]

BENCHMARKS.register("mmlu")(BenchmarkEntry(Options, Mmlu))
