"""`rescore`: stored completions scored again; what changes is listed, and no record is touched."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_files import Call, Refused, model_at
from made_runs import digests, drawn, make_run, table

from taboo_cluster.analysis.database import open_runs, select
from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry, Prompt, Verdict
from taboo_cluster.records.reader import recorded
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.trial import Item


@dataclass(frozen=True)
class Options:
    fail: bool = False


class FirstNumber:
    """A broken extractor: takes the first digit, wherever it stands."""

    name = "first_digit"
    scorer_version = "broken"
    styles: tuple[str, ...] = ("cot",)
    default_shots = 0
    max_tokens = 8
    chance = None

    def __init__(self, options: Options) -> None:
        self._fail = options.fail

    def items(self) -> Sequence[Item]:
        raise AssertionError("the items are those of the benchmark that was run")

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        raise AssertionError("nothing is generated")

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        found = re.search(r"\d", completion)
        if self._fail and found is None:
            raise RuntimeError("no digit\nat all")
        if found is None:
            return Verdict("invalid_format", None, 0.0)
        right = found[0] == item.gold
        return Verdict("correct" if right else "wrong", found[0], float(right))

    def canaries(self) -> tuple[()]:
        return ()


@pytest.fixture(autouse=True)
def first_digit() -> Iterator[None]:
    """The broken benchmark, registered for one test."""
    BENCHMARKS.register("first_digit")(BenchmarkEntry(Options, FirstNumber))
    yield
    del BENCHMARKS._entries["first_digit"]


BROKEN = ("--scorer", "arithmetic=first_digit")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Item]]:
    """Three items at ranks 0 and 1: a right answer, a wrong one, and no answer at all, the same at both ranks."""
    folder = tmp_path_factory.mktemp("original")
    right, wrong, none = drawn(3)
    script = {right.question: f"So it is {right.gold}.", wrong.question: "It is 7777.", none.question: "No idea."}
    return folder / "run", make_run(folder / "run", model_at(folder / "mine"), "limit=3", script=script)


@pytest.fixture
def made(tmp_path: Path, original: tuple[Path, list[Item]]) -> tuple[Path, list[Item]]:
    """The test's own copy."""
    return shutil.copytree(original[0], tmp_path / "made"), original[1]


def listed(out: str) -> set[tuple[str, ...]]:
    rows = csv.DictReader(io.StringIO(out))
    names = ("condition", "item_id", "earlier_outcome", "earlier_answer", "outcome", "answer")
    return {tuple(row[name] for name in names) for row in rows}


def shown(run_dir: Path, columns: str = "outcome, answer, correct, score, scorer_version") -> list[tuple[object, ...]]:
    with open_runs([str(run_dir)], texts=True) as connection:
        rows = select(connection, f"SELECT {columns} FROM records ORDER BY trial_id").to_pylist()
    return [tuple(row.values()) for row in rows]


def test_the_same_scorer_changes_nothing(call: Call, made: tuple[Path, list[Item]]) -> None:
    run_dir, _ = made
    before, files = shown(run_dir), digests(run_dir)
    status, out, err = call("rescore", str(run_dir))
    assert status == 0
    assert err == f"6 completions scored (arithmetic: scorer {before[0][4]}); 0 verdicts changed\n"
    assert [line.split()[-5:] for line in out.splitlines()[1:3]] == [["3", "0", "0", "0", "0"]] * 2
    assert shown(run_dir) == before
    assert digests(run_dir) == files
    own = {row["trial_id"]: row for row in table(run_dir, "scores")}
    assert len(own) == 6


def test_where_an_answer_was_read_is_kept_with_the_new_verdict(call: Call, made: tuple[Path, list[Item]]) -> None:
    run_dir, _ = made
    columns = "completion, answer, answer_start, answer_end"
    before = shown(run_dir, columns)
    assert call("rescore", str(run_dir))[0] == 0
    assert shown(run_dir, columns) == before
    places = {(row["answer"], row["answer_start"], row["answer_end"]) for row in table(run_dir, "scores")}
    assert places == {row[1:] for row in before}
    read = shown(run_dir, "answer, substr(completion, answer_start + 1, answer_end - answer_start)")
    assert all(answer == there for answer, there in read)
    assert len(places) == 3
    assert call("rescore", str(run_dir), *BROKEN)[0] == 0
    assert {row[2:] for row in shown(run_dir, columns)} == {(None, None)}  # its scorer does not say


def test_a_broken_extractor_and_back_lists_exactly_what_changed(call: Call, made: tuple[Path, list[Item]]) -> None:
    run_dir, (right, wrong, _) = made
    before, files = shown(run_dir), digests(run_dir)
    conditions = ("baseline", "taboo(rank=1)")
    assert len(right.gold) > 1, "its first digit is another number"

    status, out, err = call("rescore", str(run_dir), *BROKEN, "--format", "csv")
    assert (status, err.partition(";")[2]) == (0, " 4 verdicts changed\n")
    there = {
        change
        for condition in conditions
        for change in [
            (condition, right.item_id, "correct", right.gold, "wrong", right.gold[0]),
            (condition, wrong.item_id, "wrong", "7777", "wrong", "7"),
        ]
    }
    assert listed(out) == there
    assert {row[4] for row in shown(run_dir)} == {"first_digit broken"}
    assert sum(row[0] == "correct" for row in shown(run_dir)) == 0
    assert digests(run_dir) == files

    status, out, _ = call("rescore", str(run_dir), "--format", "csv")
    assert listed(out) == {
        (c, item, new, new_answer, old, old_answer) for c, item, old, old_answer, new, new_answer in there
    }
    assert shown(run_dir) == before, "rescored with the run's own scorer, the views show the records' own verdicts"
    assert digests(run_dir) == files
    assert len(table(run_dir, "scores")) == 12


def test_counts_are_given_for_each_cell(call: Call, made: tuple[Path, list[Item]]) -> None:
    run_dir, _ = made
    lines = call("rescore", str(run_dir), *BROKEN)[1].splitlines()
    assert lines[0].split()[-5:] == ["n", "n_changed", "now_correct", "no_longer", "n_error"]
    for line, condition in zip(lines[1:3], ("baseline", "taboo(rank=1)"), strict=True):
        assert line.split() == ["mine", "none", "bfloat16", "arithmetic", condition, "3", "2", "0", "1", "0"]
    assert lines[3] == ""
    assert len(lines) == 4 + 1 + 4


def test_the_other_forms_hold_the_list_alone(call: Call, made: tuple[Path, list[Item]]) -> None:
    run_dir, _ = made
    rows = json.loads(call("rescore", str(run_dir), *BROKEN, "--format", "json")[1])
    assert len(rows) == 4
    assert {"model", "benchmark", "condition", "item_id", "earlier_score", "score", "trial_id"} < rows[0].keys()
    assert call("rescore", str(run_dir), *BROKEN, "--format", "json")[1] == "[]\n"


def test_the_list_can_be_asked_for_again_in_sql(call: Call, made: tuple[Path, list[Item]]) -> None:
    run_dir, _ = made
    call("rescore", str(run_dir), *BROKEN)
    query = (
        "SELECT count(*) AS n FROM scores WHERE (outcome, answer) IS DISTINCT FROM (earlier_outcome, earlier_answer)"
    )
    assert call("sql", str(run_dir), query, "--format", "csv")[1] == "n\n4\n"


def test_every_view_counts_the_new_verdicts(call: Call, made: tuple[Path, list[Item]]) -> None:
    run_dir, _ = made
    query = "SELECT condition, n_correct FROM accuracy ORDER BY condition"
    assert (
        call("sql", str(run_dir), query, "--format", "csv")[1] == "condition,n_correct\nbaseline,1\ntaboo(rank=1),1\n"
    )
    call("rescore", str(run_dir), *BROKEN)
    assert (
        call("sql", str(run_dir), query, "--format", "csv")[1] == "condition,n_correct\nbaseline,0\ntaboo(rank=1),0\n"
    )


def test_results_duckdb_is_brought_up_to_date_where_there_is_one(call: Call, made: tuple[Path, list[Item]]) -> None:
    import duckdb

    from taboo_cluster.analysis.database import write_results

    run_dir, _ = made
    call("rescore", str(run_dir))
    assert not (run_dir / "results.duckdb").exists()
    path = write_results(str(run_dir))
    call("rescore", str(run_dir), *BROKEN)
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.sql("SELECT count(*) FROM records WHERE correct").fetchall() == [(0,)]
        assert connection.sql("SELECT count(DISTINCT rescore_id) FROM scores").fetchall() == [(2,)]


def add(run_dir: Path, name: str, *rows: dict[str, object]) -> None:
    with PartWriter(str(run_dir / "records" / "mine"), f"part-{name}", RECORD) as writer:
        for row in rows:
            writer.add(row)


def first_row(run_dir: Path, item: Item) -> dict[str, object]:
    with open_runs([str(run_dir)], texts=True) as connection:
        query = f"SELECT * FROM recorded WHERE item_id = '{item.item_id}' AND taboo_rank = 0"
        (row,) = select(connection, query).to_pylist()
    return {column.name: row[column.name] for column in RECORD}


def test_a_scorer_that_failed_is_mended_and_other_errors_are_left_alone(
    call: Call, made: tuple[Path, list[Item]]
) -> None:
    run_dir, (right, wrong, _) = made
    failed = {"outcome": "error", "correct": None, "parse_ok": None, "score": None, "answer": None, "error": "?"}
    broke, late = first_row(run_dir, right) | failed, first_row(run_dir, wrong) | failed
    for part in (run_dir / "records").rglob("*.parquet"):
        part.unlink()
    add(run_dir, "x", broke | {"error_type": "scorer_failed"}, late | {"error_type": "timeout", "completion": None})
    status, out, err = call("rescore", str(run_dir), "--format", "csv")
    assert (status, err[:13]) == (0, "1 completions")
    assert listed(out) == {("baseline", right.item_id, "error", "", "correct", right.gold)}
    kinds = dict(zip(*zip(*shown(run_dir, "item_id, error_type"), strict=True), strict=True))
    assert kinds == {right.item_id: None, wrong.item_id: "timeout"}
    assert recorded(str(run_dir))[str(broke["trial_id"])].error_type == "scorer_failed", "the record says what it said"


def test_a_scorer_that_fails_costs_its_own_trials_only(call: Call, made: tuple[Path, list[Item]]) -> None:
    run_dir, (_, _, none) = made
    status, _, err = call("rescore", str(run_dir), *BROKEN, "benchmark.first_digit.fail=true", "--format", "csv")
    assert status == 1, "a third of the completions is more than may fail"
    assert "6 completions scored (arithmetic: scorer first_digit broken), 2 of them in error; 6 verdicts" in err
    rows = shown(run_dir, "item_id, outcome, error_type, error, correct")
    bad = [row for row in rows if row[1] == "error"]
    assert bad == [(none.item_id, "error", "scorer_failed", "RuntimeError: no digit at all", None)] * 2
    assert call("rescore", str(run_dir))[0] == 0
    assert all(row[2] is None for row in shown(run_dir, "item_id, outcome, error_type"))


def test_a_trial_that_is_made_again_keeps_its_own_verdict(call: Call, made: tuple[Path, list[Item]]) -> None:
    run_dir, (right, _, _) = made
    call("rescore", str(run_dir), *BROKEN)
    again = first_row(run_dir, right) | {"attempt": 2, "completion": "So 1.", "outcome": "wrong", "answer": "1"}
    add(run_dir, "again", again | {"scorer_version": "own", "score": 0.0, "correct": False})
    query = f"SELECT outcome, answer, scorer_version FROM records WHERE trial_id = '{again['trial_id']}'"
    assert call("sql", str(run_dir), query, "--format", "csv")[1] == "outcome,answer,scorer_version\nwrong,1,own\n"


def test_warnings_about_the_prompt_stay_with_the_details(call: Call, made: tuple[Path, list[Item]]) -> None:
    run_dir, (right, _, _) = made
    row = first_row(run_dir, right) | {"details": '{"prompt_warnings": ["w"], "old": 1}', "attempt": 3}
    add(run_dir, "warned", row)
    call("rescore", str(run_dir), *BROKEN)
    (details,) = {d for t, d in shown(run_dir, "trial_id, details") if t == row["trial_id"]}
    assert json.loads(str(details)) == {"prompt_warnings": ["w"]}


def test_a_damaged_part_is_left_out_with_a_warning(
    call: Call, tmp_path: Path, model_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_dir = tmp_path / "run"
    make_run(run_dir, model_folder, "limit=10", rows=5)
    parts = sorted((run_dir / "records").rglob("*.parquet"))
    assert len(parts) == 4
    data = bytearray(parts[1].read_bytes())
    data[4:-8] = bytes(len(data) - 12)
    parts[1].write_bytes(bytes(data))
    status, _, err = call("rescore", str(run_dir))
    assert (status, err.partition(" ")[0]) == (0, "15")
    assert f"unreadable part left out: {parts[1]}" in caplog.text


def test_each_completion_is_scored_once_where_a_part_stands_beside_the_merged_one(
    call: Call, made: tuple[Path, list[Item]]
) -> None:
    run_dir, _ = made
    (part,) = (run_dir / "records").rglob("*.parquet")
    part.with_name("part-merged-000099.parquet").write_bytes(part.read_bytes())
    assert call("rescore", str(run_dir))[2].startswith("6 completions")
    assert len(table(run_dir, "scores")) == 6


def test_one_benchmark_alone(call: Call, refused: Refused, made: tuple[Path, list[Item]]) -> None:
    run_dir, _ = made
    assert call("rescore", str(run_dir), "--benchmark", "arithmetic")[0] == 0
    assert "unknown benchmark of this run 'gsm8k'" in refused("rescore", str(run_dir), "--benchmark", "gsm8k")


def test_a_plugin_may_bring_the_scorer(
    call: Call, refused: Refused, made: tuple[Path, list[Item]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir, _ = made
    (tmp_path / "my_scorers.py").write_text(
        "from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry\n"
        "from test_rescore_command import FirstNumber, Options\n"
        "BENCHMARKS.register('from_plugin')(BenchmarkEntry(Options, FirstNumber))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    other = ("--scorer", "arithmetic=from_plugin")
    assert "unknown benchmark 'from_plugin'" in refused("rescore", str(run_dir), *other)
    try:
        assert call("rescore", str(run_dir), "plugins=[my_scorers]", *other)[2].endswith("; 4 verdicts changed\n")
    finally:
        BENCHMARKS._entries.pop("from_plugin", None)


def test_mistakes_are_one_line_and_write_nothing(
    refused: Refused, made: tuple[Path, list[Item]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir, (right, _, _) = made
    run = str(run_dir)
    assert "no such run directory" in refused("rescore", str(tmp_path / "none"))
    (tmp_path / "thesis").mkdir()
    assert "is not a run directory" in refused("rescore", str(tmp_path / "thesis"))
    assert "'limit=3' has no effect on stored completions" in refused("rescore", run, "limit=3")
    assert "unknown benchmark of this run 'gsm8k'" in refused("rescore", run, "benchmark.gsm8k.max_tokens=3")
    assert "unknown key 'benchmark.arithmetic.max_token'" in refused("rescore", run, "benchmark.arithmetic.max_token=3")
    assert "plugin 'nope' cannot be imported" in refused("rescore", run, "plugins=[nope]")
    assert "like gsm8k=my_gsm8k" in refused("rescore", run, "--scorer", "arithmetic")
    assert "unknown benchmark 'arithmetik' - did you mean 'arithmetic'?" in refused(
        "rescore", run, "--scorer", "arithmetic=arithmetik"
    )
    assert "recorded items are not in the data set, e.g." in refused("rescore", run, "benchmark.arithmetic.seed=1")
    monkeypatch.setattr(FirstNumber, "canaries", lambda self: ((right, "7777", True),))
    assert "canary: first_digit scores '7777' as wrong" in refused("rescore", run, *BROKEN)
    assert not (run_dir / "tables" / "scores").exists()


def test_another_gold_answer_is_refused(refused: Refused, made: tuple[Path, list[Item]]) -> None:
    run_dir, (right, _, _) = made
    add(run_dir, "gold", first_row(run_dir, right) | {"gold": "12345", "trial_id": "other"})
    line = refused("rescore", str(run_dir))
    assert (
        f"item {right.item_id} has the gold answer '{right.gold}' in the data set, but '12345' in the records" in line
    )


def test_a_run_with_nothing_recorded_or_no_settings_is_one_line(refused: Refused, run_dir: Path) -> None:
    assert "does not say with which settings it was run" in refused("rescore", str(run_dir))
