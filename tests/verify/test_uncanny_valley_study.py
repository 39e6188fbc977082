"""The sweep uncanny_valley on poems with two small real models through vLLM; written to docs/measured/."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
import yaml
from measured import ROOT, answers, command, write_page

from taboo_cluster.tree import CONF

vllm = pytest.importorskip("vllm", reason="vLLM is not installed")

pytestmark = [pytest.mark.verify, pytest.mark.timeout(7200)]
POEMS = ROOT.parent / "shared" / "data" / "poems" / "poems.jsonl"
DOCUMENTS, CONTEXT, TOKENS = 10, 2560, 192
TABLES = {
    "Kept and cut": """
        SELECT model, benchmark, count(DISTINCT item_id) AS documents,
        count(DISTINCT item_id) FILTER (lines.kept < lines.total) AS cut,
        count(DISTINCT item_id) FILTER (error_type = 'document_skipped') AS skipped,
        min(lines.kept) AS least_kept, max(lines.total) AS most_lines,
        count(DISTINCT (item_id, lines.kept)) AS cuts
        FROM records GROUP BY ALL ORDER BY ALL""",
    "Every outcome": """
        SELECT model, benchmark, outcome, count(*) AS n, round(avg(completion_tokens)) AS tokens,
        sum(lines.named) AS named, sum(lines.hits) AS hits
        FROM records GROUP BY ALL ORDER BY model, benchmark, n DESC""",
    "Errors": "SELECT model, benchmark, condition, error_type, n, example FROM errors",
}


def test_two_models_on_poems_at_eleven_levels(tmp_path: Path) -> None:
    folder = Path(os.environ.get("TABOO_MODELS", ""))
    smol, gemma = folder / "SmolLM2-135M-Instruct", folder / "gemma-3-270m"
    if not all((model / "config.json").is_file() for model in (smol, gemma)):
        pytest.skip("no SmolLM2-135M-Instruct and gemma-3-270m (set TABOO_MODELS to a folder of models)")
    if not POEMS.exists():
        pytest.skip("no poems")
    run_dir = str(tmp_path / "run")
    models = f"[{{path: {smol}, aligned: true, stage: instruct}},{{path: {gemma}}}]"
    documents = [f"benchmark.{task}.{option}" for task in ("absence", "needle") for option in (
        f"poems_path={POEMS}", f"n={DOCUMENTS}", f"max_tokens={TOKENS}"
    )]  # fmt: skip
    began = time.monotonic()
    command(
        "+sweep=uncanny_valley", f"models={models}", "benchmarks=[absence,needle]", "suite_domains=[poems]",
        *documents, "engine=vllm", f"engine.max_model_len={CONTEXT}", "engine.max_num_seqs=32",
        "cluster.cpus=1", "replicates=1", f"run_dir={run_dir}",
    )  # fmt: skip
    minutes = (time.monotonic() - began) / 60
    counts = json.loads(
        command(
            "sql", run_dir,
            "SELECT count(*) AS n, count(*) FILTER (error_type <> 'document_skipped') AS errors, "
            "count(DISTINCT (model, benchmark, item_id)) AS documents, "
            "count(DISTINCT (model, benchmark, item_id, lines.kept)) AS cuts FROM records",
            "--format", "json",
        )
    )[0]  # fmt: skip
    own = yaml.safe_load((CONF / "sweep" / "uncanny_valley.yaml").read_text(encoding="utf-8"))["table"]
    lines = [
        "SmolLM2-135M-Instruct and gemma-3-270m (bfloat16) through the vllm engine in Ray actors "
        f"(vLLM {vllm.__version__}): absence and needle on",
        f"{DOCUMENTS} poems, eleven levels of `fragment`, context {CONTEXT} tokens,",
        f"{TOKENS} of them for the answer: {counts['n']} trials, {counts['errors']} errors, {minutes:.0f} minutes, not "
        "alone on the machine.",
        "",
        *answers(run_dir, {f"The sweep's table {number}": query for number, query in enumerate(own, 1)} | TABLES),
    ]
    write_page("uncanny_valley_vllm", "Fragmented poems: two small models", lines)
    assert (counts["n"], counts["errors"]) == (2 * 2 * DOCUMENTS * 11, 0)
    assert counts["cuts"] == counts["documents"]
