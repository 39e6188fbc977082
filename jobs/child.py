"""Work done in a process of its own, so that the memory it takes is not this process's."""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from taboo_cluster.errors import UserError

T = TypeVar("T")


class ChildFailed(Exception):
    """The process ended without an answer, or with an error that is no user's mistake: the message has its trace."""


def in_child(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a fresh process and return what it does.

    Args:
        function: importable by name; its module is all that the process imports.
        arguments: picklable, as the answer must be.

    Raises:
        UserError: as the function raised it.
        ChildFailed: anything else went wrong there.
    """
    context = multiprocessing.get_context("spawn")  # a fork of this process would begin with its memory and threads
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(sender, function, arguments), daemon=True)
    process.start()
    sender.close()
    try:
        answer, error = receiver.recv()
    except EOFError:
        process.join()
        raise ChildFailed(f"the process ended with exit status {process.exitcode}") from None
    finally:
        process.kill()  # it has answered, or nobody waits for its answer any more
        process.join()
        receiver.close()
    if error is not None:
        raise error
    result: T = answer
    return result


def _work(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both: what comes of it is the parent's to say
    outcome: tuple[Any, Exception | None]
    try:
        outcome = function(*arguments), None
    except UserError as error:
        outcome = None, error
    except Exception:
        outcome = None, ChildFailed(traceback.format_exc())
    sender.send(outcome)
