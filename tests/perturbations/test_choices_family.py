"""Shuffled choices and labels: gold, original indices, prompts and scores follow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.benchmarks.choice_items import choice_item, labels, shown
from taboo_cluster.benchmarks.multiple_choice import MultipleChoice
from taboo_cluster.errors import UserError
from taboo_cluster.perturbations.stack import check_applies, perturb
from taboo_cluster.trial import Condition, Item

TEXTS = ["Rome", "Po", "Etna", "Elba"]
ITEM = choice_item("Which is a river?", TEXTS, 1, "test", "row 1")


def gold_text(item: Item) -> str:
    return str(item.extras["choices"][labels(item).index(item.gold)])


def seed_with(stack: str, wanted: str) -> int:
    """The first seed under which ITEM is shown as wanted."""
    return next(seed for seed in range(200) if shown(perturb(ITEM, stack, seed).subject.item, "Q") == wanted)


def test_shuffled_choices_carry_the_gold_letter_along() -> None:
    seed = seed_with("shuffle_choices", "Q\nA. Elba\nB. Rome\nC. Po\nD. Etna")
    done = perturb(ITEM, "shuffle_choices", seed)
    assert done.changed
    assert done.subject.item.gold == "C"
    assert done.subject.choice_order == (3, 0, 1, 2)
    assert done.subject.item.question == ITEM.question
    assert done.subject.item.item_id == ITEM.item_id


def test_shuffled_labels_stand_before_texts_in_their_order() -> None:
    seed = seed_with("shuffle_labels", "Q\nC. Rome\nD. Po\nA. Etna\nB. Elba")
    done = perturb(ITEM, "shuffle_labels", seed)
    assert done.changed
    assert done.subject.item.gold == "D"
    assert done.subject.item.extras == {"choices": TEXTS, "labels": ["C", "D", "A", "B"]}
    assert done.subject.choice_order is None


def test_a28_two_shuffles_keep_the_original_index() -> None:
    orders = set()
    for seed in range(50):
        subject = perturb(ITEM, "shuffle_choices+shuffle_choices", seed).subject
        order = subject.choice_order or (0, 1, 2, 3)
        orders.add(order)
        assert [TEXTS[index] for index in order] == subject.item.extras["choices"]
        assert gold_text(subject.item) == "Po"
    assert len(orders) > 10


@pytest.mark.parametrize(
    ("texts", "stack"),
    [
        (["x", "y", "both A and B", "z"], "shuffle_choices"),
        (["x", "y", "both A and B", "z"], "shuffle_labels"),
        (["x", "y", "z", "either of the above"], "shuffle_choices"),
        (["x", "all of the above", "y", "z"], "shuffle_choices"),
    ],
)
def test_a28_items_whose_options_would_mean_others_are_not_shuffled(texts: list[str], stack: str) -> None:
    item = choice_item("Which?", texts, 2, "test", "row 1")
    for seed in range(20):
        done = perturb(item, stack, seed)
        assert not done.changed
        assert (done.subject.item, done.subject.choice_order) == (item, None)


def test_a28_an_option_that_means_all_others_stays_at_the_end() -> None:
    item = choice_item("Which?", ["x", "y", "z", "all of the above"], 3, "test", "row 1")
    done = [perturb(item, "shuffle_choices", seed).subject.item for seed in range(30)]
    assert {(each.extras["choices"][3], each.gold) for each in done} == {("all of the above", "D")}
    assert len({tuple(each.extras["choices"]) for each in done}) == 6


def test_i16_every_order_is_as_frequent_as_another_and_the_gold_letter_takes_every_place() -> None:
    for stack in ("shuffle_choices", "shuffle_labels"):
        golds = Counter(perturb(ITEM, stack, seed).subject.item.gold for seed in range(2000))
        assert set(golds) == set("ABCD")
        assert all(400 < count < 600 for count in golds.values())


def test_i16_a_shuffle_is_a_condition_of_its_own() -> None:
    names = {Condition("cot", 0, perturbations=stack).name for stack in ("", "shuffle_choices", "shuffle_labels")}
    assert names == {"baseline", "shuffle_choices", "shuffle_labels"}


def test_i16_the_permutation_is_the_same_in_every_process() -> None:
    here = [perturb(ITEM, f"shuffle_choices+{other}", 7).subject.item.gold for other in ("identity", "shuffle_labels")]
    program = (
        "import json; from taboo_cluster.benchmarks.choice_items import choice_item;"
        "from taboo_cluster.perturbations.stack import perturb;"
        f"item = choice_item({ITEM.question!r}, {TEXTS!r}, 1, 'test', 'row 1');"
        "print(json.dumps([perturb(item, f'shuffle_choices+{other}', 7).subject.item.gold"
        " for other in ('identity', 'shuffle_labels')]))"
    )
    for hash_seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=Path(__file__).parents[2],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout) == here


@given(
    texts=st.lists(st.text("xyz", min_size=1, max_size=4), min_size=2, max_size=13, unique=True),
    answer=st.integers(0, 12),
    stack=st.lists(st.sampled_from(["shuffle_choices", "shuffle_labels"]), min_size=1, max_size=4),
    seed=st.integers(0, 2**48 - 1),
)
def test_whatever_is_shuffled_the_gold_text_is_right_and_no_other(
    texts: list[str], answer: int, stack: list[str], seed: int
) -> None:
    item = choice_item("Which?", texts, answer % len(texts), "test", "row 1")
    benchmark = MultipleChoice("made", lambda: [item], 16)
    subject = perturb(item, "+".join(stack), seed).subject
    moved = subject.item
    assert sorted(moved.extras["choices"]) == sorted(texts)
    assert sorted(labels(moved)) == list("ABCDEFGHIJKLM")[: len(texts)]
    assert gold_text(moved) == texts[answer % len(texts)]
    assert [texts[index] for index in subject.choice_order or range(len(texts))] == moved.extras["choices"]
    for letter, text in zip(labels(moved), moved.extras["choices"], strict=True):
        assert f"\n{letter}. {text}" in benchmark.prompt(moved, "Which?", "direct", 0).user
        assert benchmark.score(moved, f"<answer>{letter}</answer>", "stop").correct is (text == gold_text(item))
        assert benchmark.score(moved, f"The answer is {letter}. {text}", "stop").answer == letter
    assert benchmark.judged_as(moved, "Which?")[1] == f"{moved.gold}. {gold_text(item)}"


def test_a27_an_item_that_cannot_be_asked_stays_as_it_is() -> None:
    item = choice_item("Which?", ["x", "y", " "], 0, "test", "row 1")
    assert "problem" in item.extras
    for stack in ("shuffle_choices", "shuffle_labels"):
        assert not perturb(item, stack, 1).changed


def test_choices_need_choices() -> None:
    check_applies("shuffle_choices+shuffle_labels", ITEM, "arc")
    with pytest.raises(UserError, match="which mmlu_open has not"):
        check_applies("shuffle_choices", replace(ITEM, gold="Po"), "mmlu_open")
    for stack in ("shuffle_choices", "shuffle_labels"):
        with pytest.raises(UserError, match=f"{stack} needs answers to choose from, which gsm8k has not"):
            check_applies(stack, Item("i", "How many?", "4", "test", "i"), "gsm8k")
