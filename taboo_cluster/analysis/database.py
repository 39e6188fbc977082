"""One or more runs as a read-only database: the records' parts, the views, and one SELECT at a time."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import tempfile
from collections.abc import Collection, Sequence
from graphlib import TopologicalSorter
from importlib.resources import files

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from taboo_cluster.analysis.answers import ANSWERS, load_answers
from taboo_cluster.analysis.bit_functions import add_bit_functions
from taboo_cluster.analysis.functions import add_functions
from taboo_cluster.analysis.stability_functions import add_stability_functions
from taboo_cluster.analysis.tables import LONG_TEXTS, SIDE_TABLES, load_tables, run_seed
from taboo_cluster.analysis.valley_functions import add_valley_functions
from taboo_cluster.errors import UserError, unknown
from taboo_cluster.records.reader import RECORDS
from taboo_cluster.records.storage import Store

log = logging.getLogger(__name__)

RESULTS = "results.duckdb"

NOT_COMPARED = "is not compared"
"""What a view's error says where rows are sound but unlike; any other error is one of the data, or a fault."""

_FILES: dict[str, str] = {
    file.name.removesuffix(".sql"): file.read_text(encoding="utf-8")
    for file in sorted(files("taboo_cluster.analysis").joinpath("views").iterdir(), key=lambda file: file.name)
    if file.name.endswith(".sql")
}


def _read_by(query: str) -> list[str]:
    """The views that a query reads from."""
    return sorted(_FILES.keys() & set(re.findall(r"\b(?:FROM|JOIN) (\w+)", query)))


VIEWS: dict[str, str] = {
    name: _FILES[name] for name in TopologicalSorter({name: _read_by(_FILES[name]) for name in _FILES}).static_order()
}
"""The SELECT of each view (analysis/views/NAME.sql), after those it reads from. A name that starts with _ is a step of
others, not shown."""

VIEW_NAMES: tuple[str, ...] = tuple(name for name in _FILES if not name.startswith("_"))


def question(view: str) -> str:
    """What a view answers: the first line of its file."""
    return VIEWS[view].splitlines()[0].removeprefix("-- ")


def needs_texts(query: str) -> bool:
    """True where a query names a column that `open_runs` reads only with `texts`."""
    return not LONG_TEXTS.isdisjoint(re.findall(r"\w+", query.lower()))


def open_runs(dirs: Sequence[str], texts: bool = False) -> duckdb.DuckDBPyConnection:
    """An in-memory database over the parts of some runs (local folders or fsspec URLs), with the views that `select`
    asks for.

    Works while a run goes on: what is recorded by now is read once, here; a view is computed when it is queried.
    Damaged parts are left out with a warning in the log. Long texts (questions, prompts, completions, steps,
    details) are read only with `texts`. SQL on the connection can reach no file and change no setting.

    Raises:
        UserError: a directory that is missing, is no run, or has no records yet.
    """
    connection = _open(dirs, texts)
    for setting in (
        "enable_external_access = false",
        "python_enable_replacements = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


def select(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """Run one SELECT, in a transaction that cannot write.

    Decimals come back as doubles (or int64 where they are whole), NaN and infinities as null, so that every result
    can be written as JSON.

    Raises:
        UserError: anything but exactly one SELECT, or a query that fails, in one line with the nearest known name.
    """
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise UserError(_first_line(error)) from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UserError("expected exactly one SELECT; the records can be read, not changed")
    _make(connection, set(re.findall(r"\w+", sql.lower())))
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        return _plain(connection.sql(sql).to_arrow_table())
    except duckdb.Error as error:
        raise _explained(connection, sql, error) from None
    finally:
        connection.execute("ROLLBACK")


def write_results(run_dir: str) -> str:
    """Write `results.duckdb` into the run: records (without long texts), side tables and every view as tables.

    The file can be copied elsewhere and opened alone. It appears whole, under its final name. Returns its path.
    Raises UserError where the run cannot be read or the file cannot be written.
    """
    store = Store.open(run_dir)
    folder = store.root if store.local else None
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(_open([run_dir], texts=False))
        try:
            temporary = stack.enter_context(tempfile.TemporaryDirectory(prefix=".results-", dir=folder))
            path = os.path.join(temporary, RESULTS)
            _export(connection, path)
            store.put(path, RESULTS)
        except OSError as error:
            raise UserError(f"cannot write {store.path(RESULTS)}: {error.strerror or error}") from error
        except duckdb.Error as error:
            raise UserError(f"cannot write {store.path(RESULTS)}: {_first_line(error)}") from error
    return store.path(RESULTS)


def _open(dirs: Sequence[str], texts: bool) -> duckdb.DuckDBPyConnection:
    stores = [Store.open(directory) for directory in dirs]
    for store in stores:
        check_run(store)
    connection = duckdb.connect()
    load_tables(connection, stores, texts)
    if connection.execute("SELECT count(*) FROM recorded").fetchone() == (0,):
        raise UserError(f"no records yet in {', '.join(store.url for store in stores)}")
    seed = run_seed(connection)
    add_functions(connection, seed)
    add_bit_functions(connection, seed)
    add_valley_functions(connection, seed)
    add_stability_functions(connection, seed)
    return connection


def _make(connection: duckdb.DuckDBPyConnection, names: set[str]) -> None:
    """Make the views that are named and those they read from, and the answers as bits where one of these needs them.

    Making all of them would take longer than most queries.
    """
    found = connection.execute("SELECT view_name FROM duckdb_views() UNION ALL SELECT table_name FROM duckdb_tables()")
    there = {row[0] for row in found.fetchall()}
    needed = set(names)
    for name in reversed(VIEWS):
        if name in needed:
            needed.update(_read_by(VIEWS[name]))
    read = {word for name in needed & VIEWS.keys() for word in re.findall(r"\b(?:FROM|JOIN) (\w+)", VIEWS[name])}
    if not there.issuperset(ANSWERS) and not (needed | read).isdisjoint(ANSWERS):
        load_answers(connection, run_seed(connection))
    for name, query in VIEWS.items():
        if name in needed and name not in there:
            connection.execute(f"CREATE VIEW {name} AS {query}")


def check_run(store: Store) -> None:
    """Raise UserError for a directory that is not there or is no run."""
    if not store.exists():
        raise UserError(f"no such run directory: {store.url}")
    if not store.find(".parquet", RECORDS) and not store.fs.exists(f"{store.root}/config.yaml"):
        raise UserError(f"{store.url} is not a run directory: it has neither {RECORDS}/ nor config.yaml")


def _export(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    literal = path.replace("'", "''")
    _make(connection, set(VIEWS))
    connection.execute(f"ATTACH '{literal}' AS results")
    for name in (*VIEW_NAMES, *SIDE_TABLES):
        try:
            connection.execute(f"CREATE TABLE results.{name} AS FROM memory.{name}")
        except duckdb.InvalidInputException as error:
            if NOT_COMPARED not in str(error):
                raise
            log.warning("%s is without %s: %s", RESULTS, name, _first_line(error))
    connection.execute("DETACH results")


def _plain(table: pa.Table) -> pa.Table:
    for index, field in enumerate(table.schema):
        column = table.column(index)
        if pa.types.is_decimal(field.type):
            kind = (
                pa.int64() if field.type.scale == 0 and field.type.precision <= 38 and _fits(column) else pa.float64()
            )
            table = table.set_column(index, field.name, column.cast(kind))
        elif pa.types.is_floating(field.type):
            finite = pc.if_else(pc.is_finite(column), column, pa.scalar(None, field.type))
            table = table.set_column(index, field.name, finite)
    return table


def _fits(column: pa.ChunkedArray) -> bool:
    ends = pc.min_max(column).as_py()
    return ends["min"] is None or (ends["min"] >= -(2**63) and ends["max"] < 2**63)


def _explained(connection: duckdb.DuckDBPyConnection, sql: str, error: duckdb.Error) -> UserError:
    """DuckDB's message as one line; unknown tables and columns with what is known here."""
    message = str(error)
    if match := re.search(r"Table with name (\S+) does not exist", message):
        return unknown("view", match[1].strip('"'), (*VIEW_NAMES, *SIDE_TABLES))
    if match := re.search(r'Referenced column "(.+?)" not found|does not have a column named "(.+?)"', message):
        name = match[1] or match[2]
        if name.lower() in LONG_TEXTS:
            return UserError(f"column {name!r} is a long text: open the run with its texts")
        if columns := _columns(connection, sql):
            return unknown("column", name, columns)
    if "(BOOLEAN)" in message:
        return UserError(
            f"{_first_line(error)} Booleans have integer columns beside them: correct_int, parse_ok_int ..."
        )
    return UserError(_first_line(error))


def _columns(connection: duckdb.DuckDBPyConnection, sql: str) -> Collection[str]:
    """Names of the columns of every view that a query mentions."""
    mentioned = sorted({*VIEW_NAMES, *SIDE_TABLES} & set(re.findall(r"\w+", sql.lower())))
    found = connection.execute(
        "SELECT column_name FROM duckdb_columns() WHERE table_name IN (SELECT unnest(?))", [mentioned]
    )
    return {row[0] for row in found.fetchall()}


def _first_line(error: Exception) -> str:
    return next(line.strip() for line in str(error).splitlines() if line.strip())
