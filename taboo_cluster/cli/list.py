"""List what there is to choose from: sweeps, models, clusters, benchmarks, engines, triggers and more."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from taboo_cluster.display import print_table
from taboo_cluster.errors import UserError, unknown

Rows = list[tuple[str, str]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """The kind, a user's own conf tree, and plugins whose entries are to be listed too."""
    parser.add_argument("kind", nargs="?", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--config-dir", metavar="DIR", help="your own conf tree, searched beside the shipped one")
    parser.add_argument("--plugin", action="append", default=[], metavar="MODULE", help="import this module first")


def run(arguments: argparse.Namespace) -> int:
    """Print names with a line on each."""
    if arguments.kind is None:
        raise UserError(f"list what? {', '.join(KINDS)}")
    if arguments.kind not in KINDS:
        raise unknown("kind", arguments.kind, KINDS)
    if arguments.plugin:
        from taboo_cluster.compose import import_plugins

        import_plugins(arguments.plugin)
    rows = KINDS[arguments.kind](arguments.config_dir)
    print_table([arguments.kind, "what it is"], rows)
    return 0


def _group(group: str) -> Callable[[str | None], Rows]:
    """Files of a config group; a file's line is its first comment that is no directive of Hydra's."""

    def rows(config_dir: str | None) -> Rows:
        from taboo_cluster.tree import group_files

        return [(name, _comment(path)) for name, path in group_files(group, config_dir).items()]

    return rows


def _comment(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = (line.lstrip("# ") for line in lines if line.startswith("#"))
    return next((text for text in comments if text and not text.startswith("@")), "")


def _benchmarks(_: str | None) -> Rows:
    from taboo_cluster.benchmarks.base import BENCHMARKS

    return [(name, _module_line(entry.build).removeprefix(f"{name}: ")) for name, entry in BENCHMARKS]


def _engines(_: str | None) -> Rows:
    from taboo_cluster.engines.base import ENGINES

    return [(name, _module_line(entry.build)) for name, entry in ENGINES]


def _triggers(_: str | None) -> Rows:
    from taboo_cluster.taboo.triggers.base import TRIGGERS

    return [(name, _own_line(entry.fires)) for name, entry in TRIGGERS]


def _perturbations(_: str | None) -> Rows:
    from taboo_cluster.perturbations.base import PERTURBATIONS
    from taboo_cluster.spec import complete

    return [(name, f"{entry.family}: {complete(name, entry.options())}") for name, entry in PERTURBATIONS]


def _word_starts(_: str | None) -> Rows:
    from taboo_cluster.taboo.word_start import WORD_STARTS

    return [(name, _own_line(table)) for name, table in sorted(WORD_STARTS.items())]


def _views(_: str | None) -> Rows:
    from taboo_cluster.analysis.database import VIEW_NAMES, question

    return [(name, question(name)) for name in VIEW_NAMES]


def _own_line(function: object) -> str:
    return (function.__doc__ or "").strip().partition("\n")[0]


def _module_line(function: object) -> str:
    """The first line of the file an entry comes from."""
    return _own_line(sys.modules[function.__module__])


KINDS: Mapping[str, Callable[[str | None], Rows]] = {
    "sweeps": _group("sweep"),
    "models": _group("models"),
    "clusters": _group("cluster"),
    "benchmarks": _benchmarks,
    "engines": _engines,
    "triggers": _triggers,
    "perturbations": _perturbations,
    "word_starts": _word_starts,
    "views": _views,
}
"""Kind -> its entries, given a user's conf tree."""
