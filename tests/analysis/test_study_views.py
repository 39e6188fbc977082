"""The views of the whole study on a handful of records, with numbers worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import yaml

from taboo_cluster.analysis.database import open_runs, select
from taboo_cluster.analysis.dose import dose_curve
from taboo_cluster.analysis.statistics import (
    bootstrap_gap,
    bootstrap_mean,
    bootstrap_ratio,
    detectable_effect,
    mcnemar,
    newcombe,
    wilson,
)
from taboo_cluster.config import ModelConfig
from taboo_cluster.records.schema import TABLES
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.rows import now
from taboo_cluster.tree import compose_tree, group_files
from taboo_cluster.trial import Taboo

Record = Callable[..., dict[str, Any]]
SAMPLED = {"temperature": 0.7, "top_p": 0.95}


def cell_of(run: Any, where: str) -> str:
    return str(run.one(f"SELECT cell FROM cells WHERE {where}")["cell"])


# --- dose_curve ---


def dose_rows(record: Record, **more: Any) -> list[dict[str, Any]]:
    """12 items right in the baseline and 13 wrong; at rank 1 (2 bits) 9 stay right, at rank 2 (8 bits) 2."""
    return [
        *(record(str(i), i < 12, **more) for i in range(13)),
        *(record(str(i), i < 9, 1, surprisal_total=10.0, interventions=5, **more) for i in range(13)),
        *(record(str(i), i < 2, 2, surprisal_total=24.0, interventions=3, **more) for i in range(12)),
        # wrong in the baseline: no part of the dose
        record("12", True, 2, surprisal_total=999.0, interventions=1, **more),
    ]


def test_dose_curve_by_hand(run: Any, record: Record) -> None:
    run.write(*dose_rows(record))
    row = run.one("FROM dose_curve")
    # The curve of test_dose: R(2) = 3/4, R(4) = 1/2, R(8) = 1/6.
    assert (row["n"], row["n_points"], row["dose_min"], row["dose_max"], row["reason"]) == (12, 2, 2.0, 8.0, None)
    assert row["retention_at_1_bit"] == pytest.approx(1.5 / (1 + math.sqrt(2) / 2), abs=1e-5)
    assert row["retention_at_2_bits"] == pytest.approx(0.75, abs=1e-5)
    assert row["retention_at_4_bits"] == pytest.approx(0.5, abs=1e-5)
    assert row["half_dose"] == pytest.approx(4, rel=1e-4)
    assert (row["steepness"], row["midpoint"]) == (pytest.approx(math.log(2) / 2, rel=1e-3), pytest.approx(2, rel=1e-3))
    assert (row["isotonic_at_1_bit"], row["isotonic_at_2_bits"]) == (pytest.approx(0.875), pytest.approx(0.75))
    assert row["isotonic_at_4_bits"] == pytest.approx(0.75 - (0.75 - 1 / 6) / 3)
    # The intervals are those of the function on the same items, in the order of their ids.
    clusters = np.zeros((12, 2, 4))
    for place, item in enumerate(sorted(map(str, range(12)))):
        clusters[place] = [[int(item) < 9, 1, 10, 5], [int(item) < 2, 1, 24, 3]]
    expected = dose_curve(clusters, 0, "dose_curve", cell_of(run, "taboo_rank = 1"))
    for name, reading in zip(("1_bit", "2_bits", "4_bits"), expected.logistic, strict=True):
        assert row[f"retention_at_{name}_ci_low"] == reading.low
        assert row[f"retention_at_{name}_ci_high"] == reading.high
    assert (row["isotonic_at_2_bits_ci_low"], row["half_dose_ci_low"]) == (
        expected.isotonic[1].low,
        expected.half_dose.low,
    )
    assert row["n_dropped"] == 0


def test_dose_curves_stay_apart_and_leave_out_sampled_cells(run: Any, record: Record) -> None:
    mid = {"taboo_trigger": "mid_word"}
    run.write(
        *dose_rows(record),
        *dose_rows(record, quantization="nf4"),
        *(r | mid | {"trial_id": f"mid {r['trial_id']}"} for r in dose_rows(record) if r["taboo_rank"] == 1),
        *(record("1", False, 1, **SAMPLED, sample_seed=seed) for seed in (0, 1)),
    )
    rows = run.ask(
        "SELECT quantization, taboo_trigger, n_points, retention_at_2_bits, reason FROM dose_curve ORDER BY ALL"
    )
    assert [tuple(row.values())[:3] for row in rows] == [
        ("nf4", "word_start", 2), ("none", "mid_word", 1), ("none", "word_start", 2),
    ]  # fmt: skip
    assert rows[1]["retention_at_2_bits"] is None
    assert rows[1]["reason"] == "a logistic curve takes two doses; no dose of 4 bits was observed"


def test_the_dose_of_sparse_is_per_token(run: Any, record: Record) -> None:
    run.write(*(r | ({"taboo_trigger": "sparse"} if r["taboo_rank"] else {}) for r in dose_rows(record)))
    row = run.one("FROM dose_curve")
    # 10 and 24 bits over 10 tokens
    assert (row["dose_min"], row["dose_max"]) == (pytest.approx(1.0), pytest.approx(2.4))


def test_dose_curve_without_a_right_baseline(run: Any, record: Record) -> None:
    run.write(record("1", False), record("1", True, 1))
    row = run.one("FROM dose_curve")
    assert (row["n"], row["n_points"], row["retention_at_1_bit"]) == (0, 0, None)
    assert row["reason"] == "no item right in the baseline"


# --- retention_sampled ---


def sampled_rows(record: Record) -> list[dict[str, Any]]:
    """Items 1-4, 1-3 right in the greedy baseline. Drawn with seeds 0 and 1 at ranks 0 and 1."""
    right = {
        (0, 0): "123", (0, 1): "14",
        (1, 0): "12", (1, 1): "1",
    }  # fmt: skip
    return [
        *(record(i, i in "123") for i in "1234"),
        *(record(i, i in "13", 1) for i in "1234"),
        *(
            record(i, i in items, rank, **SAMPLED, sample_seed=seed, condition=f"rank {rank}, drawn")
            for (rank, seed), items in right.items()
            for i in "1234"
        ),
    ]


def test_retention_sampled_by_hand(run: Any, record: Record) -> None:
    run.write(*sampled_rows(record))
    zero, one = run.ask("FROM retention_sampled ORDER BY taboo_rank")
    # Rank 1 against the greedy baseline: 2/3 and 1/3. Rank 0: 3/3 and 1/3.
    assert (one["retention"], one["n_seeds"], one["n"], one["n_items"]) == (pytest.approx(0.5), 2, 6, 3)
    assert one["retention_sd"] == pytest.approx(math.sqrt(2) / 6)
    assert (zero["retention"], zero["retention_sd"]) == (pytest.approx(2 / 3), pytest.approx(math.sqrt(2) / 3))
    # Rank 1 against rank 0 of the same seed: 2 of 1 2 3, and 1 of 1 4.
    assert one["retention_vs_sampled_baseline"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert one["retention_vs_sampled_baseline_sd"] == pytest.approx((2 / 3 - 1 / 2) / math.sqrt(2))
    assert (one["n_vs_sampled_baseline"], one["n_seeds_vs_sampled_baseline"]) == (5, 2)
    assert (zero["retention_vs_sampled_baseline"], zero["n_vs_sampled_baseline"]) == (None, 0)
    assert (one["retention_greedy"], zero["retention_greedy"]) == (pytest.approx(2 / 3), None)
    assert (one["accuracy"], one["dose_bits"]) == (pytest.approx((2 / 4 + 1 / 4) / 2), 1.0)
    assert (one["temperature"], one["top_p"], "sample_seed" in one) == (0.7, 0.95, False)
    cell = cell_of(run, "taboo_rank = 1 AND sample_seed = 0")
    # Items x seeds x (right, in the denominator)
    clusters = np.array([[[1, 1], [1, 1]], [[1, 1], [0, 1]], [[0, 1], [0, 1]]], dtype=float)
    expected = bootstrap_mean(clusters, 0, "retention_sampled", cell)
    assert expected.se is not None
    assert (one["ci_low"], one["ci_high"]) == (expected.low, expected.high)
    assert one["mde"] == pytest.approx(detectable_effect(expected.se))
    clusters = np.array([[[1, 1], [1, 1]], [[1, 1], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [0, 1]]], dtype=float)
    expected = bootstrap_mean(clusters, 0, "retention_sampled vs_sampled_baseline", cell)
    assert one["retention_vs_sampled_baseline_ci_low"] == expected.low
    assert one["retention_vs_sampled_baseline_ci_high"] == expected.high


def test_one_seed_has_no_spread(run: Any, record: Record) -> None:
    run.write(*(r for r in sampled_rows(record) if r.get("sample_seed") != 1))
    row = run.one("FROM retention_sampled WHERE taboo_rank = 1")
    assert (row["retention"], row["retention_sd"], row["n_seeds"]) == (pytest.approx(2 / 3), None, 1)


def test_sampling_counts_errors_and_what_is_missing(run: Any, record: Record) -> None:
    rows = sampled_rows(record)
    taboo = [r for r in rows if r["taboo_rank"] == 1 and r.get("sample_seed") == 0]
    failed = record("1", None, 1, **SAMPLED, sample_seed=0, condition="rank 1, drawn")
    run.write(*(r for r in rows if r not in taboo[:2]), failed)
    row = run.one("FROM retention_sampled WHERE taboo_rank = 1")
    # Seed 0 keeps item 3 alone, which is wrong; item 1 failed and 2 has no record.
    assert (row["n_error"], row["n_missing"], row["n"]) == (1, 1, 4)
    assert row["retention"] == pytest.approx((0 + 1 / 3) / 2)


def test_temperatures_are_rows_of_their_own(run: Any, record: Record) -> None:
    rows = sampled_rows(record)
    hot = [
        r | {"temperature": 1.0, "condition": f"{r['condition']} hot", "trial_id": f"{r['trial_id']} hot"}
        for r in rows
        if r["temperature"]
    ]
    run.write(*rows, *hot)
    found = run.ask("SELECT temperature, taboo_rank, retention_greedy FROM retention_sampled ORDER BY ALL")
    assert [tuple(row.values()) for row in found] == [
        (0.7, 0, None), (0.7, 1, pytest.approx(2 / 3)), (1.0, 0, None), (1.0, 1, pytest.approx(2 / 3)),
    ]  # fmt: skip


# --- quantization ---


def precision_rows(record: Record) -> list[dict[str, Any]]:
    """Items 1-6. bfloat16: 1-4 right, 1 2 3 at rank 1. nf4: 1 2 3 5 6 right, 1 5 at rank 1."""
    full, nf4 = {"dtype": "bfloat16"}, {"dtype": "bfloat16", "quantization": "nf4"}
    return [
        *(record(i, i in "1234", **full) for i in "123456"),
        *(record(i, i in "123", 1, **full) for i in "123456"),
        *(record(i, i in "12356", **nf4) for i in "123456"),
        *(record(i, i in "15", 1, **nf4) for i in "123456"),
    ]


def test_quantization_by_hand(run: Any, record: Record) -> None:
    run.write(*precision_rows(record))
    row = run.one("FROM quantization")
    assert (row["quantization_reference"], row["dtype_reference"], row["quantization"]) == ("none", "bfloat16", "nf4")
    # Each on its own baseline: 3/4 and 2/5.
    assert (row["retention_reference"], row["n_reference"]) == (0.75, 4)
    assert (row["retention_quantized"], row["n_quantized"]) == (0.4, 5)
    assert (row["difference"], row["n"]) == (pytest.approx(-0.35), 6)
    # Right in both baselines: 1 2 3; 1 stays in both, 2 and 3 in bfloat16 alone.
    assert (row["difference_matched"], row["n_matched"]) == (pytest.approx(-2 / 3), 3)
    assert row["p_mcnemar"] == row["q_mcnemar"] == mcnemar(2, 0)
    assert (row["newcombe_low"], row["newcombe_high"]) == newcombe(2, 5, 3, 4)
    assert (row["baseline_accuracy_reference"], row["baseline_accuracy_quantized"]) == (
        pytest.approx(4 / 6),
        pytest.approx(5 / 6),
    )
    full, nf4 = (cell_of(run, f"taboo_rank = 1 AND quantization = '{q}'") for q in ("none", "nf4"))
    # (k, n) of nf4, then of bfloat16: 1; 2 and 3; 4; 5; 6
    clusters = {(1, 1, 1, 1): 1, (0, 1, 1, 1): 2, (0, 0, 0, 1): 1, (1, 1, 0, 0): 1, (0, 1, 0, 0): 1}
    expected = bootstrap_gap(clusters, 0, "quantization", f"{full} -> {nf4}")
    assert expected.se is not None
    assert (row["ci_low"], row["ci_high"], row["p"], row["q"]) == (expected.low, expected.high, expected.p, expected.p)
    assert row["mde"] == pytest.approx(detectable_effect(expected.se))
    assert run.ask("FROM alignment_gap") == []


def test_each_precision_is_compared_with_every_unquantized_one(run: Any, record: Record) -> None:
    kinds = [("none", "float32"), ("none", "bfloat16"), ("int8", "bfloat16"), ("nf4", "bfloat16")]
    run.write(*(record("1", True, rank, quantization=q, dtype=d) for q, d in kinds for rank in (0, 1)))
    rows = run.ask("SELECT dtype_reference, quantization, dtype FROM quantization ORDER BY ALL")
    assert [tuple(row.values()) for row in rows] == [
        ("bfloat16", "int8", "bfloat16"),
        ("bfloat16", "nf4", "bfloat16"),
        ("float32", "int8", "bfloat16"),
        ("float32", "nf4", "bfloat16"),
        ("float32", "none", "bfloat16"),
    ]


def test_quantization_and_alignment_have_q_values_of_their_own(run: Any, record: Record) -> None:
    rows = [
        record(str(i), i % 3 > 0 or rank == 0, rank, model=model, quantization=q)
        for i in range(30)
        for rank in (0, 1)
        for model in ("org/model-base", "org/model-instruct")
        for q in ("none", "nf4")
    ]
    rows = [r | {"correct": False} if r["taboo_rank"] and r["quantization"] == "nf4" and "instruct" in r["model"] else r
            for r in rows]  # fmt: skip
    run.write(*rows)
    p = [row["p"] for row in run.ask("SELECT p FROM quantization ORDER BY p")]
    q = [row["q"] for row in run.ask("SELECT q FROM quantization ORDER BY q")]
    assert len(p) == 2
    assert q == pytest.approx([min(2 * p[0], p[1]), p[1]])
    assert len(run.ask("FROM alignment_gap")) == 2


def test_quantization_summary_by_hand(run: Any, record: Record) -> None:
    # R: 1.00, 0.75, 0.50 in bfloat16; 0.95, 0.75, 0.25 in nf4, of 20 items: differences 0.05, 0, 0.25.
    kept = {("none", 1): 20, ("none", 2): 15, ("none", 4): 10, ("nf4", 1): 19, ("nf4", 2): 15, ("nf4", 4): 5}
    rows = [record(str(i), True, quantization=q) for i in range(20) for q in ("none", "nf4")]
    rows += [record(str(i), i < n, rank, quantization=q) for (q, rank), n in kept.items() for i in range(20)]
    run.write(*rows)
    row = run.one("FROM quantization_summary")
    assert (row["n"], row["difference_median"], row["difference_max"]) == (3, pytest.approx(0.05), pytest.approx(0.25))
    assert row["share_within_0_07"] == pytest.approx(2 / 3)
    assert (row["model_of_max"], row["condition_of_max"]) == ("org/model-base", "taboo(rank=4)")


def test_a_difference_of_exactly_0_07_is_within(run: Any, record: Record) -> None:
    rows = [record(str(i), True, quantization=q) for i in range(100) for q in ("none", "nf4")]
    rows += [record(str(i), i < n, 1, quantization=q) for q, n in (("none", 57), ("nf4", 50)) for i in range(100)]
    run.write(*rows)
    assert run.one("FROM quantization_summary")["share_within_0_07"] == 1.0


# --- net_change ---


def test_net_change_by_hand(run: Any, record: Record) -> None:
    # Baseline: 1-4 right, 5-8 wrong, 9 error. Rank 1: 1 right, 2 3 4 broken, 5 mended, 6 7 wrong, 8 error, 9 right.
    run.write(
        *(record(i, i in "1234") for i in "12345678"), record("9", None), record("10", True),
        *(record(i, i in "159", 1) for i in "12345679"), record("8", None, 1),
    )  # fmt: skip
    row = run.one("FROM net_change")
    assert (row["n"], row["n_broken"], row["n_mended"]) == (7, 3, 1)
    assert row["net_change"] == pytest.approx(-2 / 7)
    assert (row["baseline_accuracy"], row["accuracy"]) == (pytest.approx(4 / 7), pytest.approx(2 / 7))
    assert (row["p_mcnemar"], row["q_mcnemar"]) == (mcnemar(3, 1), mcnemar(3, 1))
    assert (row["n_error"], row["n_missing"]) == (2, 1)
    expected = bootstrap_ratio({(-1, 1): 3, (1, 1): 1, (0, 1): 3}, 0, "net_change", cell_of(run, "taboo_rank = 1"))
    assert expected.se is not None
    assert (row["ci_low"], row["ci_high"], row["p"], row["q"]) == (expected.low, expected.high, expected.p, expected.p)
    assert row["mde"] == pytest.approx(detectable_effect(expected.se))
    assert row["within_noise"] is None


def test_net_change_within_noise_is_paired_with_the_replicate(run: Any, record: Record) -> None:
    # The replicate loses items 0-9; rank 1 loses the same ones and rank 2 all.
    run.write(
        *(record(str(i), True) for i in range(40)),
        *(record(str(i), i > 9, 0, 1) for i in range(40)),
        *(record(str(i), i > 9, 1) for i in range(40)),
        *(record(str(i), False, 2) for i in range(40)),
    )
    rows = run.ask("SELECT net_change, within_noise, within_noise_int FROM net_change ORDER BY taboo_rank")
    assert [tuple(row.values()) for row in rows] == [(-0.25, True, 1), (-1.0, False, 0)]


def test_h5_q_values_of_net_changes_cover_every_row(run: Any, record: Record) -> None:
    lost = {1: 1, 2: 6, 4: 12}
    run.write(
        *(record(str(i), True) for i in range(20)),
        *(record(str(i), i >= n, rank) for rank, n in lost.items() for i in range(20)),
    )
    rows = run.ask("SELECT p_mcnemar, q_mcnemar FROM net_change ORDER BY p_mcnemar")
    p = [mcnemar(n, 0) for n in (12, 6, 1)]
    assert [row["p_mcnemar"] for row in rows] == p
    assert [row["q_mcnemar"] for row in rows] == pytest.approx([3 * p[0], 1.5 * p[1], p[2]])


# --- boundary ---


def test_boundary_by_hand(run: Any, record: Record) -> None:
    letters = {"benchmark": "mmlu", "chance": 0.25}
    run.write(
        *(record(str(i), i < 60, **letters) for i in range(100)),
        *(record(str(i), i < 30, 1, **letters) for i in range(100)),
        *(record(str(i), i < 10, 2, **letters) for i in range(100)),
        record("1", True), record("1", True, 1),
    )  # fmt: skip
    rows = run.ask("FROM boundary ORDER BY taboo_rank")
    assert {row["benchmark"] for row in rows} == {"mmlu"}
    assert [row["accuracy"] for row in rows] == [0.6, 0.3, 0.1]
    assert [(row["ci_low"], row["ci_high"]) for row in rows] == [wilson(k, 100) for k in (60, 30, 10)]
    # 0.25 lies in wilson(30, 100) alone; at rank 2 accuracy is below it.
    assert [row["at_chance"] for row in rows] == [False, True, False]
    assert [row["at_chance_int"] for row in rows] == [0, 1, 0]
    assert [row["accuracy_adjusted"] for row in rows] == pytest.approx([0.35 / 0.75, 0.05 / 0.75, -0.15 / 0.75])
    assert [row["chance"] for row in run.ask("SELECT chance FROM accuracy WHERE benchmark = 'mmlu'")] == [0.25] * 3


def test_boundary_takes_the_interval_over_clusters_where_there_are_some(run: Any, record: Record) -> None:
    letters = {"benchmark": "mmlu", "chance": 0.25}
    run.write(*(record(str(i), i < 20, **letters, cluster_id=f"c{i // 10}") for i in range(40)))
    row = run.one("FROM boundary")
    cell = cell_of(run, "true")
    expected = bootstrap_ratio({(10, 10): 2, (0, 10): 2}, 0, "accuracy", cell)
    assert (row["ci_low"], row["ci_high"], row["at_chance"]) == (expected.low, expected.high, True)


# --- the sweeps' tables


def test_every_shipped_sweep_shows_its_tables(run: Any, record: Record, perturbed: Record) -> None:
    models = ("org/model-base", "org/model-instruct")
    rows = [record(str(i), i % 4 > rank, rank, model=m) for i in range(8) for rank in (0, 1, 2) for m in models]
    rows += [r | {"quantization": "nf4", "trial_id": f"nf4 {r['trial_id']}"} for r in rows]
    rows += [r | {"benchmark": "mmlu", "chance": 0.25, "trial_id": f"mmlu {r['trial_id']}"} for r in rows]
    rows += [record(str(i), True, 0, 1) for i in range(8)]
    rows += [record(str(i), i > 3, rank, **SAMPLED, sample_seed=0) for i in range(8) for rank in (0, 1)]
    stacks = ("typos", "stop_words", "typos→stop_words")
    rows += [perturbed(str(i), i > 5, stack, model=m) for i in range(8) for stack in stacks for m in models]
    half = [{"name": "fragment", "family": "fragmentation", "params": '{"p": 0.5}'}]
    halved = {"condition": "fragment(p=0.5)", "perturbations": half, "perturbation_seed": 1, "fragment_p": 0.5}
    rows += [record(str(i), i > 5, **halved, model=m) for i in range(8) for m in models]
    run.write(*rows)
    with PartWriter(f"{run.directory}/tables/tokenization", "part-t", TABLES["tokenization"]) as writer:
        writer.add({"tokenizer_hash": "t", "benchmark": "absence", "item_id": "1", "cluster_id": "1", "entropy": 2.0})
    answered = {"epsilon": 1.0, "probed_at": now(), "tcb_answer": 1.0, "entropy_answer": 1.0, "margin_answer": 1.0}
    answered |= {"top1_answer": 0.5, "flip_radius_answer": 0.5}
    of_trial = ("trial_id", "attempt", "run_id", "model")
    with PartWriter(f"{run.directory}/tables/stability", "part-s", TABLES["stability"]) as writer:
        for row in rows:
            writer.add({name: row[name] for name in of_trial} | answered)
    searched = {"seed": 0, "prompt_search": {"baseline": "cot", "threshold": 0.5, "fragile": "cot"}}
    with PartWriter(f"{run.directory}/tables/launches", "part-l", TABLES["launches"]) as writer:
        writer.add({"launch_id": "l1", "run_id": "run", "started_at": now(), "config": json.dumps(searched)})
    sweeps = group_files("sweep")
    assert set(sweeps) >= {
        "ablation", "alignment", "brittleness", "compounding", "dose", "forbidden_words", "quantization", "sampling",
        "scale", "stability",
    }  # fmt: skip
    connection = open_runs([run.directory])
    for name, file in sweeps.items():
        for query in yaml.safe_load(file.read_text(encoding="utf-8"))["table"]:
            table = select(connection, query)
            assert len(table) > 0, (name, query)
            assert "n" in table.column_names, (name, query)
            of_letters = "benchmark" in table.column_names and "mmlu" in table.column("benchmark").to_pylist()
            if "FROM retention WHERE" in query or "FROM alignment_gap" in query:
                assert not of_letters, (name, query)


# --- words, entropies, and the paper's figures ---


def test_interventions_per_word(run: Any, record: Record) -> None:
    run.write(
        *(record(i, True) for i in "123"),
        record("1", True, 1, interventions=3, completion_words=4),
        record("2", False, 1, interventions=1, completion_words=4),
        record("3", True, 1, interventions=100),  # words not recorded
    )
    assert run.one("FROM retention")["interventions_per_word"] == 0.5


def test_entropies_stand_beside_accuracy_and_retention(run: Any, record: Record) -> None:
    run.write(
        record("1", True, entropy_mean=1.0, entropy_word_start=2.0),
        record("2", True, entropy_mean=2.0, entropy_word_start=3.0),
        record("1", True, 1, entropy_mean=4.0, entropy_word_start=5.0),
        record("2", None, 1),
    )
    assert run.one("SELECT entropy_mean, entropy_word_start FROM baseline") == {
        "entropy_mean": 1.5, "entropy_word_start": 2.5,
    }  # fmt: skip
    row = run.one("FROM retention")
    assert (row["entropy_mean"], row["baseline_entropy_mean"], row["baseline_entropy_word_start"]) == (4.0, 1.5, 2.5)
    assert run.one("SELECT entropy_word_start FROM accuracy WHERE taboo_rank = 1")["entropy_word_start"] == 5.0


def test_alignment_gap_shows_the_entropies_of_the_baselines(run: Any, record: Record) -> None:
    run.write(
        *(
            record("1", True, rank, model=model, entropy_word_start=entropy)
            for model, entropy in (("org/model-base", 3.0), ("org/model-instruct", 1.0))
            for rank in (0, 1)
        )
    )
    row = run.one("FROM alignment_gap")
    assert (row["entropy_word_start_base"], row["entropy_word_start_aligned"]) == (3.0, 1.0)


def test_the_papers_figures_stand_beside_the_same_cells(run: Any, record: Record) -> None:
    base, instruct = "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct"
    gemma = {"model": "google/gemma-3-12b-it", "benchmark": "gsm8k", "stage": "instruct", "pair": "g"}
    rows = [
        record("1", True, rank, model=model, benchmark="gsm8k", stage=stage, aligned=stage == "instruct")
        for model, stage in ((base, "base"), (instruct, "instruct"))
        for rank in (0, 1, 2)
    ]
    mid = {"taboo_trigger": "mid_word", "condition": "taboo(rank=2,trigger=mid_word)"}
    rows += [record("1", True, **gemma), record("1", True, 2, **gemma), record("1", True, 2, **gemma, **mid)]
    rows += [record("1", True, rank, model=base, benchmark="gsm8k", quantization="nf4") for rank in (0, 1)]
    run.write(*rows)
    found = run.ask("SELECT model, quantization, condition, paper, paper_accuracy FROM retention ORDER BY ALL")
    assert [tuple(row.values()) for row in found] == [
        ("google/gemma-3-12b-it", "none", "taboo(rank=2)", None, "0.81"),
        ("google/gemma-3-12b-it", "none", "taboo(rank=2,trigger=mid_word)", None, "0.01 to 0.05"),
        (base, "nf4", "taboo(rank=1)", None, None),
        (base, "none", "taboo(rank=1)", "0.14", None),
        (base, "none", "taboo(rank=2)", None, None),
        (instruct, "none", "taboo(rank=1)", "0.16", None),
        (instruct, "none", "taboo(rank=2)", None, None),
    ]
    gaps = run.ask("SELECT taboo_rank, paper FROM alignment_gap ORDER BY ALL")
    assert [tuple(row.values()) for row in gaps] == [(1, "0.02"), (2, None)]
    assert run.one("SELECT paper FROM accuracy WHERE condition LIKE '%mid_word%'")["paper"] == "0.01 to 0.05"
    points = run.ask(f"SELECT taboo_rank, paper FROM dose_response WHERE model = '{instruct}' ORDER BY ALL")
    assert [tuple(row.values()) for row in points] == [(0, None), (1, "0.16"), (2, None)]


def test_the_papers_figures_name_shipped_models_and_conditions_as_recorded(run: Any, record: Record) -> None:
    run.write(record("1", True))
    figures = run.ask("FROM paper_figures")
    shipped = compose_tree(["+sweep=alignment", "models=paper"])["models"]
    for row in figures:
        model = ModelConfig(
            name=row["model"], **{k: v for k, v in shipped[row["model"]].items() if k == "quantization"}
        )
        assert row["quantization"] == model.quantization, row
        assert 0 <= row["low"] <= row["high"] <= 1
    conditions = {str(Taboo(rank)) for rank in (1, 2, 8)} | {str(Taboo(2, "mid_word"))}
    assert {row["condition"] for row in figures} == conditions
    keys = [(row["kind"], row["benchmark"], row["model"], row["condition"]) for row in figures]
    assert len(keys) == len(set(keys)) == 26 + 4 + 6 + 23
    known = {(row["model"], row["condition"]): row["figure"] for row in figures if row["benchmark"] == "gsm8k"}
    assert known["Qwen/Qwen2.5-32B-Instruct", "taboo(rank=1)"] == "0.93"
    assert known["Qwen/Qwen2.5-7B", "taboo(rank=8)"] == "0 to 0.08"
    code = {row["figure"] for row in figures if row["benchmark"] == "humaneval"}
    assert code == {"0", "0.0098"}


def test_retention_shows_its_detectable_difference(run: Any, record: Record) -> None:
    run.write(*(record(str(i), True) for i in range(10)), *(record(str(i), i < 7, 1) for i in range(10)))
    expected = bootstrap_ratio({(1, 1): 7, (0, 1): 3}, 0, "retention", cell_of(run, "taboo_rank = 1"))
    assert expected.se is not None
    assert run.one("FROM retention")["mde"] == pytest.approx(detectable_effect(expected.se))
