"""Taboo through an OpenAI-compatible server: vLLM with our hook, vLLM without it, and any other."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fake_server import Answer, FakeServer, error, serving, text
from openai_calls import CHAT, MODEL, PLAIN, engine, failed, one

from taboo_cluster.canary import CanaryFailed, check_mask
from taboo_cluster.engines.base import Request
from taboo_cluster.engines.openai.answers import Position, interventions
from taboo_cluster.engines.openai.arguments import OpenAiOptions, body
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.taboo.asked import asked_of
from taboo_cluster.trial import Sampling, Taboo


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as fake:
        yield fake


def vllm(server: FakeServer, *, hook: bool, chatting: bool = False) -> None:
    """Make the server speak as vLLM does. Greedy over fixed log-probabilities: tokens 5, 6, 7; masked at the second."""
    server.models = [{"id": "m", "owned_by": "vllm", "max_model_len": 512}]
    steps = [{5: -0.1, 9: -2.5}, {6: -0.5, 8: -1.5, 9: -3.0}, {7: -0.2, 9: -9999.0}]

    def reply(asked: Any) -> Answer:
        rank = json.loads(asked.get("vllm_xargs", {}).get("taboo", '{"rank": 0}'))["rank"]
        if hook and rank < 0:
            return error(400, "taboo.rank must be 0 or more, not -1")
        ids = [5, 8 if hook and rank > 0 else 6, 7]
        choice: dict[str, Any] = {"finish_reason": "stop", "token_ids": ids}
        if asked.get("logprobs"):
            rows = [
                (f"token_id:{i}", step[i], {f"token_id:{t}": p for t, p in step.items()})
                for i, step in zip(ids, steps, strict=True)
            ]
            if chatting:
                content = [
                    {"token": t, "logprob": p, "top_logprobs": [{"token": n, "logprob": q} for n, q in top.items()]}
                    for t, p, top in rows
                ]
                choice["logprobs"] = {"content": content}
            else:
                names = ("tokens", "token_logprobs", "top_logprobs")
                choice["logprobs"] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        choice |= {"message": {"content": "abc"}} if chatting else {"text": "abc"}
        return Answer({"choices": [choice], "usage": {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7}})

    server.reply = reply


@pytest.mark.parametrize("request_", [PLAIN, CHAT])
def test_interventions_are_read_from_nominal_log_probabilities(server: FakeServer, request_: Request) -> None:
    vllm(server, hook=True, chatting=bool(request_.messages))
    made = one(server, replace(request_, taboo=Taboo(1))).generation
    assert made is not None
    assert made.token_ids == (5, 8, 7)
    (step,) = made.steps
    assert (step.position, step.nominal_id, step.emitted_id, step.emitted_rank) == (1, 6, 8, 2)
    assert step.bits == pytest.approx(1.0 / math.log(2))
    assert (step.nominal, made.glued, made.taboo_leak, made.tie_steps, made.skipped_steps) == (None,) * 5
    probe, asked = server.posts
    assert json.loads(probe.body["vllm_xargs"]["taboo"]) == {"rank": -1}
    assert json.loads(asked.body["vllm_xargs"]["taboo"])["rank"] == 1
    assert asked.body["repetition_penalty"] == 1.0


def test_a_server_with_the_hook_passes_the_canary_and_is_asked_for_it_once(server: FakeServer) -> None:
    vllm(server, hook=True)
    made = engine(server)
    assert made.info.masks
    check_mask(made, [PLAIN])
    check_mask(made, [PLAIN])
    made.close()
    assert sum(post.body.get("vllm_xargs") == {"taboo": '{"rank": -1}'} for post in server.posts) == 1


@pytest.mark.parametrize("request_", [PLAIN, CHAT])
def test_vllm_without_the_hook_is_found_by_the_canary(server: FakeServer, request_: Request) -> None:
    vllm(server, hook=False, chatting=bool(request_.messages))
    made = engine(server)
    with pytest.raises(
        UserError, match=r"runs without Taboo's hook, so nothing would be masked: start it with --logits"
    ) as caught:
        check_mask(made, [request_])
    made.close()
    assert "\n" not in str(caught.value)


def test_another_server_is_never_asked_to_mask(server: FakeServer) -> None:
    made = engine(server)
    with pytest.raises(UserError, match="need vLLM's server with Taboo's hook"):
        check_mask(made, [PLAIN])
    made.close()
    assert [post.body.get("vllm_xargs") for post in server.posts] == [None]


def test_a_hook_that_answers_but_does_not_mask_fails_the_canary(server: FakeServer) -> None:
    vllm(server, hook=True)
    real = server.reply

    def reply(asked: Any) -> Answer:
        if asked.get("logprobs"):
            asked = asked | {"vllm_xargs": {}}
        return real(asked)

    server.reply = reply
    made = engine(server)
    with pytest.raises(CanaryFailed, match="never intervened"):
        check_mask(made, [PLAIN])
    made.close()


@pytest.mark.parametrize("given", [None, {"tokens": ["a"], "token_logprobs": [-1.0], "top_logprobs": [{"a": -1.0}]}])
def test_a_server_that_gives_no_log_probabilities_by_id_gives_no_record(server: FakeServer, given: Any) -> None:
    vllm(server, hook=True)
    probed = server.reply
    server.reply = lambda asked: text("abc", logprobs=given, token_ids=[5]) if asked.get("logprobs") else probed(asked)
    error_type, message = failed(one(server, replace(PLAIN, taboo=Taboo(1))))
    assert error_type == "generation_failed"
    assert "interventions are not known" in str(message)


def test_an_old_vllm_without_token_ids_is_refused(server: FakeServer) -> None:
    vllm(server, hook=True)
    real = server.reply

    def reply(asked: Any) -> Answer:
        answer = real(asked)
        if answer.status == 200:
            del answer.body["choices"][0]["token_ids"]
        return answer

    server.reply = reply
    with pytest.raises(UserError, match="gives no token ids"):
        one(server, replace(PLAIN, taboo=Taboo(1)))


def test_what_cannot_be_known_is_refused(server: FakeServer) -> None:
    vllm(server, hook=True)
    with pytest.raises(UserError, match="needs greedy decoding"):
        one(server, replace(PLAIN, taboo=Taboo(1), sampling=Sampling(0.7, seed=1)))
    assert server.posts == []
    made = one(server, replace(PLAIN, entropy=True)).generation
    assert made is not None
    assert (made.entropy_mean, made.entropy_word_start) == (None, None)


def test_interventions_edge_cases() -> None:
    tie = Position(6, {5: -1.0, 6: -1.0, 7: -2.0})  # the lower id is nominal: one bit of nothing is paid
    lower = Position(5, {5: -1.0, 6: -1.0})
    deep = Position(9, {5: -1.0, 6: -2.0, 9: -8.0})  # below all that are seen: its rank is not known
    never = Position(9, {5: -1.0, 9: -math.inf, 6: -2.0})
    found = list(interventions([tie, lower, deep, never]))
    assert [(s.position, s.nominal_id, s.emitted_id, s.emitted_rank, s.bits) for s in found] == [
        (0, 5, 6, 2, 0.0),
        (2, 5, 9, None, 7.0 / math.log(2)),
        (3, 5, 9, None, None),
    ]


def test_the_hook_understands_what_it_is_sent() -> None:
    class Params:
        n = 1

        def __init__(self, request: Request) -> None:
            asked = body(MODEL, OpenAiOptions(base_url="http://localhost/v1"), request, on_vllm=True)
            self.extra_args = asked["vllm_xargs"]

    sparse = Taboo(2, "sparse(p=0.3)", "unicode", True, "after_think")
    asked = asked_of(Params(replace(PLAIN, taboo=sparse)))  # type: ignore[arg-type]
    assert asked is not None
    assert (asked.taboo, asked.key) == (sparse, None)
    other = asked_of(Params(replace(PLAIN, prompt="3 + 3 =", taboo=sparse)))  # type: ignore[arg-type]
    assert other is not None
    assert asked.seed != other.seed
    budget = asked_of(Params(replace(PLAIN, taboo=Taboo(1, "bit_budget(bits=2)"))))  # type: ignore[arg-type]
    assert budget is not None
    assert budget.key == "k"


def test_reading_raises_for_what_is_not_there() -> None:
    from taboo_cluster.engines.openai.answers import positions

    with pytest.raises(TrialError):
        positions({"logprobs": {"content": [{"token": "token_id:x", "logprob": 0.0, "top_logprobs": []}]}})
