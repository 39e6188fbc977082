"""Two perturbations together, two prompt styles, sizes and letters: the views by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from brittle_records import Record, answers, first

from taboo_cluster.analysis.statistics import wilson

# --- compounding ---


def stacked(perturbed: Record, record: Record, **right: int) -> list[dict[str, Any]]:
    names = {"a": "typos", "b": "padding", "ab": "typos→padding", "ba": "padding→typos"}
    rows = first(record, right.pop("clean"))
    for key, count in right.items():
        rows += first(perturbed, count, names[key])
    return rows


def test_compounding_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*stacked(perturbed, record, clean=90, a=85, b=80, ab=40, ba=60))
    rows = {row["condition"]: row for row in run.ask("FROM compounding")}
    assert set(rows) == {"typos→padding", "padding→typos"}
    row = rows["typos→padding"]
    assert (row["first"], row["second"], row["n"]) == ("typos", "padding", 100)
    assert (row["drop"], row["drop_first"], row["drop_second"]) == (50.0, 5.0, 10.0)
    assert (row["interaction"], row["super_additive"], row["super_additive_int"]) == (35.0, True, 1)
    assert 0 < row["ci_low"] < 35 < row["ci_high"]
    assert (row["asymmetry"], row["n_asymmetry"]) == (20.0, 100)
    assert rows["padding→typos"]["asymmetry"] == -20.0

    def odds(right: int) -> float:
        return math.log((right + 0.5) / (100 - right + 0.5))

    assert row["interaction_log_odds"] == pytest.approx(odds(85) + odds(80) - odds(90) - odds(40))
    assert row["interaction_log_odds_ci_low"] < row["interaction_log_odds"] < row["interaction_log_odds_ci_high"]


def test_no_interaction_is_not_super_additive(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*stacked(perturbed, record, clean=90, a=80, b=70, ab=60))
    row = run.one("FROM compounding")
    assert (row["interaction"], row["super_additive"]) == (0.0, False)
    assert (row["asymmetry"], row["asymmetry_ci_low"], row["n_asymmetry"]) == (None, None, 0)


def test_a_floor_makes_drops_sub_additive_but_not_log_odds(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*stacked(perturbed, record, clean=50, a=10, b=10, ab=1))
    row = run.one("FROM compounding")
    assert row["interaction"] == -31.0
    # Odds 1 -> 1/9 by each, about 1/81 together.
    assert row["interaction_log_odds"] == pytest.approx(0, abs=0.12)


def test_compounding_takes_the_members_of_the_same_seed(run: Any, record: Record, perturbed: Record) -> None:
    run.write(
        *first(record, 90), *first(perturbed, 50, "typos→padding", seed=1),
        *first(perturbed, 80, "typos", seed=2), *first(perturbed, 80, "padding", seed=1),
    )  # fmt: skip
    assert run.ask("FROM compounding") == []
    run.write(*first(perturbed, 70, "typos", seed=1))
    assert run.one("SELECT interaction FROM compounding") == {"interaction": 10.0}


def test_the_same_perturbation_twice_has_no_order(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*first(record, 90), *first(perturbed, 80), *first(perturbed, 60, "typos→typos"))
    row = run.one("SELECT interaction, asymmetry FROM compounding")
    assert row == {"interaction": 10.0, "asymmetry": None}


def test_compounding_leaves_out_items_that_failed_anywhere(run: Any, record: Record, perturbed: Record) -> None:
    rows = stacked(perturbed, record, clean=90, a=85, b=80, ab=40)
    gone = {"outcome": "error", "correct": None, "parse_ok": None, "score": None, "error_type": "timeout"}
    run.write(*(row | gone if row["condition"] == "padding" and row["item_id"] < "010" else row for row in rows))
    row = run.one("SELECT n, drop FROM compounding")
    assert row == {"n": 90, "drop": pytest.approx(100 * 50 / 90)}


# --- chain of thought ---


def styles(record: Record, perturbed: Record, *counts: int, stack: str = "typos") -> list[dict[str, Any]]:
    """Right answers: direct clean and perturbed, cot clean and perturbed."""
    both = ({"prompt_style": "direct"}, {"prompt_style": "cot"})
    return [
        row
        for style, clean, other in zip(both, counts[::2], counts[1::2], strict=True)
        for row in (*first(record, clean, **style), *first(perturbed, other, stack, **style))
    ]


def test_cot_relief_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*styles(record, perturbed, 60, 40, 90, 85))
    row = run.one("FROM cot_relief")
    assert (row["drop_direct"], row["drop_cot"], row["cot_relief"], row["n"]) == (20.0, 5.0, 0.75, 100)
    assert (row["error_direct"], row["error_cot"]) == (pytest.approx(0.4), pytest.approx(0.1))
    assert row["ci_low"] < 0.75 < row["ci_high"] <= 1.0
    assert row["drop_direct_ci_low"] < 20 < row["drop_direct_ci_high"]
    assert (row["perturbation"], row["n_perturbations"], row["reason"]) == ("typos", 1, None)


def test_cot_relief_without_a_drop_is_null(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*styles(record, perturbed, 60, 59, 90, 60))
    row = run.one("FROM cot_relief")
    assert (row["cot_relief"], row["ci_low"], row["drop_direct"]) == (None, None, 1.0)
    assert row["reason"] == "no drop without reasoning: its interval includes 0"


def test_cot_relief_over_all_perturbations_is_of_the_mean_drop(run: Any, record: Record, perturbed: Record) -> None:
    rows = styles(record, perturbed, 60, 40, 90, 80)
    rows += [row for row in styles(record, perturbed, 60, 30, 90, 65, stack="padding") if row["perturbations"]]
    run.write(*rows)
    found = run.ask("FROM cot_relief")
    assert [row["perturbation"] for row in found] == ["padding", "typos", None]
    row = found[-1]
    # Mean drops 25 and 17.5.
    assert (row["drop_direct"], row["drop_cot"], row["n_perturbations"]) == (25.0, 17.5, 2)
    assert (row["cot_relief"], row["perturbation_seed"]) == (pytest.approx(0.3), None)
    assert row["ci_low"] < 0.3 < row["ci_high"]


def test_one_style_has_no_relief(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*first(record, 60), *first(perturbed, 40))
    assert run.ask("FROM cot_relief") == []


# --- scaling ---


def test_scaling_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    sizes = {"s": (1.0, 50), "m": (7.0, 60), "l": (70.0, 65)}
    rows = []
    for model, (size, right) in sizes.items():
        rows += [*first(record, 80, model=model, size_b=size), *first(perturbed, right, model=model, size_b=size)]
    rows += [*first(record, 80, model="?", size_b=None), *first(perturbed, 70, model="?", size_b=None)]
    run.write(*rows)
    found = run.ask("SELECT model, size_b, drop, pi, drop_with_size, pi_with_size, n_sizes FROM scaling")
    assert [tuple(row.values())[:3] for row in found] == [("s", 1.0, 30.0), ("m", 7.0, 20.0), ("l", 70.0, 15.0)]
    assert [(row["drop_with_size"], row["pi_with_size"], row["n_sizes"]) for row in found] == [(-1.0, -1.0, 3)] * 3
    assert {row["model"]: row["pi"] for row in found} == {
        row["model"]: row["pi"] for row in run.ask("SELECT model, pi FROM brittleness_by_model") if row["model"] != "?"
    }


# --- position bias ---


def test_i16_position_bias_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    # Gold A A B C; answers A A A and none. Shuffled: gold B C D A; answers B B and two not letters.
    clean = zip("1234", "AABC", "AAA-", strict=True)
    shuffled = zip("1234", "BCDA", "BB--", strict=True)
    rows = [record(i, g == a, gold=g, answer=None if a == "-" else a, chance=0.25) for i, g, a in clean]
    rows += [
        perturbed(i, g == a, "shuffle_choices", gold=g, answer=None if a == "-" else a, choice_order=[3, 0, 1, 2],
                  question=f"question {i}", chance=0.25)
        for i, g, a in shuffled
    ]  # fmt: skip
    run.write(*rows, *answers(record, "1", benchmark="other"), *answers(perturbed, "1", benchmark="other"))
    found = {(row["condition"], row["letter"]): row for row in run.ask("FROM position_bias")}
    assert {letter for condition, letter in found if condition == "baseline"} == {"A", "B", "C"}
    a = found["baseline", "A"]
    assert (a["share"], a["n_answered"], a["gold_share"], a["excess"], a["recall"]) == (1.0, 3, 0.5, 0.5, 1.0)
    assert (a["ci_low"], a["ci_high"], a["accuracy"], a["n"], a["n_gold"]) == (*wilson(3, 3), 0.5, 4, 2)
    b = found["shuffle_choices", "B"]
    assert (b["share"], b["n_answered"], b["gold_share"], b["recall"]) == (1.0, 2, 0.25, 1.0)
    assert found["shuffle_choices", "D"]["recall"] == 0.0
    assert {row["benchmark"] for row in found.values()} == {"arithmetic"}
