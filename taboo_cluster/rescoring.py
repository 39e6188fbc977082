"""Completions on disk read and scored once more: the verdicts go to the table `scores`, no record is touched.

The benchmarks are built as the run's launches had them, with whatever is to be different this time; their items are
found by (split, item_id), and must have the gold answers that the records carry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import duckdb
import pyarrow as pa

from taboo_cluster.analysis.database import open_runs, select
from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.canary import check_scorer
from taboo_cluster.errors import TrialError, UserError, unknown
from taboo_cluster.recorded import CLEAN_GOLD, Items, Settings, as_asked, recorded_items
from taboo_cluster.records.reader import RECORDS, read_part_by_part
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.storage import Store
from taboo_cluster.rows import Row, error_columns, now, verdict_columns
from taboo_cluster.runner import describe
from taboo_cluster.tree import parse_override

ROWS = 512
"""Completions in memory as Python objects at once."""

FACTS = ("model", "quantization", "dtype", "benchmark", "condition", "replicate", "item_id")
"""Of a trial: what its changed verdict is listed with."""

COMPARED = ("outcome", "answer", "score")
"""A verdict has changed where one of these differs."""

_SCORED = f"""
    SELECT trial_id, run_id, attempt, started_at, {", ".join(FACTS)}, split, gold, perturbations, perturbation_seed,
           lines,
           {", ".join(f"{name} AS earlier_{name}" for name in COMPARED)}
    FROM recorded
    WHERE error_type IS NULL OR error_type = 'scorer_failed'
"""
"""Trials with a completion; a scorer that failed can be mended, another error cannot."""

_ONE_PART = """
    SELECT waiting.*, parts.completion, parts.finish_reason, parts.details
    FROM parts JOIN waiting USING (trial_id)
    WHERE parts.attempt IS NOT DISTINCT FROM waiting.attempt
        AND parts.started_at IS NOT DISTINCT FROM waiting.started_at
        AND parts.completion IS NOT NULL
"""


@dataclass(frozen=True)
class Scorer:
    """What scores one benchmark's completions."""

    benchmark: Benchmark
    """Extracts and scores."""
    version: str
    """Recorded as scorer_version."""
    items: Items
    """Those that the completions answer."""


@dataclass(frozen=True)
class Rescored:
    """One completion's new verdict."""

    facts: Row
    """`FACTS` of its trial."""
    row: Row
    """Of the table `scores`."""

    @property
    def changed(self) -> bool:
        """True where the views show another verdict from now on."""
        return any(self.row.get(name) != self.row[f"earlier_{name}"] for name in COMPARED)


def override(settings: Settings, overrides: Sequence[str], others: Collection[str] = ()) -> None:
    """Apply `benchmark.NAME.option=value`, `plugins=[...]` (added) and `allow_unsafe_code=true`.

    Raises UserError for anything else, and for a benchmark that is neither in the run nor one of `others`.
    """
    for text in overrides:
        parsed = parse_override(text)
        key, value = parsed.key_or_group.split("."), cast(Any, parsed.value())
        if len(key) == 3 and key[0] == "benchmark" and not parsed.is_delete():
            if key[1] not in (*settings.benchmark, *others):
                raise unknown("benchmark of this run", key[1], settings.benchmark)
            settings.benchmark.setdefault(key[1], {})[key[2]] = value
        elif key == ["plugins"]:
            settings.plugins += [value] if isinstance(value, str) else value
        elif key == ["allow_unsafe_code"]:
            settings.allow_unsafe_code = value is True
        else:
            raise UserError(
                f"{text!r} has no effect on stored completions; what can be set: benchmark.NAME.option=..., "
                "plugins=[...], allow_unsafe_code=true"
            )


def load_scorers(
    run_dir: str, settings: Settings, others: Mapping[str, str], only: Collection[str] = ()
) -> dict[str, Scorer]:
    """A scorer for each benchmark of the run, or for those in `only`; each has passed its canaries.

    Args:
        run_dir: the run.
        settings: what benchmarks are built from.
        others: benchmark of the run -> registered benchmark whose scorer is to read its completions instead.
        only: benchmarks of the run to leave it at; empty for all.

    Raises:
        UserError: a name that is not in the run or not registered, an item that is no longer in its data set, another
            gold answer, a scorer that cannot tell right from wrong.
    """
    with open_runs([run_dir]) as connection:
        rows = select(
            connection, f"SELECT DISTINCT benchmark, split, item_id, {CLEAN_GOLD} AS gold FROM recorded"
        ).to_pylist()
    found: dict[str, list[tuple[str, str, str | None]]] = {}
    for row in rows:
        found.setdefault(row["benchmark"], []).append((row["split"], row["item_id"], row["gold"]))
    for name in (*others, *only):
        if name not in found:
            raise unknown("benchmark of this run", name, found)
    scorers = {}
    for name in sorted(set(only) or found):
        own = settings.build(name)
        other = settings.build(others[name]) if name in others else own
        check_scorer(other)
        version = other.scorer_version if other is own else f"{other.name} {other.scorer_version}"
        scorers[name] = Scorer(other, version, recorded_items(own, found[name]))
    return scorers


def rescore(run_dir: str, scorers: Mapping[str, Scorer], rescore_id: str) -> tuple[int, Iterator[Rescored]]:
    """(number of completions, their new verdicts as they are made); their texts pass through memory, some at a time.

    A scorer that fails costs its own trial only, which is an error from now on.
    """
    with open_runs([run_dir]) as connection:
        known = select(connection, _SCORED)
    names = pa.array(sorted(scorers), pa.string())
    with duckdb.connect() as connection:
        connection.register("known", known)
        connection.register("chosen", pa.table({"benchmark": names}))
        known = connection.sql("FROM known SEMI JOIN chosen USING (benchmark)").to_arrow_table()
    return len(known), _rescored(run_dir, known, scorers, rescore_id)


def _rescored(run_dir: str, known: pa.Table, scorers: Mapping[str, Scorer], rescore_id: str) -> Iterator[Rescored]:
    done: set[str] = set()
    with duckdb.connect() as connection:
        connection.register("waiting", known)
        read = lambda: connection.sql(_ONE_PART).to_arrow_reader(ROWS)  # noqa: E731
        for batch in read_part_by_part(connection, Store.open(run_dir), RECORDS, RECORD, read):
            fresh = {row["trial_id"]: row for row in batch.to_pylist() if row["trial_id"] not in done}
            done |= fresh.keys()
            yield from _scored(list(fresh.values()), scorers, rescore_id)


def _scored(rows: Sequence[Row], scorers: Mapping[str, Scorer], rescore_id: str) -> Iterator[Rescored]:
    """Verdicts on some completions; where scoring waits for other processes, of several at once."""
    slow = {name for name, scorer in scorers.items() if getattr(scorer.benchmark, "slow_scoring", False)}
    score = lambda row: _verdict(row, scorers[row["benchmark"]], rescore_id)  # noqa: E731
    yield from map(score, (row for row in rows if row["benchmark"] not in slow))
    if waiting := [row for row in rows if row["benchmark"] in slow]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            yield from pool.map(score, waiting)


def _verdict(row: Row, scorer: Scorer, rescore_id: str) -> Rescored:
    item = as_asked(scorer.benchmark, scorer.items[row["split"], row["item_id"]], row)
    warnings = json.loads(row["details"] or "{}").get("prompt_warnings", [])
    try:
        verdict = scorer.benchmark.score(item, row["completion"], row["finish_reason"])
        columns = verdict_columns(verdict, warnings)
    except Exception as error:  # a scorer may be a user's own, and may fail on any text
        columns = error_columns(TrialError("scorer_failed", describe(error)))
    made_of = {name: row[name] for name in ("run_id", "trial_id", "attempt", "benchmark")}
    earlier = {f"earlier_{name}": row[f"earlier_{name}"] for name in COMPARED}
    origin = {"rescore_id": rescore_id, "scorer_version": scorer.version, "scored_at": now()}
    return Rescored({name: row[name] for name in FACTS}, {**origin, **made_of, **columns, **earlier})
