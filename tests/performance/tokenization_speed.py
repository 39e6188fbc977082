"""How long it takes to fragment the contracts at 11 levels, and to measure how tokenizers cut them, on one core.

    python tests/performance/tokenization_speed.py [--data ../shared/data] [--models FOLDER] [--report PAGE.md]

The tokenizers are the embedded pair's and those of the folders in --models (else in the variable TABOO_MODELS).
Seconds are of the process, so that a busy machine does not count.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from transformers import AutoTokenizer

from taboo_cluster.models import local_folder
from taboo_cluster.perturbations.stack import perturb
from taboo_cluster.tokenization import Tokenizer
from taboo_cluster.tokenized import CLEAN, Version, rows
from taboo_cluster.trial import Item

SEED = 4711
LEVELS: list[Version] = [CLEAN, *((f"fragment(p={level / 10:g})", SEED) for level in range(1, 11))]
FRAGMENTED_IN, MEASURED_IN = 5.0, 20.0
"""Seconds that should be enough, for all contracts."""


def contracts(path: Path) -> list[Item]:
    """Each contract as an item."""
    with path.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [Item(one["filename"], one["text"], "", "test", one["filename"]) for one in found]


def folders(models: Path | None) -> Iterator[tuple[str, Path]]:
    """Names and folders of the tokenizers."""
    yield "embedded pair", local_folder("embedded:tiny-base")
    for folder in sorted(models.iterdir()) if models else ():
        if (folder / "tokenizer.json").is_file():
            yield folder.name, folder


def main() -> None:
    """Measure and print."""
    named = os.environ.get("TABOO_MODELS")
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--models", type=Path, default=Path(named) if named else None)
    parser.add_argument("--report", type=Path)
    arguments = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    items = contracts(arguments.data / "cuad/contracts.jsonl")
    length = sum(len(item.question) for item in items)

    start = time.process_time()
    for item in items:
        for stack, seed in LEVELS:
            if stack is not None:
                perturb(item, stack, seed or 0)
    fragmenting = time.process_time() - start
    lines = [
        f"## {len(items)} contracts at {len(LEVELS)} levels, {datetime.date.today()}",
        "",
        f"{length:,} characters without fragmentation; one core, CPU seconds.",
        "",
        "| what | s | enough | tokens |",
        "| --- | --- | --- | --- |",
        f"| fragmented | {fragmenting:.1f} | {FRAGMENTED_IN:g} | |",
    ]
    for name, folder in folders(arguments.models):
        tokenizer = Tokenizer(AutoTokenizer.from_pretrained(folder))
        start, tokens = time.process_time(), 0
        for item in items:
            tokens += sum(row["tokens"] for row in rows(tokenizer, "contracts", item, LEVELS, 0))
        seconds = time.process_time() - start
        lines.append(f"| fragmented and measured, {name} | {seconds:.1f} | {MEASURED_IN:g} | {tokens:,} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    lines += ["", f"Peak memory {peak:.1f} GiB."]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.report:
        with arguments.report.open("a", encoding="utf-8") as out:
            out.write("\n" + text)


if __name__ == "__main__":
    main()
