"""The next-token distribution, relative to its second most likely token: nothing in it is 1 minus something."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from taboo_cluster.stability.output_map import OutputMap


@dataclass(frozen=True)
class Odds:
    """Of each position, [n] double."""

    margin: torch.Tensor
    """z_1 - z_2, in nats."""
    rivals: torch.Tensor
    """Σ r_i, over all tokens but the top one; at least 1."""
    weighted: torch.Tensor
    """Σ r_i ln r_i."""

    @property
    def log_top1(self) -> torch.Tensor:
        """ln o_t."""
        return -((-self.margin).exp() * self.rivals).log1p()

    @property
    def top1(self) -> torch.Tensor:
        """o_t."""
        return self.log_top1.exp()

    @property
    def factor(self) -> torch.Tensor:
        """f = o_2: the probability of a token other than the top one is f r_i."""
        return (self.log_top1 - self.margin).exp()

    @property
    def entropy(self) -> torch.Tensor:
        """In nats."""
        rest = self.weighted + (self.log_top1 - self.margin) * self.rivals
        return -self.top1 * self.log_top1 - self.factor * rest

    @classmethod
    def join(cls, parts: Iterable[Odds]) -> Odds:
        """The odds of positions in several parts, one after the other."""
        columns = zip(*((part.margin, part.rivals, part.weighted) for part in parts), strict=True)
        return cls(*(torch.cat(column) for column in columns))


def odds_of(raw: torch.Tensor, first: torch.Tensor, output: OutputMap) -> tuple[Odds, torch.Tensor]:
    """The odds and the r_i of some positions.

    Args:
        raw: [n, V], W h + bias.
        first: [n, at least 2], the most likely tokens, best first.
        output: what makes logits of them.

    Returns:
        The odds, and r [n, V] = exp(z_i - z_2), 0 at the top token and where it is below 1e-15 (float32).
    """
    shaped = output.shaped(raw)
    best = shaped.gather(1, first[:, :2])
    below = shaped - best[:, 1:]
    # What is too small to add to the sums is cut off: squares that are subnormal make a product many times slower.
    r = below.exp()
    r = torch.nn.functional.threshold(r, torch.finfo(r.dtype).tiny ** 0.4, 0, inplace=True).scatter_(1, first[:, :1], 0)
    weighted = below.mul_(r).sum(1)
    best = best.double()
    return Odds(best[:, 0] - best[:, 1], r.sum(1).double(), weighted.double()), r
