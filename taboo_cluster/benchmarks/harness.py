"""One task of lm-evaluation-harness: its documents, texts, worked examples, filters and metrics.

What a perturbation may change of a document is one of its fields (the
question's), found by rendering the prompt with a mark in its place; the rest of the prompt stays as the task makes it.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taboo_cluster.errors import UserError
from taboo_cluster.hashing import stable_hash

FEW_SHOT_SEED = 1234
"""The harness's own: with it, and documents in their order, it draws the same worked examples."""
LOOKED_AT = 20
"""Documents on which the question's field is looked for."""
QUESTIONS = ("question", "problem", "query", "input", "prompt")
"""Names of fields that are taken for the question before the longest one is."""

RUN_TEXTS = re.compile(
    r"cruxeval_|longproc_(?:countdown|pseudo_to_code)_|(?:non_greedy|prompt)_robustness_math_"  # as of 0.4.13
)
"""Names of tasks that execute or evaluate what a model wrote, but do not say so (`unsafe_code`)."""

_MARK = "\u2039the question\u203a"

Doc = Mapping[str, Any]
Turns = list[tuple[str, str]]


@dataclass(frozen=True)
class Read:
    """What a filter makes of a text, and what the task's metrics say of it."""

    answer: Any
    metrics: Mapping[str, float]


class HarnessTask:
    """A task with its documents loaded.

    Args:
        task: the harness's ConfigurableTask.
        question_field: field of a document that perturbations change; None finds one.

    Attributes:
        docs: the documents, in their order.
        question_field: as given or found; None where the whole text of a document counts as its question.

    Raises:
        UserError: a kind of task that cannot be asked here, or a field that its prompts do not hold.
    """

    def __init__(self, task: Any, question_field: str | None) -> None:
        self._task, self._lock = task, threading.Lock()
        self.name, self.output_type = str(task.config.task), str(task.OUTPUT_TYPE)
        self._check_kind()
        self.docs: Sequence[Doc] = [dict(doc) for doc in task.eval_docs]
        self.split = str(task.config.test_split or task.config.validation_split)
        self._fields = self._asked_fields()
        if question_field is not None and question_field not in self._fields:
            known = ", ".join(self._fields) or "none"
            raise UserError(f"the prompts of {self.name} hold no field {question_field!r} as it is; they hold: {known}")
        named = next((name for name in QUESTIONS if name in self._fields), None)
        self.question_field = question_field or named or next(iter(self._fields), None)
        self._drawn: dict[int, list[Sequence[Doc]]] = {}

    @property
    def version(self) -> str:
        """Of harness and task: another one may score otherwise."""
        return f"lm-eval {importlib.metadata.version('lm_eval')}, {self.name} {self._task.VERSION}"

    @property
    def shots(self) -> int:
        """Worked examples that the task asks for."""
        return int(self._task.config.num_fewshot or 0)

    @property
    def repeats(self) -> int:
        """Times the task wants each document asked."""
        return int(self._task.config.repeats or 1)

    @property
    def until(self) -> tuple[str, ...]:
        """Strings that end a completion."""
        given = (self._task.config.generation_kwargs or {}).get("until") or ()
        return (given,) if isinstance(given, str) else tuple(given)

    @property
    def max_tokens(self) -> int | None:
        """Most tokens of a completion, where the task says."""
        given = self._task.config.generation_kwargs or {}
        found = next((given[name] for name in ("max_gen_toks", "max_tokens", "max_new_tokens") if name in given), None)
        return None if found is None else int(found)

    @property
    def filters(self) -> list[str]:
        """Names of the filters, in the task's order."""
        return [str(one.name) for one in self._task._filters]

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics that an answer can be right by, in the task's order."""
        return [name for name in self._task._metric_fn_list if self._task._higher_is_better.get(name) is not False]

    @property
    def fallbacks(self) -> frozenset[str]:
        """What filters give where they find nothing."""
        steps = [step for one in self._task.config.filter_list or () for step in one["filter"]]
        return frozenset({"[invalid]", *(str(step["fallback"]) for step in steps if "fallback" in step)})

    def doc_id(self, index: int) -> str:
        """Hash of task and document: neither place nor order in a file matters."""
        return stable_hash(self.name, json.dumps(self.docs[index], sort_keys=True, default=str))[:16]

    def question(self, index: int) -> str:
        """What perturbations change: the question's field, or the whole text where there is none."""
        doc = self.docs[index]
        return str(doc[self.question_field]) if self.question_field else str(self._task.doc_to_text(doc))

    def passage(self, index: int) -> str:
        """The longest field of the prompt: what documents of one passage share."""
        longest = next(iter(self._fields), None)
        return str(self.docs[index][longest]) if longest else self.question(index)

    def text(self, index: int, question: str) -> str:
        """The task's text of a document with this question, without examples."""
        return str(self._task.doc_to_text(self._asked(index, question))) if self.question_field else question

    def target(self, doc: Doc) -> Any:
        """What the task holds right: an index into the options, a text, or a list of either."""
        return self._task.doc_to_target(doc)

    def options(self, doc: Doc) -> list[Any]:
        """The options of a multiple-choice document."""
        return list(self._task.doc_to_choice(doc))

    def gold(self, index: int) -> str:
        """The right answer as text; the first of several."""
        target = self.target(self.docs[index])
        first = target[0] if isinstance(target, list) and target else target
        if self._task.config.doc_to_choice is not None and type(first) is int:
            first = self.options(self.docs[index])[first]
        return str(first)

    def shot(self, doc: Doc) -> tuple[str, list[Any], Any]:
        """(text, options, target) of a worked example of a multiple-choice task."""
        task, shots = self._task, self._task.fewshot_cfg
        options = list(task.doc_to_choice(doc, shots.doc_to_choice))
        return str(task.doc_to_text(doc, shots.doc_to_text)), options, task.doc_to_target(doc, shots.doc_to_target)

    def examples(self, index: int, count: int) -> Sequence[Doc]:
        """The worked examples that the harness gives a document; raises UserError where there are too few."""
        with self._lock:
            if count not in self._drawn:
                self._drawn[count] = self._draw(count)
            return self._drawn[count][index]

    def context(self, index: int, question: str, count: int) -> tuple[str, Turns]:
        """The prompt as one text and as turns, as the harness builds both."""
        drawn, doc = self.examples(index, count) if count else (), self._asked(index, question)
        with self._lock:
            own, self._task.sampler = getattr(self._task, "sampler", None), _Drawn(drawn)
            try:
                prefix = self._task.doc_to_prefix(doc)
                plain = self._task.fewshot_context(doc, num_fewshot=count, gen_prefix=prefix)
                turns = self._task.fewshot_context(
                    doc,
                    num_fewshot=count,
                    apply_chat_template=True,
                    fewshot_as_multiturn=True,
                    chat_template=lambda messages, **_: messages,
                )
            finally:
                self._task.sampler = own
        if not self.question_field:  # the text is the question: put the perturbed one in its place
            before = self.question(index)
            plain = question.join(plain.rsplit(before, 1))
            turns[-1] = {**turns[-1], "content": question.join(turns[-1]["content"].rsplit(before, 1))}
        return str(plain), [(str(turn["role"]), str(turn["content"])) for turn in turns]

    def read(self, index: int, text: str, filter_name: str) -> Read:
        """A completion's text after a filter, with the metrics' numbers; metrics that give none are left out."""
        from lm_eval.api.instance import Instance

        doc = self.docs[index]
        asked = Instance("generate_until", doc, ("", {}), 0, resps=[text])
        (chosen,) = [one for one in self._task._filters if one.name == filter_name]
        chosen.apply([asked])
        answer = asked.filtered_resps[filter_name]
        found = self._task.process_results(doc, [answer])
        return Read(answer, {name: float(value) for name, value in found.items() if _is_number(value)})

    def _asked(self, index: int, question: str) -> Doc:
        doc = self.docs[index]
        return {**doc, self.question_field: question} if self.question_field else doc

    def _draw(self, count: int) -> list[Sequence[Doc]]:
        config = self._task.config
        same = self._task.fewshot_cfg.split == config.test_split
        self._task.set_fewshot_seed(FEW_SHOT_SEED)
        try:
            return [self._task.sampler.sample(n=count, eval_doc=doc if same else None) for doc in self.docs]
        except (AssertionError, AttributeError, ValueError) as error:
            raise UserError(f"{self.name} has not {count} worked examples to draw from: set n_shots lower") from error

    def _asked_fields(self) -> list[str]:
        """Fields of text that stand in the prompts as they are, the longest on average first."""
        sample = self.docs[:LOOKED_AT]
        lengths = {}
        for name, value in sample[0].items():
            if isinstance(value, str) and all(self._holds(doc, name) for doc in sample):
                lengths[name] = sum(len(doc[name]) for doc in sample)
        return sorted(lengths, key=lambda name: -lengths[name])

    def _holds(self, doc: Doc, name: str) -> bool:
        """A mark in the field's place comes out in the place of its text, and nothing else changes."""
        value = doc.get(name)
        if not isinstance(value, str) or not value:
            return False
        try:
            text, marked = self._task.doc_to_text(doc), self._task.doc_to_text({**doc, name: _MARK})
        except Exception:  # a task's own function, which may need the field in a form of its own
            return False
        return isinstance(marked, str) and marked.count(_MARK) == 1 and marked.replace(_MARK, value) == text

    def _check_kind(self) -> None:
        task = self._task
        unsafe = getattr(task, "UNSAFE_CODE", False) or "code_eval" in self.metrics
        if unsafe or RUN_TEXTS.match(self.name):
            raise UserError(
                f"{self.name} runs generated code outside any sandbox; for programs use benchmarks=[humaneval]"
            )
        if getattr(task, "MULTIMODAL", False):
            raise UserError(f"{self.name} asks about images or sound; only texts can be asked")
        if self.output_type not in ("generate_until", "multiple_choice"):
            raise UserError(
                f"{self.name} has output_type {self.output_type}, which scores given texts; engines here only write: "
                "take a task with generate_until or multiple_choice"
            )
        if task.multiple_input:
            raise UserError(f"{self.name} compares several contexts of one ending, which cannot be asked as a question")


class _Drawn:
    """Gives worked examples that are drawn already, where the harness would draw."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        self._docs = docs

    def sample(self, n: int, eval_doc: Any = None, **_: Any) -> Sequence[Doc]:
        return self._docs


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (hasattr(value, "item") and getattr(value, "ndim", None) == 0)
