from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import datasets
import duckdb
import fsspec
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taboo_cluster.errors import UserError
from taboo_cluster.records import reader
from taboo_cluster.records.reader import (
    BEST_FIRST,
    Recorded,
    damage,
    find_generations,
    parts,
    quarantine_unreadable,
    read_parts,
    recorded,
    side_table,
)
from taboo_cluster.records.schema import RECORD, TABLES, Column, arrow_schema
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import PartWriter, model_slug, write_table

START = datetime(2026, 1, 1, tzinfo=UTC)
QWEN = "Qwen/Qwen2.5-72B"


def row(trial: str, attempt: int = 1, error: str | None = None, second: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "trial_id": trial,
        "generation_id": f"g-{trial}",
        "model": QWEN,
        "attempt": attempt,
        "error_type": error,
        "started_at": START + timedelta(seconds=second),
    } | more


def write(run_dir: Path | str, *rows: dict[str, Any], stem: str = "part-l1-w1", model: str = QWEN) -> None:
    with PartWriter(f"{run_dir}/records/{model_slug(model)}", stem, RECORD) as writer:
        for one in rows:
            writer.add(one)


def damage_pages(path: Path) -> None:
    """Flip bytes in the middle of the data: the footer stays sound."""
    data = bytearray(path.read_bytes())
    footer = int.from_bytes(data[-8:-4], "little") + 8
    end = len(data) - footer
    for place in range(4, end):
        data[place] ^= 0xFF
    path.write_bytes(data)


def test_recorded_by_model(tmp_path: Path) -> None:
    write(tmp_path, row("a"), row("b", 2, "timeout"))
    write(tmp_path, row("c", model="other"), model="other")
    assert recorded(str(tmp_path)) == {
        "a": Recorded(1, None), "b": Recorded(2, "timeout"), "c": Recorded(1, None),
    }  # fmt: skip
    assert recorded(str(tmp_path), "other") == {"c": Recorded(1, None)}
    assert recorded(str(tmp_path), "unknown") == {}
    assert recorded(str(tmp_path / "empty")) == {}


def test_g15_which_row_of_a_trial_counts(tmp_path: Path) -> None:
    write(tmp_path, row("a", 1, "timeout"), row("b", 1), row("c", 1, "timeout"), row("d", 2, "timeout", 9))
    write(tmp_path, row("a", 2), row("b", 2, "timeout"), row("c", 2, "engine_died"), row("d", 2, "engine_died", 10))
    write(tmp_path, row("d", 1, "out_of_memory", 99))
    assert recorded(str(tmp_path)) == {
        "a": Recorded(2, None),  # the attempt without error
        "b": Recorded(1, None),  # though it is the earlier one
        "c": Recorded(2, "engine_died"),  # else the highest attempt
        "d": Recorded(2, "engine_died"),  # else the latest start
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.sampled_from([None, "timeout", "x"]), st.integers(0, 3)),
        min_size=1, max_size=8,
    )
)  # fmt: skip
def test_the_rule_does_not_depend_on_the_order_of_rows(rows: list[tuple[str, int, str | None, int]]) -> None:
    table = [{"trial_id": t, "attempt": a, "error_type": e, "started_at": s, "filename": "f"} for t, a, e, s in rows]
    kept = {}
    for one in sorted(table, key=lambda r: (r["error_type"] is not None, -r["attempt"], -r["started_at"])):
        kept.setdefault(one["trial_id"], (one["error_type"] is None, one["attempt"], one["started_at"]))
    with duckdb.connect() as connection:
        connection.register("rows", pa.Table.from_pylist(table[::-1]))
        found = connection.sql(
            "SELECT trial_id, error_type IS NULL, attempt, started_at FROM rows "
            f"QUALIFY row_number() OVER (PARTITION BY trial_id ORDER BY {BEST_FIRST}) = 1"
        ).fetchall()
    assert {trial: tuple(rest) for trial, *rest in found} == kept


def test_generations_come_back_whole(tmp_path: Path) -> None:
    steps = [{"position": 0, "nominal_id": 1, "nominal": "a", "emitted_id": 2, "emitted": "b", "emitted_rank": 2,
              "bits": 0.5}]  # fmt: skip
    write(tmp_path / "one", row("a", completion="text a", steps=steps), row("b", error="timeout"), row("c"))
    write(tmp_path / "two", row("d", completion="text d"))
    found = find_generations([str(tmp_path / "one"), str(tmp_path / "two")], ["g-a", "g-b", "g-d", "g-z"])
    assert set(found) == {"g-a", "g-d"}
    assert found["g-a"]["completion"] == "text a"
    assert found["g-a"]["steps"] == steps
    assert found["g-a"]["started_at"] == START
    assert set(found["g-a"]) == {column.name for column in RECORD}
    assert find_generations([str(tmp_path / "one")], []) == {}


def test_g12_names_and_ids_stay_what_they_are(tmp_path: Path) -> None:
    write(tmp_path, *(row(i, item_id=i) for i in ("007", "1e5", "true")))
    (folder,) = (tmp_path / "records").iterdir()
    assert [path.suffix for path in folder.iterdir()] == [".parquet"]
    assert "=" not in str(folder.relative_to(tmp_path))
    found = find_generations([str(tmp_path)], ["g-007", "g-1e5", "g-true"])
    assert {(r["item_id"], r["model"]) for r in found.values()} == {("007", QWEN), ("1e5", QWEN), ("true", QWEN)}


def test_every_reader_reads_the_folder(tmp_path: Path) -> None:
    write(tmp_path, row("a", item_id="007", perturbations=[], steps=None), row("b", error="timeout", item_id="1e5"))
    write(tmp_path, row("c", item_id="true", correct=True, stop=["\n\nQuestion:"]), stem="part-l2-w1")
    folder = tmp_path / "records"
    (folder / model_slug(QWEN) / ".part-l3-w1-000000.parquet.tmp").write_bytes(b"half a file")
    pattern = f"{folder}/**/*.parquet"
    ids = ["007", "1e5", "true"]
    names = [column.name for column in RECORD]
    by_duckdb = duckdb.sql(f"SELECT * FROM read_parquet('{pattern}')")
    assert by_duckdb.columns == names
    assert sorted(r[0] for r in by_duckdb.project("item_id").fetchall()) == ids
    frame = pd.read_parquet(folder)
    assert list(frame.columns) == names
    assert sorted(frame["item_id"]) == ids
    lazy = pl.read_parquet(pattern)
    assert lazy.columns == names
    assert sorted(lazy["item_id"]) == ids
    table = ds.dataset(folder).to_table()
    assert table.column_names == names
    assert sorted(table["item_id"].to_pylist()) == ids
    loaded = datasets.load_dataset("parquet", data_files=pattern, split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded.column_names == names
    assert sorted(loaded["item_id"]) == ids
    assert set(frame["model"]) == set(lazy["model"]) == set(loaded["model"]) == {QWEN}


@pytest.mark.parametrize("name", ["run [1]", "it's", "a*b?c", "ü x=1"])
def test_any_name_of_a_run_directory_will_do(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, row("a"))
    write(tmp_path / "run 1", row("other"))
    assert set(recorded(str(tmp_path / name))) == {"a"}


def test_object_stores_are_read(tmp_path: Path) -> None:
    write("memory://bucket/run", row("a"), row("b", error="timeout"))
    try:
        assert recorded("memory://bucket/run") == {"a": Recorded(1, None), "b": Recorded(1, "timeout")}
        assert set(find_generations(["memory://bucket/run"], ["g-a"])) == {"g-a"}
        fsspec.filesystem("memory").pipe_file("/bucket/run/records/bad.parquet", b"no parquet")
        (warning,) = quarantine_unreadable("memory://bucket/run")
        assert "/bucket/run/quarantine/records/bad.parquet.damaged-" in warning
        assert set(recorded("memory://bucket/run")) == {"a", "b"}
    finally:
        fsspec.filesystem("memory").rm("/bucket", recursive=True)


def test_g1_unreadable_parts_are_set_aside(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path, row(f"t{number}", completion="some text " * 50), stem=f"part-{number}")
    good, cut, empty, pages = sorted((tmp_path / "records" / model_slug(QWEN)).iterdir())
    cut.write_bytes(cut.read_bytes()[:-10])
    empty.write_bytes(b"")
    damage_pages(pages)
    leftover = good.with_name(".part-9-000000.parquet.tmp")
    leftover.write_bytes(b"half")
    warnings = quarantine_unreadable(str(tmp_path))
    assert len(warnings) == 3
    assert all("\n" not in warning and "quarantine" in warning for warning in warnings)
    assert not leftover.exists()
    assert set(recorded(str(tmp_path))) == {"t0"}
    assert len(list((tmp_path / "quarantine").rglob("*.damaged-*"))) == 3
    assert list(tmp_path.rglob("*.parquet")) == [good]
    assert quarantine_unreadable(str(tmp_path)) == []


def test_side_tables_are_checked_too(tmp_path: Path) -> None:
    bad = tmp_path / "tables" / "launches" / "part-x.parquet"
    bad.parent.mkdir(parents=True)
    bad.write_bytes(b"PAR1")
    assert len(quarantine_unreadable(str(tmp_path))) == 1
    assert not bad.exists()


def test_readers_leave_damaged_parts_out_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        write(tmp_path, row(f"t{number}"), stem=f"part-{number}")
    paths = sorted((tmp_path / "records" / model_slug(QWEN)).iterdir())
    damage_pages(paths[1])
    paths[2].write_bytes(b"PAR1")
    with caplog.at_level(logging.WARNING):
        assert set(recorded(str(tmp_path))) == {"t0"}
    assert [paths[1].name in caplog.text, paths[2].name in caplog.text, paths[0].name in caplog.text] == [
        True,
        True,
        False,
    ]
    assert all(path.exists() for path in paths)


def test_a_sound_part_has_no_damage_and_an_unreachable_one_is_no_damage(tmp_path: Path) -> None:
    write(tmp_path, row("a"))
    store = Store.open(str(tmp_path))
    (name,) = parts(store)
    assert damage(store, name) is None
    with pytest.raises(FileNotFoundError):
        damage(store, "records/gone.parquet")


def test_g3_older_parts_stay_readable(tmp_path: Path) -> None:
    write(tmp_path, row("new", entropy_mean=1.5))
    old = tmp_path / "records" / "old" / "part-0.parquet"
    old.parent.mkdir()
    table = pa.Table.from_pylist([row("old")]).replace_schema_metadata({"schema_version": "0"})
    pq.write_table(table, old)
    assert set(recorded(str(tmp_path))) == {"new", "old"}
    found = find_generations([str(tmp_path)], ["g-new", "g-old"])
    assert (found["g-new"]["entropy_mean"], found["g-old"]["entropy_mean"]) == (1.5, None)
    assert set(found["g-old"]) == {column.name for column in RECORD}


def test_g3_a_column_that_was_renamed_is_found_under_its_present_name(tmp_path: Path) -> None:
    seen = datetime(2026, 1, 2, tzinfo=UTC)
    old = tmp_path / "tables" / "heartbeat" / "part-old.parquet"
    old.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([{"launch_id": "old", "at": seen, "state": "running"}]), old)
    query = "SELECT * EXCLUDE (filename) FROM parts ORDER BY seen_at DESC"
    assert side_table(str(tmp_path), "heartbeat", query) == [
        {"launch_id": "old", "seen_at": seen, "state": "running", "done": None, "failed": None, "total": None}
    ]
    new = {"launch_id": "new", "seen_at": seen + timedelta(days=1)}
    table = pa.Table.from_pylist([new], schema=arrow_schema(TABLES["heartbeat"]))
    write_table(Store.open(str(tmp_path)), "tables/heartbeat/part-new.parquet", table)
    found = side_table(str(tmp_path), "heartbeat", query)
    assert [(row["launch_id"], row["seen_at"]) for row in found] == [("new", new["seen_at"]), ("old", seen)]


def test_rows_of_a_side_table_that_is_not_there(tmp_path: Path) -> None:
    assert side_table(str(tmp_path), "workers", "FROM parts WHERE launch_id = $launch", launch="l") == []


def test_columns_of_a_newer_version_are_ignored(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path / "records"), "part-a", (*RECORD, Column("later", pa.string(), "x"))) as writer:
        writer.add(row("a", later="x"))
    assert set(find_generations([str(tmp_path)], ["g-a"])["g-a"]) == {column.name for column in RECORD}


def test_parts_merged_away_under_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, row("a"), stem="part-1")
    write(tmp_path, row("b"), stem="part-2")
    listing = reader.parts

    def listed_then_merged(store: Store, folder: str = reader.RECORDS) -> list[str]:
        found = listing(store, folder)
        for name in found:
            if "part-merged" not in name and (tmp_path / name).exists():
                write(tmp_path, row("a"), row("b"), stem="part-merged")
                (tmp_path / name).unlink()
        return found

    monkeypatch.setattr(reader, "parts", listed_then_merged)
    assert set(recorded(str(tmp_path))) == {"a", "b"}


def test_parts_that_never_hold_still_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "parts", lambda store, folder="records": ["records/gone.parquet"])
    with pytest.raises(UserError, match="change faster"):
        recorded(str(tmp_path))


def test_g11_reading_while_writing(tmp_path: Path) -> None:
    stop = threading.Event()
    written: list[str] = []

    def work() -> None:
        with PartWriter(f"{tmp_path}/records/m", "part-a", RECORD, rows=1, merge_at=3) as writer:
            while not stop.is_set():
                trial = f"t{len(written)}"
                writer.add(row(trial))
                written.append(trial)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        while len(written) < 5:
            pass
        for _ in range(8):
            known = list(written)
            assert set(recorded(str(tmp_path))) >= set(known)
    finally:
        stop.set()
        thread.join()


def test_an_error_of_the_query_is_passed_on(tmp_path: Path) -> None:
    write(tmp_path, row("a"))
    with duckdb.connect() as connection, pytest.raises(duckdb.BinderException, match="nope"):
        read_parts(
            connection,
            [Store.open(str(tmp_path))],
            "records",
            RECORD,
            lambda: connection.execute("SELECT nope FROM parts"),
        )
