"""The command line: `python -m taboo_cluster +sweep=NAME` runs a sweep, other commands come first by name.

Exit status: 0 done, 1 finished with more trial errors than allowed, 2 bad config or arguments (one line, before
anything starts), 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from taboo_cluster import __version__
from taboo_cluster.cli import Command, command, names
from taboo_cluster.errors import UserError

USAGE = """\
python -m taboo_cluster +sweep=NAME [key=value ...]   run a sweep; with run_dir=DIR resume or extend a run
python -m taboo_cluster COMMAND ...

"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status; a user's mistake becomes one line on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an ASCII terminal shows \xe9 for what it has no letter for
            stream.reconfigure(errors="backslashreplace")
    try:
        if not given or given[0] in ("-h", "--help"):
            print(_overview())
            return 0
        if given[0] == "--version":
            print(f"taboo_cluster {__version__}")
            return 0
        chosen, rest = _choose(given)
        return chosen.run(chosen.parser().parse_intermixed_args(rest))
    except UserError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _choose(given: list[str]) -> tuple[Command, list[str]]:
    """The command of the first word; an override or option there means `run`."""
    first = given[0]
    if first not in names() and ("=" in first or first[:1] in ("+", "~", "-")):
        return command("run"), given
    return command(first), given[1:]


def _overview() -> str:
    lines = [f"  {name:<8} {command(name).help}" for name in names()]
    return USAGE + "Commands:\n" + "\n".join(lines) + "\n\nEach explains itself with --help."


if __name__ == "__main__":
    sys.exit(main())
