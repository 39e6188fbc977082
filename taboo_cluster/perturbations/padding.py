"""Padding: the same few characters at both ends (METHODS section 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from taboo_cluster.perturbations.base import PERTURBATIONS, PerturbationEntry, Subject

PADS = {"spaces": " " * 5, "quote": '"', "newline": "\n"}


@dataclass(frozen=True)
class Options:
    """What is put at both ends, and of what."""

    char: Literal["spaces", "quote", "newline"] = "quote"
    """Five spaces, one double quote or one newline."""
    scope: Literal["message", "question"] = "message"
    """`message`: around the whole user message, inside the chat template, as in the paper; `question`: around the
    question alone."""


def padding(subject: Subject, options: Options, rng: np.random.Generator) -> Subject:
    """Pad the message or the question: `How many eggs?` -> `"How many eggs?"`.

    A program stays as it is under `scope=question`: padded it would not be one.
    """
    pad = PADS[options.char]
    if options.scope == "message":
        return replace(subject, before=pad + subject.before, after=subject.after + pad)
    if "entry_point" in subject.item.extras:
        return subject
    return subject.with_question(pad + subject.item.question + pad)


PERTURBATIONS.register("padding")(PerturbationEntry("padding", padding, Options))
