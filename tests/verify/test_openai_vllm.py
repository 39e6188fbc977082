"""The openai engine against vLLM's own server, with Taboo's hook and without it; written to docs/measured/."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from measured import table, write_page

pytest.importorskip("vllm", reason="vLLM is not installed")

import vllm
from vllm_server import serving

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
NAME, ITEMS, MAX_TOKENS = "SmolLM2-135M-Instruct", 8, 160  # the last: arithmetic's own
FORMS = {"smol": "aligned: true, stage: instruct", "smol-plain": "aligned: false, stage: base"}
"""The same weights under two names: asked in turns (/chat/completions), and with one text (/completions)."""
SWEEP = ["+sweep=alignment", "benchmarks=[arithmetic]", f"benchmark.arithmetic.n={ITEMS}", "replicates=1"]
COLUMNS = "model, item_id, taboo_rank, completion, prompt_tokens, completion_tokens, interventions, error_type, engine"

Rows = dict[tuple[str, str, int], dict[str, Any]]
"""Records by model, item and rank."""


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "taboo_cluster", *arguments]
    return subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)


def through(url: str) -> list[str]:
    """Settings of a sweep over a server's two models."""
    models = ", ".join(f"{{name: {name}, {form}}}" for name, form in FORMS.items())
    return [f"models=[{models}]", "engine=openai", f"engine.base_url='{url}/v1'"]


def here(model: Path) -> list[str]:
    """The same sweep on the vllm engine."""
    models = ", ".join(f"{{name: {name}, path: {model}, dtype: float32, {form}}}" for name, form in FORMS.items())
    return [f"models=[{models}]", "engine=vllm", "engine.max_num_seqs=16", "cluster.cpus_per_engine=2"]


def records(run_dir: Path) -> Rows:
    query = f"SELECT {COLUMNS}, (steps::JSON)::VARCHAR AS steps FROM records"
    done = command("sql", str(run_dir), query, "--format", "json")
    assert done.returncode == 0, done.stderr
    return {(row["model"], row["item_id"], row["taboo_rank"]): row for row in json.loads(done.stdout)}


def swept(run_dir: Path, ranks: str, *settings: str) -> Rows:
    done = command(*SWEEP, f"taboo.ranks={ranks}", f"run_dir={run_dir}", *settings)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return records(run_dir)


def check_masked(rows: Rows) -> None:
    """Every trial ran, its tokens are counted, and rank 1 differs from rank 0 exactly where it intervened."""
    assert len(rows) == len(FORMS) * ITEMS * 2
    for (model, item, rank), row in rows.items():
        assert row["error_type"] is None
        assert row["prompt_tokens"] > 0
        assert 0 < row["completion_tokens"] <= MAX_TOKENS
        if rank:
            changed = row["completion"] != rows[model, item, 0]["completion"]
            assert changed == (row["interventions"] > 0)
        else:
            assert row["interventions"] == 0
    for model in FORMS:
        masked = [row["interventions"] for (name, _, rank), row in rows.items() if (name, rank) == (model, 1)]
        assert sum(count > 0 for count in masked) >= 0.9 * ITEMS


def compared(server: Rows, engine: Rows, model: str, rank: int) -> list[Any]:
    """Model and rank, then how many trials have the same prompt length, text and interventions on both engines."""
    keys = [key for key in server if (key[0], key[2]) == (model, rank)]
    same = [key for key in keys if server[key]["completion"] == engine[key]["completion"]]
    tokens = sum(server[key]["prompt_tokens"] == engine[key]["prompt_tokens"] for key in keys)
    agreed, apart = 0, 0.0
    for key in same:
        left, right = (json.loads(rows[key]["steps"]) for rows in (server, engine))
        agreed += [places(step) for step in left] == [places(step) for step in right]
        apart = max([apart, *(abs(a["bits"] - b["bits"]) for a, b in zip(left, right, strict=False))])
    made = sum(server[key]["interventions"] for key in keys)
    return [model, rank, len(keys), tokens, len(same), made, agreed, f"{apart:.1e}"]


def places(step: dict[str, Any]) -> tuple[int, int, int]:
    return step["position"], step["nominal_id"], step["emitted_id"]


def test_ranks_are_masked_with_the_hook_and_refused_without_it(tmp_path: Path) -> None:
    model = Path(os.environ.get("TABOO_MODELS", "")) / NAME
    if not (model / "config.json").is_file():
        pytest.skip(f"no {NAME} (set TABOO_MODELS to a folder of models)")
    with serving(model, *FORMS, max_model_len=1024) as url:
        hooked = swept(tmp_path / "hooked", "[0,1]", *through(url))
    check_masked(hooked)
    assert {row["engine"] for row in hooked.values()} == {"openai"}

    with serving(model, *FORMS, max_model_len=1024, hook=False) as url:
        refused = command(*SWEEP, "taboo.ranks=[0,1]", f"run_dir={tmp_path / 'refused'}", *through(url))
        plain = swept(tmp_path / "plain", "[0]", *through(url))
    assert refused.returncode == 1, refused.stderr
    assert "Traceback" not in refused.stdout + refused.stderr
    said = [line for line in refused.stderr.splitlines() if "runs without Taboo's hook" in line]
    assert len(said) == len(FORMS), refused.stderr
    assert {(row["error_type"], row["completion"]) for row in records(tmp_path / "refused").values()} == {
        ("model_load_failed", None)
    }
    assert len(plain) == len(FORMS) * ITEMS
    unhooked = sum(row["completion"] == hooked[key]["completion"] for key, row in plain.items())

    engine = swept(tmp_path / "engine", "[0,1]", *here(model))
    assert hooked.keys() == engine.keys()
    rows = [compared(hooked, engine, name, rank) for name in FORMS for rank in (0, 1)]
    write_page("openai_vllm", f"The openai engine on vLLM's server: {NAME}", page(rows, said[0], unhooked))
    for _, rank, trials, tokens, same, made, agreed, _ in rows:
        assert tokens == trials
        assert same >= 0.9 * trials
        assert agreed == same
        assert (made > 0) == bool(rank)
    assert unhooked >= 0.9 * len(plain)


def page(rows: list[list[Any]], said: str, unhooked: int) -> list[str]:
    return [
        f"{NAME} (float32) behind vLLM's server (vllm {vllm.__version__}), {ITEMS} items of arithmetic, greedy,",
        f"`max_tokens` {MAX_TOKENS}, once in turns (`smol`, /chat/completions) and once as one text (`smol-plain`,",
        "/completions), through `engine=openai` in Ray actors; compared with `engine=vllm` on the same items. Where",
        "the texts are the same, so are the interventions (position, nominal and emitted token).",
        "",
        *table(
            [
                "model",
                "rank",
                "trials",
                "same prompt length",
                "same text",
                "interventions",
                "same interventions",
                "bits",
            ],
            rows,
        ),
        "",
        "`bits`: the largest difference of one intervention's bits.",
        "",
        "The same server without the hook, ranks 0 and 1: exit status 1, no trial run, and for each model one line:",
        "",
        "```text",
        re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8000", said),
        "```",
        "",
        f"Rank 0 alone runs there: {unhooked} of {len(FORMS) * ITEMS} texts are those of the server with the hook.",
    ]
