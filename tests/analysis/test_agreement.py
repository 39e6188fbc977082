"""Agreement of two raters, and of any number of them, on hand-computed cases."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.analysis.agreement import Agreement, krippendorff_alpha

COUNTS = st.integers(0, 60)
UNITS = st.lists(st.lists(st.sampled_from([None, "kept", "lost", "?"]), max_size=5), max_size=12)


def test_cohens_kappa_by_hand() -> None:
    """50 items, 20 both right, 15 both wrong, 5 and 10 apart.

    p_o = 35/50 = 0.7. Right: 25/50 and 30/50, so p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5; kappa = 0.2 / 0.5 = 0.4.
    """
    found = Agreement(both_right=20, only_first=5, only_second=10, both_wrong=15)
    assert (found.n, found.agreed, found.share) == (50, 35, 0.7)
    assert found.kappa == pytest.approx(0.4, abs=1e-12)
    assert found.interval == pytest.approx((0.562, 0.809), abs=5e-4)


def test_full_agreement_is_1_and_full_disagreement_is_minus_1() -> None:
    assert Agreement(both_right=3, both_wrong=7).kappa == 1
    assert Agreement(only_first=5, only_second=5).kappa == -1


def test_without_an_item_nothing_is_known() -> None:
    found = Agreement()
    assert (found.n, found.share, found.interval, found.kappa) == (0, None, (None, None), None)


def test_kappa_means_nothing_where_both_say_the_same_of_everything() -> None:
    assert Agreement(both_right=9).kappa is None
    assert Agreement(both_wrong=9).kappa is None
    assert Agreement(both_right=9).share == 1


def test_a_rater_that_always_says_the_same_agrees_by_chance_alone() -> None:
    """Share 0.7, but p_e = 0.7 too."""
    assert Agreement(both_right=70, only_second=30).kappa == 0


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_kappa_is_at_most_1_and_does_not_depend_on_who_is_first(a: int, b: int, c: int, d: int) -> None:
    kappa = Agreement(a, b, c, d).kappa
    assert kappa == Agreement(a, c, b, d).kappa
    assert kappa == Agreement(d, b, c, a).kappa, "nor on what is called right"
    assert kappa is None or -1 <= kappa <= 1


def units(*raters: str) -> list[list[str | None]]:
    """Ratings by unit from one line per rater; a dot is a missing one."""
    return [[None if rating == "." else rating for rating in unit] for unit in zip(*raters, strict=True)]


def test_alpha_by_hand() -> None:
    """Units kk, kl, ll, each weighing two ratings: D_o = 2 / 6. Ratings kkkll l: D_e = 2 * 3 * 3 / (6 * 5) = 3 / 5.

    alpha = 1 - (1 / 3) / (3 / 5) = 4 / 9.
    """
    assert krippendorff_alpha(units("kkl", "kll")) == 4 / 9


def test_alpha_by_hand_with_a_missing_rating() -> None:
    """Units kkl, k., ll: the second has one rating and drops out.

    D_o: the first has 4 unlike ordered pairs over m - 1 = 2, so 2 of n = 5 ratings. D_e = 2 * 2 * 3 / (5 * 4) = 3 / 5.
    alpha = 1 - (2 / 5) / (3 / 5) = 1 / 3.
    """
    assert krippendorff_alpha(units("kkl", "k.l", "l..")) == pytest.approx(1 / 3, abs=1e-15)


@pytest.mark.parametrize(
    ("raters", "alpha"),
    [
        (("0100000010", "1110010000"), 0.095),
        (("aabbdcccedda", "babbbccceddd"), 0.692),
        (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
    ],
)
def test_alpha_of_krippendorffs_own_examples(raters: tuple[str, ...], alpha: float) -> None:
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", examples A, B and C (nominal)."""
    assert krippendorff_alpha(units(*raters)) == pytest.approx(alpha, abs=5e-4)


def test_alpha_means_nothing_without_pairs_or_with_one_value() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha(units("kl", "..")) is None
    assert krippendorff_alpha(units("kk", "kk")) is None
    assert krippendorff_alpha(units("kl", "kl")) == 1


@given(UNITS, st.randoms())
def test_alpha_does_not_depend_on_orders_nor_on_names(ratings: list[list[str | None]], random: Any) -> None:
    alpha = krippendorff_alpha(ratings)
    assert alpha is None or -1 <= alpha <= 1
    shuffled = [random.sample(unit, len(unit)) for unit in random.sample(ratings, len(ratings))]
    assert krippendorff_alpha(shuffled) == alpha
    renamed = [[{"kept": "lost", "lost": "?", "?": "kept", None: None}[rating] for rating in unit] for unit in ratings]
    assert krippendorff_alpha(renamed) == alpha
    assert krippendorff_alpha([*ratings, ["kept"], [None, "lost"], []]) == alpha, "a single rating says nothing"
