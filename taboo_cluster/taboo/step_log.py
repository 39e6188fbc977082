"""What the mask did at each output position of a request, kept on the device until it is asked for.

An engine that runs in processes of its own returns tokens and log-probabilities only. Ties leave open which token was
the nominal one, and a step left alone shows in neither, so the hook writes both down where they are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from taboo_cluster.taboo.mask import MaskOutcome

_FLAGS = 4
_ABSENT = -1


@dataclass(frozen=True)
class LoggedStep:
    """What the mask did at one output position."""

    nominal_id: int
    intervened: bool
    tied: bool
    skipped: bool
    invalid: bool


def pack(outcome: MaskOutcome) -> torch.Tensor:
    """One non-negative int32 per row of an outcome: the nominal id above four flags."""
    flags = (outcome.intervened, outcome.tied, outcome.skipped, outcome.invalid)
    packed = outcome.nominal << _FLAGS
    for bit, flag in enumerate(flags):
        packed = packed + (flag.long() << bit)
    return packed.int()


def unpack(packed: int) -> LoggedStep:
    """The step behind a number made by `pack`."""
    return LoggedStep(packed >> _FLAGS, *(bool(packed >> bit & 1) for bit in range(_FLAGS)))


class StepLog:
    """Rows of packed steps, one per request, found by the request's key.

    A row stays with its key until it is taken, wherever the engine moves the request in its batch, and also while the
    request is set aside. Writing the same position again replaces what was there.
    """

    def __init__(self, device: torch.device | str) -> None:
        # Row 0 belongs to nobody and column 0 to no position: what must not be kept goes there, without a branch.
        self._data = torch.full((1, 1), _ABSENT, dtype=torch.int32, device=device)
        self._rows: dict[str, int] = {}
        self._free: list[int] = []

    def open(self, key: str, length: int) -> int:
        """The row of `key`, made with room for `length` positions where there is none yet."""
        if key not in self._rows:
            self._grow(length)
            row = self._free.pop()
            self._data[row] = _ABSENT
            self._rows[key] = row
        return self._rows[key]

    def write(self, rows: torch.Tensor, positions: torch.Tensor, packed: torch.Tensor) -> None:
        """Keep packed steps [B] at rows and output positions [B]; row 0 and positions outside a row keep nothing."""
        inside = (positions >= 0) & (positions < self._data.shape[1] - 1)
        self._data[rows, torch.where(inside, positions + 1, 0)] = packed

    def take(self, lengths: Mapping[str, int]) -> dict[str, list[int]]:
        """The first so many packed steps of each known key, -1 where nothing was written; the keys are forgotten."""
        rows = {key: self._rows.pop(key) for key in lengths if key in self._rows}
        self._free.extend(rows.values())
        longest = max((lengths[key] for key in rows), default=0)
        kept = self._data[list(rows.values()), 1 : longest + 1].tolist()
        return {key: steps[: lengths[key]] for key, steps in zip(rows, kept, strict=True)}

    def __len__(self) -> int:
        return len(self._rows)

    def _grow(self, length: int) -> None:
        """Make room for one more row, and for `length` positions in each."""
        rows, columns = self._data.shape
        wider = max(columns, length + 1)
        taller = rows if self._free else 2 * rows
        if (taller, wider) == (rows, columns):
            return
        data = self._data.new_full((taller, wider), _ABSENT)
        data[:rows, :columns] = self._data
        self._data = data
        self._free.extend(range(rows, taller))
