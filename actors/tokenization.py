"""Measures how tokenizers cut a run's texts: on a CPU core, without a model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import ray

from taboo_cluster import compose, tokenized
from taboo_cluster.models import load_tokenizer
from taboo_cluster.records.schema import TABLES
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.sweep import subsample
from taboo_cluster.tokenization import Tokenizer
from taboo_cluster.trial import ResolvedModel


@ray.remote
class TokenizationActor:
    """Fills the run's table `tokenization`, item by item, one tokenizer after another."""

    def __init__(self, config: Mapping[str, Any], run_dir: str, launch_id: str) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the other cores are the engines'
        self._config = compose.from_dict(config)
        self._run_dir, self._launch_id = run_dir, launch_id
        self._done: set[str] = set()

    def __repr__(self) -> str:
        return "TokenizationActor"

    def measure(self, model: ResolvedModel) -> int:
        """Measure with a model's tokenizer what is not in the table yet; returns how many items that were.

        Raises UserError for a tokenizer that cannot be loaded.
        """
        entry, _ = compose.engine_options(self._config)
        tokenizer = Tokenizer(entry.own_tokenizer() if entry.own_tokenizer else load_tokenizer(model))
        if tokenizer.hash in self._done:
            return 0
        measured = 0
        with PartWriter(
            f"{self._run_dir}/tables/{tokenized.TABLE}", f"part-{self._launch_id}", TABLES[tokenized.TABLE]
        ) as writer:
            for name in self._config.benchmarks:
                benchmark = compose.build_benchmark(self._config, name)
                wanted = tokenized.versions(self._config, benchmark)
                items = subsample(benchmark.items(), self._config.limit, self._config.seed)
                for item in tokenized.unmeasured(self._run_dir, tokenizer.hash, name, items, wanted):
                    for row in tokenized.rows(tokenizer, name, item, wanted, self._config.seed):
                        writer.add(row)
                    measured += 1
        self._done.add(tokenizer.hash)
        return measured
