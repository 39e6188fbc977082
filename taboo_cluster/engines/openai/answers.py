"""Reading a server's answer: text, why it ended, tokens, and at rank 1 and above the interventions.

The engine does not see the mask at work. It reads it from the nominal log-probabilities that vLLM gives with
`--logprobs-mode raw_logprobs`: a greedy step that does not emit the best token was an intervention.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taboo_cluster.engines.base import Generation, Step, Usage
from taboo_cluster.errors import TrialError
from taboo_cluster.taboo.surprisal import injected_bits

ENDS: Mapping[str, str] = {"stop": "stop", "eos": "stop", "length": "length", "max_tokens": "length"}
"""Why a text ended, as servers say it."""

MINUS_INFINITY = -9999.0
"""How vLLM writes it in JSON."""

_ID = "token_id:"


@dataclass(frozen=True)
class Position:
    """What was known at one generated token, before the mask."""

    emitted: int
    logprobs: Mapping[int, float]
    """Natural log-probabilities of the best tokens and of the emitted one."""


def read(answer: Mapping[str, Any], rank: int) -> Generation:
    """What a server made of one request.

    Args:
        answer: its JSON.
        rank: of the request's intervention.

    Raises:
        TrialError: `generation_failed` for an answer of another form, `request_refused` for a text that the server
            withheld.
    """
    choice = _first(answer)
    reason = str(choice.get("finish_reason"))
    if reason == "content_filter":
        raise TrialError("request_refused", "the server's content filter ended the text")
    if reason not in ENDS:
        raise TrialError("generation_failed", f"the server ended the request with {reason}")
    ids = tuple(choice.get("token_ids") or ())
    usage = _usage(answer.get("usage"))
    if not rank:
        return Generation(_text(choice), ids, ENDS[reason], usage=usage)
    steps = tuple(interventions(positions(choice)))
    return Generation(
        text=_text(choice),
        token_ids=ids,
        finish_reason=ENDS[reason],
        steps=steps,
        skipped_steps=None,
        tie_steps=None,
        glued=None,
        stopped_by_detour=None,
        taboo_leak=None,
        usage=usage,
    )


def positions(choice: Mapping[str, Any]) -> list[Position]:
    """The log-probabilities of an answer, whose tokens are given by id. Raises TrialError where there are none."""
    given = choice.get("logprobs") or {}
    try:
        if (content := given.get("content")) is not None:
            return [
                _position(p["token"], p["logprob"], [(t["token"], t["logprob"]) for t in p["top_logprobs"]])
                for p in content
            ]
        rows = zip(given["tokens"], given["token_logprobs"], given["top_logprobs"], strict=True)
        return [_position(token, logprob, list(best.items())) for token, logprob, best in rows]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TrialError(
            "generation_failed", "the server gives no log-probabilities by token id, so interventions are not known"
        ) from error


def interventions(steps: Sequence[Position]) -> Iterator[Step]:
    """The greedy steps that did not emit the best token, the lower id among equals."""
    for place, step in enumerate(steps):
        nominal = min(step.logprobs, key=lambda token: (-step.logprobs[token], token))
        if nominal == step.emitted:
            continue
        best, own = step.logprobs[nominal], step.logprobs[step.emitted]
        above = sum(value >= own for value in step.logprobs.values())
        yield Step(
            position=place,
            nominal_id=nominal,
            nominal=None,
            emitted_id=step.emitted,
            emitted=None,
            emitted_rank=above if above < len(step.logprobs) else None,  # else it may lie below all that are seen
            bits=injected_bits(best, own),
        )


def _position(token: str, logprob: float, best: Sequence[tuple[str, float]]) -> Position:
    known = {_number(name): _value(value) for name, value in best} | {_number(token): _value(logprob)}
    return Position(_number(token), known)


def _number(token: str) -> int:
    if not token.startswith(_ID):
        raise ValueError(token)
    return int(token.removeprefix(_ID))


def _value(logprob: float) -> float:
    return -math.inf if logprob <= MINUS_INFINITY else float(logprob)


def _first(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = answer.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    raise TrialError("generation_failed", "the server's answer holds no choices")


def _text(choice: Mapping[str, Any]) -> str:
    """The text; of a chat with its reasoning in front, as a model that is not behind a server writes it."""
    message = choice.get("message")
    if not isinstance(message, Mapping):
        if isinstance(text := choice.get("text"), str):
            return text
        raise TrialError("generation_failed", "the server's answer holds no text")
    said = message.get("content") or message.get("refusal") or ""
    thought = message.get("reasoning") or message.get("reasoning_content")
    if not isinstance(said, str):
        raise TrialError("generation_failed", "the server's answer is not a text")
    if not isinstance(thought, str) or not thought:
        return said
    return f"<think>{thought}</think>{said}" if said else f"<think>{thought}"


def _usage(given: Any) -> Usage:
    counted = given if isinstance(given, Mapping) else {}
    numbers = [counted.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return Usage(*(number if type(number) is int else None for number in numbers))
