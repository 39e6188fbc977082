"""gpqa: graduate-level science questions (Rein et al. 2023), four options each.

The data set is gated: its terms have to be accepted on the hub, and it must not be passed on. It lists the right answer
first; here each item has an order of its own (`mixed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry
from taboo_cluster.benchmarks.choice_items import choice_item, mixed, unique_choices
from taboo_cluster.benchmarks.multiple_choice import MultipleChoice
from taboo_cluster.benchmarks.sources import DataOptions, DataSet, Row, csv_rows, hub_rows
from taboo_cluster.trial import Item

DATASET, SPLIT = "Idavidrein/gpqa", "train"
"""It has no other split."""
CHOICES = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")


@dataclass(frozen=True)
class Options(DataOptions):
    """Settings of gpqa; `path`: CSV file with the hub's columns."""

    subset: Literal["diamond", "main", "extended"] = "diamond"
    """Of the hub's data set."""
    max_tokens: int = 2048


def build(options: Options) -> MultipleChoice:
    """The benchmark; its rows are loaded when its items are first asked for."""

    def load() -> list[Item]:
        if options.path is None:
            subset = f"gpqa_{options.subset}"
            rows = hub_rows(DataSet(DATASET, subset, ("README.md", f"{subset}.csv")), SPLIT, options.revision)
        else:
            rows = csv_rows(Path(options.path).expanduser(), ("Question", *CHOICES))
        return unique_choices(mixed(_item(row)) for row in rows)

    return MultipleChoice("gpqa", load, options.max_tokens, options.stop)


def _item(row: Row) -> Item:
    group = row.values.get("High-level domain")
    return choice_item(row.text("Question"), [row.values.get(name) for name in CHOICES], 0, SPLIT, row.where, group)


BENCHMARKS.register("gpqa")(BenchmarkEntry(Options, build))
