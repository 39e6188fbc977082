"""Completions on disk read and scored once more: the verdicts go to the table `scores`, no record is touched.

The benchmarks are built as the run's launches had them, with whatever is to be different this time; their items are
found by (split, item_id), and must have the gold answers that the records carry.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import duckdb
import pyarrow as pa

from taboo_cluster.analysis.database import open_runs, select
from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.canary import check_scorer
from taboo_cluster.compose import build_benchmark, import_plugins
from taboo_cluster.config import RunConfig
from taboo_cluster.errors import TrialError, UserError, unknown
from taboo_cluster.launch import launches
from taboo_cluster.records.reader import RECORDS, read_part_by_part
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.storage import Store
from taboo_cluster.rows import Row, error_columns, now, verdict_columns
from taboo_cluster.runner import describe
from taboo_cluster.tree import parse_override
from taboo_cluster.trial import Item

ROWS = 512
"""Completions in memory as Python objects at once; of the rest of a part, compressed columns."""

FACTS = ("model", "quantization", "dtype", "benchmark", "condition", "replicate", "item_id")
"""Of a trial: what its changed verdict is listed with."""

COMPARED = ("outcome", "answer", "score")
"""A verdict has changed where one of these differs."""

_SCORED = f"""
    SELECT trial_id, run_id, attempt, started_at, {", ".join(FACTS)}, split, gold,
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
    QUALIFY row_number() OVER (PARTITION BY trial_id) = 1
"""


@dataclass
class Settings:
    """What the benchmarks are built from."""

    benchmark: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Options by benchmark."""
    plugins: list[str] = field(default_factory=list)
    allow_unsafe_code: bool = False


@dataclass(frozen=True)
class Scorer:
    """What scores one benchmark's completions."""

    benchmark: Benchmark
    """Extracts and scores."""
    version: str
    """Recorded as scorer_version."""
    items: Mapping[tuple[str, str], Item]
    """By (split, item_id): the items that the completions answer."""


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


def recorded_settings(run_dir: str) -> Settings:
    """As the run's launches had them, each benchmark's options from the latest launch that ran it."""
    settings = Settings()
    for launch in launches(run_dir):
        config = json.loads(launch["config"])
        settings.benchmark |= {name: dict(config["benchmark"].get(name, {})) for name in config["benchmarks"]}
        settings.plugins = list(dict.fromkeys([*settings.plugins, *config.get("plugins", [])]))
    return settings


def override(settings: Settings, overrides: Sequence[str]) -> None:
    """Apply `benchmark.NAME.option=value`, `plugins=[...]` (added) and `allow_unsafe_code=true`; else UserError."""
    for text in overrides:
        parsed = parse_override(text)
        key, value = parsed.key_or_group.split("."), cast(Any, parsed.value())
        if len(key) == 3 and key[0] == "benchmark" and not parsed.is_delete():
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
    import_plugins(settings.plugins)
    with open_runs([run_dir]) as connection:
        found = select(connection, "SELECT DISTINCT benchmark, split, item_id, gold FROM recorded").to_pylist()
    present = {row["benchmark"] for row in found}
    for name in [*others, *only, *(settings.benchmark.keys() - present - {*others.values()})]:
        if name not in present:
            raise unknown("benchmark of this run", name, present)
    config = RunConfig(
        sweep="",
        models=[],
        benchmarks=[],
        benchmark=settings.benchmark,
        engine={},
        plugins=settings.plugins,
        allow_unsafe_code=settings.allow_unsafe_code,
    )
    scorers = {}
    for name in sorted(set(only) or present):
        if name not in settings.benchmark:
            raise UserError(f"{run_dir} does not say with which options {name} was run: it has no table launches")
        own = build_benchmark(config, name)
        other = build_benchmark(config, others[name]) if name in others else own
        check_scorer(other)
        items = {(item.split, item.item_id): item for item in own.items()}
        _check_items(name, items, [row for row in found if row["benchmark"] == name])
        version = other.scorer_version if other is own else f"{other.name} {other.scorer_version}"
        scorers[name] = Scorer(other, version, items)
    return scorers


def _check_items(name: str, items: Mapping[tuple[str, str], Item], found: Sequence[Row]) -> None:
    gone = [row["item_id"] for row in found if (row["split"], row["item_id"]) not in items]
    if gone:
        raise UserError(f"{name}: {len(gone)} of {len(found)} recorded items are not in the data set, e.g. {gone[0]}")
    for row in found:
        gold = items[row["split"], row["item_id"]].gold
        if gold != row["gold"]:
            raise UserError(
                f"{name}: item {row['item_id']} has the gold answer {gold!r} in the data set, but {row['gold']!r} in "
                "the records: these are other data than the run's"
            )


def rescore(run_dir: str, scorers: Mapping[str, Scorer], rescore_id: str) -> tuple[int, Iterator[Rescored]]:
    """(number of completions, their new verdicts as they are made); one part is in memory at a time.

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
    with duckdb.connect() as connection:
        connection.register("known", known)
        connection.execute("CREATE TABLE waiting AS FROM known")
        read = lambda: connection.sql(_ONE_PART).to_arrow_table()  # noqa: E731
        for part in read_part_by_part(connection, Store.open(run_dir), RECORDS, RECORD, read):
            for batch in part.to_batches(max_chunksize=ROWS):
                for row in batch.to_pylist():
                    yield _verdict(row, scorers[row["benchmark"]], rescore_id)
            connection.register("done", part.select(["trial_id"]))
            connection.execute("DELETE FROM waiting WHERE trial_id IN (SELECT trial_id FROM done)")


def _verdict(row: Row, scorer: Scorer, rescore_id: str) -> Rescored:
    item = scorer.items[row["split"], row["item_id"]]
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
