"""How many texts a second every perturbation makes on one core, and typos beside nlpaug's.

    python tests/performance/perturbation_speed.py [--data ../shared/data] [--items 2000] [--report PAGE.md]

Questions of GSM8K (half of them, where there are so many) and MMLU, seeded and perturbed as in a run; perturbations of
programs on those of HumanEval, and those that not all questions give something to work on, on the others. The first
pass over the texts meets each of them for the first time; `again` is the best of three further ones, as with several
variants. nlpaug (`pip install -e .[verify]`) replaces one letter by a neighbour on the keyboard in the same share of
words, and spares nothing that a question's answer hangs on.
"""

from __future__ import annotations

import argparse
import datetime
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from nlpaug.augmenter.char import KeyboardAug

from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.perturbations.base import PERTURBATIONS
from taboo_cluster.perturbations.stack import has, members, perturb
from taboo_cluster.sweep import subsample
from taboo_cluster.trial import Item

FILES = {"paraphrase"}
"""Perturbations that read what was written beforehand."""
RATES = (0.1, 0.3)
SEED = 4711
NLPAUG = "nlpaug KeyboardAug"


def questions(benchmark: str, path: Path, limit: int | None) -> list[Item]:
    """A seeded subsample of a benchmark's items."""
    entry = BENCHMARKS.get(benchmark)
    return subsample(entry.build(entry.options(path=str(path))).items(), limit, 0)


def ours(stack: str, seed: int) -> Callable[[Item], str]:
    """The question as a stack makes it, with what is put around it."""

    def make(item: Item) -> str:
        subject = perturb(item, stack, seed).subject
        return subject.before + subject.item.question + subject.after

    return make


def theirs(rate: float) -> Callable[[Item], str]:
    """The question as nlpaug makes it."""
    augmenter = KeyboardAug(
        aug_word_p=rate, aug_word_max=None, aug_char_max=1, include_special_char=False, include_numeric=False
    )
    return lambda item: str(augmenter.augment(item.question)[0])


def measure(make: Callable[[int], Callable[[Item], str]], items: Sequence[Item]) -> tuple[float, float, float]:
    """Texts a second at first and later on, and words changed of all words, in percent."""
    rates, changed, words = [], 0, 0
    for seed in range(4):
        one = make(seed)
        start = time.perf_counter()
        texts = [one(item) for item in items]
        rates.append(len(items) / (time.perf_counter() - start))
        if seed == 0:
            for item, text in zip(items, texts, strict=True):
                before, after = item.question.split(), text.split()
                words += len(before)
                changed += sum(a != b for a, b in zip(before, after, strict=False)) if len(before) == len(after) else 0
    return rates[0], max(rates[1:]), 100 * changed / words


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--report", type=Path)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    random.seed(SEED)  # nlpaug draws from the global states
    np.random.seed(SEED)  # noqa: NPY002
    data: Path = arguments.data
    items = questions("gsm8k", data / "gsm8k/test.jsonl", arguments.items // 2)
    items += questions("mmlu", data / "mmlu", arguments.items - len(items))
    programs = questions("humaneval", data / "humaneval/HumanEval.jsonl", None)
    letters = sum(len(item.question) for item in items) / len(items)
    lines = [
        f"## {len(items):,} questions, {datetime.date.today()}",
        "",
        f"One of {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {letters:.0f} characters a question.",
        "",
        "| perturbation | texts | texts/s | again | words changed, % |",
        "| --- | --- | --- | --- | --- |",
    ]

    def add(name: str, make: Callable[[int], Callable[[Item], str]], texts: Sequence[Item]) -> tuple[float, float]:
        first, again, changed = measure(make, texts)
        shown = f"{changed:.1f}" if changed else ""
        lines.append(f"| {name} | {len(texts):,} | {first:,.0f} | {again:,.0f} | {shown} |")
        return first, again

    for name in sorted(set(PERTURBATIONS.names()) - FILES):
        (member,) = members(name)
        need = member.entry.needs
        texts = programs if need == "code" else [item for item in items if need is None or has(item, need)]
        add(str(member.spec), lambda seed, name=name: ours(name, seed), texts)
    faster = []
    for rate in RATES:
        stack = f"typos(rate={rate},kind=keyboard)"
        our = add(stack, lambda seed, stack=stack: ours(stack, seed), items)
        their = add(f"{NLPAUG}, {rate:.0%} of words", lambda seed, rate=rate: theirs(rate), items)
        faster.append(f"{our[0] / their[0]:.1f} (later {our[1] / their[1]:.1f}) at rate {rate}")
    lines += ["", f"Typos make texts as many times faster than nlpaug: {', '.join(faster)}."]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.report:
        with arguments.report.open("a", encoding="utf-8") as out:
            out.write("\n" + text)


if __name__ == "__main__":
    main()
