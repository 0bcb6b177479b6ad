"""The tables of a studio's database (one study being collected), and how they are made or brought up to date.

Times are milliseconds since 1970 (UTC). Records are JSON text, written by Salon and never searched. `revisions`,
`judgments`, `undos`, `consents`, `settings` and `audit` only grow; triggers refuse to change a judgment or a line of
the audit. Only the erasure of a rater deletes.

Several workers may serve one study, and for a while workers of two versions of Salon. So a migration only adds: tables,
and columns that are nullable or have a default; a new table about a rater refers to `raters` with ON DELETE CASCADE, so
that older code still erases all of it. Code of migration S works with newer tables while `shared_state` names S or an
older one as the "oldest code". A migration that older code cannot bear puts its own number there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    text,
)

from salon.store.database.connection import DatabaseConnection, WrongSchema

if TYPE_CHECKING:
    from alembic.config import Config

SCHEMA = "0004"
"""The newest migration: what this Salon reads and writes."""
VERSION_TABLE = "salon_version"

STATUSES = ("invited", "active", "paused", "removed", "withdrawn", "done")
LEFT_OUT = ("removed", "withdrawn")
"""Raters whose judgments no reader gets."""
ROLES = ("rater", "owner", "adjudicator")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _number(name: str = "number") -> Column[int]:
    """A key that counts up and is never given twice."""
    return Column(name, Integer, primary_key=True, autoincrement=True)


def _time(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _text(name: str, *, nullable: bool = False, unique: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable, unique=unique)


def _rater(*, primary_key: bool = False, nullable: bool = False) -> Column[str]:
    return Column("rater", Text, ForeignKey("raters.id"), primary_key=primary_key, nullable=nullable)


def _table(
    name: str, *parts: Column[int] | Column[str] | Column[bool] | UniqueConstraint | CheckConstraint | Index
) -> Table:
    return Table(name, metadata, *parts, sqlite_autoincrement=parts[0].name in ("number", "id"))


def _one_of(column: str, words: tuple[str, ...]) -> CheckConstraint:
    return CheckConstraint(f"{column} IN ({', '.join(repr(word) for word in words)})", name=column)


study = Table(
    "study",
    metadata,
    Column("one", Integer, CheckConstraint("one = 1", name="one"), primary_key=True, autoincrement=False),
    _text("record"),  # study.toml but its revisions
    _time("created_at"),
)
revisions = Table(
    "revisions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    _text("reason"),
    _text("at", nullable=True),
    Column("changes", BigInteger, nullable=False),  # raters, judgments and undos in the tables at that moment
)
prompts = _table("prompts", _number(), _text("id", unique=True), _text("record"))
items = _table("items", _number(), _text("id", unique=True), _text("record"))
raters = _table(
    "raters",
    _number(),
    _text("id", unique=True),
    _text("kind"),
    _text("cohort", nullable=True),
    _text("status"),
    _time("created_at"),
    Column("turn", BigInteger, nullable=False, server_default="0"),  # grows with every change of the rater's tasks
    _one_of("status", STATUSES),
)
profiles = Table("profiles", metadata, _rater(primary_key=True), _text("record"), _time("at"))
links = _table(
    "links",
    _number(),
    _text("hash", unique=True),
    _text("role"),
    _rater(nullable=True),
    _time("created_at"),
    _time("expires_at", nullable=True),
    _time("revoked_at", nullable=True),
    _one_of("role", ROLES),
    Index(None, "rater"),
)
consents = _table("consents", _number(), _rater(), _text("version"), _time("at"), UniqueConstraint("rater", "version"))
tasks = _table(
    "tasks",
    _number("id"),
    _rater(),
    Column("position", Integer, nullable=False),
    _text("phase"),
    _text("about"),
    _text("question"),
    _text("screen"),
    _time("created_at"),
    _time("ready_at", nullable=True),
    _time("answered_at", nullable=True),
    UniqueConstraint("rater", "position"),
    UniqueConstraint("rater", "about"),
)
judgments = _table(
    "judgments",
    _number("id"),
    Column("task", Integer, ForeignKey("tasks.id"), nullable=True),
    _rater(),
    _text("kind"),
    _text("criterion", nullable=True),
    _text("prompt", nullable=True),
    _text("payload"),
    Column("counted", Boolean(create_constraint=False), nullable=False),
    _time("started_at", nullable=True),
    _time("answered_at", nullable=True),
    _text("key", nullable=True),
    Column("part", Integer, nullable=False),
    _text("interface", nullable=True),
    _text("client", nullable=True),
    UniqueConstraint("rater", "key", "part"),
    Index(None, "task"),
)
undos = Table(
    "undos",
    metadata,
    Column("judgment", Integer, ForeignKey("judgments.id"), primary_key=True, autoincrement=False),
    _time("at"),
)
visits = _table("visits", _number(), _rater(), _time("started_at"), _time("last_seen_at"), Index(None, "rater"))
visitors = _table(
    "visitors",
    _number(),
    _text("participant", unique=True),
    Column("rater", Text, ForeignKey("raters.id", ondelete="CASCADE"), nullable=False, unique=True),
    Column("link", Integer, nullable=False),
    _text("personal"),
    _text("study", nullable=True),
    _text("session", nullable=True),
    _text("submit_to", nullable=True),
    _time("joined_at"),
    _time("placed_at", nullable=True),
    _text("outcome", nullable=True),
    _time("ended_at", nullable=True),
)
settings = _table("settings", _number("version"), _text("text"), _time("at"))
question_tallies = Table(
    "question_tallies",
    metadata,
    Column("key", Text, primary_key=True),
    _text("group_name", nullable=True),  # adaptive designs: the pairs that are chosen among
    Column("answers", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
    _text("votes"),
    _text("pending"),
    Column("changed", BigInteger, nullable=False),  # PostgreSQL: the transaction; SQLite: a count
    Index(None, "changed"),
    Index(None, "group_name"),
)
group_raters = Table(
    "group_raters",
    metadata,
    Column("group_name", Text, primary_key=True),
    Column("rater", Text, ForeignKey("raters.id", ondelete="CASCADE"), primary_key=True),
    Column("answers", Integer, nullable=False),
)
shared_state = Table(
    "shared_state",
    metadata,
    Column("name", Text, primary_key=True),
    _text("value"),
    _time("at"),
)
rate_limits = Table(
    "rate_limits",
    metadata,
    Column("name", Text, primary_key=True),
    Column("tokens", Float, nullable=False),
    Column("at", Float, nullable=False),
)
DERIVED = (question_tallies, group_raters, shared_state, rate_limits)
"""Tables that can be made anew from the others: no backup holds them."""
audit = _table("audit", _number(), _time("at"), _text("who"), _text("what"), _text("detail"))


# -- migration ---------------------------------------------------------------------------------------------------------

_LOCK = 0x5A10
"""PostgreSQL's number for "the tables of a studio are being made"."""


def migrate(database: DatabaseConnection) -> None:
    """Make the tables, or bring them up to date, in one transaction; WrongSchema for those of a newer Salon."""
    with database.writing() as connection:
        if not database.sqlite:  # SQLite's writers queue anyway
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        version = _version(connection)
        if version is None:
            names = inspect(connection).get_table_names()
            if names:
                raise WrongSchema(
                    "an empty database is needed, or one made by Salon",
                    found="the tables " + ", ".join(sorted(names)[:8]),
                    where=database.name,
                    remedy="name another database; nothing was changed",
                )
        elif version > SCHEMA:
            _check_newer(connection, version, database.name)
            return
        if version != SCHEMA:
            from alembic import command

            command.upgrade(alembic_config(connection), "head")


def check_schema(database: DatabaseConnection, *, older: bool = False) -> None:
    """WrongSchema unless the tables are those of this Salon, or of an `older` one where that will do."""
    with database.reading() as connection:
        version = _version(connection)
        if version is not None and version > SCHEMA:
            _check_newer(connection, version, database.name)
    if version is None:
        raise WrongSchema(
            "a database made by Salon is needed",
            found="one without Salon's tables",
            where=database.name,
            remedy="salon serve makes one; docs/database.md says how",
        )
    if version < SCHEMA and not older:
        raise WrongSchema(
            f"tables of version {SCHEMA} are needed",
            found=f"version {version}",
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


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def is_newer(connection: Connection) -> bool:
    """Were the tables made by a newer Salon?"""
    version = _version(connection)
    return version is not None and version > SCHEMA


def _check_newer(connection: Connection, version: str, where: str) -> None:
    """WrongSchema when tables of the newer `version` are no longer for this code."""
    there = inspect(connection).has_table(shared_state.name)
    oldest = text(f"SELECT value FROM {shared_state.name} WHERE name = 'oldest code'")
    floor = connection.execute(oldest).scalar() if there else None
    if floor is None or floor > SCHEMA:
        raise WrongSchema(
            f"tables that code of version {SCHEMA} may use are needed",
            found=f"version {version}, for code from version {floor or version} on",
            where=where,
            remedy="a newer Salon made it: update Salon",
        )
