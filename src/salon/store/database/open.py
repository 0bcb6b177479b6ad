"""A studio's database by its URL."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import URL, make_url, update
from sqlalchemy.exc import ArgumentError

from salon.errors import BadFile
from salon.store.database.added import Added
from salon.store.database.audit import Audit
from salon.store.database.backup import Backups
from salon.store.database.connected import damaged
from salon.store.database.errors import Unavailable
from salon.store.database.links import Links
from salon.store.database.raters import Raters
from salon.store.database.schema import check_schema, migrate
from salon.store.database.tables import study
from salon.store.database.tasks import Tasks

_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}


class Database(Tasks, Added, Links, Raters, Audit, Backups):
    """One study being collected. Every method is one transaction; any number of threads may use it."""

    def check_writable(self) -> None:
        """Write, and wait until it is on the disk; Unavailable when an answer could not be saved now."""
        with self.writing() as connection:
            connection.execute(update(study).values(created_at=study.c.created_at))

    def check_whole(self) -> None:
        """Damaged when a page of a SQLite file is not what it should be; a server looks after its own."""
        if not self.sqlite:
            return
        with self.reading() as connection:
            verdict = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if verdict != "ok":
            raise damaged(str(verdict), self.name)

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
        _check_file(parsed, create)
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


def _check_file(url: URL, create: bool) -> None:
    name = url.database
    if not name or name == ":memory:" or name.startswith("file:"):
        raise BadFile("a database that outlives its process is needed", found=str(url), remedy="sqlite:///studio.db")
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
