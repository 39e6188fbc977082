"""Write a run's correct detours to a file: training data, as JSONL or Parquet.

  python -m taboo_cluster export runs/NAME --out detours.jsonl

A detour is a completion with at least one intervention; one is taken where it and its item's baseline are correct. Each
row holds the prompt, both texts, and rank and bits of every intervention.
"""

from __future__ import annotations

import argparse
import sys


def arguments(parser: argparse.ArgumentParser) -> None:
    """The run, the file, and what to take."""
    parser.add_argument("dir", metavar="DIR", help="the run")
    parser.add_argument("--out", required=True, metavar="FILE", help="FILE.jsonl or FILE.parquet")
    parser.add_argument("--any-baseline", action="store_true", help="also where the baseline is wrong")
    parser.add_argument("--steps", action="store_true", help="also the tokens of each intervention")
    parser.add_argument("--force", action="store_true", help="replace a file that exists")


def run(arguments: argparse.Namespace) -> int:
    """Write the file and say how many rows it has."""
    from taboo_cluster.exporting import export_detours

    count = export_detours(
        arguments.dir,
        arguments.out,
        any_baseline=arguments.any_baseline,
        steps=arguments.steps,
        force=arguments.force,
    )
    print(f"{count:,} correct detours written to {arguments.out}", file=sys.stderr)
    return 0
