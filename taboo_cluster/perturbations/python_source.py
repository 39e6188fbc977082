"""Python source as a question: where its prose is, and positions in it (REPORTS I13)."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import regex

_FUNCTION = regex.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(", regex.MULTILINE)

_QUOTES = regex.compile(r"""[a-zA-Z]*("{3}|'{3}|"|')""")


@dataclass(frozen=True)
class Source:
    """Python source that parses."""

    text: str
    tree: ast.Module

    def offset(self, line: int, column: int) -> int:
        """Index in the text of what `ast` calls line (from 1) and column (in UTF-8 bytes)."""
        start = self._line_starts[line - 1]
        return start + len(self.text[start : start + column].encode()[:column].decode())

    def span(self, node: ast.stmt | ast.expr | ast.arg) -> tuple[int, int]:
        """Start and end of a node in the text."""
        end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return self.offset(node.lineno, node.col_offset), end

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        lengths = (len(line) for line in self.text.split("\n"))
        return [0, *itertools.accumulate(length + 1 for length in lengths)]

    @functools.cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Its functions, those inside others too."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Names of its functions and of their arguments, and the constants."""
        found = {"True", "False", "None"}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
        return frozenset(found)

    def prose(self) -> Iterator[tuple[int, int]]:
        """Spans of the lines of prose in its docstrings.

        A line is no prose where it belongs to a doctest (`>>>` and what follows up to a blank line) or calls one of
        the functions: an example.
        """
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                start, end = self.span(node.value)
                quotes = _QUOTES.match(self.text, start)
                if quotes is not None:
                    yield from self._lines(quotes.end(), end - len(quotes[1]))

    def _lines(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        calls = regex.compile(rf"\b(?:{'|'.join(sorted(self.names))})\s*\(")
        doctest = False
        for line in self.text[start:end].splitlines(keepends=True):
            doctest = line.lstrip().startswith(">>>") or (doctest and bool(line.strip()))
            if not doctest and not calls.search(line):
                yield start, start + len(line)
            start += len(line)


@functools.lru_cache(maxsize=64)
def python_source(text: str) -> Source | None:
    """The text as Python source that defines a function; None for any other text."""
    if _FUNCTION.search(text) is None:
        return None
    try:
        return Source(text, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # ValueError: a null byte
        return None
