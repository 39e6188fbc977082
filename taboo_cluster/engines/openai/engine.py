"""Keeps the engine protocol on top of a server: a bounded number of requests under way, each on a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any

from taboo_cluster.engines.base import Completion, EngineInfo, Generation, Request
from taboo_cluster.engines.openai.answers import read
from taboo_cluster.engines.openai.arguments import OpenAiOptions, body
from taboo_cluster.engines.openai.server import Server
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.trial import ResolvedModel

VERSION = "1"
"""Of how requests are put and answers read."""
CHARS_PER_TOKEN = 4
"""For the rate limit alone: what a prompt is reckoned as until the server has counted it."""
NO_LIMIT = 2**31 - 1
"""Where the server does not say how long its context is: it refuses what is too long."""


class OpenAiEngine:
    """A model behind a server. Prompts are handed over as texts, or as turns for aligned models.

    Interventions need vLLM's server with Taboo's hook and greedy decoding; anything else is a UserError, never a text
    without a mask. Entropy is not measured, whatever a request asks for.
    """

    concurrent = True
    tokenizer = None

    def __init__(self, model: ResolvedModel, options: OpenAiOptions, server: Server) -> None:
        self._model, self._options, self._server = model, options, server
        card = server.card(model.source)
        self._on_vllm = card.get("owned_by") == "vllm"
        length = card.get("max_model_len")
        self.max_context = length if type(length) is int and length > 0 else NO_LIMIT
        settings = {"base_url": options.url, "extra_body": dict(options.extra_body)}
        self.info = EngineInfo("openai", VERSION, settings)
        self._pool = ThreadPoolExecutor(options.max_in_flight, "openai")
        self._hook_lock = threading.Lock()
        self._has_hook = False

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Yield one completion per request, in the order they end.

        Raises UserError where the server takes no request of this model, EngineDied where none answers.
        """
        source = iter(requests)
        running: set[Future[Completion]] = set()
        try:
            while True:
                for request in islice(source, self._options.max_in_flight - len(running)):
                    running.add(self._pool.submit(self._complete, request))
                if not running:
                    return
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                failed = [future for future in ended if future.exception() is not None]
                for future in ended.difference(failed):
                    yield future.result()
                for future in failed:
                    future.result()
        finally:
            for future in running:
                future.cancel()

    def close(self) -> None:
        """Give up what is under way."""
        self._server.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _complete(self, request: Request) -> Completion:
        started = time.monotonic()
        try:
            made = self._generation(request)
        except TrialError as error:
            return Completion(request.key, None, error.error_type, str(error), time.monotonic() - started)
        return Completion(request.key, made, latency_s=time.monotonic() - started)

    def _generation(self, request: Request) -> Generation:
        rank = request.taboo.rank
        if rank:
            self._check_can_mask(request)
        made = read(self._ask(request), rank)
        if rank and not made.token_ids:
            raise UserError(
                f"{self._options.url} gives no token ids, without which no mask can be checked: update vLLM"
            )
        return made

    def _ask(self, request: Request) -> Mapping[str, Any]:
        chars = sum(len(text) for _, text in request.messages) if request.messages else len(request.prompt)
        path = "/chat/completions" if request.messages else "/completions"
        asked = body(self._model, self._options, request, self._on_vllm)
        tokens = chars / CHARS_PER_TOKEN + request.max_tokens
        return self._server.complete(path, asked, tokens, request.key)

    def _check_can_mask(self, request: Request) -> None:
        """Raise UserError unless the server has the hook: one without it takes the settings and masks nothing."""
        if not request.sampling.greedy:
            raise UserError(
                "engine=openai tells interventions by log-probabilities, which needs greedy decoding: take temperature "
                "0 or engine=vllm"
            )
        with self._hook_lock:
            if self._has_hook:
                return
            if not self._on_vllm:
                raise UserError(
                    f"taboo.ranks above 0 need vLLM's server with Taboo's hook, which {self._options.url} is not"
                )
            self._probe_hook(request)
            self._has_hook = True

    def _probe_hook(self, request: Request) -> None:
        """A rank that the hook refuses: a server that answers all the same does not have it."""
        chat = bool(request.messages)
        path = "/chat/completions" if chat else "/completions"
        asked: dict[str, Any] = {"messages": [{"role": "user", "content": "1"}]} if chat else {"prompt": "1"}
        asked |= {"model": self._model.source, "max_tokens": 1, "vllm_xargs": {"taboo": '{"rank": -1}'}}
        try:
            self._server.complete(path, asked, 2.0, "hook")
        except TrialError as error:
            if "taboo.rank" in str(error):
                return
            raise UserError(f"{self._options.url}: {error}") from error
        raise UserError(
            f"the server at {self._options.url} runs without Taboo's hook, so nothing would be masked: start it with "
            "--logits-processors taboo_cluster.taboo.vllm_hook:TabooLogitsProcessor --logprobs-mode raw_logprobs"
        )
