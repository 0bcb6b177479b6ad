"""Raters who come through a panel of others. One new table: what was there stays as it was."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table of visitors."""
    op.create_table(
        "visitors",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("participant", sa.Text, nullable=False),
        sa.Column("rater", sa.Text, nullable=False),
        sa.Column("link", sa.Integer, nullable=False),
        sa.Column("personal", sa.Text, nullable=False),
        sa.Column("study", sa.Text, nullable=True),
        sa.Column("session", sa.Text, nullable=True),
        sa.Column("submit_to", sa.Text, nullable=True),
        sa.Column("joined_at", sa.BigInteger, nullable=False),
        sa.Column("placed_at", sa.BigInteger, nullable=True),
        sa.Column("outcome", sa.Text, nullable=True),
        sa.Column("ended_at", sa.BigInteger, nullable=True),
        sa.UniqueConstraint("participant", name="uq_visitors_participant"),
        sa.UniqueConstraint("rater", name="uq_visitors_rater"),
        sa.ForeignKeyConstraint(["rater"], ["raters.id"], name="fk_visitors_rater", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
