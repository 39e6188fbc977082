"""lm_eval: any task of lm-evaluation-harness, one in a run: its documents, prompts, targets, filters and metrics.

A generate_until task is asked and scored as the harness does. A multiple_choice task is not: the harness compares
log-likelihoods of the options, which engines here do not give. Its options are listed, and the letter of the answer is
read; the numbers are no harness numbers (docs/benchmarks.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry, Prompt, Verdict
from taboo_cluster.benchmarks.choice_items import check_item, choice_item, shown, unique_choices
from taboo_cluster.benchmarks.choices import LETTERS, SCORER_VERSION, lettered
from taboo_cluster.benchmarks.few_shot import COT, Example, checked
from taboo_cluster.benchmarks.harness import HarnessTask
from taboo_cluster.benchmarks.harness_loading import load
from taboo_cluster.benchmarks.multiple_choice import MultipleChoice
from taboo_cluster.benchmarks.outcome import after_reasoning, is_blank, verdict
from taboo_cluster.errors import UserError, unknown
from taboo_cluster.hashing import stable_hash
from taboo_cluster.trial import Item

NAME = "lm_eval"
STYLE = "lm_eval"
"""The one prompt style of generate_until tasks: the task's own."""
MAX_TOKENS, MAX_TOKENS_CHOICE = 256, 512
"""Where the task does not say; of a letter with its reasoning."""

FOLLOWING = ("7, 7.\n#### 7\nThe answer is 7.", "x (X)\nThe answer is (X).\n<answer>X</answer>")
"""What might have followed a text cut by its length: an answer that either would change is not in a final form."""

RIGHT = ("{}", "The answer is {}.", "#### {}", "\\boxed{{{}}}", "<answer>{}</answer>", "So the answer is ({}).")
"""Ways to write a gold answer, tried on the task's own filter before a sweep."""

_CUE = re.compile(r"(?:\n\s*|(?<=[.?!])\s+)\w{1,20}\s*[:：]\s*$")
_LABEL = re.compile(r"^\s*(?:question|q)\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Options:
    """Settings of lm_eval."""

    task: str | None = None
    """Name of a task, as `lm-eval ls tasks` lists it."""
    include_path: str | None = None
    """Folder with YAML files of tasks of your own. They are programs: what they name is run."""
    filter: str | None = None
    """Of a generate_until task: which of its filters counts; null takes its first."""
    metric: str | None = None
    """Of a generate_until task: which of its metrics counts; null takes its first."""
    question_field: str | None = None
    """Field of a document that perturbations change; null takes `question` or the like, or the longest."""
    max_tokens: int | None = None
    """null takes the task's own, or 256; 512 for multiple choice."""
    stop: list[str] | str | None = None
    """Strings that end a completion; null takes the task's own."""


class Generated:
    """A generate_until task.

    A stop string of white space alone does not end an aligned model's answer, but the text counts only up to it, as in
    the harness.
    """

    name = NAME
    styles: tuple[str, ...] = (STYLE,)
    chance: float | None = None

    def __init__(self, task: HarnessTask, options: Options) -> None:
        self._task = task
        self.max_tokens = _first(options.max_tokens, task.max_tokens, MAX_TOKENS)
        stop = checked(NAME, self.max_tokens, options.stop)
        self._until = task.until if stop is None else stop
        self.default_shots = task.shots
        self._filter = _chosen("filter", options.filter, task.filters, task.name)
        self._metric = _chosen("metric", options.metric, task.metrics, task.name)
        self.scorer_version = f"{task.version}, {self._filter}, {self._metric}"

    @cached_property
    def _items(self) -> Sequence[Item]:
        task, found = self._task, dict[str, Item]()
        for index in range(len(task.docs)):
            item = _item(task, index)
            found.setdefault(item.item_id, item)
        return list(found.values())

    @property
    def notes(self) -> Sequence[str]:
        """What of the task is not done as it says."""
        said = list(_notes(self._task))
        if self._task.repeats > 1:
            said.append(f"{NAME}: {self._task.name} is asked once, not {self._task.repeats} times")
        if not any(right for _, _, right in self.canaries()):
            said.append(f"{NAME}: its filter finds no gold answer as it is usually written, so none was tried")
        return said

    def items(self) -> Sequence[Item]:
        """The documents, in the task's order; one that occurs twice counts once."""
        return self._items

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """The harness's prompt. In the chat form the task's description opens the first turn."""
        if style != STYLE:
            raise UserError(f"{NAME} has no prompt style {style!r}; it has: {STYLE}")
        plain, turns = self._task.context(item.extras["index"], question, n_shots)
        description = [text.rstrip("\n") for role, text in turns if role == "system"]
        texts = [text for role, text in turns if role != "system"]
        texts[0] = "\n\n".join([*description, texts[0]])
        shots = tuple(zip(texts[:-1:2], texts[1::2], strict=True))
        ends = tuple(stop for stop in self._until if stop.strip())
        return Prompt(shots, texts[-1], plain, self._until, ends)

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """What the task's filter finds, by the task's metric; an answer is right at 1.

        In a text cut by its length an answer counts where nothing that may have followed would change it.
        """
        if is_blank(completion):
            return verdict(completion, finish_reason, answer=None, final=False, score=0.0)
        index, part = item.extras["index"], after_reasoning(completion)
        text = self._cut(completion[part])
        read = self._task.read(index, text, self._filter)
        if self._metric not in read.metrics:
            raise UserError(f"{self._metric} of {self._task.name} gives no number for one answer: set another metric")
        final = finish_reason == "stop" or all(
            self._task.read(index, text + more, self._filter).answer == read.answer for more in FOLLOWING
        )
        answer = self._answer(read.answer)
        return verdict(
            completion,
            finish_reason,
            answer=answer,
            final=final,
            score=read.metrics[self._metric],
            details={"task": self._task.name, "metrics": dict(read.metrics)},
            span=None if answer is None else last_place(answer, completion, part.start, part.start + len(text)),
        )

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """A gold answer as the task's filter finds it, where it finds one, is correct; an empty text is not."""
        item = self.items()[0]
        written = (form.format(item.gold) for form in RIGHT)
        right = [(item, text, True) for text in written if self._is_right(item, text)]
        return (*right[:1], (item, "", False))

    def _is_right(self, item: Item, text: str) -> bool:
        try:
            return self.score(item, text, "stop").correct
        except UserError:
            raise
        except Exception:  # a task's own scorer may fail on what its models never write
            return False

    def _cut(self, text: str) -> str:
        """The text up to the first stop string; white space in front of it ends nothing."""
        start = len(text) - len(text.lstrip())
        places = [text.find(stop, 0 if stop.strip() else start) for stop in self._until]
        return text[: min((place for place in places if place >= 0), default=len(text))]

    def _answer(self, found: Any) -> str | None:
        """What was extracted; None for nothing."""
        first = found[0] if isinstance(found, list) and found else found
        text = "" if first is None or isinstance(first, list) else str(first).strip()
        return None if is_blank(text) or text in self._task.fallbacks else text


class Chosen(MultipleChoice):
    """A multiple_choice task, asked by letter."""

    def __init__(self, task: HarnessTask, options: Options) -> None:
        self._task = task
        super().__init__(NAME, self._make_items, _first(options.max_tokens, MAX_TOKENS_CHOICE), options.stop)
        self.scorer_version = f"{SCORER_VERSION}, {task.version}"
        self.notes = (
            f"{NAME}: {task.name} is asked by letter; its accuracy is not the harness's, which compares likelihoods",
            *_notes(task),
        )

    def shown(self, item: Item, question: str) -> str:
        """The task's text, without the cue for an answer, and the options, unless the text lists them itself."""
        text = _bare(self._task.text(item.extras["index"], question))
        if "letters" not in item.extras:
            return shown(item, text)
        check_item(item)
        return text

    def options(self, item: Item) -> Sequence[str]:
        """The options' texts; their letters alone where the task's own text lists them."""
        letters: Sequence[str] | None = item.extras.get("letters")
        return super().options(item) if letters is None else letters

    def examples(self, item: Item, style: str, n_shots: int) -> Sequence[Example]:
        """Style `direct`: the harness's examples, by letter. Style `cot`: this project's, which have reasoning."""
        if style == COT:
            return super().examples(item, style, n_shots)
        shots = (self._task.shot(doc) for doc in self._task.examples(item.extras["index"], n_shots))
        return [_example(*shot) for shot in shots]

    def _make_items(self) -> list[Item]:
        return unique_choices(self._choice_item(index) for index in range(len(self._task.docs)))

    def _choice_item(self, index: int) -> Item:
        task = self._task
        doc, where = task.docs[index], f"{task.name}, document {index}"
        choices = task.options(doc)
        made = choice_item("", choices, _right(task.target(doc), choices), task.split, where)
        extras = dict(made.extras)
        if _are_letters(choices):
            extras["letters"] = extras.pop("choices")  # the options stand in the text, where nothing can move them
        own = _item(task, index)
        return replace(own, gold=made.gold, extras={**extras, **own.extras})


def last_place(answer: str, completion: str, start: int, end: int) -> tuple[int, int] | None:
    """Where in a range of a completion an answer last stands as it is, not inside a longer word or number.

    None where it stands nowhere: what a filter gives need not be a part of what it reads.
    """
    edge = r"(?:(?<!\w)|(?!\w))"
    whole = re.compile(rf"{edge}(?<!\d[.,]){re.escape(answer)}{edge}(?![.,]\d)")
    found = [match.span() for match in whole.finditer(completion, start, end)]
    return found[-1] if found else None


def _item(task: HarnessTask, index: int) -> Item:
    cluster_id = stable_hash(task.passage(index))[:16]
    extras = {"index": index}
    return Item(task.doc_id(index), task.question(index), task.gold(index), task.split, cluster_id, task.name, extras)


def _right(target: Any, choices: list[Any]) -> Any:
    """Index of the right option, where there is one."""
    return choices.index(target) if isinstance(target, str) and target in choices else target


def _are_letters(choices: list[Any]) -> bool:
    return [str(choice).strip() for choice in choices] == list(LETTERS[: len(choices)])


def _bare(text: str) -> str:
    """A task's text without `Question:` in front and the cue for an answer at its end."""
    return _LABEL.sub("", _CUE.sub("", text.rstrip())).strip()


def _example(text: str, choices: list[Any], target: Any) -> Example:
    listed = "" if _are_letters(choices) else f"\n{lettered(choices)}"
    return Example(f"{_bare(text)}{listed}", "", LETTERS[_right(target, choices)])


def _notes(task: HarnessTask) -> Sequence[str]:
    if task.question_field is not None:
        return ()
    return (f"{NAME}: perturbations change the whole text of a document of {task.name}: set question_field",)


def _first(*given: int | None) -> int:
    return next(number for number in given if number is not None)


def _chosen(kind: str, name: str | None, known: Sequence[str], task: str) -> str:
    if not known:
        raise UserError(f"{task} has no {kind}, so nothing it is answered with can be scored")
    if name is not None and name not in known:
        raise unknown(f"{kind} of {task}", name, known)
    return name or known[0]


def build(options: Options) -> Generated | Chosen:
    """The benchmark, its task loaded: what is asked, and how, is in the task."""
    if options.task is None:
        raise UserError("benchmark.lm_eval.task is not set: name a task of lm-evaluation-harness, like arc_easy")
    task = load(options.task, options.include_path, options.question_field)
    return Generated(task, options) if task.output_type == "generate_until" else Chosen(task, options)


BENCHMARKS.register(NAME)(BenchmarkEntry(Options, build))
