"""arc: science questions from school exams (Clark et al. 2018), three to five options, from the hub or local JSONL.

A row of the hub has `question`, `choices` (`text`, `label`) and `answerKey`, one of the labels; a row of a local file
that, or `query` (`Question: ...`), `choices` (texts) and `gold` (index of the right one).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry
from taboo_cluster.benchmarks.choice_items import choice_item, unique_choices
from taboo_cluster.benchmarks.multiple_choice import MultipleChoice
from taboo_cluster.benchmarks.sources import DataSet, Row, SplitOptions
from taboo_cluster.trial import Item

DATASET = "allenai/ai2_arc"


@dataclass(frozen=True)
class Options(SplitOptions):
    """Settings of arc; `path`: JSONL file, or folder with `<split>.jsonl`."""

    subset: Literal["challenge", "easy"] = "challenge"
    """Of the hub's data set."""


def build(options: Options) -> MultipleChoice:
    """The benchmark; its rows are loaded when its items are first asked for."""

    def load() -> list[Item]:
        subset = f"ARC-{options.subset.capitalize()}"
        rows = DataSet(DATASET, subset, ("README.md", f"{subset}/*")).rows(
            options.path, options.split, options.revision
        )
        return unique_choices(_item(row, options.split) for row in rows)

    return MultipleChoice("arc", load, options.max_tokens, options.stop)


def _item(row: Row, split: str) -> Item:
    if "query" in row.values:
        question = row.text("query").removeprefix("Question:")
        return choice_item(question, row.values.get("choices"), row.values.get("gold"), split, row.where)
    choices, answer = row.values.get("choices"), row.values.get("answerKey")
    found: Mapping[str, Any] = choices if isinstance(choices, Mapping) else {}
    labels = list(found.get("label") or ())
    index = labels.index(answer) if answer in labels else answer
    return choice_item(row.text("question"), found.get("text"), index, split, row.where)


BENCHMARKS.register("arc")(BenchmarkEntry(Options, build))
