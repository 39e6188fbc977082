"""Show how far a run is: from disk, also while it goes on elsewhere; Ray is not needed.

A run that says it is running but has given no sign of life for a while is shown as `lost`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from taboo_cluster.display import print_table
from taboo_cluster.heartbeat import last_heartbeat, state

BY_MODEL = """
    SELECT
        model, benchmark, count(*) AS recorded, count(error_type) AS failed, sum(completion_tokens) AS tokens,
        strftime(max(started_at) AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S UTC') AS "last record"
    FROM records GROUP BY ALL ORDER BY ALL
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """One run directory."""
    parser.add_argument("dir", metavar="DIR", help="the run")


def run(arguments: argparse.Namespace) -> int:
    """Print state, totals, and what is recorded of each model."""
    from taboo_cluster.analysis.database import open_runs, select
    from taboo_cluster.records.reader import parts
    from taboo_cluster.records.storage import Store

    beat = last_heartbeat(arguments.dir)
    found = None
    if beat is None or parts(Store.open(arguments.dir)):
        with open_runs([arguments.dir]) as connection:
            found = select(connection, BY_MODEL)
    print(f"{arguments.dir}: {summary(beat, datetime.now(UTC))}")
    if found:
        print_table(found.column_names, [list(row.values()) for row in found.to_pylist()])
    return 0


def summary(beat: Mapping[str, Any] | None, now: datetime) -> str:
    """One line on the whole run."""
    if beat is None:
        return state(beat, now)
    ago = max(0, int((now - beat["seen_at"]).total_seconds()))
    counts = " / ".join("n/a" if beat[key] is None else f"{beat[key]:,}" for key in ("done", "total"))
    failed = "n/a" if beat["failed"] is None else f"{beat['failed']:,}"
    word = state(beat, now)
    known = "known of when it was last heard of" if word == "lost" else "recorded"
    return f"{word}, {counts} trials {known}, {failed} of them failed (as of {ago:,} s ago)"
