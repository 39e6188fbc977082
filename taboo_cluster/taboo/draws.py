"""Random numbers that belong to a request and a position, whatever the batch: a hash of integers, on the device."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from taboo_cluster.hashing import stable_hash

_GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15
_MIX = (-4658895280553007687, -7723592293110705685)  # 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def row_seed(prompt_ids: Sequence[int], sample_seed: int | None = None) -> int:
    """The seed of a request, from what it is asked: 60 bits of a hash of its prompt and its sampling's seed."""
    return int(stable_hash("row", list(prompt_ids), sample_seed)[:15], 16)


def uniform(seed: torch.Tensor, position: torch.Tensor, stream: torch.Tensor) -> torch.Tensor:
    """A number in [0, 1) for each row: splitmix64 (Steele, Lea and Flood 2014) of seed, stream and position.

    Args:
        seed: [B] long.
        position: [B] long.
        stream: [B]; another one gives unrelated numbers.

    Returns:
        [B] double, with 53 random bits.
    """
    start = _mixed(seed + stream.long() * _GOLDEN)
    bits = _mixed(start + (position + 1) * _GOLDEN)
    return _shifted(bits, 11).double() * 2.0**-53


def _mixed(bits: torch.Tensor) -> torch.Tensor:
    bits = (bits ^ _shifted(bits, 30)) * _MIX[0]
    bits = (bits ^ _shifted(bits, 27)) * _MIX[1]
    return bits ^ _shifted(bits, 31)


def _shifted(bits: torch.Tensor, by: int) -> torch.Tensor:
    """Logical shift to the right: torch's own keeps the sign."""
    return (bits >> by) & ((1 << (64 - by)) - 1)
