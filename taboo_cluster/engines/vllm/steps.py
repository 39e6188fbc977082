"""From the hook's log in vLLM's workers to the interventions of a finished request."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taboo_cluster.errors import TrialError
from taboo_cluster.taboo.detours import Detour, Entropy
from taboo_cluster.taboo.step_log import LoggedStep, Taken, unpack
from taboo_cluster.taboo.surprisal import injected_bits

if TYPE_CHECKING:
    from vllm.logprobs import FlatLogprobs
    from vllm.v1.engine.async_llm import AsyncLLM


@dataclass(frozen=True)
class Fetched:
    """What the hook did at each position of a request."""

    steps: list[LoggedStep]
    entropies: list[Entropy]
    """Empty where they were not asked for."""


class StepFetcher:
    """Fetches the steps of requests that have ended: those that wait go together in one call to the workers."""

    def __init__(self, llm: AsyncLLM) -> None:
        self._llm = llm
        self._waiting: dict[str, tuple[int, asyncio.Future[Taken]]] = {}
        self._abandoned: list[str] = []
        self._task: asyncio.Task[None] | None = None

    async def fetch(self, key: str, length: int) -> Fetched:
        """The steps of a request that generated `length` tokens; TrialError where some were not logged."""
        future: asyncio.Future[Taken] = asyncio.get_running_loop().create_future()
        self._waiting[key] = (length, future)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        taken = await future
        if missing := sum(number < 0 for number in taken.packed):
            raise TrialError("generation_failed", f"{missing} of {length} steps are missing in the hook's log")
        steps = [unpack(number) for number in taken.packed]
        bits = zip(taken.entropy or (), steps, strict=False)
        return Fetched(steps, [Entropy(one, step.word_initial) for one, step in bits])

    def abandon(self, key: str) -> None:
        """Have the log of a request that was given up dropped with the next call."""
        self._abandoned.append(key)

    async def _run(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            lengths = dict.fromkeys(self._abandoned, 0) | {key: length for key, (length, _) in waiting.items()}
            self._abandoned.clear()
            try:
                answers = await self._llm.collective_rpc("take_taboo_steps", args=(lengths,))
                logs = {
                    key: merged([Taken(*answer[key]) for answer in answers if key in answer], length)
                    for key, (length, _) in waiting.items()
                }
            except Exception as error:
                for _, future in waiting.values():
                    if not future.done():
                        future.set_exception(error)
            else:
                for key, (_, future) in waiting.items():
                    if not future.done():
                        future.set_result(logs[key])


def merged(logs: Sequence[Taken], length: int) -> Taken:
    """One log from those of several workers: each has written the steps it sampled, -1 elsewhere."""
    if not logs:
        return Taken([-1] * length)
    packed = [max(steps) for steps in zip(*(log.packed for log in logs), strict=True)]
    measured = [log.entropy for log in logs if log.entropy is not None]
    return Taken(packed, [max(bits) for bits in zip(*measured, strict=True)] if measured else None)


def detours(steps: Sequence[LoggedStep], token_ids: Sequence[int], logprobs: FlatLogprobs) -> list[Detour]:
    """The interventions among a request's steps.

    Args:
        steps: one per generated token, or none at rank 0.
        token_ids: the generated tokens.
        logprobs: nominal log-probabilities at each position, of the emitted token first and then of the best one.

    Raises:
        TrialError: the model's logits were not all numbers.
    """
    if any(step.invalid for step in steps) or any(map(math.isnan, logprobs.logprobs)):
        raise TrialError("nan_logits", "the model's logits are not all numbers")
    found = []
    for position, step in enumerate(steps):
        if step.intervened:
            first, last = logprobs.start_indices[position], logprobs.end_indices[position]
            found.append(
                Detour(
                    position=position,
                    nominal_id=step.nominal_id,
                    emitted_id=token_ids[position],
                    emitted_rank=logprobs.ranks[first],
                    bits=injected_bits(max(logprobs.logprobs[first:last]), logprobs.logprobs[first]),
                    tied=step.tied,
                )
            )
    return found
