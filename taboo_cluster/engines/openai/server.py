"""An OpenAI-compatible server over HTTP: tries again where that can help, says in one line where it cannot."""

from __future__ import annotations

import email.utils
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import httpx
import numpy as np

from taboo_cluster.engines.openai.arguments import OpenAiOptions
from taboo_cluster.engines.openai.pace import Pace
from taboo_cluster.errors import EngineDied, TrialError, UserError, nearest, unknown
from taboo_cluster.hashing import stable_rng

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""Of back-off, which doubles; a random half of it is left out, so that requests do not come back together."""
LONGEST_ASKED_S = 600.0
"""A server that asks for a longer wait than this is left for now."""

SHOWN = 12
"""Most models of a server that a message lists."""

_TOO_LONG = ("context_length", "context length", "maximum model length", "max_model_len", "prompt is too long")
_NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached")


class Server:
    """One server; several threads may ask it at once.

    Args:
        options: where it is and how fast it may be asked.
        sleep: waits so many seconds; by default until `close` is called, if that is earlier.
        clock: seconds, rising.

    Raises:
        UserError: the environment does not hold the key.
    """

    def __init__(
        self,
        options: OpenAiOptions,
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._key = options.read_key()
        self._closed = threading.Event()
        self._sleep = sleep or self._closed.wait
        self._pace = Pace(options.requests_per_minute, options.tokens_per_minute, clock, self._sleep)
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=httpx.Timeout(options.timeout_s, connect=min(options.timeout_s, 30.0)),
            limits=httpx.Limits(max_connections=None),
            trust_env=not options.on_loopback,  # a proxy does not lead back to this machine
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connections; whoever still waits to try again raises EngineDied."""
        self._closed.set()
        self._client.close()

    def card(self, model: str) -> Mapping[str, Any]:
        """What the server's list says of a model; empty where it has no list.

        Raises UserError for a model that is not in it, EngineDied where no server answers.
        """
        try:
            listed = self._ask("GET", "/models", None, 0.0, "models")
        except _NotThere:
            return {}
        except TrialError as error:
            raise UserError(f"{self._options.url}/models: {error}") from error
        cards = listed.get("data")
        if not isinstance(cards, list):
            return {}
        known = {str(card.get("id")): card for card in cards if isinstance(card, Mapping)}
        for name, card in known.items():
            if name == model or name.endswith(f"/{model}"):
                return card
        if len(known) <= SHOWN:
            raise unknown(f"model at {self._options.url}", model, known)
        close = nearest(model, known)
        hint = f" - did you mean {close!r}?" if close else ""
        raise UserError(f"{self._options.url} has no model {model!r}{hint} It lists {len(known)} others")

    def complete(self, path: str, body: Mapping[str, Any], tokens: float, key: str) -> Mapping[str, Any]:
        """The answer to a completion request, as JSON.

        Args:
            path: /completions or /chat/completions.
            body: of the request.
            tokens: that it may come to, prompt included; corrected by the answer's usage.
            key: of the request, on which the jitter of its back-off depends.

        Raises:
            TrialError: this request cannot be answered: `prompt_too_long`, `request_refused`, or after all tries
                `timeout` or `generation_failed`.
            UserError: no request of this model can be: the key, the model's name, the account.
            EngineDied: no server answers.
        """
        try:
            answer = self._ask("POST", path, body, tokens, key)
        except _NotThere as error:
            raise UserError(f"{self._options.url}{path}: {error}") from error
        usage = answer.get("usage")
        if isinstance(usage, Mapping) and isinstance(used := usage.get("total_tokens"), int):
            self._pace.correct(used - tokens)
        return answer

    def _ask(self, method: str, path: str, body: Any, tokens: float, key: str) -> Mapping[str, Any]:
        rng, failure = stable_rng("back-off", key), None
        for tried in range(self._options.max_retries + 1):
            if failure:
                self._wait(tried, failure, rng)
            if self._closed.is_set():
                raise EngineDied("the engine is closed")
            self._pace.take(tokens)
            try:
                return self._answer(self._client.request(method, f"{self._options.url}{path}", json=body))
            except _TryAgain as error:
                failure = error
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = _TryAgain(EngineDied(f"no server answers at {self._options.url}: {self._line(error)}"))
            except httpx.TimeoutException:
                failure = _TryAgain(TrialError("timeout", f"no answer within {self._options.timeout_s:g} s"))
            except httpx.TransportError as error:
                failure = _TryAgain(TrialError("generation_failed", f"the connection failed: {self._line(error)}"))
            except RuntimeError as error:  # httpx's, for a client that was closed meanwhile
                raise EngineDied(self._line(error)) from error
        raise failure.cause if failure else AssertionError

    def _wait(self, tried: int, failure: _TryAgain, rng: np.random.Generator) -> None:
        asked = failure.asked_s or 0.0
        if asked > LONGEST_ASKED_S:
            raise UserError(f"{self._options.url} asks to wait {asked:g} s ({failure.cause}): go on with the run then")
        own = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (tried - 1)) * (1.0 - 0.5 * float(rng.random()))
        if failure.crowded:
            self._pace.hold(asked or own)
        self._sleep(asked + own)

    def _answer(self, response: httpx.Response) -> Mapping[str, Any]:
        """An answer's JSON, or the error that its status means."""
        status = response.status_code
        if response.is_success:
            try:
                found = response.json()
            except ValueError:
                found = None
            if not isinstance(found, Mapping):
                raise _TryAgain(TrialError("generation_failed", "the server's answer is no JSON object"))
            return found
        said, code = self._said(response)
        line = f"HTTP {status}: {said}"
        if status in (401, 403):
            name = self._options.key_name
            reason = f"does not accept the key in {name}" if name else "wants a key: set engine.api_key_env"
            raise UserError(f"{self._options.url} {reason} ({line})")
        if status == 402 or code in _NO_MONEY:
            raise UserError(f"{self._options.url}: the account is at its limit ({line})")
        if response.is_redirect:
            raise UserError(f"{self._options.url} is elsewhere ({line}): set engine.base_url to where it is")
        if status in (404, 405):
            raise _NotThere(line)
        if status in (408, 409, 425, 429) or status >= 500:
            failure = TrialError("generation_failed", line)
            raise _TryAgain(failure, _retry_after(response), crowded=status == 429)
        too_long = any(mark in f"{code} {said}".lower() for mark in _TOO_LONG)
        raise TrialError("prompt_too_long" if too_long else "request_refused", line)

    def _said(self, response: httpx.Response) -> tuple[str, str]:
        """(message, code) of an answer that is no success."""
        try:
            found = response.json()
        except ValueError:
            found = {}
        error = found.get("error", found) if isinstance(found, Mapping) else {}
        if not isinstance(error, Mapping):
            error = {"message": error}
        text = str(error.get("message") or error.get("detail") or response.text or response.reason_phrase)
        return self._plain(text), str(error.get("code") or error.get("type") or "")

    def _line(self, error: Exception) -> str:
        return self._plain(f"{type(error).__name__}: {error}")

    def _plain(self, text: str) -> str:
        """One line, without the key, which some servers repeat."""
        line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
        return (line.replace(self._key, "***") if self._key else line)[:400]


class _NotThere(Exception):
    """HTTP 404 or 405."""


class _TryAgain(Exception):
    """A failure that may pass; `cause` is raised when it has not."""

    def __init__(self, cause: Exception, asked_s: float | None = None, crowded: bool = False) -> None:
        super().__init__(str(cause))
        self.cause, self.asked_s, self.crowded = cause, asked_s, crowded


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds that the server asks to wait: a number or a date; None where it does not say."""
    text = response.headers.get("Retry-After", "").strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None
