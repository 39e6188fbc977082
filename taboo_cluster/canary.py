"""Checks before a sweep spends anything: does the scorer score, does the mask mask?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.engines.base import Engine, Generation, Request
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Sampling, Taboo

TOKENS = 32
"""Generated at most for one check of the mask."""


class CanaryFailed(UserError):
    """A check failed: nothing this model or benchmark would record could be trusted."""


def check_scorer(benchmark: Benchmark) -> None:
    """Score the benchmark's own canaries, a gold and an empty answer among them; raises CanaryFailed."""
    for item, completion, right in benchmark.canaries():
        verdict = benchmark.score(item, completion, "stop")
        if verdict.correct is not right:
            raise CanaryFailed(
                f"canary: {benchmark.name} scores {completion!r} as {verdict.outcome} against the gold answer "
                f"{item.gold!r}, but it is {'right' if right else 'wrong'}"
            )


def check_mask(engine: Engine, prompts: Iterable[Request]) -> None:
    """Compare rank 1 with rank 0 on the first prompt where rank 1 intervenes.

    Up to the first intervention both must give the same tokens; there, rank 0 must give the nominal one and rank 1
    another. Rank 0 must not intervene, and a text without an intervention must be rank 0's.

    Raises:
        CanaryFailed: where this does not hold, where a prompt fails, or where rank 1 never intervenes.
    """
    tried = 0
    for prompt in prompts:
        tried += 1
        plain, masked = (_generate(engine, prompt, rank) for rank in (0, 1))
        if plain.steps:
            raise CanaryFailed(f"canary: rank 0 intervened at token {plain.steps[0].position} of {prompt.prompt!r}")
        first = masked.steps[0].position if masked.steps else None
        if plain.token_ids[:first] != masked.token_ids[:first]:
            raise CanaryFailed(f"canary: rank 1 differs from rank 0 before any intervention, after {prompt.prompt!r}")
        if first is None:
            continue
        step = masked.steps[0]
        nominal, emitted = plain.token_ids[first], masked.token_ids[first]
        if (nominal, emitted) != (step.nominal_id, step.emitted_id) or nominal == emitted:
            raise CanaryFailed(
                f"canary: the mask does not hold: rank 0 gives token {nominal}, rank 1 gives {emitted} and reports "
                f"{step.nominal_id} -> {step.emitted_id}, after {prompt.prompt!r}"
            )
        return
    raise CanaryFailed(f"canary: rank 1 never intervened in the first {TOKENS} tokens after {tried} prompts")


def _generate(engine: Engine, prompt: Request, rank: int) -> Generation:
    """One greedy generation by itself, so that no other request changes its numbers."""
    request = replace(prompt, key=f"canary-{rank}", max_tokens=TOKENS, stop=(), taboo=Taboo(rank), sampling=Sampling())
    (completion,) = engine.generate([request])
    if completion.generation is None:
        raise CanaryFailed(f"canary: rank {rank} failed: {completion.error_type}: {completion.error}")
    return completion.generation
