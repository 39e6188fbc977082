"""Choices: the same options in another order, or under other letters (METHODS section 2).

The permutation follows from item and seed, so it is the same for all models. Options that speak of others keep their
place, and with them the whole item where moving the others would change what they mean (`shuffled_order`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from taboo_cluster.benchmarks.choice_items import labels
from taboo_cluster.benchmarks.choices import name_letters, shuffled_order
from taboo_cluster.perturbations.base import PERTURBATIONS, PerturbationEntry, Subject


def shuffle_choices(subject: Subject, options: Any, rng: np.random.Generator) -> Subject:
    """The options in another order; the gold letter follows the gold text, and `choice_order` says where each was.

    `A. Rome`, `B. Po`, `C. none of these` -> `A. Po`, `B. Rome`, `C. none of these`
    """
    item = subject.item
    if "problem" in item.extras:
        return subject
    choices: Sequence[str] = item.extras["choices"]
    order = shuffled_order(choices, rng)
    before = subject.choice_order or range(len(choices))
    letters = labels(item)
    gold = letters[order.index(letters.index(item.gold))]
    extras = {**item.extras, "choices": [choices[index] for index in order]}
    moved = tuple(before[index] for index in order)
    return replace(
        subject,
        item=replace(item, gold=gold, extras=extras),
        choice_order=None if moved == tuple(range(len(choices))) else moved,
    )


def shuffle_labels(subject: Subject, options: Any, rng: np.random.Generator) -> Subject:
    """Other letters before the options, which stay in their order; the gold letter follows the gold text.

    `A. Rome`, `B. Po`, `C. Etna` -> `C. Rome`, `A. Po`, `B. Etna`
    """
    item = subject.item
    if "problem" in item.extras or name_letters(item.extras["choices"]):
        return subject
    letters = labels(item)
    moved = [letters[index] for index in rng.permutation(len(letters))]
    gold = moved[letters.index(item.gold)]
    extras = {name: value for name, value in item.extras.items() if name != "labels"}
    if moved != sorted(moved):
        extras["labels"] = moved
    return replace(subject, item=replace(item, gold=gold, extras=extras))


PERTURBATIONS.register("shuffle_choices")(PerturbationEntry("choices", shuffle_choices, needs="choices"))
PERTURBATIONS.register("shuffle_labels")(PerturbationEntry("choices", shuffle_labels, needs="choices"))
