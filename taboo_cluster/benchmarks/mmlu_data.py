"""MMLU's questions (Hendrycks et al. 2021), for the benchmarks that ask them: rows to items, examples, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from taboo_cluster.benchmarks.choice_items import choice_item, unique_choices
from taboo_cluster.benchmarks.sources import DataSet, Row, SplitOptions, csv_rows, hub_rows, local_rows
from taboo_cluster.errors import UserError, unknown
from taboo_cluster.trial import Item

DATA = DataSet("cais/mmlu", "all", ("README.md", "all/*"))
EXAMPLES = "dev"
"""The split of worked examples, five a subject."""

CSV_COLUMNS = ("question", "choice0", "choice1", "choice2", "choice3", "answer")


@dataclass(frozen=True)
class Options(SplitOptions):
    """Settings of mmlu and mmlu_open; `path`: JSONL file, or folder with `<split>/<subject>_<split>.csv` or
    `<split>.jsonl`."""

    subjects: list[str] | str | None = None
    """Only these subjects, by MMLU's names (`college_physics`); null takes all."""


@dataclass(frozen=True)
class Worked:
    """A worked example with options, whose reasoning names none of them by its letter."""

    question: str
    choices: tuple[str, ...]
    reasoning: str
    answer: int
    """Index of the right option."""


SHOTS = (
    Worked(
        "A train leaves at 9:40 and arrives at 13:05. How long does the ride take?",
        ("2 hours 25 minutes", "3 hours 25 minutes", "3 hours 35 minutes", "4 hours 25 minutes"),
        "From 9:40 to 12:40 it takes 3 hours. From 12:40 to 13:05 it takes 25 minutes more. "
        "Together this is 3 hours and 25 minutes.",
        1,
    ),
    Worked(
        "A metal spoon stands in hot soup. By what process does its dry handle become hot?",
        ("Evaporation", "Convection", "Radiation", "Conduction"),
        "The heat moves through the solid metal, which itself stays where it is. "
        "Heat that passes through a solid from particle to particle is conducted.",
        3,
    ),
    Worked(
        "Every mug of a shop that has no handle is blue. One of its mugs is red. What follows about this mug?",
        ("It is new.", "It is cheap.", "It has a handle.", "It has no handle."),
        "Without a handle the mug would be blue. It is red, so it is not blue. So it cannot be without a handle.",
        2,
    ),
    Worked(
        "What statement shows what a company owned and what it owed on the last day of its year?",
        ("Balance sheet", "Income statement", "Cash budget", "Price list"),
        "What is owned are assets, what is owed are liabilities. "
        "The statement that sets both against each other on one day is the balance sheet.",
        0,
    ),
    Worked(
        "At 6 dollars a farmer sells 40 boxes, at 7 dollars 35 boxes. How does the higher price change the revenue?",
        ("It falls by 5 dollars.", "It stays the same.", "It rises by 35 dollars.", "It rises by 5 dollars."),
        "At 6 dollars the revenue is 6 * 40 = 240 dollars. At 7 dollars it is 7 * 35 = 245 dollars. "
        "The difference is 245 - 240 = 5 dollars.",
        3,
    ),
)
"""Worked examples, written for this project: in no data set."""


@dataclass(frozen=True)
class Questions:
    """The items of a split."""

    items: Sequence[Item]
    """By id, those that cannot be asked last. `extras`: choices, and `problem` where there is one."""
    examples: Mapping[str, Sequence[Item]]
    """Items of the split of worked examples, by subject, in its order; empty for a local file."""


def load(options: Options) -> Questions:
    """The questions that the options ask for.

    Raises:
        UserError: a missing, empty or malformed source, an unknown subject, or no question that can be asked.
    """
    rows = _rows(options, options.split)
    wanted = _subjects(options, rows)
    items = unique_choices(_item(row, options.split) for row in rows if row.text("subject") in wanted)
    if "problem" in items[0].extras:
        raise UserError(f"{options.path or DATA.name}: no question can be asked; {items[0].extras['problem']}")
    examples: dict[str, list[Item]] = {}
    for example in (_item(row, EXAMPLES) for row in _example_rows(options)):
        if "problem" not in example.extras:
            examples.setdefault(str(example.group), []).append(example)
    return Questions(items, examples)


def _rows(options: Options, split: str) -> list[Row]:
    """Rows in the hub's columns: question, subject, choices, answer (index of the right one)."""
    if options.path is None:
        return hub_rows(DATA, split, options.revision)
    folder = Path(options.path).expanduser() / split
    if not folder.is_dir():
        return local_rows(options.path, split)
    files = sorted(folder.glob(f"*_{split}.csv"))
    rows = [
        _from_csv(row, file.stem.removesuffix(f"_{split}")) for file in files for row in csv_rows(file, CSV_COLUMNS)
    ]
    if not rows:
        raise UserError(f"there are no rows of files *_{split}.csv in {folder}")
    return rows


def _from_csv(row: Row, subject: str) -> Row:
    answer = row.values["answer"].strip()
    return Row(
        row.where,
        {
            "question": row.values["question"],
            "subject": subject,
            "choices": [row.values[f"choice{index}"] for index in range(4)],
            "answer": int(answer) if answer.isdecimal() else answer,
        },
    )


def _example_rows(options: Options) -> list[Row]:
    """Rows of the worked examples; none where a local source has no such split."""
    if options.path is not None:
        root = Path(options.path).expanduser()
        if not (root / EXAMPLES).is_dir() and not (root / f"{EXAMPLES}.jsonl").is_file():
            return []
    return _rows(options, EXAMPLES)


def _subjects(options: Options, rows: Sequence[Row]) -> set[str]:
    known = {row.text("subject") for row in rows}
    asked = [options.subjects] if isinstance(options.subjects, str) else options.subjects
    for subject in asked or ():
        if subject not in known:
            raise unknown("MMLU subject", subject, known)
    return known if asked is None else set(asked)


def _item(row: Row, split: str) -> Item:
    choices, answer = row.values.get("choices"), row.values.get("answer")
    return choice_item(row.text("question"), choices, answer, split, row.where, group=row.text("subject"))
