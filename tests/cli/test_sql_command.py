"""`sql`: one SELECT over runs, in the form asked for."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_files import Call, Refused

from taboo_cluster.cli.sql import split

QUERY = "SELECT model, count(*) AS n, 0.5 AS half, NULL AS none, true AS yes FROM records GROUP BY ALL ORDER BY model"


def test_a_table_for_people_has_no_carriage_return(call: Call, run_dir: Path) -> None:
    status, out, err = call("sql", str(run_dir), QUERY)
    assert (status, err) == (0, "")
    assert out == "model  n  half  none  yes\nm      2   0.5     -  true\nn      1   0.5     -  true\n"


def test_g9_json_has_plain_numbers_and_null(call: Call, run_dir: Path) -> None:
    out = call("sql", str(run_dir), QUERY, "--format", "json")[1]
    assert json.loads(out) == [
        {"model": "m", "n": 2, "half": 0.5, "none": None, "yes": True},
        {"model": "n", "n": 1, "half": 0.5, "none": None, "yes": True},
    ]


def test_json_of_nested_values_is_json(call: Call, run_dir: Path) -> None:
    query = "SELECT [1.5::double, 'nan'::double] AS a, {'x': 'inf'::double} AS b"
    assert json.loads(call("sql", str(run_dir), query, "--format", "json")[1]) == [{"a": [1.5, None], "b": {"x": None}}]


def test_json_drops_no_column(refused: Refused, run_dir: Path) -> None:
    assert "a name of its own for each column" in refused("sql", str(run_dir), "SELECT 1 AS a, 2 AS a", "--format=json")


def test_output_without_the_letters_still_comes(run_dir: Path) -> None:
    command = [sys.executable, "-m", "taboo_cluster", "sql", str(run_dir), "SELECT 'caf\u00e9' AS x"]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONIOENCODING": "ascii"}, check=True)
    assert done.stdout == "x\ncaf\\xe9\n"


def test_csv_leaves_missing_values_empty(call: Call, run_dir: Path) -> None:
    out = call("sql", str(run_dir), QUERY, "--format=csv")[1]
    assert out == "model,n,half,none,yes\nm,2,0.5,,true\nn,1,0.5,,true\n"


def test_parquet_goes_to_a_file(run_dir: Path) -> None:
    command = [sys.executable, "-m", "taboo_cluster", "sql", str(run_dir), QUERY, "--format", "parquet"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert pq.read_table(io.BytesIO(done.stdout)).column("model").to_pylist() == ["m", "n"]


def test_parquet_is_not_thrown_at_a_terminal(refused: Refused, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "redirect it to a file" in refused("sql", str(run_dir), QUERY, "--format", "parquet")


def test_long_texts_are_read_where_the_query_names_them(call: Call, run_dir: Path) -> None:
    out = call("sql", str(run_dir), "SELECT completion FROM records WHERE item_id = 'i2'")[1]
    assert out == "completion\nIt is 1.\n"


def test_without_a_query_the_views_are_listed_with_a_line_each(call: Call, run_dir: Path) -> None:
    status, out, _ = call("sql", str(run_dir))
    assert status == 0
    assert re.search(r"^retention +Of the items right in the baseline", out, re.MULTILINE)


def test_several_runs_are_read_together(call: Call, run_dir: Path) -> None:
    out = call("sql", str(run_dir), str(run_dir), "SELECT count(*) AS n FROM records", "--format", "csv")[1]
    assert out == "n\n3\n"  # the same trials: counted once


def test_what_is_not_a_run_or_not_a_select_is_one_line(refused: Refused, run_dir: Path, tmp_path: Path) -> None:
    assert "no such run directory" in refused("sql", str(tmp_path / "none"), QUERY)
    assert "no such run directory" in refused("sql", str(tmp_path / "none"))
    (tmp_path / "other").mkdir()
    assert "is not a run directory" in refused("sql", str(tmp_path / "other"), QUERY)
    assert "exactly one SELECT" in refused("sql", str(run_dir), "DROP TABLE records")
    assert "unknown view 'retentoin' - did you mean 'retention'?" in refused(
        "sql", str(run_dir), "SELECT * FROM retentoin"
    )
    assert "unknown column 'modl' - did you mean 'model'?" in refused("sql", str(run_dir), "SELECT modl FROM records")
    assert "which run?" in refused("sql", QUERY)


def test_the_query_is_told_from_a_directory(tmp_path: Path) -> None:
    folder = tmp_path / "select me"
    folder.mkdir()
    assert split([str(folder)]) == ([str(folder)], None)
    assert split(["runs/a", "runs/b"]) == (["runs/a", "runs/b"], None)
    assert split(["runs/a", "FROM records"]) == (["runs/a"], "FROM records")
    assert split(["runs/a", "select(1)"]) == (["runs/a"], "select(1)")
