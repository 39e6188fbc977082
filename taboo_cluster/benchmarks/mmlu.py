"""mmlu: multiple choice by letter over 57 subjects (Hendrycks et al. 2021), from the hub or from local CSV or JSONL.

A boundary control: an intervention at word starts masks the letter itself, so it has its own table with its chance
level and stays out of every average of retention (METHODS, section 1). An option named by its text alone is no
answer here; `mmlu_open` asks for the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry
from taboo_cluster.benchmarks.choice_items import shown
from taboo_cluster.benchmarks.few_shot import COT, Example
from taboo_cluster.benchmarks.mmlu_data import DATA, EXAMPLES, Options, Questions, load
from taboo_cluster.benchmarks.multiple_choice import MultipleChoice
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Item


class Mmlu(MultipleChoice):
    """Questions with lettered options.

    Style `cot` has worked examples of its own: MMLU's have no reasoning. Style `direct` takes the item's subject's
    examples from MMLU's dev split, in their order, without the item's own question where it is among them.
    """

    default_shots = 2

    def __init__(self, options: Options) -> None:
        super().__init__("mmlu", lambda: self._questions.items, options.max_tokens, options.stop)
        self._options = options

    @cached_property
    def _questions(self) -> Questions:
        return load(self._options)

    def examples(self, item: Item, style: str, n_shots: int) -> Sequence[Example]:
        """Worked examples for an item's prompt. Raises UserError where its subject has not as many."""
        if style == COT:
            return super().examples(item, style, n_shots)
        examples = self._questions.examples.get(str(item.group), ())
        if n_shots > len(examples):
            raise UserError(
                f"mmlu: {item.group} has {len(examples)} worked examples in split {EXAMPLES} of "
                f"{self._options.path or DATA.name}; set n_shots to that or less, or prompt_style=cot"
            )
        others = [example for example in examples if example.question != item.question][:n_shots]
        return [Example(shown(e, e.question), "", e.gold) for e in others]


BENCHMARKS.register("mmlu")(BenchmarkEntry(Options, Mmlu))
