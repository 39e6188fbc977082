"""What is said of a model that could not be brought to its end."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray.exceptions import ActorUnavailableError, OutOfMemoryError, RayTaskError

from jobs.failures import failure, last_words
from taboo_cluster.errors import UserError
from taboo_cluster.launch import write_row
from taboo_cluster.rows import now


def remote(cause: Exception) -> RayTaskError:
    return RayTaskError("run", "Traceback\n  File\nValueError: broken", cause)


def test_a_users_mistake_is_its_own_line_without_a_trace() -> None:
    why = failure(remote(UserError("one: no weights")), loaded=False)
    assert (why.message, why.error_type, why.trace) == ("one: no weights", "model_load_failed", None)


def test_e12_an_actor_that_ended_itself_is_quoted() -> None:
    gone = ActorUnavailableError("the worker is gone", None)
    why = failure(gone, loaded=True, said="engine hung: no completion for 5 s")
    assert (why.message, why.error_type) == ("engine hung: no completion for 5 s", "engine_died")
    assert why.trace is not None
    assert "the worker is gone" in failure(gone, loaded=True).message


def test_another_error_is_not_blamed_on_an_earlier_death() -> None:
    why = failure(remote(ValueError("broken")), loaded=True, said="engine died: before")
    assert why.message.endswith("broken")
    assert failure(remote(OutOfMemoryError("full")), loaded=True).error_type == "out_of_memory"


@pytest.fixture
def task(tmp_path: Path) -> Any:
    return SimpleNamespace(run_dir=str(tmp_path), launch_id="l", workers="m-0-0-")


def test_the_last_words_are_those_of_the_latest_life_of_the_actor(task: Any) -> None:
    assert last_words(task) is None

    def live(worker_id: str, minute: int, end_reason: str | None, launch_id: str = "l") -> None:
        row = {"worker_id": worker_id, "launch_id": launch_id, "end_reason": end_reason}
        write_row(task.run_dir, "workers", worker_id, row | {"started_at": now() + timedelta(minutes=minute)})

    live("m-0-0-aaa", 1, "engine died: first")
    live("m-0-0-bbb", 2, "engine hung: second")
    live("m-0-1-ccc", 3, "another replica's")
    live("m-0-0-ddd", 4, "another launch's", launch_id="k")
    assert last_words(task) == "engine hung: second"
    assert last_words(SimpleNamespace(**vars(task) | {"workers": "m-0-1-"})) == "another replica's"
    live("m-0-0-eee", 5, None)
    assert last_words(task) is None
