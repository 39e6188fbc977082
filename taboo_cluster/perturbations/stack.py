"""Stacks of perturbations: read from a config, checked, applied in the order written."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from taboo_cluster.benchmarks.base import Benchmark, Prompt
from taboo_cluster.benchmarks.choice_items import labels
from taboo_cluster.documents import PAGES
from taboo_cluster.errors import UserError
from taboo_cluster.hashing import stable_rng
from taboo_cluster.perturbations.base import PERTURBATIONS, PerturbationEntry, Subject
from taboo_cluster.spec import Spec, complete, parse
from taboo_cluster.trial import Item
from taboo_cluster.typed import build

_JOINT = re.compile(r"\+(?![^()]*\))|→(?![^()]*\))")
"""Between two members: + or the arrow of condition names, outside parentheses."""


@dataclass(frozen=True)
class Member:
    """One perturbation of a stack."""

    name: str
    entry: PerturbationEntry
    options: Any

    @property
    def spec(self) -> Spec:
        """With every option that has a value."""
        return complete(self.name, self.options)

    @property
    def params_json(self) -> str:
        """The options as they are recorded."""
        values = {f.name: getattr(self.options, f.name) for f in fields(self.options)}
        return json.dumps(values, sort_keys=True)


@dataclass(frozen=True)
class Perturbed:
    """An item after a stack."""

    subject: Subject
    changed: bool
    """Whether what the model sees really changed."""


@dataclass(frozen=True)
class TextKey:
    """Names the texts of one chunk of a benchmark's items (subsampled, `sweep.CHUNK` at a time) under one variant."""

    benchmark: str
    stack: str
    seed: int
    chunk: int


@functools.cache
def members(text: str) -> tuple[Member, ...]:
    """The members of a stack written as `typos+padding(char=quote)`.

    Raises UserError for an unknown one, or one in a place where it cannot stand.
    """
    found = tuple(_member(parse(part)) for part in _JOINT.split(text))
    for member in found[1:]:
        if member.entry.first:
            raise UserError(f"perturbation {member.name} works on the clean question: it must stand first in {text!r}")
    return found


def canonical(text: str) -> str:
    """A stack as conditions carry it: each member with its options, joined by arrows."""
    return "→".join(str(member.spec) for member in members(text))


def recorded_stack(perturbations: Sequence[Mapping[str, str]]) -> str:
    """The canonical form of a stack as records hold it: name and options (JSON) of each member."""
    specs = (Spec(one["name"], json.loads(one["params"])) for one in perturbations)
    given = (
        Spec(spec.name, {key: value for key, value in spec.options.items() if value is not None}) for spec in specs
    )
    return "→".join(map(str, given))


def perturb(item: Item, stack: str, seed: int) -> Perturbed:
    """Apply a stack to an item.

    Each member draws from its own generator, seeded by its name (with an ordinal where it is not the first of that
    name), the item and `seed`: options, place in the stack, call order and worker have no part in it (METHODS,
    section 0).
    """
    subject = Subject(item)
    seen: Counter[str] = Counter()
    for member in members(stack):
        ordinal = seen[member.name]
        seen[member.name] += 1
        rng = stable_rng("perturbation", member.name, ordinal, item.item_id, seed)
        subject = member.entry.apply(subject, member.options, rng)
    return Perturbed(subject, _shown(subject) != _shown(Subject(item)))


def _shown(subject: Subject) -> object:
    """What a model is shown of a subject; of a document both versions."""
    item = subject.item
    if PAGES in item.extras:
        return subject.before, subject.after, item.question, item.extras[PAGES].versions
    return replace(subject, numbers={})


def framed_prompt(benchmark: Benchmark, subject: Subject, style: str, n_shots: int) -> Prompt:
    """The benchmark's prompt for a subject.

    What a stack puts around the user's message stands around the whole of it in the chat form; in the plain form, whose
    end has to stay where the answer begins, around the question.
    """
    item = subject.item
    prompt = benchmark.prompt(item, item.question, style, n_shots)
    if not subject.before and not subject.after:
        return prompt
    plain = benchmark.prompt(item, subject.before + item.question + subject.after, style, n_shots).plain
    if subject.after and plain.endswith(subject.after):  # the question's end is where the answer begins (a program)
        plain = benchmark.prompt(item, subject.before + item.question, style, n_shots).plain
    return replace(prompt, user=subject.before + prompt.user + subject.after, plain=plain)


def variant_seed(run_seed: int, variant: int) -> int:
    """The seed of a variant: hash of run seed and variant index, 48 bits."""
    return int(stable_rng("variant", run_seed, variant).integers(2**48))


def check_applies(stack: str, item: Item, benchmark: str) -> None:
    """Raise UserError for a member that an item of the benchmark gives nothing to work on."""
    for member in members(stack):
        if member.entry.check is not None:
            member.entry.check(member.options, benchmark)
        need = member.entry.needs
        if need is not None and not has(item, need):
            raise UserError(f"perturbation {member.name} needs {NEEDS[need]}, which {benchmark} has not")
        if PAGES in item.extras and not member.entry.documents:
            able = ", ".join(name for name, entry in PERTURBATIONS if entry.documents)
            raise UserError(
                f"perturbation {member.name} does not work on the documents of {benchmark}; these do: {able}"
            )


NEEDS = {
    "choices": "answers to choose from",
    "code": "a program to complete",
    "math": "a word problem with numbers",
    "prose": "a text that is no program",
}
"""What a perturbation may need of an item, in words."""


def has(item: Item, need: str) -> bool:
    """Whether an item has what a perturbation needs."""
    if need == "choices":
        return "choices" in item.extras and item.gold in labels(item)  # mmlu_open keeps choices that it does not show
    if need == "code":
        return "entry_point" in item.extras
    if need == "prose":
        return "entry_point" not in item.extras
    return any(character.isdigit() for character in item.question)


def _member(spec: Spec) -> Member:
    entry = PERTURBATIONS.get(spec.name)
    return Member(spec.name, entry, build(entry.options, dict(spec.options), f"perturbation {spec.name}"))
