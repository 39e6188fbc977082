"""Parts read back: also while they are written, also from older versions, also where some are damaged."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from taboo_cluster.errors import UserError
from taboo_cluster.records.schema import RECORD, TABLES, Column, arrow_schema
from taboo_cluster.records.storage import TEMPORARY, Store

T = TypeVar("T")
log = logging.getLogger(__name__)

RECORDS = "records"
"""Folder of a run that holds the parts of records; the parts of a side table lie in tables/<name>."""

TABLES_FOLDER = "tables"
"""Folder of a run that holds a folder of parts for each side table."""

BEST_FIRST = "(error_type IS NULL) DESC, attempt DESC NULLS LAST, started_at DESC NULLS LAST, filename DESC"
"""Which of several rows of one trial counts: without error first, highest attempt, latest start, file name."""

ATTEMPTS = 100
"""Listings tried when a running writer merges parts away under the reader."""


@dataclass(frozen=True)
class Recorded:
    """What is known of a trial that has a record."""

    attempt: int
    error_type: str | None


def parts(store: Store, folder: str = RECORDS) -> list[str]:
    """Names of the parts below a folder of a run, sorted."""
    return store.find(".parquet", folder)


def damage(store: Store, name: str) -> str | None:
    """What is wrong with a part, in one line; None where it is sound. Reads every page and checks its checksum.

    Raises OSError for a part that cannot be reached, FileNotFoundError for one that is gone (merged into another).
    """
    with store.open_file(name) as file:
        data = file.read()
    try:
        part = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        for group in range(part.num_row_groups):
            part.read_row_group(group)
    except Exception as error:  # damaged bytes can raise anything; trouble in reaching the file was raised above
        return (str(error).strip() or type(error).__name__).splitlines()[0]
    return None


def read_parts(
    connection: duckdb.DuckDBPyConnection,
    stores: Sequence[Store],
    folder: str,
    columns: tuple[Column, ...],
    read: Callable[[], T],
) -> T:
    """Make the temporary view `parts` over all parts of some runs and return what `read` makes of it.

    The view has exactly `columns` (null where an older part lacks one, under its present name where an older part has
    it under a former one) and `filename`. A part that a running
    writer merges away meanwhile makes it start over; a damaged part is left out, with a warning in the log.

    Raises:
        UserError: the parts change faster than they can be read.
    """
    damaged: set[str] = set()
    for _ in range(ATTEMPTS):
        listed = [(store, name) for store in stores for name in parts(store, folder) if store.path(name) not in damaged]
        try:
            _make_view(connection, listed, columns)
            return read()
        except duckdb.Error:
            try:
                problems = {store.path(name): problem for store, name in listed if (problem := damage(store, name))}
            except FileNotFoundError:
                continue
            if not problems:
                raise
            for path, problem in problems.items():
                log.warning("unreadable part left out: %s: %s", path, problem)
            damaged |= problems.keys()
    raise UserError(f"the parts of {', '.join(store.url for store in stores)} change faster than they can be read")


def read_part_by_part(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    folder: str,
    columns: tuple[Column, ...],
    read: Callable[[], Iterable[T]],
) -> Iterator[T]:
    """What `read` yields of each part in turn; `parts` is the view of `read_parts`, over one part.

    A part that a running writer merges away meanwhile is met again in the merged one, so that a row may come twice
    but never stays away. A damaged part is left out from where it is damaged, with a warning in the log.
    """
    seen: set[str] = set()
    for _ in range(ATTEMPTS):
        fresh = [name for name in parts(store, folder) if name not in seen]
        seen.update(fresh)
        for name in fresh:
            try:
                _make_view(connection, [(store, name)], columns)
                yield from read()
            except (duckdb.Error, OSError):  # the latter where an Arrow reader meets the damage
                try:
                    problem = damage(store, name)
                except FileNotFoundError:
                    continue
                if problem is None:
                    raise
                log.warning("unreadable part left out: %s: %s", store.path(name), problem)
        if not fresh:
            return


def _make_view(
    connection: duckdb.DuckDBPyConnection, listed: Sequence[tuple[Store, str]], columns: tuple[Column, ...]
) -> None:
    empty = arrow_schema(columns).empty_table()
    for column in columns:
        if column.formerly:
            empty = empty.append_column(column.formerly, pa.array([], column.type))
    connection.register("no_parts", empty.append_column("filename", pa.array([], pa.string())))
    source = "FROM no_parts"
    if listed:
        for protocol, fs in {_protocol(store): store.fs for store, _ in listed if not store.local}.items():
            if not connection.filesystem_is_registered(protocol):
                connection.register_filesystem(fs)
        files = ", ".join(_literal(store.path(name)) for store, name in listed)
        scan = (
            f"SELECT * FROM read_parquet([{files}], union_by_name = true, filename = true, hive_partitioning = false)"
        )
        source = f"{source} UNION ALL BY NAME {scan}"
    names = ", ".join(
        f'coalesce("{column.name}", "{column.formerly}") AS "{column.name}"' if column.formerly else f'"{column.name}"'
        for column in columns
    )
    connection.execute(f"CREATE OR REPLACE TEMP VIEW parts AS SELECT {names}, filename FROM ({source})")


def _protocol(store: Store) -> str:
    """The first name of an object store's scheme; a file system has one or several."""
    names = store.fs.protocol
    return str(names if isinstance(names, str) else names[0])


def _literal(path: str) -> str:
    """A path as an SQL string that is no pattern, whatever characters the directory's name has."""
    return "'" + re.sub(r"[*?\[]", r"[\g<0>]", path).replace("'", "''") + "'"


def quarantine_unreadable(run_dir: str) -> list[str]:
    """Set damaged parts aside, so that their trials are redone; one warning line for each.

    Every page of every part is read. A damaged part moves to `<run_dir>/quarantine/` under a name that no reader
    takes for a part; temporary files of writers that were killed are deleted. To be called while nobody writes to
    the run.
    """
    store = Store.open(run_dir)
    warnings = []
    for folder in (RECORDS, TABLES_FOLDER):
        for leftover in store.find(TEMPORARY, folder):
            store.remove(leftover)
        for name in parts(store, folder):
            if problem := damage(store, name):
                target = f"quarantine/{name}.damaged-{uuid.uuid4().hex[:8]}"
                store.move(name, target)
                warnings.append(f"unreadable part set aside as {store.path(target)}: {problem}")
    return warnings


def side_table(run_dir: str, name: str, query: str, **values: Any) -> list[dict[str, Any]]:
    """Rows of a query over the parts of one side table.

    Args:
        run_dir: local path or fsspec URL of the run.
        name: of the table.
        query: over the view `parts`; what it names as $name is taken from `values`.
        values: of the query.
    """
    with duckdb.connect() as connection:
        table = read_parts(
            connection,
            [Store.open(run_dir)],
            f"{TABLES_FOLDER}/{name}",
            TABLES[name],
            lambda: connection.sql(query, params=values).to_arrow_table(),
        )
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def recorded(run_dir: str, model: str | None = None) -> dict[str, Recorded]:
    """What is recorded already, by trial_id, of one model (by name) or of all.

    Of several rows of a trial the one that the `records` view shows counts.
    """
    query = f"""
        SELECT trial_id, attempt, error_type FROM parts WHERE $model IS NULL OR model = $model
        QUALIFY row_number() OVER (PARTITION BY trial_id ORDER BY {BEST_FIRST}) = 1
    """
    with duckdb.connect() as connection:
        table = read_parts(
            connection,
            [Store.open(run_dir)],
            RECORDS,
            RECORD,
            lambda: connection.sql(query, params={"model": model}).to_arrow_table(),
        )
    columns = (table.column(name).to_pylist() for name in ("trial_id", "attempt", "error_type"))
    return {trial: Recorded(attempt, error) for trial, attempt, error in zip(*columns, strict=True)}


def find_generations(dirs: Sequence[str], ids: Collection[str]) -> dict[str, dict[str, Any]]:
    """Full rows of earlier generations without error, by generation_id, from one or more runs.

    Each call scans the generation_id column of all parts of these runs: ask for many ids at once.
    """
    if not ids:
        return {}
    query = f"""
        SELECT * EXCLUDE (filename) FROM parts SEMI JOIN wanted USING (generation_id) WHERE error_type IS NULL
        QUALIFY row_number() OVER (PARTITION BY generation_id ORDER BY {BEST_FIRST}, trial_id) = 1
    """
    with duckdb.connect() as connection:
        connection.register("wanted", pa.table({"generation_id": pa.array(sorted(set(ids)), pa.string())}))
        table = read_parts(
            connection,
            [Store.open(directory) for directory in dirs],
            RECORDS,
            RECORD,
            lambda: connection.sql(query).to_arrow_table(),
        )
    return {row["generation_id"]: row for row in table.to_pylist()}
