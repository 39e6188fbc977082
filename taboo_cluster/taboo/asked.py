"""What a request asks of the vLLM hook, in its `extra_args`: written by the engine or by a client, read by the hook."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from taboo_cluster.errors import UserError, unknown
from taboo_cluster.taboo.reasoning import SCOPES
from taboo_cluster.taboo.triggers.base import choose
from taboo_cluster.taboo.word_start import WORD_STARTS
from taboo_cluster.trial import Taboo

if TYPE_CHECKING:
    from vllm import SamplingParams


@dataclass(frozen=True)
class Asked:
    """What a request asks of the hook."""

    taboo: Taboo
    key: str | None = None
    """Name under which the steps are kept; None keeps none."""
    seed: int = 0
    """For triggers that draw."""
    entropy: bool = False
    """Measure next-token entropy at every step; needs a key."""


def asked_of(params: SamplingParams) -> Asked | None:
    """What a request's `extra_args` ask for, None for nothing (rank 0 included); ValueError for what makes no sense."""
    given = (params.extra_args or {}).get("taboo")
    if given is None:
        return None
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = None
    if not isinstance(given, Mapping):
        raise ValueError('taboo must be an object such as {"rank": 1}, or that as a JSON string')
    settings = dict(given)
    known = {field.name: type(field.default) for field in fields(Taboo)} | {"key": str, "seed": int, "entropy": bool}
    for name, value in settings.items():
        if name not in known:
            raise ValueError(str(unknown("taboo setting", name, known)))
        if type(value) is not known[name]:
            raise ValueError(f"taboo.{name} must be of type {known[name].__name__}, not {value!r}")
    own = {name: settings.pop(name) for name in ("key", "seed", "entropy") if name in settings}
    asked = Asked(Taboo(**settings), **own)
    _check(asked, params)
    return asked if asked.taboo.rank or asked.entropy else None


def _check(asked: Asked, params: SamplingParams) -> None:
    taboo = asked.taboo
    if taboo.rank < 0:
        raise ValueError(f"taboo.rank must be 0 or more, not {taboo.rank}")
    if taboo.word_start not in WORD_STARTS:
        raise ValueError(str(unknown("word-start table", taboo.word_start, WORD_STARTS)))
    if taboo.scope not in SCOPES:
        raise ValueError(str(unknown("taboo.scope", taboo.scope, SCOPES)))
    try:
        trigger = choose(taboo.trigger)
    except UserError as error:
        raise ValueError(str(error)) from error
    if asked.key is not None and params.n != 1:
        raise ValueError("taboo.key names one generation: it cannot be given with n > 1")
    if asked.key is None and (asked.entropy or (taboo.rank and trigger.entry.counts_bits)):
        what = "taboo.entropy" if asked.entropy else f"the trigger {trigger.name}"
        raise ValueError(f"{what} needs taboo.key, a name of your own for the request, to keep its numbers under")
    if not 0 <= asked.seed < 2**63:
        raise ValueError(f"taboo.seed must be from 0 to 2**63 - 1, not {asked.seed}")


def extra_args(taboo: Taboo, key: str, seed: int = 0, entropy: bool = False) -> dict[str, Any] | None:
    """What to give a request as `extra_args`; None where nothing is asked, which is a request like any other."""
    asked = asdict(taboo) | {"key": key, "seed": seed, "entropy": entropy}
    return {"taboo": asked} if taboo.rank or entropy else None
