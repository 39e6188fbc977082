"""Ask one SELECT of one or more runs, also while they go on; without a query, list the views.

python -m taboo_cluster sql runs/NAME "SELECT model, taboo_rank, retention, ci_low, ci_high, n FROM retention"
"""

from __future__ import annotations

import argparse
import os
import re

from taboo_cluster.display import print_table
from taboo_cluster.errors import UserError
from taboo_cluster.forms import add_format, check_format, write

_QUERY = re.compile(r"\s*(select|with|from|values|--|/\*|\()\b|.*\s", re.IGNORECASE | re.DOTALL)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Run directories, the query, and the form of the answer."""
    parser.add_argument("words", nargs="+", metavar='DIR [DIR ...] ["SELECT ..."]', help="runs, and the query last")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Open the runs and print the answer, or the list of views."""
    from taboo_cluster.analysis.database import VIEW_NAMES, needs_texts, open_runs, question, select

    dirs, query = split(arguments.words)
    if query is None:
        open_runs(dirs).close()
        print_table(["view", "what it answers"], [(view, question(view)) for view in VIEW_NAMES])
        return 0
    check_format(arguments.format)
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
