"""An OpenAI-compatible server on loopback that says what a test wants, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One HTTP answer."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Asked:
    """One HTTP request."""

    path: str
    body: Any
    key: str | None
    """The Authorization header."""


class FakeServer:
    """Answers with the next of `script`, then with `reply` of the request's body."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.models: list[dict[str, Any]] | None = [{"id": "m", "object": "model", "owned_by": "someone"}]
        self.script: list[Answer] = []
        self.reply: Callable[[Any], Answer] = lambda body: chat("4") if "messages" in body else text("4")
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()

    @property
    def posts(self) -> list[Asked]:
        """What was asked for beside the list of models."""
        return [asked for asked in self.asked if not asked.path.endswith("/models")]

    def answer(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            scripted = self.script.pop(0) if self.script and asked.body is not None else None
        try:
            if asked.path == "/v1/models":
                return Answer("no list", 404) if self.models is None else Answer({"data": self.models})
            return scripted or self.reply(asked.body)
        finally:
            with self._lock:
                self._at_once -= 1


def text(said: str, finish_reason: str = "stop", **more: Any) -> Answer:
    """An answer of /completions."""
    choice = {"index": 0, "text": said, "finish_reason": finish_reason, **more}
    return Answer({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})


def chat(said: str | None, finish_reason: str = "stop", **more: Any) -> Answer:
    """An answer of /chat/completions."""
    choice = {"index": 0, "message": {"role": "assistant", "content": said, **more}, "finish_reason": finish_reason}
    return Answer({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})


def error(status: int, message: str, code: str = "", **headers: str) -> Answer:
    """An error as OpenAI words it; headers with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer({"error": {"message": message, "code": code}}, status, named)


@contextmanager
def serving() -> Iterator[FakeServer]:
    """A running server; its threads have ended when this ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._respond(None)

        def do_POST(self) -> None:
            self._respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _respond(self, body: Any) -> None:
            answer = fake.answer(Asked(self.path, body, self.headers.get("Authorization")))
            data = answer.body.encode() if isinstance(answer.body, str) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(data)), **answer.headers}.items():
                self.send_header(name, value)
            with suppress(ConnectionError):  # the client waits no longer
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    fake = FakeServer(f"http://127.0.0.1:{http.server_address[1]}/v1")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield fake
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
