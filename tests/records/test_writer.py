from __future__ import annotations

import errno
import math
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.errors import UserError
from taboo_cluster.records import storage
from taboo_cluster.records.schema import RECORD, SCHEMA_VERSION, TABLES, arrow_schema
from taboo_cluster.records.writer import PartWriter, model_slug

TIME = datetime(2026, 1, 1, tzinfo=UTC)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("*.parquet")) for row in pq.ParquetFile(path).read().to_pylist()]


def wait_for(true: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)


def test_parts_by_rows_then_the_rest_on_close(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "part-l1-w1", RECORD, rows=2) as writer:
        for number in range(5):
            writer.add({"trial_id": f"t{number}"})
        assert names(tmp_path) == ["part-l1-w1-000000.parquet", "part-l1-w1-000001.parquet"]
    assert [row["trial_id"] for row in rows_of(tmp_path)] == ["t0", "t1", "t2", "t3", "t4"]
    assert len(names(tmp_path)) == 3


def test_nothing_is_made_without_rows(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path / "run" / "records"), "part-a", RECORD) as writer:
        writer.flush()
    assert names(tmp_path) == []


def test_a_row_goes_out_in_time_though_none_follows(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "part-a", RECORD, seconds=0.05) as writer:
        writer.add({"trial_id": "first"})
        wait_for(lambda: len(names(tmp_path)) == 1)
        writer.add({"trial_id": "second"})
        wait_for(lambda: len(list(tmp_path.glob("*.parquet"))) == 2)


def test_g2_every_part_has_the_one_schema(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "part-a", RECORD, rows=1) as writer:
        writer.add({"trial_id": "ok", "error": None})
        writer.add({"trial_id": "bad", "error": "text"})
    for path in tmp_path.glob("*.parquet"):
        schema = pq.read_schema(path)
        assert schema.equals(arrow_schema(RECORD))
        assert schema.metadata[b"schema_version"] == str(SCHEMA_VERSION).encode()
        assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"
    assert [row["error"] for row in rows_of(tmp_path)] == [None, "text"]


def test_numbers_that_are_none_become_null(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "part-a", RECORD) as writer:
        writer.add({
            "surprisal_total": math.nan, "surprisal_mean": math.inf, "score": -math.inf, "latency_s": 1,
            "entropy_mean": np.float32(0.5), "attempt": np.int64(2), "correct": np.bool_(True).item(),
            "steps": [{"position": 1, "bits": math.nan}], "started_at": TIME, "perturbations": [],
        })  # fmt: skip
    (row,) = rows_of(tmp_path)
    assert (row["surprisal_total"], row["surprisal_mean"], row["score"]) == (None, None, None)
    assert (row["latency_s"], row["entropy_mean"], row["attempt"], row["correct"]) == (1.0, 0.5, 2, True)
    assert row["steps"][0]["position"] == 1
    assert row["steps"][0]["bits"] is None
    assert (row["perturbations"], row["stop"], row["started_at"]) == ([], None, TIME)


def test_text_that_utf8_cannot_hold_is_replaced_and_marked(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "part-a", RECORD) as writer:
        writer.add({"completion": "a\ud800b", "text_sanitised": False})
        writer.add({"completion": "a\x00b \U0001f600 日", "text_sanitised": False})
    bad, good = rows_of(tmp_path)
    assert (bad["completion"], bad["text_sanitised"]) == ("a\ufffdb", True)
    assert (good["completion"], good["text_sanitised"]) == ("a\x00b \U0001f600 日", False)


@given(st.text(st.characters(codec=None)))
def test_any_text_can_be_written(text: str) -> None:
    from taboo_cluster.records.clean import clean_text

    clean = clean_text(text)
    assert len(clean) == len(text)
    assert all(a == b or (b == "\ufffd" and "\ud800" <= a <= "\udfff") for a, b in zip(text, clean, strict=True))
    assert pa.array([clean]).to_pylist() == [clean]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"trial": "1"}, "no such column: trial"),
        ({"attempt": "1"}, "column attempt"),
        ({"attempt": True}, "column attempt"),
        ({"attempt": 2**31}, "column attempt"),
        ({"attempt": 1.5}, "column attempt"),
        ({"score": "1"}, "column score"),
        ({"correct": 1}, "column correct"),
        ({"trial_id": 7}, "column trial_id"),
        ({"started_at": datetime(2026, 1, 1)}, "column started_at"),
        ({"started_at": 0.0}, "column started_at"),
        ({"steps": [{"rank": 1}]}, "column steps"),
        ({"steps": [3]}, "column steps"),
    ],
)
def test_a_wrong_value_is_refused_and_stops_no_other(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with PartWriter(str(tmp_path), "part-a", RECORD) as writer:
        writer.add({"trial_id": "good"})
        with pytest.raises(ValueError, match=message):
            writer.add(row)
    assert [row["trial_id"] for row in rows_of(tmp_path)] == ["good"]


def test_g4_small_parts_are_merged_with_the_same_rows(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "part-a", RECORD, rows=2, merge_at=3) as writer:
        for number in range(6):
            writer.add({"trial_id": f"t{number}"})
        assert names(tmp_path) == ["part-a-000003.parquet"]
        for number in range(6, 8):
            writer.add({"trial_id": f"t{number}"})
    assert names(tmp_path) == ["part-a-000003.parquet", "part-a-000004.parquet"]
    assert sorted(row["trial_id"] for row in rows_of(tmp_path)) == [f"t{n}" for n in range(8)]
    assert pq.read_schema(tmp_path / "part-a-000003.parquet").equals(arrow_schema(RECORD))


def test_short_parts_are_merged_until_they_are_full(tmp_path: Path) -> None:
    writer = PartWriter(str(tmp_path), "part-a", RECORD, rows=4, merge_at=3)
    counts = []
    for number in range(16):
        writer.add({"trial_id": f"t{number}"})
        writer.flush()
        counts.append(sorted(pq.ParquetFile(path).metadata.num_rows for path in tmp_path.glob("*.parquet")))
    writer.close()
    # A merged part joins the next merge until it has rows * merge_at = 12 rows.
    assert counts[:6] == [[1], [1, 1], [3], [1, 3], [5], [1, 5]]
    assert counts[12:] == [[13], [1, 13], [1, 1, 13], [3, 13]]


def test_merging_writes_before_it_deletes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = PartWriter(str(tmp_path), "part-a", RECORD, rows=1, merge_at=2)

    def killed(store: storage.Store, name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(storage.Store, "remove", killed)
    writer.add({"trial_id": "t0"})
    with pytest.raises(KeyboardInterrupt):
        writer.add({"trial_id": "t1"})
    assert sorted(row["trial_id"] for row in rows_of(tmp_path)) == ["t0", "t0", "t1", "t1"]


def test_a_part_that_went_missing_stops_no_merge(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "part-a", RECORD, rows=1, merge_at=3) as writer:
        writer.add({"trial_id": "t0"})
        (tmp_path / "part-a-000000.parquet").unlink()
        for number in range(1, 5):
            writer.add({"trial_id": f"t{number}"})
    assert sorted(row["trial_id"] for row in rows_of(tmp_path)) == ["t1", "t2", "t3", "t4"]


def test_numbers_go_on_after_earlier_parts_of_the_stem(tmp_path: Path) -> None:
    for number in range(2):
        with PartWriter(str(tmp_path), "part-a", RECORD) as writer:
            writer.add({"trial_id": f"t{number}"})
    with PartWriter(str(tmp_path), "part-ab", RECORD) as writer:
        writer.add({"trial_id": "other"})
    assert names(tmp_path) == ["part-a-000000.parquet", "part-a-000001.parquet", "part-ab-000000.parquet"]


class FullDisk:
    """Lets no byte be written while `full`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = True
        real = os.fsync

        def fsync(handle: int) -> None:
            if self.full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(handle)

        monkeypatch.setattr(storage.os, "fsync", fsync)


def test_a_full_disk_is_one_clear_error_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    writer = PartWriter(str(folder), "part-a", RECORD, rows=2)
    writer.add({"trial_id": "t0"})
    disk = FullDisk(monkeypatch)
    with pytest.raises(storage.WriteError, match="No space left on device") as found:
        writer.add({"trial_id": "t1"})
    assert isinstance(found.value, UserError)
    assert str(folder) in str(found.value)
    assert "2 rows are kept" in str(found.value)
    assert "\n" not in str(found.value)
    assert names(folder) == []
    with pytest.raises(storage.WriteError):
        writer.close()
    disk.full = False
    writer.add({"trial_id": "t2"})
    writer.close()
    writer.close()
    assert sorted(row["trial_id"] for row in rows_of(folder)) == ["t0", "t1", "t2"]
    with pytest.raises(ValueError, match="closed"):
        writer.add({"trial_id": "t3"})


def test_the_timer_survives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FullDisk(monkeypatch)
    tried = threading.Event()
    write = storage.Store.write

    def watched(store: storage.Store, name: str, data: memoryview) -> None:
        tried.set()
        write(store, name, data)

    monkeypatch.setattr(storage.Store, "write", watched)
    with PartWriter(str(tmp_path), "part-a", RECORD, seconds=0.05) as writer:
        writer.add({"trial_id": "t0"})
        assert tried.wait(20)
        disk.full = False
        wait_for(lambda: bool(list(tmp_path.glob("*.parquet"))))
    assert len(rows_of(tmp_path)) == 1


def test_a_full_disk_while_merging_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = PartWriter(str(tmp_path), "part-a", RECORD, rows=1, merge_at=2)
    writer.add({"trial_id": "t0"})
    write = storage.Store.write

    def small_only(store: storage.Store, name: str, data: memoryview) -> None:
        if name == "part-a-000002.parquet":
            raise storage.WriteError("full")
        write(store, name, data)

    monkeypatch.setattr(storage.Store, "write", small_only)
    writer.add({"trial_id": "t1"})
    writer.close()
    assert names(tmp_path) == ["part-a-000000.parquet", "part-a-000001.parquet"]


def test_g1_an_unfinished_file_matches_no_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = os.replace

    def replace(source: str, target: str) -> None:
        seen.append(os.path.basename(source))
        real(source, target)

    monkeypatch.setattr(storage.os, "replace", replace)
    with PartWriter(str(tmp_path), "part-a", RECORD) as writer:
        writer.add({"trial_id": "t0"})
    (name,) = seen
    assert not name.endswith(".parquet")
    assert name.startswith(".")
    assert names(tmp_path) == ["part-a-000000.parquet"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc to tell which file is synced")
def test_file_and_folder_are_synced_before_the_row_counts_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(
        storage.os, "fsync", lambda fd: (events.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))), sync(fd))
    )
    monkeypatch.setattr(storage.os, "replace", lambda a, b: (events.append("rename"), replace(a, b)))
    folder = tmp_path / "records"
    with PartWriter(str(folder), "part-a", RECORD) as writer:
        writer.add({"trial_id": "t0"})
    assert events == [".part-a-000000.parquet.tmp", "rename", "records"]


def test_object_stores_get_one_put_under_the_final_name(monkeypatch: pytest.MonkeyPatch) -> None:
    fs = fsspec.filesystem("memory")
    puts: list[str] = []
    pipe = fs.pipe_file
    monkeypatch.setattr(type(fs), "pipe_file", lambda self, path, data, **more: (puts.append(path), pipe(path, data)))
    with PartWriter("memory://bucket/run/records/m", "part-a", RECORD, rows=1, merge_at=2) as writer:
        writer.add({"trial_id": "t0"})
        writer.add({"trial_id": "t1"})
    assert puts == [f"/bucket/run/records/m/part-a-00000{n}.parquet" for n in range(3)]
    assert fs.find("/bucket/run") == ["/bucket/run/records/m/part-a-000002.parquet"]
    fs.rm("/bucket", recursive=True)


def test_many_threads_lose_no_row(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "part-a", RECORD, rows=16, seconds=0.02, merge_at=4) as writer:

        def work(start: int) -> None:
            for number in range(start, start + 100):
                writer.add({"trial_id": f"t{number}"})

        threads = [threading.Thread(target=work, args=(start,)) for start in range(0, 400, 100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(row["trial_id"] for row in rows_of(tmp_path)) == sorted(f"t{n}" for n in range(400))


@pytest.mark.parametrize("table", sorted(TABLES))
def test_side_tables_use_the_same_writer(tmp_path: Path, table: str) -> None:
    columns = TABLES[table]
    with PartWriter(str(tmp_path), "part-driver", columns) as writer:
        writer.add({columns[0].name: "x"})
    assert rows_of(tmp_path) == [{column.name: None for column in columns} | {columns[0].name: "x"}]


@pytest.mark.parametrize("stem", ["", ".hidden", "a/b", "a=b", "_a", "a b"])
def test_a_stem_is_a_plain_name(tmp_path: Path, stem: str) -> None:
    with pytest.raises(ValueError, match="cannot start a part's name"):
        PartWriter(str(tmp_path), stem, RECORD)


def test_g12_model_slugs() -> None:
    assert model_slug("tiny-base") == "tiny-base"
    assert model_slug("Qwen2.5-72B") == "Qwen2.5-72B"
    assert model_slug("Qwen/Qwen2.5-72B").startswith("Qwen--Qwen2.5-72B--")
    different = ["a/b", "a--b", "a=b", "a b", "/a/b", "a_b", "a/b/", ".a", "a.", "_a", "é", "", "a" * 300, "a" * 301]
    assert len({model_slug(name) for name in different}) == len(different)


@given(st.text())
def test_a_slug_is_one_plain_folder(name: str) -> None:
    slug = model_slug(name)
    assert 0 < len(slug) < 128
    assert all(c.isascii() and (c.isalnum() or c in ".-") for c in slug)
    assert slug[0] != "."
