"""Where the slow checks keep what they measured."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "measured"


def command(*arguments: str) -> str:
    """Standard output of `python -m taboo_cluster ...`, which has to succeed."""
    environment = os.environ | {"COLUMNS": "240"}
    run = [sys.executable, "-m", "taboo_cluster", *arguments]
    done = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def answers(run_dir: str, queries: Mapping[str, str]) -> list[str]:
    """What the command `sql` says to each query, under its title."""
    lines = []
    for title, query in queries.items():
        shown = command("sql", run_dir, " ".join(query.split())).rstrip()
        lines += [f"## {title}", "", "```text", shown or "none", "```", ""]
    return lines


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
