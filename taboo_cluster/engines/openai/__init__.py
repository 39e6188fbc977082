"""The `openai` engine: models behind any OpenAI-compatible server, closed ones or those of `vllm serve`."""

from __future__ import annotations

from dataclasses import replace

from taboo_cluster.config import ModelConfig
from taboo_cluster.engines.base import ENGINES, EngineEntry, Hardware
from taboo_cluster.engines.openai.arguments import OpenAiOptions
from taboo_cluster.engines.openai.engine import OpenAiEngine
from taboo_cluster.engines.openai.server import Server
from taboo_cluster.errors import EngineDied, UserError
from taboo_cluster.models import served
from taboo_cluster.trial import ResolvedModel


def find(model: ModelConfig, options: OpenAiOptions) -> ResolvedModel:
    """The model under its name at the server, which is asked whether it has it.

    Raises UserError where it has not, does not answer, or does not accept the key.
    """
    found = served(model)
    with Server(replace(options, max_retries=0)) as server:
        try:
            server.card(found.source)
        except EngineDied as error:
            raise UserError(str(error)) from error
    return found


def build(model: ResolvedModel, options: OpenAiOptions, hardware: Hardware) -> OpenAiEngine:
    """The engine for one model; raises UserError as `find` does, EngineDied where no server answers."""
    return OpenAiEngine(model, options, Server(options))


ENGINES.register("openai")(EngineEntry(options=OpenAiOptions, build=build, uses_gpu=False, find=find))
