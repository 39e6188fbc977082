"""Work in a process of its own: answers, a user's mistakes and everything else come back."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from jobs.child import ChildFailed, in_child
from taboo_cluster.errors import UserError


def answer(*parts: Any) -> tuple[int, tuple[Any, ...]]:
    return os.getpid(), parts


def mistake() -> None:
    raise UserError("no such run")


def bug() -> None:
    raise ZeroDivisionError("by zero")


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupted() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "done"


def test_the_answer_comes_from_another_process() -> None:
    pid, parts = in_child(answer, 1, ["a"])
    assert pid != os.getpid()
    assert parts == (1, ["a"])


def test_a_users_mistake_comes_back_as_it_is() -> None:
    with pytest.raises(UserError, match=r"^no such run$"):
        in_child(mistake)


def test_another_error_comes_back_with_its_trace() -> None:
    with pytest.raises(ChildFailed, match=r"(?s)in bug.*ZeroDivisionError: by zero"):
        in_child(bug)


def test_a_process_that_is_killed_says_nothing() -> None:
    with pytest.raises(ChildFailed, match="exit status -9"):
        in_child(killed)


def test_ctrl_c_is_the_parents_to_handle() -> None:
    assert in_child(interrupted) == "done"
