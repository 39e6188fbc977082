"""The settings that a run's launches recorded, and its benchmarks built from them again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from taboo_cluster.analysis.database import check_run
from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.compose import build_benchmark, import_plugins
from taboo_cluster.config import RunConfig
from taboo_cluster.errors import UserError
from taboo_cluster.fitting import of_documents
from taboo_cluster.launch import launches
from taboo_cluster.perturbations.stack import perturb, recorded_stack
from taboo_cluster.records.storage import Store
from taboo_cluster.trial import Item

Items = Mapping[tuple[str, str], Item]
"""By (split, item_id)."""


@dataclass
class Settings:
    """What the benchmarks are built from."""

    benchmark: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Options by benchmark."""
    plugins: list[str] = field(default_factory=list)
    allow_unsafe_code: bool = False

    def build(self, name: str) -> Benchmark:
        """A benchmark, of this run or registered otherwise. Raises UserError for an unknown one or bad options."""
        import_plugins(self.plugins)
        config = RunConfig(
            sweep="",
            models=[],
            benchmarks=[],
            benchmark=self.benchmark,
            engine={},
            plugins=self.plugins,
            allow_unsafe_code=self.allow_unsafe_code,
        )
        return build_benchmark(config, name)


def recorded_settings(run_dir: str) -> Settings:
    """As the run's launches had them, each benchmark's options from the latest launch that ran it.

    Raises UserError for a directory that is no run, or does not say how it was run.
    """
    check_run(Store.open(run_dir))
    rows = launches(run_dir)
    if not rows:
        raise UserError(f"{run_dir} does not say with which settings it was run: its table launches is empty")
    settings = Settings()
    for row in rows:
        config = json.loads(row["config"])
        settings.benchmark |= {name: dict(config["benchmark"].get(name, {})) for name in config["benchmarks"]}
        settings.plugins = list(dict.fromkeys([*settings.plugins, *config.get("plugins", [])]))
    return settings


CLEAN_GOLD = "CASE WHEN coalesce(len(perturbations), 0) = 0 THEN gold END"
"""In SQL: the gold answer as the data set has it; null for a perturbed trial, whose stack may have moved it."""


def as_asked(benchmark: Benchmark, item: Item, row: Mapping[str, Any]) -> Item:
    """The item as a trial asked it: after its recorded stack (columns perturbations, perturbation_seed, gold), cut as
    it was (lines).

    Raises:
        UserError: another gold answer than the record's.
    """
    if row["perturbations"]:
        item = perturb(item, recorded_stack(row["perturbations"]), row["perturbation_seed"]).subject.item
        if item.gold != row["gold"]:
            raise UserError(
                f"item {item.item_id} is perturbed otherwise than when it was recorded: another version did it"
            )
    return benchmark.cut(item, row["lines"]["kept"]) if row.get("lines") and of_documents(benchmark) else item


def recorded_items(benchmark: Benchmark, found: Collection[tuple[str, str, str | None]]) -> Items:
    """The items that some records answer.

    Args:
        benchmark: their benchmark.
        found: (split, item_id, gold answer) of each, as recorded (`CLEAN_GOLD`); None is not compared.

    Raises:
        UserError: an item that is no longer in the data set, or has another gold answer there.
    """
    name, items = benchmark.name, {(item.split, item.item_id): item for item in benchmark.items()}
    gone = [item_id for split, item_id, _ in found if (split, item_id) not in items]
    if gone:
        raise UserError(f"{name}: {len(gone)} of {len(found)} recorded items are not in the data set, e.g. {gone[0]}")
    for split, item_id, gold in found:
        now = items[split, item_id].gold
        if gold is not None and now != gold:
            raise UserError(
                f"{name}: item {item_id} has the gold answer {now!r} in the data set, but {gold!r} in the records: "
                "these are other data than the run's"
            )
    return {key: items[key] for key in {(split, item_id) for split, item_id, _ in found}}
