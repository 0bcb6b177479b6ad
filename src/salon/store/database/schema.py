"""Which tables a database holds, and how it gets those this Salon needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from salon.store.database.connected import Connected
from salon.store.database.errors import WrongSchema
from salon.store.database.tables import SCHEMA, VERSION_TABLE

if TYPE_CHECKING:
    from alembic.config import Config

_LOCK = 0x5A10
"""PostgreSQL's number for "the tables of a studio are being made"."""


def migrate(database: Connected) -> None:
    """Make the tables, or bring them up to date, in one transaction; WrongSchema for those of a newer Salon."""
    with database.writing() as connection:
        if not database.sqlite:  # SQLite's writers queue anyway
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        found = _version(connection)
        if found is None:
            _check_is_empty(connection, database.name)
        elif found > SCHEMA:
            raise _newer(found, database.name)
        if found != SCHEMA:
            _upgrade(connection)


def check_schema(database: Connected, *, older: bool = False) -> None:
    """WrongSchema unless the tables are those of this Salon, or of an `older` one where that will do."""
    with database.reading() as connection:
        found = _version(connection)
    if found is None:
        raise WrongSchema(
            "a database made by Salon is needed",
            found="one without Salon's tables",
            where=database.name,
            remedy="salon serve makes one; docs/database.md says how",
        )
    if found > SCHEMA:
        raise _newer(found, database.name)
    if found < SCHEMA and not older:
        raise WrongSchema(
            f"tables of version {SCHEMA} are needed",
            found=f"version {found}",
            where=database.name,
            remedy="an older Salon made it: start salon serve on it once, which brings it up to date",
        )


def alembic_config(connection: Connection) -> Config:
    """Alembic's settings, with no file: where the steps are, and the connection to run them on."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "salon.store.database:migrations")
    config.attributes["connection"] = connection
    return config


def _upgrade(connection: Connection) -> None:
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def _check_is_empty(connection: Connection, where: str) -> None:
    names = inspect(connection).get_table_names()
    if names:
        raise WrongSchema(
            "an empty database is needed, or one made by Salon",
            found="the tables " + ", ".join(sorted(names)[:8]),
            where=where,
            remedy="name another database; nothing was changed",
        )


def _newer(found: str, where: str) -> WrongSchema:
    return WrongSchema(
        f"tables of version {SCHEMA} or older are needed",
        found=f"version {found}",
        where=where,
        remedy="a newer Salon made it: update Salon",
    )
