"""Hub names end to end, against a server on the loopback interface that speaks as much of the hub as loading needs.

Each case runs in a process of its own: the hub's clients read HF_ENDPOINT and HF_HOME once, when they are imported.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

COMMIT, OLD_COMMIT = "a" * 40, "b" * 40
MODEL, DATASET, GATED = "models/tiny/llama", "datasets/openai/gsm8k", "datasets/Idavidrein/gpqa"
QUESTION = "Ann has 2 pens and buys 3. How many pens has she?"


@dataclass
class Hub:
    """Repositories by kind and name, each a set of files by revision."""

    repos: dict[str, dict[str, dict[str, bytes]]]
    gated: frozenset[str] = frozenset()
    """Repositories whose files need a token."""
    requests: list[str] = field(default_factory=list)
    url: str = ""

    def files(self, repo: str, revision: str) -> tuple[str, dict[str, bytes]] | None:
        commit = {"main": COMMIT, "v1": OLD_COMMIT}.get(revision, revision)
        files = self.repos[repo].get(commit)
        return (commit, files) if files is not None else None


def handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def send(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = unquote(urlsplit(self.path).path).strip("/")
            hub.requests.append(f"{self.command} {path}")
            api = path.startswith("api/")
            path = path.removeprefix("api/")
            if not path.startswith(("models/", "datasets/")):
                path = f"models/{path}"
            repo, rest = "/".join(path.split("/")[:3]), path.split("/")[3:]
            if repo not in hub.repos:
                return self.send(404, b"{}", X_Error_Code="RepoNotFound")
            found = hub.files(repo, rest[1] if len(rest) > 1 else "main")
            if found is None:
                return self.send(404, b"{}", X_Error_Code="RevisionNotFound")
            commit, files = found
            if not api and repo in hub.gated and "Authorization" not in self.headers:
                return self.send(401, b"{}", X_Error_Code="GatedRepo")
            if not api:
                return self.file(files.get("/".join(rest[2:])), commit)
            kind, inside = (rest[0] if rest else "revision"), "/".join(rest[2:])
            if kind == "paths-info":
                posted = body.decode()
                wanted = json.loads(posted)["paths"] if posted.startswith("{") else parse_qs(posted).get("paths", [])
                return self.json([entry(name, files[name]) for name in wanted if name in files])
            if kind == "tree":
                return self.json([entry(name, data) for name, data in files.items() if name.startswith(inside)])
            siblings = [{"rfilename": name} for name in files]
            return self.json({"id": repo.split("/", 1)[1], "sha": commit, "siblings": siblings, "tags": []})

        def json(self, value: object) -> None:
            self.send(200, json.dumps(value).encode(), Content_Type="application/json")

        def file(self, data: bytes | None, commit: str) -> None:
            if data is None:
                return self.send(404, b"", X_Error_Code="EntryNotFound")
            etag = hashlib.sha1(data).hexdigest()
            self.send(200, data, X_Repo_Commit=commit, ETag=f'"{etag}"', Accept_Ranges="none")

    def entry(name: str, data: bytes) -> dict[str, object]:
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

    return Handler


def row(question: str, answer: str) -> str:
    return json.dumps({"question": question, "answer": answer}) + "\n"


def tiny_model(folder: Path) -> dict[str, bytes]:
    """The files of a very small Llama with random weights and a byte-level tokenizer."""
    alphabet = sorted(ByteLevel.alphabet())
    bytewise = Tokenizer(BPE({piece: n for n, piece in enumerate(["<|end|>", *alphabet])}, []))
    bytewise.pre_tokenizer = ByteLevel(add_prefix_space=False)
    bytewise.decoder = ByteLevelDecoder()
    PreTrainedTokenizerFast(tokenizer_object=bytewise, eos_token="<|end|>").save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(alphabet) + 1,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        bos_token_id=None,
        eos_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    files = tiny_model(tmp_path_factory.mktemp("model"))
    card = b"---\nconfigs:\n- config_name: main\n  data_files:\n  - split: test\n    path: main/test.jsonl\n---\n"
    new = row(QUESTION, "2 + 3 = 5\n#### 5") + row("And 1 + 1?", "#### 2")
    old = row(QUESTION, "2 + 3 = 5\n#### 5")
    gated = {
        "README.md": b"---\nconfigs:\n- config_name: gpqa_diamond\n  data_files: gpqa_diamond.csv\n---\n",
        "gpqa_diamond.csv": b"Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n"
        b"What decays?,muon,proton,electron,photon\n",
        "gpqa_main.csv": b"not asked for",
    }
    hub = Hub(
        {
            MODEL: {COMMIT: files, OLD_COMMIT: files},
            DATASET: {
                COMMIT: {"README.md": card, "main/test.jsonl": new.encode()},
                OLD_COMMIT: {"README.md": card, "main/test.jsonl": old.encode()},
            },
            GATED: {COMMIT: gated},
        },
        gated=frozenset({GATED}),
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(hub))
    hub.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield hub
    server.shutdown()


def run(home: Path, *calls: str, **environment: str) -> list[Any]:
    """Results of `calls` in a fresh process; a UserError is its message."""
    program = f"""
import json, sys
from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.config import ModelConfig
from taboo_cluster.errors import UserError
from taboo_cluster.models import load_tokenizer, resolve

def model(name="tiny/llama", **settings):
    return resolve(ModelConfig(name=name, **settings))

def tokens():
    return load_tokenizer(model()).convert_ids_to_tokens(load_tokenizer(model())("x y").input_ids)

def generated():
    from taboo_cluster.engines.base import ENGINES, Hardware, Request
    entry = ENGINES.get("transformers")
    engine = entry.build(model(dtype="float32"), entry.options(), Hardware())
    (done,) = engine.generate([Request("k", "x", tuple(engine.tokenizer("x").input_ids), max_tokens=4)])
    return done.generation.token_ids

def items(name="gsm8k", **options):
    entry = BENCHMARKS.get(name)
    return sorted([item.question, item.gold] for item in entry.build(entry.options(**options)).items())

def result(call):
    try:
        return call()
    except UserError as error:
        return str(error)

print(json.dumps([{", ".join(f"result(lambda: {call})" for call in calls)}]))
"""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**clean, "HF_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_models_by_name_online_and_again_from_the_cache(hub: Hub, tmp_path: Path) -> None:
    calls = ("vars(model())", "tokens()", "generated()")
    wrong = ("model('tiny/lama')", "model(revision='v9')", "model('a/b/c')")
    resolved, tokens, generated, tag, *errors = run(
        tmp_path, *calls, "model(revision='v1').revision", *wrong, HF_ENDPOINT=hub.url
    )
    assert (resolved["revision"], resolved["source"], resolved["is_local"]) == (COMMIT, "tiny/llama", False)
    assert tokens == ["x", "Ġ", "y"]
    assert 1 <= len(generated) <= 4
    assert tag == OLD_COMMIT
    assert "no model 'tiny/lama' on the hub" in errors[0]
    assert "tiny/llama has no revision 'v9'" in errors[1]
    assert "'a/b/c' is no name of a model on the hub" in errors[2]

    asked = len(hub.requests)
    *offline, no_model, no_data = run(
        tmp_path, *calls, "model('tiny/lama')", "items()", HF_HUB_OFFLINE="1", HF_ENDPOINT=hub.url
    )
    assert offline == [resolved, tokens, generated]
    assert "model tiny/lama is not in the local cache" in no_model
    assert "data set openai/gsm8k is not in the local cache" in no_data
    assert len(hub.requests) == asked
    assert not any("\n" in message for message in (*errors, no_model, no_data))


def test_gsm8k_by_name_online_and_again_from_the_cache(hub: Hub, tmp_path: Path) -> None:
    both = sorted([[QUESTION, "5"], ["And 1 + 1?", "2"]])
    found, old, no_split = run(tmp_path, "items()", "items(revision='v1')", "items(split='tset')", HF_ENDPOINT=hub.url)
    assert found == both
    assert old == [[QUESTION, "5"]]
    assert "tset" in no_split
    assert "test" in no_split
    assert "\n" not in no_split
    assert run(tmp_path, "items()", "items(revision='v1')", HF_HUB_OFFLINE="1") == [both, old]


def test_gated_gpqa_says_so_and_loads_with_a_token(hub: Hub, tmp_path: Path) -> None:
    (refused,) = run(tmp_path, "items('gpqa')", HF_ENDPOINT=hub.url)
    assert refused == "data set Idavidrein/gpqa is gated: accept its terms on the hub and log in (`hf auth login`)"
    ((item,),) = run(tmp_path, "items('gpqa')", HF_ENDPOINT=hub.url, HF_TOKEN="hf_made_up")
    assert item[0] == "What decays?"
    assert item[1] in "ABCD"
    assert run(tmp_path, "items('gpqa')", HF_HUB_OFFLINE="1") == [[item]]
    assert not any("gpqa_main" in request for request in hub.requests)
