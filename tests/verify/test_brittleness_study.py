"""The brittleness sweep on the embedded pair and two small real models through vLLM; written to docs/measured/."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from measured import ROOT, answers, command, write_page

from taboo_cluster.tree import CONF

pytest.importorskip("vllm", reason="vLLM is not installed")

pytestmark = [pytest.mark.verify, pytest.mark.timeout(7200)]
ARC = ROOT.parent / "shared" / "data" / "arc" / "arc_challenge_test.jsonl"
ITEMS, VARIANTS = 40, 15
"""Items of each benchmark; 13 perturbations of any text, and 2 for each of the two benchmarks."""
TABLES = {
    "Pairs of models that change places": """
        SELECT benchmark, perturbation_seed IS NULL AS clean, condition, model_first, model_second, clean_difference,
        difference, flip_significant, q, n FROM ranking_flips WHERE flipped ORDER BY ALL""",
    "Right whatever the wording": """
        SELECT model, benchmark, worst_case, ci_low, ci_high, best_case, consistency, n, n_variants
        FROM worst_case ORDER BY benchmark, model""",
    "Letters": "SELECT * FROM position_bias",
    "Errors": "SELECT benchmark, condition, error_type, n, example FROM errors",
    "Every outcome": """
        SELECT model, benchmark, outcome, count(*) AS n, round(avg(completion_tokens)) AS tokens
        FROM records GROUP BY ALL ORDER BY model, benchmark, n DESC""",
}


def test_four_models_two_benchmarks_fifteen_perturbations(tmp_path: Path) -> None:
    folder = Path(os.environ.get("TABOO_MODELS", ""))
    smol, gemma = folder / "SmolLM2-135M-Instruct", folder / "gemma-3-270m"
    if not all((model / "config.json").is_file() for model in (smol, gemma)):
        pytest.skip("no SmolLM2-135M-Instruct and gemma-3-270m (set TABOO_MODELS to a folder of models)")
    if not ARC.exists():
        pytest.skip("no ARC file")
    run_dir = str(tmp_path / "run")
    models = [
        "{path: 'embedded:tiny-base', name: tiny-base}",
        "{path: 'embedded:tiny-instruct', name: tiny-instruct, aligned: true, stage: instruct}",
        f"{{path: {smol}, aligned: true, stage: instruct, family: smollm2, size_b: 0.135}}",
        f"{{path: {gemma}, family: gemma3, size_b: 0.27}}",
    ]
    settings = [
        f"models=[{','.join(models)}]",
        "benchmarks=[arithmetic,arc]",
        f"benchmark.arc.path={ARC}",
        "benchmark.arc.max_tokens=64",
        "n_shots=null",
        "engine=vllm",
        "engine.max_num_seqs=64",
        "cluster.cpus_per_engine=2",
        f"limit={ITEMS}",
    ]
    command("+sweep=brittleness", *settings, f"run_dir={run_dir}")
    counts = json.loads(
        command("sql", run_dir, "SELECT count(*) AS n, count(error_type) AS errors FROM records", "--format", "json")
    )
    own = yaml.safe_load((CONF / "sweep" / "brittleness.yaml").read_text(encoding="utf-8"))["table"]
    lines = [
        "tiny-base, tiny-instruct, SmolLM2-135M-Instruct and gemma-3-270m (bfloat16) through the vllm engine in Ray",
        f"actors, {ITEMS} items of arithmetic (2 examples) and of ARC-Challenge (none, at most 64 tokens), {VARIANTS}",
        f"perturbations each, two replicates of the clean prompt: {counts[0]['n']} trials, {counts[0]['errors']} "
        "errors.",
        "",
        *answers(run_dir, {f"The sweep's table {number}": query for number, query in enumerate(own, 1)} | TABLES),
    ]
    write_page("brittleness_vllm", "The brittleness sweep: four small models", lines)
    assert counts == [{"n": 4 * 2 * ITEMS * (VARIANTS + 2), "errors": 0}]
