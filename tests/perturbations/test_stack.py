"""Stacks: how they are written, seeded, checked and applied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from taboo_cluster.benchmarks.base import Prompt
from taboo_cluster.errors import UserError
from taboo_cluster.perturbations.base import PERTURBATIONS, PerturbationEntry, Subject, on_question
from taboo_cluster.perturbations.stack import (
    TextKey,
    canonical,
    check_applies,
    framed_prompt,
    members,
    perturb,
    recorded_stack,
    variant_seed,
)
from taboo_cluster.trial import Item

ITEM = Item("i1", "How many?", "4", "test", "i1")


@dataclass(frozen=True)
class Options:
    char: str = "x"
    times: int = 1


def draw(text: str, options: Options, rng: np.random.Generator) -> str:
    return f"{text}{options.char * options.times}{rng.integers(10**6)}"


def around(subject: Subject, options: Any, rng: np.random.Generator) -> Subject:
    return replace(subject, before=f"<{subject.before}", after=f"{subject.after}>")


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three perturbations that exist for these tests only."""
    PERTURBATIONS.names()
    entries = dict(PERTURBATIONS._entries)
    entries["draw"] = PerturbationEntry("word", on_question(draw), Options)
    entries["around"] = PerturbationEntry("padding", around)
    entries["of_choices"] = PerturbationEntry("choices", around, needs="choices")
    monkeypatch.setattr(PERTURBATIONS, "_entries", entries)
    members.cache_clear()
    yield
    members.cache_clear()


def question(stack: str, seed: int = 0, item: Item = ITEM) -> str:
    return perturb(item, stack, seed).subject.item.question


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("identity", "identity"),
        ("draw", "draw(char=x,times=1)"),
        ("draw(times=2) + around", "draw(char=x,times=2)→around"),
        ("draw(char=a)→draw(char=b)", "draw(char=a,times=1)→draw(char=b,times=1)"),
        ("draw(char=a→b)", "draw(char=a→b,times=1)"),
    ],
)
def test_a_stack_is_written_with_all_options_and_reads_back(given: str, written: str) -> None:
    assert canonical(given) == written
    assert canonical(written) == written


@pytest.mark.parametrize(
    ("stack", "message"),
    [
        ("identty", "unknown perturbation 'identty' - did you mean 'identity'"),
        ("draw(chr=a)", "unknown key 'perturbation draw.chr' - did you mean"),
        ("draw(times=many)", "perturbation draw.times must be a whole number, not 'many'"),
        ("identity+", "cannot read ''"),
        ("", "cannot read ''"),
    ],
)
def test_a_stack_that_makes_no_sense_is_one_line(stack: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        members(stack)
    assert message in str(caught.value)


def test_members_are_applied_in_the_order_written() -> None:
    subject = perturb(ITEM, "draw(char=a)+draw(char=b)", 0).subject
    assert subject.item.question.startswith("How many?a")
    assert "b" in subject.item.question
    assert perturb(ITEM, "around+around", 0).subject.before == "<<"


def test_draws_follow_from_name_item_and_seed_alone() -> None:
    alone = question("draw").removeprefix("How many?x")
    assert question("draw") == question("draw")
    assert question("around+draw").removeprefix("How many?x") == alone, "place in the stack has no part in it"
    assert question("draw(times=3)").removeprefix("How many?xxx") == alone, "nor have options"
    assert question("draw", seed=1).removeprefix("How many?x") != alone
    assert question("draw", item=replace(ITEM, item_id="i2")).removeprefix("How many?x") != alone
    twice = question("draw+draw").removeprefix("How many?x")
    assert twice.startswith(alone)
    assert twice.removeprefix(alone + "x") != alone, "the second of a name draws anew"


def test_i9_variants_have_seeds_of_their_own() -> None:
    seeds = [variant_seed(0, variant) for variant in range(50)]
    assert len(set(seeds)) == 50
    assert variant_seed(1, 0) not in seeds
    assert question("draw", seeds[0]) != question("draw", seeds[1])


def test_i14_identity_changes_nothing_and_says_so() -> None:
    done = perturb(ITEM, "identity", 0)
    assert not done.changed
    assert done.subject == Subject(ITEM)
    assert perturb(ITEM, "around", 0).changed
    assert perturb(ITEM, "draw", 0).changed


def test_what_a_perturbation_measures_is_no_change() -> None:
    entry = PerturbationEntry("word", lambda subject, options, rng: replace(subject, numbers={"fragment_p": 0.0}))
    PERTURBATIONS._entries["measure"] = entry
    assert not perturb(ITEM, "measure", 0).changed


def test_a_perturbation_that_cannot_apply_is_an_error_and_not_dropped() -> None:
    check_applies("draw+identity", ITEM, "gsm8k")
    with pytest.raises(UserError, match="perturbation of_choices needs answers to choose from, which gsm8k has not"):
        check_applies("draw+of_choices", ITEM, "gsm8k")
    check_applies("of_choices", replace(ITEM, gold="B", extras={"choices": ["a", "b"]}), "mmlu")


class Benchmark:
    """Asks as a chat and as a plain text that ends where the answer begins."""

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        return Prompt((), f"{question}\nThink.", f"Q: {question}\nA:", ())


def test_what_is_put_around_a_message_stands_around_all_of_it_and_never_at_the_answers_place() -> None:
    prompt = framed_prompt(Benchmark(), perturb(ITEM, "around", 0).subject, "cot", 0)  # type: ignore[arg-type]
    assert prompt.user == "<How many?\nThink.>"
    assert prompt.plain == "Q: <How many?>\nA:"


class Program:
    """Asks for what comes after the question itself."""

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        return Prompt((), f"Complete:\n{question}", question, ())


def test_nothing_is_put_behind_a_question_that_the_answer_follows_at_once() -> None:
    prompt = framed_prompt(Program(), perturb(ITEM, "around", 0).subject, "direct", 0)  # type: ignore[arg-type]
    assert prompt.plain == "<How many?"
    assert prompt.user == "<Complete:\nHow many?>"


def test_keys_of_texts_can_be_kept_in_a_dictionary() -> None:
    assert {TextKey("b", "identity", 0, 0): 1}[TextKey("b", "identity", 0, 0)] == 1


def test_a_recorded_stack_is_the_one_that_was_asked_for() -> None:
    for stack in ("identity", "draw(char=a,times=2)→around"):
        recorded = [{"name": one.name, "params": one.params_json} for one in members(stack)]
        assert members(recorded_stack(recorded)) == members(stack)
