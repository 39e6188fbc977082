"""The text the embedded models learn: training problems with their reasoning said in many ways.

The same step is worded differently from problem to problem, and so are lead-in, first remark and closing sentence:
a model pushed off its first choice of a word has seen other words that go on to the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taboo_cluster.benchmarks.arithmetic import INSTRUCTION, Problem, Step, draw, problem
from taboo_cluster.benchmarks.arithmetic_templates import FORMULAS
from taboo_cluster.hashing import stable_rng

REMARKS = (
    "Let us work it out.",
    "Let us think step by step.",
    "We need the number of {unit}.",
    "We want to know how many {unit}.",
    "The question asks for the number of {unit}.",
    "Here we look for the {unit}.",
)

FIRST = ("First", "To start", "At first", "To begin", "In the first step", "We see that", "We know that")
NEXT = ("Then", "Next", "After that", "Now", "In the second step", "From this", "Finally")
ONLY = ("So", "Here", "Now", "We see that", "Clearly", "Then", "In this case", "This means that")

WORDINGS = {
    "+": (
        "{x} + {y} = {z}",
        "we add {y}: {x} + {y} = {z}",
        "there are {x} + {y} = {z} {unit}",
        "this makes {x} + {y} = {z} {unit}",
        "that is {x} + {y} = {z}",
        "{x} plus {y} is {z}",
        "{x} plus {y} makes {z}",
        "{x} and {y} make {z}",
        "adding {y} to {x} gives {z}",
        "we add {x} and {y} to get {z}",
        "the sum of {x} and {y} is {z}",
        "if we add {y} to {x}, we get {z}",
        "together it is {x} + {y} = {z} {unit}",
        "we have {x} and {y} more, which makes {z}",
        "the total becomes {x} + {y} = {z}",
    ),
    "-": (
        "{x} - {y} = {z}",
        "we take away {y}: {x} - {y} = {z}",
        "there are {x} - {y} = {z} {unit}",
        "this leaves {x} - {y} = {z} {unit}",
        "that is {x} - {y} = {z}",
        "{x} minus {y} is {z}",
        "{x} minus {y} leaves {z}",
        "{x} less {y} makes {z}",
        "taking {y} from {x} leaves {z}",
        "we subtract {y} from {x} to get {z}",
        "the difference of {x} and {y} is {z}",
        "if we take {y} from {x}, we get {z}",
        "what remains is {x} - {y} = {z} {unit}",
        "we have {x} and remove {y}, which leaves {z}",
        "the number becomes {x} - {y} = {z}",
    ),
    "*": (
        "{x} * {y} = {z}",
        "we multiply by {y}: {x} * {y} = {z}",
        "there are {x} * {y} = {z} {unit}",
        "this makes {x} * {y} = {z} {unit}",
        "that is {x} * {y} = {z}",
        "{x} times {y} is {z}",
        "{x} times {y} makes {z}",
        "multiplying {x} by {y} gives {z}",
        "we multiply {x} and {y} to get {z}",
        "the product of {x} and {y} is {z}",
        "if we multiply {x} by {y}, we get {z}",
        "together it is {x} * {y} = {z} {unit}",
        "we have {x} times {y}, which makes {z}",
        "the total becomes {x} * {y} = {z}",
    ),
    "/": (
        "{x} / {y} = {z}",
        "we divide by {y}: {x} / {y} = {z}",
        "there are {x} / {y} = {z} {unit}",
        "this makes {x} / {y} = {z} {unit}",
        "that is {x} / {y} = {z}",
        "{x} divided by {y} is {z}",
        "{x} over {y} makes {z}",
        "dividing {x} by {y} gives {z}",
        "we divide {x} by {y} to get {z}",
        "splitting {x} into {y} parts gives {z}",
        "if we divide {x} by {y}, we get {z}",
        "each part is {x} / {y} = {z} {unit}",
        "we have {x} and split it by {y}, which makes {z}",
        "the number becomes {x} / {y} = {z}",
    ),
}
"""Ways to say one step: x operator y = z."""

CLOSINGS = (
    "The answer is {z}.",
    "So the answer is {z}.",
    "Therefore, the answer is {z}.",
    "Thus the answer is {z}.",
    "Hence the answer is {z}.",
    "Our answer is {z}.",
    "This means the answer is {z}.",
    "In total, the answer is {z}.",
    "The final answer is {z}.",
    "The answer must be {z}.",
    "The answer equals {z}.",
    "The result is {z}.",
    "So the result is {z}.",
    "The number of {unit} is {z}.",
    "So we get {z} {unit}.",
    "That makes {z} {unit}.",
)
"""Ways to end; the first is taken half of the time, as in the benchmark's worked examples."""

SYSTEM_PROMPTS = (
    "You are a helpful assistant.",
    "You solve word problems.",
    "You are good at arithmetic.",
    "Answer the question and explain your steps.",
)

QUESTION_WEIGHT = 0.1
"""Weight in the loss of what the base model is asked; names and numbers of a question cannot be foreseen."""

Text = list[tuple[str, float]]
"""Pieces of one training text, each with its weight in the loss."""


def _pick(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


def say_step(step: Step, unit: str, leads: Sequence[str], rng: np.random.Generator) -> str:
    """One sentence for a step; two times in three after one of the lead-ins."""
    wording = _pick(WORDINGS[step.operator], rng)
    text = wording.format(x=step.left, y=step.right, z=step.result, unit=unit) + "."
    if rng.random() < 1 / 3:
        return text[0].upper() + text[1:]
    lead = _pick(leads, rng)
    return f"{lead} {text}" if lead.endswith("that") else f"{lead}, {text}"


def reason(made: Problem, rng: np.random.Generator) -> str:
    """The worked answer to a problem, in one of its many wordings."""
    sentences = []
    if rng.random() < 0.3:
        sentences.append(_pick(REMARKS, rng).format(unit=made.unit))
    for number, step in enumerate(made.steps):
        leads = ONLY if len(made.steps) == 1 else NEXT if number else FIRST
        sentences.append(say_step(step, made.unit, leads, rng))
    closing = CLOSINGS[0] if rng.random() < 0.5 else _pick(CLOSINGS, rng)
    sentences.append(closing.format(z=made.answer, unit=made.unit))
    return " ".join(sentences)


def drill(rng: np.random.Generator, problems: int = 16) -> str:
    """The bare steps of as many problems; no operands of the test split."""
    lines = []
    for _ in range(problems):
        _, steps = draw(_pick(tuple(FORMULAS), rng), False, rng)
        lines += [f"{step.left} {step.operator} {step.right} = {step.result}." for step in steps]
    return " ".join(lines)


def document(seed: int, index: int) -> Text:
    """One training text of the base model: bare arithmetic (three in ten) or 2 to 6 questions with answers."""
    rng = stable_rng("corpus", seed, index)
    if rng.random() < 0.3:
        return [(drill(rng), 1.0)]
    text: Text = []
    for _ in range(rng.integers(2, 7)):
        made = problem("train", seed, int(rng.integers(2**40)))
        text.append((f"Question: {made.question}\nAnswer:", QUESTION_WEIGHT))
        text.append((f" {reason(made, rng)}\n\n", 1.0))
    return [*text[:-1], (text[-1][0].rstrip("\n"), 1.0)]


def chat(seed: int, index: int) -> list[dict[str, str]]:
    """One conversation for the aligned model: 1 to 4 questions, sometimes a system prompt."""
    rng = stable_rng("chat", seed, index)
    turns = []
    if rng.random() < 0.3:
        turns.append({"role": "system", "content": _pick(SYSTEM_PROMPTS, rng)})
    for _ in range(rng.integers(1, 5)):
        made = problem("train", seed, int(rng.integers(2**40)))
        asked = made.question if rng.random() < 0.2 else f"{made.question}\n{INSTRUCTION}"
        turns.append({"role": "user", "content": asked})
        turns.append({"role": "assistant", "content": reason(made, rng)})
    return turns
