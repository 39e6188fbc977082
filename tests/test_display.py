"""Tables for people."""

from __future__ import annotations

import pytest

from taboo_cluster.display import print_table, show


def test_values_are_short_and_on_one_line() -> None:
    assert [show(v) for v in (None, 0.0, 0.5, 1.0, 0.123456, 12345.678901, -0.25, 1e-9, 100.0)] == [
        *("-", "0", "0.5", "1", "0.1235", "12345.6789", "-0.25", "1e-09", "100")
    ]
    assert show("a\n b") == "a b"
    assert show("\x1b[31mred\x07") == "\ufffd[31mred\ufffd"
    assert [show(v) for v in (True, 7, [1, 2])] == ["true", "7", "[1, 2]"]


def test_e10_plain_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["name", "n"], [["long name", 5], ["x", None], ["y", 12]])
    assert capsys.readouterr().out == "name        n\nlong name   5\nx           -\ny          12\n"


def test_an_empty_answer_still_has_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["a", "b"], [])
    assert capsys.readouterr().out == "a  b\n"


def test_a_terminal_gets_a_drawn_table_with_brackets_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_table(["name[0]", "n"], [["taboo[rank]", 5], [r"\[/b] \[x]", 5]])
    out = capsys.readouterr().out
    assert "name[0]" in out
    assert "taboo[rank]" in out
    assert r"\[/b] \[x]" in out
    assert "─" in out
