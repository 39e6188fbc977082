"""`vllm serve` with the hook, as docs/vllm.md shows it: a server on loopback and a client over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed")

from vllm_server import serving

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]
MODEL = Path(str(files("taboo_cluster"))) / "embedded" / "tiny-instruct"
PROMPT = "Question: Tom has 3 apples and buys 4 more. How many apples does he have?\nAnswer:"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving(MODEL, "tiny", max_model_len=512) as url:
        yield url


def complete(server: str, taboo: Any = None, **settings: Any) -> dict[str, Any]:
    body = {"model": "tiny", "prompt": PROMPT, "temperature": 0, "max_tokens": 24, "logprobs": 1, **settings}
    if taboo is not None:
        body["vllm_xargs"] = {"taboo": json.dumps(taboo)}
    request = urllib.request.Request(
        f"{server}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        choice: dict[str, Any] = json.load(answer)["choices"][0]
    return choice


def test_a_request_that_asks_is_masked_and_one_that_does_not_is_left_alone(server: str) -> None:
    plain, none, masked = complete(server), complete(server, {"rank": 0}), complete(server, {"rank": 1})
    assert plain["text"] == none["text"]
    assert masked["text"] != plain["text"]
    # Raw log-probabilities: where the emitted token is not the best one, the difference is the price of the detour.
    logprobs = masked["logprobs"]
    prices = [
        max(best.values()) - own for best, own in zip(logprobs["top_logprobs"], logprobs["token_logprobs"], strict=True)
    ]
    assert any(price > 0 for price in prices)
    plain_logprobs = plain["logprobs"]
    assert plain_logprobs["token_logprobs"] == [max(best.values()) for best in plain_logprobs["top_logprobs"]]


def test_triggers_and_word_starts_travel_with_the_request(server: str) -> None:
    texts = {
        complete(server, {"rank": 1, "word_start": "unicode"})["text"],
        complete(server, {"rank": 1, "trigger": "mid_word"})["text"],
        complete(server, {"rank": 1, "trigger": "sparse(p=0.3)", "seed": 5})["text"],
        complete(server, {"rank": 1, "trigger": "bit_budget(bits=2)", "key": "mine"})["text"],
    }
    assert len(texts) >= 3


@pytest.mark.parametrize(
    ("taboo", "message"),
    [
        ({"rank": -1}, "taboo.rank must be 0 or more, not -1"),
        ({"rnk": 1}, "unknown taboo setting 'rnk'"),
        ({"rank": 1, "trigger": "sprse"}, "unknown trigger 'sprse' - did you mean 'sparse'"),
        ({"rank": 1, "trigger": "bit_budget"}, "needs taboo.key"),
    ],
)
def test_a_bad_value_is_answered_with_http_400_and_one_line(server: str, taboo: dict[str, Any], message: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        complete(server, taboo)
    assert caught.value.code == 400
    assert message in json.loads(caught.value.read())["error"]["message"]
    assert complete(server)["text"]
