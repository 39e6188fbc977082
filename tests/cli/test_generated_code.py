"""A sweep that runs generated code, on a machine that cannot shut it in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_files import Call

from taboo_cluster.cli import doctor
from taboo_cluster.sandbox import sandbox
from taboo_cluster.sandbox.boxes import Box


@pytest.fixture
def sweep(tmp_path: Path) -> tuple[str, ...]:
    row = {"task_id": "t/0", "prompt": "def f(x):\n    '''x'''\n", "canonical_solution": "    return x\n"}
    row |= {"test": "def check(f):\n    assert f(1) == 1\n", "entry_point": "f"}
    (tmp_path / "test.jsonl").write_text(json.dumps(row))
    return (
        "+sweep=alignment",
        "models=embedded",
        "engine=scripted",
        "benchmarks=[humaneval]",
        f"benchmark.humaneval.path={tmp_path}",
        f"run_dir={tmp_path}/run",
    )


@pytest.fixture
def no_boxes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    never = Box("unshare", ("/bin/sh", "-c", "echo Operation not permitted >&2; exit 1"))
    monkeypatch.setattr(sandbox, "boxes", lambda: [never])
    sandbox.find_box.cache_clear()
    yield
    sandbox.find_box.cache_clear()


def test_it_is_refused_before_anything_is_spent(sweep: tuple[str, ...], no_boxes: None, call: Call) -> None:
    status, _, err = call(*sweep)
    assert status == 2
    assert err.splitlines()[-1].startswith(
        "error: generated code cannot be shut in on this machine: install bubblewrap"
    )
    assert "Operation not permitted" in err
    assert "allow_unsafe_code=true" in err


def test_it_can_be_planned(sweep: tuple[str, ...], no_boxes: None, call: Call) -> None:
    status, out, _ = call("plan", *sweep)
    assert status == 0
    assert "1 items of humaneval" in out


def test_doctor_tells(no_boxes: None) -> None:
    found = doctor.sandbox()
    assert found.level == "note"
    assert found.text.startswith("generated code cannot be shut in")


def test_doctor_tells_which_box_it_is() -> None:
    found = doctor.sandbox()
    assert found.level == "note" or found.text in (
        "generated code is shut in by bubblewrap",
        "generated code is shut in by unshare",
    )
