"""The `vllm` engine; vLLM itself is imported only when one is built."""

from __future__ import annotations

import importlib.util

from taboo_cluster.engines.base import ENGINES, EngineEntry, Hardware
from taboo_cluster.engines.vllm.arguments import VllmOptions
from taboo_cluster.engines.vllm.engine import VllmEngine
from taboo_cluster.errors import UserError
from taboo_cluster.trial import ResolvedModel


def build(model: ResolvedModel, options: VllmOptions, hardware: Hardware) -> VllmEngine:
    """The loaded engine; raises UserError where vLLM is missing or cannot load the model as asked."""
    if importlib.util.find_spec("vllm") is None:
        raise UserError(
            "engine=vllm needs vLLM, which is not installed: pip install 'taboo_cluster[gpu]' on a machine with an "
            "NVIDIA GPU, or use engine=transformers"
        )
    return VllmEngine(model, options, hardware)


ENGINES.register("vllm")(EngineEntry(options=VllmOptions, build=build))
