"""Bootstraps over answers kept as bits, and the drop under no effect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from taboo_cluster.analysis.bits import (
    Contrast,
    Table,
    bootstrap_contrast,
    bootstrap_pi,
    bootstrap_ranks,
    bootstrap_relief,
)
from taboo_cluster.analysis.drops import null_drop
from taboo_cluster.analysis.statistics import bootstrap_ratio


def bits(text: str | Sequence[bool]) -> bytes:
    """`1101` as the tables hold it: in whole bytes, filled up behind."""
    return np.packbits([int(one) for one in text]).tobytes()


def clusters(*numbers: int) -> bytes:
    return np.array(numbers, dtype=np.int32).tobytes()


ONE_EACH = clusters(*range(10))
ALL = bits("1" * 10)


def test_a_difference_is_bootstrapped_as_its_clusters_say() -> None:
    clean, other = bits("1111110000"), bits("1111000001")
    found = bootstrap_contrast(ONE_EACH, ALL, [clean, other], Contrast([1, -1]), 0, "view", "cell")
    # Differences: 2 items 1, 1 item -1, 7 items 0; drawn in the order of the distinct (n, clean, other).
    expected = bootstrap_ratio({(0, 1): 7, (1, 1): 2, (-1, 1): 1}, 0, "other seed")
    assert found.se == pytest.approx(expected.se, rel=0.06)
    assert found == bootstrap_contrast(ONE_EACH, ALL, [clean, other], Contrast([1, -1]), 0, "view", "cell")


def test_items_not_in_common_take_no_part() -> None:
    common = bits("1111111000")
    one = bootstrap_contrast(ONE_EACH, common, [bits("1110000111")], Contrast([1]), 0)
    other = bootstrap_contrast(ONE_EACH, common, [bits("1110000000")], Contrast([1]), 0)
    assert one == other
    assert one == bootstrap_contrast(clusters(*range(7)), bits("1111111"), [bits("1110000")], Contrast([1]), 0)


def test_clusters_are_drawn_whole() -> None:
    found = bootstrap_contrast(clusters(0, 0, 0, 1, 1, 1), bits("111111"), [bits("111000")], Contrast([1]), 0)
    assert (found.low, found.high) == (0.0, 1.0)


def test_equal_answers_differ_by_exactly_0() -> None:
    answers = bits("1011100101")
    found = bootstrap_contrast(ONE_EACH, ALL, [answers] * 4, Contrast([-1, -1, 1, 1]), 0)
    assert (found.low, found.high, found.se, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_log_odds_know_no_floor() -> None:
    none, half = bits("0" * 10), bits("1111100000")
    found = bootstrap_contrast(ONE_EACH, ALL, [none], Contrast([1], log_odds=True), 0)
    assert found.low == found.high == pytest.approx(math.log(0.5 / 10.5))
    middle = bootstrap_contrast(ONE_EACH, ALL, [half], Contrast([1], log_odds=True), 0)
    assert middle.low == pytest.approx(-middle.high)  # type: ignore[operator]


def test_relief_recomputes_both_sides() -> None:
    # The one contrast is always half of the other.
    direct, cot = bits("1111111100"), bits("1" * 10)
    rights = [cot, direct]
    found = bootstrap_relief(ONE_EACH, ALL, rights, Contrast([0.5, -0.5]), Contrast([1, -1]), 0)
    assert (found.low, found.high) == (0.5, 0.5)
    # Both items without a drop: 0.8^10 of the resamples have none.
    assert found.dropped == pytest.approx(2000 * 0.8**10, abs=50)


def test_ranks_of_models_far_apart_are_certain() -> None:
    models = [bits("1" * 9 + "0"), bits("1111100000"), bits("0" * 10)]
    found = bootstrap_ranks(ONE_EACH, ALL, models, models, 0)
    assert found.rank[0] == (1.0, 1.0)
    assert found.rank[2] == (3.0, 3.0)
    assert found.spearman == (1.0, 1.0)


def pi_table(task: str, *rows: str, of: str | None = None) -> Table:
    """Rows of answers, one an item; `of` marks the common items."""
    size = len(rows)
    columns = ["".join(row[variant] for row in rows) for variant in range(len(rows[0]))]
    return Table(task, clusters(*range(size)), bits(of or "1" * size), [bits(column) for column in columns], 1)


def test_counts_sum_draws_of_variants() -> None:
    # Two variants with two draws each, of three items, the second not in common.
    table = Table("t", clusters(0, 1, 2), bits("101"), [bits("100"), bits("111"), bits("001"), bits("000")], 2)
    assert table.counts().tolist() == [[2, 0], [1, 1]]
    assert table.by_cluster().tolist() == [[1, 2, 4, 4], [0, 0, 0, 0], [1, 2, 4, 2]]


def test_pi_of_certain_tables_is_certain() -> None:
    found = bootstrap_pi([pi_table("t", *["10"] * 6)], 0)
    assert (found.pi, found.prompt) == ((1.0, 1.0), (0.25, 0.25))
    # Two tasks, one all prompt and one all item: half of the variance, whatever is drawn, but for the items' part.
    mixed = bootstrap_pi([pi_table("t", *["10"] * 6), pi_table("u", *["11"] * 3, *["00"] * 3)], 0)
    assert mixed.pi[0] == pytest.approx(0.5)


def test_models_with_the_same_items_get_the_same_draws() -> None:
    rows = ("101", "011", "111", "000", "100", "110", "001", "101")
    one = bootstrap_pi([pi_table("t", *rows)], 0, "view", "cell")
    assert one == bootstrap_pi([pi_table("t", *rows)], 0, "view", "cell")
    # Two models on one task are drawn together: twice the same model is no more certain than once.
    twice = bootstrap_pi([pi_table("t", *rows), pi_table("t", *rows)], 0, "view", "cell")
    assert twice.pi == pytest.approx(one.pi)
    # An item that is in no table of the task is not drawn.
    more = bootstrap_pi([pi_table("t", *rows, "111", of="1" * 8 + "0")], 0, "view", "cell")
    assert more == one


def test_the_interval_of_pi_holds_the_value() -> None:
    rng = np.random.default_rng(3)
    rows = ["".join(map(str, row)) for row in (rng.random((80, 5)) < rng.random((80, 1))).astype(int)]
    table = pi_table("t", *rows)
    counts = table.counts()
    value = counts.var(axis=1).mean() / counts.var()
    low, high = bootstrap_pi([table], 0).pi
    assert low is not None
    assert high is not None
    assert low < value < high


# --- the drop under no effect ---


def by_enumeration(discordant: int, perturbations: int) -> tuple[float, float]:
    """Means of drop and range over all ways to shuffle the labels, in items."""
    differences = [sum(signs) for signs in product((-1, 1), repeat=discordant)]
    drops, ranges = [], []
    for chosen in product(differences, repeat=perturbations):
        drops.append(max(chosen))
        ranges.append(max(0, *chosen) - min(0, *chosen))
    return float(np.mean(drops)), float(np.mean(ranges))


@pytest.mark.parametrize(("discordant", "perturbations"), [(1, 1), (1, 2), (3, 2), (2, 3), (4, 2)])
def test_null_drop_equals_all_shuffles(discordant: int, perturbations: int) -> None:
    found = null_drop(discordant, 20, perturbations)
    drop, spread = by_enumeration(discordant, perturbations)
    assert (found.drop, found.range) == (pytest.approx(drop / 20), pytest.approx(spread / 20))


def test_null_drop_grows_with_the_number_of_perturbations() -> None:
    # METHODS section 2: +1.7 points at K = 6, n = 500 and 10% churn, +3.8 at n = 100.
    rng = np.random.default_rng(0)
    for n, points in ((500, 1.7), (100, 3.8)):
        found = np.mean([null_drop(int(d), n, 6).drop for d in rng.binomial(n, 0.1, 400)])
        assert 100 * found == pytest.approx(points, abs=0.11)
    assert null_drop(50, 500, 1).drop == pytest.approx(0, abs=1e-12)


def test_null_drop_without_churn_is_0() -> None:
    assert null_drop(0, 500, 6) == null_drop(0, 1, 1)
    assert (null_drop(0, 500, 6).drop, null_drop(0, 500, 6).drop_high, null_drop(0, 500, 6).range) == (0.0, 0.0, 0.0)


def test_null_drop_exceeds_its_high_end_in_at_most_5_percent() -> None:
    rng = np.random.default_rng(2)
    worst = (2 * rng.binomial(40, 0.5, (20_000, 6)) - 40).max(axis=1) / 400
    high = null_drop(40, 400, 6).drop_high
    assert (worst > high).mean() <= 0.05 + 0.005
    assert (worst >= high).mean() > 0.05


def test_null_drop_of_many_discordant_items_is_finite() -> None:
    found = null_drop(14_000, 14_042, 100)
    assert 0 < found.drop < found.drop_high < 0.1
