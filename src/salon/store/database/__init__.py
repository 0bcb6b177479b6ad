"""A study while it is collected, in SQLite or PostgreSQL.

    with open_database("sqlite:///studio.db", create=True) as database:
        database.put_study(open_study("jazz-posters"))

SQLAlchemy is imported in here and nowhere else.
"""

from importlib.util import find_spec

from salon.errors import MissingExtra

if any(find_spec(name) is None for name in ("alembic", "psycopg", "sqlalchemy")):
    raise MissingExtra("serve")

from salon.store.database.database import Database, open_database, restore
from salon.store.database.records import (
    AccessLink,
    AuditLine,
    JudgmentCount,
    LinkHolder,
    NewTask,
    OtherAnswer,
    QuestionCount,
    RaterTask,
    RaterVisit,
    SavedSubmission,
    StoredAnswer,
    StoredRater,
)

__all__ = [
    "AccessLink",
    "AuditLine",
    "Database",
    "JudgmentCount",
    "LinkHolder",
    "NewTask",
    "OtherAnswer",
    "QuestionCount",
    "RaterTask",
    "RaterVisit",
    "SavedSubmission",
    "StoredAnswer",
    "StoredRater",
    "open_database",
    "restore",
]
