"""The commands, one module each.

A command's module has a docstring (its help; the first line is what the overview shows), `arguments(parser)` and
`run(arguments) -> exit status`. What is slow to import is imported inside `run`.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from taboo_cluster.errors import UserError, unknown


@dataclass(frozen=True)
class Command:
    """One command of the command line."""

    name: str
    description: str
    arguments: Callable[[argparse.ArgumentParser], None]
    """Adds the command's arguments to its parser."""
    run: Callable[[argparse.Namespace], int]
    """Returns the exit status; raises UserError for a user's mistake."""

    @property
    def help(self) -> str:
        """The first line of the description."""
        return self.description.splitlines()[0].rstrip(".")

    def parser(self) -> argparse.ArgumentParser:
        """The parser of everything after the command's name."""
        parser = _Parser(
            prog=f"python -m taboo_cluster {self.name}",
            description=self.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.arguments(parser)
        return parser


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like every other."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} ({self.prog} --help)")


def names() -> list[str]:
    """Names of all commands, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def command(name: str) -> Command:
    """The command of that name; raises UserError for an unknown one."""
    if name not in names():
        raise unknown("command", name, names())
    module = importlib.import_module(f"taboo_cluster.cli.{name}")
    return Command(name, (module.__doc__ or "").strip(), module.arguments, module.run)
