"""How models stand to each other under another wording: ranking, ranking_flips and rank_correlation."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from brittle_records import Record, answers, first

from taboo_cluster.analysis.ranks import shuffled
from taboo_cluster.analysis.statistics import mcnemar
from taboo_cluster.errors import UserError

CORRELATIONS = ("spearman", "ci_low", "ci_high", "kendall", "kendall_ci_low", "kendall_ci_high")
NO_AA = "no replicate of the clean prompt, so no A/A value"


def standings(
    record: Record, perturbed: Record, right: dict[str, tuple[int, int]], *args: Any, items: int = 20, **more: Any
) -> list[dict[str, Any]]:
    """Each model's right answers, clean and perturbed: the first items of all, so that one model's hold another's."""
    rows = []
    for model, (clean, other) in right.items():
        rows += first(record, clean, items=items, model=model, **more)
        rows += first(perturbed, other, *args, items=items, model=model, **more)
    return rows


def rival(
    record: Record, perturbed: Record, model: str, clean: range, other: range, *args: Any
) -> list[dict[str, Any]]:
    """A model that is right on these of 40 items."""
    return [
        make(str(item), item in right, *more, model=model)
        for make, right, more in ((record, clean, ()), (perturbed, other, args))
        for item in range(40)
    ]


def pair(
    record: Record, perturbed: Record, clean: tuple[int, int], other: tuple[int, int], *args: Any
) -> list[dict[str, Any]]:
    """Two models, x and y, by the items on which x alone and y alone are right."""
    (b, c), (b_other, c_other) = clean, other
    return [
        *rival(record, perturbed, "x", range(b), range(b_other), *args),
        *rival(record, perturbed, "y", range(b, b + c), range(b_other, b_other + c_other), *args),
    ]


# --- by hand ---


def test_places_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*standings(record, perturbed, {"x": (16, 12), "y": (14, 15), "z": (5, 5)}))
    found = run.ask("SELECT perturbation, model, place, clean_place, moved, accuracy, n, n_models FROM ranking")
    assert [tuple(row.values()) for row in found] == [
        (None, "x", 1, 1, 0, 0.8, 20, 3), (None, "y", 2, 2, 0, 0.7, 20, 3), (None, "z", 3, 3, 0, 0.25, 20, 3),
        ("typos", "y", 1, 2, -1, 0.75, 20, 3), ("typos", "x", 2, 1, 1, 0.6, 20, 3),
        ("typos", "z", 3, 3, 0, 0.25, 20, 3),
    ]  # fmt: skip


def test_flips_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*standings(record, perturbed, {"x": (16, 12), "y": (14, 15), "z": (5, 5)}))
    found = run.ask(
        "SELECT model_first, model_second, flipped_int, clean_difference, difference, p_clean, p_perturbed, "
        "flip_significant, q FROM ranking_flips ORDER BY model_first, model_second"
    )
    assert [tuple(row.values()) for row in found] == [
        ("x", "y", 1, pytest.approx(0.1), pytest.approx(-0.15), 0.5, 0.25, False, 1.0),
        ("x", "z", 0, 0.55, 0.35, None, None, False, 1.0),
        ("y", "z", 0, 0.45, 0.5, None, None, False, 1.0),
    ]
    # x and y: 3 of 20 items right for y alone, so a variance of 3/20 - 0.15^2 of each item's difference.
    row = run.one("SELECT mde FROM ranking_flips WHERE model_second = 'y'")
    assert row["mde"] == pytest.approx(2.80 * math.sqrt((3 / 20 - 0.15**2) / 20))


def test_correlations_by_hand(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*standings(record, perturbed, {"x": (16, 12), "y": (14, 15), "z": (5, 5)}))
    row = run.one("FROM rank_correlation")
    # Places 1 2 3 become 2 1 3: 1 - 6 * 2 / (3 * 8), and (2 - 1) / 3.
    assert (row["spearman"], row["kendall"]) == (0.5, pytest.approx(1 / 3))
    assert (row["n"], row["n_models"], row["n_pairs"], row["n_flips"]) == (20, 3, 3, 1)
    assert (row["flip_rate"], row["order_changed"], row["order_changed_int"]) == (pytest.approx(1 / 3), True, 1)
    assert (row["flip_significant"], row["flip_significant_int"]) == (False, 0)
    assert (row["perturbation"], row["family"], row["reason"]) == ("typos", "word", NO_AA)
    assert (row["spearman_aa"], row["kendall_aa"], row["flip_rate_aa"], row["order_changed_aa"]) == (None,) * 4


# --- ties, constants, few models ---


def test_tied_models_share_the_better_place(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*standings(record, perturbed, {"a": (9, 4), "b": (9, 8), "c": (5, 8), "d": (2, 4)}))
    found = run.ask("SELECT model, place, clean_place, moved FROM ranking WHERE perturbation = 'typos' ORDER BY model")
    assert [tuple(row.values()) for row in found] == [("a", 3, 1, 2), ("b", 1, 1, 0), ("c", 1, 3, -2), ("d", 3, 4, -1)]


def test_a_pair_that_becomes_tied_counts_and_one_tied_on_clean_does_not(
    run: Any, record: Record, perturbed: Record
) -> None:
    run.write(*standings(record, perturbed, {"a": (9, 4), "b": (9, 8), "c": (5, 8), "d": (2, 4)}))
    row = run.one("FROM rank_correlation")
    # a-b is tied on clean, b-c and a-d become tied, a-c reverses, b-d and c-d stay.
    assert (row["n_pairs"], row["n_flips"], row["flip_rate"]) == (5, 1, 0.2)
    found = run.ask("SELECT model_first, model_second, flipped, q FROM ranking_flips ORDER BY ALL")
    assert [tuple(row.values()) for row in found] == [
        ("a", "b", False, None), ("a", "c", True, 5 * mcnemar(4, 0)), ("a", "d", False, 1.0), ("b", "c", False, 1.0),
        ("b", "d", False, 1.0), ("c", "d", False, 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("right", "pairs", "rate"),
    [({"x": (9, 3), "y": (9, 5), "z": (9, 4)}, 0, None), ({"x": (3, 9), "y": (5, 9), "z": (4, 9)}, 3, 0.0)],
)
def test_models_all_tied_have_no_correlation_but_a_reason(
    run: Any, record: Record, perturbed: Record, right: dict[str, tuple[int, int]], pairs: int, rate: float | None
) -> None:
    run.write(*standings(record, perturbed, right))
    row = run.one("FROM rank_correlation")
    assert [row[name] for name in CORRELATIONS] == [None] * 6
    assert (row["n_pairs"], row["n_flips"], row["flip_rate"], row["order_changed"]) == (pairs, 0, rate, False)
    assert row["reason"] == f"all models are tied; {NO_AA}"


def test_a_tie_that_resampled_items_break_has_no_interval_either(run: Any, record: Record, perturbed: Record) -> None:
    for number, model in enumerate("xyz"):
        run.write(*rival(record, perturbed, model, range(number, number + 9), range(10 * number)))
    row = run.one("FROM rank_correlation")
    assert [row[name] for name in CORRELATIONS] == [None] * 6


def test_two_models_have_flips_but_no_correlation(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*standings(record, perturbed, {"x": (16, 12), "y": (14, 15)}))
    row = run.one("FROM rank_correlation")
    assert [row[name] for name in CORRELATIONS] == [None] * 6
    assert (row["n_pairs"], row["flip_rate"], row["order_changed"]) == (1, 1.0, True)
    assert row["reason"] == f"fewer than three models; {NO_AA}"
    assert [row["place"] for row in run.ask("SELECT place FROM ranking WHERE perturbation IS NOT NULL")] == [1, 2]


def test_one_model_has_a_place_and_no_pairs(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*standings(record, perturbed, {"x": (16, 12)}))
    row = run.one("FROM rank_correlation")
    assert (row["spearman"], row["n_pairs"], row["flip_rate"], row["order_changed"]) == (None, 0, None, None)
    assert row["reason"] == f"fewer than three models; {NO_AA}"
    assert run.ask("FROM ranking_flips") == []
    assert [row["place"] for row in run.ask("SELECT place FROM ranking")] == [1, 1]


def test_the_identity_keeps_every_place(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*standings(record, perturbed, {"x": (16, 16), "y": (14, 14), "z": (5, 5)}, "identity"))
    row = run.one("FROM rank_correlation")
    assert (row["spearman"], row["ci_low"], row["ci_high"], row["kendall"]) == (1.0, 1.0, 1.0, 1.0)
    assert (row["flip_rate"], row["order_changed"]) == (0.0, False)
    assert {row["moved"] for row in run.ask("SELECT moved FROM ranking")} == {0}


def test_the_identity_of_tied_models_has_no_correlation(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*standings(record, perturbed, {"x": (9, 9), "y": (9, 9), "z": (9, 9)}, "identity"))
    row = run.one("SELECT spearman, kendall, flip_rate FROM rank_correlation")
    assert row == {"spearman": None, "kendall": None, "flip_rate": None}


# --- reported cases ---


@pytest.mark.parametrize(
    ("clean", "other", "rho"),
    [
        ([1, 2, 2, 4], [1, 2, 3, 4], 0.948683),
        ([1, 1, 1, 1, 2], [5, 4, 3, 2, 1], -0.707107),
        ([16, 16, 14, 12], [15, 14, 14, 10], 0.833333),
        ([3, 3, 3], [1, 2, 3], None),
        ([1, 2], [1, 2], None),
        ([1], [1], None),
    ],
)
def test_h3_the_view_takes_average_ranks(
    run: Any, record: Record, perturbed: Record, clean: list[int], other: list[int], rho: float | None
) -> None:
    right = {f"model {n}": both for n, both in enumerate(zip(clean, other, strict=True))}
    run.write(*standings(record, perturbed, right))
    row = run.one("SELECT spearman, reason FROM rank_correlation")
    assert row["spearman"] == (None if rho is None else pytest.approx(rho, abs=5e-7))
    assert ("tied" in row["reason"] or "fewer than three" in row["reason"]) == (rho is None)


@pytest.mark.parametrize(
    ("clean", "other", "p_clean", "p_perturbed", "significant"),
    [
        ((10, 2), (0, 6), 0.038574, 0.03125, True),
        ((25, 10), (2, 10), 0.016674, 0.038574, True),
        ((6, 0), (5, 6), 0.03125, 1.0, False),
        ((3, 2), (0, 6), 1.0, 0.03125, False),
        ((5, 5), (0, 6), None, None, False),
        ((6, 0), (0, 0), None, None, False),
    ],
)
def test_h4_a_flip_is_significant_on_both_sides(
    run: Any, record: Record, perturbed: Record, clean: tuple[int, int], other: tuple[int, int],
    p_clean: float | None, p_perturbed: float | None, significant: bool,
) -> None:  # fmt: skip
    run.write(*pair(record, perturbed, clean, other))
    row = run.one("FROM ranking_flips")
    expected = [None if p is None else pytest.approx(p, abs=5e-7) for p in (p_clean, p_perturbed)]
    assert [row["p_clean"], row["p_perturbed"]] == expected
    assert (row["flipped"], row["flip_significant"]) == (p_clean is not None, significant)
    row = run.one("FROM rank_correlation")
    assert (row["order_changed"], row["flip_significant"]) == (p_clean is not None, significant)


def test_h5_q_of_flips_covers_every_pair_and_perturbation(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*pair(record, perturbed, (10, 2), (0, 6)))
    run.write(*(row for row in pair(record, perturbed, (10, 2), (2, 25), "padding") if row["perturbations"]))
    run.write(*(row for row in pair(record, perturbed, (10, 2), (8, 2), "word_split") if row["perturbations"]))
    found = run.ask("SELECT condition, q FROM ranking_flips ORDER BY condition")
    # The larger p is the clean side's in both flips; the pair that keeps its order counts as 1.
    p = mcnemar(10, 2)
    assert [tuple(row.values()) for row in found] == [
        ("padding", pytest.approx(3 * p / 2)), ("typos", pytest.approx(3 * p / 2)), ("word_split", 1.0),
    ]  # fmt: skip


def test_h9_models_that_swap_all_their_answers_stay_tied(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*pair(record, perturbed, (6, 6), (6, 6)))
    row = run.one("SELECT clean_difference, difference, flipped, p_clean FROM ranking_flips")
    assert row == {"clean_difference": 0.0, "difference": 0.0, "flipped": False, "p_clean": None}


def test_h10_unchanged_items_stay_in_the_ranking(run: Any, record: Record, perturbed: Record) -> None:
    rows = standings(record, perturbed, {"x": (16, 12), "y": (14, 15)})
    run.write(*(row | {"changed": False} if row["perturbations"] and row["item_id"] < "010" else row for row in rows))
    assert run.one("SELECT n, n_flips FROM rank_correlation") == {"n": 20, "n_flips": 1}


def test_h11_models_are_ranked_on_the_items_scored_for_all_of_them(run: Any, record: Record, perturbed: Record) -> None:
    run.write(
        *answers(record, "01234567", model="x"), *answers(perturbed, "01234567", model="x"),
        # y lacks items 8 and 9 in the clean prompt, z fails on item 0 when perturbed.
        *answers(record, "0123456", items=8, model="y"), *answers(perturbed, "0123456", model="y"),
        *answers(record, "0123", model="z"), perturbed("0", None, model="z"),
        *(perturbed(str(item), item < 5, model="z") for item in range(1, 10)),
        *(record(str(item), None, model="only errors") for item in range(10)),
        *(perturbed(str(item), True, model="only errors") for item in range(10)),
        *answers(perturbed, "0123456789", model="no clean prompt"),
    )  # fmt: skip
    found = run.ask("SELECT model, place, accuracy, clean_accuracy, n, n_models FROM ranking "
                    "WHERE perturbation = 'typos' ORDER BY place")  # fmt: skip
    # On items 1-7.
    assert [tuple(row.values()) for row in found] == [
        ("x", 1, 1.0, 1.0, 7, 3), ("y", 2, pytest.approx(6 / 7), pytest.approx(6 / 7), 7, 3),
        ("z", 3, pytest.approx(4 / 7), pytest.approx(3 / 7), 7, 3),
    ]  # fmt: skip
    # The clean prompt alone: items 0-7.
    row = run.one("SELECT n, accuracy FROM ranking WHERE perturbation IS NULL AND model = 'z'")
    assert row == {"n": 8, "accuracy": 0.5}


def test_h12_another_question_of_the_clean_prompt_is_an_error(run: Any, record: Record, perturbed: Record) -> None:
    run.write(
        record("1", True, model="x"), perturbed("1", True, model="x"),
        record("1", True, model="y", question="another"), perturbed("1", True, model="y"),
    )  # fmt: skip
    for view in ("ranking", "ranking_flips", "rank_correlation"):
        with pytest.raises(UserError, match="item 1 of arithmetic does not have the same question"):
            run.ask(f"FROM {view}")


# --- against scipy, and every pair counted one by one ---


def many(record: Record, perturbed: Record) -> tuple[list[dict[str, Any]], dict[tuple[str, int], Any]]:
    """Records of 6 models, 5 benchmarks of 8 items and 10 seeds, and their right answers: [side, model, item]."""
    rng = np.random.default_rng(11)
    rows, right = [], {}
    for benchmark in "abcde":
        clean = rng.random((6, 8)) < rng.random((6, 1))
        for model in range(6):
            rows += [record(str(i), bool(clean[model, i]), model=f"m{model}", benchmark=benchmark) for i in range(8)]
        for seed in range(10):
            other = rng.random((6, 8)) < rng.random((6, 1))
            right[benchmark, seed] = np.array([clean, other])
            for model in range(6):
                more = {"model": f"m{model}", "benchmark": benchmark, "seed": seed}
                rows += [perturbed(str(i), bool(other[model, i]), **more) for i in range(8)]
    return rows, right


def test_views_equal_scipy_and_pairs_counted_one_by_one(run: Any, record: Record, perturbed: Record) -> None:
    stats = pytest.importorskip("scipy.stats")
    rows, right = many(record, perturbed)
    run.write(*rows)
    found = run.ask(
        "SELECT benchmark, perturbation_seed AS seed, spearman, kendall, n_pairs, n_flips FROM rank_correlation"
    )
    assert len(found) == 50
    for row in found:
        clean, other = right[row["benchmark"], row["seed"]].sum(axis=2).tolist()
        assert row["spearman"] == pytest.approx(stats.spearmanr(clean, other).statistic, abs=1e-12)
        assert row["kendall"] == pytest.approx(stats.kendalltau(clean, other).statistic, abs=1e-12)
        gaps = [(clean[a] - clean[b], other[a] - other[b]) for a, b in combinations(range(6), 2)]
        assert row["n_pairs"] == sum(one != 0 for one, _ in gaps)
        assert row["n_flips"] == sum(one * two < 0 for one, two in gaps)
    for row in run.ask("SELECT *, perturbation_seed AS seed FROM ranking_flips"):
        both = right[row["benchmark"], row["seed"]]
        one, two = both[:, int(row["model_first"][1])], both[:, int(row["model_second"][1])]
        clean, other = (one.astype(int) - two.astype(int)).sum(axis=1).tolist()
        assert (8 * row["clean_difference"], 8 * row["difference"]) == (clean, other)
        assert row["flipped"] == (clean > 0 > other)
        expected = [mcnemar(int((a & ~b).sum()), int((b & ~a).sum())) for a, b in zip(one, two, strict=True)]
        assert [row["p_clean"], row["p_perturbed"]] == (expected if row["flipped"] else [None, None])


def test_places_equal_scipys_ranks(run: Any, record: Record, perturbed: Record) -> None:
    stats = pytest.importorskip("scipy.stats")
    rows, right = many(record, perturbed)
    run.write(*rows)
    found = run.ask("SELECT benchmark, perturbation_seed AS seed, model, place FROM ranking "
                    "WHERE perturbation IS NOT NULL")  # fmt: skip
    assert len(found) == 300
    for row in found:
        places = stats.rankdata(-right[row["benchmark"], row["seed"]][1].sum(axis=1), method="min")
        assert row["place"] == places[int(row["model"][1])]


# --- intervals and A/A values ---


def test_models_far_apart_have_certain_places(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*standings(record, perturbed, {"x": (99, 98), "y": (97, 96), "z": (5, 4)}, items=100))
    rows = run.ask("SELECT model, ci_low, ci_high FROM ranking WHERE perturbation = 'typos' ORDER BY place")
    assert [tuple(row.values())[1:] for row in rows] == [(1.0, 1.0), (1.0, 2.0), (3.0, 3.0)]
    row = run.one("FROM rank_correlation")
    assert row["ci_low"] <= row["spearman"] <= row["ci_high"] == 1.0
    assert row["kendall_ci_low"] <= row["kendall"] <= row["kendall_ci_high"] == 1.0


def test_items_of_one_cluster_say_nothing_about_each_other(run: Any, record: Record, perturbed: Record) -> None:
    run.write(*standings(record, perturbed, {"x": (16, 12), "y": (14, 15), "z": (5, 5)}, cluster_id="one"))
    row = run.one("FROM rank_correlation")
    assert (row["ci_low"], row["ci_high"], row["kendall_ci_low"]) == (0.5, 0.5, pytest.approx(1 / 3))
    rows = run.ask("SELECT place, ci_low, ci_high FROM ranking")
    assert all(row["place"] == row["ci_low"] == row["ci_high"] for row in rows)


def test_the_aa_value_shuffles_the_clean_replicates(run: Any, record: Record, perturbed: Record) -> None:
    rows = standings(record, perturbed, {"x": (16, 12), "y": (14, 15), "z": (13, 5)})
    # Replicates: x loses one item, y wins two, z swaps two items for others. One item of y failed.
    for model, again in (("x", range(15)), ("y", range(16)), ("z", range(2, 15))):
        rows += [record(f"{i:03}", None if (model, i) == ("y", 19) else i in again, 0, 1, model) for i in range(20)]
    run.write(*rows)
    row = run.one("FROM rank_correlation")
    setting = run.one("SELECT any_value(setting) AS setting FROM cells WHERE is_baseline")["setting"]
    found = shuffled([15, 14, 11], [1, 2, 4], 0, "rank_correlation", setting)
    expected = (found.spearman, found.kendall, found.flip_rate, found.order_changed)
    assert tuple(row[f"{name}_aa"] for name in ("spearman", "kendall", "flip_rate", "order_changed")) == expected
    assert (row["reason"], row["n_flips"]) == (None, 1)


def test_without_churn_nothing_is_expected_to_change(run: Any, record: Record, perturbed: Record) -> None:
    right = {"x": (16, 12), "y": (14, 15), "z": (5, 5)}
    run.write(*standings(record, perturbed, right))
    run.write(*(row for model, (clean, _) in right.items() for row in first(record, clean, 0, 1, model, items=20)))
    row = run.one("FROM rank_correlation")
    assert (row["spearman_aa"], row["kendall_aa"], row["flip_rate_aa"], row["order_changed_aa"]) == (1.0, 1.0, 0.0, 0.0)


# --- who is compared with whom ---


def test_a_model_in_two_precisions_stands_against_itself(run: Any, record: Record, perturbed: Record) -> None:
    precise, coarse = {"dtype": "float32"}, {"dtype": "bfloat16", "quantization": "nf4"}
    run.write(
        *standings(record, perturbed, {"x": (16, 12)}, **precise),
        *standings(record, perturbed, {"x": (14, 15)}, **coarse),
    )
    row = run.one("FROM ranking_flips")
    assert (row["quantization_first"], row["quantization_second"], row["flipped"]) == ("none", "nf4", True)
    assert (row["dtype_first"], row["dtype_second"]) == ("float32", "bfloat16")


def test_models_are_ranked_within_benchmark_style_and_sampling(run: Any, record: Record, perturbed: Record) -> None:
    sampled = {"temperature": 0.7, "top_p": 0.95}
    settings = [{}, {"benchmark": "other"}, {"prompt_style": "direct"}, sampled | {"sample_seed": 1}]
    settings.append(sampled | {"sample_seed": 2})
    for more in settings:
        run.write(*standings(record, perturbed, {"x": (16, 12), "y": (14, 15)}, **more))
    rows = run.ask("SELECT n_models, n_flips FROM rank_correlation")
    assert [tuple(row.values()) for row in rows] == [(2, 1)] * 5
