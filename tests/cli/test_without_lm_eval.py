"""Benchmark lm_eval where lm-eval is not installed."""

from __future__ import annotations

import importlib.util

import pytest
from command_files import Refused


def test_one_line_names_the_extra_to_install(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "lm_eval" else find_spec(name))
    for command in ("run", "plan"):
        said = refused(command, "+sweep=alignment", "benchmarks=[lm_eval]", "benchmark.lm_eval.task=arc_easy")
        assert said.endswith("needs lm-eval, which is not installed: pip install 'taboo_cluster[lm_eval]'")


def test_a_task_has_to_be_named(refused: Refused) -> None:
    said = refused("plan", "+sweep=alignment", "benchmarks=[lm_eval]")
    assert "benchmark.lm_eval.task is not set: name a task of lm-evaluation-harness, like arc_easy" in said
