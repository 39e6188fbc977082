from __future__ import annotations

from pathlib import Path

import pytest

from taboo_cluster.benchmarks.sources import csv_rows, local_rows
from taboo_cluster.errors import UserError


def test_a_file_and_the_files_of_a_split(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('\ufeff{"a": "1"}\n\n{"a": "2"}\r\n', encoding="utf-8")
    (tmp_path / "test_other.jsonl").write_text('{"a": "3"}')
    (tmp_path / "train_a.jsonl").write_text('{"a": "4"}')
    (tmp_path / "train_b.jsonl").write_text('{"a": "5"}')
    assert [row.text("a") for row in local_rows(str(tmp_path / "test.jsonl"), "any")] == ["1", "2"]
    assert [row.text("a") for row in local_rows(str(tmp_path), "test")] == ["1", "2"]
    assert [row.text("a") for row in local_rows(str(tmp_path), "train")] == ["4", "5"]


def test_unicode_line_separators_do_not_split_a_row(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": "x\u2028y\x85z"}\n', encoding="utf-8")
    assert [row.text("a") for row in local_rows(str(tmp_path / "a.jsonl"), "test")] == ["x\u2028y\x85z"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no rows"),
        (b"\n\n", "holds no rows"),
        (b'{"a": "1"}\n{"a": \n', "line 2 is not JSON"),
        (b'{"a": "1"}\n\n[1]\n', "line 3 is not a JSON object but list"),
        (b'{"a": "\xff"}', "is not UTF-8"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        local_rows(str(file), "test")
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_missing_split(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no file or folder"):
        local_rows(str(tmp_path / "none.jsonl"), "test")
    with pytest.raises(UserError, match=r"no test.jsonl in .*; it holds: nothing"):
        local_rows(str(tmp_path), "test")
    (tmp_path / "dev.jsonl").write_text("{}")
    with pytest.raises(UserError, match=r"it holds: dev.jsonl"):
        local_rows(str(tmp_path), "test")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"b": "1"}', "line 1: no column 'a'; it has: b"),
        ('{"a": null}', "line 1: 'a' must hold text, not None"),
        ('{"a": 5}', "line 1: 'a' must hold text, not 5"),
        ('{"a": " "}', "line 1: 'a' must hold text, not ' '"),
    ],
)
def test_columns(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text(line)
    (row,) = local_rows(str(tmp_path / "a.jsonl"), "test")
    with pytest.raises(UserError) as caught:
        row.text("a")
    assert message in str(caught.value)


def test_csv_rows_keep_line_breaks_and_commas_inside_quotes(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes('\ufeffa,b\r\n"one, two","x\r\ny"\r\n\r\n1,"say ""no""\u2028"\r\n'.encode())
    rows = csv_rows(file, ["b"])
    assert [dict(row.values) for row in rows] == [{"a": "one, two", "b": "x\ny"}, {"a": "1", "b": 'say "no"\u2028'}]
    assert rows[1].where == f"{file} line 5"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the first line has to name the columns a, b; it lacks 'a'"),
        ("1,2\n3,4\n", "it lacks 'a'"),
        ("a,c\n1,2\n", "it lacks 'b'"),
        ("a,b\n1,2\n1\n", "line 3: it does not have the 2 values"),
        ("a,b\n1,2,3\n", "line 2: it does not have the 2 values"),
        ('a,b\n"1,2\n', "is not CSV after line 1: unexpected end of data"),
    ],
)
def test_broken_csv_files(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(UserError, match=message):
        csv_rows(tmp_path / "a.csv", ["a", "b"])
