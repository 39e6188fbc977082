"""What the mask did at each output position of a request, kept on the device until it is asked for.

An engine that runs in processes of its own returns tokens and log-probabilities only. Ties leave open which token was
the nominal one, and a step left alone shows in neither, so the hook writes both down where they are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from taboo_cluster.taboo.mask import MaskOutcome

_FLAGS = 5
_ABSENT = -1
_MOST_ROWS = 4096
"""A key that nobody asks for is forgotten once there are so many younger ones."""


@dataclass(frozen=True)
class LoggedStep:
    """What the mask did at one output position."""

    nominal_id: int
    intervened: bool
    tied: bool
    skipped: bool
    invalid: bool
    word_initial: bool


@dataclass(frozen=True)
class Taken:
    """What was logged of a request."""

    packed: list[int]
    """A number for each position, -1 where nothing was written."""
    entropy: list[float] | None = None
    """Bits at each position; None where they were not measured."""


def pack(outcome: MaskOutcome) -> torch.Tensor:
    """One non-negative int32 per row of an outcome: the nominal id above five flags."""
    flags = (outcome.intervened, outcome.tied, outcome.skipped, outcome.invalid, outcome.word_initial)
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
        self._entropy: torch.Tensor | None = None
        self._measured: set[str] = set()
        self._rows: dict[str, int] = {}
        self._free: list[int] = []

    def open(self, key: str, length: int, entropy: bool = False) -> int:
        """The row of `key`, made with room for `length` positions where there is none yet."""
        if key not in self._rows:
            if len(self._rows) >= _MOST_ROWS:
                self._close(next(iter(self._rows)))
            self._grow(length)
            row = self._free.pop()
            self._data[row] = _ABSENT
            self._rows[key] = row
        if entropy:
            self._measured.add(key)
            if self._entropy is None:
                self._entropy = torch.zeros(self._data.shape, device=self._data.device)
        return self._rows[key]

    @property
    def size(self) -> tuple[int, int]:
        """Rows and positions there is room for, those that belong to nobody included."""
        return self._data.shape[0], self._data.shape[1]

    def write(
        self, rows: torch.Tensor, positions: torch.Tensor, packed: torch.Tensor, entropy: torch.Tensor | None = None
    ) -> None:
        """Keep packed steps [B], and entropies in bits [B], at rows and output positions [B].

        Row 0 and positions outside a row keep nothing.
        """
        inside = (positions >= 0) & (positions < self._data.shape[1] - 1)
        places = torch.where(inside, positions + 1, 0)
        self._data[rows, places] = packed
        if entropy is not None and self._entropy is not None:
            self._entropy[rows, places] = entropy

    def take(self, lengths: Mapping[str, int]) -> dict[str, Taken]:
        """The first so many steps of each known key; the keys are forgotten."""
        known = {key: self._rows[key] for key in lengths if key in self._rows}
        longest = max((lengths[key] for key in known), default=0)
        places = (list(known.values()), slice(1, longest + 1))
        packed = self._data[places].tolist()
        entropy = None
        if self._entropy is not None and self._measured.intersection(known):
            entropy = self._entropy[places].tolist()
        taken = {}
        for place, key in enumerate(known):
            length = lengths[key]
            bits = entropy[place][:length] if entropy is not None and key in self._measured else None
            taken[key] = Taken(packed[place][:length], bits)
            self._close(key)
        return taken

    def _close(self, key: str) -> None:
        self._free.append(self._rows.pop(key))
        self._measured.discard(key)

    def __contains__(self, key: str) -> bool:
        return key in self._rows

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
        if self._entropy is not None:
            wide = self._entropy.new_zeros((taller, wider))
            wide[:rows, :columns] = self._entropy
            self._entropy = wide
        self._free.extend(range(rows, taller))
