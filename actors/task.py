"""What driver and actors tell each other: small, and free of the model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from taboo_cluster.engines.base import Hardware
from taboo_cluster.labels import short_revision
from taboo_cluster.trial import ResolvedModel


@dataclass(frozen=True)
class Task:
    """What an actor is for; the same after a restart."""

    config: Mapping[str, Any]
    """The run's config as plain values."""
    index: int
    """Which of the config's models."""
    model: ResolvedModel
    hardware: Hardware
    gpus: int
    """GPUs the actor must see."""
    run_dir: str
    run_id: str
    launch_id: str
    replica: int
    items: Mapping[str, str]
    """Digest of each benchmark's items, as the driver has them."""
    lookup: tuple[str, ...] = ()
    """Runs whose outputs may be taken instead of made again."""

    @property
    def label(self) -> str:
        """Readable, for the dashboard; unique within a launch."""
        model = self.model
        revision = f"@{short_revision(model.revision)}" if model.revision else ""
        return f"{model.name}{revision} ({model.quantization}, {model.dtype})#{self.replica}"

    @property
    def workers(self) -> str:
        """What the worker_ids of this actor's lives begin with, and no other's; safe in a file's name."""
        name = re.sub(r"[^A-Za-z0-9.]+", "-", self.model.name.rpartition("/")[2]).strip("-.")[:40]
        return f"{name}-{self.index}-{self.replica}-"


@dataclass(frozen=True)
class Ref:
    """A trial by reference: what travels instead of it."""

    cell: int
    """Index among the sweep's cells."""
    item_id: str
    attempt: int


@dataclass(frozen=True)
class Report:
    """What a loaded actor says of itself."""

    worker_id: str
    pid: int
    host: str
    gpu_uuids: tuple[str, ...]
    concurrent: bool
    """The engine takes two blocks at once."""
    load_s: float
