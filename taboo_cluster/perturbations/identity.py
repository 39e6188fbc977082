"""No change at all: what any other perturbation is measured against, and a check of the whole path."""

from __future__ import annotations

from typing import Any

import numpy as np

from taboo_cluster.perturbations.base import PERTURBATIONS, PerturbationEntry, Subject


def identity(subject: Subject, options: Any, rng: np.random.Generator) -> Subject:
    """The subject as it is: `How many?` -> `How many?`."""
    return subject


PERTURBATIONS.register("identity")(PerturbationEntry("identity", identity, documents=True))
