"""Ablation: intervene at every token."""

from __future__ import annotations

import torch

from taboo_cluster.taboo.triggers.base import TRIGGERS, DecodingStep, TriggerEntry


def every_token(step: DecodingStep) -> torch.Tensor:
    """Mask the top `rank` tokens at every step (but where x_nom is special, as with every trigger)."""
    return step.rank


TRIGGERS.register("every_token")(TriggerEntry(every_token))
