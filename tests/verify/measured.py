"""Where the slow checks keep what they measured."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "measured"


def write_page(name: str, title: str, lines: list[str]) -> None:
    """Write docs/measured/NAME.md: title, date and machine, then the lines. Printed too."""
    machine = f"{os.cpu_count()} CPU cores ({platform.machine()}), no GPU"
    text = "\n".join([f"# {title}", "", f"{datetime.date.today()}, {machine}.", "", *lines, ""])
    (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    print(f"\n{text}")


def table(header: list[str], rows: list[list[object]]) -> list[str]:
    """A Markdown table."""
    return [
        f"| {' | '.join(header)} |",
        f"| {' | '.join('---' for _ in header)} |",
        *(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows),
    ]
