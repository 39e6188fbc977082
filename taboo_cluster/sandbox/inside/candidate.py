"""The hostile side: runs a program and answers calls of its function with plain values. It never sees the tests."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from .plain import decode, encode, receive, send

NAME = "solution"
"""What the program finds in `__name__`: its `if __name__ == "__main__"` does not run."""


def serve(source: str, entry_point: str, calls: int, answers: int) -> None:
    """Run the program, then its function for every call that comes, until no more can come.

    Args:
        source: the program.
        entry_point: name of its function.
        calls: pipe that lists of arguments are read from.
        answers: pipe that is written to: one answer when the program has run, then one for every call.
    """
    module = types.ModuleType(NAME)
    sys.modules[NAME] = module
    found: list[Callable[..., Any]] = []

    def load() -> Any:
        exec(compile(source, f"{NAME}.py", "exec"), vars(module))  # noqa: S102  # what the sandbox is there for
        if entry_point not in vars(module):
            raise NameError(f"the program defines no {entry_point}")
        found.append(vars(module)[entry_point])

    send(answers, _answer(load, []))
    while True:
        given = receive(calls)
        send(answers, _answer(found[0], given))


def _answer(function: Callable[..., Any], given: list[Any]) -> dict[str, Any]:
    """What the function returned and, where it changed its arguments, what they have become; or what it raised."""
    try:
        arguments = decode(given)
        returned = {"value": encode(function(*arguments))}
        after = encode(arguments)
        return returned if after == given else returned | {"arguments": after}
    except BaseException as error:  # SystemExit and KeyboardInterrupt too
        return {"raised": type(error).__name__, "message": str(error)[:1000]}
