"""The run's table `tokenization`: which texts are measured, which are there already, and their rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import duckdb

from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.config import RunConfig
from taboo_cluster.hashing import stable_rng
from taboo_cluster.perturbations.base import Subject
from taboo_cluster.perturbations.stack import members, perturb, variant_seed
from taboo_cluster.records.reader import RECORDS, read_parts, side_table
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.storage import Store
from taboo_cluster.rows import now
from taboo_cluster.sweep import stacks
from taboo_cluster.tokenization import Tokenizer
from taboo_cluster.trial import Item

TABLE = "tokenization"
FAMILY = "fragmentation"

Version = tuple[str | None, int | None]
"""A stack of perturbations and its seed; (None, None) is the clean text."""

CLEAN: Version = (None, None)


def versions(config: RunConfig, benchmark: Benchmark) -> list[Version]:
    """The clean text, then each stack of the run that fragments, with each seed."""
    fragmenting = [
        stack for stack in stacks(config, benchmark) if any(member.entry.family == FAMILY for member in members(stack))
    ]
    seeds = [variant_seed(config.seed, variant) for variant in range(config.variants)]
    return [CLEAN, *((stack, seed) for stack in fragmenting for seed in seeds)]


def unmeasured(
    run_dir: str, tokenizer_hash: str, benchmark: str, items: Iterable[Item], wanted: Collection[Version]
) -> list[Item]:
    """The items whose versions are not all in the table, measured together."""
    query = """
        SELECT split, item_id, perturbations, perturbation_seed FROM parts
        WHERE tokenizer_hash = $tokenizer AND benchmark = $benchmark
        QUALIFY measured_at = max(measured_at) OVER (PARTITION BY split, item_id)
    """
    found: dict[tuple[str, str], set[Version]] = {}
    for row in side_table(run_dir, TABLE, query, tokenizer=tokenizer_hash, benchmark=benchmark):
        key = row["split"], row["item_id"]
        found.setdefault(key, set()).add((row["perturbations"], row["perturbation_seed"]))
    return [item for item in items if not set(wanted) <= found.get((item.split, item.item_id), set())]


def recorded_tokenizers(run_dir: str, models: Collection[str]) -> list[str]:
    """Hashes of the tokenizers that the records of these models (names) were made with."""
    query = (
        "SELECT DISTINCT tokenizer_hash FROM parts WHERE tokenizer_hash IS NOT NULL AND list_contains($models, model)"
    )
    with duckdb.connect() as connection:
        found = read_parts(
            connection,
            [Store.open(run_dir)],
            RECORDS,
            RECORD,
            lambda: connection.sql(query, params={"models": list(models)}).fetchall(),
        )
    return sorted(tokenizer for (tokenizer,) in found)


def rows(
    tokenizer: Tokenizer, benchmark: str, item: Item, wanted: Sequence[Version], run_seed: int
) -> list[dict[str, Any]]:
    """The table's rows of one item in all its versions."""
    subjects = [_subject(item, version) for version in wanted]
    rngs = [
        stable_rng(run_seed, "tokenization", tokenizer.hash, benchmark, item.split, item.item_id, version)
        for version in wanted
    ]
    cuts = tokenizer.cut([subject.item.question for subject in subjects], rngs)
    same = {
        "tokenizer_hash": tokenizer.hash,
        "benchmark": benchmark,
        "split": item.split,
        "item_id": item.item_id,
        "item_group": item.group,
        "cluster_id": item.cluster_id,
        "measured_at": now(),
    }
    numbers = ("fragment_p", "word_fragmentation_rate")
    return [
        same
        | {"perturbations": stack, "perturbation_seed": seed}
        | {name: subject.numbers.get(name) for name in numbers}
        | asdict(cut)
        for (stack, seed), subject, cut in zip(wanted, subjects, cuts, strict=True)
    ]


def _subject(item: Item, version: Version) -> Subject:
    stack, seed = version
    return Subject(item) if stack is None else perturb(item, stack, seed or 0).subject
