"""gsm8k: grade-school math word problems (Cobbe et al. 2021), from the hub or from local JSONL.

A row has `question` and `answer`, a worked solution that ends in `#### n`.
"""

from __future__ import annotations

from dataclasses import dataclass

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry
from taboo_cluster.benchmarks.numeric import extract_number
from taboo_cluster.benchmarks.sources import DataSet, Row, SplitOptions
from taboo_cluster.benchmarks.word_problems import WordProblems, problem_item, unique
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Item

DATA = DataSet("openai/gsm8k", "main", ("README.md", "main/*"))


@dataclass(frozen=True)
class Options(SplitOptions):
    """Settings of gsm8k; `path`: JSONL file, or folder with `<split>.jsonl`."""


def build(options: Options) -> WordProblems:
    """The benchmark; its rows are loaded when its items are first asked for."""

    def load() -> list[Item]:
        rows = DATA.rows(options.path, options.split, options.revision)
        return unique((_item(row, options.split) for row in rows), options.path or DATA.name)

    return WordProblems("gsm8k", load, options.max_tokens, options.stop)


def _item(row: Row, split: str) -> Item:
    question, answer = row.text("question"), row.text("answer")
    gold = extract_number(answer)
    if gold is None:
        raise UserError(f"{row.where}: the answer holds no number: {answer[-60:]!r}")
    return problem_item(question, gold.text, split)


BENCHMARKS.register("gsm8k")(BenchmarkEntry(Options, build))
