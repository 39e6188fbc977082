"""Ending a worker process together with the process that started its engine."""

from __future__ import annotations

import contextlib
import os
import select
import threading

OWNER = "TABOO_CLUSTER_ENGINE_OWNER"
"""Environment variable: the id of the process whose end ends the engine's workers."""


def end_with_owner() -> None:
    """Have this process end as soon as its engine's owner has; without the variable, do nothing.

    An owner that is killed cannot stop its engine, whose processes would go on and keep the GPU's memory.
    """
    if (owner := os.environ.get(OWNER)) is not None:
        threading.Thread(target=_watch, args=(int(owner),), name="owner", daemon=True).start()


def _watch(owner: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        select.select([os.pidfd_open(owner)], [], [])  # readable once the process has ended
    os._exit(1)
