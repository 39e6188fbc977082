"""Typed registries: one entry per file; an unknown name says what is known and the nearest one."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from taboo_cluster.errors import unknown

T = TypeVar("T")


@dataclass
class Registry(Generic[T]):
    """Named entries of one kind, filled by importing every module of `package`.

    Attributes:
        kind: what an entry is called in messages, e.g. "benchmark".
        package: package whose modules register entries when imported.
    """

    kind: str
    package: str
    _entries: dict[str, T] = field(default_factory=dict)
    _loaded: bool = False

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that adds an entry; a name taken twice is a programming error (ValueError)."""

        def add(entry: T) -> T:
            if name in self._entries:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._entries[name] = entry
            return entry

        return add

    def _load(self) -> None:
        if self._loaded:
            return
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self.package}.{module.name}")
        self._loaded = True

    def get(self, name: str) -> T:
        """The entry of that name; raises UserError for an unknown one.

        A module named like its entry is imported alone: what the others import may be heavy.
        """
        if name not in self._entries and name.isidentifier():
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(f"{self.package}.{name}")
        if name not in self._entries:
            self._load()
        if name not in self._entries:
            raise unknown(self.kind, name, self._entries)
        return self._entries[name]

    def names(self) -> list[str]:
        """All names, sorted."""
        self._load()
        return sorted(self._entries)

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return iter((name, self._entries[name]) for name in self.names())
