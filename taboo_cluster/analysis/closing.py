"""What is made of a run's records when its sweep ends: results.duckdb, and the tables shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from taboo_cluster.analysis.database import open_runs, select, write_results
from taboo_cluster.errors import UserError


@dataclass(frozen=True)
class Closing:
    """What came of it."""

    tables: Sequence[pa.Table]
    """The answers, in the order of the queries."""
    problem: str | None = None
    """Why results.duckdb could not be written; the answers do not need it."""


def close(run_dir: str, queries: Sequence[str], write: bool) -> Closing:
    """Answer queries over a run's views, once results.duckdb is written if that is asked for.

    Raises UserError for a run that cannot be read or a query that fails.
    """
    problem = None
    if write:
        try:
            write_results(run_dir)
        except UserError as error:
            problem = str(error)
    with open_runs([run_dir]) as connection:
        return Closing([select(connection, query) for query in queries], problem)
