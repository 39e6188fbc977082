"""The views on fragmentation over a handful of records, with numbers worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brittle_records import Record

from taboo_cluster.analysis import valley
from taboo_cluster.analysis.database import open_runs, select, write_results
from taboo_cluster.records.schema import TABLES
from taboo_cluster.records.writer import PartWriter

Row = dict[str, Any]


@pytest.fixture
def document(record: Record) -> Record:
    """The function that makes the record of a document whose lines were asked for."""

    def make(item: str, p: float | None, hits: int | None, **more: Any) -> Row:
        """`hits` of 4 target lines found and nothing else named (None: an error); the clean text at p None."""
        row = {"benchmark": "absence", "item_group": "poems", "model": "m", "tokenizer_hash": "t", **more}
        if hits is not None:
            row = {"lines": lines(hits, hits)} | row
        made = record(item, None if hits is None else hits == 4, **(stack(p) | row))
        settings = (made["item_group"], made["n_shots"], made["taboo_rank"])
        return made | {"trial_id": f"{made['trial_id']} {settings}"}

    return make


def lines(hits: int, named: int, targets: int = 4, **more: int) -> dict[str, int]:
    """The column `lines` of a whole document of 40 lines."""
    return {
        "total": 40, "kept": 40, "targets": targets, "named": named, "hits": hits, "hits_nospace": hits,
        "hits_absencebench": hits, "named_absencebench": named,
    } | more  # fmt: skip


def stack(p: float | None, name: str = "fragment", seed: int = 1, **options: Any) -> Row:
    """What a record says of a fragmented text; of the clean one at None."""
    if p is None:
        return {}
    options = {"independent": False, **options} if name == "fragment" else options
    member = {"name": name, "family": "fragmentation", "params": json.dumps({**options, "p": p}, sort_keys=True)}
    inside = "".join(f",{key}={str(value).lower()}" for key, value in options.items())
    return {
        "condition": f"{name}(p={p:g}{inside})", "perturbations": [member], "perturbation_seed": seed,
        "fragment_p": p, "word_fragmentation_rate": p, "changed": True,
    }  # fmt: skip


def regular_k(k: int, rate: float | None) -> Row:
    """What a record says of a text with a space after every k-th character."""
    member = {"name": "fragment_regular_k", "family": "fragmentation", "params": json.dumps({"k": k})}
    return {
        "condition": f"fragment_regular_k(k={k})", "perturbations": [member], "perturbation_seed": 1,
        "word_fragmentation_rate": rate, "changed": True,
    }  # fmt: skip


def curve(make: Record, hits: dict[float | None, str], **more: Any) -> list[Row]:
    """At each p the hits of documents a, b ...: a digit each, `-` for an error, a blank for no record."""
    return [
        make(name, p, None if found == "-" else int(found), **more)
        for p, row in hits.items()
        for name, found in zip("abcdefgh", row, strict=False)
        if found != " "
    ]


U = {None: "4444", 0.3: "1111", 0.6: "2222", 1.0: "3333"}
"""F1 with n hits of 4 targets and nothing else named: 2n / (n + 4)."""


def tokenized(run: Any, *rows: Row) -> None:
    """Write rows of the table `tokenization`."""
    with PartWriter(f"{run.directory}/tables/tokenization", f"part-{run.parts}", TABLES["tokenization"]) as writer:
        for row in rows:
            writer.add(row)
    run.parts += 1


def tokens(item: str, p: float | None, entropy: float, **more: Any) -> Row:
    """A row of the table `tokenization`: 20 tokens of 40 characters."""
    found = stack(p)
    return {
        "tokenizer_hash": "t", "benchmark": "absence", "split": "test", "item_id": item, "item_group": "poems",
        "cluster_id": item, "perturbations": found.get("condition"),
        "perturbation_seed": found.get("perturbation_seed"), "fragment_p": found.get("fragment_p"),
        "word_fragmentation_rate": found.get("word_fragmentation_rate"),
        "tokens": 20, "characters": 40, "entropy": entropy, "entropy_fixed": entropy / 2, "fixed_tokens": 10,
        "single_character_share": 0.25,
    } | more  # fmt: skip


# --- points ---


def test_scores_by_hand(run: Any, document: Record) -> None:
    scored = lines(2, 3, hits_nospace=3, hits_absencebench=4, named_absencebench=5)
    empty = lines(0, 0, targets=0)
    run.write(
        *(document(i, p, 4) for i in "abc" for p in (None, 1.0)),
        document("a", 0.5, 2, lines=scored), document("b", 0.5, 1), document("c", 0.5, 0, lines=empty),
    )  # fmt: skip
    clean, row, last = run.ask("FROM valley")
    # TP 2 + 1, named 3 + 1, targets 4 + 4.
    assert (row["f1"], row["value"], row["measure"]) == (pytest.approx(6 / 12), row["f1"], "f1")
    assert (row["precision"], row["recall"], row["n_targets"]) == (0.75, pytest.approx(3 / 8), 8)
    assert row["f1_nospace"] == pytest.approx(2 * 4 / 12)
    assert row["f1_absencebench"] == pytest.approx(2 * 5 / (6 + 8))
    # Of the documents: 4 / 7, 2 / 5, and 1 where nothing was to be named and nothing was.
    assert row["f1_doc"] == pytest.approx((4 / 7 + 2 / 5 + 1) / 3)
    assert (row["accuracy"], row["n"], row["n_dropped"], row["n_missing"]) == (0.0, 3, 0, 0)
    assert (row["fragment_p"], row["word_fragmentation_rate"]) == (0.5, 0.5)
    assert (row["n_cut"], row["kept_share"], row["n_skipped"], row["reason"]) == (0, 1.0, 0, None)
    assert row["condition"] == "fragment(p=0.5,independent=false)"
    assert row["ci_low"] < row["value"] < row["ci_high"]
    assert (clean["fragment_p"], clean["condition"], clean["f1"], clean["ci_low"]) == (0.0, "baseline", 1.0, 1.0)
    assert (clean["word_fragmentation_rate"], last["fragment_p"]) == (0.0, 1.0)
    names = {(r["fragmentation"], r["perturbation_seed"], r["item_group"]) for r in (clean, row, last)}
    assert names == {("fragment(independent=false)", 1, "poems")}


def test_intervals_are_the_bootstraps(run: Any, document: Record) -> None:
    run.write(*curve(document, {None: "4444", 0.5: "0123", 1.0: "3213"}))
    over = 2 * np.array([[4, 0, 3], [4, 1, 2], [4, 2, 1], [4, 3, 3]], dtype=np.float64)
    made = valley.Curve(np.array([0, 0.5, 1]), over, over / 2 + 4)
    (seed,) = (row["curve"] for row in _steps(run, "SELECT DISTINCT curve FROM _curve_trials"))
    expected = valley.intervals(made, 0, "valley", seed)
    rows = run.ask("SELECT ci_low, ci_high FROM valley")
    assert [(row["ci_low"], row["ci_high"]) for row in rows] == expected


def _steps(run: Any, query: str) -> list[Row]:
    with open_runs([run.directory]) as connection:
        rows: list[Row] = select(connection, query).to_pylist()
    return rows


def test_another_cell_moves_no_interval(run: Any, document: Record) -> None:
    run.write(*curve(document, {None: "4444", 0.5: "0123", 1.0: "3213"}))
    query = "SELECT fragment_p, value, ci_low, ci_high FROM valley WHERE model = 'm' AND fragment_p IN (0, 0.5, 1)"
    before = run.ask(query)
    run.write(*curve(document, {0.2: "1034"}), *curve(document, U, model="another"))
    assert run.ask(query) == before


def test_nothing_named_and_nothing_to_be_named_is_null(run: Any, document: Record) -> None:
    empty = lines(0, 0, targets=0)
    run.write(*(document(i, p, 0, lines=empty) for i in "ab" for p in (None, 0.5, 1.0)))
    rows = run.ask("SELECT value, f1, precision, recall, f1_doc, ci_low, n, reason FROM valley")
    assert rows == [
        {"value": None, "f1": None, "precision": None, "recall": None, "f1_doc": 1.0, "ci_low": None, "n": 2,
         "reason": "no line named and none to be named"}
    ] * 3  # fmt: skip
    row = run.one("FROM valley_summary")
    assert (row["u_shaped"], row["depth"], row["location"]) == (None, None, None)
    assert row["reason"] == "no value at p = 0 or p = 1; no text tokenized at every level"


def test_an_unparsed_answer_is_an_empty_list(run: Any, document: Record) -> None:
    nothing = {"lines": lines(0, 0), "outcome": "refused", "parse_ok": False}
    run.write(*curve(document, {None: "44", 1.0: "4 "}), document("b", 1.0, 0, **nothing))
    assert [row["f1"] for row in run.ask("SELECT f1 FROM valley")] == [1.0, pytest.approx(8 / 12)]


def test_a_document_dropped_at_one_level_counts_at_none(run: Any, document: Record) -> None:
    run.write(*curve(document, {None: "441", 0.5: "22-", 1.0: "333"}))
    rows = run.ask("SELECT f1, n, n_dropped, n_error, n_missing FROM valley")
    assert [row["f1"] for row in rows] == [1.0, pytest.approx(4 / 6), pytest.approx(6 / 7)]
    assert [(r["n"], r["n_dropped"], r["n_error"], r["n_missing"]) for r in rows] == [
        (2, 1, 0, 0), (2, 1, 1, 0), (2, 1, 0, 0),
    ]  # fmt: skip
    row = run.one("FROM valley_summary")
    assert (row["n"], row["n_dropped"], row["n_levels"]) == (2, 1, 3)


def test_a_document_not_yet_recorded_at_one_level_is_missing_there(run: Any, document: Record) -> None:
    run.write(*curve(document, {None: "444", 0.5: "2 2", 1.0: "333"}))
    rows = run.ask("SELECT n, n_dropped, n_error, n_missing FROM valley")
    assert [tuple(row.values()) for row in rows] == [(2, 1, 0, 0), (2, 1, 0, 1), (2, 1, 0, 0)]


def test_skipped_and_cut_documents_are_counted(run: Any, document: Record) -> None:
    run.write(*curve(document, {None: "44-", 0.5: "22-", 1.0: "33-"}, error_type=None))
    skipped = {"error_type": "document_skipped", "error": "would keep 12 of 300 lines"}
    # Where nothing was fragmented the columns of fragmentation are empty: the stack says what the level is.
    unmeasured = {"fragment_p": None, "word_fragmentation_rate": None}
    run.write(
        *(document("s", p, None, **skipped, **(unmeasured if p else {})) for p in (None, 0.5, 1.0)),
        *(document("k", p, 2, lines=lines(2, 2, kept=30, total=60)) for p in (None, 0.5, 1.0)),
    )
    rows = run.ask("SELECT n, n_skipped, n_cut, n_error, n_dropped, kept_share, fragment_p FROM valley")
    assert [tuple(row.values()) for row in rows] == [
        (3, 1, 1, 2, 0, pytest.approx(110 / 140), p) for p in (0.0, 0.5, 1.0)
    ]


def test_a_domain_of_skipped_documents_is_a_curve_without_items(run: Any, document: Record) -> None:
    run.write(*curve(document, U))
    skipped = {"error_type": "document_skipped", "item_group": "contracts"}
    run.write(*(document(i, p, None, **skipped) for i in "xy" for p in (None, 0.5, 1.0)))
    rows = run.ask("SELECT measure, value, ci_low, n, n_skipped, reason FROM valley WHERE item_group = 'contracts'")
    assert rows == [
        {"measure": "f1", "value": None, "ci_low": None, "n": 0, "n_skipped": 2,
         "reason": "no item scored at every level"}
    ] * 3  # fmt: skip
    row = run.one("FROM valley_summary WHERE item_group = 'contracts'")
    assert (row["u_shaped"], row["depth"], row["n"], row["n_levels"]) == (None, None, 0, 3)
    assert row["reason"] == "no item scored at every level"


def test_each_domain_and_setting_has_a_curve_of_its_own(run: Any, document: Record) -> None:
    taboo = {"taboo_rank": 1, "taboo_trigger": "word_start", "taboo_word_start": "marker"}
    run.write(
        *curve(document, U),
        *curve(document, U, item_group="contracts"),
        *curve(document, U, n_shots=4),
        *curve(document, U, **taboo),
    )
    rows = run.ask("SELECT item_group, n_shots, taboo_rank, quantization, n, n_levels FROM valley_summary ORDER BY ALL")
    assert [tuple(row.values()) for row in rows] == [
        ("contracts", 2, 0, "none", 4, 4), ("poems", 2, 0, "none", 4, 4), ("poems", 2, 1, "none", 4, 4),
        ("poems", 4, 0, "none", 4, 4),
    ]  # fmt: skip


def test_kinds_seeds_and_stacks_are_curves_that_share_the_clean_text(run: Any, document: Record) -> None:
    run.write(
        *curve(document, {None: "4444"}),
        *(document(i, 0.5, 1, **stack(0.5, seed=2)) for i in "abcd"),
        *(document(i, 0.5, 2, **stack(0.5, independent=True)) for i in "abcd"),
        *(document(i, 0.5, 3, **stack(0.5, "fragment_between")) for i in "abcd"),
        *curve(document, {0.5: "1111"}),
    )
    rows = run.ask("SELECT fragmentation, perturbation_seed, fragment_p, recall FROM valley")
    assert [tuple(row.values()) for row in rows if row["fragment_p"]] == [
        ("fragment(independent=false)", 1, 0.5, 0.25), ("fragment(independent=false)", 2, 0.5, 0.25),
        ("fragment(independent=true)", 1, 0.5, 0.5), ("fragment_between", 1, 0.5, 0.75),
    ]  # fmt: skip
    assert [row["recall"] for row in rows if row["fragment_p"] == 0] == [1.0] * 4


def test_the_clean_text_of_a_stack_is_the_stack_without_fragmentation(run: Any, document: Record) -> None:
    typos = {"name": "typos", "family": "word", "params": '{"kind": null, "rate": 0.1}'}

    def stacked(p: float | None) -> Row:
        found = stack(p)
        name = "typos(rate=0.1)" + (f"→{found['condition']}" if found else "")
        return {
            **found, "condition": name, "perturbations": [typos, *found.get("perturbations", [])],
            "perturbation_seed": 1, "changed": True,
        }  # fmt: skip

    run.write(
        *curve(document, {None: "4444"}),
        *(document(i, p, hits, **stacked(p)) for i in "abcd" for p, hits in ((None, 3), (0.5, 1), (1.0, 2))),
    )
    rows = run.ask("SELECT fragmentation, condition, fragment_p, recall FROM valley")
    assert [tuple(row.values()) for row in rows] == [
        ("typos(rate=0.1)→fragment(independent=false)", name, p, recall)
        for name, p, recall in (
            ("typos(rate=0.1)", 0.0, 0.75),
            ("typos(rate=0.1)→fragment(p=0.5,independent=false)", 0.5, 0.25),
            ("typos(rate=0.1)→fragment(p=1,independent=false)", 1.0, 0.5),
        )
    ]


def test_two_fragmentations_in_one_stack_make_no_curve(run: Any, document: Record) -> None:
    both = {"perturbations": [*stack(0.5)["perturbations"], *stack(0.2, "fragment_between")["perturbations"]]}
    run.write(*curve(document, {None: "44"}), *(document(i, 0.5, 1, **(stack(0.5) | both)) for i in "ab"))
    assert run.ask("FROM valley") == run.ask("FROM valley_summary") == []


def test_regular_k_stands_at_its_measured_rate(run: Any, document: Record) -> None:
    run.write(
        *curve(document, {None: "44"}),
        *(document(i, 0.0, 3, **regular_k(1, 1.0)) for i in "ab"),
        *(document(i, 0.0, 1, **regular_k(2, rate)) for i, rate in (("a", 0.375), ("b", 0.5))),
        *(document(i, 0.0, 2, **regular_k(3, rate)) for i, rate in (("a", 0.25), ("b", None))),
    )
    rows = run.ask("SELECT fragmentation, fragment_p, word_fragmentation_rate, recall, condition FROM valley")
    assert [tuple(row.values()) for row in rows] == [
        ("fragment_regular_k", 0.0, 0.0, 1.0, "baseline"),
        ("fragment_regular_k", 0.25, 0.25, 0.5, "fragment_regular_k(k=3)"),
        ("fragment_regular_k", 0.4375, 0.4375, 0.25, "fragment_regular_k(k=2)"),
        ("fragment_regular_k", 1.0, 1.0, 0.75, "fragment_regular_k(k=1)"),
    ]
    row = run.one("FROM valley_summary")
    assert (row["u_shaped"], row["location"], row["n_levels"]) == (True, 0.4375, 4)


def test_math_is_measured_by_accuracy(run: Any, record: Record) -> None:
    right = {None: "1234", 0.5: "1", 1.0: "12"}
    run.write(
        *(
            record(i, i in who, cluster_id=f"c{i}", item_group="template", **stack(p))
            for p, who in right.items()
            for i in "1234"
        )
    )
    rows = run.ask("FROM valley")
    assert [row["value"] for row in rows] == [row["accuracy"] for row in rows] == [1.0, 0.25, 0.5]
    assert {(row["measure"], row["item_group"], row["n"]) for row in rows} == {("accuracy", None, 4)}
    assert {(row["f1"], row["f1_nospace"], row["precision"], row["n_targets"]) for row in rows} == {(None,) * 4}
    row = run.one("FROM valley_summary")
    assert (row["measure"], row["depth"], row["recovery"], row["location"]) == ("accuracy", 0.75, 0.25, 0.5)
    # F(1) - F(0.5) = 0.25 with a standard error of 0.22.
    assert (row["u_shaped"], row["copying"], row["valley"]) == (False, None, None)


def test_clusters_are_drawn_whole(run: Any, record: Record) -> None:
    run.write(
        *(record(f"{c}{i}", c == "x", cluster_id=c, **stack(p)) for p in (None, 0.5) for c in "xy" for i in range(20))
    )
    row = run.ask("FROM valley")[0]
    # Forty items, but two clusters: a quarter of the draws has either alone.
    assert (row["value"], row["n"], row["ci_low"], row["ci_high"]) == (0.5, 40, 0.0, 1.0)


def test_replicates_are_left_out(run: Any, document: Record) -> None:
    run.write(*curve(document, U), *curve(document, {0.3: "4444"}, replicate=1))
    assert [row["recall"] for row in run.ask("SELECT recall FROM valley")] == [1.0, 0.25, 0.5, 0.75]


def test_one_document_has_points_but_no_interval(run: Any, document: Record) -> None:
    run.write(*curve(document, {None: "4", 0.5: "1", 1.0: "4"}))
    rows = run.ask("SELECT recall, ci_low, ci_high, reason FROM valley")
    reason = "no interval: fewer than two documents"
    assert [tuple(row.values()) for row in rows] == [(recall, None, None, reason) for recall in (1.0, 0.25, 1.0)]
    row = run.one("FROM valley_summary")
    assert (row["u_shaped"], row["depth"], row["depth_cross_fitted"]) == (None, pytest.approx(0.6), None)
    assert row["reason"] == "fewer than two documents; no text tokenized at every level"


# --- summary ---


def test_summary_by_hand(run: Any, document: Record) -> None:
    run.write(*curve(document, U))
    row = run.one("FROM valley_summary")
    # F1: 1, 2/5, 4/6, 6/7.
    assert (row["u_shaped"], row["u_shaped_int"], row["copying"], row["copying_int"]) == (True, 1, False, 0)
    numbers = (pytest.approx(1 - 2 / 5), pytest.approx(6 / 7 - 2 / 5), 0.3)
    assert (row["depth"], row["recovery"], row["location"]) == numbers
    assert (row["depth_cross_fitted"], row["recovery_cross_fitted"], row["location_cross_fitted"]) == numbers
    assert (row["valley"], row["valley_int"]) == (None, None)
    assert (row["n"], row["n_dropped"], row["n_levels"], row["n_tokenized"]) == (4, 0, 4, 0)
    assert (row["entropy_peak"], row["peak_before_minimum"]) == (None, None)
    assert row["reason"] == "no text tokenized at every level"


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ({0.0: "44", 0.3: "11", 0.9: "44"}, "no level at p = 1"),
        ({0.1: "44", 0.3: "11", 1.0: "44"}, "no level at p = 0"),
        ({None: "44", 1.0: "44"}, "no level between p = 0 and p = 1"),
    ],
)
def test_what_is_too_little_of_a_curve(
    run: Any, document: Record, levels: dict[float | None, str], reason: str
) -> None:
    run.write(*curve(document, levels))
    row = run.one("FROM valley_summary")
    assert (row["u_shaped"], row["u_shaped_int"], row["copying"]) == (None, None, None)
    assert row["reason"] == f"{reason}; no text tokenized at every level"


def test_a_level_at_0_stands_in_for_the_clean_text_only_where_that_is_missing(run: Any, document: Record) -> None:
    run.write(*curve(document, {0.0: "22", 0.3: "11", 1.0: "33"}))
    assert run.one("SELECT depth FROM valley_summary")["depth"] == pytest.approx(4 / 6 - 2 / 5)
    run.write(*curve(document, {None: "44"}))
    assert run.one("SELECT depth FROM valley_summary")["depth"] == pytest.approx(1 - 2 / 5)


def test_a_valley_in_f1_alone_is_copying(run: Any, document: Record) -> None:
    clean_copied = lines(0, 4, hits_nospace=4)
    run.write(
        *curve(document, {None: "4444", 1.0: "4444"}),
        *(document(i, 0.5, 0, lines=clean_copied) for i in "abcd"),
    )
    row = run.one("FROM valley_summary")
    assert (row["u_shaped"], row["copying"], row["copying_int"]) == (True, True, 1)
    assert [(r["f1"], r["f1_nospace"]) for r in run.ask("FROM valley")] == [(1.0, 1.0), (0.0, 1.0), (1.0, 1.0)]


def test_a_valley_takes_both_tasks(run: Any, document: Record) -> None:
    flat = {None: "4444", 0.3: "4444", 0.6: "4444", 1.0: "4444"}
    no_end = {None: "4444", 0.3: "1111"}
    for model, needle in (("both", U), ("one", flat), ("unknown", no_end)):
        run.write(*curve(document, U, model=model), *curve(document, needle, model=model, benchmark="needle"))
    run.write(*curve(document, U, model="alone"))
    # The other task in another domain or setting is no partner.
    run.write(*curve(document, U, model="alone", benchmark="needle", item_group="contracts"))
    run.write(*curve(document, U, model="alone", benchmark="needle", n_shots=5))
    rows = run.ask("SELECT DISTINCT model, valley, valley_int FROM valley_summary ORDER BY ALL")
    assert [tuple(row.values()) for row in rows] == [
        ("alone", None, None), ("both", True, 1), ("one", False, 0), ("unknown", None, None),
    ]  # fmt: skip


def test_the_peak_of_entropy_before_the_minimum(run: Any, document: Record) -> None:
    run.write(*curve(document, {None: "44", 0.3: "33", 0.6: "11", 1.0: "44"}))
    entropy = {None: 3.0, 0.3: 6.0, 0.6: 5.0, 1.0: 4.0}
    fixed = {None: 3.0, 0.3: 4.0, 0.6: 5.0, 1.0: 4.0}
    tokenized(run, *(tokens(i, p, entropy[p], entropy_fixed=fixed[p]) for i in "ab" for p in entropy))
    row = run.one("FROM valley_summary")
    assert (row["entropy_peak"], row["peak_before_minimum"]) == (0.3, 1.0)
    assert (row["entropy_fixed_peak"], row["peak_before_minimum_fixed"]) == (0.6, 0.0)
    assert (row["n_tokenized"], row["reason"]) == (2, None)


def test_a_text_tokenized_at_some_levels_is_left_out(run: Any, document: Record) -> None:
    run.write(*curve(document, {None: "444", 0.5: "111", 1.0: "444"}))
    rows = [tokens(i, p, 1 + (p or 0)) for i in "ab" for p in (None, 0.5, 1.0)]
    # Of another tokenizer or seed, and c without the clean text.
    other = [tokens("c", 0.5, 9), tokens("c", 1.0, 9), tokens("c", None, 9, tokenizer_hash="u")]
    other.append(tokens("a", 0.5, 9, perturbation_seed=2))
    tokenized(run, *rows, *other)
    row = run.one("FROM valley_summary")
    assert (row["n"], row["n_tokenized"], row["entropy_peak"], row["peak_before_minimum"]) == (3, 2, 1.0, 0.0)


# --- tokenization ---


def test_tokenization_by_hand(run: Any, document: Record, later: Any) -> None:
    run.write(document("a", None, 4), document("a", None, 4, model="n"), document("a", None, 4, model="o",
              tokenizer_hash="u"))  # fmt: skip
    tokenized(
        run,
        tokens("a", None, 9, measured_at=later(0)),
        tokens("a", None, 2, measured_at=later(5)),
        tokens("b", None, 4, measured_at=later(0), tokens=30, single_character_share=0.5),
        tokens("a", 0.3, 6, measured_at=later(0), word_fragmentation_rate=0.25),
        tokens("a", 0.3, 5, measured_at=later(0), item_group="contracts"),
    )  # fmt: skip
    clean, poems = run.ask("FROM tokenization WHERE item_group = 'poems'")
    assert (clean["entropy"], clean["entropy_fixed"], clean["n"], clean["models"]) == (3.0, 1.5, 2, ["m", "n"])
    assert (clean["tokens_per_character"], clean["single_character_share"]) == (0.625, 0.375)
    assert (clean["ci_low"], clean["ci_high"]) == (2.0, 4.0)
    assert (clean["fragment_p"], clean["perturbations"]) == (0.0, None)
    assert (poems["fragment_p"], poems["word_fragmentation_rate"], poems["entropy"], poems["n"]) == (0.3, 0.25, 6.0, 1)
    assert (poems["ci_low"], poems["ci_high"]) == (None, None)
    assert poems["perturbations"] == "fragment(p=0.3,independent=false)"


def test_tokenization_without_characters_or_entropy_is_null(run: Any, document: Record) -> None:
    run.write(document("a", None, 4))
    nothing = {"entropy": None, "entropy_fixed": None, "tokens": 0, "characters": 0, "single_character_share": None}
    tokenized(run, tokens("a", None, 0.0) | nothing)
    row = run.one("FROM tokenization")
    assert (row["entropy"], row["tokens_per_character"], row["ci_low"], row["n"]) == (None, None, None, 1)


def test_tokenization_of_regular_k_stands_at_its_measured_rate(run: Any, document: Record) -> None:
    run.write(document("a", None, 4))
    more = {"perturbations": "fragment_regular_k(k=2)", "fragment_p": None}
    tokenized(run, *(tokens(i, 0.5, 1, word_fragmentation_rate=rate, **more) for i, rate in (("a", 0.25), ("b", 0.5))))
    assert run.one("SELECT fragment_p FROM tokenization")["fragment_p"] == 0.375


# --- the whole ---


def test_a_run_without_fragmentation_has_no_curve(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*(make(i, True) for i in "123" for make in (record, perturbed)))
    assert run.ask("FROM valley") == run.ask("FROM valley_summary") == run.ask("FROM tokenization") == []


def test_other_views_take_fragmented_documents(run: Any, document: Record) -> None:
    # The gold answer is the lines as they were fragmented, and each model's document is cut in a place of its own.
    run.write(*(row | {"gold": row["condition"]} for row in curve(document, U)))
    run.write(*curve(document, U, lines=lines(1, 1, kept=20, total=60), model="short", gold="cut"))
    run.write(*curve(document, {None: "-   ", 0.3: " -  "}, model="third", gold="whole"))
    path = Path(write_results(run.directory))
    assert path.exists()
    assert {row["perturbation"] for row in run.ask("FROM perturbed")} == {
        f"fragment(p={p:g},independent=false)" for p in (0.3, 0.6, 1.0)
    }
