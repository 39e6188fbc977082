from __future__ import annotations

import errno
import logging
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pyarrow as pa
import pytest

from taboo_cluster.analysis.database import (
    RESULTS,
    VIEW_NAMES,
    VIEWS,
    needs_texts,
    open_runs,
    question,
    select,
    write_results,
)
from taboo_cluster.analysis.tables import SIDE_TABLES
from taboo_cluster.errors import UserError
from taboo_cluster.records.reader import recorded
from taboo_cluster.records.schema import RECORD, TABLES
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import PartWriter

Record = Callable[..., dict[str, Any]]


def test_the_views_are_those_of_the_folder() -> None:
    assert set(VIEW_NAMES) >= {
        "records", "accuracy", "baseline", "retention", "alignment_gap", "dose_response", "noise_floor", "errors",
        "throughput",
    }  # fmt: skip
    assert all(VIEWS[name].startswith("-- ") for name in VIEWS)
    assert question("retention").endswith("?")


def test_records_hold_every_column_but_the_long_texts(run: Any, record: Record) -> None:
    run.write(record("1", True))
    with open_runs([run.directory]) as connection:
        names = select(connection, "FROM records LIMIT 0").column_names
    long = {"question", "prompt", "completion", "token_ids", "steps", "details"}
    columns = [column.name for column in RECORD if column.name not in long]
    assert [name for name in names if not name.endswith("_int")] == columns
    with open_runs([run.directory], texts=True) as connection:
        row = select(connection, "SELECT question, completion FROM records").to_pylist()
    assert row == [{"question": "question 1", "completion": "text"}]


def test_texts_are_asked_for_by_name(run: Any, record: Record) -> None:
    run.write(record("1", True))
    assert needs_texts("SELECT Completion FROM records")
    assert not needs_texts("SELECT completion_tokens FROM records")
    with pytest.raises(UserError, match="'completion' is a long text"):
        run.ask("SELECT completion FROM records")


def test_g15_one_row_per_trial(run: Any, record: Record) -> None:
    run.write(record("1", None, attempt=1), record("2", True), record("3", None, attempt=1))
    run.write(record("1", True, attempt=2), record("2", True), record("3", None, attempt=2, error="again"))
    rows = run.ask("SELECT item_id, attempt, error FROM records ORDER BY item_id")
    assert [tuple(row.values()) for row in rows] == [("1", 2, None), ("2", 1, None), ("3", 2, "again")]
    assert run.one("SELECT n, n_error FROM accuracy") == {"n": 2, "n_error": 1}
    known = recorded(run.directory)
    assert sorted(one.attempt for one in known.values()) == [
        row["attempt"] for row in sorted(rows, key=lambda r: r["attempt"])
    ]


def test_several_runs_together(tmp_path: Path, record: Record) -> None:
    for number in (1, 2):
        with PartWriter(f"{tmp_path}/{number}/records/m", "part-a", RECORD) as writer:
            for item in ("1", "2"):
                writer.add(record(item, True, number - 1, run_id=f"run{number}"))
    with open_runs([f"{tmp_path}/1", f"{tmp_path}/2"]) as connection:
        rows = select(connection, "SELECT run_id, count(*) AS n FROM records GROUP BY ALL ORDER BY ALL").to_pylist()
        assert rows == [{"run_id": "run1", "n": 2}, {"run_id": "run2", "n": 2}]
        # The baseline lies in the one run, the condition in the other.
        assert select(connection, "SELECT retention, n FROM retention").to_pylist() == [{"retention": 1.0, "n": 2}]


def test_a_run_in_an_object_store(record: Record) -> None:
    try:
        with PartWriter("memory://bucket/run/records/m", "part-a", RECORD) as writer:
            writer.add(record("1", True))
        with open_runs(["memory://bucket/run"]) as connection:
            assert select(connection, "SELECT n FROM accuracy").to_pylist() == [{"n": 1}]
            with pytest.raises(UserError, match="disabled"):
                select(connection, "FROM read_parquet('memory://bucket/run/records/m/part-a-000000.parquet')")
        write_results("memory://bucket/run")
        assert fsspec.filesystem("memory").exists("/bucket/run/results.duckdb")
    finally:
        fsspec.filesystem("memory").rm("/bucket", recursive=True)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "-- nothing",
        "SELECT 1; SELECT 2",
        "DROP TABLE recorded",
        "CREATE TABLE x AS SELECT 1",
        "INSERT INTO launches SELECT * FROM launches",
        "COPY (SELECT 1) TO '{path}'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{path}'",
        "ATTACH '{path}'",
        "PRAGMA database_list",
        "SET threads = 1",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "CALL pragma_version()",
        "EXPORT DATABASE '{path}'",
    ],
)
def test_only_one_select(run: Any, record: Record, tmp_path: Path, query: str) -> None:
    run.write(record("1", True))
    path = tmp_path / "written"
    with pytest.raises(UserError, match="exactly one SELECT"):
        run.ask(query.format(path=path))
    assert not path.exists()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("WITH x AS (INSERT INTO launches SELECT * FROM launches RETURNING *) FROM x", "read-only"),
        ("WITH x AS (DELETE FROM recorded RETURNING *) FROM x", "read-only"),
        ("SELECT * FROM read_text('{file}')", "disabled"),
        ("SELECT * FROM '{file}'", "disabled"),
        ("SELECT * FROM glob('{folder}/*')", "disabled"),
        ("SELECT * FROM read_csv('{file}')", "disabled"),
        ("SELECT * FROM secret_table", "unknown view 'secret_table'"),
        ("SELECT getenv('HOME')", "getenv"),
    ],
)
def test_a_select_reaches_nothing_else(run: Any, record: Record, tmp_path: Path, query: str, message: str) -> None:
    run.write(record("1", True))
    file = tmp_path / "secret.parquet"
    file.write_text("secret")
    secret_table = pa.table({"a": [1]})
    assert len(secret_table) == 1
    with pytest.raises(UserError, match=message) as found:
        run.ask(query.format(file=file, folder=tmp_path))
    assert "\n" not in str(found.value)
    assert run.one("SELECT count(*) AS n FROM records") == {"n": 1}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1 FROM retentions", "unknown view 'retentions' - did you mean 'retention'?"),
        ("SELECT retenton FROM retention", "unknown column 'retenton' - did you mean 'retention'?"),
        ("SELECT r.acuracy FROM retention r", "unknown column 'acuracy' - did you mean 'accuracy'?"),
        ("SELECT n FROM retention WHERE modle = 'x'", "unknown column 'modle' - did you mean 'model'?"),
        ("SELEC n FROM retention", "syntax error"),
        ("SELECT nofunction(n) FROM retention", "nofunction"),
        ("SELECT CAST(model AS INTEGER) FROM accuracy", "Could not convert"),
    ],
)
def test_a_failed_query_is_one_line_with_the_nearest_name(run: Any, record: Record, query: str, message: str) -> None:
    run.write(record("1", True))
    with pytest.raises(UserError) as found:
        run.ask(query)
    assert message in str(found.value)
    assert "\n" not in str(found.value)


def test_an_error_leaves_the_connection_usable(run: Any, record: Record) -> None:
    run.write(record("1", True))
    with open_runs([run.directory]) as connection:
        with pytest.raises(UserError):
            select(connection, "SELECT nothing FROM records")
        assert select(connection, "SELECT n FROM accuracy").to_pylist() == [{"n": 1}]


def test_g9_results_are_plain_numbers(run: Any, record: Record) -> None:
    run.write(record("1", True), record("2", True))
    row = run.one(
        "SELECT 0.5 AS half, sum(n) AS total, 'nan'::DOUBLE AS nan, 1 / 0 AS inf, corr(n, n) AS flat, NULL AS nothing, "
        "170141183460469231731687303715884105727::HUGEINT AS huge FROM accuracy"
    )
    assert row["half"] == 0.5
    assert isinstance(row["half"], float)
    assert row["total"] == 2
    assert isinstance(row["total"], int)
    assert (row["nan"], row["inf"], row["flat"], row["nothing"]) == (None, None, None, None)
    assert row["huge"] == pytest.approx(1.7014118346046923e38)


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such run directory"):
        open_runs([str(tmp_path / "gone")])
    with pytest.raises(UserError, match="not a run directory"):
        open_runs([str(tmp_path)])
    (tmp_path / "config.yaml").write_text("sweep: alignment\n")
    with pytest.raises(UserError, match="no records yet"):
        open_runs([str(tmp_path)])
    with pytest.raises(UserError, match="no records yet"):
        write_results(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml"]


def test_damaged_parts_are_left_out_with_a_warning(run: Any, record: Record, caplog: pytest.LogCaptureFixture) -> None:
    run.write(record("1", True))
    run.write(*(record(str(i), True) for i in range(2, 60)))
    (bad,) = Path(run.directory).rglob("part-l1-w1*.parquet")
    data = bytearray(bad.read_bytes())
    for place in range(4, len(data) - int.from_bytes(data[-8:-4], "little") - 8):
        data[place] ^= 0xFF
    bad.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        assert run.one("SELECT n FROM accuracy") == {"n": 1}
    assert bad.name in caplog.text


def test_side_tables_and_their_doubles(run: Any, record: Record) -> None:
    run.write(record("1", True))
    for stem in ("part-driver", "part-copy"):
        with PartWriter(f"{run.directory}/tables/launches", stem, TABLES["launches"]) as writer:
            writer.add({"launch_id": "l1", "config": '{"seed": 7}'})
    assert run.one("SELECT launch_id FROM launches") == {"launch_id": "l1"}
    assert run.ask("FROM workers") == run.ask("FROM heartbeat") == []


def test_the_run_seed_moves_the_bootstrap(run: Any, record: Record) -> None:
    run.write(
        *(
            record(str(i), rank == 0 or i % 3 > 0, rank, cluster_id=f"c{math.isqrt(i)}")
            for i in range(40)
            for rank in (0, 1)
        )
    )
    query = "SELECT ci_low, ci_high, ci_low_cluster, ci_high_cluster FROM retention"
    before = run.one(query)
    with PartWriter(f"{run.directory}/tables/launches", "part-driver", TABLES["launches"]) as writer:
        writer.add({"launch_id": "l1", "config": '{"seed": 7}'})
    after = run.one(query)
    assert (before["ci_low"], before["ci_high"]) == (after["ci_low"], after["ci_high"])
    assert before != after


def test_results_open_alone_elsewhere(run: Any, record: Record, tmp_path: Path) -> None:
    run.write(*(record(i, i != "2", rank) for i in "123" for rank in (0, 1)), record("4", None))
    path = write_results(run.directory)
    assert path == f"{run.directory}/{RESULTS}"
    assert sorted(p.name for p in Path(run.directory).iterdir()) == ["records", RESULTS]
    query = "SELECT model, benchmark, taboo_rank, retention, ci_low, ci_high, n FROM retention"
    expected = run.ask(query)
    moved = tmp_path / "elsewhere" / "moved.duckdb"
    moved.parent.mkdir()
    shutil.move(path, moved)
    shutil.rmtree(run.directory)
    with duckdb.connect(str(moved), read_only=True) as connection:
        assert [dict(zip(expected[0], row, strict=True)) for row in connection.sql(query).fetchall()] == expected
        tables = {row[0] for row in connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()}
        assert tables == {*VIEW_NAMES, *SIDE_TABLES}
        assert connection.execute("SELECT count(*), sum(correct_int) FROM records").fetchone() == (7, 4)


def test_results_are_replaced_as_a_whole(run: Any, record: Record) -> None:
    run.write(record("1", True), record("1", True, 1))
    path = Path(write_results(run.directory))
    before = path.read_bytes()
    run.write(record("2", True), record("2", True, 1, question="another"))
    with pytest.raises(UserError, match="another question or gold answer"):
        write_results(run.directory)
    assert path.read_bytes() == before
    assert sorted(p.name for p in Path(run.directory).iterdir()) == ["records", RESULTS]


def test_a_full_disk_leaves_the_results_as_they_were(run: Any, record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    run.write(record("1", True), record("1", True, 1))
    path = Path(write_results(run.directory))
    before = path.read_bytes()
    run.write(record("2", True), record("2", True, 1))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Store, "put", full)
    with pytest.raises(UserError, match=r"cannot write .*/results.duckdb: No space left on device"):
        write_results(run.directory)
    assert path.read_bytes() == before
    assert sorted(p.name for p in Path(run.directory).iterdir()) == ["records", RESULTS]


def test_g11_two_readers_and_a_writer(run: Any, record: Record) -> None:
    run.write(record("1", True))
    with (
        PartWriter(f"{run.directory}/records/m", "part-live", RECORD) as writer,
        open_runs([run.directory]) as one,
        open_runs([run.directory]) as two,
    ):
        writer.add(record("2", True))
        writer.flush()
        with open_runs([run.directory]) as three:
            counts = [select(c, "SELECT n FROM accuracy").to_pylist()[0]["n"] for c in (one, two, three)]
    assert counts == [1, 1, 2]
