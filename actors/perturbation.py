"""Makes perturbed texts, once for all models: on CPU cores, without a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import ray

from taboo_cluster import compose
from taboo_cluster.perturbations.stack import Perturbed, TextKey, perturb
from taboo_cluster.records.schema import TABLES
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.runner import Texts
from taboo_cluster.sweep import CHUNK, subsample
from taboo_cluster.trial import Item


@ray.remote
class PerturbationActor:
    """Perturbs chunks of items and keeps the texts in the run's table `texts`."""

    def __init__(self, config: Mapping[str, Any], run_dir: str, launch_id: str, number: int) -> None:
        self._config = compose.from_dict(config)
        self._number, self._launch_id = number, launch_id
        self._items: dict[str, list[Item]] = {}
        self._writer = PartWriter(f"{run_dir}/tables/texts", f"part-{launch_id}-{number}", TABLES["texts"])

    def __repr__(self) -> str:
        return f"PerturbationActor({self._number})"

    def texts(self, key: TextKey) -> Texts:
        """The perturbed items of a chunk."""
        if key.benchmark not in self._items:
            every = compose.build_benchmark(self._config, key.benchmark).items()
            self._items[key.benchmark] = subsample(every, self._config.limit, self._config.seed)
        chunk = self._items[key.benchmark][key.chunk * CHUNK : (key.chunk + 1) * CHUNK]
        made = {(key.benchmark, key.stack, key.seed, i.item_id): perturb(i, key.stack, key.seed) for i in chunk}
        for item, perturbed in zip(chunk, made.values(), strict=True):
            self._writer.add(text_row(key, item, perturbed))
        self._writer.flush()
        return made


def text_row(key: TextKey, item: Item, perturbed: Perturbed) -> dict[str, Any]:
    """A row of the table `texts`."""
    subject = perturbed.subject
    return {
        "benchmark": key.benchmark,
        "split": item.split,
        "item_id": item.item_id,
        "perturbations": key.stack,
        "perturbation_seed": key.seed,
        "changed": perturbed.changed,
        "clean": item.question,
        "question": subject.item.question,
        "before": subject.before or None,
        "after": subject.after or None,
        "choices": json.dumps(list(subject.item.extras["choices"])) if "choices" in subject.item.extras else None,
        "gold": subject.item.gold,
    }
