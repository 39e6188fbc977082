"""What the tests of the openai engine share: a model, requests, and an engine whose sleeps take no time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fake_server import FakeServer

from taboo_cluster.config import ModelConfig
from taboo_cluster.engines.base import Completion, Request
from taboo_cluster.engines.openai.arguments import OpenAiOptions
from taboo_cluster.engines.openai.engine import OpenAiEngine
from taboo_cluster.engines.openai.server import Server
from taboo_cluster.models import served
from taboo_cluster.trial import ResolvedModel

KEY = "sk-secret-123"
MODEL = served(ModelConfig(name="m"))
PLAIN = Request("k", "2 + 2 =", (), 16)
CHAT = replace(PLAIN, messages=(("system", "Be brief."), ("user", "2 + 2?")))


class Naps:
    """Sleeps that take no time, and are remembered."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def options(server: FakeServer, **more: Any) -> OpenAiOptions:
    return OpenAiOptions(base_url=server.url, **more)


def engine(server: FakeServer, naps: Naps | None = None, model: ResolvedModel = MODEL, **more: Any) -> OpenAiEngine:
    chosen = options(server, **more)
    return OpenAiEngine(model, chosen, Server(chosen, sleep=naps or Naps()))


def one(server: FakeServer, request: Request = PLAIN, naps: Naps | None = None, **more: Any) -> Completion:
    made = engine(server, naps, **more)
    try:
        (completion,) = made.generate([request])
    finally:
        made.close()
    return completion


def failed(completion: Completion) -> tuple[str | None, str | None]:
    assert completion.generation is None
    return completion.error_type, completion.error
