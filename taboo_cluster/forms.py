"""An answer in the form asked for: a table for people, csv, json or parquet for other tools."""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from taboo_cluster.display import print_table
from taboo_cluster.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

FORMS = ("table", "csv", "json", "parquet")


def add_format(parser: argparse.ArgumentParser) -> None:
    """The option --format."""
    parser.add_argument(
        "--format", choices=FORMS, default="table", help="default: table; parquet goes to a file: > answer.parquet"
    )


def check_format(form: str) -> None:
    """Raise UserError for a form that standard output cannot take; to be called before any work is done."""
    if form == "parquet" and sys.stdout.isatty():
        raise UserError("parquet is not for a terminal: redirect it to a file with > answer.parquet")


def write(table: pa.Table, form: str) -> None:
    """Print an answer: `table` for people; csv with empty fields, json with null, for missing values.

    Raises UserError for json with two columns of one name.
    """
    if form == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, sys.stdout.buffer)
    elif form == "json":
        if len(set(table.column_names)) < table.num_columns:
            raise UserError("json needs a name of its own for each column: name them with AS")
        json.dump(_finite(table.to_pylist()), sys.stdout, ensure_ascii=False, allow_nan=False, indent=1, default=str)
        print()
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows([_csv(value) for value in row] for row in _rows(table))
    else:
        print_table(table.column_names, _rows(table))


def _finite(value: Any) -> Any:
    """The value with null for every number that JSON has not, also within lists and structs."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _csv(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
