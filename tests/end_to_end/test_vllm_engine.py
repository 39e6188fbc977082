"""The vllm engine with vLLM's own processes and a small real model, on a CPU."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

pytest.importorskip("vllm", reason="vLLM is not installed")

import psutil
from transformers import AutoModelForCausalLM

from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.engines.base import ENGINES, Completion, Generation, Hardware, Request
from taboo_cluster.engines.vllm import engine as engine_module
from taboo_cluster.errors import EngineDied
from taboo_cluster.prompts import render
from taboo_cluster.taboo.mask import mask_top
from taboo_cluster.taboo.triggers.base import TRIGGERS
from taboo_cluster.taboo.word_start import word_start_table
from taboo_cluster.trial import Sampling, Taboo

pytestmark = pytest.mark.timeout(900)
RANKS = (0, 1, 2, 8)


@pytest.fixture(scope="module")
def prompts(tiny_instruct, vllm_engine) -> list[tuple[int, ...]]:
    entry = BENCHMARKS.get("arithmetic")
    benchmark = entry.build(entry.options())
    items = benchmark.items()[:8]
    style, shots = benchmark.styles[0], benchmark.default_shots
    rendered = [
        render(benchmark.prompt(i, i.question, style, shots), tiny_instruct, vllm_engine.tokenizer) for i in items
    ]
    return [r.ids for r in rendered]


def requests(prompts: Sequence[tuple[int, ...]], ranks: Sequence[int] = RANKS, **settings: Any) -> list[Request]:
    settings = {"max_tokens": 48} | settings
    return [
        Request(f"{n}/{rank}", "", ids, taboo=Taboo(rank), **settings)
        for n, ids in enumerate(prompts)
        for rank in ranks
    ]


def run(engine: Any, asked: Sequence[Request]) -> dict[str, Completion]:
    completions = {completion.key: completion for completion in engine.generate(iter(asked))}
    assert completions.keys() == {request.key for request in asked}
    return completions


def generations(engine: Any, asked: Sequence[Request]) -> dict[str, Generation]:
    made = {key: completion.generation for key, completion in run(engine, asked).items()}
    assert None not in made.values()
    return made


def alike(made: dict[str, Generation], wanted: dict[str, Generation]) -> bool:
    """The same tokens and interventions; bits up to what another batch may change in float32."""
    bare, bits = [], []
    for side in (made, {key: wanted[key] for key in made}):
        steps = {key: [replace(step, bits=None) for step in generation.steps] for key, generation in side.items()}
        bare.append({key: (replace(generation, steps=()), steps[key]) for key, generation in side.items()})
        bits.append([step.bits for generation in side.values() for step in generation.steps])
    return bare[0] == bare[1] and bits[0] == pytest.approx(bits[1], abs=1e-3)


@pytest.fixture(scope="module")
def together(vllm_engine, prompts) -> dict[str, Generation]:
    """All prompts at all ranks in one batch."""
    return generations(vllm_engine, requests(prompts))


def test_c7_version_and_runner_are_told(vllm_engine):
    assert vllm_engine.info.name == "vllm"
    assert vllm_engine.info.version == "0.32.0/V1"
    assert vllm_engine.info.settings["prefix_caching"] is False


def test_c7_rank_0_is_plain_vllm_token_for_token(vllm_engine, prompts, together):
    """A request that carries nothing of ours, through the same engine."""
    from vllm import SamplingParams
    from vllm.inputs import tokens_input

    async def plain(number: int, ids: tuple[int, ...]) -> tuple[int, ...]:
        params = SamplingParams(temperature=0, max_tokens=48)
        async for output in vllm_engine._running.generate(tokens_input(list(ids)), params, f"plain-{number}"):
            last = output
        return tuple(last.outputs[0].token_ids)

    async def all_plain() -> list[tuple[int, ...]]:
        return await asyncio.gather(*(plain(number, ids) for number, ids in enumerate(prompts)))

    assert vllm_engine._wait(all_plain()) == [together[f"{number}/0"].token_ids for number in range(len(prompts))]


def test_c5_at_rank_1_the_best_token_is_never_emitted_where_it_begins_a_word(together):
    steps = [step for key, made in together.items() if key.endswith("/1") for step in made.steps]
    assert len(steps) > 20
    assert all(step.emitted_id != step.nominal_id for step in steps)
    assert all(step.bits > 0 for step in steps)
    assert {step.emitted_rank for step in steps} == {2}
    assert not any(made.steps for key, made in together.items() if key.endswith("/0"))


def test_every_step_is_what_the_core_makes_of_an_exact_forward_pass(tiny_instruct, vllm_engine, prompts, together):
    """Nominal and emitted token, bits and rank of every position, from the float32 logits of transformers."""
    model = AutoModelForCausalLM.from_pretrained(tiny_instruct.source, dtype=torch.float32)
    table = word_start_table(vllm_engine.tokenizer, "marker", vllm_engine._end_ids)
    for key, made in together.items():
        number, rank = map(int, key.split("/"))
        ids = torch.tensor([[*prompts[number], *made.token_ids]])
        with torch.no_grad():
            nominal_logits = model(ids).logits[0, len(prompts[number]) - 1 : -1].float()
        masked = nominal_logits.clone()
        outcome = mask_top(masked, torch.full((len(masked),), rank), table, TRIGGERS.get("word_start"), rank)
        steps = {step.position: step for step in made.steps}
        logprobs = nominal_logits.log_softmax(1)
        assert masked.argmax(1).tolist() == list(made.token_ids)
        assert set(steps) == set(outcome.intervened.nonzero()[:, 0].tolist())
        assert made.tie_steps == int(outcome.tied.sum())
        assert made.skipped_steps == int(outcome.skipped.sum())
        for position, step in steps.items():
            assert step.nominal_id == int(outcome.nominal[position])
            assert step.emitted_id == made.token_ids[position]
            cost = (logprobs[position, step.nominal_id] - logprobs[position, step.emitted_id]) / torch.log(
                torch.tensor(2)
            )
            assert step.bits == pytest.approx(float(cost), abs=1e-3)
            assert step.emitted_rank == rank + 1


def test_c2_alone_or_in_a_batch_the_steps_are_the_same(vllm_engine, prompts, together):
    for request in requests(prompts[:1]):
        assert alike(generations(vllm_engine, [request]), together)


def test_a_stop_string_ends_the_text_and_leaves_no_gap_in_the_log(vllm_engine, prompts, together):
    whole = together["0/1"].text
    stop = whole[len(whole) // 2 :][:4]
    cut = generations(vllm_engine, requests(prompts[:1], ranks=[1], stop=(stop,)))["0/1"]
    assert cut.text == whole[: whole.index(stop)]
    assert cut.finish_reason == "stop"
    assert cut.token_ids == together["0/1"].token_ids[: len(cut.token_ids)]
    assert [step.position for step in cut.steps] == [
        step.position for step in together["0/1"].steps if step.position < len(cut.token_ids)
    ]


def test_length_is_told_and_ends_at_the_context(vllm_engine, prompts):
    short = generations(vllm_engine, requests(prompts[:1], ranks=[0], max_tokens=3))["0/0"]
    assert (short.finish_reason, len(short.token_ids)) == ("length", 3)


def test_c16_prompts_over_the_context_are_errors_and_the_others_go_on(vllm_engine, prompts):
    asked = [Request(str(n), "", prompts[0], 2, taboo=Taboo(n % 2)) for n in range(99)]
    asked.insert(50, Request("long", "", (1,) * vllm_engine.max_context, 2))
    completions = run(vllm_engine, asked)
    assert completions.pop("long").error_type == "prompt_too_long"
    assert all(completion.error_type is None for completion in completions.values())
    assert len(completions) == 99


def test_an_empty_prompt_is_an_error(vllm_engine):
    assert run(vllm_engine, [Request("empty", "", (), 2)])["empty"].error_type == "generation_failed"


def test_requests_are_drawn_as_room_allows(vllm_engine, prompts):
    drawn = 0

    def source() -> Any:
        nonlocal drawn
        for number in range(60):
            drawn += 1
            yield Request(str(number), "", prompts[0], 2)

    seen = 0
    for _ in vllm_engine.generate(source()):
        seen += 1
        assert drawn - seen <= 18
    assert seen == drawn == 60


def test_two_calls_share_the_engine(vllm_engine, prompts, together):
    results: list[dict[str, Generation]] = []
    threads = [
        threading.Thread(target=lambda: results.append(generations(vllm_engine, requests(prompts[:3]))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    for result in results:
        assert alike(result, together)


def test_a_call_given_up_half_way_leaves_nothing_behind(vllm_engine, prompts, together):
    for _ in vllm_engine.generate(requests(prompts, max_tokens=200)):
        break
    assert alike(generations(vllm_engine, requests(prompts[:1])), together)
    generations(vllm_engine, requests(prompts[:1], ranks=[1]))  # its fetch takes what was abandoned
    keys = {str(number): 1 for number in range(next(vllm_engine._numbers))}
    left = vllm_engine._wait(vllm_engine._running.collective_rpc("take_taboo_steps", args=(keys,)))
    assert left == [{}]


def test_sampling_repeats_by_seed_and_keeps_the_mask(vllm_engine, prompts):
    def sampled(seed: int) -> dict[str, Generation]:
        sampling = Sampling(temperature=1.0, top_p=0.95, seed=seed)
        return generations(vllm_engine, requests(prompts[:4], ranks=[2], sampling=sampling))

    first, again, other = sampled(1), sampled(1), sampled(2)
    assert alike(again, first)
    assert not alike(other, first)
    steps = [step for made in first.values() for step in made.steps]
    assert steps
    assert all(step.emitted_rank > 2 for step in steps)


TABOOS = (
    Taboo(1, word_start="unicode"),
    Taboo(2, "mid_word"),
    Taboo(2, "every_token"),
    Taboo(2, "content_word", "unicode"),
    Taboo(1, "sparse(p=0.5)"),
    Taboo(1, "surprisal_threshold(at_least=1,at_most=4)"),
    Taboo(1, "bit_budget(bits=6)", "unicode"),
    Taboo(1, "mass(q=0.6)"),
    Taboo(0),
)


def of_every_kind(prompts: Sequence[tuple[int, ...]], **settings: Any) -> list[Request]:
    """Each intervention on each prompt, entropy measured."""
    return [
        Request(f"{n}/{taboo}", "", ids, taboo=taboo, entropy=True, **({"max_tokens": 48} | settings))
        for n, ids in enumerate(prompts)
        for taboo in TABOOS
    ]


@pytest.fixture(scope="module")
def every_kind(vllm_engine, prompts) -> dict[str, Generation]:
    return generations(vllm_engine, of_every_kind(prompts[:4]))


def without_entropy(made: dict[str, Generation]) -> dict[str, Generation]:
    return {key: replace(one, entropy_mean=None, entropy_word_start=None) for key, one in made.items()}


def test_every_kind_of_intervention_is_the_same_in_the_transformers_engine(tiny_instruct, prompts, every_kind):
    entry = ENGINES.get("transformers")
    engine = entry.build(tiny_instruct, entry.options(), Hardware(threads=2))
    other = generations(engine, of_every_kind(prompts[:4]))
    assert alike(without_entropy(every_kind), without_entropy(other))
    for key, made in every_kind.items():
        assert made.entropy_mean == pytest.approx(other[key].entropy_mean, abs=1e-3)
        assert made.entropy_word_start == pytest.approx(other[key].entropy_word_start, abs=1e-3)
    assert sum(len(made.steps) for made in every_kind.values()) > 200


def test_what_history_decides_is_the_same_alone_and_in_a_batch(vllm_engine, prompts, every_kind):
    for request in of_every_kind(prompts[:1]):
        assert alike(without_entropy(generations(vllm_engine, [request])), without_entropy(every_kind))


def test_entropy_changes_nothing_else(vllm_engine, prompts, every_kind):
    bare = [replace(request, entropy=False) for request in of_every_kind(prompts[:4])]
    made = generations(vllm_engine, bare)
    assert alike(made, without_entropy(every_kind))
    assert {(one.entropy_mean, one.entropy_word_start) for one in made.values()} == {(None, None)}


def test_a_budget_of_bits_counts_what_sampling_really_paid(vllm_engine, prompts):
    sampling = Sampling(temperature=1.0, seed=3)
    asked = [
        Request(str(n), "", ids, 64, taboo=Taboo(1, "bit_budget(bits=6)"), sampling=sampling)
        for n, ids in enumerate(prompts)
    ]
    for made in generations(vllm_engine, asked).values():
        bits = [step.bits for step in made.steps]
        assert sum(bits[:-1]) < 6
    assert any(sum(step.bits for step in made.steps) >= 6 for made in generations(vllm_engine, asked).values())


def test_bad_settings_of_a_request_are_refused_when_it_is_admitted(vllm_engine, prompts, together):
    from vllm import SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.inputs import tokens_input

    async def ask() -> None:
        params = SamplingParams(extra_args={"taboo": {"rank": -1}})
        async for _ in vllm_engine._running.generate(tokens_input([1]), params, "bad"):
            pass

    with pytest.raises(VLLMValidationError, match="rank must be 0 or more"):
        vllm_engine._wait(ask())
    assert alike(generations(vllm_engine, requests(prompts[:1], ranks=[1])), together)


def cramped(model: Any, monkeypatch: pytest.MonkeyPatch, kib: int) -> Any:
    """An engine with too little KV cache for its batch, that reads prompts sixteen tokens at a time."""
    arguments = engine_module.engine_arguments

    def narrow(*given: Any) -> dict[str, Any]:
        return arguments(*given) | {"max_num_batched_tokens": 16, "enable_chunked_prefill": True}

    monkeypatch.setattr(engine_module, "engine_arguments", narrow)
    entry = ENGINES.get("vllm")
    options = entry.options(max_num_seqs=8, max_model_len=512, cpu_kvcache_gib=kib / 2**20)
    return entry.build(model, options, Hardware(threads=2))


def gone(process: psutil.Process, within: float = 120) -> bool:
    """True once a process has ended; one that nobody waits for stays as a zombie."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.2)
    return False


def test_c2_preemption_partial_prefill_and_the_death_of_the_engine(tiny_instruct, vllm_engine, prompts, monkeypatch):
    """One more engine, once the other one has ended: it must give the same steps under pressure, then it is killed."""
    config = vllm_engine._running.model_config.hf_config
    per_token = config.num_hidden_layers * config.num_key_value_heads * config.hidden_size // config.num_attention_heads
    blocks = 9  # of 128 tokens; eight requests need three or four each
    asked = [*requests(prompts[:2], max_tokens=150), *of_every_kind(prompts[:1], max_tokens=100)]
    relaxed = without_entropy(generations(vllm_engine, asked))
    vllm_engine.close()
    engine = cramped(tiny_instruct, monkeypatch, kib=blocks * 128 * per_token * 2 * 4 // 1024)
    core = psutil.Process(engine._running.engine_core.resources.engine_manager.processes[0].pid)
    processes = [core, *core.children(recursive=True)]
    try:
        assert alike(without_entropy(generations(engine, asked)), relaxed)
        with pytest.raises(EngineDied, match="vllm's engine is gone"):  # noqa: PT012
            for _ in engine.generate(asked):
                core.kill()
        with pytest.raises(EngineDied):
            list(engine.generate(asked[:1]))
    finally:
        engine.close()
    assert all(gone(process) for process in processes)


OWNED = """
import os, subprocess, sys, time
from taboo_cluster.taboo.owner import OWNER

child = "import time; from taboo_cluster.taboo.owner import end_with_owner; end_with_owner(); time.sleep(600)"
print(subprocess.Popen([sys.executable, "-c", child], env=os.environ | {OWNER: str(os.getpid())}).pid, flush=True)
time.sleep(600)
"""


def test_a_worker_ends_with_the_process_that_started_its_engine():
    """The watch that the hook starts in each worker, without an engine around it."""
    owner = subprocess.Popen([sys.executable, "-c", OWNED], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    worker = psutil.Process(int(owner.stdout.readline()))
    owner.kill()
    owner.wait()
    assert gone(worker)
