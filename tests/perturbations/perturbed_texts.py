"""What the tests of perturbations share: a perturbed question, and HumanEval's items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from taboo_cluster.perturbations.stack import perturb
from taboo_cluster.trial import Item

SHARED = Path(__file__).parents[2] / "../shared/data"

FUNCTION = '''from typing import List, Optional


def sum_of_parts(list_of_parts: List[int], bound: Optional[int] = None) -> int:
    """Return the total length of the given parts, without those above the bound.
    The names 'left side' and list_of_parts stay.
    For example sum_of_parts([2]) gives two, not None.

    >>> sum_of_parts([1, 2, 30], bound = 10)  # the longest part is left out
    3
    """
'''
BODY = """    found = 0
    for one_part in list_of_parts:
        if bound is None or one_part <= bound:
            found += one_part
    return found
"""
TEST = """
def check(candidate):
    assert candidate([1, 2, 30], 10) == 3
    assert candidate([]) == 0 == sum_of_parts([])
"""


def item(question: str, **extras: Any) -> Item:
    """An item of that question; its id is `item`."""
    return Item("item", question, "gold", "test", "item", extras=extras)


def made(stack: str, question: str, seed: int = 0) -> str:
    """The question as a stack of perturbations makes it."""
    return perturb(item(question), stack, seed).subject.item.question


def framed(stack: str, question: str, seed: int = 0) -> str:
    """The same with what is put around it."""
    subject = perturb(item(question), stack, seed).subject
    return subject.before + subject.item.question + subject.after


def function_item() -> Item:
    """A program to complete."""
    return Item("f", FUNCTION, BODY, "test", "f", extras={"entry_point": "sum_of_parts", "test": TEST})


def human_eval() -> list[Item]:
    """HumanEval's items; none where its file is not there."""
    path = SHARED / "humaneval/HumanEval.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    return [
        Item(
            row["task_id"],
            row["prompt"],
            row["canonical_solution"],
            "test",
            row["task_id"],
            extras={"entry_point": row["entry_point"], "test": row["test"]},
        )
        for row in rows
    ]
