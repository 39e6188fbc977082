"""What the interventions of each request have cost so far, kept on the device (for triggers with `counts_bits`).

The cost of a step is known once its token has been chosen, which a logits processor sees one step later. Until then the
step's logits are kept. Costs are kept by position: a request that is set aside and taken up again, or a step that is
done twice, leaves them right.
"""

from __future__ import annotations

import torch

from taboo_cluster.taboo.mask import MaskOutcome, bits_paid


class Ledger:
    """Costs by row of the step log and output position; row 0 belongs to nobody."""

    def __init__(self, device: torch.device | str) -> None:
        self._cost = torch.zeros((1, 1), dtype=torch.double, device=device)
        self._open = torch.full((1,), -1, dtype=torch.long, device=device)
        self._nominal = torch.zeros(1, device=device)
        self._logits = torch.zeros((1, 0), device=device)

    def clear(self, row: int, size: tuple[int, int]) -> None:
        """Begin a row, with room for `size` rows and positions."""
        rows, positions = (max(new, old) for new, old in zip(size, self._cost.shape, strict=True))
        self._grow(rows, positions, self._logits.shape[1])
        self._cost[row] = 0.0
        self._open[row] = -1

    def paid(self, rows: torch.Tensor, positions: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        """Bits [B], double, that were paid before output position `positions` [B] in `rows` [B].

        `last` [B] are the tokens emitted just before; any where there is none.
        """
        if not self._logits.shape[1]:
            return torch.zeros(len(rows), dtype=torch.double, device=rows.device)
        before = positions - 1
        due = (self._open[rows] == before) & (before >= 0)
        emitted = self._logits[rows, torch.where(due, last, 0)]
        place = torch.where(due, before, 0)
        self._cost[rows, place] = torch.where(due, bits_paid(self._nominal[rows], emitted), self._cost[rows, place])
        columns = torch.arange(self._cost.shape[1], device=rows.device)
        return torch.where(columns < positions[:, None], self._cost[rows], 0.0).sum(1)

    def keep(self, rows: torch.Tensor, positions: torch.Tensor, outcome: MaskOutcome, logits: torch.Tensor) -> None:
        """Remember a step's masked logits [B, V] until its tokens are known; positions below 0 are no steps."""
        self._grow(self._cost.shape[0], self._cost.shape[1], logits.shape[1])
        rows = torch.where(positions >= 0, rows, 0)
        self._open[rows] = torch.where(outcome.intervened, positions, -1)
        self._nominal[rows] = outcome.nominal_logit.float()
        self._logits[rows] = logits.float()

    def _grow(self, rows: int, positions: int, width: int) -> None:
        if (rows, positions, width) == (*self._cost.shape, self._logits.shape[1]):
            return
        self._cost = _wider(self._cost, rows, positions)
        self._logits = _wider(self._logits, rows, width)
        self._open = _wider(self._open[:, None], rows, 1, fill=-1).squeeze(1)
        self._nominal = _wider(self._nominal[:, None], rows, 1).squeeze(1)


def _wider(values: torch.Tensor, rows: int, columns: int, fill: float = 0.0) -> torch.Tensor:
    wide = values.new_full((rows, columns), fill)
    wide[: values.shape[0], : values.shape[1]] = values
    return wide
