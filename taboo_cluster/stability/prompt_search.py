"""The prompts that a search has chosen, saved as configs that other sweeps can use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import yaml

from taboo_cluster.config import PromptConfig
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import model_slug

FOLDER = "conf"
"""In the run directory: a tree for --config-dir, with the group `prompt`."""

CHOSEN = """
    SELECT model, model_revision, quantization, dtype, benchmark, prompt_style, n_shots
    FROM prompt_search WHERE chosen ORDER BY model, model_revision, quantization, dtype, benchmark
"""


@dataclass(frozen=True)
class Saved:
    """A prompt that was chosen."""

    model: str
    benchmark: str
    prompt: str
    name: str
    """What `prompt=NAME` takes."""


def save(store: Store, prompts: Mapping[str, PromptConfig], rows: Sequence[Mapping[str, Any]]) -> list[Saved]:
    """Write a config for each chosen prompt (rows of `CHOSEN`) into the run; a style of the benchmark's own is named
    alone. Raises WriteError."""
    several = len({(row["quantization"], row["dtype"]) for row in rows}) > 1
    revisions = Counter(model for model, _ in {(row["model"], row["model_revision"]) for row in rows})
    saved = []
    for row in rows:
        style = row["prompt_style"]
        precision = [row["dtype"] if row["quantization"] == "none" else row["quantization"]] if several else []
        revision = [str(row["model_revision"])[:8]] if revisions[row["model"]] > 1 else []
        name = "-".join([model_slug(row["model"]), *revision, *precision, row["benchmark"]])
        settings: dict[str, Any] = {"prompt_style": style}
        if style in prompts:
            chosen = prompts[style]
            own = chosen.examples or chosen.pool_path
            settings["prompts"] = {style: asdict(chosen) | ({} if own else {"n_shots": row["n_shots"]})}
        text = (
            f"# @package _global_\n# Chosen for {row['model']} on {row['benchmark']} by a prompt search.\n"
            f"{yaml.safe_dump(settings, allow_unicode=True, sort_keys=False)}"
        )
        store.write(f"{FOLDER}/prompt/{name}.yaml", memoryview(text.encode("utf-8")))
        saved.append(Saved(row["model"], row["benchmark"], style, name))
    return saved
