"""Tables of a public arena. Nothing that was there changes."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _column(name: str, kind: type[Any], *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=nullable)


def _counted(name: str, *parts: sa.Column[Any] | sa.Constraint) -> None:
    """A table whose numbers are never given twice."""
    number = sa.Column("number", sa.Integer, primary_key=True, autoincrement=True)
    op.create_table(
        name, number, *parts, sa.PrimaryKeyConstraint("number", name=f"pk_{name}"), sqlite_autoincrement=True
    )


def _refers(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.number"], name=f"fk_{table}_{column}")


def upgrade() -> None:
    """Make the tables and their indexes."""
    text, number, time = sa.Text, sa.Integer, sa.BigInteger
    _counted("arena_items", _column("id", text), sa.UniqueConstraint("id", name="uq_arena_items_id"))
    _counted(
        "arena_voters",
        _column("key", text),
        _column("address", text, nullable=True),
        _column("device", text, nullable=True),
        _column("created_at", time),
        _column("withdrawn_at", time, nullable=True),
        sa.UniqueConstraint("key", name="uq_arena_voters_key"),
    )
    _counted(
        "arena_ballots",
        _column("voter", number),
        _column("criterion", text),
        _column("shown", text),
        _column("chance", sa.Float),
        _column("even", sa.Float),
        _column("dealt_at", time),
        _column("voted_at", time, nullable=True),
        _refers("arena_ballots", "voter", "arena_voters"),
    )
    _counted(
        "arena_votes",
        _column("ballot", number),
        _column("voter", number),
        _column("criterion", text),
        _column("first", number),
        _column("second", number),
        _column("third", number, nullable=True),
        _column("fourth", number, nullable=True),
        _column("answer", number),
        _column("chance", sa.Float),
        _column("even", sa.Float),
        _column("seconds", sa.Float),
        _column("repeated", sa.Boolean),
        _column("mark", text),
        _column("at", time),
        _refers("arena_votes", "ballot", "arena_ballots"),
        _refers("arena_votes", "voter", "arena_voters"),
        sa.UniqueConstraint("ballot", name="uq_arena_votes_ballot"),
    )
    op.create_table(
        "arena_counts",
        _column("key", text),
        sa.Column("slot", time, nullable=False, autoincrement=False),
        _column("count", number),
        sa.PrimaryKeyConstraint("key", "slot", name="pk_arena_counts"),
    )
    op.create_table(
        "arena_puzzles",
        _column("key", text),
        _column("at", time),
        sa.PrimaryKeyConstraint("key", name="pk_arena_puzzles"),
    )
    _counted(
        "arena_boards",
        _column("criterion", text),
        _column("at", time),
        _column("record", text),
        _column("design", text),
    )
    for table, column in (
        ("arena_ballots", "voter"), ("arena_votes", "voter"), ("arena_votes", "mark"), ("arena_boards", "criterion"),
    ):  # fmt: skip
        op.create_index(f"ix_{table}_{column}", table, [column])
    op.create_index("ix_arena_voters_address", "arena_voters", ["address"])
