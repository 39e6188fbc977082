"""Intervene at the start of content words only (beyond the paper)."""

from __future__ import annotations

import torch

from taboo_cluster.taboo.triggers.base import TRIGGERS, DecodingStep, TriggerEntry


def content_word(step: DecodingStep) -> torch.Tensor:
    """Mask the top `rank` tokens where x_nom is word-initial, unless it spells an English function word."""
    return torch.where(step.word_initial & ~step.table.function[step.nominal], step.rank, 0)


TRIGGERS.register("content_word")(TriggerEntry(content_word))
