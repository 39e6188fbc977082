"""Records of perturbed benchmarks, by the items answered right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Record = Callable[..., dict[str, Any]]


def answers(make: Record, right: str, *args: Any, items: int = 10, **more: Any) -> list[dict[str, Any]]:
    """Records of items 0, 1 ...; `right` names the items answered right."""
    return [make(str(item), str(item) in right, *args, **more) for item in range(items)]


def first(make: Record, right: int, *args: Any, items: int = 100, **more: Any) -> list[dict[str, Any]]:
    """Records of items 0, 1 ..., the first `right` of them right."""
    return [make(f"{item:03}", item < right, *args, **more) for item in range(items)]


def variants(record: Record, perturbed: Record, rows: tuple[str, ...], **more: Any) -> list[dict[str, Any]]:
    """A table of answers, one row an item: the clean prompt, then typos, padding ..."""
    stacks = ("", "typos", "padding", "stop_words", "word_split")
    made = []
    for item, row in enumerate(rows):
        for stack, right in zip(stacks, row, strict=False):
            correct = {"1": True, "0": False, "-": None}[right]
            made.append(perturbed(str(item), correct, stack, **more) if stack else record(str(item), correct, **more))
    return made
