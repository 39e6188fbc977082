"""arithmetic: generated word problems of one or two steps, the embedded models' own benchmark.

A problem is a pure function of (split, seed, index). The splits share no story and no operand tuple of a formula: no
training problem is worded as a test template, and one tuple in five, chosen by its hash, belongs to the test split. A
single fact of a two-step problem (7 * 8 = 56) may occur in both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taboo_cluster.benchmarks.arithmetic_templates import BOXES, FORMULAS, PEOPLE, PRONOUNS, TEST, THINGS, TIMES, TRAIN
from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry, Prompt, Verdict
from taboo_cluster.benchmarks.numeric import SCORER_VERSION, score_number
from taboo_cluster.errors import UserError
from taboo_cluster.hashing import stable_hash, stable_rng
from taboo_cluster.trial import Item

LARGEST = 100
"""No operand or result of a step is larger."""

TEST_SHARE = 5
"""One operand tuple in this many is held out for the test split."""

INSTRUCTION = "Reason step by step."

SHOTS = (
    (
        "Rosa has 14 shells. A friend gives her 9 more. How many shells does Rosa have now?",
        "We add 9: 14 + 9 = 23. The answer is 23.",
    ),
    (
        "Sam has 6 bags with 4 coins each. He gives 9 coins to Ivy. How many coins does Sam have left?",
        "First, there are 6 * 4 = 24 coins. Then, this leaves 24 - 9 = 15 coins. The answer is 15.",
    ),
    (
        "Paul shares 40 eggs equally among 8 friends. How many eggs does each friend get?",
        "We divide by 8: 40 / 8 = 5. The answer is 5.",
    ),
    (
        "Emma has 18 cards. Leo has 6 fewer cards than Emma. How many cards do they have together?",
        "First, there are 18 - 6 = 12 cards. Then, this makes 18 + 12 = 30 cards. The answer is 30.",
    ),
)
"""Worked examples, of training templates and operands."""

_SPLITS = {"train": TRAIN, "test": TEST}
_ALTERNATIVES = re.compile(r"\[([^\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Step:
    """One operation of the solution: left operator right = result."""

    left: int
    operator: str
    right: int
    result: int


@dataclass(frozen=True)
class Problem:
    """One generated problem."""

    template: str
    """Its name, e.g. `test-add_sub-1`."""
    operands: tuple[int, ...]
    question: str
    steps: tuple[Step, ...]
    unit: str
    """What is counted: the word after "How many"."""

    @property
    def answer(self) -> int:
        """The gold answer."""
        return self.steps[-1].result


def solve(formula: str, operands: Sequence[int]) -> tuple[Step, ...] | None:
    """The steps of a formula; None where a result is not a whole number from 1 to LARGEST."""
    values = dict(zip("abc", operands, strict=False))
    steps = []
    for left, operator, right in FORMULAS[formula].steps:
        x, y = values[left], values[right]
        if operator == "/" and x % y:
            return None
        result = {"+": x + y, "-": x - y, "*": x * y, "/": x // y}[operator]
        if not 1 <= result <= LARGEST:
            return None
        steps.append(Step(x, operator, y, result))
        values["p"] = result
    return tuple(steps)


def held_out(formula: str, operands: Sequence[int]) -> bool:
    """True for operand tuples of the test split."""
    return int(stable_hash("arithmetic", formula, *operands), 16) % TEST_SHARE == 0


def problem(split: str, seed: int, index: int) -> Problem:
    """The problem number `index` of a split ("train" or "test"). Templates take turns."""
    rng = stable_rng("arithmetic", split, seed, index)
    names = [(formula, number) for formula, texts in _SPLITS[split].items() for number in range(len(texts))]
    formula, number = names[index % len(names)]
    operands, steps = draw(formula, split == "test", rng)
    template = _SPLITS[split][formula][number]
    wording = _word(template, rng)
    while split == "train" and skeleton(wording) in _TEST_SKELETONS:
        wording = _word(template, rng)
    question = _fill(wording, operands, rng)
    unit = re.findall(r"How many (?:more )?(\w+)", question)[-1]
    return Problem(f"{split}-{formula}-{number + 1}", operands, question, steps, unit)


def draw(formula: str, test: bool, rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[Step, ...]]:
    """Operands of the wanted split, with the steps they lead to."""
    ranges = FORMULAS[formula].ranges.values()
    while True:
        operands = tuple(int(rng.integers(low, high + 1)) for low, high in ranges)
        steps = solve(formula, operands)
        if steps is not None and held_out(formula, operands) == test:
            return operands, steps


def skeleton(wording: str) -> str:
    """A wording without its slots: what two problems share whose story is told alike."""
    return _SLOT.sub("_", wording)


_TEST_SKELETONS = {skeleton(template) for templates in TEST.values() for template in templates}


def _word(template: str, rng: np.random.Generator) -> str:
    """One wording of a template: alternatives and times chosen."""

    def choose(match: re.Match[str]) -> str:
        options = match[1].split("|")
        return options[rng.integers(len(options))]

    text = _ALTERNATIVES.sub(choose, template)
    if found := sorted({slot.lower() for slot in re.findall(r"\{([tT]\d)\}", text)}):
        times = TIMES[rng.integers(len(TIMES))]
        for slot, number in zip(found, sorted(rng.permutation(len(times))[: len(found)]), strict=True):
            time = times[number]
            text = text.replace(f"{{{slot}}}", time).replace(f"{{{slot.upper()}}}", time[0].upper() + time[1:])
    return re.sub(r" +(?=[ .?,])", "", text)


def _fill(wording: str, operands: Sequence[int], rng: np.random.Generator) -> str:
    """The question: slots filled."""
    (first, gender), (second, _), (third, _) = (PEOPLE[i] for i in rng.permutation(len(PEOPLE))[:3])
    he, him, his = PRONOUNS[gender]
    box, boxes = BOXES[rng.integers(len(BOXES))]
    slots = {
        **{letter: str(value) for letter, value in zip("abc", operands, strict=False)},
        **{"A": first, "B": second, "C": third, "box": box, "boxes": boxes},
        **{"he": he, "him": him, "his": his, "He": he.capitalize(), "His": his.capitalize()},
        "things": THINGS[rng.integers(len(THINGS))],
    }
    return _SLOT.sub(lambda match: slots[match[1]], wording)


@dataclass(frozen=True)
class Options:
    """Settings of the arithmetic benchmark."""

    seed: int = 0
    """Other seeds give other problems, with other item ids."""
    n: int = 500
    """Items of the test split; a larger number contains the smaller one's items."""


class Arithmetic:
    """The test split as a benchmark: chain-of-thought, 2 worked examples, exact integer answers."""

    name = "arithmetic"
    scorer_version = SCORER_VERSION
    styles: tuple[str, ...] = ("cot",)
    default_shots = 2
    max_tokens = 160
    chance: float | None = None

    def __init__(self, options: Options) -> None:
        if options.n < 1:
            raise UserError(f"benchmark.arithmetic.n is {options.n}; it has to be 1 or more")
        self._items = tuple(self._item(options.seed, index) for index in range(options.n))

    @staticmethod
    def _item(seed: int, index: int) -> Item:
        made = problem("test", seed, index)
        return Item(f"{seed}-{index:05d}", made.question, str(made.answer), "test", cluster_id=made.template)

    def items(self) -> Sequence[Item]:
        """The items, by index."""
        return self._items

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """Blocks of `Question:` and `Answer:` for base models, turns for aligned ones. Raises UserError."""
        if style not in self.styles:
            raise UserError(f"arithmetic has no prompt style {style!r}; it has: {', '.join(self.styles)}")
        if not 0 <= n_shots <= len(SHOTS):
            raise UserError(f"arithmetic has {len(SHOTS)} worked examples; n_shots={n_shots} is not from 0 to that")
        shots = SHOTS[:n_shots]
        blocks = [f"Question: {asked}\nAnswer: {answer}" for asked, answer in shots]
        return Prompt(
            shots=tuple((f"{asked}\n{INSTRUCTION}", answer) for asked, answer in shots),
            user=f"{question}\n{INSTRUCTION}",
            plain="\n\n".join([*blocks, f"Question: {question}\nAnswer:"]),
            stop=("\n\nQuestion:", "\nQuestion:"),
        )

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """Exact value of the final number."""
        return score_number(item.gold, completion, finish_reason)

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """The gold answer is correct, an empty text is not."""
        item = self._items[0]
        return ((item, f"The answer is {item.gold}.", True), (item, "", False))


BENCHMARKS.register("arithmetic")(BenchmarkEntry(Options, lambda options: Arithmetic(options)))
