"""The engines agree with each other, and at rank 0 with vLLM as it comes, in float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed")

from measured import write_page

from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.config import ModelConfig
from taboo_cluster.engines.base import ENGINES, Generation, Hardware, Request
from taboo_cluster.models import resolve
from taboo_cluster.prompts import render
from taboo_cluster.trial import ResolvedModel, Taboo

RANKS = (0, 1, 8)


@dataclass(frozen=True)
class Agreement:
    """How two engines' outputs for the same requests compare."""

    same: int
    """Requests with the same tokens."""
    of: int
    steps: int
    """Interventions of the former."""
    same_steps: int
    """Of them, with the same position and the same nominal token in both."""
    bits_apart: float
    """Largest difference in the bits of one intervention."""


def arithmetic(model: ResolvedModel, tokenizer: Any, limit: int) -> list[Request]:
    """The first items of the benchmark at every rank, as the runner would ask for them."""
    entry = BENCHMARKS.get("arithmetic")
    benchmark = entry.build(entry.options())
    asked = []
    for item in benchmark.items()[:limit]:
        prompt = benchmark.prompt(item, item.question, benchmark.styles[0], benchmark.default_shots)
        rendered = render(prompt, model, tokenizer)
        asked += [
            Request(f"{item.item_id}/{rank}", "", rendered.ids, benchmark.max_tokens, rendered.stop, Taboo(rank))
            for rank in RANKS
        ]
    return asked


def generations(engine: Any, asked: Sequence[Request]) -> dict[str, Generation]:
    made = {completion.key: completion.generation for completion in engine.generate(asked)}
    assert made.keys() == {request.key for request in asked}
    assert None not in made.values()
    return made


def compare(left: dict[str, Generation], right: dict[str, Generation]) -> Agreement:
    same = [key for key in left if left[key].token_ids == right[key].token_ids]
    pairs = [pair for key in same for pair in zip(left[key].steps, right[key].steps, strict=False)]
    return Agreement(
        same=len(same),
        of=len(left),
        steps=sum(max(len(left[key].steps), len(right[key].steps)) for key in same),
        same_steps=sum((a.position, a.nominal_id) == (b.position, b.nominal_id) for a, b in pairs),
        bits_apart=max((abs(a.bits - b.bits) for a, b in pairs), default=0.0),
    )


def by_rank(made: dict[str, Generation], rank: int) -> dict[str, Generation]:
    return {key: generation for key, generation in made.items() if key.endswith(f"/{rank}")}


def built(name: str, model: ResolvedModel, **options: Any) -> Any:
    entry = ENGINES.get(name)
    return entry.build(model, entry.options(**options), Hardware(threads=2))


def check(name: str, transformers: dict[str, Generation], vllm: dict[str, Generation]) -> list[str]:
    """Raises where they do not agree; what was found, a line for each rank."""
    lines = []
    for rank in RANKS:
        found = compare(by_rank(transformers, rank), by_rank(vllm, rank))
        lines.append(
            f"- {name} float32, transformers and vllm, arithmetic, rank {rank}: "
            f"same tokens on {found.same} of {found.of} items, "
            f"where they agree {found.same_steps} of {found.steps} interventions the same, "
            f"bits at most {found.bits_apart:.1e} apart"
        )
        assert found.same >= 0.95 * found.of
        assert found.same_steps == found.steps
        assert found.bits_apart <= 1e-3
        assert (found.steps > 0) == (rank > 0)
    return lines


def test_transformers_and_vllm_agree(tiny_instruct, vllm_engine):
    asked = arithmetic(tiny_instruct, vllm_engine.tokenizer, limit=10)
    transformers = built("transformers", tiny_instruct)
    check("tiny-instruct", generations(transformers, asked), generations(vllm_engine, asked))
    transformers.close()


@pytest.mark.verify
@pytest.mark.timeout(3600)
def test_transformers_and_vllm_agree_on_50_items_and_rank_0_is_plain_vllm():
    lines = []
    for name, aligned in (("tiny-base", False), ("tiny-instruct", True)):
        model = resolve(ModelConfig(name=name, path=f"embedded:{name}", dtype="float32", aligned=aligned))
        transformers, vllm = built("transformers", model), built("vllm", model, max_num_seqs=32, cpu_kvcache_gib=0.25)
        versions = [f"{engine.info.name} {engine.info.version}" for engine in (transformers, vllm)]
        try:
            asked = arithmetic(model, vllm.tokenizer, limit=50)
            ours = generations(vllm, asked)
            lines += check(name, generations(transformers, asked), ours)
        finally:
            transformers.close()
            vllm.close()
        baseline = [request for request in asked if request.taboo.rank == 0]
        plain = plain_vllm(model, baseline)
        same = sum(ours[request.key].token_ids == ids for request, ids in zip(baseline, plain, strict=True))
        lines.append(
            f"- {name} float32, vllm with and without the hook, arithmetic, rank 0: "
            f"same tokens on {same} of {len(plain)} items"
        )
        assert same == len(plain)
    write_page("engine_agreement", "The engines against each other", [f"Engines: {', '.join(versions)}.", "", *lines])


def plain_vllm(model: ResolvedModel, asked: Sequence[Request]) -> list[tuple[int, ...]]:
    """The token ids of vLLM as it comes: no processor, no extension, nothing of ours in the requests."""
    from vllm import LLM, SamplingParams
    from vllm.inputs import TokensPrompt

    llm = LLM(
        model.source,
        dtype=model.dtype,
        enforce_eager=True,
        max_model_len=1024,
        max_num_seqs=32,
        kv_cache_memory_bytes=2**28,
        generation_config="vllm",
        enable_prefix_caching=False,
    )
    prompts = [TokensPrompt(prompt_token_ids=list(request.prompt_ids)) for request in asked]
    params = [
        SamplingParams(temperature=0, max_tokens=request.max_tokens, stop=list(request.stop)) for request in asked
    ]
    outputs = llm.generate(prompts, params, use_tqdm=False)
    llm.llm_engine.engine_core.shutdown()
    return [tuple(output.outputs[0].token_ids) for output in outputs]
