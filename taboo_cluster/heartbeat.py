"""A run's signs of life (table `heartbeat`), read from disk."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

LOST_AFTER = timedelta(seconds=60)
"""Without a heartbeat for this long a run is lost."""


def last_heartbeat(run_dir: str) -> Mapping[str, Any] | None:
    """The latest row of the table; None where there is none."""
    from taboo_cluster.records.reader import side_table

    rows = side_table(run_dir, "heartbeat", "SELECT * EXCLUDE (filename) FROM parts ORDER BY seen_at DESC LIMIT 1")
    return rows[0] if rows else None


def state(beat: Mapping[str, Any] | None, now: datetime) -> str:
    """What the run is at `now`: its last word, or `lost` where that was `running` too long ago."""
    if beat is None:
        return "no heartbeat"
    return "lost" if beat["state"] == "running" and now - beat["seen_at"] > LOST_AFTER else str(beat["state"])
