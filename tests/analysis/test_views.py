"""Every view on a handful of records, with numbers worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from taboo_cluster.analysis.database import VIEW_NAMES, open_runs, select
from taboo_cluster.analysis.statistics import bootstrap_gap, bootstrap_ratio, detectable_effect, newcombe, wilson
from taboo_cluster.errors import UserError

Record = Callable[..., dict[str, Any]]
BASE, INSTRUCT = "org/model-base", "org/model-instruct"


def six_items(record: Record) -> list[dict[str, Any]]:
    """Baseline: 1 2 3 6 right, 4 wrong, 5 error. Rank 1: 1 4 5 right, 2 wrong, 3 error, 6 not recorded yet."""
    return [
        *(record(item, right) for item, right in zip("123456", (True, True, True, False, None, True), strict=True)),
        record("1", True, 1, surprisal_total=4.0, interventions=2, completion_tokens=10, tie_steps=1, glued=2),
        record("2", False, 1, surprisal_total=2.0, interventions=4, completion_tokens=20, outcome="truncated",
               parse_ok=False, finish_reason="length", skipped_steps=3, stopped_by_detour=True),
        record("3", None, 1),
        record("4", True, 1, surprisal_total=99.0, interventions=1, completion_tokens=30, taboo_leak=True),
        record("5", True, 1, surprisal_total=99.0, interventions=1, completion_tokens=90, finish_reason="length"),
    ]  # fmt: skip


def test_names_that_duckdb_hashes_alike_are_kept_apart(run: Any, record: Record) -> None:
    alike = ("0000000000000002000000000000000b", "000000030000000b0000000000000007")
    run.write(*(record("1", True, model=name) for name in alike))
    (hashes,) = run.ask(f"SELECT count(DISTINCT hash(name)) AS n FROM (SELECT unnest({list(alike)}) AS name)")
    assert hashes["n"] == 1, "else this test says nothing"
    rows = run.ask("SELECT model, n FROM accuracy ORDER BY model")
    assert [tuple(row.values()) for row in rows] == [(name, 1) for name in alike]


def test_retention_by_hand(run: Any, record: Record) -> None:
    run.write(*six_items(record))
    row = run.one("FROM retention")
    # Scored on both sides: 1, 2, 4. Right in the baseline: 1, 2; of them right at rank 1: item 1.
    assert (row["retention"], row["n"], row["n_retained"], row["n_scored"]) == (0.5, 2, 1, 3)
    assert (row["ci_low"], row["ci_high"]) == wilson(1, 2)
    assert (row["ci_low_cluster"], row["ci_high_cluster"]) == (None, None)
    assert (row["gained"], row["n_gained"], row["n_baseline_wrong"]) == (1.0, 1, 1)
    # 3 failed at rank 1, 5 in the baseline; 6 has no record at rank 1.
    assert (row["n_error"], row["n_missing"]) == (2, 1)
    # Over items 1 and 2: (4 + 2) bits, 2 + 4 interventions, 10 + 20 tokens.
    assert row["dose_bits"] == 1.0
    assert row["bits_per_token"] == pytest.approx(0.2)
    assert row["interventions_per_trial"] == 3.0
    assert row["tie_share"] == pytest.approx(1 / 6)
    assert row["glued_share"] == pytest.approx(2 / 6)
    assert row["skipped_steps"] == 3
    assert (row["stopped_by_detour_share"], row["taboo_leak_share"]) == (0.5, 0.0)
    # Over 1, 2, 4 against 10 tokens each: (1 + 2 + 3) / 3.
    assert row["length_ratio"] == 2.0
    # All trials of the cell but the error: 1, 4, 5 of 4; and 4 of 5 in the baseline.
    assert (row["accuracy"], row["baseline_accuracy"]) == (0.75, 0.8)
    assert (row["coverage"], row["truncated_share"], row["truncated_but_parsed_share"]) == (0.75, 0.25, 0.25)
    # 40 tokens are more than twice the 10 of the longest baseline; no replicate, so no noise floor.
    assert (row["longest_baseline_tokens"], row["max_tokens_low"], row["max_tokens_low_int"]) == (10, False, 0)
    assert (row["retention_aa"], row["within_noise"], row["within_noise_int"]) == (None, None, None)


def test_accuracy_by_hand(run: Any, record: Record) -> None:
    run.write(*six_items(record))
    base, taboo = run.ask("FROM accuracy ORDER BY taboo_rank")
    assert (base["accuracy"], base["n"], base["n_correct"], base["n_error"], base["n_missing"]) == (0.8, 5, 4, 1, 0)
    assert (base["ci_low"], base["ci_high"]) == wilson(4, 5)
    assert (taboo["accuracy"], taboo["n"], taboo["n_correct"], taboo["n_error"], taboo["n_missing"]) == (
        0.75,
        4,
        3,
        1,
        1,
    )
    assert (taboo["coverage"], taboo["n_answered"], taboo["accuracy_answered"]) == (0.75, 3, 1.0)
    assert (taboo["truncated_share"], taboo["truncated_but_parsed_share"]) == (0.25, 0.25)
    assert (taboo["no_response_share"], taboo["refused_share"], taboo["invalid_format_share"]) == (0.0, 0.0, 0.0)
    assert taboo["completion_tokens_mean"] == 37.5


def test_g8_over_answered_and_over_all(run: Any, record: Record) -> None:
    run.write(
        record("1", True), record("2", False), record("3", False, outcome="no_response", parse_ok=False, score=0.0)
    )
    row = run.one("FROM accuracy")
    assert (row["accuracy_answered"], row["n_answered"]) == (0.5, 2)
    assert (row["accuracy"], row["n"]) == (pytest.approx(1 / 3), 3)


def test_g7_retention_without_a_right_baseline_is_null(run: Any, record: Record) -> None:
    run.write(record("1", False), record("1", True, 1))
    row = run.one("FROM retention")
    assert (row["retention"], row["ci_low"], row["ci_high"], row["n"]) == (None, None, None, 0)
    assert (row["gained"], row["dose_bits"], row["bits_per_token"]) == (1.0, None, None)
    assert (
        run.one("SELECT gap, ci_low, p, q, n FROM alignment_gap UNION ALL SELECT NULL, NULL, NULL, NULL, -1")["n"] == -1
    )


def test_cell_of_errors_alone(run: Any, record: Record) -> None:
    run.write(record("1", None), record("1", None, 1))
    row = run.one("FROM retention")
    assert (row["retention"], row["n"], row["n_error"], row["accuracy"], row["coverage"]) == (None, 0, 1, None, None)
    rows = run.ask("FROM accuracy")
    assert [(r["accuracy"], r["ci_low"], r["n"], r["n_error"]) for r in rows] == [(None, None, 0, 1)] * 2


def test_h9_average_hides_what_retention_shows(run: Any, record: Record) -> None:
    run.write(record("1", True), record("2", False), record("1", False, 1), record("2", True, 1))
    row = run.one("FROM retention")
    assert row["accuracy"] - row["baseline_accuracy"] == 0.0
    assert (row["retention"], row["n"], row["gained"]) == (0.0, 1, 1.0)


def test_cluster_interval_where_items_share_one(run: Any, record: Record) -> None:
    rows = []
    for item in range(8):
        rows.append(record(str(item), True, cluster_id=f"c{item // 2}"))
        rows.append(record(str(item), item < 4, 1, cluster_id=f"c{item // 2}"))
    run.write(*rows)
    row = run.one("FROM retention")
    cell = run.one("SELECT cell FROM cells WHERE taboo_rank = 1")["cell"]
    expected = bootstrap_ratio({(2, 2): 2, (0, 2): 2}, 0, "retention", cell)
    assert (row["ci_low"], row["ci_high"]) == wilson(4, 8)
    assert (row["ci_low_cluster"], row["ci_high_cluster"]) == (expected.low, expected.high)
    assert (row["ci_low_cluster"], row["ci_high_cluster"]) == (0.0, 1.0)


def test_adding_a_cell_moves_no_interval(run: Any, record: Record) -> None:
    rows = [record(str(i), True, rank, cluster_id=f"c{i % 3}") for i in range(9) for rank in (0, 1)]
    rows = [row | {"correct": False} if row["taboo_rank"] and row["item_id"] in "147" else row for row in rows]
    run.write(*rows)
    query = "FROM retention WHERE taboo_rank = 1 AND model = 'org/model-base'"
    before = run.one(query)
    run.write(*(record(str(i), i < 5, 2, cluster_id=f"c{i % 3}") for i in range(9)))
    run.write(*(record(str(i), i < 5, rank, model="other", cluster_id="c") for i in range(9) for rank in (0, 1)))
    assert run.one(query) == before


def test_d6_quantizations_never_meet(run: Any, record: Record) -> None:
    run.write(
        record("1", True, quantization="none"), record("2", True, quantization="none"),
        record("1", True, 1, quantization="nf4"), record("2", False, 1, quantization="nf4"),
        record("1", True, 1, quantization="none", dtype="bfloat16"),
    )  # fmt: skip
    rows = run.ask("SELECT quantization, dtype, n, n_missing FROM retention")
    assert {(r["quantization"], r["dtype"], r["n"]) for r in rows} == {("nf4", "float32", 0), ("none", "bfloat16", 0)}


def test_models_of_different_quantization_have_no_gap(run: Any, record: Record) -> None:
    run.write(
        *(record("1", True, rank, quantization="nf4") for rank in (0, 1)),
        *(record("1", True, rank, model=INSTRUCT) for rank in (0, 1)),
    )
    assert run.ask("FROM alignment_gap") == []


def test_sampled_cells_stay_apart(run: Any, record: Record) -> None:
    sampled = {"temperature": 0.7, "top_p": 1.0}
    run.write(
        record("1", True), record("2", True),
        *(record(i, ok, 1, **sampled, sample_seed=seed) for i, ok, seed in
          [("1", True, 1), ("2", True, 1), ("1", True, 2), ("2", False, 2)]),
        record("1", False, 0, condition="sample", **sampled, sample_seed=1),
    )  # fmt: skip
    rows = run.ask("SELECT taboo_rank, sample_seed, retention, n FROM retention ORDER BY ALL")
    assert [tuple(row.values()) for row in rows] == [(0, 1, 0.0, 1), (1, 1, 1.0, 2), (1, 2, 0.5, 2)]
    assert run.ask("FROM dose_response") == []


def test_replicates_never_enter_retention(run: Any, record: Record) -> None:
    run.write(record("1", True), record("1", True, 1), record("1", False, 0, 1), record("1", False, 1, 1))
    row = run.one("FROM retention")
    assert (row["retention"], row["n"], row["retention_aa"]) == (1.0, 1, 0.0)
    assert [r["n"] for r in run.ask("FROM accuracy")] == [1, 1]


def test_h12_another_question_is_an_error_not_a_flip(run: Any, record: Record) -> None:
    run.write(record("1", True), record("1", False, 1, question="something else"))
    with pytest.raises(UserError, match="item 1 of arithmetic has another question or gold answer"):
        run.ask("SELECT count(*) FROM retention")


def test_h12_another_gold_is_an_error_for_a_pair_of_models(run: Any, record: Record) -> None:
    run.write(*(record("1", True, rank, model=m, gold=g) for m, g in ((BASE, "1"), (INSTRUCT, "2")) for rank in (0, 1)))
    assert len(run.ask("FROM retention")) == 2
    with pytest.raises(UserError, match="item 1 of arithmetic has another question or gold answer for org/model-base"):
        run.ask("SELECT count(*) FROM alignment_gap")


def test_a_perturbed_question_may_differ(run: Any, record: Record) -> None:
    stack = [{"name": "typos", "family": "word", "params": "{}"}]
    run.write(record("1", True), record("1", False, condition="typos", question="qeustion", perturbations=stack))
    assert run.one("FROM retention")["retention"] == 0.0


def test_baseline_by_hand(run: Any, record: Record) -> None:
    run.write(
        record("1", True, completion_tokens=21, entropy_mean=1.0),
        record("2", False, completion_tokens=40, finish_reason="length", entropy_mean=3.0),
        record("1", True, 1),
    )
    row = run.one("FROM baseline")
    assert (row["accuracy"], row["n"], row["entropy_mean"]) == (0.5, 2, 2.0)
    # The one cut at 40 tokens does not say how long it would have been.
    assert (row["longest_baseline_tokens"], row["max_tokens"]) == (21, 40)
    assert (row["max_tokens_low"], row["max_tokens_low_int"]) == (True, 1)
    assert "taboo_rank" not in row


def test_dose_response_by_hand(run: Any, record: Record) -> None:
    run.write(
        *(record(i, True) for i in "1234"),
        *(record(i, i in "123", 1) for i in "1234"),
        *(record(i, i in "1", 2, surprisal_total=3.0) for i in "123"),
        record("4", False, 2, surprisal_total=3.0, outcome="truncated"),
        *(
            record(i, i in "12", 1, taboo_trigger="mid_word", condition="taboo(rank=1,trigger=mid_word)")
            for i in "1234"
        ),
    )
    rows = run.ask(
        "SELECT taboo_trigger, taboo_rank, dose_bits, bits_per_token, retention, n, truncated_share FROM dose_response "
        "ORDER BY ALL"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("mid_word", 0, 0.0, 0.0, 1.0, 4, 0.0),
        ("mid_word", 1, 1.0, 0.1, 0.5, 4, 0.0),
        ("word_start", 0, 0.0, 0.0, 1.0, 4, 0.0),
        ("word_start", 1, 1.0, 0.1, 0.75, 4, 0.0),
        ("word_start", 2, 1.5, pytest.approx(0.3), 0.25, 4, 0.25),
    ]


def test_noise_floor_by_hand(run: Any, record: Record) -> None:
    first, again = (True, True, True, False, None), (True, True, False, True, True)
    run.write(
        *(record(i, ok) for i, ok in zip("12345", first, strict=True)),
        *(record(i, ok, 0, 1) for i, ok in zip("12345", again, strict=True)),
        record("6", True),
    )
    row = run.one("FROM noise_floor")
    assert (row["replicate"], row["n"], row["n_error"], row["n_missing"]) == (1, 4, 1, 1)
    assert (row["churn"], row["n_gained"], row["n_lost"]) == (0.5, 1, 1)
    assert (row["ci_low"], row["ci_high"]) == wilson(2, 4)
    assert (row["retention_aa"], row["n_retention_aa"]) == (pytest.approx(2 / 3), 3)
    assert (row["retention_aa_ci_low"], row["retention_aa_ci_high"]) == wilson(2, 3)
    assert row["net_change"] == 0.0
    # Means per item 1, 1, 1/2, 1/2: variance 1/16. Within: 0, 0, 1/4, 1/4: mean 1/8. (1/8) / (3/16).
    assert (row["pi_aa"], row["n_variants"]) == (pytest.approx(2 / 3), 2)
    assert (row["flip_rate_aa"], row["n_model_pairs"]) == (None, 0)


def test_noise_floor_without_any_variance_has_no_pi(run: Any, record: Record) -> None:
    run.write(record("1", True), record("1", True, 0, 1))
    row = run.one("FROM noise_floor")
    assert (row["churn"], row["retention_aa"], row["pi_aa"]) == (0.0, 1.0, None)


def test_noise_floor_flips_between_models(run: Any, record: Record) -> None:
    # Right answers of 3 common items, replicate 0 -> 1:  a 3 -> 1, b 2 -> 2, c 2 -> 3 (b and c tied on replicate 0).
    right = {"a": ((1, 1, 1), (1, 0, 0)), "b": ((1, 1, 0), (1, 1, 0)), "c": ((0, 1, 1), (1, 1, 1))}
    run.write(
        *(
            record(str(i), bool(ok), 0, replicate, model=model)
            for model, both in right.items()
            for replicate, answers in enumerate(both)
            for i, ok in enumerate(answers)
        ),
        # Scored for a alone: no part of the comparison, or a would stay ahead.
        *(record(str(i), True, 0, replicate, model="a") for i in range(5, 9) for replicate in (0, 1)),
    )
    rows = run.ask("SELECT flip_rate_aa, n_model_pairs FROM noise_floor")
    assert [tuple(row.values()) for row in rows] == [(1.0, 2)] * 3


def test_within_noise_compares_with_the_same_items(run: Any, record: Record) -> None:
    run.write(
        *(record(str(i), True) for i in range(20)),
        *(record(str(i), i % 2 == 0, 0, 1) for i in range(20)),
        *(record(str(i), i % 2 == 1, 1) for i in range(20)),
        *(record(str(i), False, 2) for i in range(20)),
    )
    one, two = run.ask(
        "SELECT retention, retention_aa, within_noise, within_noise_int FROM retention ORDER BY taboo_rank"
    )
    assert one == {"retention": 0.5, "retention_aa": 0.5, "within_noise": True, "within_noise_int": 1}
    assert two == {"retention": 0.0, "retention_aa": 0.5, "within_noise": False, "within_noise_int": 0}


def gap_rows(record: Record) -> list[dict[str, Any]]:
    """Items 1-8. Base model right on 1-4, aligned on 1-8; at rank 1 base keeps 1 2, aligned keeps 1 3 5 6 7 8."""
    rows = []
    for item in "12345678":
        rows += [record(item, item in "1234", model=BASE), record(item, True, model=INSTRUCT)]
        rows += [record(item, item in "12", 1, model=BASE), record(item, item in "135678", 1, model=INSTRUCT)]
    return rows


def test_alignment_gap_by_hand(run: Any, record: Record) -> None:
    cut = {"outcome": "truncated", "parse_ok": False, "finish_reason": "length"}
    run.write(*(r | cut if r["model"] == INSTRUCT and r["correct"] is False else r for r in gap_rows(record)))
    row = run.one("FROM alignment_gap")
    assert (row["kind"], row["model_base"], row["model_aligned"], row["pair"]) == ("alignment", BASE, INSTRUCT, "pair")
    # 6/8 - 2/4
    assert (row["gap"], row["retention_aligned"], row["n_aligned"]) == (0.25, 0.75, 8)
    assert (row["retention_base"], row["n_base"], row["n"]) == (0.5, 4, 8)
    base, aligned = (
        run.one(f"SELECT cell FROM cells WHERE taboo_rank = 1 AND model = '{m}'") for m in (BASE, INSTRUCT)
    )
    # Items (k_a, n_a, k_b, n_b): 1 both keep; 2 base alone; 3 aligned alone; 4 none; 5-8 wrong in the base's baseline.
    clusters = {(1, 1, 1, 1): 1, (0, 1, 1, 1): 1, (1, 1, 0, 1): 1, (0, 1, 0, 1): 1, (1, 1, 0, 0): 4}
    expected = bootstrap_gap(clusters, 0, "alignment_gap", f"{base['cell']} -> {aligned['cell']}")
    assert expected.se is not None
    assert (row["ci_low"], row["ci_high"], row["p"]) == (expected.low, expected.high, expected.p)
    assert (row["mde"], row["n_dropped"]) == (pytest.approx(detectable_effect(expected.se)), expected.dropped)
    assert row["q"] == row["p"]
    assert (row["newcombe_low"], row["newcombe_high"]) == newcombe(6, 8, 2, 4)
    # Right in both baselines: 1-4; aligned keeps 1 3, base 1 2: no gap, and one item each way.
    assert (row["gap_matched"], row["n_matched"], row["p_mcnemar"], row["q_mcnemar"]) == (0.0, 4, 1.0, 1.0)
    assert (row["selection"], row["selection_int"]) == (True, 1)
    assert (row["within_noise"], row["n_error"], row["n_missing"]) == (None, 0, 0)
    assert (row["truncated_share_base"], row["truncated_share_aligned"]) == (0.0, 0.25)


def test_alignment_gap_leaves_out_errors_and_counts_what_is_missing(run: Any, record: Record) -> None:
    rows = gap_rows(record)
    # Item 1 fails for the aligned model at rank 1; item 2 is not there yet for the base model.
    rows = [r for r in rows if not (r["item_id"] == "2" and r["model"] == BASE and r["taboo_rank"] == 1)]
    rows = [
        record("1", None, 1, model=INSTRUCT) if (r["item_id"], r["model"], r["taboo_rank"]) == ("1", INSTRUCT, 1) else r
        for r in rows
    ]
    run.write(*rows)
    row = run.one("FROM alignment_gap")
    # Left are 3-8: aligned keeps 3 5 6 7 8 of 6; base none of 3 4.
    assert (row["n"], row["n_error"], row["n_missing"]) == (6, 1, 1)
    assert (row["n_aligned"], row["n_base"]) == (6, 2)
    assert row["gap"] == pytest.approx(5 / 6)


def test_alignment_gap_without_common_items(run: Any, record: Record) -> None:
    run.write(
        *(record("1", True, rank, model=BASE) for rank in (0, 1)),
        *(record("2", True, rank, model=INSTRUCT) for rank in (0, 1)),
    )
    row = run.one("FROM alignment_gap")
    assert (row["gap"], row["ci_low"], row["p"], row["q"], row["n"], row["n_missing"]) == (None, None, None, None, 0, 1)
    assert (row["gap_matched"], row["p_mcnemar"], row["selection"]) == (None, None, None)


def test_alignment_gap_within_noise(run: Any, record: Record) -> None:
    # Rank 1 does to both models what replicate 1 does: the gap of the gaps is 0 in every resample.
    rows = gap_rows(record)
    replicate = {
        "taboo_rank": 0,
        "condition": "baseline",
        "replicate": 1,
        "taboo_trigger": None,
        "taboo_word_start": None,
    }
    rows += [row | replicate | {"trial_id": row["trial_id"] + " again"} for row in rows if row["taboo_rank"]]
    run.write(*rows)
    row = run.one("FROM alignment_gap")
    assert (row["gap"], row["within_noise"], row["within_noise_int"]) == (0.25, True, 1)


def test_alignment_gap_between_stages(run: Any, record: Record) -> None:
    stages = {"b": ("base", False), "s": ("sft", True), "d": ("dpo", True), "i": ("instruct", True)}
    run.write(
        *(
            record(item, rank == 0 or item in "12"[: place % 3], rank, model=model, stage=stage, aligned=aligned)
            for place, (model, (stage, aligned)) in enumerate(stages.items())
            for item in "12"
            for rank in (0, 1)
        )
    )
    rows = run.ask("SELECT kind, model_base, model_aligned, gap FROM alignment_gap ORDER BY ALL")
    # R by stage: 0, 1/2, 1, 0
    assert [tuple(row.values()) for row in rows] == [
        ("alignment", "b", "i", 0.0),
        ("stage", "b", "s", 0.5),
        ("stage", "d", "i", -1.0),
        ("stage", "s", "d", 0.5),
    ]


def test_h5_q_values_over_all_comparisons(run: Any, record: Record) -> None:
    rows = gap_rows(record)
    rows += [r | {"benchmark": "other", "trial_id": r["trial_id"] + "o", "correct": r["correct"] or r["model"] == BASE}
             for r in rows]  # fmt: skip
    run.write(*rows)
    found = run.ask("SELECT benchmark, p, q FROM alignment_gap ORDER BY p")
    small, large = (row["p"] for row in found)
    assert small < large
    assert [row["q"] for row in found] == pytest.approx([min(2 * small, large), large])
    # A filter of the reader's changes no q.
    filtered = run.one(f"SELECT q FROM alignment_gap WHERE benchmark = '{found[0]['benchmark']}'")
    assert filtered["q"] == found[0]["q"]


def test_errors_by_hand(run: Any, record: Record) -> None:
    run.write(
        record("1", True),
        record("2", None, attempt=3),
        record("3", None, error_type="prompt_too_long", error="5000 tokens"),
        record("4", None),
    )
    rows = run.ask("SELECT error_type, n, n_trials, share, attempts, example FROM errors")
    assert [tuple(row.values()) for row in rows] == [
        ("prompt_too_long", 1, 4, 0.25, 1, "5000 tokens"),
        ("timeout", 2, 4, 0.5, 3, "took too long"),
    ]


def test_throughput_by_hand(run: Any, record: Record, later: Callable[[float], datetime]) -> None:
    run.write(
        record("1", True, latency_s=2.0),
        record("2", True, latency_s=4.0, started_at=later(6)),
        record("3", None, latency_s=None, started_at=later(1)),
    )
    row = run.one("FROM throughput")
    # From 0 s to 6 + 4 s.
    assert (row["n"], row["n_error"], row["seconds"], row["completion_tokens"]) == (3, 1, 10.0, 20)
    assert (row["trials_per_s"], row["tokens_per_s"], row["latency_p50_s"]) == (pytest.approx(0.3), 2.0, 3.0)


def test_records_have_integers_beside_booleans(run: Any, record: Record) -> None:
    run.write(record("1", True), record("2", False), record("3", None))
    assert run.one("SELECT avg(correct_int) AS a, count(correct_int) AS n FROM records") == {"a": 0.5, "n": 2}
    with pytest.raises(UserError, match="correct_int"):
        run.ask("SELECT avg(correct) FROM records")


def test_g6_g9_every_view_is_plain_json(run: Any, record: Record) -> None:
    run.write(*gap_rows(record), *(record(i, i != "1", 0, 1) for i in "123"), record("9", None))
    connection = open_runs([run.directory])
    for name in VIEW_NAMES:
        table = select(connection, f"FROM {name}")
        kinds = {str(field.type) for field in table.schema}
        assert not any(kind.startswith("decimal") for kind in kinds), name
        json.dumps(table.to_pylist(), allow_nan=False, default=str)
        assert "n" in table.column_names or name == "records"
        raw = connection.sql(f"FROM {name}").fetchall()
        assert not any(isinstance(value, float) and value != value for row in raw for value in row), name
        assert not any("DECIMAL" in str(kind) for kind in connection.sql(f"FROM {name}").types), name


def test_intervals_repeat_exactly(run: Any, record: Record) -> None:
    run.write(*gap_rows(record))
    assert run.ask("FROM alignment_gap") == run.ask("FROM alignment_gap")
