"""The openai engine against a server on loopback: what it asks, how it reads answers, when it tries again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from fake_server import Answer, FakeServer, chat, error, serving, text
from openai_calls import CHAT, KEY, MODEL, PLAIN, Naps, engine, failed, one, options

from taboo_cluster.config import ModelConfig
from taboo_cluster.engines.base import ENGINES, Hardware, Request, Usage
from taboo_cluster.engines.openai import build, find
from taboo_cluster.engines.openai.arguments import OpenAiOptions, body
from taboo_cluster.engines.openai.engine import OpenAiEngine
from taboo_cluster.engines.openai.pace import Pace
from taboo_cluster.engines.openai.server import Server
from taboo_cluster.errors import EngineDied, UserError
from taboo_cluster.trial import Sampling


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as fake:
        yield fake


# --- what is asked, and how answers are read ---


def test_a_plain_prompt_goes_to_completions(server: FakeServer) -> None:
    made = one(server, replace(PLAIN, stop=("\nQ:",))).generation
    assert made is not None
    assert (made.text, made.finish_reason, made.token_ids) == ("4", "stop", ())
    assert made.usage == Usage(prompt_tokens=7, completion_tokens=3)
    (asked,) = server.posts
    assert asked.path == "/v1/completions"
    assert asked.body == {"model": "m", "prompt": "2 + 2 =", "temperature": 0.0, "max_tokens": 16, "stop": ["\nQ:"]}
    assert asked.key is None


def test_turns_go_to_chat_completions(server: FakeServer) -> None:
    templated = replace(MODEL, chat_template_kwargs={"enable_thinking": False})
    made = one(server, replace(CHAT, sampling=Sampling(0.7, 0.9, 3)), model=templated).generation
    assert made is not None
    assert made.text == "4"
    (asked,) = server.posts
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}],
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 3,
        "max_tokens": 16,
        "chat_template_kwargs": {"enable_thinking": False},
    }


def test_extra_fields_are_added_and_own_ones_taken_out(server: FakeServer) -> None:
    one(server, CHAT, extra_body={"reasoning_effort": "low", "temperature": None})
    (asked,) = server.posts
    assert asked.body["reasoning_effort"] == "low"
    assert "temperature" not in asked.body


def test_openai_itself_is_asked_by_its_own_name_for_the_longest_completion() -> None:
    chosen = OpenAiOptions(base_url="https://api.openai.com/v1/")
    assert body(MODEL, chosen, CHAT, on_vllm=False)["max_completion_tokens"] == 16
    assert body(MODEL, chosen, PLAIN, on_vllm=False)["max_tokens"] == 16


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (chat("four", "length"), ("four", "length")),
        (chat("4", reasoning="2 and 2"), ("<think>2 and 2</think>4", "stop")),
        (chat("4", reasoning_content="2 and 2"), ("<think>2 and 2</think>4", "stop")),
        (chat(None, "length", reasoning="2 and"), ("<think>2 and", "length")),  # its reasoning took all the tokens
        (chat(None, refusal="I cannot."), ("I cannot.", "stop")),
        (chat(None), ("", "stop")),
    ],
)
def test_what_a_chat_answer_says(server: FakeServer, answer: Answer, expected: tuple[str, str]) -> None:
    server.script = [answer]
    made = one(server, CHAT).generation
    assert made is not None
    assert (made.text, made.finish_reason) == expected


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (chat("4", "content_filter"), "request_refused", "content filter"),
        (chat("4", "tool_calls"), "generation_failed", "tool_calls"),
        (Answer({"choices": [{"text": "4", "finish_reason": None}]}), "generation_failed", "None"),
        (Answer({"choices": []}), "generation_failed", "holds no choices"),
        (Answer({"choices": [{"finish_reason": "stop"}]}), "generation_failed", "holds no text"),
        (chat([{"type": "text"}]), "generation_failed", "not a text"),  # type: ignore[arg-type]
    ],
)
def test_an_answer_that_is_none_is_an_error_of_its_trial(
    server: FakeServer, answer: Answer, kind: str, said: str
) -> None:
    server.script = [answer]
    error_type, message = failed(one(server))
    assert error_type == kind
    assert said in str(message)


def test_without_usage_the_counts_are_missing(server: FakeServer) -> None:
    server.script = [Answer({"choices": [{"text": "4", "finish_reason": "stop"}], "usage": {"prompt_tokens": True}})]
    made = one(server).generation
    assert made is not None
    assert made.usage == Usage(None, None)


# --- tries again, or gives up ---


def test_too_many_requests_waits_as_long_as_the_server_says(server: FakeServer) -> None:
    naps = Naps()
    server.script = [error(429, "slow down", Retry_After="7")]
    assert one(server, naps=naps).generation is not None
    assert 7.5 <= naps.taken[0] <= 8.0  # and its own jittered second
    assert 6.0 <= naps.taken[1] <= 7.0  # the other threads are held as long
    assert len(server.posts) == 2


def test_a_date_to_wait_for_is_read_too(server: FakeServer) -> None:
    naps = Naps()
    later = datetime.now(UTC) + timedelta(seconds=100)
    server.script = [error(503, "busy", Retry_After=format_datetime(later, usegmt=True))]
    assert one(server, naps=naps).generation is not None
    assert 60 <= naps.taken[0] <= 102


def test_a_very_long_wait_ends_the_model_for_now(server: FakeServer) -> None:
    server.script = [error(429, "daily limit", Retry_After="3600")]
    with pytest.raises(UserError, match="asks to wait 3600 s"):
        one(server)


def test_server_errors_back_off_and_then_succeed(server: FakeServer) -> None:
    naps = Naps()
    server.script = [error(500, "oops"), error(502, "bad gateway"), Answer("<html>", 503)]
    assert one(server, naps=naps).generation is not None
    assert [low <= nap <= 2 * low for nap, low in zip(naps.taken, (0.5, 1.0, 2.0), strict=True)] == [True] * 3


def test_the_jitter_is_the_requests_own(server: FakeServer) -> None:
    taken = []
    for key in ("a", "b", "a"):
        naps = Naps()
        server.script = [error(500, "oops")]
        one(server, replace(PLAIN, key=key), naps=naps)
        taken.append(naps.taken)
    assert taken[0] == taken[2] != taken[1]


def test_errors_that_last_are_errors_of_the_trial(server: FakeServer) -> None:
    server.reply = lambda asked: error(500, "the GPU is on fire")
    assert failed(one(server, max_retries=2)) == ("generation_failed", "HTTP 500: the GPU is on fire")
    assert len(server.posts) == 3


def test_an_answer_that_is_no_json_is_asked_for_again(server: FakeServer) -> None:
    server.script = [Answer('{"choices": [{"te'), Answer("[]")]
    assert one(server).generation is not None
    server.reply = lambda asked: Answer("nothing")
    assert failed(one(server, max_retries=1)) == ("generation_failed", "the server's answer is no JSON object")


def test_a_timeout_is_an_error_of_the_trial(server: FakeServer) -> None:
    go = threading.Event()

    def reply(asked: Any) -> Answer:
        go.wait()
        return text("late")

    server.reply = reply
    try:
        assert failed(one(server, timeout_s=0.3, max_retries=1)) == ("timeout", "no answer within 0.3 s")
    finally:
        go.set()
    assert len(server.posts) == 2


@pytest.mark.parametrize(
    ("message", "code", "kind"),
    [
        ("Unsupported value: 'temperature'", "unsupported_value", "request_refused"),
        ("This model's maximum context length is 512 tokens.", "", "prompt_too_long"),
        ("too many tokens", "context_length_exceeded", "prompt_too_long"),
        ("prompt is longer than the maximum model length of 4", "", "prompt_too_long"),
    ],
)
def test_a_bad_request_is_not_repeated(server: FakeServer, message: str, code: str, kind: str) -> None:
    server.script = [error(400, message, code)]
    assert failed(one(server)) == (kind, f"HTTP 400: {message}")
    assert len(server.posts) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (error(401, "no key"), "wants a key: set engine.api_key_env"),
        (error(403, "not from your country"), "not from your country"),
        (error(404, "no such model"), "/completions: HTTP 404: no such model"),
        (error(402, "pay"), "the account is at its limit"),
        (error(429, "quota", "insufficient_quota"), "the account is at its limit"),
        (Answer("", 301, {"Location": "https://elsewhere"}), "is elsewhere"),
    ],
)
def test_what_no_request_could_mend_ends_the_model_with_one_line(server: FakeServer, answer: Answer, said: str) -> None:
    server.script = [answer]
    with pytest.raises(UserError, match=said) as caught:
        one(server)
    assert "\n" not in str(caught.value)
    assert len(server.posts) == 1


def test_errors_are_one_printable_line_however_they_are_worded(server: FakeServer) -> None:
    server.script = [Answer({"detail": "a\nb\x1b[31m c"}, 422)]
    assert failed(one(server)) == ("request_refused", "HTTP 422: a b [31m c")


def test_what_has_ended_is_given_before_a_failure_is_raised(server: FakeServer) -> None:
    server.reply = lambda asked: error(401, "gone") if asked["prompt"] == "bad" else text("4")
    made = engine(server, max_in_flight=1)
    requests = [PLAIN, replace(PLAIN, key="bad", prompt="bad")]
    completions = made.generate(requests)
    assert next(completions).key == "k"
    with pytest.raises(UserError):
        next(completions)
    made.close()


def test_no_server_is_the_end_of_the_engine(server: FakeServer) -> None:
    made = engine(server, max_retries=1)
    gone = OpenAiOptions(base_url="http://127.0.0.1:9/v1", max_retries=1)
    made._server = Server(gone, sleep=Naps())
    with pytest.raises(EngineDied, match=r"no server answers at http://127\.0\.0\.1:9/v1"):
        list(made.generate([PLAIN]))
    made.close()
    with pytest.raises(UserError, match="no server answers"):
        find(ModelConfig(name="m"), gone)
    with pytest.raises(EngineDied):
        build(MODEL, replace(gone, max_retries=0), Hardware())


def test_a_closed_server_lets_nobody_wait(server: FakeServer) -> None:
    server.reply = lambda asked: error(500, "oops")
    chosen = options(server)
    real = Server(chosen)  # sleeps for real, until it is closed
    threading.Timer(0.2, real.close).start()
    with pytest.raises(EngineDied, match="closed"):
        real.complete("/completions", {}, 1.0, "k")


# --- pace ---


class Clock:
    def __init__(self) -> None:
        self.now, self.naps = 100.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


def test_requests_are_spread_over_the_minute() -> None:
    clock = Clock()
    pace = Pace(30, None, clock, clock.sleep)
    for _ in range(4):
        pace.take(1000)
    assert clock.naps == [2.0, 2.0, 2.0]
    clock.now += 60  # what is not used is not saved up
    for _ in range(3):
        pace.take(1000)
    assert clock.naps == [2.0] * 5


def test_tokens_are_spread_and_corrected_by_what_was_used() -> None:
    clock = Clock()
    pace = Pace(None, 600, clock, clock.sleep)  # ten a second
    pace.take(50)
    pace.take(20)
    assert clock.naps == [5.0]
    pace.correct(-10)  # the first took 40
    pace.take(0)
    assert clock.naps == [5.0, 1.0]


def test_the_stricter_limit_counts_and_a_hold_stops_all() -> None:
    clock = Clock()
    pace = Pace(60, 60, clock, clock.sleep)
    pace.take(10)
    pace.take(0)
    assert clock.naps == [10.0]
    pace.hold(30)
    pace.hold(5)
    pace.take(0)
    assert clock.naps == [10.0, 30.0]
    Pace(None, None, clock, clock.sleep).take(10**9)
    assert len(clock.naps) == 2


def test_the_engine_keeps_to_its_limits(server: FakeServer) -> None:
    clock = Clock()
    chosen = options(server, requests_per_minute=60.0, tokens_per_minute=1200.0, max_in_flight=1)
    made = OpenAiEngine(MODEL, chosen, Server(chosen, sleep=clock.sleep, clock=clock))
    list(made.generate(replace(PLAIN, key=str(n)) for n in range(4)))
    made.close()
    # 1 request a second, the list of models first; 10 tokens each (usage), 20 a second
    assert clock.naps == [1.0, 1.0, 1.0, 1.0]


def test_no_more_requests_are_under_way_than_allowed(server: FakeServer) -> None:
    gate = threading.Barrier(3, timeout=60)

    def reply(asked: Any) -> Answer:
        gate.wait()  # three at once, or this fails
        return text(asked["prompt"])

    server.reply = reply
    made = engine(server, max_in_flight=3)
    done = list(made.generate(replace(PLAIN, key=str(n), prompt=str(n)) for n in range(9)))
    made.close()
    assert server.most_at_once == 3
    assert {c.key: c.generation.text for c in done if c.generation} == {str(n): str(n) for n in range(9)}


def test_requests_are_drawn_as_room_allows(server: FakeServer) -> None:
    drawn = []

    def requests() -> Iterator[Request]:
        for n in range(50):
            drawn.append(n)
            yield replace(PLAIN, key=str(n))

    made = engine(server, max_in_flight=2)
    completions = made.generate(requests())
    next(completions)
    assert len(drawn) <= 4
    completions.close()  # type: ignore[attr-defined]
    made.close()


# --- models, keys, addresses ---


def test_a_model_is_found_without_weights(server: FakeServer) -> None:
    server.models = [{"id": "org/m", "owned_by": "someone"}]
    found = find(ModelConfig(name="m", path="/nowhere", aligned=True, revision="2024-08-06"), options(server))
    assert (found.name, found.source, found.revision, found.is_local) == ("m", "m", "2024-08-06", False)
    assert find(ModelConfig(name="org/m"), options(server)).revision == ""
    entry = ENGINES.get("openai")
    assert entry.served
    assert not entry.uses_gpu


def test_a_model_that_the_server_has_not_is_named_with_the_nearest(server: FakeServer) -> None:
    server.models = [{"id": "gpt-4o"}, {"id": "gpt-4o-mini"}]
    with pytest.raises(UserError, match=r"unknown model at http.*'gpt4o' - did you mean 'gpt-4o'"):
        find(ModelConfig(name="gpt4o"), options(server))
    server.models = [{"id": f"model-{n}"} for n in range(40)]
    with pytest.raises(UserError, match=r"has no model 'model-x' - did you mean 'model-\d+'\? It lists 40 others"):
        find(ModelConfig(name="model-x"), options(server))


def test_a_server_without_a_list_is_taken_at_its_word(server: FakeServer) -> None:
    server.models = None
    assert find(ModelConfig(name="m"), options(server)).source == "m"


def test_settings_that_contradict_each_other_are_refused(server: FakeServer) -> None:
    with pytest.raises(UserError, match="system_prompt needs"):
        find(ModelConfig(name="m", system_prompt="x"), options(server))


def test_the_context_is_the_servers(server: FakeServer) -> None:
    assert engine(server).max_context > 10**9
    server.models = [{"id": "m", "owned_by": "vllm", "max_model_len": 512}]
    assert engine(server).max_context == 512


def test_a_key_comes_from_the_environment_and_goes_to_the_server_alone(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    server.script = [error(500, f"bad key {KEY}?"), text("4")]
    chosen = options(server, api_key_env="MY_KEY")
    asked = Server(chosen, sleep=Naps())
    made = OpenAiEngine(MODEL, chosen, asked)
    (completion,) = made.generate([PLAIN])
    assert completion.generation is not None
    assert {post.key for post in server.asked} == {f"Bearer {KEY}"}
    server.script = [error(400, f"you said {KEY}")]
    (refused,) = made.generate([PLAIN])
    assert failed(refused) == ("request_refused", "HTTP 400: you said ***")
    server.script = [error(401, f"Incorrect API key provided: {KEY}")]
    with pytest.raises(UserError, match=r"does not accept the key in MY_KEY .*provided: \*\*\*") as caught:
        list(made.generate([PLAIN]))
    made.close()
    shown = [repr(x) for x in (chosen, asked, made, made.info, completion, vars(asked)["_client"], caught.value)]
    assert KEY not in "".join([*shown, caplog.text])


def test_openais_key_goes_to_openai_and_nowhere_else(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert OpenAiOptions(base_url="https://api.openai.com/v1").read_key() == KEY
    assert options(server).read_key() is None
    one(server)
    assert {post.key for post in server.asked} == {None}


@pytest.mark.parametrize(("value", "said"), [(None, "the environment has no MY_KEY"), (" ", "has no MY_KEY")])
def test_a_missing_key_is_one_clear_line(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch, value: str | None, said: str
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(UserError, match=said):
        find(ModelConfig(name="m"), options(server, api_key_env="MY_KEY"))


def test_a_key_that_cannot_be_one_is_not_shown(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "se\u00adcret")
    with pytest.raises(UserError, match="MY_KEY holds characters") as caught:
        options(server, api_key_env="MY_KEY").read_key()
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "engine.base_url is not set"),
        ({"base_url": "api.openai.com/v1"}, "must begin with http"),
        ({"base_url": "ftp://x/v1"}, "must begin with http"),
        ({"base_url": "https://me:secret@x/v1"}, "no user name, password or query"),
        ({"base_url": "https://x/v1?key=secret"}, "no user name, password or query"),
        ({"base_url": "http://x/v1", "api_key_env": "MY_KEY"}, "unencrypted: use https"),
        ({"base_url": "http://api.openai.com/v1"}, "unencrypted"),
        ({"base_url": "https://x/v1", "max_in_flight": 0}, "max_in_flight must be at least 1"),
        ({"base_url": "https://x/v1", "max_retries": -1}, "max_retries must be at least 0"),
        ({"base_url": "https://x/v1", "timeout_s": 0.0}, "timeout_s must be above 0"),
        ({"base_url": "https://x/v1", "tokens_per_minute": -1.0}, "tokens_per_minute must be above 0"),
        ({"base_url": "https://x/v1", "extra_body": {"n": 2}}, "extra_body cannot set n"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        OpenAiOptions(**settings)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://[::1]:8000/v1", "http://localhost/v1"])
def test_a_key_may_go_unencrypted_to_this_machine_or_where_it_is_said(url: str) -> None:
    assert OpenAiOptions(base_url=url, api_key_env="MY_KEY").on_loopback
    assert not OpenAiOptions(base_url="http://x/v1", api_key_env="MY_KEY", insecure_http=True).on_loopback
