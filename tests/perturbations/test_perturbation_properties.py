"""What holds for every text, and in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from perturbed_texts import function_item, item

from taboo_cluster.hashing import stable_rng
from taboo_cluster.perturbations import word
from taboo_cluster.perturbations.stack import members, perturb

ROOT = Path(__file__).parents[2]

EDITORS = ("typos", "stop_words", "punctuation_spaces", "space_runs", "word_split", "word_merge")
STACKS = [f"{name}(rate={rate})" for name in EDITORS for rate in (0.3, 1.0)]
STACKS += ["persona", "emotion(choice=any)", "explanation", "padding", "padding(char=spaces,scope=question)"]
STACKS += ["distractor", "distractor(place=end)", "latex", "symmetric_operations"]

PROTECTED = (
    "192.168.1.1", "0.0.16", "$7.50,", "1,000", "1/2", "60%", "5 km", "3.2 m/s", "x^2 + 3x = 5", "f(x,y)", "H2O",
    r"$\frac{a b}{2}$", r"\(a + b\)", "https://a.org/the/market?is=it", "the@market.org", "`the market is`", "[id]",
    "[the first name]", "{name}", "<the_id>", "snake_case", "camelCase", "NOT", "DNA", "(A)", "three", "each", "can't",
    "two hours", "👩‍👩‍👧", "🇩🇪", "```\nfor the market\n```",
)  # fmt: skip
PLAIN = (
    "the", "market", "The", "is", "of", "farmer’s", "well-known", "receives,", '"quite', 'sells"', "(baskets)",
    "often.", "été", "e\u0301te\u0301s", "हिन्दी", "日本語", "Straße", "a", "in", "Which", "from",
)  # fmt: skip
SPACES = (" ", " ", " ", "  ", "\n", "\n\t", "\u00a0", "\r\n", "\u3000")

texts = st.lists(st.tuples(st.sampled_from([*PROTECTED, *PLAIN, *PLAIN]), st.sampled_from(SPACES)), max_size=14).map(
    lambda parts: "".join(f"{part}{space}" for part, space in parts)
)
any_text = st.one_of(texts, st.text(max_size=30), st.text(alphabet="ab \n.\u0301$3+*(){}[]`'", max_size=30))
seeds = st.integers(0, 2**48)


def clusters(text: str) -> list[str]:
    """Grapheme clusters of several characters, other than line ends."""
    return [cluster for cluster in regex.findall(r"\X", text) if len(cluster) > 1 and not cluster.isspace()]


def edits(name: str, rate: float, text: str, seed: int) -> list[word.Edit]:
    (member,) = members(f"{name}(rate={rate})")
    found: list[word.Edit] = getattr(word, name)(text, member.options, stable_rng(name, seed))
    return found


@pytest.mark.parametrize("stack", STACKS)
@given(text=any_text, seed=seeds)
@settings(max_examples=25)
def test_text_in_text_out_the_same_each_time(stack: str, text: str, seed: int) -> None:
    subject = perturb(item(text), stack, seed).subject
    assert all(isinstance(part, str) for part in (subject.before, subject.item.question, subject.after))
    assert perturb(item(text), stack, seed).subject == subject
    assert not text.strip() or subject.item.question.strip()
    assert (subject.item.gold, subject.item.item_id, subject.choice_order) == ("gold", "item", None)
    if stack.startswith(("persona", "emotion", "explanation", "padding(char=quote)")):
        assert subject.item.question == text


@pytest.mark.parametrize("name", EDITORS)
@given(text=any_text, seed=seeds, rates=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted))
@settings(max_examples=40)
def test_a_larger_rate_holds_the_edits_of_a_smaller_one(name: str, text: str, seed: int, rates: list[float]) -> None:
    fewer, more = (edits(name, rate, text, seed) for rate in rates)
    assert set(fewer) <= set(more)
    assert edits(name, 0, text, seed) == []


@pytest.mark.parametrize("name", EDITORS)
@given(text=texts, seed=seeds)
@settings(max_examples=40)
def test_protected_parts_are_left_alone(name: str, text: str, seed: int) -> None:
    changed = word.edited(text, edits(name, 1.0, text, seed))
    place = 0
    for part in regex.findall("|".join(map(regex.escape, sorted(PROTECTED, key=len, reverse=True))), text):
        found = changed.find(part, place)
        assert found >= 0, part
        place = found + len(part)


@pytest.mark.parametrize("name", EDITORS)
@given(text=any_text, seed=seeds)
@settings(max_examples=40)
def test_edits_change_what_they_are_about(name: str, text: str, seed: int) -> None:
    found = edits(name, 1.0, text, seed)
    assert all(start <= end <= after for (start, end, _), (after, _, _) in pairwise(found))
    changed = word.edited(text, found)
    spaces = [sign for sign in text if sign.isspace() and sign != " "]
    assert [sign for sign in changed if sign.isspace() and sign != " "] == spaces
    if name == "typos":
        assert regex.split(r"\S+", changed) == regex.split(r"\S+", text)
    elif name != "stop_words":  # spaces alone
        assert changed.replace(" ", "") == text.replace(" ", "")
        assert clusters(changed) == clusters(text)
        assert name == "word_merge" or len(changed) >= len(text)
    else:
        assert len(changed) <= len(text)


@given(text=texts, seed=seeds)
@settings(max_examples=40)
def test_typos_split_no_grapheme_cluster(text: str, seed: int) -> None:
    for start, end, made in edits("typos", 1.0, text, seed):
        parts = regex.findall(r"\X", text[start:end])
        assert all(part in [*parts, *"abcdefghijklmnopqrstuvwxyz"] for part in regex.findall(r"\X", made))


@given(text=any_text, seed=seeds)
@settings(max_examples=40)
def test_latex_only_adds_signs(text: str, seed: int) -> None:
    changed = perturb(item(text), "latex", seed).subject.item.question
    assert changed.replace("$", "").replace("\\", "") == text.replace("$", "").replace("\\", "")


@given(numbers=st.lists(st.integers(0, 99), min_size=2, max_size=4), sign=st.sampled_from(["+", "*", "-"]), seed=seeds)
@settings(max_examples=40)
def test_symmetric_operations_keep_the_value(numbers: list[int], sign: str, seed: int) -> None:
    changed = perturb(item(f" {sign} ".join(map(str, numbers))), "symmetric_operations", seed).subject.item.question
    found = [int(number) for number in changed.split(f" {sign} ")]
    assert found == (numbers if sign == "-" else numbers[::-1])


@given(expression=st.text(alphabet="0123456789+-*/ ()", min_size=3, max_size=12), seed=seeds)
@settings(max_examples=300)
def test_symmetric_operations_keep_the_value_of_any_expression(expression: str, seed: int) -> None:
    def value(text: str) -> float | None:
        try:
            return float(eval(text, {"__builtins__": {}}))  # noqa: S307  # digits and signs alone
        except (SyntaxError, TypeError, ZeroDivisionError, OverflowError, MemoryError, ValueError):
            return None

    if "**" not in expression and "//" not in expression:
        changed = perturb(item(expression), "symmetric_operations", seed).subject.item.question
        assert value(changed) == pytest.approx(value(expression))


def _all_texts() -> dict[str, str]:
    """Everything that the stacks make of two questions."""
    question = (
        "Which of the 3 farmers’ markets\n\tsells $7.50 worth of 3 + 4 e\u0301te\u0301 baskets, and is it NOT open?"
    )
    stacks = [*STACKS, "typos+stop_words+typos", "distractor+latex+padding"]
    made = {stack: perturb(item(question), stack, 7).subject for stack in stacks}
    made["code"] = perturb(function_item(), "typos+camel_case+drop_type_hints+into_class+distractor", 7).subject
    return {name: subject.before + subject.item.question + subject.after for name, subject in made.items()}


def test_the_same_in_every_process() -> None:
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import test_perturbation_properties as t; "
        "print(json.dumps(t._all_texts()))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    here = _all_texts()
    assert json.loads(output) == here


def test_the_draws_of_a_perturbation_do_not_depend_on_its_place_or_options() -> None:
    text = "The farmer carries several baskets over the narrow bridge"
    alone = perturb(item(text), "typos(rate=1.0)", 3).subject.item.question
    stacked = perturb(item(text), "padding+typos(rate=1.0)", 3).subject.item.question
    spared = perturb(item(text), "typos(rate=1.0,protect=baskets)", 3).subject.item.question
    assert alone == stacked
    pairs = zip(alone.split(), spared.split(), strict=True)
    assert [one for one, other in pairs if one != other] == [alone.split()[4]]


def test_no_global_random_state_is_touched() -> None:
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    _all_texts()
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
