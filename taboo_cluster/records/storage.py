"""A directory of parts, on a local disk or in an object store (any fsspec URL)."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from taboo_cluster.errors import UserError

TEMPORARY = ".parquet.tmp"
"""Ending of a file that is still being written."""


class WriteError(UserError):
    """A part could not be written (a full disk, a lost mount); nothing recorded before is touched."""


@dataclass(frozen=True)
class Store:
    """A directory and the file system it lies on. File names are relative to it and use `/`."""

    fs: Any
    root: str

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Store:
        """The store for a local path or a URL such as `s3://bucket/run`; nothing is created.

        Raises UserError for a scheme that is unknown or needs a package that is not installed.
        """
        try:
            fs, root = fsspec.core.url_to_fs(os.fspath(directory))
        except (ValueError, ImportError) as error:
            raise UserError(f"cannot use the directory {directory}: {error}") from error
        return cls(fs, root.rstrip("/") or "/")

    @property
    def local(self) -> bool:
        """True on a file system with renames and fsync."""
        return isinstance(self.fs, LocalFileSystem)

    @property
    def url(self) -> str:
        """The directory as a local path or a URL."""
        return self.root if self.local else str(self.fs.unstrip_protocol(self.root))

    def path(self, name: str) -> str:
        """A file's local path or URL."""
        return f"{self.url}/{name}"

    def exists(self) -> bool:
        """True where the directory is there (in an object store: where it holds a file)."""
        return bool(self.fs.isdir(self.root))

    def find(self, ending: str, under: str = "") -> list[str]:
        """Names of the files below the folder `under` that end in `ending`, sorted."""
        self.fs.invalidate_cache()
        top = f"{self.root}/{under}".rstrip("/")
        try:
            found = self.fs.find(top)
        except FileNotFoundError:
            return []
        return sorted(path[len(self.root) + 1 :] for path in found if path.endswith(ending))

    def open_file(self, name: str) -> Any:
        """A file opened for reading bytes."""
        return self.fs.open(f"{self.root}/{name}", "rb")

    def write(self, name: str, data: memoryview) -> None:
        """Write a whole file so that no reader ever sees a part of it.

        A local file gets a temporary name that no reader's pattern matches (it starts with a dot and ends in
        .tmp), is synced, renamed, and its folder synced; an object store gets one PUT under the final name.

        Raises:
            WriteError: naming the directory; no temporary file is left behind.
        """
        folder, _, base = f"{self.root}/{name}".rpartition("/")
        try:
            if self.local:
                os.makedirs(folder, exist_ok=True)
                _write_local(folder, base, data)
            else:
                self.fs.pipe_file(f"{folder}/{base}", bytes(data))
        except OSError as error:
            raise WriteError(f"cannot write records to {folder}: {error.strerror or error}") from error

    def put(self, path: str, name: str) -> None:
        """Move (on a local disk) or copy a finished local file here, so that it appears whole."""
        if self.local:
            os.replace(path, f"{self.root}/{name}")
        else:
            self.fs.put_file(path, f"{self.root}/{name}")

    def remove(self, name: str) -> None:
        """Delete a file that may be gone already."""
        with contextlib.suppress(FileNotFoundError):
            self.fs.rm_file(f"{self.root}/{name}")

    def move(self, name: str, to: str) -> None:
        """Give a file another name, in another folder of this store if need be."""
        target = f"{self.root}/{to}"
        self.fs.makedirs(target.rpartition("/")[0], exist_ok=True)
        self.fs.mv(f"{self.root}/{name}", target)


def _write_local(folder: str, base: str, data: memoryview) -> None:
    temporary = f"{folder}/.{base}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, f"{folder}/{base}")
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
