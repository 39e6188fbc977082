"""Code: exact texts, and that prompt and solution together stay a program that passes (REPORTS I13)."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import replace
from typing import Any

import pytest
from perturbed_texts import BODY, FUNCTION, function_item, human_eval, item

from taboo_cluster.benchmarks.humaneval import HumanEval, Options
from taboo_cluster.benchmarks.programs import read_program
from taboo_cluster.errors import UserError
from taboo_cluster.perturbations.stack import check_applies, perturb
from taboo_cluster.sandbox.sandbox import find_box
from taboo_cluster.trial import Item

CODE = ("camel_case", "drop_type_hints", "into_class")
TEXT = ("typos(rate=1.0)", "stop_words", "punctuation_spaces", "space_runs(rate=1.0)", "word_split(rate=1.0)")
TEXT += ("word_merge(rate=1.0)", "distractor", "latex", "symmetric_operations", "padding(scope=question)")


def changed(stack: str, one: Item, seed: int = 0) -> Item:
    return perturb(one, stack, seed).subject.item


def test_camel_case() -> None:
    one = changed("camel_case", function_item())
    assert (
        one.question
        == '''from typing import List, Optional


def sum_of_parts(listOfParts: List[int], bound: Optional[int] = None) -> int:
    """Return the total length of the given parts, without those above the bound.
    The names 'left side' and listOfParts stay.
    For example sum_of_parts([2]) gives two, not None.

    >>> sum_of_parts([1, 2, 30], bound = 10)  # the longest part is left out
    3
    """
'''
    )
    assert (
        one.gold
        == """    found = 0
    for onePart in listOfParts:
        if bound is None or onePart <= bound:
            found += onePart
    return found
"""
    )
    assert one.extras == function_item().extras


def test_camel_case_of_the_function_itself() -> None:
    one = changed("camel_case(function=true)", function_item())
    assert "def sumOfParts(listOfParts: List[int]" in one.question
    assert ">>> sumOfParts([1, 2, 30], bound = 10)" in one.question
    assert "sum_of_parts" not in one.question
    assert one.extras["entry_point"] == "sumOfParts"
    assert "sumOfParts([])" in one.extras["test"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("def f(a_b, aB): pass\n", "def f(a_b, aB): pass\n"),  # the new name is taken
        ("def f(x, *, a_b=1, **c_d): pass\n", "def f(x, *, aB=1, **cD): pass\n"),
        ('def f(a_b):\n    """a_b, a_b_c and x.a_b.\n    >>> f(a_b)"""\n',
         'def f(aB):\n    """aB, a_b_c and x.a_b.\n    >>> f(a_b)"""\n'),
        ("def f(_a, a_, A_B, ab): pass\n", "def f(_a, a_, A_B, ab): pass\n"),
        ("def f(é_b, b_c): pass\n", "def f(é_b, bC): pass\n"),
        ("a_b = 1\ndef f(x): pass\n", "a_b = 1\ndef f(x): pass\n"),  # not local
    ],
)  # fmt: skip
def test_names_that_are_changed(function: str, expected: str) -> None:
    one = replace(item(function, entry_point="f", test=""), gold="")
    assert changed("camel_case", one).question == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("def f(a: int, b: List[int] = [3], *c: str, d: 'é' = 1, **e: dict[str, int]) -> Tuple[int, ...]: pass\n",
         "def f(a, b = [3], *c, d = 1, **e): pass\n"),
        ("def f(a, /, é: int, b :str): pass\ndef g() -> None:\n    return 1 -1\n",
         "def f(a, /, é, b): pass\ndef g():\n    return 1 -1\n"),
        ("async def f(\n    a: int,\n    b: (int),\n) -> (\n    int\n):\n    pass\n",
         "async def f(\n    a,\n    b,\n):\n    pass\n"),
        ("def f(g=lambda x: x) -> Callable[[int], int]: pass\n", "def f(g=lambda x: x): pass\n"),
        ("def f(a): pass\n", "def f(a): pass\n"),
        ("def f(a: int", "def f(a: int"),  # no Python
    ],
)  # fmt: skip
def test_drop_type_hints(function: str, expected: str) -> None:
    assert changed("drop_type_hints", item(function, entry_point="f")).question == expected


def test_into_class() -> None:
    one = changed("into_class", function_item())
    head, rest = FUNCTION.split("\n\n\n")
    assert one.question == f"{head}\n\n\nclass Solution:\n    @staticmethod\n{textwrap.indent(rest, '    ')}"
    assert one.gold == textwrap.indent(BODY, "    ")
    assert one.extras == {**function_item().extras, "container": "Solution"}


@pytest.mark.parametrize(
    "function", ["class Solution: pass\ndef f(): pass\n", "def g(): pass\n", "@cache\ndef f(): pass\n", "f(x", ""]
)
def test_into_class_leaves_what_it_cannot_move(function: str) -> None:
    assert not perturb(item(function, entry_point="f"), "into_class", 0).changed


@pytest.mark.parametrize("name", CODE)
def test_code_needs_a_program(name: str) -> None:
    with pytest.raises(UserError, match=f"perturbation {name} needs a program to complete, which gsm8k has not"):
        check_applies(name, item("How many?"), "gsm8k")
    check_applies(name, function_item(), "humaneval")


BEFORE = "import math\n\n\n"
METHOD = 'class Solution:\n    @staticmethod\n    def half(x):\n        """Half of x."""\n'
PROMPT = BEFORE + METHOD


@pytest.mark.parametrize(
    ("completion", "program"),
    [
        ("        return x / 2\n", PROMPT + "        return x / 2\n"),
        ("\n        y = x\n        return y / 2\n\n# done", PROMPT + "        y = x\n        return y / 2\n"),
        ("    return x / 2\n", PROMPT + "        return x / 2\n"),
        ("```python\nreturn x / 2\n```", PROMPT + "        return x / 2\n"),
        (f"```python\n{METHOD}        return x / 2\n```", f"{PROMPT}        return x / 2\n"),
        (
            "```python\nclass Solution:\n    def half(self, x):\n        return x / 2\n```",
            BEFORE + "class Solution:\n    def half(self, x):\n        return x / 2\n",
        ),
        ("```python\ndef half(x):\n    return x / 2\n```", BEFORE + "def half(x):\n    return x / 2\n"),
        ("It is half of it.", None),
    ],
)
def test_programs_in_a_class(completion: str, program: str | None) -> None:
    assert read_program(completion, PROMPT, "half", "Solution") == program


def _passes(one: Item) -> bool:
    """Whether the question and the gold answer are a program that passes."""
    program: dict[str, Any] = {}
    exec(one.question + one.gold, program)  # noqa: S102
    name, container = one.extras["entry_point"], one.extras.get("container")
    if container is not None:
        program[name] = getattr(program[container], name)
    exec(one.extras["test"], program)  # noqa: S102
    program["check"](program[name])
    return True


def _doctests(one: Item) -> list[str]:
    return [line.strip() for line in one.question.splitlines() if line.lstrip().startswith(">>>")]


def _code(one: Item) -> list[str]:
    """The program's statements without strings that stand alone, such as docstrings."""
    tree = ast.parse(one.question + one.gold)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return [ast.unparse(node) for node in tree.body]


@pytest.mark.parametrize("stack", [*TEXT, "→".join(TEXT)])
def test_i13_changed_words_leave_the_program_as_it_is(stack: str) -> None:
    for one in [function_item(), *human_eval()]:
        new = changed(stack, one)
        assert _code(new) == _code(one)
        assert _doctests(new) == _doctests(one)
        assert (new.gold, new.extras) == (one.gold, one.extras)


@pytest.mark.parametrize("stack", [*CODE, "camel_case(function=true)", "→".join([*CODE, *TEXT[:6]])])
def test_i13_prompt_and_solution_stay_a_program_that_passes(stack: str) -> None:
    for one in [function_item(), *human_eval()]:
        new = changed(stack, one)
        assert _passes(new), one.item_id
        if "function=true" not in stack:
            assert new.extras["entry_point"] == one.extras["entry_point"]
            assert _doctests(new) == _doctests(one)


def test_into_class_only_indents_the_function() -> None:
    for one in human_eval():
        lines = [line.strip() for line in changed("into_class", one).question.splitlines()]
        assert [line for line in lines if line not in ("class Solution:", "@staticmethod")] == [
            line.strip() for line in one.question.splitlines()
        ]


def test_how_many_programs_each_changes() -> None:
    items = human_eval()
    if not items:
        pytest.skip("no HumanEval file at ../shared/data/humaneval")
    found = {stack: sum(perturb(one, stack, 0).changed for one in items) for stack in (*TEXT, *CODE)}
    assert found.pop("stop_words") > 140
    assert found.pop("punctuation_spaces") > 140
    assert found == {
        "typos(rate=1.0)": 163,
        "space_runs(rate=1.0)": 163,
        "word_split(rate=1.0)": 163,
        "word_merge(rate=1.0)": 162,
        "distractor": 164,
        "latex": 0,
        "symmetric_operations": 0,
        "padding(scope=question)": 0,
        "camel_case": 5,
        "drop_type_hints": 60,
        "into_class": 164,
    }


def test_a_method_is_scored_as_the_function_it_is() -> None:
    try:
        find_box()
    except UserError as error:
        pytest.skip(str(error))
    benchmark = HumanEval(Options(path="unused"))
    one = changed("into_class", function_item())
    whole = "class Solution:\n    def sum_of_parts(self, parts, bound=None):\n        return {}\n"
    right = "sum(p for p in parts if bound is None or p <= bound)"
    completions = {
        one.gold: "correct",
        f"```python\n{whole.format(right)}```": "correct",
        f"```python\ndef sum_of_parts(parts, bound=None):\n    return {right}\n```": "correct",
        f"```python\n{whole.format('sum(parts)')}```": "wrong",
        "        return None\n": "wrong",
    }
    for completion, outcome in completions.items():
        assert benchmark.score(one, completion, "stop").outcome == outcome, re.sub(r"\s+", " ", completion)
