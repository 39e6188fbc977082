"""The sweeps stability and prompt_search on small models, as started from a shell; written to docs/measured/."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path

import numpy as np
import pytest
import yaml
from measured import answers, command, write_page

from taboo_cluster.tree import CONF

pytestmark = [pytest.mark.verify, pytest.mark.timeout(7200)]
ITEMS = 40
PACKAGES = ("transformers", "torch")
EMBEDDED = ("{path: 'embedded:tiny-base', name: tiny-base}",
            "{path: 'embedded:tiny-instruct', name: tiny-instruct, aligned: true, stage: instruct}")  # fmt: skip
APART = """
    SELECT model, dtype, list(abs(p.logprob - ln(p.top1) + s.bits * ln(2))) AS nats
    FROM (SELECT model, dtype, trial_id, attempt, unnest(steps) AS s FROM recorded WHERE taboo_rank = 1)
    JOIN (SELECT trial_id, attempt, unnest(positions) AS p FROM probed) USING (trial_id, attempt)
    WHERE s.position = p.position
    GROUP BY ALL ORDER BY ALL
"""
"""At each intervention: the probe's log-probability of the emitted token, less that of the nominal one, against the
engine's bits, which are the same in base 2."""


def versions() -> str:
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)


def test_stability_of_the_embedded_pair_and_a_real_model(tmp_path: Path) -> None:
    smol = Path(os.environ.get("TABOO_MODELS", "")) / "SmolLM2-135M-Instruct"
    if not (smol / "config.json").is_file():
        pytest.skip("no SmolLM2-135M-Instruct (set TABOO_MODELS to a folder of models)")
    run_dir = str(tmp_path / "run")
    models = ",".join([*EMBEDDED, f"{{path: {smol}, aligned: true, stage: instruct}}"])
    command(
        "+sweep=stability", f"models=[{models}]", "benchmarks=[arithmetic]", "engine=transformers", f"limit={ITEMS}",
        "stability.per_token=true", "replicates=1", f"run_dir={run_dir}",
    )  # fmt: skip
    apart = json.loads(command("sql", run_dir, APART, "--format", "json"))
    own = yaml.safe_load((CONF / "sweep" / "stability.yaml").read_text(encoding="utf-8"))["table"]
    lines = [
        "tiny-base, tiny-instruct and SmolLM2-135M-Instruct (bfloat16) through the transformers engine "
        f"({versions()}),",
        f"{ITEMS} items of arithmetic, five perturbations and taboo rank 1, every trial probed.",
        "",
        *answers(run_dir, {f"The sweep's table {number}": query for number, query in enumerate(own, 1)}),
        "## The probe's log-probabilities of emitted tokens against the engine's",
        "",
        "At every intervention, in nats (both in bfloat16: batches of other shapes round otherwise).",
        "",
        "```text",
        *(
            f"{row['model']}: n {len(row['nats'])}, median {np.median(row['nats']):.2g}, "
            f"99th percentile {np.quantile(row['nats'], 0.99):.2g}"
            for row in apart
        ),
        "```",
        "",
    ]
    write_page("stability", "Stability of small models", lines)
    (left,) = json.loads(command("sql", run_dir, "SELECT sum(n_missing) AS n FROM stability", "--format", "json"))
    assert left["n"] == 0
    assert {row["model"] for row in apart} == {"tiny-base", "tiny-instruct", smol.name}


def test_prompt_search_on_the_embedded_pair(tmp_path: Path) -> None:
    run_dir = str(tmp_path / "search")
    said = command("+sweep=prompt_search", "engine=transformers", "limit=100", "replicates=1", f"run_dir={run_dir}")
    chosen = [line for line in said.splitlines() if line.startswith("Chosen for ")]
    assert len(chosen) == 2
    name = chosen[-1].rpartition("prompt=")[2]
    used = str(tmp_path / "used")
    command(
        "+sweep=alignment", f"--config-dir={run_dir}/conf", f"prompt={name}", "engine=transformers", "limit=40",
        "taboo.ranks=[0,1]", "replicates=1", f"run_dir={used}",
    )  # fmt: skip
    styles = json.loads(command("sql", used, "SELECT DISTINCT prompt_style FROM records", "--format", "json"))
    own = yaml.safe_load((CONF / "sweep" / "prompt_search.yaml").read_text(encoding="utf-8"))["table"]
    lines = [
        f"tiny-base and tiny-instruct (bfloat16) through the transformers engine ({versions()}), six prompts, 100",
        "items of arithmetic, two perturbations.",
        "",
        *answers(run_dir, {f"The sweep's table {number}": query for number, query in enumerate(own, 1)}),
        *chosen,
        "",
        f"A following +sweep=alignment with prompt={name} asked with prompt style {styles[0]['prompt_style']!r}.",
    ]
    write_page(
        "prompt_search", "Prompt search on the embedded models", [line.replace(run_dir, "RUN") for line in lines]
    )
    assert len(styles) == 1
    assert f": {styles[0]['prompt_style']}." in chosen[-1]
