"""Prompts of short-answer benchmarks: a question, worked examples, the answer on a line of its own.

Base models read blocks of `Question:`, `Reasoning:` (style cot only) and `Answer:`; aligned models read turns whose
answers end in a line `Answer: ...`. Without examples, which show the form of an answer, both are told to write it as
`<answer>X</answer>` (`zero_shot`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taboo_cluster.benchmarks.base import Prompt
from taboo_cluster.errors import UserError
from taboo_cluster.prompts import stop_strings

COT, DIRECT = "cot", "direct"
"""Prompt styles: reasoning before the answer, or the answer at once."""

STOP = ("\nQuestion:", "\nQ:")
"""Ends a base model's completion: an invented next question."""


@dataclass(frozen=True)
class Example:
    """A worked example."""

    question: str
    """With its options, where it has any."""
    reasoning: str
    """Used by style cot."""
    answer: str


def instruction(style: str, answer: str) -> str:
    """What an aligned model is asked for; `answer` says what follows `Answer:`, e.g. `the letter alone`."""
    if style == COT:
        return f"Reason step by step. Write the last line as Answer: followed by {answer}."
    return f"Reply with one line: Answer: followed by {answer}."


def few_shot(
    question: str, examples: Sequence[Example], style: str, asked: str, stop: tuple[str, ...] | None = None
) -> Prompt:
    """The prompt for a question.

    Args:
        question: with its options, where it has any.
        examples: worked examples, in order.
        style: `cot` or `direct`.
        asked: appended to each question for aligned models; see `instruction`.
        stop: strings that end a completion, in place of `STOP` for base and none for aligned models.
    """
    reasoned = style == COT
    blocks = [
        f"Question: {e.question}\n" + (f"Reasoning: {e.reasoning}\n" if reasoned else "") + f"Answer: {e.answer}"
        for e in examples
    ]
    return Prompt(
        shots=tuple(
            (f"{e.question}\n\n{asked}", (f"{e.reasoning}\n" if reasoned else "") + f"Answer: {e.answer}")
            for e in examples
        ),
        user=f"{question}\n\n{asked}",
        plain="\n\n".join([*blocks, f"Question: {question}\n{'Reasoning' if reasoned else 'Answer'}:"]),
        stop=STOP if stop is None else stop,
        chat_stop=stop or (),
    )


def zero_shot(question: str, style: str, answer: str, stop: tuple[str, ...] | None = None) -> Prompt:
    """The prompt for a question without examples: the answer is asked for as `<answer>X</answer>` (METHODS section 2).

    Args:
        question: with its options, where it has any.
        style: `cot` (free reasoning comes first) or `direct`.
        answer: what X is, e.g. `the letter of the right option`.
        stop: as for `few_shot`.
    """
    how = "Reason step by step. Then write" if style == COT else "Do not explain anything. Write only"
    asked = f"{question}\n\n{how} <answer>X</answer>, where X is {answer}."
    return Prompt(
        shots=(),
        user=asked,
        plain=f"Question: {asked}\n{'Reasoning' if style == COT else 'Answer'}:",
        stop=STOP if stop is None else stop,
        chat_stop=stop or (),
    )


def check_condition(name: str, styles: Sequence[str], style: str, n_shots: int, most: int) -> None:
    """Raises UserError for a prompt style that a benchmark does not have, or for more examples than it has."""
    if style not in styles:
        raise UserError(f"{name} has no prompt style {style!r}; it has: {', '.join(styles)}")
    if not 0 <= n_shots <= most:
        raise UserError(f"{name} has {most} worked examples; n_shots={n_shots} is not from 0 to that")


def checked(name: str, max_tokens: int, stop: Sequence[str] | str | None) -> tuple[str, ...] | None:
    """The stop strings of a benchmark's options, one string or several; None keeps the benchmark's own.

    Raises:
        UserError: max_tokens below 1, or a stop string that would cut every answer.
    """
    if max_tokens < 1:
        raise UserError(f"benchmark.{name}.max_tokens is {max_tokens}; it has to be 1 or more")
    return None if stop is None else stop_strings(stop, chat=True)
