"""Settings of the openai engine, and the body of a request: what an OpenAI-compatible server is asked for."""

from __future__ import annotations

import ipaddress
import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx

from taboo_cluster.engines.base import HARMLESS, Request
from taboo_cluster.errors import UserError
from taboo_cluster.hashing import stable_hash
from taboo_cluster.prompts import as_dicts
from taboo_cluster.taboo.triggers.base import choose
from taboo_cluster.trial import ResolvedModel, Taboo

OPENAI = "api.openai.com"
DEFAULT_KEY = "OPENAI_API_KEY"
"""Environment variable of the key for OpenAI's own server; it is sent to no other one unless named."""

SEEN = 20
"""Most log-probabilities of one position that servers give."""

OURS = frozenset(
    {"model", "messages", "prompt", "n", "stream", "stop", "seed", "logprobs", "top_logprobs", "vllm_xargs"}
)
"""Fields that `extra_body` cannot set."""

NEUTRAL: dict[str, Any] = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
"""What vLLM would else take from the model's own file, where it is served without `--generation-config vllm`."""


@dataclass(frozen=True)
class OpenAiOptions:
    """Where the server is, and how fast it may be asked."""

    base_url: str | None = None
    """Of the server, with its version: `https://api.openai.com/v1`, `http://127.0.0.1:8000/v1`."""
    api_key_env: str | None = None
    """Environment variable that holds the key; null takes OPENAI_API_KEY for api.openai.com and sends no key to any
    other server. The key itself is never recorded."""
    extra_body: dict[str, Any] = field(default_factory=dict)
    """Added to every request, such as {reasoning_effort: low}; null takes one of the engine's own fields out."""
    max_in_flight: int = field(default=16, metadata=HARMLESS)
    """Requests under way at once, for each model."""
    requests_per_minute: float | None = field(default=None, metadata=HARMLESS)
    """At most so many, for each model; null for no limit."""
    tokens_per_minute: float | None = field(default=None, metadata=HARMLESS)
    """At most so many, prompts and completions together, for each model; null for no limit."""
    timeout_s: float = field(default=240.0, metadata=HARMLESS)
    """Seconds to wait for one answer."""
    max_retries: int = field(default=5, metadata=HARMLESS)
    """Further tries after HTTP 429 or 5xx, a timeout, a lost connection or an answer that is no JSON."""
    insecure_http: bool = field(default=False, metadata=HARMLESS)
    """Let a key travel unencrypted to another machine."""

    def __post_init__(self) -> None:
        if self.base_url is None:
            raise UserError(f"engine.base_url is not set: https://{OPENAI}/v1, or that of a server of yours")
        self._check_url(self.base_url)
        for name, least in (("max_in_flight", 1), ("max_retries", 0)):
            if getattr(self, name) < least:
                raise UserError(f"engine.{name} must be at least {least}, not {getattr(self, name)}")
        for name in ("requests_per_minute", "tokens_per_minute", "timeout_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UserError(f"engine.{name} must be above 0, not {value:g}")
        if fixed := sorted(OURS & set(self.extra_body)):
            raise UserError(f"engine.extra_body cannot set {', '.join(fixed)}: the sweep does")

    def _check_url(self, text: str) -> None:
        try:
            url = httpx.URL(text)
        except (httpx.InvalidURL, TypeError) as error:
            raise UserError(f"engine.base_url is no address: {error}") from error
        if url.userinfo or url.query or url.fragment:  # not shown: it may hold a password
            raise UserError("engine.base_url must hold no user name, password or query; keys go in engine.api_key_env")
        if url.scheme not in ("http", "https") or not url.host:
            raise UserError(f"engine.base_url must begin with http:// or https:// and name a host, not {text!r}")
        if self.key_name and url.scheme == "http" and not self.on_loopback and not self.insecure_http:
            raise UserError(
                f"engine.base_url={text} would send the key in {self.key_name} unencrypted: use https, or set "
                "engine.insecure_http=true"
            )

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return (self.base_url or "").rstrip("/")

    @property
    def key_name(self) -> str | None:
        """Environment variable that holds the key; None where none is sent."""
        return self.api_key_env or (DEFAULT_KEY if httpx.URL(self.url).host == OPENAI else None)

    @property
    def on_loopback(self) -> bool:
        """The server is on this machine."""
        host = httpx.URL(self.url).host
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def read_key(self) -> str | None:
        """The key from the environment; None where none is sent. Raises UserError where it is not there."""
        if self.key_name is None:
            return None
        key = os.environ.get(self.key_name, "").strip()
        if not key:
            raise UserError(f"engine=openai needs a key for {self.url}: the environment has no {self.key_name}")
        if not key.isascii() or not key.isprintable():
            raise UserError(f"the key in {self.key_name} holds characters that no key has")
        return key


def body(model: ResolvedModel, options: OpenAiOptions, request: Request, on_vllm: bool) -> dict[str, Any]:
    """The body of a request: to /chat/completions where it has messages, else to /completions.

    Args:
        model: the model asked for.
        options: the engine's.
        request: the request.
        on_vllm: the server is vLLM's: it knows fields of its own.
    """
    sampling, chat = request.sampling, bool(request.messages)
    asked: dict[str, Any] = {"model": model.source, "temperature": sampling.temperature}
    asked |= {"messages": as_dicts(request.messages)} if chat else {"prompt": request.prompt}
    longest = "max_completion_tokens" if chat and httpx.URL(options.url).host == OPENAI else "max_tokens"
    asked[longest] = request.max_tokens
    if request.stop:
        asked["stop"] = list(request.stop)
    if not sampling.greedy:
        asked |= {"top_p": sampling.top_p, "seed": sampling.seed}
    if chat and model.chat_template_kwargs:
        asked["chat_template_kwargs"] = dict(model.chat_template_kwargs)
    if on_vllm:
        asked |= NEUTRAL | {"return_token_ids": True}
    if request.taboo.rank:
        seen = min(SEEN, request.taboo.rank + 2)
        asked |= {"logprobs": True, "top_logprobs": seen} if chat else {"logprobs": seen}
        asked |= {"return_tokens_as_token_ids": True, "vllm_xargs": {"taboo": hook_settings(request)}}
    asked |= options.extra_body
    return {name: value for name, value in asked.items() if value is not None}


def hook_settings(request: Request) -> str:
    """What the hook in the server is asked for, as vLLM takes it: JSON in a string."""
    taboo: Taboo = request.taboo
    settings = asdict(taboo) | {"seed": int(stable_hash("served", request.prompt, request.sampling.seed)[:15], 16)}
    if choose(taboo.trigger).entry.counts_bits:
        settings["key"] = request.key
    return json.dumps(settings)
