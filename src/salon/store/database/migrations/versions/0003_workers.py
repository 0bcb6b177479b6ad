"""What several workers of one study share: tallies, turns, limits, and which code may use these tables.

It only adds: columns with a default, and tables. `shared_state` says from which migration on code may use the tables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column and the tables."""
    op.add_column("raters", sa.Column("turn", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "question_tallies",
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("group_name", sa.Text, nullable=True),
        sa.Column("answers", sa.Integer, nullable=False),
        sa.Column("skipped", sa.Integer, nullable=False),
        sa.Column("votes", sa.Text, nullable=False),
        sa.Column("pending", sa.Text, nullable=False),
        sa.Column("changed", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_question_tallies"),
    )
    op.create_index("ix_question_tallies_changed", "question_tallies", ["changed"])
    op.create_index("ix_question_tallies_group_name", "question_tallies", ["group_name"])
    op.create_table(
        "group_raters",
        sa.Column("group_name", sa.Text, nullable=False),
        sa.Column("rater", sa.Text, nullable=False),
        sa.Column("answers", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("group_name", "rater", name="pk_group_raters"),
        sa.ForeignKeyConstraint(["rater"], ["raters.id"], name="fk_group_raters_rater", ondelete="CASCADE"),
    )
    state = op.create_table(
        "shared_state",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_shared_state"),
    )
    op.bulk_insert(state, [{"name": "oldest code", "value": revision, "at": 0}])
    unlogged = ["UNLOGGED"] if op.get_bind().dialect.name == "postgresql" else []  # limits need not survive a crash
    op.create_table(
        "rate_limits",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("tokens", sa.Float, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_rate_limits"),
        prefixes=unlogged,
    )
