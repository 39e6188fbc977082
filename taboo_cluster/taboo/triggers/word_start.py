"""The paper's trigger: intervene where the model would begin a word."""

from __future__ import annotations

import torch

from taboo_cluster.taboo.triggers.base import TRIGGERS, DecodingStep, TriggerEntry


def word_start(step: DecodingStep) -> torch.Tensor:
    """Mask the top `rank` tokens where x_nom is word-initial."""
    return torch.where(step.word_initial, step.rank, 0)


TRIGGERS.register("word_start")(TriggerEntry(word_start))
