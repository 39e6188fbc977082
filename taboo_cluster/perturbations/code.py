"""Code: the function to be completed, written in another way (METHODS section 2, REPORTS I13).

The question is Python source that ends in the function to be completed; the gold answer goes on from there and follows
what was changed, so that both together stay a program that passes. Doctests (`>>>`) and the function's name stay.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import regex

from taboo_cluster.perturbations.base import PERTURBATIONS, NoOptions, PerturbationEntry, Subject
from taboo_cluster.perturbations.python_source import Source, python_source

CONTAINER = "Solution"
"""The class that `into_class` makes."""

_CLOSING = regex.compile(r"[\s)]*(?=:)")
"""What may stand between a return annotation and the signature's colon."""
_SNAKE = regex.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")


@dataclass(frozen=True)
class CamelCaseOptions:
    """Which names are changed."""

    function: bool = False
    """The function's own name as well, in its doctests too."""


def camel_case(subject: Subject, options: CamelCaseOptions, rng: np.random.Generator) -> Subject:
    """Local names, those of arguments and variables, from snake_case to camelCase, in code and prose alike.

    `def cut(max_length): ...` -> `def cut(maxLength): ...`

    With `function=true` the function's name too: `def has_close(x)` -> `def hasClose(x)`.
    """
    item = subject.item
    source = python_source(item.question)
    program = python_source(item.question + item.gold)
    if source is None or program is None:
        return subject
    renamed = {name: _camel(name) for name in sorted(_local_names(program))}
    entry_point = str(item.extras["entry_point"])
    if options.function and _SNAKE.fullmatch(entry_point):
        renamed[entry_point] = _camel(entry_point)
    taken = {node.id for node in ast.walk(program.tree) if isinstance(node, ast.Name)} | program.names
    renamed = {name: new for name, new in renamed.items() if new not in taken}
    question = _rename(item.question, renamed, doctests=options.function)
    if question == item.question:
        return subject
    extras = dict(item.extras)
    if entry_point in renamed:
        extras |= {"entry_point": renamed[entry_point], "test": _rename(extras["test"], renamed)}
    return replace(subject, item=replace(item, question=question, gold=_rename(item.gold, renamed), extras=extras))


def drop_type_hints(subject: Subject, options: NoOptions, rng: np.random.Generator) -> Subject:
    """Functions' signatures without annotations; imports stay.

    `def cut(xs: List[int], n: int = 3) -> int: ...` -> `def cut(xs, n = 3): ...`
    """
    source = python_source(subject.item.question)
    if source is None:
        return subject
    question = source.text
    for start, end in sorted(_hints(source), reverse=True):
        question = question[:start] + question[end:]
    return subject.with_question(question)


def into_class(subject: Subject, options: NoOptions, rng: np.random.Generator) -> Subject:
    """The function as a static method of a class; what comes before it stays in front, its text is only indented.

    `def cut(xs): ...` -> `class Solution:`, an indented `@staticmethod` and the indented `def cut(xs): ...`

    The benchmark finds the function through `extras["container"]`. A program that has such a class stays as it is.
    """
    item = subject.item
    source = python_source(item.question)
    function = _function(source, str(item.extras["entry_point"])) if source else None
    if source is None or function is None or regex.search(rf"\b{CONTAINER}\b", source.text):
        return subject
    start = source.offset(function.lineno, function.col_offset)
    method = textwrap.indent(f"@staticmethod\n{source.text[start:]}", "    ")
    question = f"{source.text[:start]}class {CONTAINER}:\n{method}"
    gold, extras = textwrap.indent(item.gold, "    "), {**item.extras, "container": CONTAINER}
    return replace(subject, item=replace(item, question=question, gold=gold, extras=extras))


def _function(source: Source, name: str) -> ast.FunctionDef | None:
    """The function to be completed: the last statement; None where it is not, or has a decorator."""
    last = source.tree.body[-1]
    return last if isinstance(last, ast.FunctionDef) and last.name == name and not last.decorator_list else None


def _local_names(source: Source) -> set[str]:
    """Names in snake_case of arguments and of variables of functions."""
    nodes = [node for function in source.functions for node in ast.walk(function)]
    names = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return {name for name in names if _SNAKE.fullmatch(name)}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def _rename(text: str, renamed: Mapping[str, str], *, doctests: bool = False) -> str:
    if not renamed:
        return text
    names = regex.compile(rf"(?<![\w.])(?:{'|'.join(renamed)})(?!\w)")
    return "".join(
        line if line.lstrip().startswith(">>>") and not doctests else names.sub(lambda name: renamed[name[0]], line)
        for line in text.splitlines(keepends=True)
    )


def _hints(source: Source) -> Iterator[tuple[int, int]]:
    """Spans of the annotations in functions' signatures, with the colon or arrow before each."""
    for function in source.functions:
        given = function.args
        for arg in [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]:
            if arg is not None and arg.annotation is not None:
                start, end = source.span(arg)
                yield start + len(arg.arg), end
        if function.returns is not None:
            start, end = source.span(function.returns)
            closing = _CLOSING.match(source.text, end)
            yield source.text.rindex(")", 0, source.text.rindex("->", 0, start)) + 1, closing.end() if closing else end


PERTURBATIONS.register("camel_case")(PerturbationEntry("code", camel_case, CamelCaseOptions, needs="code"))
PERTURBATIONS.register("drop_type_hints")(PerturbationEntry("code", drop_type_hints, needs="code"))
PERTURBATIONS.register("into_class")(PerturbationEntry("code", into_class, needs="code"))
