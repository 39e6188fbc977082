"""humaneval: functions to be completed from their docstrings (Chen et al. 2021), scored by running their tests.

Pass@1 of one greedy completion, without examples as in that paper; base models continue the prompt itself, aligned ones
are asked for the whole function. The tests run in `taboo_cluster.sandbox`. Programs can use the standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry, Prompt, Verdict
from taboo_cluster.benchmarks.few_shot import DIRECT, check_condition, checked
from taboo_cluster.benchmarks.outcome import verdict
from taboo_cluster.benchmarks.programs import compiles, read_program
from taboo_cluster.benchmarks.sources import DataSet, Row, SplitOptions
from taboo_cluster.errors import UserError
from taboo_cluster.sandbox.program import Limits, Program
from taboo_cluster.sandbox.sandbox import Sandbox
from taboo_cluster.trial import Item

DATA = DataSet("openai/openai_humaneval", "openai_humaneval", ("README.md", "openai_humaneval/*"))
INSTRUCTION = "Complete this Python function. Answer with one code block that holds the whole function."
STOP = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
"""What follows a finished function (Chen et al. 2021, section 2.1)."""

SHOTS = (
    (
        'def count_changes(values: list) -> int:\n    """Count the places where a value differs from the one before '
        'it.\n    >>> count_changes([1, 1, 2, 2, 1])\n    2\n    """',
        "    return sum(first != second for first, second in zip(values, values[1:]))",
    ),
    (
        'def initials(name: str) -> str:\n    """Return the capital first letter of each word, with a dot after each '
        'one.\n    >>> initials("ada king lovelace")\n    \'A.K.L.\'\n    """',
        '    return "".join(word[0].upper() + "." for word in name.split())',
    ),
)
"""(prompt, body) of worked examples, written for this project."""


@dataclass(frozen=True)
class Options(SplitOptions):
    """Settings of humaneval; `path`: JSONL file, or folder with `<split>.jsonl`. Base models stop as in the paper."""

    max_tokens: int = 768
    timeout_s: float = 5.0
    """Seconds that a program and its tests may take; one that takes longer is tried once more."""
    allow_unsafe_code: bool = False
    """Set by the run's setting of this name: run programs where they cannot be shut in."""


class HumanEval:
    """The benchmark.

    Args:
        options: its settings.

    Raises:
        UserError: a setting that no run could use.
    """

    name = "humaneval"
    styles: tuple[str, ...] = (DIRECT,)
    default_shots = 0
    chance: float | None = None
    slow_scoring = True

    def __init__(self, options: Options) -> None:
        self._stop = checked(self.name, options.max_tokens, options.stop)
        if not (math.isfinite(options.timeout_s) and options.timeout_s > 0):
            raise UserError(f"benchmark.humaneval.timeout_s is {options.timeout_s:g}; it has to be above 0")
        self.max_tokens = options.max_tokens
        self.scorer_version = f"humaneval-1, {options.timeout_s:g} s"
        self._options = options
        self._sandbox = Sandbox(Limits(seconds=options.timeout_s), options.allow_unsafe_code)
        self._items: Sequence[Item] | None = None

    def items(self) -> Sequence[Item]:
        """The items, in order of their ids. Raises UserError for a missing, empty or malformed source."""
        if self._items is None:
            split = self._options.split
            rows = DATA.rows(self._options.path, split, self._options.revision)
            known: dict[str, Item] = {}
            for row in rows:
                item = _item(row, split)
                if known.setdefault(item.item_id, item) != item:
                    raise UserError(f"{row.where}: another row has the task_id {item.item_id} too, and they differ")
            self._items = [known[task] for task in sorted(known)]
        return self._items

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """The function as it stands for base models, an instruction with it for aligned ones. Raises UserError."""
        check_condition(self.name, self.styles, style, n_shots, len(SHOTS))
        shots = SHOTS[:n_shots]
        done = [f"{asked}\n{body}" for asked, body in shots]
        return Prompt(
            shots=tuple((_asked(asked), _fenced(whole)) for (asked, _), whole in zip(shots, done, strict=True)),
            user=_asked(question),
            plain="\n\n\n".join([*done, question.rstrip()]),
            stop=STOP if self._stop is None else self._stop,
            chat_stop=self._stop or (),
        )

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """Run the program in the completion; correct where every test passes.

        The answer is the program that was run. A text stopped by length counts where it compiles. Raises UserError
        or SandboxFailed where programs cannot be run.
        """
        name, container = item.extras["entry_point"], item.extras.get("container")
        program = read_program(completion, item.question, name, container)
        final = program is not None and compiles(program)
        if program is None or (finish_reason == "length" and not final):
            return verdict(completion, finish_reason, answer=program, final=final, score=0.0)
        source = program if container is None else program + _lifted(name, container)
        result = self._sandbox.run(Program(source, name, item.extras["test"], setup=item.question))
        details = {"sandbox": result.status} | ({"message": result.message} if result.message else {})
        passed = float(result.passed)
        return verdict(completion, finish_reason, answer=program, final=final, score=passed, details=details)

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """The canonical solution passes; a function that returns None and an empty text do not."""
        item = self.items()[0]
        return ((item, item.gold, True), (item, "    return None\n", False), (item, "", False))


def _item(row: Row, split: str) -> Item:
    task, extras = row.text("task_id"), {name: row.text(name) for name in ("entry_point", "test")}
    return Item(task, row.text("prompt"), row.text("canonical_solution"), split, cluster_id=task, extras=extras)


def _lifted(name: str, container: str) -> str:
    """What makes a method of the class `container`, where a program has that class, a function of its own."""
    return f"\n\nif {container!r} in globals():\n    {name} = {container}().{name}\n"


def _asked(function: str) -> str:
    return f"{INSTRUCTION}\n\n{_fenced(function)}"


def _fenced(code: str) -> str:
    return f"```python\n{code.strip()}\n```"


BENCHMARKS.register("humaneval")(BenchmarkEntry(Options, HumanEval))
