"""Throughput of the vllm engine: against `vllm.LLM.generate`, and with the hook at work against the hook at rest.

    python tests/performance/vllm_throughput.py plain|hook MODEL_FOLDER [REPORT.md]

64 tokens for each of 200 prompts, greedy, end tokens ignored, one log-probability per token; start-up is left out.

plain  the engine at rank 0 and `vllm.LLM.generate` without the hook, in turn as first and second, each pair in a fresh
       process and one ended before the other starts (the worker of an idle engine spins)
hook   one engine; each pair takes the prompts 50 at a time at rank 0 and at rank 1, in turn as first and second, so
       that a machine that is now faster, now slower is so for both

Printed are the ratios of tokens per second of five pairs; where they spread over more than 10%, what is asked for is
not resolvable on this machine. Run it on a machine that does nothing else. A report's section is appended with its
date.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

PAIRS, PROMPTS, SLICE, TOKENS, BATCH = 5, 200, 50, 64, 64
SPREAD = 0.10
THREADS = max(1, (os.cpu_count() or 1) - 1)
"""Of the model: vLLM's scheduler has a process of its own, which would take turns with them on the same cores."""
SHARED = {"dtype": "bfloat16", "max_model_len": 1024, "max_num_seqs": BATCH}
WANTED = {"plain": ("rank 0", "plain", 0.9), "hook": ("rank 1", "rank 0", 0.97)}
"""Of each kind: one side, the other, and the least ratio of their speeds."""

Prompts = Sequence[list[int]]
Work = Callable[[Prompts], int]
"""Generates for some prompts; returns how many tokens came out."""


def prompt_ids(folder: str) -> Prompts:
    """Distinct prompts of about the length of a short question."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return [
        tokenizer(f"Question {n}: a train leaves at {n % 24} h and is late by {n} minutes. Why? Answer:").input_ids
        for n in range(PROMPTS)
    ]


def rates(sides: dict[str, Work], prompts: Prompts, at_once: int) -> dict[str, float]:
    """Tokens per second of each side over all prompts, so many at once and the sides in turn."""
    seconds, tokens = dict.fromkeys(sides, 0.0), dict.fromkeys(sides, 0)
    for turn, first in enumerate(range(0, PROMPTS, at_once)):
        for side in list(sides)[:: -1 if turn % 2 else 1]:
            began = time.perf_counter()
            tokens[side] += sides[side](prompts[first : first + at_once])
            seconds[side] += time.perf_counter() - began
    return {side: tokens[side] / seconds[side] for side in sides}


def plain(folder: str) -> tuple[Work, Callable[[], None]]:
    """`vllm.LLM.generate`, and what ends it."""
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

    def work(prompts: Prompts) -> int:
        inputs = [TokensPrompt(prompt_token_ids=ids) for ids in prompts]
        return sum(len(done.outputs[0].token_ids) for done in llm.generate(inputs, params, use_tqdm=False))

    return work, llm.llm_engine.engine_core.shutdown


def ours(folder: str) -> tuple[Callable[[int], Work], Callable[[], None]]:
    """The engine at a rank, end tokens ignored as on the other side, and what ends it."""
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

    def at(rank: int) -> Work:
        def work(prompts: Prompts) -> int:
            asked = [Request(str(n), "", tuple(ids), TOKENS, taboo=Taboo(rank)) for n, ids in enumerate(prompts)]
            return sum(len(done.generation.token_ids) for done in engine.generate(asked))

        return work

    return at, engine.close


def with_the_hook(folder: str) -> list[dict[str, float]]:
    """Every pair of `hook`."""
    prompts = prompt_ids(folder)
    at, end = ours(folder)
    sides = {"rank 0": at(0), "rank 1": at(1)}
    for work in sides.values():
        work(prompts[:8])
    found = [rates(sides, prompts, SLICE) for _ in range(PAIRS)]
    end()
    return found


def against_plain(folder: str, number: int) -> list[dict[str, float]]:
    """One pair of `plain`."""
    prompts, found = prompt_ids(folder), dict[str, float]()
    for side in ("plain", "rank 0") if number % 2 == 0 else ("rank 0", "plain"):
        if side == "plain":
            work, end = plain(folder)
        else:
            at, end = ours(folder)
            work = at(0)
        work(prompts[:8])
        found |= rates({side: work}, prompts, PROMPTS)
        end()
    return [found]


def summary(kind: str, pairs: Sequence[dict[str, float]]) -> str:
    """The ratios of all pairs, their median and spread."""
    one, other, least = WANTED[kind]
    ratios = sorted(pair[one] / pair[other] for pair in pairs)
    middle, spread = median(ratios), (ratios[-1] - ratios[0]) / median(ratios)
    verdict = "not resolvable here" if spread > SPREAD else f"{'at least' if middle >= least else 'below'} {least:g}"
    speed, other_speed = (median(pair[side] for pair in pairs) for side in (one, other))
    shown = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    return (
        f"{one} / {other}: median {middle:.3f} (spread {spread:.1%}: {shown}); {speed:.0f} and {other_speed:.0f} "
        f"tokens/s: {verdict}"
    )


def main(kind: str, folder: str, report: str | None) -> None:
    """Run the pairs, each process anew, and print, or append to a report, what came out."""
    environment = os.environ | {
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": str(THREADS),
        "VLLM_LOGGING_LEVEL": "ERROR",
        "TORCHDYNAMO_DISABLE": "1",
    }
    pairs: list[dict[str, float]] = []
    while len(pairs) < PAIRS:
        command = [sys.executable, __file__, f"--{kind}", folder, str(len(pairs))]
        finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        pairs += json.loads(finished.stdout.strip().splitlines()[-1])
        print(pairs, flush=True)
    what = f"{Path(folder).name} ({SHARED['dtype']}), {PROMPTS} prompts, {TOKENS} tokens each, batch {BATCH}"
    machine = f"{os.cpu_count()} cores ({platform.machine()}), {THREADS} of them for the model's threads"
    text = f"## {kind}, {datetime.date.today()}\n\n{what}; {machine}.\n\n{summary(kind, pairs)}\n"
    print(text)
    if report is not None:
        with open(report, "a", encoding="utf-8") as out:
            out.write(f"\n{text}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hook"]:
        print(json.dumps(with_the_hook(sys.argv[2])))
    elif sys.argv[1:2] == ["--plain"]:
        print(json.dumps(against_plain(sys.argv[2], int(sys.argv[3]))))
    elif len(sys.argv) in (3, 4) and sys.argv[1] in WANTED:
        main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else None)
    else:
        sys.exit(f"usage: python {sys.argv[0]} {'|'.join(WANTED)} MODEL_FOLDER [REPORT.md]")
