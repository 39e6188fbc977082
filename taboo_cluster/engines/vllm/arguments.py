"""How vLLM is started for a model, and what it is asked for with each request."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from transformers import PretrainedConfig

from taboo_cluster.engines.base import HARMLESS, Hardware, Request
from taboo_cluster.errors import UserError
from taboo_cluster.models import load_config, shape_of
from taboo_cluster.taboo.draws import row_seed
from taboo_cluster.taboo.owner import OWNER
from taboo_cluster.trial import ResolvedModel

if TYPE_CHECKING:
    from vllm import SamplingParams


@dataclass(frozen=True)
class VllmOptions:
    """How vLLM runs a model."""

    max_model_len: int = 4096
    """Most tokens of prompt and completion together; the model's own context where that is shorter."""
    max_num_seqs: int = field(default=128, metadata=HARMLESS)
    """Requests in one batch."""
    gpu_memory_utilization: float | None = field(default=None, metadata=HARMLESS)
    """Part of each GPU's memory to take; null takes the share that placement gives."""
    cpu_kvcache_gib: float = field(default=1.0, metadata=HARMLESS)
    """GiB of KV cache on a machine without a GPU."""
    enforce_eager: bool | None = None
    """Run without compiling the model; null compiles on a GPU and not on a CPU, where it takes longer than it saves."""
    prefix_caching: bool = False
    """Share the KV cache of equal prompt beginnings; changes numbers, so scored runs leave it off."""

    def __post_init__(self) -> None:
        for name in ("max_model_len", "max_num_seqs"):
            if getattr(self, name) < 1:
                raise UserError(f"engine.{name} must be at least 1, not {getattr(self, name)}")
        if self.cpu_kvcache_gib <= 0:
            raise UserError(f"engine.cpu_kvcache_gib must be above 0, not {self.cpu_kvcache_gib}")
        if self.gpu_memory_utilization is not None and not 0 < self.gpu_memory_utilization <= 1:
            raise UserError(f"engine.gpu_memory_utilization must be in (0, 1], not {self.gpu_memory_utilization}")


def engine_arguments(model: ResolvedModel, options: VllmOptions, hardware: Hardware) -> dict[str, Any]:
    """Arguments for vLLM's engine; raises UserError for what it cannot run. Nothing of the weights is read."""
    from vllm.platforms import current_platform

    from taboo_cluster.taboo.vllm_hook import EXTENSION, HOOK

    on_cpu = current_platform.is_cpu()
    config = load_config(model)
    revision = None if model.is_local else model.revision
    arguments: dict[str, Any] = {
        "model": model.source,
        "revision": revision,
        "tokenizer_revision": revision,
        "trust_remote_code": model.trust_remote_code,
        "generation_config": "vllm",
        "dtype": model.dtype,
        "seed": 0,
        "max_model_len": min(options.max_model_len, shape_of(config).context),
        "max_num_seqs": options.max_num_seqs,
        "enable_prefix_caching": options.prefix_caching,
        "enforce_eager": on_cpu if options.enforce_eager is None else options.enforce_eager,
        "tensor_parallel_size": hardware.tensor_parallel,
        "logprobs_mode": "raw_logprobs",
        "logits_processors": [HOOK],
        "worker_extension_cls": EXTENSION,
        "disable_log_stats": True,
        **_quantized(model, config, hardware),
    }
    if hardware.tensor_parallel > 1:
        arguments["distributed_executor_backend"] = "mp"  # never Ray's executor: the engine may live in a Ray actor
    if on_cpu:
        arguments["kv_cache_memory_bytes"] = int(options.cpu_kvcache_gib * 2**30)
    elif (share := options.gpu_memory_utilization or hardware.gpu_share) is not None:
        arguments["gpu_memory_utilization"] = share
    return arguments


def sampling_params(request: Request, key: str, end_ids: Sequence[int]) -> SamplingParams:
    """Every parameter that shapes the output, explicit; the model's own generation defaults never enter.

    Args:
        request: what is to be generated.
        key: names the generation in the hook's log.
        end_ids: tokens that end the text.
    """
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    from taboo_cluster.taboo.asked import extra_args

    sampling = request.sampling
    return SamplingParams(
        n=1,
        temperature=sampling.temperature,
        top_p=1.0 if sampling.greedy else sampling.top_p,
        top_k=0,
        min_p=0.0,
        seed=None if sampling.greedy else sampling.seed,
        presence_penalty=0.0,
        frequency_penalty=0.0,
        repetition_penalty=1.0,
        max_tokens=request.max_tokens,
        min_tokens=0,
        stop=list(request.stop),
        stop_token_ids=list(end_ids),
        include_stop_str_in_output=False,
        ignore_eos=False,
        skip_special_tokens=True,
        logprobs=1,
        flat_logprobs=True,
        output_kind=RequestOutputKind.FINAL_ONLY,
        extra_args=extra_args(request.taboo, key, row_seed(request.prompt_ids, sampling.seed), request.entropy),
    )


@contextmanager
def environment(hardware: Hardware) -> Iterator[None]:
    """The environment vLLM's processes are started in; put back afterwards.

    Left-overs of data parallelism and a fixed port would be taken for this engine's own. On a CPU its threads are not
    pinned to cores, for another engine may run on them; what the user has set there stays.
    """
    before = dict(os.environ)
    for name in [name for name in before if name.startswith("VLLM_DP_") or name == "VLLM_PORT"]:
        del os.environ[name]
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ["OMP_NUM_THREADS"] = str(hardware.threads)
    os.environ[OWNER] = str(os.getpid())
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def _quantized(model: ResolvedModel, config: PretrainedConfig, hardware: Hardware) -> dict[str, str]:
    """Arguments for quantization: method and load format go together, or the weights would be read as another kind."""
    stored = getattr(config, "quantization_config", None)
    method = stored.get("quant_method") if isinstance(stored, dict) else getattr(stored, "quant_method", None)
    if method == "bitsandbytes" and hardware.tensor_parallel > 1:
        raise UserError(
            f"{model.name}: its quantization_config (bitsandbytes) and tensor_parallel={hardware.tensor_parallel} "
            "exclude each other in vllm; use the unquantized weights with quantization=nf4"
        )
    if method is not None or model.quantization == "none":
        return {}
    if model.quantization == "nf4":
        return {"quantization": "bitsandbytes", "load_format": "bitsandbytes"}
    raise UserError(
        f"{model.name}: the vllm engine cannot make quantization={model.quantization}; use nf4, or engine=transformers"
    )


def cause(error: BaseException) -> str:
    """The innermost error as one line: vLLM wraps what went wrong."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500]
