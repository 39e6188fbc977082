"""Where this project lies, and whether its top-level packages are really its own."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from taboo_cluster.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
"""The checkout, or the folder the packages are installed in."""

PACKAGES = ("actors", "jobs")
"""Plain names that another package may take."""


def shadowed(root: Path = ROOT) -> list[str]:
    """One line for each of our top-level packages that Python would import from elsewhere, or not at all."""
    found = []
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None:
            found.append(f"package {name!r} cannot be imported: expected {root / name}")
        elif (origin := _folder(spec.origin, spec.submodule_search_locations)) != root / name:
            found.append(f"package {name!r} is imported from {origin}, which shadows {root / name}")
    return found


def check_packages() -> None:
    """Raise UserError where a package of the same name shadows one of ours."""
    if lines := shadowed():
        raise UserError(f"{'; '.join(lines)}. Start the command elsewhere, or take that folder off PYTHONPATH")


def _folder(origin: str | None, locations: list[str] | None) -> Path:
    return Path(origin).resolve().parent if origin else Path(next(iter(locations or ["?"]))).resolve()
