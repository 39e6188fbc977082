"""What people say of perturbed texts: a CSV form for each of them, and how it is read back."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from taboo_cluster.errors import UserError
from taboo_cluster.preservation import VERDICTS
from taboo_cluster.preservation.texts import PLACE, Place, Text

COLUMNS = ("text_id", *PLACE, "clean", "perturbed", "choices", "gold", "verdict")
NEEDED = ("text_id", "verdict")
"""The others are for reading: spreadsheets round long numbers and drop leading zeros."""

Verdicts = Mapping[Place, str]


def write_form(file: str, texts: Iterable[Text]) -> int:
    """Write a form with an empty column `verdict`, and return its number of texts.

    Raises UserError for a file that is there already, or cannot be written.
    """
    rows = [[t.place.text_id, *_place(t), *map(_shown, (t.clean, t.perturbed, t.listed, t.gold)), ""] for t in texts]
    try:
        with open(file, "x", encoding="utf-8-sig", newline="") as out:  # the mark tells spreadsheets that it is UTF-8
            csv.writer(out).writerows([COLUMNS, *rows])
    except FileExistsError:
        raise UserError(f"{file} is there already: name another file, so that no verdict in it is lost") from None
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror or error}") from error
    return len(rows)


def read_form(file: str, known: Collection[Place]) -> Verdicts:
    """The verdicts in a filled form; a text whose verdict is left empty is not among them.

    Needed are the columns `text_id` and `verdict` (kept or lost, in any case); others are ignored.

    Args:
        file: CSV with commas or semicolons.
        known: the run's changed texts.

    Raises UserError for a file that cannot be read, lacks a column, or has a row that fits no text or no verdict.
    """
    by_id = {place.text_id: place for place in known}
    found: dict[Place, str] = {}
    for number, row in _rows(file):
        place, verdict = by_id.get(row["text_id"]), (row["verdict"] or "").strip().lower()
        if place is None:
            raise UserError(f"{file} line {number}: the run has no such perturbed text that differs from its question")
        if verdict not in (*VERDICTS, ""):
            raise UserError(f"{file} line {number}: a verdict is {' or '.join(VERDICTS)}, or empty, not {verdict!r}")
        if place in found:
            raise UserError(f"{file} line {number}: this text has a verdict in an earlier line")
        if verdict:
            found[place] = verdict
    if not found:
        raise UserError(f"{file} holds no verdict: its column verdict is empty")
    return found


def rater_name(file: str) -> str:
    """The file's name without its ending: who rated is known by it."""
    return Path(file).stem


def _rows(file: str) -> list[tuple[int, dict[str, str]]]:
    """(line, values) of each row."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    header = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=";" if ";" in header else ",", strict=True)
    if missing := [name for name in NEEDED if name not in (reader.fieldnames or ())]:
        raise UserError(
            f"{file} has no column {missing[0]}; it needs {' and '.join(NEEDED)} (--write-csv makes a form)"
        )
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise UserError(f"{file} is not CSV after line {reader.line_num}: {error}") from error


def _place(text: Text) -> list[str | int]:
    return [getattr(text.place, name) for name in PLACE]


def _shown(text: str) -> str:
    """A text that a spreadsheet takes for text: one that begins like a formula gets an apostrophe in front."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
