"""Augmentation: fixed words around the whole user message that ask for nothing else (METHODS section 2).

The texts are this project's own. They speak of no subject, give no fact and ask for no other form of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from taboo_cluster.perturbations.base import PERTURBATIONS, PerturbationEntry, Subject

PERSONAS = {
    "expert": "You are an experienced specialist in the field that this question comes from.",
    "teacher": "You are a patient school teacher who likes to get things right.",
    "student": "You are a student who has prepared well for an exam.",
    "assistant": "You are a careful office assistant who is asked questions of all kinds.",
}
EMOTIONS = {
    "important": "This is very important to me.",
    "worried": "I am quite worried about this, so please do your best.",
    "hopeful": "I believe in you. Getting this right would make me really happy.",
    "pressure": "A lot depends on this for me, and I cannot afford a mistake.",
}
EXPLANATIONS = {
    "why": "Please also say why your answer is right.",
    "simple": "Please explain your answer in simple words.",
    "beginner": "Please explain your answer so that a beginner can follow it.",
    "detail": "Please explain in detail how you get to your answer.",
}


@dataclass(frozen=True)
class PersonaOptions:
    """Which persona."""

    choice: Literal["expert", "teacher", "student", "assistant", "any"] = "expert"
    """One of PERSONAS; `any` draws one for each item."""


@dataclass(frozen=True)
class EmotionOptions:
    """Which emotion."""

    choice: Literal["important", "worried", "hopeful", "pressure", "any"] = "important"
    """One of EMOTIONS; `any` draws one for each item."""


@dataclass(frozen=True)
class ExplanationOptions:
    """Which request."""

    choice: Literal["why", "simple", "beginner", "detail", "any"] = "why"
    """One of EXPLANATIONS; `any` draws one for each item."""


def persona(subject: Subject, options: PersonaOptions, rng: np.random.Generator) -> Subject:
    """Who the model is to be, in front of the message.

    `How many eggs?` -> `You are an experienced specialist in the field that this question comes from.`, an empty line,
    `How many eggs?`
    """
    return _in_front(subject, _chosen(PERSONAS, options.choice, rng))


def emotion(subject: Subject, options: EmotionOptions, rng: np.random.Generator) -> Subject:
    """What the answer means to the one who asks, behind the message; in front of a program, which must end where the
    answer goes on.

    `How many eggs?` -> `How many eggs?`, an empty line, `This is very important to me.`
    """
    return _behind(subject, _chosen(EMOTIONS, options.choice, rng))


def explanation(subject: Subject, options: ExplanationOptions, rng: np.random.Generator) -> Subject:
    """A request to explain the answer, behind the message; in front of a program.

    `How many eggs?` -> `How many eggs?`, an empty line, `Please also say why your answer is right.`
    """
    return _behind(subject, _chosen(EXPLANATIONS, options.choice, rng))


def _chosen(texts: Mapping[str, str], choice: str, rng: np.random.Generator) -> str:
    return list(texts.values())[int(rng.integers(len(texts)))] if choice == "any" else texts[choice]


def _in_front(subject: Subject, text: str) -> Subject:
    return replace(subject, before=f"{text}\n\n{subject.before}")


def _behind(subject: Subject, text: str) -> Subject:
    if "entry_point" in subject.item.extras:
        return _in_front(subject, text)
    return replace(subject, after=f"{subject.after}\n\n{text}")


PERTURBATIONS.register("persona")(PerturbationEntry("augmentation", persona, PersonaOptions))
PERTURBATIONS.register("emotion")(PerturbationEntry("augmentation", emotion, EmotionOptions))
PERTURBATIONS.register("explanation")(PerturbationEntry("augmentation", explanation, ExplanationOptions))
