"""Rows to Parquet parts: durable soon after they are added, whole or not there at all."""

from __future__ import annotations

import hashlib
import io
import re
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from taboo_cluster.records.clean import cleaner
from taboo_cluster.records.schema import Column, arrow_schema
from taboo_cluster.records.storage import Store, WriteError

SANITISED = "text_sanitised"


def model_slug(name: str) -> str:
    """A folder's name for a model: readable, without `/` or `=`, different for different names.

    A name made of letters, digits, dots and single hyphens stays as it is; any other gets a digest, so that
    "a/b" and "a=b" do not meet.
    """
    safe = re.sub(r"[^A-Za-z0-9.-]+|-{2,}", "--", name).strip(".-")[:100]
    if safe and safe == name:
        return safe
    return f"{safe}--{hashlib.blake2b(name.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def write_table(store: Store, name: str, table: pa.Table) -> None:
    """Write one part: zstd, one row group, a checksum on every page. Raises WriteError."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True, row_group_size=max(1, len(table)))
    store.write(name, sink.getbuffer())


def read_part(store: Store, name: str) -> pa.Table:
    """All rows of one part. Raises OSError or pyarrow.ArrowException for one that is gone or damaged."""
    with store.open_file(name) as file:
        return pq.read_table(file)


class PartWriter:
    """Writes rows of one table as parts `<directory>/<stem>-<n>.parquet`.

    A part goes out once `rows` rows wait, or the oldest of them has waited `seconds`, whichever comes first; a
    thread of its own sees to the latter when no row arrives. Whenever `merge_at` small parts of this writer have
    gathered, they are merged: the merged part is written first, then the small ones are deleted, so that a reader
    meets a row twice rather than never. Methods may be called from any thread.

    Where a part cannot be written, `add`, `flush` and `close` raise WriteError; the rows that wait (the one just
    added included) are kept and go out with the next flush that succeeds.

    Args:
        directory: local path or fsspec URL; made when the first part is written.
        stem: start of every part's name, this writer's alone (`part-<launch>-<worker>`). Numbers go on after parts
            of that stem that exist.
        columns: the table's columns; a row that lacks one gets null.
    """

    def __init__(
        self,
        directory: str,
        stem: str,
        columns: tuple[Column, ...],
        rows: int = 512,
        seconds: float = 15.0,
        merge_at: int = 32,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", stem):
            raise ValueError(f"{stem!r} cannot start a part's name: letters, digits, dots and hyphens only")
        self._store = Store.open(directory)
        self._stem = stem
        self._schema = arrow_schema(columns)
        self._cleaners = {column.name: cleaner(column.type) for column in columns}
        self._rows, self._seconds, self._merge_at = rows, seconds, merge_at
        self._waiting: list[dict[str, Any]] = []
        self._oldest = 0.0
        self._small: list[tuple[str, int]] = []
        self._next = self._first_number()
        self._closed = False
        self._changed = threading.Condition(threading.RLock())
        self._timer: threading.Thread | None = None

    def add(self, row: Mapping[str, Any]) -> None:
        """Take one row; it is on disk at the latest `seconds` later.

        NaN and infinite floats become null; characters that UTF-8 cannot hold are replaced, and `text_sanitised`
        is set where the table has it.

        Raises:
            ValueError: a key that is no column, or a value that its column cannot hold; the row is not taken.
            WriteError: rows are due and cannot be written; this row is kept.
        """
        clean = self._clean(row)
        with self._changed:
            if self._closed:
                raise ValueError("the writer is closed")
            if not self._waiting:
                self._oldest = time.monotonic()
                self._start_timer()
                self._changed.notify()
            self._waiting.append(clean)
            if len(self._waiting) >= self._rows or self._due() <= 0:
                self.flush()

    def flush(self) -> None:
        """Put all rows on disk; they are durable when this returns. Raises WriteError."""
        with self._changed:
            if not self._waiting:
                return
            table = pa.Table.from_pylist(self._waiting, schema=self._schema)
            self._small.append((self._write(table), len(table)))
            self._waiting = []
            if len(self._small) >= self._merge_at:
                self._merge()

    def close(self) -> None:
        """Flush and end the timer; closing twice is harmless. Raises WriteError, and may then be tried again."""
        with self._changed:
            self.flush()
            self._closed = True
            self._changed.notify()
        if self._timer is not None:
            self._timer.join()

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _first_number(self) -> int:
        numbered = re.compile(rf"{re.escape(self._stem)}-(\d+)\.parquet")
        found = (numbered.fullmatch(name) for name in self._store.find(".parquet"))
        return max((int(match[1]) + 1 for match in found if match), default=0)

    def _clean(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if unknown := row.keys() - self._cleaners.keys():
            raise ValueError(f"no such column: {', '.join(sorted(unknown))}")
        clean: dict[str, Any] = {}
        for name, value in row.items():
            try:
                clean[name] = self._cleaners[name](value)
            except (TypeError, ValueError, AttributeError) as error:
                raise ValueError(f"column {name} cannot hold this value: {error}") from error
        if SANITISED in self._cleaners and any(isinstance(v, str) and v != row[k] for k, v in clean.items()):
            clean[SANITISED] = True
        return clean

    def _write(self, table: pa.Table) -> str:
        name = f"{self._stem}-{self._next:06d}.parquet"
        try:
            write_table(self._store, name, table)
        except WriteError as error:
            raise WriteError(f"{error} ({len(self._waiting)} rows are kept in memory for another try)") from error
        self._next += 1
        return name

    def _merge(self) -> None:
        parts = [name for name, _ in self._small]
        try:
            merged = self._write(pa.concat_tables([read_part(self._store, name) for name in parts]))
        except (WriteError, OSError, pa.ArrowException):
            # Merging only tidies up: every row is on disk already. The next flush tries again.
            return
        rows = sum(count for _, count in self._small)
        # A merged part that is still short is merged again with the next ones; a full one is left alone.
        self._small = [(merged, rows)] if rows < self._rows * self._merge_at else []
        for name in parts:
            self._store.remove(name)

    def _due(self) -> float:
        """Seconds until the oldest waiting row has to go out."""
        return self._oldest + self._seconds - time.monotonic()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = threading.Thread(target=self._flush_in_time, name=f"{self._stem}-timer", daemon=True)
            self._timer.start()

    def _flush_in_time(self) -> None:
        with self._changed:
            while not self._closed:
                if not self._waiting:
                    self._changed.wait()
                elif (left := self._due()) > 0:
                    self._changed.wait(left)
                else:
                    try:
                        self.flush()
                    except WriteError:
                        # The rows are kept and overdue: the next add or close raises in its caller's thread.
                        self._changed.wait(self._seconds)
