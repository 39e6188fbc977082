"""What is shown when a sweep ends: its tables, what to be wary of, where the run is, and what to ask next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from jobs.child import ChildFailed, in_child
from jobs.work import ModelWork
from taboo_cluster.analysis.closing import close
from taboo_cluster.analysis.database import RESULTS
from taboo_cluster.config import RunConfig
from taboo_cluster.display import print_table
from taboo_cluster.errors import UserError
from taboo_cluster.launch import Launch
from taboo_cluster.perturbations.stack import members
from taboo_cluster.records.reader import parts
from taboo_cluster.records.storage import Store, WriteError
from taboo_cluster.stability.prompt_search import CHOSEN, FOLDER, save

RETENTION = "SELECT model, benchmark, taboo_rank, retention, ci_low, ci_high, n FROM retention"
DROPS = "SELECT model, benchmark, perturbation, drop, ci_low, ci_high, n FROM perturbed"
VALLEY = "SELECT model, benchmark, item_group, fragment_p, value, ci_low, ci_high, n FROM valley"
ACCURACY = "SELECT model, benchmark, condition, accuracy, ci_low, ci_high, n FROM accuracy"
"""What may be asked next."""

KEYS = ("revision", "style", "shots", "perturbation", "quantization", "rank")
"""Columns that are shown only where they tell the rows of a table apart."""

SHORT = """
    SELECT model, benchmark, max(longest_baseline_tokens) AS longest, any_value(max_tokens) AS max_tokens
    FROM retention WHERE max_tokens_low GROUP BY ALL ORDER BY ALL
"""
"""Where max_tokens is under twice the longest baseline (METHODS, section 0)."""

ERRORS = """
    SELECT model, error_type, sum(n) AS n, any_value(example) AS example
    FROM errors GROUP BY ALL ORDER BY n DESC, model
"""


def conclude(config: RunConfig, launch: Launch, works: Sequence[ModelWork], whole: bool = True) -> None:
    """Bring results.duckdb up to date and print what came out of a sweep that ended, in whatever way.

    `whole` is false where something that is measured beside the trials is left to do.

    Whatever goes wrong with the results is a warning: the records are on disk, and what became of the run is said.
    """
    run_dir, store = launch.run_dir, Store.open(launch.run_dir)
    missing = sum(work.tally.missing for work in works)
    if parts(store):
        _show_results(config, run_dir, bool(missing) or not _up_to_date(store), whole and not missing)
    for work in works:
        if work.problem:
            print(f"FAILED {work.label}: {work.problem} ({work.tally.missing:,} of {work.total:,} trials missing)")
    total = sum(work.total for work in works)
    print(f"{total - missing:,} of {total:,} trials recorded in {run_dir}")
    if missing or not whole:
        print(f"Go on with:  {resume_command(sys.argv[1:], run_dir)}")
    print(f'Ask next:    {shlex.join(["python", "-m", "taboo_cluster", "sql", run_dir])} "{next_question(config)}"')


def next_question(config: RunConfig) -> str:
    """A query on what the sweep is about."""
    if any(config.taboo.ranks):
        return RETENTION
    stacks = [*config.conditions, *chain.from_iterable(config.conditions_for.values())]
    if any(member.entry.family == "fragmentation" for stack in stacks for member in members(stack)):
        return VALLEY
    return DROPS if stacks else ACCURACY


def _up_to_date(store: Store) -> bool:
    """results.duckdb is not older than any part."""
    path = f"{store.root}/{RESULTS}"
    if not store.fs.exists(path):
        return False
    written = store.fs.modified(path)
    return all(store.fs.modified(f"{store.root}/{name}") <= written for name in parts(store))


def _show_results(config: RunConfig, run_dir: str, write: bool, whole: bool) -> None:
    """In a process of its own: over a large run DuckDB takes memory that it does not give back."""
    try:
        chosen = [CHOSEN] if config.prompt_search and whole else []
        closing = in_child(close, run_dir, [*config.table, *chosen, SHORT, ERRORS], write)
    except (UserError, ChildFailed) as error:
        _warn(f"the results cannot be shown: {error}")
        return
    if closing.problem:
        _warn(closing.problem)
    *tables, short, errors = closing.tables
    found = tables.pop().to_pylist() if chosen else []
    for table in tables:
        if len(table) == 0:  # of benchmarks or stages that this run does not have
            continue
        same = [name for name in KEYS if name in table.column_names and len(table.column(name).unique()) == 1]
        shown = table.drop_columns(same)
        print()
        print_table(shown.column_names, [list(row.values()) for row in shown.to_pylist()])
    print()
    for row in short.to_pylist():
        print(
            f"warning: {row['model']} on {row['benchmark']}: a baseline takes {row['longest']} of max_tokens="
            f"{row['max_tokens']}; it should be twice the longest, or detours are cut and count as wrong"
        )
    _save_prompts(config, run_dir, found)
    for row in errors.to_pylist():
        print(f"warning: {row['model']}: {row['n']} x {row['error_type']}, e.g. {row['example']}")


def _save_prompts(config: RunConfig, run_dir: str, chosen: Sequence[Mapping[str, Any]]) -> None:
    try:
        saved = save(Store.open(run_dir), config.prompts, chosen)
    except WriteError as error:
        _warn(f"the chosen prompts cannot be saved: {error}")
        return
    for one in saved:
        print(
            f"Chosen for {one.model} on {one.benchmark}: {one.prompt}. Use it with:  --config-dir "
            f"{shlex.quote(f'{run_dir}/{FOLDER}')} prompt={one.name}"
        )


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def resume_command(arguments: Sequence[str], run_dir: str) -> str:
    """The command that goes on with a run: the one given, with its run_dir."""
    kept = [argument for argument in arguments if not argument.lstrip("+").startswith("run_dir=")]
    return shlex.join(["python", "-m", "taboo_cluster", *kept, f"run_dir={run_dir}"])
