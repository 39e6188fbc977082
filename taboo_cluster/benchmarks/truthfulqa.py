"""truthfulqa: questions that people often answer wrongly (Lin et al. 2022), its task mc1 with options by letter.

A row has `question` and `mc1_targets`: on the hub `choices` and `labels`, in the authors' file (mc_task.json) 0 or 1 by
answer, some of them blank, which are no options. Both list the right answer first; here each item has an order of its
own (`mixed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry
from taboo_cluster.benchmarks.choice_items import choice_item, mixed, unique_choices
from taboo_cluster.benchmarks.multiple_choice import MultipleChoice
from taboo_cluster.benchmarks.sources import DataOptions, DataSet, Row
from taboo_cluster.trial import Item

DATA = DataSet("truthfulqa/truthful_qa", "multiple_choice", ("README.md", "multiple_choice/*"))
SPLIT = "validation"


@dataclass(frozen=True)
class Options(DataOptions):
    """Settings of truthfulqa; `path`: the authors' mc_task.json, or JSONL."""


def build(options: Options) -> MultipleChoice:
    """The benchmark; its rows are loaded when its items are first asked for."""

    def load() -> list[Item]:
        rows = DATA.rows(options.path, SPLIT, options.revision)
        return unique_choices(mixed(_item(row)) for row in rows)

    return MultipleChoice("truthfulqa", load, options.max_tokens, options.stop)


def _item(row: Row) -> Item:
    targets = row.values.get("mc1_targets")
    if not isinstance(targets, Mapping):
        targets = {}
    by_answer = targets if "choices" not in targets else dict(zip(targets["choices"], targets["labels"], strict=True))
    choices = [answer for answer in by_answer if answer.strip()]
    right = [index for index, answer in enumerate(choices) if by_answer[answer] == 1]
    return choice_item(row.text("question"), choices, right[0] if len(right) == 1 else right, SPLIT, row.where)


BENCHMARKS.register("truthfulqa")(BenchmarkEntry(Options, build))
