"""Forms for people: written once, read back from whatever a spreadsheet makes of them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from taboo_cluster.errors import UserError
from taboo_cluster.preservation.people import read_form, write_form
from taboo_cluster.preservation.texts import Place, Text

PLACES = [Place("gsm8k", "test", name, "typos(rate=0.1)", 281474976710655) for name in ("007", "1e5", "i3")]
TEXTS = [Text(place, "=1+1?", '"5" ?\nWhy', ("a", "b"), "A") for place in PLACES]


@pytest.fixture
def form(tmp_path: Path) -> Path:
    path = tmp_path / "ada.csv"
    assert write_form(str(path), TEXTS) == 3
    return path


def filled(path: Path, *verdicts: str, delimiter: str = ",", encoding: str = "utf-8") -> str:
    """The form as a spreadsheet leaves it: long numbers rounded, leading zeros gone."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, verdict in zip(rows, verdicts, strict=True):
        row |= {"perturbation_seed": "2.81475E+14", "item_id": row["item_id"].lstrip("0"), "verdict": verdict}
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def test_a_form_shows_all_that_a_rater_needs(form: Path) -> None:
    with form.open(encoding="utf-8-sig", newline="") as file:
        row = next(iter(csv.DictReader(file)))
    assert form.read_bytes().startswith(b"\xef\xbb\xbf")
    assert row["text_id"].startswith("t")
    assert (row["benchmark"], row["item_id"], row["perturbation_seed"]) == ("gsm8k", "007", "281474976710655")
    assert (row["clean"], row["perturbed"]) == ("'=1+1?", '"5" ?\nWhy'), "no spreadsheet runs what is in a text"
    assert (row["choices"], row["gold"], row["verdict"]) == ("A. a\nB. b", "A", "")


@pytest.mark.parametrize(("delimiter", "encoding"), [(",", "utf-8"), (";", "utf-8-sig")])
def test_verdicts_come_back_and_an_empty_one_is_none(form: Path, delimiter: str, encoding: str) -> None:
    file = filled(form, "kept", " LOST ", "", delimiter=delimiter, encoding=encoding)
    assert read_form(file, PLACES) == {PLACES[0]: "kept", PLACES[1]: "lost"}


def test_a_form_that_is_there_is_not_written_over(form: Path) -> None:
    with pytest.raises(UserError, match="is there already"):
        write_form(str(form), TEXTS)
    with pytest.raises(UserError, match=r"cannot write .*: No such file"):
        write_form(str(form.parent / "none" / "x.csv"), TEXTS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item_id,verdict\n1,kept\n", "has no column text_id; it needs text_id and verdict"),
        ("", "has no column text_id"),
        ("text_id,verdict\nt0,kept\n", "line 2: the run has no such perturbed text"),
        ("text_id,verdict\n{id},maybe\n", "line 2: a verdict is kept or lost, or empty, not 'maybe'"),
        ("text_id,verdict\n{id},kept\n{id},lost\n", "line 3: this text has a verdict in an earlier line"),
        ("text_id,verdict\n{id},\n", "holds no verdict"),
        ("text_id,verdict\n{id}\n", "holds no verdict"),
        ('text_id,verdict\n{id},"kept\n', "is not CSV after line"),
    ],
)
def test_a_form_that_makes_no_sense_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "f.csv"
    path.write_text(text.replace("{id}", PLACES[0].text_id))
    with pytest.raises(UserError, match=message):
        read_form(str(path), PLACES)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_form(str(tmp_path / "none.csv"), PLACES)
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        read_form(str(tmp_path), PLACES)
    (tmp_path / "latin.csv").write_bytes("text_id,verdict\ntä,kept\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"latin.csv cannot be read: .*utf-8"):
        read_form(str(tmp_path / "latin.csv"), PLACES)
