"""`plan`: what a sweep would cost, exact where the items are here."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_files import Call, Refused, record

from taboo_cluster import planning
from taboo_cluster.compose import build_benchmark, load_config
from taboo_cluster.config import RunConfig
from taboo_cluster.errors import UserError
from taboo_cluster.launch import begin, new_launch
from taboo_cluster.models import resolve
from taboo_cluster.placement import Gpu
from taboo_cluster.planning import plan
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.sweep import cells, subsample, trials

SWEEP = ("+sweep=alignment", "engine=scripted", "benchmarks=[arithmetic]")
PAPER = ("+sweep=alignment", "engine=scripted", "models=paper")


def gpus(count: int, gib: int) -> str:
    return f"cluster.gpus=[{','.join([str(gib)] * count)}]"


def mine(folder: Path) -> str:
    return f"models=[{{path: {folder}}}]"


def shape_text(**sizes: int) -> str:
    """A shape as it is written on the command line."""
    return "{" + ", ".join(f"{name}: {size}" for name, size in sizes.items()) + ", tied: false, context: 4096}"


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: Any) -> Any:
        raise UserError("data set openai/gsm8k is not in the local cache and the hub cannot be reached; set `path`")

    monkeypatch.setattr("taboo_cluster.benchmarks.sources.hub_rows", unreachable)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # the command sets it before the import


def test_k4_the_paper_on_8_gpus_of_80_gib_without_gpu_or_hub(call: Call) -> None:
    status, out, err = call("plan", *PAPER, gpus(8, 80))
    assert (status, err) == (0, "")
    counts = ", ".join(f"500 items of {name}" for name in ("gsm8k", "mmlu", "triviaqa", "humaneval"))
    assert out.startswith(f"alignment on scripted: 24 models, {counts}\n")
    # four benchmarks, 5 ranks and 2 replicates; 500 items, 100 for the three pairs from 32B up
    assert "672 cells, 268,800 trials; about" in out
    assert 4 * 7 * (18 * 500 + 6 * 100) == 268_800
    assert "does not fit" not in out
    assert "note: gsm8k is not on this machine: reckoned with 500 items, as limit says" in out
    for column in ("cells", "trials", "hours", "GiB per GPU", "TP", "GPUs"):
        assert column in out
    assert re.search(r"About [\d.]+ GPU-hours, [\d.]+ hours from start to end", out)
    assert "Hours and tokens are rough: " in out


def test_k4_a_model_that_does_not_fit_is_one_line_with_by_how_much(call: Call) -> None:
    out = call("plan", *PAPER, gpus(2, 24))[1]
    lines = [line for line in out.splitlines() if " does not fit: " in line]
    assert [line.split()[0] for line in lines] == [
        "Qwen/Qwen2.5-72B",
        "Qwen/Qwen2.5-72B-Instruct",
        "meta-llama/Llama-3.1-70B",
        "meta-llama/Llama-3.1-70B-Instruct",
    ]
    assert all(line.endswith("GiB too much") for line in lines)


def test_d3_72b_in_nf4_fits_one_gpu_of_80_gib_but_not_of_40_or_24(call: Call) -> None:
    for gib, fits in ((24, False), (40, False), (80, True)):
        out = call("plan", *PAPER[:2], "models=qwen2.5", gpus(1, gib))[1]
        assert ("Qwen/Qwen2.5-72B does not fit" in out) is not fits


def test_counts_are_exact_where_the_items_are_here(model_folder: Path) -> None:
    config = load_config([*SWEEP, mine(model_folder), "limit=30", "taboo.ranks=[0,1,2]"])
    planned = plan(config, []).models[0]
    assert (planned.cells, planned.trials, planned.recorded, planned.left) == (5, 150, 0, 150)
    benchmark = build_benchmark(config, "arithmetic")
    assert planned.completion_tokens == 150 * (benchmark.max_tokens // 3)


def test_a_models_own_limit_holds_too(model_folder: Path) -> None:
    models = f"models=[{{path: {model_folder}, limit: 7}},{{path: {model_folder}, name: other}}]"
    config = load_config([*SWEEP, models, "limit=30", "taboo.ranks=[0]", "replicates=1"])
    assert [model.trials for model in plan(config, []).models] == [7, 30]


def test_without_a_gpu_there_is_no_placement_but_memory_and_hours(call: Call, model_folder: Path) -> None:
    status, out, _ = call("plan", *SWEEP, mine(model_folder), "limit=5", "cluster.gpus=[]")
    assert status == 0
    assert "engine-hours on CPU cores" in out
    assert "TP" not in out


def recorded_run(config: RunConfig, share: slice, **values: Any) -> None:
    """Make config.run_dir a run that has recorded some of its trials."""
    begin(new_launch(config)[0], config, {})
    benchmarks = {name: build_benchmark(config, name) for name in config.benchmarks}
    items = {name: subsample(b.items(), config.limit, config.seed) for name, b in benchmarks.items()}
    model = resolve(config.models[0]) if config.models[0].path else planning._identity(config.models[0])
    found = [t for _, t in trials(model, "scripted", cells(config, config.models, benchmarks), items, config.seed)]
    with PartWriter(f"{config.run_dir}/records/x", "part-l-w", RECORD) as writer:
        for trial in found[share]:
            writer.add(record(trial_id=trial.trial_id, model=model.name, item_id=trial.item.item_id, **values))


def test_k4_what_is_recorded_is_deducted(model_folder: Path, tmp_path: Path, call: Call) -> None:
    settings = [*SWEEP, mine(model_folder), "limit=10", "taboo.ranks=[0,1]", f"run_dir={tmp_path}/run"]
    config = load_config(settings)
    whole = plan(config, []).models[0]
    recorded_run(config, slice(0, 30))
    planned = plan(config, []).models[0]
    assert (planned.trials, planned.recorded, planned.left) == (40, 30, 10)
    assert planned.completion_tokens == whole.completion_tokens // 4
    assert "40 trials, 30 of them recorded already" in call("plan", *settings)[1]
    more = replace(config, limit=20)
    assert (plan(more, []).models[0].trials, plan(more, []).models[0].recorded) == (80, 30)


def test_errors_worth_another_attempt_are_left_to_do(model_folder: Path, tmp_path: Path) -> None:
    config = load_config([*SWEEP, mine(model_folder), "limit=10", "taboo.ranks=[0]", f"run_dir={tmp_path}/run"])
    recorded_run(config, slice(0, 6), error_type="timeout", error="slow", attempt=1)
    assert plan(config, []).models[0].recorded == 0
    assert plan(replace(config, max_attempts=1), []).models[0].recorded == 6


def test_a_hub_model_of_an_earlier_launch_keeps_its_commit(tmp_path: Path) -> None:
    shape = shape_text(layers=2, hidden=8, heads=2, kv_heads=1, head_dim=4, intermediate=16, vocab=32)
    settings = [*SWEEP, "limit=10", "taboo.ranks=[0]", f"run_dir={tmp_path}/run"]
    pinned = load_config([*settings, f"models=[{{name: org/m, revision: c0ffee, shape: {shape}}}]"])
    recorded_run(pinned, slice(0, 4))
    open_revision = load_config([*settings, f"models=[{{name: org/m, shape: {shape}}}]"])
    assert plan(open_revision, []).models[0].recorded == 4


def test_without_items_or_limit_there_is_nothing_to_plan_with(refused: Refused) -> None:
    assert "gsm8k: how many items there are is not known here; add limit=N" in refused("plan", *PAPER, "limit=null")


def test_a_hub_model_without_a_shape_needs_the_hub_or_its_cache(refused: Refused) -> None:
    assert "no-one/nothing" in refused("plan", *SWEEP, "models=[{name: no-one/nothing}]")


def test_d1_weights_saved_quantized_are_not_split(model_folder: Path) -> None:
    config = json.loads((model_folder / "config.json").read_text())
    config |= {"quantization_config": {"quant_method": "bitsandbytes"}}
    (model_folder / "config.json").write_text(json.dumps(config))
    shape = shape_text(layers=80, hidden=8192, heads=64, kv_heads=8, head_dim=128, intermediate=29568, vocab=152064)
    loaded = load_config([*SWEEP, f"models=[{{path: {model_folder}, quantization: nf4, shape: {shape}}}]"])
    assert "cannot be split over GPUs" in plan(loaded, [Gpu(40)] * 4).refused[0]


def test_f6_ten_thousand_cells_are_planned(model_folder: Path) -> None:
    config = load_config([*SWEEP, mine(model_folder), "limit=100"])
    config = replace(config, taboo=replace(config.taboo, ranks=list(range(9999))))
    planned = plan(config, [Gpu(80)])
    assert planned.models[0].cells == 10_001  # and two replicates of the noise floor
    assert planned.models[0].trials == 1_000_100
