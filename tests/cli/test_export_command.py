"""`export`: correct detours as JSONL or Parquet."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from command_files import Call, Refused, model_at
from made_runs import digests, drawn, make_run

from taboo_cluster.analysis.database import open_runs, select
from taboo_cluster.benchmarks.base import BENCHMARKS, Verdict
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.trial import Item


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Item]]:
    """Four items, right at both ranks, but for one that is wrong at both."""
    folder = tmp_path_factory.mktemp("original")
    script = {item.question: f"So, it is {item.gold if n < 3 else 7777}." for n, item in enumerate(drawn(4))}
    return folder / "run", make_run(folder / "run", model_at(folder / "mine"), "limit=4", script=script)


@pytest.fixture
def made(tmp_path: Path, original: tuple[Path, list[Item]]) -> tuple[Path, list[Item]]:
    """The test's own copy."""
    return shutil.copytree(original[0], tmp_path / "run"), original[1]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def change(run_dir: Path, where: str, **values: object) -> None:
    """Write a later attempt of one trial, with other values."""
    with open_runs([str(run_dir)], texts=True) as connection:
        row = select(connection, f"SELECT * FROM recorded WHERE {where} LIMIT 1").to_pylist()[0]
    row = {column.name: row[column.name] for column in RECORD} | {"attempt": row["attempt"] + 1} | values
    with PartWriter(str(run_dir / "records" / "mine"), f"part-z{row['attempt']}", RECORD) as writer:
        writer.add(row)


def test_a_row_holds_prompt_both_texts_ranks_and_bits(
    call: Call, made: tuple[Path, list[Item]], tmp_path: Path
) -> None:
    run_dir, items = made
    change(run_dir, f"item_id = '{items[0].item_id}' AND taboo_rank = 0", completion="Undisturbed: 1.")
    files, out = digests(run_dir), tmp_path / "detours.jsonl"
    status, printed, err = call("export", str(run_dir), "--out", str(out))
    assert (status, printed, err) == (0, "", f"3 correct detours written to {out}\n")
    rows = {row["item_id"]: row for row in lines(out)}
    assert rows.keys() == {item.item_id for item in items[:3]}
    row = rows[items[0].item_id]
    expected = {
        "model": "mine",
        "benchmark": "arithmetic",
        "condition": "taboo(rank=1)",
        "taboo_rank": 1,
        "taboo_trigger": "word_start",
        "question": items[0].question,
        "gold": items[0].gold,
        "baseline": "Undisturbed: 1.",
        "baseline_correct": True,
        "detour": f"So, it is {items[0].gold}.",
        "answer": items[0].gold,
        "interventions": 3,
        "ranks": [2, 2, 2],
        "bits": [1.0, 1.0, 1.0],
        "surprisal_total": 3.0,
        "surprisal_mean": 1.0,
    }
    assert {name: row[name] for name in expected} == expected
    assert row["prompt"].endswith(f"Question: {items[0].question}\nAnswer:")
    assert "steps" not in row
    assert digests(run_dir) == files


def test_a_detour_from_a_wrong_baseline_only_where_asked_for(
    call: Call, made: tuple[Path, list[Item]], tmp_path: Path
) -> None:
    run_dir, items = made
    change(run_dir, f"item_id = '{items[0].item_id}' AND taboo_rank = 0", correct=False, outcome="wrong")
    out = tmp_path / "detours.jsonl"
    call("export", str(run_dir), "--out", str(out))
    assert [row["baseline_correct"] for row in lines(out)] == [True, True]
    call("export", str(run_dir), "--out", str(out), "--any-baseline", "--force")
    assert {row["item_id"]: row["baseline_correct"] for row in lines(out)} == {
        items[0].item_id: False,
        items[1].item_id: True,
        items[2].item_id: True,
    }


def test_a_correct_text_without_an_intervention_is_no_detour(
    call: Call, made: tuple[Path, list[Item]], tmp_path: Path
) -> None:
    run_dir, items = made
    change(run_dir, f"item_id = '{items[0].item_id}' AND taboo_rank = 1", interventions=0, steps=[])
    out = tmp_path / "detours.jsonl"
    call("export", str(run_dir), "--out", str(out))
    assert {row["item_id"] for row in lines(out)} == {items[1].item_id, items[2].item_id}


def test_parquet_holds_the_same_rows(call: Call, made: tuple[Path, list[Item]], tmp_path: Path) -> None:
    run_dir, _ = made
    call("export", str(run_dir), "--out", str(tmp_path / "d.jsonl"), "--steps")
    call("export", str(run_dir), "--out", str(tmp_path / "d.parquet"), "--steps")
    rows = pq.read_table(tmp_path / "d.parquet").to_pylist()
    assert rows == lines(tmp_path / "d.jsonl")
    assert [step["bits"] for step in rows[0]["steps"]] == rows[0]["bits"]


def test_the_rows_come_in_one_order(call: Call, made: tuple[Path, list[Item]], tmp_path: Path) -> None:
    run_dir, _ = made
    for name in ("a", "b"):
        call("export", str(run_dir), "--out", str(tmp_path / f"{name}.jsonl"))
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    ids = [row["item_id"] for row in lines(tmp_path / "a.jsonl")]
    assert ids == sorted(ids)


def test_no_character_of_a_text_ends_its_line(call: Call, made: tuple[Path, list[Item]], tmp_path: Path) -> None:
    run_dir, items = made
    text = "a\nb\u2028c\x85d\x0be\u00e9 \U0001f600"
    change(run_dir, f"item_id = '{items[0].item_id}' AND taboo_rank = 1", completion=text)
    out = tmp_path / "detours.jsonl"
    call("export", str(run_dir), "--out", str(out))
    assert len(out.read_text().splitlines()) == 3
    assert text in {row["detour"] for row in lines(out)}


def test_steps_that_were_not_recorded_are_null(call: Call, made: tuple[Path, list[Item]], tmp_path: Path) -> None:
    run_dir, items = made
    change(run_dir, f"item_id = '{items[0].item_id}' AND taboo_rank = 1", steps=None)
    out = tmp_path / "detours.jsonl"
    call("export", str(run_dir), "--out", str(out))
    rows = {row["item_id"]: row for row in lines(out)}
    assert (rows[items[0].item_id]["ranks"], rows[items[0].item_id]["bits"]) == (None, None)
    assert rows[items[0].item_id]["interventions"] == 3


def test_a_part_beside_the_merged_one_doubles_nothing(
    call: Call, made: tuple[Path, list[Item]], tmp_path: Path
) -> None:
    run_dir, _ = made
    (part,) = (run_dir / "records").rglob("*.parquet")
    part.with_name("part-merged-000099.parquet").write_bytes(part.read_bytes())
    assert "3 correct" in call("export", str(run_dir), "--out", str(tmp_path / "d.jsonl"))[2]


def test_the_verdict_is_the_one_that_views_show(
    call: Call, refused: Refused, made: tuple[Path, list[Item]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir, _ = made
    entry = BENCHMARKS.get("arithmetic")
    kind = type(entry.build(entry.options()))
    monkeypatch.setattr(kind, "canaries", lambda self: ())
    monkeypatch.setattr(kind, "score", lambda self, item, text, why: Verdict("wrong", "x", 0.0))
    call("rescore", str(run_dir))
    assert "holds no correct detour" in refused("export", str(run_dir), "--out", str(tmp_path / "d.jsonl"))


def test_a_file_that_exists_is_kept_unless_told_otherwise(
    call: Call, refused: Refused, made: tuple[Path, list[Item]], tmp_path: Path
) -> None:
    run_dir, _ = made
    out = tmp_path / "d.jsonl"
    out.write_text("mine")
    assert f"{out} exists: name another file, or replace it with --force" in refused(
        "export", str(run_dir), "--out", str(out)
    )
    assert out.read_text() == "mine"
    assert call("export", str(run_dir), "--out", str(out), "--force")[0] == 0
    assert len(lines(out)) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "run"]


def test_a_file_appears_whole_or_not_at_all(
    call: Call, made: tuple[Path, list[Item]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir, _ = made

    def interrupted(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("taboo_cluster.exporting.json.dumps", interrupted)
    assert call("export", str(run_dir), "--out", str(tmp_path / "d.jsonl"))[0] == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_a_relative_name_is_in_the_current_directory(
    call: Call, made: tuple[Path, list[Item]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("export", str(made[0]), "--out", "d.jsonl")[0] == 0
    assert len(lines(tmp_path / "d.jsonl")) == 3


def test_mistakes_are_one_line(refused: Refused, made: tuple[Path, list[Item]], tmp_path: Path) -> None:
    run = str(made[0])
    assert "must end in .jsonl or .parquet" in refused("export", run, "--out", str(tmp_path / "d.csv"))
    assert "no such run directory" in refused("export", str(tmp_path / "none"), "--out", str(tmp_path / "d.jsonl"))
    assert f"cannot write {tmp_path}/no/d.jsonl" in refused("export", run, "--out", str(tmp_path / "no" / "d.jsonl"))
    assert "required: --out" in refused("export", run)


def test_a_run_without_detours_says_so(call: Call, refused: Refused, tmp_path: Path, run_dir: Path) -> None:
    line = refused("export", str(run_dir), "--out", str(tmp_path / "d.jsonl"))
    assert "holds no correct detour whose baseline is correct too; --any-baseline takes the others as well" in line


def test_run_and_file_may_lie_in_an_object_store(call: Call, made: tuple[Path, list[Item]]) -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    store.put(f"{made[0]}/", "/bucket/run/", recursive=True)
    assert call("export", "memory://bucket/run", "--out", "memory://bucket/d.jsonl")[0] == 0
    assert len(store.cat("/bucket/d.jsonl").splitlines()) == 3
    before = {name: store.cat(name) for name in store.find("/bucket/run/records")}
    assert call("rescore", "memory://bucket/run")[2].startswith("8 completions scored")
    assert store.find("/bucket/run/tables/scores")
    assert {name: store.cat(name) for name in store.find("/bucket/run/records")} == before
    assert call("audit", "memory://bucket/run", "--judge", "tiny-instruct", "engine=scripted", "--n", "2")[0] == 0
    assert store.find("/bucket/run/tables/judgements")
    store.rm("/bucket", recursive=True)
