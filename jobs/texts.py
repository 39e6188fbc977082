"""Perturbed texts on their way from the actors that make them to those that need them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import ray

from actors.perturbation import PerturbationActor
from taboo_cluster.perturbations.stack import TextKey

KEPT = 64
"""Chunks of texts kept for other models and ranks; one that is dropped and asked for again is made again, the same."""
CORES_EACH = 8
"""CPU cores of the cluster for each actor that perturbs."""


class TextStore:
    """Hands out references to chunks of texts, made on demand and ahead of need; no more than `KEPT` are held."""

    def __init__(self, config: Mapping[str, Any], run_dir: str, launch_id: str, cpus: float) -> None:
        self._make = (config, run_dir, launch_id)
        self._count = max(1, int(cpus // CORES_EACH))
        self._actors: list[Any] = []
        self._next = 0
        self._chunks: OrderedDict[TextKey, Any] = OrderedDict()

    def chunks(self, keys: Iterable[TextKey]) -> list[Any]:
        """References to these chunks."""
        found = []
        for key in keys:
            if key not in self._chunks:
                self._chunks[key] = self._actor().texts.remote(key)
            self._chunks.move_to_end(key)
            found.append(self._chunks[key])
        while len(self._chunks) > KEPT:
            self._chunks.popitem(last=False)
        return found

    def close(self) -> None:
        """End the actors."""
        self._chunks.clear()
        for actor in self._actors:
            ray.kill(actor)
        self._actors.clear()

    def _actor(self) -> Any:
        """One of the actors in turn, started when it is first needed. They take no core from the engines."""
        self._next += 1
        if len(self._actors) < self._count:
            actor_class: Any = PerturbationActor
            options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1}
            self._actors.append(actor_class.options(**options).remote(*self._make, len(self._actors)))
            return self._actors[-1]
        return self._actors[self._next % self._count]
