"""How much of a model's right and wrong is due to the wording: METHODS section 2, variance, in whole numbers.

Everything follows from five sums of a table of counts, so that the parts add up exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
"""[items, variants]: right answers of an item's draws under a variant. The clean prompt is variant 0."""


@dataclass(frozen=True)
class Sums:
    """What a table adds up to; t_i = sum over variants of weight * k_ij. Numbers, or arrays over resamples."""

    n: Any
    """Items."""
    total: Any
    """Sum of t_i."""
    by_item: Any
    """Sum of t_i^2."""
    by_text: Any
    """Sum of weight * k_ij^2."""
    by_variant: Any
    """Sum over variants of weight * (sum over items of k_ij)^2."""
    weight: int
    """Sum of the variants' weights: J where all weigh 1."""
    draws: int
    """R."""


@dataclass(frozen=True)
class Parts:
    """Population variances, item + prompt + sampling = total and shift + flip = prompt: fractions of whole numbers."""

    item: Any
    """Of the items' means: how they differ in difficulty."""
    prompt: Any
    """Mean over items of the variance over variants (of the means over draws)."""
    sampling: Any
    """Mean over items and variants of the variance over draws; 0 with one draw."""
    shift: Any
    """Of the variants' means: harder for all items."""
    flip: Any
    """The rest of `prompt`: another item each time."""
    total: Any


def sums(counts: Counts, draws: int, weights: Sequence[int] | None = None) -> Sums:
    """The sums of a table, as Python integers."""
    items, variants = counts.shape
    weight = np.ones(variants, dtype=np.int64) if weights is None else np.array(weights, dtype=np.int64)
    by_item, right = counts @ weight, counts.sum(axis=0)
    return Sums(
        items,
        int(by_item.sum()),
        int((by_item**2).sum()),
        int((counts**2 @ weight).sum()),
        int((right**2) @ weight),
        int(weight.sum()),
        draws,
    )


def parts(of: Sums) -> Parts:
    """The variances; every number over the same whole denominator. Exact where the sums are `fractions.Fraction`."""
    n, weight, whole = of.n, of.weight, of.n * of.weight * of.draws
    square = whole * whole
    prompt = n * (weight * of.by_text - of.by_item)
    shift = weight * of.by_variant - of.total * of.total
    return Parts(
        item=(n * of.by_item - of.total * of.total) / square,
        prompt=prompt / square,
        sampling=n * weight * (of.draws * of.total - of.by_text) / square,
        shift=shift / square,
        flip=(prompt - shift) / square,
        total=of.total * (whole - of.total) / square,
    )


def between(of: Parts, n: Any, variants: int) -> tuple[Any, Any]:
    """(MSW, estimate of the items' variance before it is cut off at 0) of the random-effects form.

    MSW = J/(J-1) V_prompt, MSB = J I/(I-1) V_item, and the estimate is (MSB - MSW) / J. Takes two items and variants.
    """
    within = of.prompt * variants / (variants - 1)
    return within, of.item * n / (n - 1) - within / variants


def equal_families(families: Sequence[str]) -> list[int]:
    """Whole weights under which every family weighs the same, and every variant of a family."""
    sizes = [families.count(family) for family in families]
    return [lcm(*sizes) // size for size in sizes]


@dataclass(frozen=True)
class Brittleness:
    """Pi and what it is made of, summed over tables (benchmarks of a model, or models on a benchmark)."""

    pi: float | None
    """V_prompt / V; None where every answer is right, or every one wrong."""
    pi_unbiased: float | None
    """MSW / (MSW + item variance); None with one variant, where a table has one item, and at 0/0."""
    truncated: bool | None
    """In some table the item variance came out below 0 and was set to 0."""
    pi_corrected: float | None
    """As pi_unbiased, with the draws' variance a part of its own: the corrected V_prompt over itself, the item
    variance and R/(R-1) V_sampling; None with one draw."""
    v: float
    v_item: float
    v_prompt: float
    v_sampling: float
    v_shift: float
    v_flip: float
    v_prompt_corrected: float | None
    """J/(J-1) V_prompt - V_sampling/(R-1), not below 0, summed over tables: freed of what the draws alone add."""


def brittleness(tables: Sequence[Sums], variants: int) -> Brittleness:
    """The point values of METHODS section 2 over tables that share one list of `variants`, all of weight 1."""
    exact = [parts(_exact(of)) for of in tables]
    total = sum(part.total for part in exact)
    v_prompt = sum(part.prompt for part in exact)
    unbiased = truncated = corrected = pi_corrected = None
    if variants > 1 and all(of.n > 1 for of in tables):
        both = [between(part, of.n, variants) for part, of in zip(exact, tables, strict=True)]
        within, items = sum(msw for msw, _ in both), sum(max(Fraction(0), estimate) for _, estimate in both)
        unbiased, truncated = _ratio(within, within + items), any(estimate < 0 for _, estimate in both)
        if all(of.draws > 1 for of in tables):
            noise = [part.sampling / (of.draws - 1) for part, of in zip(exact, tables, strict=True)]
            corrected = sum(max(Fraction(0), msw - extra) for (msw, _), extra in zip(both, noise, strict=True))
            draws = sum(extra * of.draws for extra, of in zip(noise, tables, strict=True))
            pi_corrected = _ratio(corrected, corrected + items + draws)
    return Brittleness(
        pi=_ratio(v_prompt, total),
        pi_unbiased=unbiased,
        truncated=truncated,
        pi_corrected=pi_corrected,
        v=float(total),
        v_item=float(sum(part.item for part in exact)),
        v_prompt=float(v_prompt),
        v_sampling=float(sum(part.sampling for part in exact)),
        v_shift=float(sum(part.shift for part in exact)),
        v_flip=float(sum(part.flip for part in exact)),
        v_prompt_corrected=None if corrected is None else float(corrected),
    )


def weighted_pi(tables: Sequence[Sums]) -> float | None:
    """V_prompt / V over tables whose variants may weigh differently."""
    exact = [parts(_exact(of)) for of in tables]
    return _ratio(sum(part.prompt for part in exact), sum(part.total for part in exact))


def _exact(of: Sums) -> Sums:
    n, total, by_item, by_text, by_variant = map(Fraction, (of.n, of.total, of.by_item, of.by_text, of.by_variant))
    return Sums(n, total, by_item, by_text, by_variant, of.weight, of.draws)


def _ratio(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None
