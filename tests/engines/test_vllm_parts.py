"""The vllm engine's parts that need no running engine: arguments, environment, steps from the workers' logs."""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from taboo_cluster.engines import vllm as engine_package
from taboo_cluster.engines.base import Hardware, Request
from taboo_cluster.engines.vllm.arguments import VllmOptions, cause, engine_arguments, environment, sampling_params
from taboo_cluster.engines.vllm.steps import Fetched, StepFetcher, detours, merged
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.taboo.draws import row_seed
from taboo_cluster.taboo.mask import MaskOutcome
from taboo_cluster.taboo.owner import OWNER
from taboo_cluster.taboo.step_log import LoggedStep, StepLog, Taken, pack, unpack
from taboo_cluster.trial import ResolvedModel, Sampling, Taboo

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 2048,
}
BNB = {"quant_method": "bitsandbytes", "load_in_4bit": True}


def model_in(folder: Any, quantization: str = "none", **config: Any) -> ResolvedModel:
    (folder / "config.json").write_text(json.dumps(CONFIG | config), encoding="utf-8")
    return ResolvedModel(
        name="small",
        revision="r",
        source=str(folder),
        family=None,
        size_b=None,
        aligned=False,
        stage="base",
        pair=None,
        quantization=quantization,
        dtype="bfloat16",
        is_local=True,
    )


# arguments

ALONE = Hardware()


@pytest.fixture
def arguments_of(tmp_path):
    pytest.importorskip("vllm", reason="vLLM is not installed")

    def arguments(
        quantization: str = "none",
        hardware: Hardware = ALONE,
        config: dict[str, Any] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        return engine_arguments(model_in(tmp_path, quantization, **(config or {})), VllmOptions(**options), hardware)

    return arguments


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_model_len", 0), ("max_num_seqs", -1), ("cpu_kvcache_gib", 0.0), ("gpu_memory_utilization", 1.5)],
)
def test_options_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(UserError, match=f"^engine.{name} must be .* not {value}$"):
        VllmOptions(**{name: value})


def test_d1_nf4_sets_method_and_load_format_together(arguments_of):
    made = arguments_of("nf4")
    assert (made["quantization"], made["load_format"]) == ("bitsandbytes", "bitsandbytes")
    assert not {"quantization", "load_format"} & arguments_of().keys()


def test_d1_prequantized_weights_and_tensor_parallelism_are_refused_before_anything_is_loaded(arguments_of):
    split = Hardware(tensor_parallel=2)
    with pytest.raises(UserError, match=r"small: its quantization_config .* and tensor_parallel=2 exclude"):
        arguments_of("nf4", split, {"quantization_config": BNB})
    assert "quantization" not in arguments_of("nf4", config={"quantization_config": BNB})
    assert arguments_of("nf4", split)["tensor_parallel_size"] == 2


def test_a_quantization_it_cannot_make_is_refused(arguments_of):
    with pytest.raises(UserError, match="cannot make quantization=int8; use nf4, or engine=transformers"):
        arguments_of("int8")


def test_the_context_is_the_shorter_of_asked_and_the_models_own(arguments_of):
    assert arguments_of()["max_model_len"] == 2048
    assert arguments_of(max_model_len=512)["max_model_len"] == 512


def test_c6_c13_nothing_speculative_nothing_cached_nothing_of_the_models_own_defaults(arguments_of):
    made = arguments_of()
    assert not any("spec" in name for name in made)
    assert made["enable_prefix_caching"] is False
    assert arguments_of(prefix_caching=True)["enable_prefix_caching"] is True
    assert (made["generation_config"], made["logprobs_mode"]) == ("vllm", "raw_logprobs")


def test_several_gpus_use_vllms_own_processes(arguments_of):
    assert arguments_of(hardware=Hardware(tensor_parallel=2))["distributed_executor_backend"] == "mp"
    assert "distributed_executor_backend" not in arguments_of()


@pytest.mark.skipif(torch.cuda.is_available(), reason="for a machine without a GPU")
def test_on_a_cpu_the_cache_is_sized_outright(arguments_of):
    made = arguments_of(cpu_kvcache_gib=0.5)
    assert made["kv_cache_memory_bytes"] == 2**29
    assert "gpu_memory_utilization" not in made
    assert made["enforce_eager"] is True
    assert arguments_of(enforce_eager=False)["enforce_eager"] is False


def test_every_sampling_parameter_is_explicit():
    pytest.importorskip("vllm", reason="vLLM is not installed")
    request = Request("k", "", (1,), 32, ("Q:",), Taboo(2), Sampling(0.7, 0.9, 5))
    made = sampling_params(request, "7", [0, 3])
    assert (made.temperature, made.top_p, made.top_k, made.min_p, made.seed) == (0.7, 0.9, 0, 0.0, 5)
    assert (made.max_tokens, made.min_tokens, made.n, made.ignore_eos, made.logprobs) == (32, 0, 1, False, 1)
    assert (made.presence_penalty, made.frequency_penalty, made.repetition_penalty) == (0.0, 0.0, 1.0)
    assert (made.stop, made.stop_token_ids) == (["Q:"], [0, 3])
    taboo = {"rank": 2, "trigger": "word_start", "word_start": "marker", "protect_special": False, "scope": "all"}
    taboo |= {"key": "7", "seed": row_seed((1,), 5), "entropy": False}
    assert made.extra_args == {"taboo": taboo}


def test_greedy_baseline_requests_carry_nothing_of_ours_and_no_seed():
    pytest.importorskip("vllm", reason="vLLM is not installed")
    made = sampling_params(Request("k", "", (1,), 32, sampling=Sampling(0.0, 0.5, 5)), "7", [])
    assert (made.temperature, made.top_p, made.seed, made.extra_args) == (0.0, 1.0, None, None)


def test_the_environment_is_cleared_of_left_overs_and_put_back(monkeypatch):
    monkeypatch.setenv("VLLM_DP_RANK", "3")
    monkeypatch.setenv("VLLM_PORT", "5000")
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    monkeypatch.delenv("VLLM_CPU_OMP_THREADS_BIND", raising=False)
    before = dict(os.environ)
    with environment(Hardware(threads=3)):
        assert "VLLM_DP_RANK" not in os.environ
        assert "VLLM_PORT" not in os.environ
        assert os.environ["VLLM_CPU_OMP_THREADS_BIND"] == "nobind"
        assert os.environ["OMP_NUM_THREADS"] == "3"
        assert os.environ["VLLM_LOGGING_LEVEL"] == "DEBUG"
        assert os.environ[OWNER] == str(os.getpid())
        os.environ["LEFT_BY_VLLM"] = "1"
    assert dict(os.environ) == before


def test_an_error_is_told_by_its_innermost_cause_in_one_line():
    wrapped = RuntimeError("wrapped")
    wrapped.__cause__ = ValueError("the\n reason")
    assert cause(wrapped) == "ValueError: the reason"


def test_without_vllm_building_the_engine_is_the_users_mistake(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_package.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="engine=vllm needs vLLM, which is not installed"):
        engine_package.build(model_in(tmp_path), VllmOptions(), Hardware())


def test_d7_importing_the_engine_imports_no_vllm():
    code = "import sys, taboo_cluster.engines.vllm; sys.exit('vllm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# steps


def outcome(nominal: list[int], masked: list[int], **flags: list[bool]) -> MaskOutcome:
    none = [False] * len(nominal)
    given = {name: torch.tensor(flags.get(name, none)) for name in ("tied", "skipped", "invalid", "word_initial")}
    logits = torch.zeros(len(nominal), 1)
    return MaskOutcome(
        nominal=torch.tensor(nominal), nominal_logit=logits[:, 0], masked=torch.tensor(masked), removed=logits, **given
    )


def test_packing_keeps_everything():
    packed = pack(
        outcome(
            [0, 262143, 7],
            [0, 8, 0],
            tied=[False, True, False],
            skipped=[False, False, True],
            word_initial=[True, False, True],
        )
    ).tolist()
    assert [unpack(number) for number in packed] == [
        LoggedStep(0, False, False, False, False, word_initial=True),
        LoggedStep(262143, True, True, False, False, word_initial=False),
        LoggedStep(7, False, False, True, False, word_initial=True),
    ]
    assert unpack(pack(outcome([5], [0], invalid=[True])).item()).invalid
    assert all(number >= 0 for number in packed)


def test_a_log_forgets_a_row_only_when_it_is_taken_and_reuses_it_clean():
    log = StepLog("cpu")
    row = log.open("a", 3)
    log.write(torch.tensor([row, row]), torch.tensor([0, 2]), torch.tensor([16, 32], dtype=torch.int32))
    assert log.open("a", 3) == row
    assert log.take({"a": 3}) == {"a": Taken([16, -1, 32])}
    assert log.take({"a": 3}) == {}
    assert log.open("b", 3) == row
    assert log.take({"b": 3}) == {"b": Taken([-1, -1, -1])}


def test_a_log_keeps_no_position_outside_a_row():
    log = StepLog("cpu")
    row = log.open("a", 2)
    log.write(torch.tensor([row] * 3), torch.tensor([-1, 2, 9]), torch.full((3,), 16, dtype=torch.int32))
    assert log.take({"a": 2}) == {"a": Taken([-1, -1])}


def test_workers_logs_are_merged_each_having_sampled_some_steps():
    assert merged([Taken([16, -1, -1]), Taken([-1, 32, -1])], 3) == Taken([16, 32, -1])
    assert merged([Taken([16, -1], [0.5, 0.0]), Taken([-1, 32], [0.0, 1.5])], 2) == Taken([16, 32], [0.5, 1.5])
    assert merged([], 2) == Taken([-1, -1])


def flat(*positions: list[tuple[float, int]]) -> Any:
    """Log-probabilities as vLLM gives them: (log-probability, rank) of the emitted token, then of the best one."""
    pairs = [pair for position in positions for pair in position]
    starts = [sum(map(len, positions[:i])) for i in range(len(positions))]
    return SimpleNamespace(
        start_indices=starts,
        end_indices=[start + len(p) for start, p in zip(starts, positions, strict=True)],
        logprobs=[p for p, _ in pairs],
        ranks=[r for _, r in pairs],
    )


def test_detours_take_nominal_token_from_the_log_and_bits_from_the_logprobs():
    steps = [
        LoggedStep(4, True, False, False, False, word_initial=True),
        LoggedStep(5, False, False, False, False, word_initial=True),
    ]
    steps.append(LoggedStep(6, True, True, False, False, word_initial=True))
    logprobs = flat(
        [(math.log(0.125), 2), (math.log(0.5), 1)], [(math.log(0.9), 1)], [(math.log(0.25), 3), (math.log(0.25), 1)]
    )
    first, second = detours(steps, [9, 5, 8], logprobs)
    assert (first.position, first.nominal_id, first.emitted_id, first.emitted_rank) == (0, 4, 9, 2)
    assert first.bits == pytest.approx(2.0)
    assert (second.position, second.nominal_id, second.emitted_id, second.emitted_rank) == (2, 6, 8, 3)
    assert (second.bits, second.tied) == (0.0, True)


def test_logits_that_are_no_numbers_are_an_error():
    fine, broken = (
        LoggedStep(4, False, False, False, False, word_initial=True),
        LoggedStep(4, False, False, False, True, word_initial=True),
    )
    with pytest.raises(TrialError) as caught:
        detours([broken], [4], flat([(-1.0, 1)]))
    assert caught.value.error_type == "nan_logits"
    with pytest.raises(TrialError):
        detours([], [4], flat([(math.nan, 1)]))  # rank 0 has no log
    assert detours([fine], [4], flat([(-1.0, 1)])) == []


class Workers:
    """Plays AsyncLLM's collective_rpc."""

    def __init__(self, logs: dict[str, list[int]], error: Exception | None = None) -> None:
        self.logs, self.error, self.calls = logs, error, []

    async def collective_rpc(self, method: str, args: tuple[dict[str, int]]) -> list[dict[str, tuple[list[int], None]]]:
        assert method == "take_taboo_steps"
        self.calls.append(args[0])
        await asyncio.sleep(0.01)
        if self.error:
            raise self.error
        return [{key: (self.logs.pop(key)[:length], None) for key, length in args[0].items() if key in self.logs}]


def test_requests_that_end_together_are_fetched_in_one_call():
    workers = Workers({str(n): [32 * n] * 3 for n in range(6)})

    async def fetch_all() -> list[Fetched]:
        fetcher = StepFetcher(workers)  # type: ignore[arg-type]
        fetcher.abandon("5")
        return await asyncio.gather(*(fetcher.fetch(str(n), 2) for n in range(5)))

    found = asyncio.run(fetch_all())
    assert [[step.nominal_id for step in steps] for steps in (one.steps for one in found)] == [[n, n] for n in range(5)]
    assert len(workers.calls) == 1
    assert workers.calls[0]["5"] == 0
    assert workers.logs == {}


def test_a_gap_in_the_log_is_an_error_never_a_step_unseen():
    with pytest.raises(TrialError, match="2 of 3 steps are missing"):
        asyncio.run(StepFetcher(Workers({"0": [16, -1, -1]})).fetch("0", 3))  # type: ignore[arg-type]
    with pytest.raises(TrialError, match="3 of 3 steps are missing"):
        asyncio.run(StepFetcher(Workers({})).fetch("0", 3))  # type: ignore[arg-type]


def test_a_failed_call_fails_every_request_that_waits_for_it():
    async def fetch_all() -> list[Any]:
        fetcher = StepFetcher(Workers({}, RuntimeError("gone")))  # type: ignore[arg-type]
        return await asyncio.gather(*(fetcher.fetch(str(n), 1) for n in range(3)), return_exceptions=True)

    assert [str(error) for error in asyncio.run(fetch_all())] == ["gone"] * 3
