"""The paper's ablation: intervene everywhere but where the model would begin a word."""

from __future__ import annotations

import torch

from taboo_cluster.taboo.triggers.base import TRIGGERS, DecodingStep, TriggerEntry


def mid_word(step: DecodingStep) -> torch.Tensor:
    """Mask the top `rank` tokens where x_nom is not word-initial: inside words, and at punctuation and white space."""
    return torch.where(step.word_initial, 0, step.rank)


TRIGGERS.register("mid_word")(TriggerEntry(mid_word))
