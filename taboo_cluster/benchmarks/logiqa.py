"""logiqa: logical reasoning from civil-service exams (Liu et al. 2020), a passage and four options each.

A row of the hub has `context`, `query`, `options` and `correct_option`; a row of a local file `query`, which holds
context, question and options, and `gold`, an index. Questions on one passage share a `cluster_id`.

In 19 rows of the source the options are printed as A, C, B, D. Both data sets number them by place but keep the
printed letter of the answer, which in 12 of these rows (WRONG) is then another option's: they are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry
from taboo_cluster.benchmarks.choice_items import choice_item, unique_choices
from taboo_cluster.benchmarks.multiple_choice import MultipleChoice
from taboo_cluster.benchmarks.sources import DataSet, Row, SplitOptions
from taboo_cluster.hashing import stable_hash
from taboo_cluster.trial import Item

DATA = DataSet("lucasmccabe/logiqa", "default", ("default/*",))
CONVERTED = "refs/convert/parquet"
"""The branch with the hub's own Parquet files: the default branch has a script, which `datasets` does not run."""

WRONG = frozenset(
    (
        *("1e074da8", "b1b2c3dd", "fd205856", "73b7efe6", "c3ac68d6", "cb3d1249"),
        *("b5a24306", "78778cdb", "980d1731", "53fb10f8", "07c240eb", "28911520"),
    )
)
"""Rows with another option's letter, each as a hash of the letters and digits of passage and question."""

_QUERY = re.compile(
    r"Context: (.*)\nQuestion: (.*)\nChoices: " + r"\n".join(rf"{letter}\. (.*)" for letter in "ABCD"), re.DOTALL
)


@dataclass(frozen=True)
class Options(SplitOptions):
    """Settings of logiqa; `path`: JSONL file, or folder with `<split>.jsonl`; no `revision` is refs/convert/parquet."""


class LogiQa(MultipleChoice):
    """Passages with a question and lettered options."""

    def __init__(self, options: Options) -> None:
        super().__init__("logiqa", self._load_items, options.max_tokens, options.stop)
        self._options = options
        self._left_out = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """How many questions are left out."""
        asked = len(self.items())
        return (
            f"logiqa asks {asked:,} questions; left out: {self._left_out} whose answer has another option's letter",
        )

    def _load_items(self) -> Sequence[Item]:
        options = self._options
        rows = DATA.rows(options.path, options.split, options.revision or CONVERTED)
        items = [_item(row, options.split) for row in rows]
        right = unique_choices(item for item in items if _key(item) not in WRONG)
        self._left_out = len({item.item_id for item in items}) - len(right)
        return right


def _item(row: Row, split: str) -> Item:
    values = row.values
    if "context" in values:
        context, question, answer = row.text("context"), row.text("query"), values.get("correct_option")
        choices = values.get("options")
        answer = int(answer) if isinstance(answer, str) and answer.isdecimal() else answer
    else:
        found = _QUERY.fullmatch(row.text("query").strip())
        context, question, *choices = found.groups() if found else ("", row.text("query"))
        answer = values.get("gold")
    context = context.strip()
    shared = stable_hash(context)[:16] if context else None
    return choice_item(f"{context}\n{question.strip()}", choices, answer, split, row.where, cluster_id=shared)


def _key(item: Item) -> str:
    return stable_hash("".join(filter(str.isalnum, item.question.lower())))[:8]


BENCHMARKS.register("logiqa")(BenchmarkEntry(Options, LogiQa))
