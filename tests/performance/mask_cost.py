"""What the mask costs per decoding step, beside the product that makes the logits and torch's own topk and argmax.

    python tests/performance/mask_cost.py [--threads 2] [--rows 64] [--vocab 152064] [--width 3584] [--rank 8]
        [--report PAGE.md]

Prints the best and the median of repeated runs: on a machine that does other work too, the best is nearer to the cost.
A report's section is appended with its date.
"""

import argparse
import datetime
import os
import platform
import statistics
import time
from collections.abc import Callable

import torch

from taboo_cluster.taboo.mask import entropy_bits, mask_top
from taboo_cluster.taboo.triggers.base import RowFacts, choose
from taboo_cluster.taboo.word_start import TAIL, WordStartTable

TRIGGERS = ("word_start", "sparse(p=0.5)", "surprisal_threshold(at_most=4)", "bit_budget(bits=20)", "mass(q=0.5)")


def milliseconds(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Best and median time of one run."""
    work()
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        taken.append(1e3 * (time.perf_counter() - begin))
    return min(taken), statistics.median(taken)


def facts(rows: int, options: dict[str, float]) -> RowFacts:
    """What a hook would tell of each row."""
    none = RowFacts.none(rows, torch.device("cpu"))
    values = {name: torch.full((rows,), value, dtype=torch.double) for name, value in options.items()}
    return RowFacts(none.state, none.position, none.seed, none.paid, values)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    for name, value in (("threads", 2), ("rows", 64), ("vocab", 152064), ("width", 3584), ("rank", 8)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--report")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    generator = torch.Generator().manual_seed(0)
    ids = arguments.vocab - arguments.vocab // 400  # logits are a little wider than most tokenizers
    start = torch.rand(10, ids, generator=generator) < 0.6
    none = torch.zeros(ids, dtype=torch.bool)
    table = WordStartTable(
        start, none, ~none, gapless=True, function=none, after=torch.zeros(10, ids, dtype=torch.uint8)
    )
    rank = torch.full((arguments.rows,), arguments.rank)
    logits = torch.randn(arguments.rows, arguments.vocab, generator=generator)
    tail = torch.randint(ids, (arguments.rows, TAIL), generator=generator)
    hidden = torch.randn(arguments.rows, arguments.width, generator=generator).bfloat16()
    weight = torch.randn(arguments.vocab, arguments.width, generator=generator).bfloat16()

    def masking(text: str, protect: torch.Tensor | None = None) -> Callable[[], object]:
        chosen = choose(text)
        about = facts(arguments.rows, chosen.numbers)
        return lambda: mask_top(logits, rank, table, chosen.entry, arguments.rank, protect, about)

    work: dict[str, Callable[[], object]] = {
        f"bf16 product, width {arguments.width}": lambda: hidden @ weight.T,
        **{f"mask, {text}": masking(text) for text in TRIGGERS},
        "mask, word_start, special tokens protected": masking("word_start", rank > 0),
        "word-start state of the text before (unicode)": lambda: table.state(tail),
        "entropy": lambda: entropy_bits(logits),
        f"torch.topk({arguments.rank})": lambda: logits.topk(arguments.rank),
        "torch.argmax": lambda: logits.argmax(1),
    }
    lines = [
        f"{arguments.rows} x {arguments.vocab} float32 logits, rank {arguments.rank}, {arguments.threads} threads, "
        f"{os.cpu_count()} cores ({platform.machine()}), load {os.getloadavg()[0]:.1f}.",
        "",
        "| work | best, ms | median, ms | median / product |",
        "| --- | --- | --- | --- |",
    ]
    product = 0.0
    for name, run in work.items():
        best, median = milliseconds(run, repeats=10 if "product" in name or "mass" in name else 40)
        product = product or median
        lines.append(f"| {name} | {best:.1f} | {median:.1f} | {median / product:.4f} |")
    text = "\n".join([f"## Mask core, {datetime.date.today()}", "", *lines, ""])
    print(text)
    if arguments.report:
        with open(arguments.report, "a", encoding="utf-8") as out:
            out.write(text + "\n")


if __name__ == "__main__":
    main()
