"""Show what a sweep would cost, without loading a model, starting Ray or asking the hub.

  python -m taboo_cluster plan +sweep=alignment models=paper 'cluster.gpus=[80,80,80,80,80,80,80,80]'

cluster.gpus holds the GiB of each GPU of one node; without it the GPUs of this machine count. What run_dir=DIR holds
already is deducted.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from taboo_cluster.display import print_table

if TYPE_CHECKING:
    from taboo_cluster.planning import ModelPlan, Plan


def arguments(parser: argparse.ArgumentParser) -> None:
    """The same as for `run`."""
    from taboo_cluster.cli.run import arguments as of_run

    of_run(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compose, plan, print."""
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
    from taboo_cluster.compose import load_config
    from taboo_cluster.gpus import seen_gpus
    from taboo_cluster.planning import ASSUMPTIONS, plan

    config = load_config(arguments.overrides, arguments.config_dir)
    planned = plan(config, seen_gpus(config.cluster))
    _print_summary(config.sweep, str(config.engine["name"]), planned)
    _print_models(planned)
    for line in [*planned.refused, *(f"note: {note}" for note in planned.notes)]:
        print(line)
    print(f"Hours and tokens are rough: {ASSUMPTIONS}.")
    return 0


def _print_summary(sweep: str, engine: str, planned: Plan) -> None:
    models = planned.models
    recorded = sum(model.recorded for model in models)
    tokens = sum(model.completion_tokens for model in models)
    prompts = sum(model.prompt_tokens for model in models)
    items = ", ".join(f"{count:,} items of {name}" for name, count in planned.items.items())
    print(f"{sweep} on {engine}: {len(models)} models, {items}")
    print(
        f"{sum(model.cells for model in models):,} cells, {sum(model.trials for model in models):,} trials"
        + (f", {recorded:,} of them recorded already" if recorded else "")
        + f"; about {tokens / 1e6:,.2f} M tokens to generate and {prompts / 1e6:,.2f} M to read"
    )
    if not any(model.memory for model in models):
        return
    if planned.packing is None:
        print(f"About {planned.engine_hours:,.2f} engine-hours on CPU cores (no GPU named or seen; name some: ", end="")
        print("'cluster.gpus=[80,80]')")
    else:
        print(f"About {planned.engine_hours:,.1f} GPU-hours, {planned.wall_hours:,.1f} hours from start to end")


def _print_models(planned: Plan) -> None:
    from taboo_cluster.placement import GIB

    placed: dict[int, list[str]] = {}
    for placement in planned.packing.placements if planned.packing else ():
        placed.setdefault(placement.model, []).append(
            "+".join(map(str, placement.gpus)) + (f" (wave {placement.wave + 1})" if placement.wave else "")
        )
    split = {p.model: p.tensor_parallel for p in planned.packing.placements} if planned.packing else {}
    shares = {p.model: p.gpu_share for p in planned.packing.placements} if planned.packing else {}

    def row(index: int, model: ModelPlan) -> list[object]:
        fixed = [model.name, model.quantization, model.cells, model.trials, model.left]
        if model.memory is None:
            return [*fixed, None, None, None]
        fixed = [*fixed, round(model.hours, 2)]
        memory = [model.memory.weights / GIB, model.memory.needed(split.get(index, 1)) / GIB]
        if planned.packing is None:
            return [*fixed, *(round(value, 1) for value in memory)]
        where = ", ".join(placed[index]) if index in placed else "does not fit"
        return [
            *fixed,
            *(round(value, 1) for value in memory),
            split.get(index),
            shares.get(index) and round(shares[index], 2),
            where,
        ]

    columns = ["model", "quant", "cells", "trials", "left", "hours", "weights GiB", "GiB per GPU"]
    columns += ["TP", "share", "GPUs"] if planned.packing else []
    print()
    print_table(columns, [row(index, model) for index, model in enumerate(planned.models)])
    print()
