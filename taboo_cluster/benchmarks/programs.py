"""The program in a completion: a whole function, the rest of one that was begun, or a fenced block with either."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from taboo_cluster.benchmarks.outcome import without_reasoning

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TOP_LEVEL = re.compile(r"(?:from|import|async|def|class|if|for|while|with|try|assert|print)\b|[@#)\]}]|\w+ *=[^=]")
"""How a line of code outside every function starts."""
_CODE = re.compile(
    r"""^[ \t]*(?:
        return\b | yield\b | pass\s*$ | raise\ \w
      | (?:if|elif|else|while|with|def|class|try|except|finally|async|for\b.*\bin)\b.*:\s*(?:\#.*)?$
      | (?:from\ [\w.]+\ )?import\ [\w.*]
      | [A-Za-z_][\w.\[\]'", ()]*?\ *(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)\ *\S
    )""",
    re.MULTILINE | re.VERBOSE,
)
"""A line that no prose has."""


def read_program(completion: str, prompt: str, entry_point: str, container: str | None = None) -> str | None:
    """The whole program that a completion of `prompt` stands for; None where it holds no code.

    `prompt` is Python source that ends inside the function `entry_point`, after its docstring; the function may be a
    method of the class `container`, and is then defined by that class too. Read, in this order:

    1. a completion that goes on with the body, its first line indented: up to the first line that is not;
    2. of the fenced blocks that define the function, the last one;
    3. else the first fenced block that can be its body;
    4. without a fence: lines that define the function, prose around them left out;
    5. a text that is a body as a whole and returns something, indented or not.

    A whole function keeps what stands before it in the prompt, imports and helpers; a body keeps the prompt.
    Reasoning blocks are left out. Leading white space counts, so the completion must come as it was generated.
    """
    text = without_reasoning(completion)
    method = rf"|class +{container}\b" if container else ""
    defined = re.compile(rf"^(?:(?:async +)?def +{entry_point}\b|{entry_point} *=[^=]{method})", re.MULTILINE)
    begun = defined.search(prompt)
    before = prompt[: begun.start()] if begun else ""
    blocks = [textwrap.dedent(block[2]) for block in _FENCE.finditer(text)]
    whole = [block for block in blocks if defined.search(block)]
    if re.match(r"\s*?^[ \t]+\S", text, re.MULTILINE) and not defined.search(textwrap.dedent(text)):
        end = _end_of_body(text, prompt)
        if _is_code(text[:end]):
            return _with_body(prompt, text[:end])
    if whole:
        return before + whole[-1].strip("\n") + "\n"
    for block in filter(_is_code, blocks):
        return _with_body(prompt, block)
    text = textwrap.dedent(text)
    if not blocks and (found := defined.search(text)):
        return before + _around(text, found.start())
    if not blocks and "return" in text and compiles(program := _with_body(prompt, text)):
        return program
    return None


def compiles(program: str) -> bool:
    """True for a text that is Python."""
    try:
        ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # ValueError: a null byte
        return False
    return True


def _is_code(text: str) -> bool:
    """A line has the form of code, or the whole is statements that are more than values."""
    if _CODE.search(text):
        return True
    if not compiles(text := textwrap.dedent(text)):
        return False
    acts = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
    return any(not isinstance(node, ast.Expr) or isinstance(node.value, acts) for node in ast.parse(text).body)


def _end_of_body(text: str, prompt: str) -> int:
    """Where a body ends: at the first unindented line that leaves a program behind, else at the first one."""
    ends = [line.start() for line in re.finditer(r"^(?:\S|[ \t]*(?:```|~~~))", text, re.MULTILINE)]
    for end in [*ends, len(text)]:
        if compiles(_with_body(prompt, text[:end])):
            return end
    return ends[0] if ends else len(text)


def _with_body(prompt: str, body: str) -> str:
    """The prompt gone on with: the body as it is, or else indented as a whole, or else in its first line alone."""
    last_line = prompt.rstrip().rpartition("\n")[2]
    indent = last_line[: len(last_line) - len(last_line.lstrip())] or "    "
    programs = [f"{prompt.rstrip()}\n{shape}\n" for shape in _shapes(body.strip("\n").rstrip(), indent)]
    return next(filter(compiles, programs), programs[0])


def _shapes(body: str, indent: str) -> Iterator[str]:
    if body.startswith(indent):
        yield body
    yield textwrap.indent(textwrap.dedent(body), indent)
    yield indent + body.lstrip()


def _around(text: str, start: int) -> str:
    """The lines of code around a definition: from the first import, definition or decorator to the next prose."""
    first = re.compile(r"^(?:from \S+ import |import \w|(?:async )?def \w|class \w|@\w)", re.MULTILINE).search(text)
    lines = text[min(start, first.start() if first else start) :].split("\n")
    kept = [lines[0]]
    for line in lines[1:]:
        if line and not line[0].isspace() and not _TOP_LEVEL.match(line):
            break
        kept.append(line)
    return "\n".join(kept).rstrip() + "\n"
