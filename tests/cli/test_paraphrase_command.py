"""`paraphrase`: a model writes, what it writes is checked, nothing is asked for twice; a run uses what there is."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_files import Call, Refused
from made_runs import drawn, make_run

from taboo_cluster.paraphrases.checks import COSINE, NUMBERS, UNCHANGED
from taboo_cluster.trial import Item

ITEMS = drawn(6)


def reworded(item: Item) -> str:
    """The same question with a few words in front."""
    return f"Here is what I ask: {item.question}"


def rows(folder: Path) -> list[dict[str, Any]]:
    return pa.concat_tables([pq.read_table(part) for part in sorted(folder.glob("*.parquet"))]).to_pylist()


Command = Callable[..., list[str]]


@pytest.fixture
def command(tmp_path: Path, model_folder: Path) -> Command:
    """The arguments of a command whose writer rewords four questions, repeats one and adds a number to one."""
    lines = {item.question: f"Of course.\n<paraphrase>{reworded(item)}</paraphrase>" for item in ITEMS}
    lines[ITEMS[4].question] = f"<paraphrase>{ITEMS[4].question}</paraphrase>"
    lines[ITEMS[5].question] = f"<paraphrase>{reworded(ITEMS[5])} Or is it 77001?</paraphrase>"
    script = tmp_path / "writer.json"
    script.write_text(json.dumps(lines))

    def arguments(*more: str, limit: int = 6, name: str = "writer") -> list[str]:
        writer = f"{{name: {name}, path: {model_folder}, aligned: true}}"
        engine = ["engine=scripted", f"engine.script_path={script}"]
        own = ["--model", writer, "--out", str(tmp_path / "p"), "--format", "csv"]
        return ["paraphrase", "benchmarks=[arithmetic]", f"limit={limit}", *engine, *own, *more]

    return arguments


def test_what_is_written_is_checked_and_kept_with_who_wrote_it(call: Call, command: Command, tmp_path: Path) -> None:
    status, out, err = call(*command("--kind", "free"))
    assert status == 0
    assert "loading writer to write 6 paraphrases" in err
    assert [line.split(",")[:5] for line in out.splitlines()[1:]] == [
        ["arithmetic", "free", "true", "", "4"],
        ["arithmetic", "free", "false", NUMBERS, "1"],
        ["arithmetic", "free", "false", UNCHANGED, "1"],
    ]
    found = {row["item_id"]: row for row in rows(tmp_path / "p")}
    assert {key: row["paraphrase"] for key, row in found.items() if row["accepted"]} == {
        item.item_id: reworded(item) for item in ITEMS[:4]
    }
    assert found[ITEMS[5].item_id]["paraphrase"].endswith("Or is it 77001?")
    row = found[ITEMS[0].item_id]
    assert row["question"] == ITEMS[0].question
    assert row["completion"].startswith("Of course.")
    who = {name: row[name] for name in ("model", "quantization", "dtype", "engine", "prompt_version", "temperature")}
    assert list(who.values()) == ["writer", "none", "bfloat16", "scripted", "1", 0.0]
    assert row["model_revision"]
    assert (row["top_p"], row["sample_seed"], row["cosine"]) == (None, None, None)


def test_what_is_there_is_not_asked_again(call: Call, command: Command, tmp_path: Path) -> None:
    call(*command("--kind", "free", limit=3))
    again = call(*command("--kind", "free", limit=3))
    assert (again[0], again[2]) == (0, ""), "nothing is loaded where everything is written"
    assert "to write 3 paraphrases" in call(*command("--kind", "free"))[2], "the larger limit holds the smaller one"
    assert "to write 12 paraphrases" in call(*command())[2], "the other two kinds"
    assert Counter(row["kind"] for row in rows(tmp_path / "p")) == {"free": 6, "lexical": 6, "syntactic": 6}


def test_another_writer_or_seed_tries_only_what_was_rejected(call: Call, command: Command, tmp_path: Path) -> None:
    call(*command("--kind", "free"))
    assert "loading other to write 2 paraphrases" in call(*command("--kind", "free", name="other"))[2]
    drawn_anew = ("--kind", "free", "sampling.temperatures=[0.7]", "sampling.seeds=[3]")
    assert "to write 2 paraphrases" in call(*command(*drawn_anew))[2]
    last = [row for row in rows(tmp_path / "p") if row["temperature"] == 0.7]
    assert [(row["top_p"], row["sample_seed"]) for row in last] == [(1.0, 3)] * 2
    assert call(*command(*drawn_anew))[2] == ""


def test_a_writer_that_dies_or_fails_is_gone_on_with(call: Call, command: Command, tmp_path: Path) -> None:
    status, out, err = call(*command("--kind", "free", "engine.die_after=4"))
    assert (status, out) == (2, "")
    assert "the engine of writer is gone" in err.splitlines()[-1]
    assert len(rows(tmp_path / "p")) == 4
    status, _, err = call(*command("--kind", "free", "engine.fail=1.0"))
    assert status == 1
    assert err.count("warning: not written") == 2
    assert len(rows(tmp_path / "p")) == 4, "an error is no paraphrase"
    assert "to write 2 paraphrases" in call(*command("--kind", "free"))[2]


def embedder(monkeypatch: pytest.MonkeyPatch, *vectors: list[float]) -> None:
    """A package whose models give these vectors in turn."""
    module, given = ModuleType("sentence_transformers"), list(vectors)

    class SentenceTransformer:
        def __init__(self, path: str, local_files_only: bool) -> None:
            assert local_files_only

        def encode(self, texts: list[str], normalize_embeddings: bool, show_progress_bar: bool) -> Any:
            assert normalize_embeddings
            return np.array([given.pop(0) for _ in texts], np.float32)

    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


def test_embeddings_are_compared_where_a_model_is_named(
    call: Call, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder(monkeypatch, [1, 0], [0.6, 0.8], [1, 0], [1, 0])
    asked = ("--kind", "free", "--embedding", str(tmp_path), "--least-cosine", "0.7")
    assert call(*command(*asked, limit=2))[0] == 0
    assert sorted((row["accepted"], row["reason"], round(row["cosine"], 6)) for row in rows(tmp_path / "p")) == [
        (False, COSINE, 0.6),
        (True, None, 1.0),
    ]


def test_a_run_uses_the_accepted_ones_and_leaves_the_rest(call: Call, command: Command, tmp_path: Path) -> None:
    call(*command("--kind", "free"))
    stack = f"paraphrase(kind=free,path={tmp_path / 'p'})"
    (tmp_path / "other").mkdir()
    run_dir = tmp_path / "run"
    make_run(run_dir, tmp_path / "mine", "limit=6", "taboo.ranks=[0]", f'conditions=["{stack}"]')
    query = "SELECT item_id, question, changed, perturbations FROM records WHERE condition != 'baseline'"
    found = json.loads(call("sql", str(run_dir), query, "--format", "json")[1])
    assert {row["item_id"]: (row["question"], row["changed"]) for row in found} == {
        item.item_id: (reworded(item), True) if n < 4 else (item.question, False) for n, item in enumerate(ITEMS)
    }
    assert {row["perturbations"][0]["family"] for row in found} == {"paraphrase"}


def test_mistakes_are_one_line(refused: Refused, command: Command, tmp_path: Path) -> None:
    assert "required: --model" in refused("paraphrase", "benchmarks=[arithmetic]")
    assert "whose questions? say it like 'benchmarks=[gsm8k]'" in refused("paraphrase", "--model", "tiny-instruct")
    assert "unknown writer 'tiny-instrct' - did you mean 'tiny-instruct'?" in refused(
        "paraphrase", "benchmarks=[arithmetic]", "--model", "tiny-instrct"
    )
    assert "'replicates=3' has no effect on a writer" in refused(*command("replicates=3"))
    assert "unknown benchmark 'arithmetics'" in refused(*command("benchmarks=[arithmetics]"))
    assert "one of sampling.temperatures" in refused(*command("sampling.temperatures=[0,0.7]"))
    assert "invalid choice: 'loose'" in refused(*command("--kind", "loose"))
    assert "there is no such folder" in refused(*command("--embedding", str(tmp_path / "none")))
    assert not (tmp_path / "p").exists()


def test_a_missing_package_is_one_line(refused: Refused, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    message = refused(*command("--embedding", "."))
    assert "--embedding needs the package sentence-transformers: pip install 'taboo_cluster[embedding]'" in message


def test_programs_have_no_paraphrase(refused: Refused, command: Command, tmp_path: Path) -> None:
    row = {"task_id": "HumanEval/0", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "  return x\n"}
    (tmp_path / "test.jsonl").write_text(json.dumps(row | {"test": "def check(f):\n  assert f(1) == 1\n"}))
    options = ("benchmarks=[humaneval]", f"benchmark.humaneval.path={tmp_path}/test.jsonl")
    assert "humaneval asks for programs: its questions are code and have no paraphrase" in refused(*command(*options))
