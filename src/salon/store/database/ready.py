"""Statements that run for every answer: compiled once for each kind of database, and run by its driver alone.

SQLAlchemy still writes the SQL, keeps the connections and names the errors; what it would do anew for each execution
takes several times as long as the statement itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.expression import ClauseElement


class Ready:
    """A statement whose every value is a `bindparam`, or a column of an insert named in `columns`."""

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        self._statement, self._columns = statement, columns
        self._compiled: dict[str, tuple[str, tuple[str, ...] | None]] = {}

    def rows(self, connection: Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """All rows it gives."""
        cursor = self._run(connection, values)
        try:
            found: list[tuple[Any, ...]] = cursor.fetchall()
        finally:
            cursor.close()
        return found

    def first(self, connection: Connection, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Its first row, or None."""
        return next(iter(self.rows(connection, values)), None)

    def changes(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """How many rows it changes."""
        cursor = self._run(connection, values)
        count: int = cursor.rowcount
        cursor.close()
        return count

    def _run(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        text, order = self._text(connection.dialect)
        driver: Any = connection.connection.driver_connection
        try:
            return driver.execute(text, values if order is None else [values[name] for name in order])
        except connection.dialect.loaded_dbapi.Error as error:
            kind = connection.dialect.loaded_dbapi.Error
            raise DBAPIError.instance(text, None, error, kind, dialect=connection.dialect) from error

    def _text(self, dialect: Dialect) -> tuple[str, tuple[str, ...] | None]:
        """The SQL, and the order of its values where they have no names."""
        made = self._compiled.get(dialect.name)
        if made is None:
            compiled: Any = self._statement.compile(dialect=dialect, column_keys=self._columns)
            order = tuple(compiled.positiontup) if compiled.positional else None
            made = self._compiled[dialect.name] = (str(compiled), order)
        return made
