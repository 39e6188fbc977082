r"""forbidden_words: does a text keep its prompt's own forbidden-word rule? IFEval's prompts (Zhou et al. 2023).

The control for an intervention that forbids tokens: does it make a model break or keep a rule that the prompt states?
Taken are IFEval's prompts with an instruction `keywords:forbidden_words`, and only that instruction is judged, as
IFEval judges it: broken where one of the words occurs as a whole word (`\bword\b`), in any case of letters.

A text stopped by length is judged as it stands, since the rule has no final form: one that has used a word is wrong
whatever would follow; one that has not is right, with `truncated_but_parsed` in the details. A reasoning block is no
part of the text; a refusal keeps the rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry, Prompt, Verdict
from taboo_cluster.benchmarks.few_shot import DIRECT, check_condition, checked
from taboo_cluster.benchmarks.outcome import is_blank, verdict, without_reasoning
from taboo_cluster.benchmarks.sources import DataSet, Row, SplitOptions
from taboo_cluster.benchmarks.word_problems import problem_item, unique
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Item

DATA = DataSet("google/IFEval", "default", ("README.md", "*.jsonl"))
INSTRUCTION = "keywords:forbidden_words"

KEPT, BROKEN = "kept", "broken"
"""Answers recorded."""


@dataclass(frozen=True)
class Options(SplitOptions):
    """Settings of forbidden_words; `path`: JSONL file, or folder with `<split>.jsonl`."""

    split: str = "train"
    """IFEval has this one alone."""


class ForbiddenWords:
    """Prompts that forbid words of their own. No worked examples."""

    name = "forbidden_words"
    scorer_version = "forbidden_words-1"
    styles: tuple[str, ...] = (DIRECT,)
    default_shots = 0
    chance: float | None = None

    def __init__(self, options: Options) -> None:
        self.max_tokens = options.max_tokens
        self._stop = checked(self.name, options.max_tokens, options.stop)
        self._options = options

    @cached_property
    def _items(self) -> Sequence[Item]:
        options = self._options
        rows = DATA.rows(options.path, options.split, options.revision)
        items = [item for row in rows if (item := _item(row, options.split))]
        if not items:
            raise UserError(f"{options.path or DATA.name} has no prompt with the instruction {INSTRUCTION}")
        return unique(items, options.path or DATA.name)

    def items(self) -> Sequence[Item]:
        """The items, in order of their ids. Raises UserError for a missing, empty or malformed source."""
        return self._items

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """The prompt itself; for base models as an instruction with a response to come. Raises UserError."""
        check_condition(self.name, self.styles, style, n_shots, 0)
        return Prompt(
            shots=(),
            user=question,
            plain=f"Instruction: {question}\nResponse:",
            stop=("\nInstruction:",) if self._stop is None else self._stop,
            chat_stop=self._stop or (),
        )

    def judged_as(self, item: Item, question: str) -> tuple[str, str]:
        """For a judge: the prompt, and what makes an answer right."""
        return question, f"Any text in which none of these words occurs: {', '.join(json.loads(item.gold))}."

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """Right where none of the forbidden words occurs; the details name those that do."""
        text = without_reasoning(completion)
        if is_blank(text):
            return verdict(completion, finish_reason, answer=None, final=False, score=0.0)
        used = [word for word in json.loads(item.gold) if occurs(word, text)]
        return verdict(
            completion,
            finish_reason,
            answer=BROKEN if used else KEPT,
            final=True,
            score=float(not used),
            details={"used": used} if used else {},
        )

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """A text without words is correct; an empty one and one with a forbidden word are not."""
        item = self.items()[0]
        return ((item, "...", True), (item, "", False), (item, f"So: {json.loads(item.gold)[0].upper()}!", False))


def occurs(word: str, text: str) -> bool:
    """True where a word stands in a text as a whole word, in any case of letters."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def _item(row: Row, split: str) -> Item | None:
    """None for a prompt that forbids no words. Prompts made of one IFEval prompt share its key, and so a cluster."""
    prompt, names, settings = row.text("prompt"), row.values.get("instruction_id_list"), row.values.get("kwargs")
    if not isinstance(names, list) or not isinstance(settings, list) or len(names) != len(settings):
        raise UserError(f"{row.where}: 'instruction_id_list' and 'kwargs' must be lists of the same length")
    own = [setting for name, setting in zip(names, settings, strict=True) if name == INSTRUCTION]
    if not own:
        return None
    words = [word for setting in own for word in _words(setting, row.where)]
    key = row.values.get("key")
    return problem_item(prompt, json.dumps(words, ensure_ascii=False), split, None if key is None else f"ifeval-{key}")


def _words(setting: object, where: str) -> list[str]:
    words = setting.get("forbidden_words") if isinstance(setting, Mapping) else None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise UserError(f"{where}: {INSTRUCTION} must list its words as 'forbidden_words', not {words!r}")
    return [word.strip() for word in words]


BENCHMARKS.register("forbidden_words")(BenchmarkEntry(Options, ForbiddenWords))
