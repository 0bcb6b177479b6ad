"""A whole database as one SQLite file, made while the studio runs, and back into either kind of database.

SQLite writes a compact copy of one moment itself (VACUUM INTO): writers go on, and what was erased is not in it. From
PostgreSQL every table is copied within one snapshot. The file appears whole or not at all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from sqlalchemy import URL, Connection, func, insert, select, text

from salon.errors import BadFile, SalonError
from salon.store.atomic import sweep_parts, whole_file
from salon.store.database.connected import Connected
from salon.store.database.errors import StudyThere
from salon.store.database.schema import check_schema, migrate
from salon.store.database.tables import metadata

ROWS_AT_ONCE = 10_000


class Backups(Connected):
    """Copies of the whole database."""

    def backup(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write everything the database holds to the SQLite file `path`."""
        place = Path(path)
        _check_target(place, overwrite)
        sweep_parts(place)
        with whole_file(place, overwrite=overwrite) as file:
            os.chmod(file.name, 0o600)  # it holds what the database does, which is the owner's alone
            if self.sqlite:
                self.outside("VACUUM INTO ?", file.name)
            else:
                _copy_out(self, Path(file.name))


def restore(path: Path | str, database: Connected) -> None:
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
                    _go_on_counting(writer)
        except SalonError as error:
            if error.where != source.name:
                raise
            raise BadFile(
                "a whole backup is needed", found=error.found, where=str(place),
                remedy="take another one: salon backup writes them; nothing was changed",
            ) from error  # fmt: skip
        finally:
            source.close()


def _sqlite(path: Path) -> Connected:
    return Connected(URL.create("sqlite+pysqlite", database=str(path)))


def _copy_out(database: Connected, path: Path) -> None:
    target = _sqlite(path)
    try:
        migrate(target)
        with database.snapshot() as reader, target.writing() as writer:
            _copy(reader, writer)
    finally:
        target.close()


def _copy(reader: Connection, writer: Connection) -> None:
    for table in metadata.sorted_tables:  # what is referred to comes first
        key = list(table.primary_key.columns)
        streamed = reader.execution_options(yield_per=ROWS_AT_ONCE).execute(select(table).order_by(*key))
        for rows in streamed.mappings().partitions():
            writer.execute(insert(table), [dict(row) for row in rows])


def _check_empty(connection: Connection, where: str) -> None:
    for table in metadata.sorted_tables:
        if connection.execute(select(table).limit(1)).first() is not None:
            raise StudyThere(
                "an empty database is needed",
                found=f"one with {table.name} in it",
                where=where,
                remedy="name another database; nothing was changed",
            )


def _go_on_counting(connection: Connection) -> None:
    """PostgreSQL's own counters start behind the highest number there is."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        highest = None if column is None else connection.execute(select(func.max(column))).scalar()
        if column is not None and highest is not None:
            sequence = {"table": table.name, "column": column.name, "highest": highest}
            connection.execute(text("SELECT setval(pg_get_serial_sequence(:table, :column), :highest)"), sequence)


def _check_target(place: Path, overwrite: bool) -> None:
    if not place.absolute().parent.is_dir():
        raise BadFile("a folder for the backup is needed", found="none", where=str(place.absolute().parent))
    if place.is_dir() or (place.exists() and not overwrite):
        raise BadFile(
            "a backup only replaces a file when asked to",
            found="a folder" if place.is_dir() else "a file that is there already",
            where=str(place),
            remedy="choose another name" + ("" if place.is_dir() else ", or add --overwrite"),
        )
