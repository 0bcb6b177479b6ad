"""The first tables. A step is history: later changes of `tables.py` are steps of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_APPEND_ONLY = (("judgments", "UPDATE"), ("audit", "UPDATE"), ("audit", "DELETE"))


def _number(name: str = "number") -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=True, autoincrement=True)


def _time(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=nullable)


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _rater(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["rater"], ["raters.id"], name=f"fk_{table}_rater")


def _counted(name: str, *parts: sa.Column[int] | sa.Column[str] | sa.Column[bool] | sa.Constraint) -> None:
    """A table whose numbers are never given twice."""
    op.create_table(name, *parts, sqlite_autoincrement=True)


def upgrade() -> None:
    """Make every table, its indexes and its triggers."""
    _study()
    _people()
    _answers()
    _counted("settings", _number("version"), _text("text"), _time("at"))
    _counted("audit", _number(), _time("at"), _text("who"), _text("what"), _text("detail"))
    for table, change in _APPEND_ONLY:
        _refuse(table, change)


def _study() -> None:
    op.create_table(
        "study",
        sa.Column("one", sa.Integer, sa.CheckConstraint("one = 1", name="ck_study_one"), autoincrement=False),
        _text("record"),
        _time("created_at"),
        sa.PrimaryKeyConstraint("one", name="pk_study"),
    )
    op.create_table(
        "revisions",
        sa.Column("number", sa.Integer, autoincrement=False),
        _text("reason"),
        _text("at", nullable=True),
        sa.Column("changes", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_revisions"),
    )
    for name in ("prompts", "items"):
        _counted(name, _number(), _text("id"), _text("record"), sa.UniqueConstraint("id", name=f"uq_{name}_id"))


def _people() -> None:
    _counted(
        "raters",
        _number(),
        _text("id"),
        _text("kind"),
        _text("cohort", nullable=True),
        _text("status"),
        _time("created_at"),
        sa.UniqueConstraint("id", name="uq_raters_id"),
        sa.CheckConstraint(
            "status IN ('invited', 'active', 'paused', 'removed', 'withdrawn', 'done')", name="ck_raters_status"
        ),
    )
    op.create_table(
        "profiles",
        _text("rater"),
        _text("record"),
        _time("at"),
        sa.PrimaryKeyConstraint("rater", name="pk_profiles"),
        _rater("profiles"),
    )
    _counted(
        "links",
        _number(),
        _text("hash"),
        _text("role"),
        _text("rater", nullable=True),
        _time("created_at"),
        _time("expires_at", nullable=True),
        _time("revoked_at", nullable=True),
        sa.UniqueConstraint("hash", name="uq_links_hash"),
        sa.CheckConstraint("role IN ('rater', 'owner', 'adjudicator')", name="ck_links_role"),
        _rater("links"),
    )
    op.create_index("ix_links_rater", "links", ["rater"])
    _counted(
        "consents",
        _number(),
        _text("rater"),
        _text("version"),
        _time("at"),
        sa.UniqueConstraint("rater", "version", name="uq_consents_rater_version"),
        _rater("consents"),
    )
    _counted("visits", _number(), _text("rater"), _time("started_at"), _time("last_seen_at"), _rater("visits"))
    op.create_index("ix_visits_rater", "visits", ["rater"])


def _answers() -> None:
    _counted(
        "tasks",
        _number("id"),
        _text("rater"),
        sa.Column("position", sa.Integer, nullable=False),
        _text("phase"),
        _text("about"),
        _text("question"),
        _text("screen"),
        _time("created_at"),
        *(_time(name, nullable=True) for name in ("ready_at", "answered_at")),
        sa.UniqueConstraint("rater", "position", name="uq_tasks_rater_position"),
        sa.UniqueConstraint("rater", "about", name="uq_tasks_rater_about"),
        _rater("tasks"),
    )
    _counted(
        "judgments",
        _number("id"),
        sa.Column("task", sa.Integer, nullable=True),
        _text("rater"),
        _text("kind"),
        _text("criterion", nullable=True),
        _text("prompt", nullable=True),
        _text("payload"),
        sa.Column("counted", sa.Boolean, nullable=False),
        *(_time(name, nullable=True) for name in ("started_at", "answered_at")),
        _text("key", nullable=True),
        sa.Column("part", sa.Integer, nullable=False),
        *(_text(name, nullable=True) for name in ("interface", "client")),
        sa.UniqueConstraint("rater", "key", "part", name="uq_judgments_rater_key_part"),
        sa.ForeignKeyConstraint(["task"], ["tasks.id"], name="fk_judgments_task"),
        _rater("judgments"),
    )
    op.create_index("ix_judgments_task", "judgments", ["task"])
    op.create_table(
        "undos",
        sa.Column("judgment", sa.Integer, autoincrement=False),
        _time("at"),
        sa.PrimaryKeyConstraint("judgment", name="pk_undos"),
        sa.ForeignKeyConstraint(["judgment"], ["judgments.id"], name="fk_undos_judgment"),
    )


def _refuse(table: str, change: str) -> None:
    """A trigger that refuses to change what was written."""
    name = f"{table}_refuse_{change.lower()}"
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            f"CREATE TRIGGER {name} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, '{table} only grows'); END"
        )
        return
    op.execute(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{table} only grows'; END $$"
    )
    op.execute(f"CREATE TRIGGER {name} BEFORE {change} ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()")
