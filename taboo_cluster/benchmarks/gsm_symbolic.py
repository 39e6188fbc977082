"""gsm_symbolic: GSM8K problems as templates with fresh names and numbers (Mirzadeh et al. 2024), generated offline.

The generator is reasoning-gym's; its version is pinned, because another one makes other questions.
"""

from __future__ import annotations

from dataclasses import dataclass

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry
from taboo_cluster.benchmarks.word_problems import WordProblems, problem_item, unique
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Item

INSTRUCTION = " Give the result as your final answer. Do not include units."
"""Appended to each question by the generator; left out here, where a question is only a question."""


@dataclass(frozen=True)
class Options:
    """Settings of gsm_symbolic."""

    size: int = 500
    """Problems to generate; a larger number contains the smaller one's. The few repeats count once."""
    seed: int = 0
    """Of the generator. Neighbouring seeds share a few problems."""
    max_tokens: int = 512
    stop: list[str] | str | None = None
    """Strings that end a completion; null takes an invented next question for base models, none for aligned ones."""


def build(options: Options) -> WordProblems:
    """The benchmark; problems are generated when its items are first asked for."""
    if options.size < 1:
        raise UserError(f"benchmark.gsm_symbolic.size is {options.size}; it has to be 1 or more")
    return WordProblems("gsm_symbolic", lambda: _items(options.size, options.seed), options.max_tokens, options.stop)


def _items(size: int, seed: int) -> list[Item]:
    """Problems 0 to size - 1 of the seed; those of one template share a cluster."""
    from reasoning_gym.arithmetic.gsm_symbolic import GSMSymbolicDataset, GSMSymbolicDatasetConfig

    problems = GSMSymbolicDataset(GSMSymbolicDatasetConfig(seed=seed, size=size))
    made = [
        problem_item(
            problem["question"].removesuffix(INSTRUCTION), problem["answer"], "test", cluster_id=f"template-{template}"
        )
        for problem, template in zip((problems[index] for index in range(size)), problems.task_indices, strict=True)
    ]
    return unique(made, "gsm_symbolic")


BENCHMARKS.register("gsm_symbolic")(BenchmarkEntry(Options, build))
