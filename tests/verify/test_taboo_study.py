"""The Taboo study's other benchmarks on a small real model through vLLM; written to docs/measured/."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from measured import ROOT, answers, command, write_page

pytest.importorskip("vllm", reason="vLLM is not installed")

pytestmark = [pytest.mark.verify, pytest.mark.timeout(5400)]
DATA = ROOT.parent / "shared" / "data"
PATHS = {
    "mmlu": DATA / "mmlu",
    "triviaqa": DATA / "triviaqa" / "triviaqa_sm_sub.jsonl",
    "humaneval": DATA / "humaneval" / "HumanEval.jsonl",
    "forbidden_words": DATA / "ifeval" / "ifeval_single_keyword_exclude.jsonl",
}
TABLES = {
    "Retention": """
        SELECT benchmark, taboo_rank AS rank, retention, ci_low, ci_high, n, paper, accuracy, baseline_accuracy,
        coverage, dose_bits, interventions_per_word AS per_word, length_ratio, truncated_share
        FROM retention WHERE chance IS NULL ORDER BY benchmark, rank""",
    "Multiple choice by letter, against guessing": """
        SELECT benchmark, taboo_rank AS rank, accuracy, ci_low, ci_high, n, chance, at_chance, coverage, truncated_share
        FROM boundary ORDER BY benchmark, rank""",
    "Forbidden words: net change against the baseline": """
        SELECT benchmark, taboo_rank AS rank, baseline_accuracy, accuracy, net_change, ci_low, ci_high, n, n_broken,
        n_mended, p_mcnemar FROM net_change WHERE benchmark = 'forbidden_words' ORDER BY rank""",
    "Every outcome": """
        SELECT benchmark, taboo_rank AS rank, outcome, count(*) AS n, round(avg(completion_tokens)) AS tokens,
        sum(CASE WHEN finish_reason = 'length' THEN 1 ELSE 0 END) AS cut FROM records
        GROUP BY ALL ORDER BY benchmark, rank, n DESC""",
    "What the sandbox said (humaneval)": """
        SELECT taboo_rank AS rank, outcome, json_extract_string(details, '$.sandbox') AS sandbox,
        split_part(json_extract_string(details, '$.message'), ':', 1) AS message, count(*) AS n
        FROM records WHERE benchmark = 'humaneval' AND details IS NOT NULL GROUP BY ALL ORDER BY ALL""",
    "Errors": "SELECT benchmark, condition, error_type, n, example FROM errors",
}


def test_four_benchmarks_at_ranks_0_1_2(tmp_path: Path) -> None:
    model = Path(os.environ.get("TABOO_MODELS", "")) / "SmolLM2-135M-Instruct"
    if not (model / "config.json").is_file():
        pytest.skip("no SmolLM2-135M-Instruct (set TABOO_MODELS to a folder of models)")
    if not all(path.exists() for path in PATHS.values()):
        pytest.skip("no benchmark files")
    run_dir = str(tmp_path / "run")
    settings = [
        f"models=[{{path: {model}, aligned: true, stage: instruct, family: smollm2, size_b: 0.135}}]",
        f"benchmarks=[{','.join(PATHS)}]",
        *(f"benchmark.{name}.path={path}" for name, path in PATHS.items()),
        "engine=vllm",
        "engine.max_num_seqs=64",
        "cluster.cpus_per_engine=2",
        "taboo.ranks=[0,1,2]",
        "replicates=1",
        "limit=30",
    ]
    command("+sweep=alignment", *settings, f"run_dir={run_dir}")
    counts = json.loads(
        command("sql", run_dir, "SELECT count(*) AS n, count(error_type) AS errors FROM records", "--format", "json")
    )
    lines = [
        "SmolLM2-135M-Instruct (bfloat16) through the vllm engine in a Ray actor, 30 items of each benchmark, ranks",
        f"0, 1 and 2, one replicate: {counts[0]['n']} trials, {counts[0]['errors']} errors.",
        "",
        *answers(run_dir, TABLES),
    ]
    write_page("smollm2_study_vllm", "SmolLM2-135M-Instruct: mmlu, triviaqa, humaneval, forbidden words", lines)
    assert counts == [{"n": 4 * 30 * 3, "errors": 0}]
