"""Stable hashes and random generators: the same in every process, on every machine."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np


def stable_hash(*parts: Any) -> str:
    """128-bit hex digest of JSON-able parts; dict order does not matter, types do ("1" is not 1)."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()


def stable_rng(*parts: Any) -> np.random.Generator:
    """A generator seeded by the hash of its parts; no global random state is touched."""
    return np.random.Generator(np.random.PCG64(int(stable_hash(*parts), 16)))
