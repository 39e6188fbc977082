"""Throughput of the vllm engine against `vllm.LLM.generate`, side by side.

    python tests/performance/vllm_throughput.py MODEL_FOLDER [REPORT.md]

Both generate 64 tokens for each of 200 prompts, greedy, end tokens ignored, one log-probability per token; start-up is
left out. Each pair runs in a fresh process, the two in turn as first and second, one ended before the other starts (the
worker of an idle engine spins), each after a warm-up. Ours takes the prompts 50 at a time at rank 0 and at rank 1, in
turn as first and second, so that a machine that is now faster, now slower is so for both. The ratios are ours / plain
in tokens per second, plain vLLM always unmasked, and rank 1 / rank 0, the cost of the hook; where the ratios of the
pairs spread over more than 10% they are not resolvable on this machine. Run it on a machine that does nothing else. A
report's section is appended with its date.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

PAIRS, PROMPTS, SLICE, TOKENS, BATCH = 5, 200, 50, 64, 64
RANKS = (0, 1)
SPREAD = 0.10
THREADS = max(1, (os.cpu_count() or 1) - 1)
"""Of the model: vLLM's scheduler has a process of its own, which would take turns with them on the same cores."""
SHARED = {"dtype": "bfloat16", "max_model_len": 1024, "max_num_seqs": BATCH}


def prompt_ids(folder: str) -> list[list[int]]:
    """Distinct prompts of about the length of a short question."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return [
        tokenizer(f"Question {n}: a train leaves at {n % 24} h and is late by {n} minutes. Why? Answer:").input_ids
        for n in range(PROMPTS)
    ]


Work = Callable[[list[list[int]]], int]
"""Generates for some prompts; returns how many tokens came out."""


def rates(sides: dict[str, Work], prompts: list[list[int]]) -> dict[str, float]:
    """Tokens per second of each side over all prompts, the sides in turn on each slice of them."""
    seconds, tokens = dict.fromkeys(sides, 0.0), dict.fromkeys(sides, 0)
    for work in sides.values():
        work(prompts[:8])
    for turn, first in enumerate(range(0, PROMPTS, SLICE)):
        for side in list(sides)[:: -1 if turn % 2 else 1]:
            began = time.perf_counter()
            tokens[side] += sides[side](prompts[first : first + SLICE])
            seconds[side] += time.perf_counter() - began
    return {side: tokens[side] / seconds[side] for side in sides}


def plain(folder: str, prompts: list[list[int]]) -> dict[str, float]:
    """`vllm.LLM.generate`."""
    from vllm import LLM, SamplingParams
    from vllm.inputs import TokensPrompt

    llm = LLM(
        folder,
        **SHARED,
        enforce_eager=True,
        kv_cache_memory_bytes=2**30,
        generation_config="vllm",
        enable_prefix_caching=False,
        logprobs_mode="raw_logprobs",
    )
    params = SamplingParams(temperature=0, max_tokens=TOKENS, ignore_eos=True, logprobs=1)

    def work(few: list[list[int]]) -> int:
        inputs = [TokensPrompt(prompt_token_ids=ids) for ids in few]
        return sum(len(done.outputs[0].token_ids) for done in llm.generate(inputs, params, use_tqdm=False))

    found = rates({"plain": work}, prompts)
    llm.llm_engine.engine_core.shutdown()
    return found


def ours(folder: str, prompts: list[list[int]]) -> dict[str, float]:
    """The engine at each rank, end tokens ignored as on the other side."""
    from taboo_cluster.config import ModelConfig
    from taboo_cluster.engines.base import ENGINES, Hardware, Request
    from taboo_cluster.engines.vllm import engine as engine_module
    from taboo_cluster.models import resolve
    from taboo_cluster.trial import Taboo

    asked_for = engine_module.sampling_params

    def ignoring_ends(*given: Any) -> Any:  # the engine itself never ignores them
        params = asked_for(*given)
        params.ignore_eos, params.stop_token_ids = True, []
        return params

    engine_module.sampling_params = ignoring_ends
    entry = ENGINES.get("vllm")
    model = resolve(ModelConfig(name="model", path=folder, dtype=SHARED["dtype"]))
    options = entry.options(max_model_len=SHARED["max_model_len"], max_num_seqs=BATCH, cpu_kvcache_gib=1.0)
    engine = entry.build(model, options, Hardware(threads=THREADS))

    def work(rank: int, few: list[list[int]]) -> int:
        asked = [Request(str(n), "", tuple(ids), TOKENS, taboo=Taboo(rank)) for n, ids in enumerate(few)]
        return sum(len(done.generation.token_ids) for done in engine.generate(asked))

    found = rates({f"rank {rank}": partial(work, rank) for rank in RANKS}, prompts)
    engine.close()
    return found


def pair(folder: str, number: int) -> dict[str, float]:
    """Tokens per second of each side over all prompts, measured in this process."""
    os.environ |= {
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": str(THREADS),
        "VLLM_LOGGING_LEVEL": "ERROR",
        "TORCHDYNAMO_DISABLE": "1",
    }
    prompts = prompt_ids(folder)
    first, second = (plain, ours) if number % 2 == 0 else (ours, plain)
    return first(folder, prompts) | second(folder, prompts)


def summary(results: list[dict[str, float]], one: str, other: str, least: float) -> str:
    """One line on the ratios of all pairs, in tokens per second."""
    ratios = sorted(result[one] / result[other] for result in results)
    middle, spread = median(ratios), (ratios[-1] - ratios[0]) / median(ratios)
    verdict = "not resolvable here" if spread > SPREAD else f"{'at least' if middle >= least else 'below'} {least:g}"
    speed, other_speed = (median(result[side] for result in results) for side in (one, other))
    shown = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    return (
        f"- {one} / {other}: median {middle:.3f} (spread {spread:.1%}: {shown}); {speed:.0f} and {other_speed:.0f} "
        f"tokens/s: {verdict}"
    )


def main(folder: str, report: str | None) -> None:
    """Run the pairs and print, or append to a report, what came out."""
    results = []
    for number in range(PAIRS):
        command = [sys.executable, __file__, "--pair", folder, str(number)]
        finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        results.append(json.loads(finished.stdout.strip().splitlines()[-1]))
        print(results[-1], flush=True)
    text = "\n".join(
        [
            f"## vllm engine against vllm.LLM.generate, {datetime.date.today()}",
            "",
            f"{Path(folder).name} ({SHARED['dtype']}), {PROMPTS} prompts, {TOKENS} tokens each, {SLICE} at a time,",
            f"logprobs=1 on both sides, {PAIRS} alternating pairs, {os.cpu_count()} cores ({platform.machine()}), "
            f"{THREADS} of them for the model's threads.",
            "plain is vllm.LLM.generate without the hook, rank 0 and rank 1 are the engine of this project.",
            "",
            summary(results, "rank 0", "plain", 0.9),
            summary(results, "rank 1", "plain", 0.9),
            summary(results, "rank 1", "rank 0", 0.97),
            "",
        ]
    )
    print(text)
    if report is not None:
        with open(report, "a", encoding="utf-8") as out:
            out.write(text + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pair"]:
        print(json.dumps(pair(sys.argv[2], int(sys.argv[3]))))
    elif len(sys.argv) in (2, 3):
        main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None)
    else:
        sys.exit(f"usage: python {sys.argv[0]} MODEL_FOLDER [REPORT.md]")
