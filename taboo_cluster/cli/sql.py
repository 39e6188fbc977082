"""Ask one SELECT of one or more runs, also while they go on; without a query, list the views.

python -m taboo_cluster sql runs/NAME "SELECT model, taboo_rank, retention, ci_low, ci_high, n FROM retention"
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from taboo_cluster.display import print_table
from taboo_cluster.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

_QUERY = re.compile(r"\s*(select|with|from|values|--|/\*|\()\b|.*\s", re.IGNORECASE | re.DOTALL)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Run directories, the query, and the form of the answer."""
    parser.add_argument("words", nargs="+", metavar='DIR [DIR ...] ["SELECT ..."]', help="runs, and the query last")
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json", "parquet"),
        default="table",
        help="default: table; parquet goes to a file: > answer.parquet",
    )


def run(arguments: argparse.Namespace) -> int:
    """Open the runs and print the answer, or the list of views."""
    from taboo_cluster.analysis.database import VIEW_NAMES, needs_texts, open_runs, question, select

    dirs, query = split(arguments.words)
    if query is None:
        open_runs(dirs).close()
        print_table(["view", "what it answers"], [(view, question(view)) for view in VIEW_NAMES])
        return 0
    if arguments.format == "parquet" and sys.stdout.isatty():
        raise UserError("parquet is not for a terminal: redirect it to a file with > answer.parquet")
    with open_runs(dirs, texts=needs_texts(query)) as connection:
        write(select(connection, query), arguments.format)
    return 0


def split(words: list[str]) -> tuple[list[str], str | None]:
    """(run directories, query): the last word is the query unless it is a directory or cannot be SQL."""
    last = words[-1]
    if os.path.isdir(last) or not _QUERY.match(last):
        return words, None
    if len(words) == 1:
        raise UserError('which run? Put its directory before the query: sql DIR "SELECT ..."')
    return words[:-1], last


def write(table: pa.Table, form: str) -> None:
    """Print an answer: `table` for people; csv with empty fields, json with null, for missing values."""
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
