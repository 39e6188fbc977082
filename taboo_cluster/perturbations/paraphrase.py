"""The question in a language model's words, written and checked beforehand (`python -m taboo_cluster paraphrase`).

Nothing is drawn: the same folder gives the same text for every seed, model and run.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from taboo_cluster.paraphrases.store import check_benchmark, question_hash, read_accepted
from taboo_cluster.perturbations.base import PERTURBATIONS, PerturbationEntry, Subject


@dataclass(frozen=True)
class Options:
    """Which paraphrases."""

    kind: Literal["lexical", "syntactic", "free"] = "free"
    path: str = "paraphrases"
    """Folder or fsspec URL that the command `paraphrase` has filled; a relative one starts where the run is started."""


def paraphrase(subject: Subject, options: Options, rng: np.random.Generator) -> Subject:
    """The accepted paraphrase of the clean question: `How many are left?` -> `What number remains?`.

    A question without one stays as it is. Raises UserError for a folder without any.
    """
    item = subject.item
    found = _accepted(options.path, options.kind).get((item.item_id, question_hash(item.question)))
    return subject if found is None else subject.with_question(found)


@functools.lru_cache(maxsize=16)
def _accepted(path: str, kind: str) -> Mapping[tuple[str, str], str]:
    """Read once: what is added to the folder while a run goes on is the next run's."""
    return read_accepted(path, kind)


def _check(options: Any, benchmark: str) -> None:
    check_benchmark(options.path, options.kind, benchmark)


PERTURBATIONS.register("paraphrase")(PerturbationEntry("paraphrase", paraphrase, Options, check=_check, first=True))
