"""The command line: `python -m taboo_cluster +sweep=NAME` runs a sweep, other commands come first by name.

Exit status: 0 done, 1 finished with more trial errors than allowed, 2 bad config or arguments (one line, before
anything starts), 130 interrupted.
"""

from __future__ import annotations

import errno
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

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What a disk that takes no more says."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status; a user's mistake becomes one line on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an ASCII terminal shows \xe9 for what it has no letter for
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:  # the next file opened would take its place and be written to
        print("error: standard output is closed; > /dev/null throws it away", file=sys.stderr)
        return 2
    try:
        return _run(given)
    except UserError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough
        _discard_output()
        return 0
    except OSError as error:
        if error.errno not in FULL:
            raise
        _discard_output()
        print(f"error: cannot write {error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
        return 1


def _run(given: list[str]) -> int:
    """One command; everything it printed has left this process when it returns or exits."""
    try:
        if not given or given[0] in ("-h", "--help"):
            print(_overview())
            status = 0
        elif given[0] == "--version":
            print(f"taboo_cluster {__version__}")
            status = 0
        else:
            chosen, rest = _choose(given)
            status = chosen.run(chosen.parser().parse_intermixed_args(rest))
    except SystemExit:  # --help
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return status


def _discard_output() -> None:
    """What is still to be written goes nowhere, so that the interpreter does not fail on it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
