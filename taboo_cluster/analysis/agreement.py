"""How far two raters agree on right and wrong: pure functions of four counts."""

from __future__ import annotations

from dataclasses import dataclass

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
