"""Score a run's stored completions again, with a newer or another scorer; nothing is generated.

  python -m taboo_cluster rescore runs/NAME
  python -m taboo_cluster rescore runs/NAME plugins=[my_scorers] --scorer gsm8k=my_gsm8k

Lists the verdicts that change. They go to the table `scores`, which every view prefers to what the records say; the
records stay as they are. Settings: benchmark.NAME.option=..., plugins=[...], allow_unsafe_code=true; the rest is as
the run had it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from taboo_cluster.display import print_table
from taboo_cluster.errors import UserError
from taboo_cluster.forms import add_format, check_format, write

if TYPE_CHECKING:
    import pyarrow as pa

    from taboo_cluster.rescoring import Rescored

CELL = ("model", "quantization", "dtype", "benchmark", "condition")
SHARE = 0.1
"""Of the completions, how many a scorer may fail on before the exit status is 1."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The run, overrides, which benchmarks, and the form of the list."""
    parser.add_argument("dir", metavar="DIR", help="the run")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="settings that are to be different")
    parser.add_argument(
        "--scorer",
        action="append",
        default=[],
        metavar="NAME=OTHER",
        help="read the completions of benchmark NAME with the scorer of benchmark OTHER",
    )
    parser.add_argument(
        "--benchmark", action="append", default=[], metavar="NAME", help="this one alone; may be given more than once"
    )
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score, write, list; exit status 1 where the scorer failed on too many completions."""
    from jobs.progress import ModelState, SweepProgress
    from taboo_cluster.analysis.database import RESULTS, write_results
    from taboo_cluster.launch import new_id
    from taboo_cluster.recorded import recorded_settings
    from taboo_cluster.records.schema import TABLES
    from taboo_cluster.records.storage import Store
    from taboo_cluster.records.writer import PartWriter
    from taboo_cluster.rescoring import load_scorers, override, rescore
    from taboo_cluster.rows import now

    check_format(arguments.format)
    others = dict(_pair(text) for text in arguments.scorer)
    store = Store.open(arguments.dir)
    settings = recorded_settings(store.url)
    override(settings, arguments.overrides, others.values())
    scorers = load_scorers(store.url, settings, others, arguments.benchmark)
    rescore_id = new_id(now())
    total, rescored = rescore(store.url, scorers, rescore_id)
    tally, changed = _Tally(), []
    with (
        SweepProgress("rescore") as progress,
        PartWriter(f"{store.url}/tables/scores", f"part-{rescore_id}", TABLES["scores"]) as writer,
    ):
        for one in rescored:
            writer.add(one.row)
            tally.add(one)
            if one.changed:
                changed.append(one)
            progress.update([ModelState("completions", tally.n, total, tally.failed, "scoring")])
    if store.fs.exists(f"{store.root}/{RESULTS}"):
        write_results(store.url)
    if arguments.format == "table":
        tally.print()
        print()
    if changed or arguments.format != "table":
        write(_table(changed), arguments.format)
    used = ", ".join(f"{name}: scorer {scorer.version}" for name, scorer in scorers.items())
    failed = f", {tally.failed:,} of them in error" if tally.failed else ""
    print(f"{tally.n:,} completions scored ({used}){failed}; {len(changed):,} verdicts changed", file=sys.stderr)
    return int(tally.failed > SHARE * tally.n)


def _pair(text: str) -> tuple[str, str]:
    name, equals, other = text.partition("=")
    if not (name and equals and other):
        raise UserError(f"--scorer {text}: say which benchmark and whose scorer, like gsm8k=my_gsm8k")
    return name, other


class _Tally:
    """Counts by cell."""

    def __init__(self) -> None:
        self.n = self.failed = 0
        self._cells: dict[tuple[Any, ...], Counter[str]] = {}

    def add(self, one: Rescored) -> None:
        """Count one completion."""
        row = one.row
        failed = row.get("error_type") is not None
        self.n += 1
        self.failed += failed
        cell = self._cells.setdefault(tuple(one.facts[name] for name in CELL), Counter())
        was, is_now = row["earlier_outcome"] == "correct", row["outcome"] == "correct"
        cell.update(n=1, changed=one.changed, gained=is_now and not was, lost=was and not is_now, failed=failed)

    def print(self) -> None:
        """Print one line for each cell."""
        counts = {"n": "n", "n_changed": "changed", "now_correct": "gained", "no_longer": "lost", "n_error": "failed"}
        rows = [[*cell, *(self._cells[cell][key] for key in counts.values())] for cell in sorted(self._cells, key=str)]
        print_table([*CELL, *counts], rows)


def _table(changed: list[Rescored]) -> pa.Table:
    """The changed verdicts, old beside new."""
    import pyarrow as pa

    from taboo_cluster.records.schema import RECORD, TABLES
    from taboo_cluster.rescoring import COMPARED, FACTS

    types = {column.name: column.type for column in (*RECORD, *TABLES["scores"])}
    names = [*FACTS, *(f"earlier_{name}" for name in COMPARED), *COMPARED, "trial_id"]
    rows = [{name: (one.facts | one.row).get(name) for name in names} for one in changed]
    table = pa.Table.from_pylist(rows, schema=pa.schema([(name, types[name]) for name in names]))
    return table.sort_by([(name, "ascending") for name in (*FACTS, "trial_id")])
