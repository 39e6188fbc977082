"""The views on drops, Pi and worst cases on a handful of records, with numbers worked out by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import duckdb
import pytest
from brittle_records import Record, answers, first, variants

from taboo_cluster.analysis.database import VIEW_NAMES, open_runs, select, write_results
from taboo_cluster.analysis.drops import null_drop
from taboo_cluster.analysis.statistics import mcnemar, wilson
from taboo_cluster.errors import UserError

SAMPLED = {"temperature": 0.7, "top_p": 0.95}
VIEWS = (
    "perturbed", "perturbed_paper", "drops", "drops_paper", "brittleness_by_model", "brittleness_by_benchmark",
    "ranking", "ranking_flips", "rank_correlation", "compounding", "scaling", "cot_relief", "worst_case",
    "position_bias",
)  # fmt: skip


# --- perturbed ---


def one_perturbation(record: Record, perturbed: Record) -> list[dict[str, Any]]:
    """Clean: 1-4 right, 5 wrong, 6 error, 7 right. Typos: 1 2 right, 3 broken, 4 left as it was, 5 mended, 6 right."""
    return [
        *(record(i, i in "1234") for i in "12345"), record("6", None), record("7", True),
        *(perturbed(i, i in "125") for i in "1235"), perturbed("4", True, changed=False), perturbed("6", True),
    ]  # fmt: skip


def test_perturbed_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*one_perturbation(record, perturbed))
    row = run.one("FROM perturbed")
    assert (row["perturbation"], row["family"]) == ("typos", "word")
    assert (row["n"], row["n_error"], row["n_missing"]) == (5, 1, 1)
    assert (row["clean_accuracy"], row["accuracy"], row["drop"]) == (0.8, 0.8, 0.0)
    assert (row["n_flips"], row["n_broken"], row["n_mended"], row["p_mcnemar"]) == (2, 1, 1, 1.0)
    # Really changed: 1 2 3 5. Clean 1 2 3 right, perturbed 1 2 5.
    assert (row["n_changed"], row["n_unchanged"], row["drop_changed"]) == (4, 1, 0.0)
    assert (row["retention_changed"], row["n_retention_changed"]) == (pytest.approx(2 / 3), 3)
    assert (row["retention_changed_ci_low"], row["retention_changed_ci_high"]) == wilson(2, 3)
    assert (row["drop_relative"], row["accuracy_adjusted"], row["drop_adjusted"]) == (0.0, None, None)
    assert (row["within_noise"], row["within_noise_int"]) == (None, None)


def test_h10_unchanged_items_stay_out_of_retention_changed_and_are_counted(
    run: Any, record: Record, perturbed: Record
) -> None:
    run.write(
        *answers(record, "0123456789"),
        *(perturbed(str(i), True, changed=False) for i in range(8)), perturbed("8", False), perturbed("9", True),
    )  # fmt: skip
    row = run.one("FROM perturbed")
    assert (row["drop"], row["drop_changed"], row["retention_changed"]) == (pytest.approx(10), 50.0, 0.5)
    assert (row["n_changed"], row["n_unchanged"]) == (2, 8)


def test_h9_a_mean_of_0_hides_every_answer_changed(run: Any, record: Record, perturbed: Record) -> None:
    run.write(record("1", True), record("2", False), perturbed("1", False), perturbed("2", True))
    row = run.one("FROM perturbed")
    assert (row["drop"], row["retention_changed"], row["n_retention_changed"], row["n_flips"]) == (0.0, 0.0, 1, 2)
    assert run.one("SELECT worst_case, best_case, consistency FROM worst_case") == {
        "worst_case": 0.0, "best_case": 1.0, "consistency": 0.0,
    }  # fmt: skip
    assert run.one("SELECT v_shift, v_flip, pi FROM brittleness_by_model") == {
        "v_shift": 0.0,
        "v_flip": 0.25,
        "pi": 1.0,
    }


def test_h5_every_drop_has_its_detectable_effect_and_q(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*first(record, 80), *first(perturbed, 60), *first(perturbed, 76, "padding"))
    rows = run.ask("SELECT drop, ci_low, ci_high, mde, p, q, p_mcnemar, q_mcnemar FROM perturbed ORDER BY drop")
    assert [row["drop"] for row in rows] == [4.0, 20.0]
    # Standard error of a difference on 20 of 100 items: sqrt(0.2 * 0.8 / 100) = 4 points.
    assert rows[1]["mde"] == pytest.approx(2.8 * 4, rel=0.06)
    assert rows[1]["ci_low"] < 20 < rows[1]["ci_high"]
    p = [mcnemar(4, 0), mcnemar(20, 0)]
    assert [row["p_mcnemar"] for row in rows] == p
    assert [row["q_mcnemar"] for row in rows] == pytest.approx([p[0], 2 * p[1]])
    assert [row["q"] for row in rows] == pytest.approx([max(row["p"] for row in rows), min(1, 2 * rows[1]["p"])])


def test_within_noise_is_paired_with_the_clean_replicate(run: Any, record: Record, perturbed: Record) -> None:
    run.write(
        *first(record, 100), *first(record, 80, 0, 1), *first(perturbed, 80), *first(perturbed, 30, "padding"),
    )  # fmt: skip
    rows = run.ask("SELECT perturbation, drop, within_noise_int FROM perturbed ORDER BY drop")
    assert [tuple(row.values()) for row in rows] == [("typos", 20.0, 1), ("padding", 70.0, 0)]


def test_seeds_are_variants_of_their_own(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*first(record, 80), *first(perturbed, 70, seed=1), *first(perturbed, 60, seed=2))
    assert [row["drop"] for row in run.ask("SELECT drop FROM perturbed ORDER BY perturbation_seed")] == [10.0, 20.0]
    row = run.one("SELECT drop, range, n_perturbations FROM drops")
    assert row == {"drop": 20.0, "range": 20.0, "n_perturbations": 2}
    row = run.one("SELECT drop, n_variants FROM perturbed_paper")
    assert row == {"drop": pytest.approx(15.0), "n_variants": 2}
    assert run.one("SELECT n_variants FROM brittleness_by_model") == {"n_variants": 3}


def test_perturbed_under_taboo_is_compared_with_taboo_alone(run: Any, record: Record, perturbed: Record) -> None:
    taboo = {"taboo_rank": 1, "taboo_trigger": "word_start", "taboo_word_start": "marker"}
    taboo["condition"] = "typos · taboo(rank=1)"
    run.write(*first(record, 90), *first(record, 50, 1), *first(perturbed, 85), *first(perturbed, 40, **taboo))
    rows = run.ask("SELECT taboo_rank, perturbation, clean_accuracy, drop FROM perturbed ORDER BY taboo_rank")
    assert [tuple(row.values()) for row in rows] == [(0, "typos", 0.9, 5.0), (1, "typos", 0.5, 10.0)]
    assert [row["n_variants"] for row in run.ask("SELECT n_variants FROM brittleness_by_model")] == [2, 2]


def test_a_perturbed_cell_without_its_clean_prompt_is_empty_not_wrong(
    run: Any, record: Record, perturbed: Record
) -> None:
    run.write(*answers(perturbed, "123"), *answers(record, "12", 1))
    row = run.one("FROM perturbed")
    assert (row["drop"], row["accuracy"], row["n"], row["retention_changed"], row["p"]) == (None, None, 0, None, None)
    row = run.one("FROM drops")
    assert (row["drop"], row["n"], row["worst_perturbation"]) == (None, 0, None)
    assert row["reason"] == "no item scored in the clean prompt and every perturbation"


# --- drops ---


def families(record: Record, perturbed: Record, **more: Any) -> list[dict[str, Any]]:
    """8 of 10 right; typos 5, stop words 9, padding 7. The replicate differs in two items."""
    return [
        *answers(record, "01234567", **more), *answers(record, "01234568", 0, 1, **more),
        *answers(perturbed, "01234", **more), *answers(perturbed, "012345678", "stop_words", **more),
        *answers(perturbed, "0123456", "padding", **more),
    ]  # fmt: skip


def test_drops_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*families(record, perturbed, chance=0.25))
    padding, word = run.ask("FROM drops ORDER BY family")
    assert (word["drop"], word["range"], word["n_perturbations"], word["n"]) == (30.0, 40.0, 2, 10)
    assert (word["clean_accuracy"], word["lowest_accuracy"], word["worst_perturbation"]) == (0.8, 0.5, "typos")
    assert (padding["drop"], padding["range"], padding["n_perturbations"]) == (pytest.approx(10), pytest.approx(10), 1)
    assert word["drop_relative"] == pytest.approx(1 - 5 / 8)
    assert (word["lowest_adjusted"], word["drop_adjusted"]) == (pytest.approx(0.25 / 0.75), pytest.approx(40))
    # Two items differ between the clean replicates.
    null = null_drop(2, 10, 2)
    assert word["drop_aa"] == pytest.approx(100 * null.drop)
    assert word["drop_aa_high"] == pytest.approx(100 * null.drop_high)
    assert word["range_aa"] == pytest.approx(100 * null.range)
    assert (word["within_noise_int"], padding["within_noise_int"]) == (0, 1)
    # All texts changed: 20 of the words family, 16 right clean, 13 of them still right.
    assert (word["n_changed"], word["n_unchanged"], word["n_retention_changed"]) == (20, 0, 16)
    assert (word["retention_changed"], word["drop_changed"]) == (13 / 16, pytest.approx(10))
    assert (word["n_error"], word["n_missing"], word["reason"]) == (0, 0, None)


def test_range_counts_the_clean_prompt_and_a_drop_may_be_negative(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*first(record, 50), *first(perturbed, 60), *first(perturbed, 70, "stop_words"))
    row = run.one("SELECT drop, range, worst_perturbation FROM drops")
    assert row == {"drop": -10.0, "range": 20.0, "worst_perturbation": "typos"}


def test_drops_use_the_items_scored_under_the_whole_family(run: Any, record: Record, perturbed: Record) -> None:
    run.write(
        *answers(record, "0123456789"), *answers(perturbed, "012345678"),
        *(perturbed(str(i), None if i == 9 else True, "stop_words") for i in range(10)),
        *(perturbed(str(i), i < 5, "padding") for i in range(9)),
    )  # fmt: skip
    padding, word = run.ask("SELECT drop, n, n_error, n_missing FROM drops ORDER BY family")
    # Item 9, which typos broke, failed under stop_words.
    assert word == {"drop": 0.0, "n": 9, "n_error": 1, "n_missing": 0}
    assert padding == {"drop": pytest.approx(400 / 9), "n": 9, "n_error": 0, "n_missing": 1}


def test_drop_cross_fitted_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    wrong = {"typos": "024", "stop_words": "135", "word_split": "67"}
    run.write(
        *answers(record, "0123456789"),
        *(row for stack, items in wrong.items()
          for row in answers(perturbed, "".join(i for i in "0123456789" if i not in items), stack)),
    )  # fmt: skip
    halves = run.one("SELECT list_transform(halves, lambda half: half::VARCHAR) AS halves FROM tasks")["halves"]
    assert len(halves) == 8
    found = []
    for half in halves:
        one = [item for item in range(10) if half[item] == "1"]
        other = [item for item in range(10) if half[item] == "0"]
        assert set(half[10:]) <= {"0"}
        for chosen, rest in ((one, other), (other, one)):
            lost = {s: (-sum(str(i) in items for i in chosen), s) for s, items in wrong.items()}
            worst = min(lost, key=lambda s: lost[s])
            found.append(sum(str(i) in wrong[worst] for i in rest) / len(rest))
    assert run.one("SELECT drop_cross_fitted AS d FROM drops")["d"] == pytest.approx(100 * sum(found) / 16)


def test_the_halves_of_a_cluster_stay_together(run: Any, record: Record, perturbed: Record) -> None:
    rows = [make(str(i), True, cluster_id=f"c{i // 3}") for make in (record, perturbed) for i in range(9)]
    run.write(*rows)
    for half in run.one("SELECT list_transform(halves, lambda half: half::VARCHAR) AS halves FROM tasks")["halves"]:
        assert all(len(set(half[i : i + 3])) == 1 for i in (0, 3, 6))


def test_identity_changes_nothing(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*first(record, 70), *first(perturbed, 70, "identity"))
    row = run.one("FROM drops")
    assert (row["drop"], row["range"], row["drop_relative"], row["drop_cross_fitted"]) == (0.0, 0.0, 0.0, 0.0)
    assert (row["drop_changed"], row["retention_changed"], row["n_changed"], row["n_unchanged"]) == (None, None, 0, 100)
    assert "no text was changed" in row["reason"]
    row = run.one("FROM perturbed")
    assert (row["drop"], row["ci_low"], row["ci_high"], row["p"], row["mde"]) == (0.0, 0.0, 0.0, 1.0, 0.0)
    row = run.one("FROM brittleness_by_model")
    assert (row["pi"], row["ci_low"], row["ci_high"], row["v_prompt"]) == (0.0, 0.0, 0.0, 0.0)
    assert run.one("SELECT retention FROM retention")["retention"] == 1.0


def test_i14_identity_costs_exactly_0_over_benchmarks(run: Any, record: Record, perturbed: Record) -> None:
    # Accuracies whose mean has no exact binary form.
    rows = []
    for benchmark, right, items in (("a", 1, 3), ("b", 5, 7), ("c", 9, 11)):
        rows += first(record, right, items=items, benchmark=benchmark)
        rows += first(perturbed, right, "identity", items=items, benchmark=benchmark)
    run.write(*rows)
    assert run.one("SELECT drop, range, drop_worst_mean FROM drops_paper WHERE family = 'identity'") == {
        "drop": 0.0, "range": 0.0, "drop_worst_mean": 0.0,
    }  # fmt: skip
    assert run.one("SELECT drop FROM perturbed_paper")["drop"] == 0.0


def test_h7_the_papers_form_averages_first_and_the_mean_of_worst_drops_is_labelled(
    run: Any, record: Record, perturbed: Record
) -> None:
    # Typos cost 50 points on the one benchmark, stop words on the other.
    rows = []
    for benchmark, typos, stop in (("a", 30, 80), ("b", 80, 30)):
        rows += [*first(record, 80, benchmark=benchmark), *first(perturbed, typos, benchmark=benchmark)]
        rows += [*first(perturbed, stop, "stop_words", benchmark=benchmark)]
        rows += [*first(perturbed, 70, "padding", benchmark=benchmark)]
        rows += [*first(perturbed, 80, "identity", benchmark=benchmark)]
        rows += [*first(perturbed, 0, "typos→padding", benchmark=benchmark)]
    run.write(*rows)
    found = {row["family"]: row for row in run.ask("FROM drops_paper")}
    assert list(found) == ["identity", "padding", "word", "word→padding", "mean of families"]
    word = found["word"]
    assert (word["drop"], word["range"], word["drop_worst_mean"]) == (pytest.approx(25), pytest.approx(25), 50.0)
    assert (word["n_perturbations"], word["n_benchmarks"], word["n"]) == (2, 2, 200)
    assert (word["clean_accuracy"], word["lowest_accuracy"]) == (0.8, pytest.approx(0.55))
    mean = found["mean of families"]
    # Over word and padding alone: 25 and 10.
    assert (mean["drop"], mean["n_families"]) == (pytest.approx(17.5), 2)
    assert [row["drop"] for row in run.ask("SELECT drop FROM drops ORDER BY benchmark, family")][1:3] == [
        pytest.approx(10), 50.0,
    ]  # fmt: skip


def test_the_papers_form_uses_the_benchmarks_of_all_models(run: Any, record: Record, perturbed: Record) -> None:
    rows = []
    for model, benchmark, right in (("x", "a", 60), ("x", "b", 0), ("y", "a", 70)):
        rows += [*first(record, 80, model=model, benchmark=benchmark)]
        rows += [*first(perturbed, right, model=model, benchmark=benchmark)]
    run.write(*rows)
    found = run.ask("SELECT model, drop, n_benchmarks, n FROM drops_paper WHERE family = 'word' ORDER BY model")
    assert [tuple(row.values()) for row in found] == [
        ("x", pytest.approx(20), 1, 100),
        ("y", pytest.approx(10), 1, 100),
    ]


# --- Pi ---


def test_brittleness_by_model_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*variants(record, perturbed, ("111", "100", "000", "1-1")))
    row = run.one("FROM brittleness_by_model")
    # The table of test_variance; the fourth item is not scored on every variant.
    assert (row["n"], row["n_incomplete"], row["n_variants"], row["n_draws"]) == (3, 1, 3, 1)
    assert row["pi"] == pytest.approx((2 / 27) / (20 / 81))
    assert (row["v_item"], row["v_prompt"], row["v_sampling"]) == (pytest.approx(42 / 243), pytest.approx(2 / 27), 0.0)
    assert (row["v_shift"], row["v_flip"]) == (pytest.approx(2 / 81), pytest.approx(4 / 81))
    assert row["v"] == pytest.approx(row["v_item"] + row["v_prompt"], abs=1e-12)
    assert (row["pi_unbiased"], row["truncated"], row["truncated_int"]) == (pytest.approx(1 / 3), False, 0)
    assert (row["pi_of_noise"], row["v_prompt_is_upper_bound_int"]) == (pytest.approx(2 / 3), 1)
    assert (row["pi_corrected"], row["pi_aa"], row["reason"], row["n_benchmarks"]) == (None, None, None, 1)
    # Without the clean prompt: 11, 00, 00.
    assert row["pi_without_clean"] == 0.0
    # Every family has one variant.
    assert row["pi_equal_families"] == pytest.approx(row["pi"])
    assert row["ci_low"] <= row["pi"] <= row["ci_high"]


def test_families_may_weigh_the_same(run: Any, record: Record, perturbed: Record) -> None:
    # Clean, padding, and three of the words family: weights 3, 3, 1, 1, 1 of 9.
    run.write(*variants(record, perturbed, ("10100", "01011")))
    row = run.one("FROM brittleness_by_model")
    # First item: clean and padding right: mean 6/9 (weighted), second 3/9; plain means 2/5 and 3/5.
    total = 0.5 * 0.5
    assert row["pi_equal_families"] == pytest.approx((2 / 9) / total)
    assert row["pi"] == pytest.approx((6 / 25) / total)


def test_pi_of_replicates_stands_beside(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*variants(record, perturbed, ("10", "11", "01", "00")))
    run.write(*(record(str(i), i < 2, 0, 1) for i in range(4)))
    row = run.one("FROM brittleness_by_model")
    # Clean 1 1 0 0, again 1 1 0 0: nothing of the variance.
    assert (row["pi_aa"], row["pi_unbiased_aa"]) == (0.0, 0.0)
    assert row["pi"] == 0.5


def test_draws_of_all_variants_are_kept_apart_from_wording(run: Any, record: Record, perturbed: Record) -> None:
    # The table "21", "10" of test_variance: two draws of two variants. The greedy ones are another comparison.
    right = {("", 0): "01", ("", 1): "0", ("typos", 0): "0", ("typos", 1): ""}
    rows = []
    for (stack, seed), items in right.items():
        make, args = (perturbed, (stack,)) if stack else (record, ())
        rows += answers(make, items, *args, items=2, **SAMPLED, sample_seed=seed)
    rows += answers(record, "01", items=2, **SAMPLED, sample_seed=9)  # a draw that typos do not have
    run.write(*rows)
    row = run.one("FROM brittleness_by_model")
    assert (row["n"], row["n_variants"], row["n_draws"], row["v_prompt_is_upper_bound"]) == (2, 2, 2, False)
    assert (row["v_sampling"], row["v_item"], row["v_prompt"]) == (1 / 8, 1 / 16, 1 / 16)
    assert (row["v_prompt_corrected"], row["pi_corrected"], row["pi"]) == (0.0, 0.0, 0.25)
    assert len(run.ask("FROM perturbed")) == 2


def test_pi_sums_over_the_benchmarks_scored_for_all_models(run: Any, record: Record, perturbed: Record) -> None:
    flips, items = ("10", "10"), ("11", "00")
    run.write(
        *variants(record, perturbed, flips, model="x", benchmark="a"),
        *variants(record, perturbed, items, model="x", benchmark="b"),
        *variants(record, perturbed, flips, model="x", benchmark="c"),
        *variants(record, perturbed, flips, model="y", benchmark="a"),
        *variants(record, perturbed, flips, model="y", benchmark="b"),
    )
    rows = run.ask("SELECT model, pi, n_benchmarks, n FROM brittleness_by_model ORDER BY model")
    assert [tuple(row.values()) for row in rows] == [("x", 0.5, 2, 4), ("y", 1.0, 2, 4)]
    rows = run.ask("SELECT benchmark, pi, n_models, n FROM brittleness_by_benchmark ORDER BY benchmark")
    # Over x alone, which is scored on all three.
    assert [tuple(row.values()) for row in rows] == [("a", 1.0, 1, 2), ("b", 0.0, 1, 2), ("c", 1.0, 1, 2)]


def test_pi_of_a_benchmark_sums_over_models(run: Any, record: Record, perturbed: Record) -> None:
    run.write(
        *variants(record, perturbed, ("10", "10"), model="x", benchmark="mmlu"),
        *variants(record, perturbed, ("11", "00"), model="y", benchmark="mmlu"),
    )
    row = run.one("FROM brittleness_by_benchmark")
    assert (row["pi"], row["n_models"], row["n"], row["n_variants"]) == (0.5, 2, 4, 2)
    assert row["paper"] == "above 0.5"


def test_pi_over_different_lists_of_variants_is_an_error(run: Any, record: Record, perturbed: Record) -> None:
    run.write(
        *answers(record, "123", model="x"), *answers(perturbed, "12", "typos", model="x"),
        *answers(record, "123", model="y"), *answers(perturbed, "12", "padding", model="y"),
    )  # fmt: skip
    for view in ("brittleness_by_model", "brittleness_by_benchmark", "scaling"):
        with pytest.raises(UserError, match=r"[xy] on arithmetic and [xy] on arithmetic have different variants: Pi"):
            run.ask(f"FROM {view}")
    assert len(run.ask("FROM perturbed")) == 2


def test_results_leave_out_a_view_that_refuses(
    run: Any, record: Record, perturbed: Record, caplog: pytest.LogCaptureFixture
) -> None:
    run.write(
        *answers(record, "123", model="x"), *answers(perturbed, "12", "typos", model="x"),
        *answers(record, "123", model="y"), *answers(perturbed, "12", "padding", model="y"),
    )  # fmt: skip
    with duckdb.connect(write_results(str(run.directory)), read_only=True) as results:
        tables = {row[0] for row in results.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert {"brittleness_by_model", "brittleness_by_benchmark", "scaling"} == {*VIEW_NAMES} - tables
    assert "results.duckdb is without scaling: " in caplog.text


def test_pi_is_over_the_variants_that_all_benchmarks_have(run: Any, record: Record, perturbed: Record) -> None:
    run.write(
        *answers(record, "0123", items=4, benchmark="a"), *answers(perturbed, "01", "typos", items=4, benchmark="a"),
        *answers(perturbed, "", "padding", items=4, benchmark="a"),
        *answers(record, "0123", items=4, benchmark="b"), *answers(perturbed, "", "typos", items=4, benchmark="b"),
    )  # fmt: skip
    (row,) = run.ask("SELECT n_variants, v_prompt, n_benchmarks FROM brittleness_by_model")
    # typos alone: half of a's items flip (1/4 each), all of b's.
    assert tuple(row.values()) == (2, 1 / 8 + 1 / 4, 2)
    rows = run.ask("SELECT benchmark, n_variants, v_prompt FROM brittleness_by_benchmark ORDER BY benchmark")
    assert [tuple(row.values()) for row in rows] == [("a", 2, 1 / 8), ("b", 2, 1 / 4)]


def test_benchmarks_that_share_no_perturbation_have_no_pi(run: Any, record: Record, perturbed: Record) -> None:
    run.write(
        *answers(record, "123", benchmark="a"), *answers(perturbed, "12", "typos", benchmark="a"),
        *answers(record, "123", benchmark="b"), *answers(perturbed, "12", "padding", benchmark="b"),
    )  # fmt: skip
    with pytest.raises(UserError, match=r"on a and .* on b have no perturbation in common: Pi"):
        run.ask("FROM brittleness_by_model")


def test_a_model_that_is_not_finished_has_no_pi_but_a_reason(run: Any, record: Record, perturbed: Record) -> None:
    run.write(
        *answers(record, "123", model="x"), *answers(perturbed, "12", "typos", model="x"),
        *answers(perturbed, "13", "padding", model="x"),
        *answers(record, "123", model="y"), *answers(perturbed, "1", "typos", items=4, model="y"),
    )  # fmt: skip
    x, y = run.ask("SELECT model, pi, n, n_incomplete, n_variants, reason FROM brittleness_by_model ORDER BY model")
    assert (x["n"], x["n_incomplete"], x["n_variants"], x["reason"]) == (10, 0, 3, None)
    assert x["pi"] is not None
    assert (y["pi"], y["n"], y["n_incomplete"], y["n_variants"]) == (None, 0, 10, 3)
    assert y["reason"] == "no item is scored under every variant of the comparison"


def test_pi_without_variance_is_null_with_its_reason(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*variants(record, perturbed, ("11", "11")))
    row = run.one("FROM brittleness_by_model")
    assert (row["pi"], row["ci_low"], row["pi_unbiased"], row["n"]) == (None, None, None, 2)
    assert row["reason"] == "no variance: every answer is right, or every one wrong"


def test_models_with_the_same_answers_have_the_same_interval(run: Any, record: Record, perturbed: Record) -> None:
    rows = ("101", "011", "111", "000", "100", "110", "001", "101")
    run.write(*(row for model in "xy" for row in variants(record, perturbed, rows, model=model)))
    x, y = run.ask("SELECT ci_low, ci_high, pi_unbiased_ci_low FROM brittleness_by_model")
    assert x == y
    query = "SELECT pi, ci_low, ci_high FROM brittleness_by_model WHERE model = 'x'"
    before = run.one(query)
    run.write(*variants(record, perturbed, tuple(row[::-1] for row in rows), model="z"))
    assert run.one(query) == before


# --- worst case, consistency ---


def test_worst_case_and_consistency_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*variants(record, perturbed, ("111", "110", "000", "001", "1-1")))
    row = run.one("FROM worst_case")
    assert (row["n"], row["n_variants"], row["n_incomplete"]) == (4, 3, 1)
    assert (row["worst_case"], row["best_case"], row["clean_accuracy"]) == (0.25, 0.75, 0.5)
    assert (row["ci_low"], row["ci_high"]) == wilson(1, 4)
    # Agreeing pairs of three: 3, 1, 3, 1.
    assert row["consistency"] == pytest.approx(8 / 12)
    assert row["consistency_ci_low"] <= 8 / 12 <= row["consistency_ci_high"]


def test_worst_case_of_clusters_has_their_interval(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*variants(record, perturbed, ("11",) * 5 + ("00",) * 5, cluster_id="same"))
    row = run.one("FROM worst_case")
    assert (row["worst_case"], row["ci_low"], row["ci_high"]) == (0.5, 0.5, 0.5)


# --- content ---


def test_h12_another_gold_answer_is_an_error_not_a_flip(run: Any, record: Record, perturbed: Record) -> None:
    run.write(record("1", True), record("2", True), perturbed("1", False), perturbed("2", False, gold="5"))
    for view in set(VIEWS) - {"compounding", "cot_relief", "position_bias"}:
        with pytest.raises(UserError, match="item 2 of arithmetic does not have the same question and gold answer"):
            run.ask(f"FROM {view}")


def test_a28_the_gold_letter_may_follow_shuffled_choices(run: Any, record: Record, perturbed: Record) -> None:
    shuffled = {"stack": "shuffle_choices", "question": "question 1"}
    run.write(
        *(record("1", True, model=model, gold="A") for model in "xy"),
        *(perturbed("1", False, model=model, gold="C", **shuffled) for model in "xy"),
    )
    assert [row["drop"] for row in run.ask("SELECT drop FROM perturbed")] == [100.0, 100.0]
    assert [row["retention"] for row in run.ask("SELECT retention FROM retention")] == [0.0, 0.0]
    run.write(record("1", True, model="z", gold="A"), perturbed("1", True, model="z", gold="B", **shuffled))
    with pytest.raises(UserError, match="item 1 of arithmetic does not have the same question and gold answer"):
        run.ask("FROM perturbed")


# --- all views ---


def test_a_run_without_perturbations_has_no_brittleness(run: Any, record: Record) -> None:
    run.write(*answers(record, "123"), *answers(record, "12", 1))
    for view in VIEWS:
        assert run.ask(f"FROM {view}") == []


def test_g6_no_view_gives_nan(run: Any, record: Record, perturbed: Record) -> None:
    # One model all right, one all wrong, one with errors alone; one item.
    rows = []
    for model, right in (("x", True), ("y", False), ("z", None)):
        rows += [record("1", right, model=model), record("1", right, 0, 1, model=model)]
        rows += [
            perturbed("1", right, stack, model=model) for stack in ("typos", "padding", "typos→padding", "identity")
        ]
    run.write(*rows)
    with open_runs([run.directory]) as connection:
        for view in VIEW_NAMES:
            table = select(connection, f"FROM {view}")
            json.dumps(table.to_pylist(), default=str, allow_nan=False)
            if view in VIEWS:
                assert "n" in table.column_names, view
                # `select` itself turns NaN into null: the view must not give any.
                for row in connection.sql(f"FROM {view}").fetchall():
                    assert not any(isinstance(value, float) and not math.isfinite(value) for value in row), view


def test_the_papers_tables_stand_beside(run: Any, record: Record, perturbed: Record) -> None:
    model = {"model": "Qwen/Qwen3-8B", "benchmark": "mmlu"}
    run.write(
        *answers(record, "01234567", **model), *answers(perturbed, "0123456", **model),
        *answers(perturbed, "012345", "padding", **model), *answers(perturbed, "0", "typos→padding", **model),
    )  # fmt: skip
    found = run.ask("SELECT family, paper_drop, paper_range FROM drops_paper ORDER BY family")
    assert [tuple(row.values()) for row in found] == [
        ("mean of families", "6.63", "6.65"), ("padding", "16.47", "16.51"), ("word", "8.5", "8.52"),
        ("word→padding", None, None),
    ]  # fmt: skip
    found = run.ask("SELECT perturbation, paper, paper_drop FROM perturbed_paper ORDER BY perturbation")
    assert [tuple(row.values()) for row in found] == [
        ("padding", None, None), ("typos", "0.7", "8.5"), ("typos→padding", None, None),
    ]  # fmt: skip
    assert run.one("SELECT paper FROM compounding")["paper"] == "45"


def test_the_papers_figures_are_whole_and_have_one_row_each(run: Any, record: Record) -> None:
    run.write(record("1", True))
    figures = run.ask("FROM paper_brittleness")
    # 8 models x 5 columns x 2; 6 models x (6 perturbations x 2 + clean); 15 others.
    assert len(figures) == 80 + 78 + 15
    assert all(row["low"] <= row["high"] for row in figures)
    keys = [(r["kind"], r["model"], r["benchmark"], r["family"], r["perturbation"], r["note"]) for r in figures]
    assert len(set(keys)) == len(keys)
    clean = {r["model"]: r["low"] for r in figures if r["kind"] == "accuracy" and r["family"] == "clean"}
    words = [r for r in figures if r["kind"] == "drop" and r["family"] == "word" and r["perturbation"]]
    for row in words:
        if row["benchmark"] is None:
            (accuracy,) = (
                r["low"] for r in figures
                if (r["kind"], r["model"], r["perturbation"]) == ("accuracy", row["model"], row["perturbation"])
            )  # fmt: skip
            # Its Table 5 agrees with itself.
            assert 100 * (clean[row["model"]] - accuracy) == pytest.approx(row["low"], abs=0.011)
