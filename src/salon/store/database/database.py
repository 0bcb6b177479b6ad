"""A studio's database by its URL, and copies of it as one SQLite file.

SQLite writes a compact copy of one moment itself (VACUUM INTO): writers go on, and what was erased is not in it. From
PostgreSQL every table is copied within one snapshot. The file appears whole or not at all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import URL, Connection, func, insert, make_url, select, text, update
from sqlalchemy.exc import ArgumentError

from salon.errors import BadFile, SalonError
from salon.store.atomic_files import sweep_parts, whole_file
from salon.store.database.access import AuditMethods, LinkMethods
from salon.store.database.answers import ImportMethods, TaskMethods
from salon.store.database.arena import ArenaMethods
from salon.store.database.connection import DatabaseConnection, StudyThere, Unavailable, WrongSchema, damaged_error
from salon.store.database.coordination import CoordinationMethods
from salon.store.database.raters import RaterMethods
from salon.store.database.tables import DERIVED, check_schema, is_newer, metadata, migrate, study
from salon.store.database.tallies import TallyMethods
from salon.store.database.visitors import VisitorMethods

ROWS_AT_ONCE = 10_000
_KEPT = [table for table in metadata.sorted_tables if table not in DERIVED]
"""What a backup holds. What is referred to comes first."""


class BackupMethods(DatabaseConnection):
    """Copies of the whole database."""

    def backup(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write everything the database holds to the SQLite file `path`."""
        place = Path(path)
        if not place.absolute().parent.is_dir():
            raise BadFile("a folder for the backup is needed", found="none", where=str(place.absolute().parent))
        if place.is_dir() or (place.exists() and not overwrite):
            raise BadFile(
                "a backup only replaces a file when asked to",
                found="a folder" if place.is_dir() else "a file that is there already",
                where=str(place),
                remedy="choose another name" + ("" if place.is_dir() else ", or add --overwrite"),
            )
        sweep_parts(place)
        with whole_file(place, overwrite=overwrite) as file:
            os.chmod(file.name, 0o600)  # it holds what the database does, which is the owner's alone
            if self.sqlite:
                self.outside("VACUUM INTO ?", file.name)
            else:
                target = _sqlite(Path(file.name))
                try:
                    migrate(target)
                    with self.snapshot() as reader, target.writing() as writer:
                        if is_newer(reader):
                            raise WrongSchema(
                                "the newest Salon is needed for a backup",
                                found="tables that this one does not know",
                                where=self.name,
                                remedy="update Salon, and back up again",
                            )
                        _copy(reader, writer)
                finally:
                    target.close()


def restore(path: Path | str, database: DatabaseConnection) -> None:
    """Put a backup into a database that is empty, all of it or nothing. Backups of an older Salon are read too."""
    place = Path(path)
    if not place.is_file():
        raise BadFile("a backup is needed", found="no such file", where=str(place))
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(place, Path(folder) / "backup.db")  # a backup is never changed, not even to be read
        source = _sqlite(Path(copy))
        try:
            check_schema(source, older=True)
            migrate(source)
            with source.snapshot() as reader, database.writing() as writer:
                _check_empty(writer, database.name)
                _copy(reader, writer)
                if not database.sqlite:
                    for table in _KEPT:
                        column = table.autoincrement_column
                        highest = None if column is None else writer.execute(select(func.max(column))).scalar()
                        if column is not None and highest is not None:
                            sequence = {"table": table.name, "column": column.name, "highest": highest}
                            writer.execute(
                                text("SELECT setval(pg_get_serial_sequence(:table, :column), :highest)"), sequence
                            )
        except SalonError as error:
            if error.where != source.name:
                raise
            raise BadFile(
                "a whole backup is needed", found=error.found, where=str(place),
                remedy="take another one: salon backup writes them; nothing was changed",
            ) from error  # fmt: skip
        finally:
            source.close()


def _sqlite(path: Path) -> DatabaseConnection:
    return DatabaseConnection(URL.create("sqlite+pysqlite", database=str(path)))


def _copy(reader: Connection, writer: Connection) -> None:
    for table in _KEPT:
        key = list(table.primary_key.columns)
        streamed = reader.execution_options(yield_per=ROWS_AT_ONCE).execute(select(table).order_by(*key))
        for rows in streamed.mappings().partitions():
            writer.execute(insert(table), [dict(row) for row in rows])


def _check_empty(connection: Connection, where: str) -> None:
    for table in _KEPT:
        if connection.execute(select(table).limit(1)).first() is not None:
            raise StudyThere(
                "an empty database is needed",
                found=f"one with {table.name} in it",
                where=where,
                remedy="name another database; nothing was changed",
            )


# -- opening -----------------------------------------------------------------------------------------------------------

_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}


class Database(
    TaskMethods,
    ImportMethods,
    TallyMethods,
    CoordinationMethods,
    LinkMethods,
    RaterMethods,
    VisitorMethods,
    AuditMethods,
    ArenaMethods,
    BackupMethods,
):
    """One study being collected. Every method is one transaction; any number of threads may use it."""

    def check_writable(self) -> None:
        """Write, and wait until it is on the disk; Unavailable when an answer could not be saved now."""
        with self.writing() as connection:
            connection.execute(update(study).values(created_at=study.c.created_at))

    def check_whole(self) -> None:
        """DamagedDatabase when a page of a SQLite file is not what it should be; a server looks after its own."""
        if not self.sqlite:
            return
        with self.reading() as connection:
            verdict = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if verdict != "ok":
            raise damaged_error(str(verdict), self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_database(url: str | Path, *, create: bool = False) -> Database:
    """The database at `sqlite:///PATH` or `postgresql://USER@HOST/NAME`, or SQLite's in a file of any name.

    With `create` its tables are made, or brought up to date; without, they must be there and be those of this Salon.
    """
    parsed = URL.create(_DRIVERS["sqlite"], database=str(url.absolute())) if isinstance(url, Path) else _parse(url)
    if parsed.get_backend_name() == "sqlite":
        name = parsed.database
        if not name or name == ":memory:" or name.startswith("file:"):
            raise BadFile(
                "a database that outlives its process is needed", found=str(parsed), remedy="sqlite:///studio.db"
            )
        path = Path(name)
        if not path.exists() and not create:
            raise Unavailable(
                "a database is needed",
                found="no such file",
                where=str(path),
                remedy="see how it is spelled; salon serve STUDY opens a studio with its database",
            )
        if not path.absolute().parent.is_dir():
            raise Unavailable("a folder for the database is needed", found="none", where=str(path.absolute().parent))
        if path.is_dir():
            raise Unavailable("a file is needed", found="a folder", where=str(path))
        if not path.exists():
            path.touch(mode=0o600)  # it will hold what raters say about themselves; its write-ahead file follows suit
    database = Database(parsed)
    try:
        if create:
            database.write_ahead()
            migrate(database)
        check_schema(database)
    except BaseException:
        database.close()
        raise
    return database


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise _no_url(url.split("://")[0]) from None
    name = parsed.drivername.split("+")[0]
    if name == "postgres":  # what hosting companies write
        name = "postgresql"
    if name not in _DRIVERS:
        raise _no_url(name)
    return parsed.set(drivername=_DRIVERS[name])


def _no_url(scheme: str) -> BadFile:
    return BadFile(
        "the address of a database is needed",
        found=f"{scheme}://...",
        remedy="sqlite:///studio.db for a file, or postgresql://user@host/name",
    )
