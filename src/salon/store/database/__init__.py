"""A study while it is collected, in SQLite or PostgreSQL.

    with open_database("sqlite:///studio.db", create=True) as database:
        database.put_study(open_study("jazz-posters"))

SQLAlchemy is imported in here and nowhere else.
"""

from importlib.util import find_spec

from salon.errors import MissingExtra

if any(find_spec(name) is None for name in ("alembic", "psycopg", "sqlalchemy")):
    raise MissingExtra("serve")

from salon.store.database.backup import restore
from salon.store.database.open import Database, open_database
from salon.store.database.records import (
    Answer,
    Asked,
    AuditLine,
    Given,
    Link,
    NewTask,
    Progress,
    RaterState,
    Saved,
    Task,
    Visit,
    Who,
)

__all__ = [
    "Answer",
    "Asked",
    "AuditLine",
    "Database",
    "Given",
    "Link",
    "NewTask",
    "Progress",
    "RaterState",
    "Saved",
    "Task",
    "Visit",
    "Who",
    "open_database",
    "restore",
]
