"""How long the views take over many records, and how much memory: from the parts of a run to the rows of every view.

    python tests/performance/views_scale.py [--kind taboo|brittleness] [--rows 1000000] [--folder KEPT]
        [--report PAGE.md]

Writes a synthetic run (once, where a folder is named). A process of its own, on two cores, opens it and asks for every
view of the kind; another one does the same with the bootstraps left out, so that they are timed apart. A report's
section is appended with its date.
"""

from __future__ import annotations

import argparse
import datetime
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import duckdb
import pyarrow as pa
import synthetic

from taboo_cluster.analysis import bit_functions, functions
from taboo_cluster.analysis.bits import PiIntervals
from taboo_cluster.analysis.database import VIEW_NAMES, open_runs, select
from taboo_cluster.analysis.ranks import RankIntervals
from taboo_cluster.analysis.statistics import Bootstrap
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import write_table

BRITTLENESS = (
    "perturbed", "perturbed_paper", "drops", "drops_paper", "brittleness_by_model", "brittleness_by_benchmark",
    "ranking", "ranking_flips", "rank_correlation", "compounding", "scaling", "cot_relief", "worst_case",
    "position_bias",
)  # fmt: skip
CORES = 2
NONE = (None, None)


def write(kind: str, rows: int, folder: str) -> None:
    """Fill a run with parts as long as a writer's merged ones."""
    store = Store.open(folder)
    if not store.find(".parquet"):
        for number, table in enumerate(packed(getattr(synthetic, kind)(rows))):
            write_table(store, f"records/synthetic/part-l1-w1-{number:06d}.parquet", table)


def packed(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in parts of PART rows."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= synthetic.PART:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def without_bootstrap() -> None:
    """Let every bootstrap return nothing, for the rest of this process."""
    nothing = {name: Bootstrap(None, None, None, None, 0) for name in ("contrast", "relief", "ratio", "gap", "mean")}
    nothing |= {"pi": PiIntervals(NONE, NONE, NONE), "ranks": RankIntervals(NONE, NONE, 0, ())}
    for module in (functions, bit_functions):
        for name in nothing.keys() & {name.removeprefix("bootstrap_") for name in vars(module)}:
            mock.patch.object(module, f"bootstrap_{name}", return_value=nothing[name]).start()


def measure(kind: str, folder: str) -> list[str]:
    """Open the run and ask for every view: lines of a table."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    lines = []
    start = time.perf_counter()
    connection = open_runs([folder])
    lines.append(f"| open_runs | {time.perf_counter() - start:.2f} | |")
    for name in BRITTLENESS if kind == "brittleness" else VIEW_NAMES:
        began = time.perf_counter()
        columns = "model, avg(correct_int) FROM records GROUP BY model" if name == "records" else f"* FROM {name}"
        result = select(connection, f"SELECT {columns}")
        lines.append(f"| {name} | {time.perf_counter() - began:.2f} | {len(result):,} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines.append(f"| all | {time.perf_counter() - start:.2f} | peak {peak:.2f} GiB |")
    return lines


def main() -> None:
    """Write, measure twice, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=("taboo", "brittleness"), default="taboo")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder")
    parser.add_argument("--report")
    parser.add_argument("--measure", choices=("with", "without"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        if arguments.measure == "without":
            without_bootstrap()
        print("\n".join(measure(arguments.kind, arguments.folder)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or temporary
        write(arguments.kind, arguments.rows, folder)
        lines = [
            f"## {arguments.rows:,} records of kind {arguments.kind}, {datetime.date.today()}",
            "",
            f"{CORES} of {os.cpu_count()} cores, DuckDB {duckdb.__version__}, load {os.getloadavg()[0]:.1f}.",
        ]
        for which in ("without", "with"):
            command = [sys.executable, __file__, "--kind", arguments.kind, "--folder", folder, "--measure", which]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            lines += ["", f"| view, {which} bootstrap intervals | s | rows |", "| --- | --- | --- |", output.rstrip()]
        text = "\n".join(lines) + "\n"
    print(text)
    if arguments.report:
        with Path(arguments.report).open("a", encoding="utf-8") as out:
            out.write("\n" + text)


if __name__ == "__main__":
    main()
