"""Tables for people: drawn on a terminal, aligned plain lines elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Characters with which a completion could steer a terminal."""


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows under their column names; numbers are aligned to the right, a missing value is `-`."""
    cells = [[show(value) for value in row] for row in rows]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    if sys.stdout.isatty():
        _draw(columns, cells, numeric)
        return
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for line in [list(columns), *cells]:
        aligned = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ]
        print("  ".join(aligned).rstrip())


def show(value: Any) -> str:
    """One value: floats with four decimals at most, no newline in text."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if value and abs(value) < 1e-4:
            return f"{value:.2g}"
        text = f"{value:.4f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return _CONTROL.sub("\ufffd", " ".join(value.split())) if isinstance(value, str) else str(value)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _draw(columns: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, right in zip(columns, numeric, strict=True):
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))  # not as markup: a completion may hold any brackets and backslashes
    Console().print(table)
