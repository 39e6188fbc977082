"""Agreement of two raters, on hand-computed cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.analysis.agreement import Agreement

COUNTS = st.integers(0, 60)


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
