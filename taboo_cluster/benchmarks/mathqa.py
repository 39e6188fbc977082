"""mathqa: word problems with five options (Amini et al. 2019), from the hub or from a local JSON file.

A row of the hub has `Problem`, `options` (`a ) 38 , b ) 27.675 , ...`) and `correct`, a letter; a row of a local file
`instruction`, the problem with `The options: A ) 38 , ...` behind it, and `answer`. Some rows print the options as a
Python list. The data set is lower-case throughout; copies in which a to e are capitals are read as it is.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry
from taboo_cluster.benchmarks.choice_items import choice_item, unique_choices
from taboo_cluster.benchmarks.multiple_choice import MultipleChoice
from taboo_cluster.benchmarks.sources import DataSet, Row, SplitOptions
from taboo_cluster.trial import Item

DATA = DataSet("regisss/math_qa", "default", ("README.md", "*.parquet"))
"""The rows of allenai/math_qa as Parquet: that one has a script, which `datasets` does not run any more."""

_OPTIONS = re.compile(", ".join(rf"{letter} \) (.*?) ?" for letter in "abcde"), re.DOTALL)


@dataclass(frozen=True)
class Options(SplitOptions):
    """Settings of mathqa; `path`: JSON file of one list, or JSONL."""


def build(options: Options) -> MultipleChoice:
    """The benchmark; its rows are loaded when its items are first asked for."""

    def load() -> list[Item]:
        rows = DATA.rows(options.path, options.split, options.revision)
        return unique_choices(_item(row, options.split) for row in rows)

    return MultipleChoice("mathqa", load, options.max_tokens, options.stop)


def _item(row: Row, split: str) -> Item:
    if "instruction" in row.values:
        question, _, printed = row.text("instruction").rpartition("The options:")
        answer = row.values.get("answer")
    else:
        question, printed, answer = row.text("Problem"), row.text("options"), row.values.get("correct")
    index = "abcde".find(answer.lower()) if isinstance(answer, str) and len(answer) == 1 else answer
    return choice_item(question, read_options(printed), index, split, row.where)


def read_options(printed: str) -> list[str] | None:
    """The five options of a line of them; None where it does not hold five.

    `a ) 38 , b ) 1,200 , ...` and `['a ) 38', 'b ) 1,200', ...]` -> `38`, `1,200`, ...
    """
    text = printed.strip().lower()
    if text.startswith("["):
        text = _joined(text)
    found = _OPTIONS.fullmatch(text)
    return [option.strip() for option in found.groups()] if found else None


def _joined(text: str) -> str:
    try:
        options: Any = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return " , ".join(map(str, options))


BENCHMARKS.register("mathqa")(BenchmarkEntry(Options, build))
