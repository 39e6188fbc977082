"""Finding a task of lm-evaluation-harness by its name, and loading it with its documents.

A task file is a program: its `!function` names Python code, its templates and metrics can reach any. All of it runs as
the user who started the sweep, in the driver and in every actor. Looking for a task runs nothing; loading it does.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import re
from pathlib import Path
from typing import Any

from taboo_cluster.benchmarks.harness import HarnessTask
from taboo_cluster.errors import UserError, nearest

HARNESS = "0.4.13"
"""The version of lm-eval whose classes are used here, beyond what it promises to keep."""

_INSTALL = "pip install 'taboo_cluster[lm_eval]'"


@functools.lru_cache(8)
def load(name: str, include_path: str | None, question_field: str | None) -> HarnessTask:
    """A task by name, with its documents.

    Args:
        name: as the harness lists it.
        include_path: folder with YAML files of further tasks, which come before the harness's own.
        question_field: see `HarnessTask`.

    Raises:
        UserError: the harness is not installed, or in another version; it has no such task, or cannot load it; the
            task cannot be asked.
    """
    if importlib.util.find_spec("lm_eval") is None:
        raise UserError(f"benchmark lm_eval needs lm-eval, which is not installed: {_INSTALL}")
    if (found := importlib.metadata.version("lm_eval")) != HARNESS:
        raise UserError(f"benchmark lm_eval needs lm-eval {HARNESS}, not {found}: {_INSTALL}")
    if include_path is not None and not Path(include_path).expanduser().is_dir():
        raise UserError(f"benchmark.lm_eval.include_path: there is no folder {include_path}")
    from lm_eval.api.task import ConfigurableTask

    manager, spec = _find(name, include_path)
    try:
        built = manager.load(spec)["tasks"]
    except Exception as error:  # whatever a task's data set, template or code does
        text = " ".join(str(error).split())[:300]
        raise UserError(f"lm-eval cannot load {name}: {type(error).__name__}: {text}") from error
    (task,) = built.values()
    if not isinstance(task, ConfigurableTask):
        raise UserError(f"{name} is a Python class of its own, not a task of the harness's usual form")
    return HarnessTask(task, question_field)


def _find(name: str, include_path: str | None) -> tuple[Any, str]:
    """(manager, what it is to load). The harness reads the 13,000 files of its own tasks only where it has to."""
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=include_path, include_defaults=False)
    if name in manager.all_subtasks:
        return manager, name
    if shipped := _shipped_file(name):
        return manager, str(shipped)
    manager = TaskManager(include_path=include_path)
    known = manager.all_subtasks
    if name in known:
        return manager, name
    if name in manager.all_groups or name in manager.all_tags:
        raise UserError(f"{name} is a group of lm-eval tasks: name one of its tasks")
    close = nearest(name, known)
    hint = f" - did you mean {close!r}?" if close else "."
    mine = f", and no file of {include_path} that can be read names it" if include_path else ""
    raise UserError(f"unknown lm-eval task {name!r}{hint} `lm-eval ls tasks` lists all {len(known):,}{mine}")


def _shipped_file(name: str) -> Path | None:
    """The file of a task that the harness ships, where a file is its own."""
    import lm_eval.tasks

    mine = re.compile(rf"^task: *['\"]?{re.escape(name)}['\"]? *$", re.MULTILINE)
    files = sorted(Path(lm_eval.tasks.__file__).parent.rglob("*.yaml"))
    return next((file for file in files if mine.search(file.read_text(encoding="utf-8"))), None)
