"""Variance parts: by hand, exactly in fractions, and against NumPy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from taboo_cluster.analysis.variance import (
    Parts,
    Sums,
    between,
    brittleness,
    equal_families,
    parts,
    sums,
    weighted_pi,
)


def table(*rows: str, draws: int = 1) -> Sums:
    """A table of one digit an item and variant, the number of right draws."""
    return sums(np.array([[int(digit) for digit in row] for row in rows]), draws)


def exact(of: Sums) -> Parts:
    whole = [Fraction(value) for value in (of.n, of.total, of.by_item, of.by_text, of.by_variant)]
    return parts(Sums(*whole, weight=of.weight, draws=of.draws))


def by_definition(answers: Any) -> Parts:
    """METHODS section 2, word for word, from answers [items, variants, draws]."""
    over_draws = answers.mean(axis=2)
    item, shift = over_draws.mean(axis=1).var(), over_draws.mean(axis=0).var()
    prompt, sampling = over_draws.var(axis=1).mean(), answers.var(axis=2).mean()
    return Parts(item, prompt, sampling, shift, prompt - shift, answers.var())


def mean(values: Iterable[Fraction]) -> Fraction:
    listed = list(values)
    return sum(listed, Fraction(0)) / len(listed)


def variance(values: Iterable[Fraction]) -> Fraction:
    listed = list(values)
    return mean((value - mean(listed)) ** 2 for value in listed)


def by_definition_exactly(answers: Any) -> Parts:
    """The same in rational numbers."""
    of = [[[Fraction(int(y)) for y in draws] for draws in item] for item in answers]
    over_draws = [[mean(draws) for draws in item] for item in of]
    prompt, shift = mean(map(variance, over_draws)), variance(map(mean, zip(*over_draws, strict=True)))
    return Parts(
        item=variance(map(mean, over_draws)),
        prompt=prompt,
        sampling=mean(mean(map(variance, item)) for item in of),
        shift=shift,
        flip=prompt - shift,
        total=variance(y for item in of for draws in item for y in draws),
    )


def test_parts_by_hand() -> None:
    # Items right under 3, 1 and 0 of 3 variants: means 1, 1/3, 0. Mean 4/9.
    of = exact(table("111", "100", "000"))
    # ((5/9)^2 + (1/9)^2 + (4/9)^2) / 3 = 42/243
    assert of.item == Fraction(42, 243)
    # Variances over variants 0, 2/9, 0.
    assert of.prompt == Fraction(2, 27)
    assert of.total == Fraction(4, 9) * Fraction(5, 9)
    # Variants' means 2/3, 1/3, 1/3: deviations 2/9, -1/9, -1/9.
    assert of.shift == Fraction(2, 81)
    assert of.flip == Fraction(4, 81)
    assert of.sampling == 0


def test_parts_with_draws_by_hand() -> None:
    # Two items, two variants, two draws: right 2 and 1 of 2; 1 and 0 of 2.
    of = exact(table("21", "10", draws=2))
    assert of.sampling == Fraction(1, 8)  # variances 0, 1/4, 1/4, 0
    assert of.item == Fraction(1, 16)  # means 3/4, 1/4
    assert of.prompt == Fraction(1, 16)  # each item: 1/2 apart
    assert of.shift == Fraction(1, 16)
    assert of.flip == 0
    assert of.total == Fraction(1, 4)


def test_harder_for_all_is_shift_and_other_items_each_time_is_flip() -> None:
    shift, flip = exact(table("10", "10", "10")), exact(table("10", "01"))
    assert (shift.shift, shift.flip, shift.item) == (Fraction(1, 4), 0, 0)
    assert (flip.shift, flip.flip, flip.item) == (0, Fraction(1, 4), 0)


TABLES = st.tuples(st.integers(1, 8), st.integers(1, 6), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 1))
)


@settings(max_examples=1000)
@given(TABLES)
def test_parts_add_up_exactly_and_equal_numpy(answers: Any) -> None:
    of = sums(answers.sum(axis=2), answers.shape[2])
    found = exact(of)
    assert found.item + found.prompt + found.sampling == found.total
    assert found.shift + found.flip == found.prompt
    assert min(astuple(found)) >= 0
    floats = parts(of)
    assert astuple(floats) == pytest.approx(astuple(by_definition(answers)), abs=1e-12)
    assert floats.item + floats.prompt + floats.sampling == pytest.approx(floats.total, abs=1e-12)
    assert 0 <= found.prompt / found.total <= 1 if found.total else found.prompt == 0


@given(TABLES)
def test_parts_and_pi_equal_their_definition_exactly(answers: Any) -> None:
    items, variants, draws = answers.shape
    of = sums(answers.sum(axis=2), draws)
    defined = by_definition_exactly(answers)
    assert exact(of) == defined
    found = brittleness([of], variants)
    assert found.pi == (float(defined.prompt / defined.total) if defined.total else None)
    assert (found.v, found.v_shift, found.v_flip) == (float(defined.total), float(defined.shift), float(defined.flip))
    if variants > 1 and items > 1:
        within = defined.prompt * variants / (variants - 1)
        between_items = defined.item * variants * items / (items - 1)
        whole = within + max(Fraction(0), (between_items - within) / variants)
        assert found.pi_unbiased == (float(within / whole) if whole else None)
        assert found.truncated == (between_items < within)


@given(TABLES.filter(lambda answers: min(answers.shape[:2]) > 1))
def test_mean_squares_equal_scipys_analysis_of_variance(answers: Any) -> None:
    stats = pytest.importorskip("scipy.stats")
    items, variants, draws = answers.shape
    within, estimate = between(parts(sums(answers.sum(axis=2), draws)), items, variants)
    if within > 0:
        assert 1 + variants * estimate / within == pytest.approx(stats.f_oneway(*answers.mean(axis=2)).statistic)


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_items_and_variants_does_not_matter(answers: Any, random: Any) -> None:
    rows, columns = list(range(len(answers))), list(range(answers.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    counts = answers.sum(axis=2)
    assert sums(counts[rows][:, columns], answers.shape[2]) == sums(counts, answers.shape[2])


def test_weights_repeat_a_variant() -> None:
    twice = sums(np.array([[1, 0, 0], [1, 1, 1]]), 1)
    weighted = sums(np.array([[1, 0], [1, 1]]), 1, [1, 2])
    assert parts(twice) == parts(weighted)


def test_equal_families() -> None:
    assert equal_families(["clean", "word", "word", "word", "padding"]) == [3, 1, 1, 1, 3]
    assert equal_families(["clean", "word", "word", "padding", "padding", "padding"]) == [6, 3, 3, 2, 2, 2]


def test_pi_by_hand() -> None:
    found = brittleness([table("111", "100", "000")], 3)
    assert found.pi == pytest.approx((2 / 27) / (20 / 81))
    # MSW = 3/2 * 2/27 = 1/9; MSB = 3 * 3/2 * 42/243 = 7/9; item variance (7/9 - 1/9) / 3 = 2/9.
    assert (found.pi_unbiased, found.truncated) == (pytest.approx(1 / 3), False)
    assert (found.pi_corrected, found.v_prompt_corrected) == (None, None)
    assert found.v == pytest.approx(20 / 81)


def test_pi_over_benchmarks_is_a_ratio_of_sums() -> None:
    one, other = table("10", "10"), table("11", "00")
    assert (brittleness([one], 2).pi, brittleness([other], 2).pi) == (1.0, 0.0)
    found = brittleness([one, other], 2)
    assert (found.pi, found.v, found.v_prompt) == (0.5, 0.5, 0.25)


def test_unbiased_pi_with_a_negative_item_variance_is_flagged() -> None:
    # Item means are all alike: MSB = 0.
    found = brittleness([table("10", "01", "10")], 2)
    assert (found.pi_unbiased, found.truncated) == (1.0, True)
    both = brittleness([table("10", "01", "10"), table("11", "00", "10")], 2)
    # MSW 1/2 and 1/6; MSB of the second 2 * 3/2 * 1/6 = 1/2, its item variance 1/6.
    assert (both.pi_unbiased, both.truncated) == (pytest.approx((2 / 3) / (2 / 3 + 1 / 6)), True)


def test_pi_corrected_by_hand() -> None:
    # V_prompt 1/16, V_sampling 1/8, J = R = 2: 2 * 1/16 - 1/8 = 0.
    found = brittleness([table("21", "10", draws=2)], 2)
    assert (found.v_prompt_corrected, found.pi_corrected) == (0.0, 0.0)
    # V_prompt 1/4, no variance of draws or items' means.
    found = brittleness([table("20", "02", draws=2)], 2)
    assert (found.v_prompt_corrected, found.pi_corrected) == (0.5, 1.0)
    found = brittleness([table("22", "20", "10", draws=2)], 2)
    # V_prompt (0 + 1/4 + 1/16) / 3 = 5/48, V_sampling 1/24: 5/24 - 1/24 = 1/6. Means 1, 1/2, 1/4: variance 7/72,
    # MSB = 2 * 3/2 * 7/72 = 7/24, item variance (7/24 - 5/24) / 2 = 1/24; draws 2 * 1/24.
    assert found.v_prompt_corrected == pytest.approx(1 / 6)
    assert found.pi_corrected == pytest.approx((1 / 6) / (1 / 6 + 1 / 24 + 1 / 12))


def test_pi_corrected_is_near_0_where_only_the_draws_vary() -> None:
    rng = np.random.default_rng(5)
    chance = rng.random((200, 1))
    found = [brittleness([sums(rng.binomial(3, chance, (200, 4)), 3)], 4) for _ in range(50)]
    assert np.mean([one.pi_corrected for one in found]) < 0.02
    assert np.mean([one.pi for one in found]) > 0.15


def test_nothing_to_divide_by_is_none() -> None:
    found = brittleness([table("111", "111")], 3)
    assert (found.pi, found.pi_unbiased, found.truncated, found.v) == (None, None, False, 0.0)
    single = brittleness([table("110")], 3)
    assert (single.pi, single.pi_unbiased, single.truncated) == (1.0, None, None)
    alone = brittleness([table("1", "0")], 1)
    assert (alone.pi, alone.pi_unbiased) == (0.0, None)
    assert weighted_pi([table("111", "111")]) is None


def test_the_identity_has_pi_0() -> None:
    found = brittleness([table("11", "00", "11")], 2)
    assert (found.pi, found.pi_unbiased, found.v_prompt) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("variants", "expected"), [(2, 0.50), (3, 0.67), (5, 0.81), (20, 0.95)])
def test_pure_noise_gives_pi_below_its_ceiling_and_an_unbiased_pi_near_1(variants: int, expected: float) -> None:
    # Every answer a coin of its own.
    rng = np.random.default_rng([7, variants])
    found = [brittleness([sums(rng.integers(0, 2, (400, variants)), 1)], variants) for _ in range(40)]
    assert np.mean([one.pi for one in found]) == pytest.approx(expected, abs=0.02)
    assert np.mean([one.pi for one in found]) == pytest.approx((variants - 1) / variants, abs=0.02)
    unbiased = np.array([one.pi_unbiased for one in found])
    assert unbiased.mean() > 0.96
    assert unbiased.max() <= 1
    # Cut off at 1 in about half of the tables, and never silently.
    assert all((one.pi_unbiased == 1) == one.truncated for one in found)


def test_the_item_variance_of_the_unbiased_form_is_unbiased() -> None:
    # Items right with probability 0.2 or 0.8: variance 0.09 between them, 0.16 within.
    rng = np.random.default_rng(1)
    pairs = []
    for _ in range(300):
        chance = rng.choice([0.2, 0.8], size=(60, 1))
        of = sums((rng.random((60, 4)) < chance).astype(np.int64), 1)
        pairs.append(between(parts(of), of.n, 4))
    within, items = np.mean(pairs, axis=0)
    assert (within, items) == (pytest.approx(0.16, abs=0.003), pytest.approx(0.09, abs=0.003))
