"""Short names that tell the models of a config apart, for people."""

from __future__ import annotations

import re
from collections.abc import Sequence

from taboo_cluster.config import ModelConfig


def labels(models: Sequence[ModelConfig]) -> list[str]:
    """A short name for each model of a config that no other one has.

    The model's own, with its revision and its precision where others of that name have another.
    """
    found = []
    for model in models:
        same = [other for other in models if other.name == model.name]
        label = model.name
        if len({other.revision for other in same}) > 1:
            label += f"@{short_revision(model.revision or 'main')}"
        if len({(other.quantization, other.dtype) for other in same}) > 1:
            label += f" ({model.dtype if model.quantization == 'none' else model.quantization})"
        found.append(label)
    return found


def short_revision(revision: str) -> str:
    """The first 8 characters of a commit or of another hash; a branch or tag in full."""
    return revision[:8] if re.fullmatch("[0-9a-f]{32,}", revision) else revision
