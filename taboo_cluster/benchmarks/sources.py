"""Where a benchmark's rows come from: a local JSONL or CSV file, a folder of them, or a data set on the hub."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taboo_cluster.errors import UserError
from taboo_cluster.hub import snapshot


@dataclass(frozen=True)
class DataOptions:
    """Settings of every benchmark that reads a data set with one split."""

    path: str | None = None
    """Local file or folder; null loads the data set from the hub."""
    revision: str | None = None
    """Branch, tag or commit of the data set on the hub."""
    max_tokens: int = 512
    """Most tokens of a completion."""
    stop: list[str] | str | None = None
    """Strings that end a completion; null takes an invented next question for base models, none for aligned ones."""


@dataclass(frozen=True)
class SplitOptions(DataOptions):
    """Settings of every benchmark that reads a split of a data set."""

    split: str = "test"
    """On the hub; of a local folder the files of that name."""


@dataclass(frozen=True)
class Row:
    """One row, with what a message calls it."""

    where: str
    """File and line, or data set and index."""
    values: Mapping[str, Any]

    def text(self, column: str) -> str:
        """A column that must hold text; raises UserError where it is missing, not text or blank."""
        value = self.values.get(column)
        if column not in self.values:
            raise UserError(f"{self.where}: no column {column!r}; it has: {', '.join(map(str, self.values)) or 'none'}")
        if not isinstance(value, str) or not value.strip():
            raise UserError(f"{self.where}: {column!r} must hold text, not {value!r}")
        return value


@dataclass(frozen=True)
class DataSet:
    """A data set on the Hugging Face hub that may lie in local files as well."""

    name: str
    """`owner/name`."""
    subset: str
    """Its configuration."""
    files: tuple[str, ...]
    """Patterns of the files that hold the subset, its card (README.md) included."""

    def rows(self, path: str | None, split: str, revision: str | None) -> list[Row]:
        """Rows of a split: of the local files where `path` names some (`local_rows`), else of the hub (`hub_rows`)."""
        return hub_rows(self, split, revision) if path is None else local_rows(path, split)


def local_rows(path: str, split: str) -> list[Row]:
    """Rows of a JSONL file, or of the files `<split>.jsonl` or else `<split>*.jsonl` of a folder, by name.

    A file whose name ends in .json holds one list of them instead.

    Raises:
        UserError: nothing there, no rows, or a line that is not a JSON object (with its number).
    """
    root = Path(path).expanduser()
    if root.is_dir():
        exact = root / f"{split}.jsonl"
        files = [exact] if exact.is_file() else sorted(root.glob(f"{split}*.jsonl"))
        if not files:
            found = ", ".join(sorted(file.name for file in root.iterdir())[:8]) or "nothing"
            raise UserError(f"no {split}.jsonl in {root}; it holds: {found}")
    elif root.is_file():
        files = [root]
    else:
        raise UserError(f"there is no file or folder {root}")
    rows = [row for file in files for row in (_list(file) if file.suffix == ".json" else _lines(file))]
    if not rows:
        raise UserError(f"{', '.join(map(str, files))} holds no rows")
    return rows


def csv_rows(file: Path, columns: Sequence[str]) -> list[Row]:
    """Rows of a CSV file whose first line names its columns; every value is text.

    Raises:
        UserError: the file cannot be read, a column is missing, or a row is longer or shorter than the first line.
    """
    reader = csv.DictReader(io.StringIO(_text(file)), strict=True)
    found, rows = reader.fieldnames or [], []
    if missing := [column for column in columns if column not in found]:
        raise UserError(f"{file}: the first line has to name the columns {', '.join(columns)}; it lacks {missing[0]!r}")
    try:
        for values in reader:
            row = Row(f"{file} line {reader.line_num}", values)
            if None in values or None in values.values():
                raise UserError(f"{row.where}: it does not have the {len(found)} values that the first line names")
            rows.append(row)
    except csv.Error as error:
        raise UserError(f"{file} is not CSV after line {reader.line_num}: {error}") from error
    return rows


def hub_rows(data_set: DataSet, split: str, revision: str | None) -> list[Row]:
    """Rows of a data set on the Hugging Face hub, or of its local cache where the hub cannot be reached.

    The commit is fetched first and read as a folder: by name, `datasets` without a network takes whichever revision
    was prepared last, whatever was asked for.

    Args:
        data_set: which.
        split: one of its splits.
        revision: branch, tag or commit; None is the default branch.

    Raises:
        UserError: the data set, subset, split or revision is not there, or has no rows.
    """
    from datasets import load_dataset

    folder = snapshot("dataset", data_set.name, revision, data_set.files)
    label = f"data set {data_set.name} ({data_set.subset})"
    try:
        data = load_dataset(str(folder), data_set.subset, split=split)
    except Exception as error:  # an unknown subset or split (with a list of the known ones), a damaged file
        raise UserError(f"{label}: {' '.join(str(error).split())[:300]}") from error
    if not len(data):
        raise UserError(f"{label} has no rows in split {split}")
    return [Row(f"{label}, {split} row {index}", values) for index, values in enumerate(data)]


def _lines(file: Path) -> Sequence[Row]:
    lines = _text(file).split("\n")
    return [_parsed(line, f"{file} line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def _list(file: Path) -> Sequence[Row]:
    try:
        found = json.loads(_text(file))
    except ValueError as error:
        raise UserError(f"{file} is not JSON: {error}") from error
    if not isinstance(found, list):
        raise UserError(f"{file} does not hold a list of rows but {type(found).__name__}; one object a line is .jsonl")
    return [_row(values, f"{file} row {number}") for number, values in enumerate(found, 1)]


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from error


def _parsed(line: str, where: str) -> Row:
    try:
        values = json.loads(line)
    except ValueError as error:
        raise UserError(f"{where} is not JSON: {error}") from error
    return _row(values, where)


def _row(values: Any, where: str) -> Row:
    if not isinstance(values, dict):
        raise UserError(f"{where} is not a JSON object but {type(values).__name__}")
    return Row(where, values)
