"""What verdicts on perturbed texts come to, on hand-computed cases."""

from __future__ import annotations

import pytest

from taboo_cluster.analysis.statistics import wilson
from taboo_cluster.preservation.ratings import lost, pairs, report
from taboo_cluster.preservation.texts import Place


def places(stack: str, n: int, first: int = 0) -> list[Place]:
    return [Place("b", "test", str(first + i), stack, 0) for i in range(n)]


def verdicts(chosen: list[Place], said: str) -> dict[Place, str | None]:
    """k kept, l lost, ? no verdict in the form asked for, a dot not rated."""
    words = {"k": "kept", "l": "lost", "?": None}
    return {place: words[letter] for place, letter in zip(chosen, said, strict=True) if letter != "."}


def test_one_rater_by_hand() -> None:
    chosen = places("typos", 6)
    row, paper = report(chosen, [verdicts(chosen, "kkkl?.")], {}, seed=0)
    assert (row["perturbations"], row["n"], row["kept"]) == ("typos", 4, 0.75)
    assert (row["ci_low"], row["ci_high"], row["interval"]) == (*wilson(3, 4), "wilson")
    assert (row["alpha"], row["kappa"], row["cosine"]) == (None, None, None)
    assert (row["n_no_verdict"], row["n_not_rated"]) == (1, 1)
    figures = [paper[name] for name in ("perturbations", "n", "kept", "kappa", "alpha", "cosine")]
    assert figures == ["the paper", 2400, 0.998, 0.714, 0.833, 0.962]


def test_two_raters_by_hand() -> None:
    """kk, kl, ll: kappa = (2/3 - 4/9) / (1 - 4/9) = 2/5; alpha = 4/9. A tie is not kept: 1 of 3."""
    chosen = places("typos", 3)
    row, _ = report(chosen, [verdicts(chosen, "kkl"), verdicts(chosen, "kll")], dict.fromkeys(chosen[:2], 0.5), seed=0)
    assert (row["n"], row["kept"]) == (3, 1 / 3)
    assert row["kappa"] == pytest.approx(2 / 5, abs=1e-12)
    assert row["alpha"] == pytest.approx(4 / 9, abs=1e-12)
    assert row["cosine"] == 0.5


def test_kappa_of_a_stack_is_over_its_own_texts() -> None:
    first, second = places("a", 3), places("b", 2, first=3)
    raters = [verdicts(first + second, "kklkl"), verdicts(first + second, "kllkl")]
    rows = {row["perturbations"]: row for row in report(first + second, raters, {}, seed=0)}
    assert rows["a"]["kappa"] == pytest.approx(2 / 5, abs=1e-12)
    assert rows["b"]["kappa"] == 1
    assert rows["all"]["n"] == 5


def test_three_raters_decide_by_majority_and_have_no_one_kappa() -> None:
    chosen = places("typos", 3)
    raters = [verdicts(chosen, text) for text in ("kkl", "kl.", "ll?")]
    row, _ = report(chosen, raters, {}, seed=0)
    assert (row["n"], row["kept"], row["kappa"]) == (3, 1 / 3, None)
    named = list(pairs(["a", "b", "c"], raters))
    assert [(pair["rater"], pair["other"], pair["n"]) for pair in named] == [
        ("a", "b", 2),
        ("a", "c", 2),
        ("b", "c", 2),
    ]
    assert [pair["agreement"] for pair in named] == [0.5, 0, 0.5]
    assert [(one["item_id"], one["lost_to"]) for one in lost(chosen, ["a", "b", "c"], raters)] == [
        ("0", "c"),
        ("1", "b, c"),
        ("2", "a"),
    ]


def test_an_item_that_comes_in_twice_is_drawn_with_all_its_texts() -> None:
    chosen = places("a", 4) + places("b", 4)
    said = verdicts(chosen, "kkll" + "kkll")
    rows = {row["perturbations"]: row for row in report(chosen, [said], {}, seed=0)}
    assert (rows["a"]["interval"], rows["all"]["interval"]) == ("wilson", "bootstrap")
    assert (rows["all"]["kept"], rows["all"]["n"]) == (0.5, 8)
    assert (rows["all"]["ci_low"], rows["all"]["ci_high"]) == (0, 1), "four items, not eight texts"
    assert list(report(chosen, [said], {}, seed=0)) == list(rows.values())


def test_nothing_rated_is_nothing_known() -> None:
    chosen = places("a", 2)
    row, _ = report(chosen, [], dict.fromkeys(chosen, 1.0), seed=0)
    assert (row["n"], row["kept"], row["ci_low"], row["alpha"], row["cosine"]) == (0, None, None, None, 1.0)
    assert row["n_not_rated"] == 2
