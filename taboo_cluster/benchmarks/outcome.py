"""What a completion came to, whatever the benchmark: the part that is read, blank texts, refusals, the outcome.

METHODS section 0: the outcome is the first that applies of no_response, refused, truncated, invalid_format,
correct / wrong (`error` is the runner's).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from taboo_cluster.benchmarks.base import Verdict
from taboo_cluster.benchmarks.traced import Traced

INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
"""Zero-width and formatting characters: a text of nothing else is blank."""

_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT_START = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)

_NEXT_QUESTION = re.compile(
    r"^[ \t]*(?:#{1,3}[ \t]*)?\**(?:(?i:question|problem|exercise)(?:[ \t]*#?\d+)?|Q)\**[ \t]*:", re.MULTILINE
)

_REFUSAL = re.compile(
    r"""\b(?:
        i(?:'m|\ am)\ sorry,?\ (?:but\ )?i\ (?:can't|cannot|can\ not|won't|am\ unable|am\ not\ able)
      | i(?:'m|\ am)\ (?:unable|not\ able)\ to\ (?:answer|assist|help|solve|provide|comply|complete|fulfil|do\ th)
      | i\ (?:can't|cannot|can\ not|won't|will\ not)\ (?:answer|assist|help|solve|provide|comply|complete|fulfil|do\ th)
      | i\ (?:must|have\ to)\ (?:decline|refuse)
      | as\ an\ ai(?:\ language)?\ (?:model|assistant),?\ i
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def is_blank(text: str) -> bool:
    """True for a text without a visible character: empty, white space (no-break space too), zero-width characters."""
    return not INVISIBLE.sub("", text).strip()


def is_refusal(text: str) -> bool:
    """True where the text holds one of the listed refusal phrases."""
    return bool(_REFUSAL.search(text.replace("\u2019", "'")))


def without_reasoning(text: str) -> str:
    """The text after the last `</think>`, up to a `<think>` that is never closed."""
    return text[after_reasoning(text)]


def after_reasoning(text: str) -> slice:
    """Where in a text its part without reasoning stands."""
    start = max((thought.end() for thought in _THOUGHT_END.finditer(text)), default=0)
    thought = _THOUGHT_START.search(text, start)
    return slice(start, thought.start() if thought else len(text))


def answer_part(text: str) -> Traced:
    """The part of a completion in which an answer counts.

    Reasoning blocks are left out (`without_reasoning`). Then the text is cut where the model invents a next question
    (a line that starts with `Question:`, `Problem 2:`, `Q:` ...); a question line that opens the completion only
    repeats the one asked and does not cut.
    """
    rest = Traced.of(text)[after_reasoning(text)]
    for marker in _NEXT_QUESTION.finditer(rest.text):
        if not is_blank(rest.text[: marker.start()]):
            return rest[: marker.start()]
    return rest


def verdict(
    completion: str,
    finish_reason: str,
    *,
    answer: str | None,
    final: bool,
    score: float,
    matched_alias: str | None = None,
    lines: Mapping[str, int] | None = None,
    details: Mapping[str, Any] | None = None,
    span: tuple[int, int] | None = None,
) -> Verdict:
    """The verdict on one completion.

    Args:
        completion: the whole text generated.
        finish_reason: `stop` or `length`.
        answer: as extracted and normalised; None where nothing was parsed.
        final: the answer stands in a final form (each benchmark says which forms these are). In a text stopped by
            length only such an answer counts; it is scored, with `truncated_but_parsed` in the details.
        score: what the answer earns; 1.0 is correct. Used only where the answer counts.
        matched_alias: the alias that matched, where it was not the canonical answer.
        lines: numbers of the record's column `lines`; kept whatever the outcome.
        details: the benchmark's own findings.
        span: where in the completion the answer was read; kept only where the answer counts.
    """
    cut = finish_reason == "length"
    blank = is_blank(completion)
    if blank or (cut and not final):
        answer = None
    if blank:
        outcome = "no_response"
    elif answer is None and is_refusal(completion):
        outcome = "refused"
    elif answer is None:
        outcome = "truncated" if cut else "invalid_format"
    else:
        outcome = "correct" if score == 1.0 else "wrong"
    if answer is None:
        return Verdict(outcome, None, 0.0, lines=lines, details=details or {})
    found = {**(details or {}), **({"truncated_but_parsed": True} if cut else {})}
    return Verdict(outcome, answer, score, matched_alias, lines, found, span)
