"""Perturbed texts are the same whoever makes them."""

import random

import duckdb
import ray

from jobs.cluster import cluster
from jobs.texts import CORES_EACH, TextStore
from taboo_cluster import compose
from taboo_cluster.perturbations.stack import TextKey, perturb
from taboo_cluster.sweep import CHUNK, subsample

LIMIT = 600
STACKS = ("typos(rate=0.3)", "stop_words+distractor+word_split(rate=0.5)")
SEEDS = (1, 2)


def test_texts_of_one_worker_of_four_and_of_this_process_are_the_same_in_any_order(joined, tmp_path):
    config = compose.load_config(
        joined.arguments(tmp_path / "run", f"limit={LIMIT}", f"benchmark.arithmetic.n={LIMIT}")
    )
    chunks = -(-LIMIT // CHUNK)
    keys = [TextKey("arithmetic", stack, seed, n) for stack in STACKS for seed in SEEDS for n in range(chunks)]

    items = subsample(compose.build_benchmark(config, "arithmetic").items(), LIMIT, config.seed)
    here = {
        ("arithmetic", stack, seed, item.item_id): perturb(item, stack, seed)
        for item in reversed(items)
        for seed in SEEDS
        for stack in STACKS
    }
    assert len(here) == LIMIT * len(STACKS) * len(SEEDS)
    assert any(one.changed for one in here.values())

    def texts(folder, workers):
        """What so many workers make of the chunks in a random order, and the rows that they keep."""
        mixed = random.Random(workers).sample(keys, len(keys))
        store = TextStore(compose.to_dict(config), str(tmp_path / folder), "l1", cpus=workers * CORES_EACH)
        try:
            made = ray.get(store.chunks(mixed), timeout=200)
            assert len(store._actors) == workers
        finally:
            store.close()
        query = f"SELECT * FROM read_parquet('{tmp_path}/{folder}/tables/texts/*.parquet') ORDER BY ALL"
        return {key: one for chunk in made for key, one in chunk.items()}, duckdb.sql(query).fetchall()

    with cluster(config.cluster):
        (one, rows_of_one), (four, rows_of_four) = texts("one", 1), texts("four", 4)
    assert one == four == here
    assert rows_of_one == rows_of_four
    assert len(rows_of_one) == len(here)
