"""What the mask costs per decoding step, beside torch's own topk and argmax on the same logits.

    python tests/performance/mask_cost.py [--threads 2] [--rows 64] [--vocab 152064] [--rank 8]

Prints the best and the median of repeated runs: on a machine that does other work too, the best is nearer to the cost.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

import torch

from taboo_cluster.taboo.mask import mask_top
from taboo_cluster.taboo.triggers.base import TRIGGERS
from taboo_cluster.taboo.word_start import WordStartTable


def milliseconds(work: Callable[[], object], repeats: int = 40) -> tuple[float, float]:
    """Best and median time of one run."""
    work()
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        taken.append(1e3 * (time.perf_counter() - begin))
    return min(taken), statistics.median(taken)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    for name, value in (("threads", 2), ("rows", 64), ("vocab", 152064), ("rank", 8)):
        parser.add_argument(f"--{name}", type=int, default=value)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    generator = torch.Generator().manual_seed(0)
    ids = arguments.vocab - arguments.vocab // 400  # logits are a little wider than most tokenizers
    start = torch.rand(ids, generator=generator) < 0.6
    table = WordStartTable(
        start[None], torch.zeros_like(start), torch.ones_like(start), gapless=True, function=torch.zeros_like(start)
    )
    trigger = TRIGGERS.get("word_start")
    rank = torch.full((arguments.rows,), arguments.rank)
    logits = torch.randn(arguments.rows, arguments.vocab, generator=generator)
    work: dict[str, Callable[[], object]] = {
        "mask_top": lambda: mask_top(logits, rank, table, trigger, arguments.rank),
        "mask_top, special tokens protected": lambda: mask_top(logits, rank, table, trigger, arguments.rank, rank > 0),
        f"topk({arguments.rank})": lambda: logits.topk(arguments.rank),
        "argmax": lambda: logits.argmax(1),
    }
    print(f"{arguments.rows} x {arguments.vocab} float32, {arguments.threads} threads, load {os.getloadavg()[0]:.1f}")
    for name, run in work.items():
        best, median = milliseconds(run)
        print(f"{name:36} best {best:6.1f} ms   median {median:6.1f} ms")


if __name__ == "__main__":
    main()
