"""What is shown when a sweep ends: its tables, what to be wary of, where the run is, and what to ask next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from jobs.work import ModelWork
from taboo_cluster.analysis.database import RESULTS, open_runs, select, write_results
from taboo_cluster.config import RunConfig
from taboo_cluster.display import print_table
from taboo_cluster.launch import Launch
from taboo_cluster.records.reader import parts
from taboo_cluster.records.storage import Store

NEXT = "SELECT model, benchmark, taboo_rank, retention, ci_low, ci_high, n FROM retention"

SHORT = """
    SELECT model, benchmark, max(longest_baseline_tokens) AS longest, any_value(max_tokens) AS max_tokens
    FROM retention WHERE max_tokens_low GROUP BY ALL ORDER BY ALL
"""
"""Where max_tokens is under twice the longest baseline (METHODS, section 0)."""

ERRORS = """
    SELECT model, error_type, sum(n) AS n, any_value(example) AS example
    FROM errors GROUP BY ALL ORDER BY n DESC, model
"""


def conclude(config: RunConfig, launch: Launch, works: Sequence[ModelWork]) -> None:
    """Bring results.duckdb up to date and print what came out of a sweep that ended, in whatever way."""
    run_dir, store = launch.run_dir, Store.open(launch.run_dir)
    missing = sum(work.tally.missing for work in works)
    if parts(store):
        if missing or not _up_to_date(store):
            write_results(run_dir)
        _print_tables(config, run_dir)
    for work in works:
        if work.problem:
            print(f"FAILED {work.model.name}: {work.problem} ({work.tally.missing:,} of {work.total:,} trials missing)")
    total = sum(work.total for work in works)
    print(f"{total - missing:,} of {total:,} trials recorded in {run_dir}")
    if missing:
        print(f"Go on with:  {resume_command(sys.argv[1:], run_dir)}")
    print(f'Ask next:    {shlex.join(["python", "-m", "taboo_cluster", "sql", run_dir])} "{NEXT}"')


def _up_to_date(store: Store) -> bool:
    """results.duckdb is not older than any part."""
    path = f"{store.root}/{RESULTS}"
    if not store.fs.exists(path):
        return False
    written = store.fs.modified(path)
    return all(store.fs.modified(f"{store.root}/{name}") <= written for name in parts(store))


def _print_tables(config: RunConfig, run_dir: str) -> None:
    with open_runs([run_dir]) as connection:
        for query in config.table:
            table = select(connection, query)
            if len(table) == 0:  # of benchmarks or stages that this run does not have
                continue
            print()
            print_table(table.column_names, [list(row.values()) for row in table.to_pylist()])
        print()
        for row in select(connection, SHORT).to_pylist():
            print(
                f"warning: {row['model']} on {row['benchmark']}: a baseline takes {row['longest']} of max_tokens="
                f"{row['max_tokens']}; it should be twice the longest, or detours are cut and count as wrong"
            )
        for row in select(connection, ERRORS).to_pylist():
            print(f"warning: {row['model']}: {row['n']} x {row['error_type']}, e.g. {row['example']}")


def resume_command(arguments: Sequence[str], run_dir: str) -> str:
    """The command that goes on with a run: the one given, with its run_dir."""
    kept = [argument for argument in arguments if not argument.lstrip("+").startswith("run_dir=")]
    return shlex.join(["python", "-m", "taboo_cluster", *kept, f"run_dir={run_dir}"])
