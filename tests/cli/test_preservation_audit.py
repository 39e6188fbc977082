"""`audit --perturbations`: a judge model and people on a run's perturbed texts."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from command_files import Call, Refused
from made_runs import table

from taboo_cluster.records.schema import TABLES, arrow_schema
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import write_table

TYPOS, MERGE = "typos(rate=0.1)", "word_merge(rate=0.2)"
NAMES = [f"i{n}" for n in range(10)]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A run of ten items under two stacks: typos changed all, word_merge the first four."""
    run_dir = tmp_path / "texts"
    run_dir.mkdir()
    (run_dir / "config.yaml").write_text("sweep: brittleness\n")
    row = {"benchmark": "gsm8k", "split": "test", "perturbation_seed": 5, "gold": "3"}
    rows = [
        row
        | {"item_id": name, "perturbations": stack, "changed": stack == TYPOS or n < 4}
        | {"clean": f"Clean {name}?", "question": f"{stack} of {name}?"}
        for stack in (TYPOS, MERGE)
        for n, name in enumerate(NAMES)
    ]
    made = pa.Table.from_pylist(rows, schema=arrow_schema(TABLES["texts"]))
    write_table(Store.open(str(run_dir)), "tables/texts/part-a.parquet", made)
    return run_dir


Audit = Callable[..., list[str]]


@pytest.fixture
def audit(tmp_path: Path, model_folder: Path, texts: Path) -> Audit:
    """The arguments of an audit: typos keep i0 to i7 and lose i8, of i9 nothing clear is said; merges keep all."""
    lines = {f"{TYPOS} of {name}?": "So.\nVERDICT: KEPT" for name in NAMES[:8]}
    lines |= {f"{TYPOS} of i8?": "No.\nVERDICT: LOST", f"{TYPOS} of i9?": "Hm."}
    lines |= {f"{MERGE} of {name}?": "So.\nVERDICT: KEPT" for name in NAMES}
    script = tmp_path / "judge.json"
    script.write_text(json.dumps(lines))

    def arguments(*more: str) -> list[str]:
        judge = f"{{name: judge, path: {model_folder}, aligned: true}}"
        engine = ["engine=scripted", f"engine.script_path={script}"]
        return ["audit", "--perturbations", str(texts), "--judge", judge, *engine, *more]

    return arguments


def rows(out: str) -> dict[str, dict[str, str]]:
    """Lines of the first table by their first column; columns stand two spaces or more apart."""
    split = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in out.split("\n\n")[0].splitlines()]
    return {line[0]: dict(zip(split[0], line, strict=True)) for line in split[1:]}


def fill(texts: Path, call: Call, name: str, verdict: Callable[[dict[str, str]], str], *more: str) -> str:
    """A form that somebody has filled."""
    path = texts.parent / f"{name}.csv"
    status, out, _ = call("audit", str(texts), "--perturbations", "--write-csv", str(path), *more)
    assert status == 0
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    assert out == f"{len(lines)} texts in {path}\n"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows([line | {"verdict": verdict(line)} for line in lines])
    return str(path)


def test_share_kept_by_stack_beside_the_papers(call: Call, audit: Audit, texts: Path) -> None:
    """Typos: 8 of 9 with a verdict, Wilson (0.5650, 0.9801); merges: 4 of 4, (0.5101, 1); an item comes in twice."""
    status, out, err = call(*audit())
    assert status == 0
    assert "loading judge to judge 14 perturbed texts" in err
    found = rows(out)
    assert list(found) == [TYPOS, MERGE, "all", "the paper"]
    typos, merge, every, paper = found.values()
    assert [typos[name] for name in ("n", "kept", "ci_low", "ci_high", "interval", "n_no_verdict")] == [
        *("9", "0.8889", "0.565", "0.9801", "wilson", "1"),
    ]
    assert [merge[name] for name in ("n", "kept", "ci_low", "ci_high")] == ["4", "1", "0.5101", "1"]
    assert (every["n"], every["kept"], every["interval"], every["n_not_rated"]) == ("13", "0.9231", "bootstrap", "0")
    assert [paper[name] for name in ("n", "kept", "kappa", "alpha", "cosine")] == [
        *("2400", "0.998", "0.714", "0.833", "0.962"),
    ]
    assert out.split("\n\n")[1].splitlines()[1].split() == ["gsm8k", "test", "i8", TYPOS, "5", "judge"]
    kept = table(texts, "preservation")
    assert Counter(row["verdict"] for row in kept) == {"kept": 12, "lost": 1, None: 1}
    assert {(row["rater"], row["rater_kind"], row["engine"]) for row in kept} == {("judge", "model", "scripted")}


def test_a_sample_by_stack_and_what_is_judged_is_not_judged_again(call: Call, audit: Audit, texts: Path) -> None:
    small = call(*audit("--per-cell", "2"))
    assert "to judge 4 perturbed texts" in small[2]
    assert call(*audit("--per-cell", "2")) == (0, small[1], ""), "nothing is loaded where everything is judged"
    assert "to judge 2 perturbed texts" in call(*audit("--n", "6"))[2]
    assert len(table(texts, "preservation")) == 6
    first = {line["text_id"] for line in _form(call, texts, "--per-cell", "2", "--seed", "1")}
    assert first != {line["text_id"] for line in _form(call, texts, "--per-cell", "2", "--seed", "2")}


def _form(call: Call, texts: Path, *more: str) -> list[dict[str, str]]:
    path = texts.parent / f"{'-'.join(more)}.csv"
    call("audit", str(texts), "--perturbations", "--write-csv", str(path), *more)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_a_changed_text_is_judged_anew(call: Call, audit: Audit, texts: Path) -> None:
    call(*audit())
    row = {"benchmark": "gsm8k", "split": "test", "perturbation_seed": 5, "gold": "3", "item_id": "i0"}
    row |= {"perturbations": TYPOS, "changed": True, "clean": "Clean i0?", "question": "another i0?"}
    made = pa.Table.from_pylist([row], schema=arrow_schema(TABLES["texts"]))
    write_table(Store.open(str(texts)), "tables/texts/part-b.parquet", made)
    assert "to judge 1 perturbed texts" in call(*audit())[2]


def test_people_and_a_judge_together(call: Call, audit: Audit, texts: Path) -> None:
    """Typos. judge: kkkkkkkkl?, ada: all kept but i8 and i9, ben: all kept but i8, i9 not rated.

    Judge and ada: 9 texts, all alike, 8 kept and 1 lost: kappa 1.
    """
    ada = fill(texts, call, "ada", lambda line: "lost" if line["item_id"] in ("i8", "i9") else "kept")
    ben = fill(texts, call, "ben", lambda line: {"i8": "Lost", "i9": ""}.get(line["item_id"], "Kept"))
    status, out, _ = call(*audit("--human", ada, ben))
    assert status == 0
    typos = rows(out)[TYPOS]
    assert (typos["n"], typos["kept"], typos["alpha"], typos["kappa"]) == ("10", "0.8", "1", "-")
    agreed = [line.split() for line in out.split("\n\n")[1].splitlines()]
    assert agreed[0][:4] == ["rater", "other", "n", "agreement"]
    assert [line[:4] for line in agreed[1:]] == [
        ["judge", "ada", "13", "1"],
        ["judge", "ben", "13", "1"],
        ["ada", "ben", "13", "1"],
    ]
    by = Counter((row["rater"], row["rater_kind"]) for row in table(texts, "preservation"))
    assert by == {("judge", "model"): 14, ("ada", "human"): 14, ("ben", "human"): 13}
    call(*audit("--human", ada, ben))
    assert len(table(texts, "preservation")) == 41, "what is recorded already is not recorded again"


def test_two_people_without_a_model_have_a_kappa(call: Call, texts: Path) -> None:
    ada = fill(texts, call, "ada", lambda line: "lost" if line["item_id"] == "i0" else "kept", "--per-cell", "4")
    ben = fill(texts, call, "ben", lambda line: "kept", "--per-cell", "4")
    status, out, err = call("audit", str(texts), "--perturbations", "--human", ada, "--human", ben)
    assert (status, err) == (0, "")
    merge = rows(out)[MERGE]
    assert (merge["n"], merge["kept"], merge["kappa"]) == ("4", "0.75", "0")


def test_failures_of_the_judge_are_counted_and_tried_again(call: Call, audit: Audit, texts: Path) -> None:
    status, out, err = call(*audit("engine.fail=0.5"))
    failed = err.count("warning: not judged: gsm8k test i")
    assert (status, 0 < failed < 14) == (1, True)
    assert rows(out)["all"]["n_not_rated"] == str(failed)
    assert f"to judge {failed} perturbed texts" in call(*audit())[2]


def test_mean_cosine_where_a_model_is_named(
    call: Call, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("sentence_transformers")

    class SentenceTransformer:
        def __init__(self, path: str, local_files_only: bool) -> None: ...

        def encode(self, given: list[str], normalize_embeddings: bool, show_progress_bar: bool) -> Any:
            near = {True: [1.0, 0.0], False: [0.8, 0.6]}
            return np.array([near[text.startswith(("Clean", "word"))] for text in given])

    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    status, out, _ = call("audit", str(texts), "--perturbations", "--embedding", str(tmp_path))
    assert status == 0
    found = rows(out)
    assert (found[TYPOS]["cosine"], found[MERGE]["cosine"], found["all"]["cosine"]) == ("0.8", "1", "0.8571")
    assert (found[TYPOS]["n"], found[TYPOS]["kept"]) == ("0", "-")


def test_mistakes_are_one_line(refused: Refused, audit: Audit, texts: Path, run_dir: Path, tmp_path: Path) -> None:
    run = str(texts)
    assert "who is to check the texts? add --judge MODEL, or one of --human" in refused("audit", run, "--perturbations")
    assert "--human is for perturbed texts: add --perturbations" in refused("audit", run, "--human", "x.csv")
    assert "x.csv cannot be read" in refused("audit", run, "--perturbations", "--human", str(tmp_path / "x.csv"))
    assert "no such run directory" in refused("audit", str(tmp_path / "no"), "--perturbations", "--human", "x.csv")
    judge = ("--judge", "tiny-instruct", "engine=scripted")
    assert "holds no perturbed text that differs" in refused("audit", str(run_dir), "--perturbations", *judge)
    assert "'limit=3' has no effect on a judge" in refused(*audit("limit=3"))
    assert not (texts / "tables" / "preservation").exists()


def test_two_forms_of_one_name_are_one_line(refused: Refused, call: Call, texts: Path) -> None:
    ada = fill(texts, call, "ada", lambda line: "kept")
    assert "two of the --human files have one name" in refused(
        "audit", str(texts), "--perturbations", "--human", ada, ada
    )
