"""How far raters agree: two of them on right and wrong, by four counts; any number of them on any values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from taboo_cluster.analysis.statistics import Interval, wilson


@dataclass(frozen=True)
class Agreement:
    """Items by what the first and the second rater say of them."""

    both_right: int = 0
    only_first: int = 0
    """Right to the first rater, wrong to the second."""
    only_second: int = 0
    both_wrong: int = 0

    @property
    def n(self) -> int:
        """Items that both have rated."""
        return self.both_right + self.only_first + self.only_second + self.both_wrong

    @property
    def agreed(self) -> int:
        """Items on which they say the same."""
        return self.both_right + self.both_wrong

    @property
    def share(self) -> float | None:
        """Share of the items on which they say the same; None without an item."""
        return self.agreed / self.n if self.n else None

    @property
    def interval(self) -> Interval:
        """Wilson's 95% interval of `share`."""
        return wilson(self.agreed, self.n)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: (p_o - p_e) / (1 - p_e), p_e being what their shares of right alone would give.

        None without an item, and where both call every item the same (p_e = 1). Source: Cohen 1960.
        """
        first, second = self.both_right + self.only_first, self.both_right + self.only_second
        by_chance = first * second + (self.n - first) * (self.n - second)  # p_e n^2, in whole numbers
        return (self.n * self.agreed - by_chance) / (self.n**2 - by_chance) if by_chance < self.n**2 else None


def krippendorff_alpha(units: Iterable[Sequence[Hashable | None]]) -> float | None:
    """Krippendorff's alpha for nominal values: 1 - D_o / D_e, computed exactly and rounded once.

    D_o is the share of pairs of ratings of one unit that differ, each unit of m ratings weighing m; D_e that of pairs
    of any ratings. A missing rating drops out, and with it a unit that has fewer than two left.

    Args:
        units: of each unit its ratings, in any order; None for a missing one.

    Returns None where nothing can be paired, and where all ratings are the same (D_e = 0). Source: Krippendorff 2011,
    "Computing Krippendorff's Alpha-Reliability".
    """
    total: Counter[Hashable] = Counter()
    differing = Fraction(0)
    for ratings in units:
        counts = Counter(rating for rating in ratings if rating is not None)
        m = counts.total()
        if m >= 2:
            total += counts
            differing += Fraction(_unlike_pairs(counts), m - 1)
    n, unlike = total.total(), _unlike_pairs(total)
    return float(1 - differing * (n - 1) / unlike) if unlike else None


def _unlike_pairs(counts: Counter[Hashable]) -> int:
    """Ordered pairs of different values."""
    return int(counts.total() ** 2 - sum(count * count for count in counts.values()))
