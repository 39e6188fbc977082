"""The perturbed texts of a run, and a seeded sample of those that a stack really changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from taboo_cluster.analysis.database import check_run
from taboo_cluster.auditing import draw
from taboo_cluster.benchmarks.choices import LETTERS
from taboo_cluster.errors import UserError
from taboo_cluster.hashing import stable_hash
from taboo_cluster.records.reader import side_table
from taboo_cluster.records.storage import Store

PLACE = ("benchmark", "split", "item_id", "perturbations", "perturbation_seed")
"""Columns that name a perturbed text."""

_COLUMNS = ", ".join(PLACE)
_KEY = f"concat_ws(chr(31), {_COLUMNS})"
_KEYS = f"SELECT DISTINCT {_COLUMNS} FROM parts WHERE changed ORDER BY ALL"
_TEXTS = f"""
    SELECT * EXCLUDE (filename) FROM parts WHERE changed AND {_KEY} IN (SELECT unnest($wanted))
    QUALIFY row_number() OVER (PARTITION BY {_COLUMNS} ORDER BY filename DESC) = 1
"""


@dataclass(frozen=True, order=True)
class Place:
    """Names a perturbed text within a run."""

    benchmark: str
    split: str
    item_id: str
    perturbations: str
    """The stack."""
    perturbation_seed: int

    @property
    def item(self) -> tuple[str, str, str]:
        """The item, whatever was done to it."""
        return self.benchmark, self.split, self.item_id

    @property
    def key(self) -> str:
        """As one text, the same in SQL."""
        return "\x1f".join((*self.item, self.perturbations, str(self.perturbation_seed)))

    @property
    def text_id(self) -> str:
        """A short name, which no spreadsheet takes for a number."""
        return f"t{stable_hash(self.key)[:15]}"


@dataclass(frozen=True)
class Text:
    """A question before and after a stack, as raters see it."""

    place: Place
    clean: str
    perturbed: str
    """With what a stack put around the user's message."""
    choices: tuple[str, ...]
    """As shown; empty without any."""
    gold: str
    """A letter of them, where there are any."""

    @property
    def digest(self) -> str:
        """Hash of all that a rater sees: a verdict holds for nothing else."""
        return stable_hash(self.clean, self.perturbed, list(self.choices), self.gold)

    @property
    def listed(self) -> str:
        """The choices, one on a line, with their letters."""
        return "\n".join(f"{letter}. {choice}" for letter, choice in zip(LETTERS, self.choices, strict=False))


def places(run_dir: str) -> list[Place]:
    """The changed texts of a run. Raises UserError for a directory that is no run, or has none."""
    check_run(Store.open(run_dir))
    found = [Place(**row) for row in side_table(run_dir, "texts", _KEYS)]
    if not found:
        raise UserError(f"{run_dir} holds no perturbed text that differs from its question: its table texts has none")
    return found


def sample(found: Iterable[Place], seed: int, per_stack: int | None, total: int | None) -> list[Place]:
    """At most one text of each item and stack, spread over the stacks as evenly as there are texts.

    By seeded hash: a larger sample contains a smaller one.
    """
    chosen: dict[tuple[str, ...], Place] = {}
    for place in sorted(found, key=lambda place: stable_hash("variant", seed, place.key)):
        chosen.setdefault((*place.item, place.perturbations), place)
    by_key = {place.key: place for place in chosen.values()}
    drawn = draw(((key, place.perturbations) for key, place in by_key.items()), seed, per_stack, total)
    return [by_key[key] for key in drawn]


def read_texts(run_dir: str, wanted: Collection[Place]) -> dict[Place, Text]:
    """These texts of a run."""
    rows = side_table(run_dir, "texts", _TEXTS, wanted=[place.key for place in wanted])
    found = {}
    for row in rows:
        place = Place(**{name: row[name] for name in PLACE})
        perturbed = f"{row['before'] or ''}{row['question']}{row['after'] or ''}"
        choices = tuple(json.loads(row["choices"] or "[]"))
        found[place] = Text(place, row["clean"], perturbed, choices, row["gold"])
    return found
