"""A study wherever it is kept: a folder, the database it is collected in, or a folder with such a database."""

from __future__ import annotations

import importlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from salon.store.atomic import present
from salon.store.folder import Place, open_study
from salon.study import Study

DATABASE = "studio.db"
"""The database of a study that is collected in its own folder."""


def is_address(place: Place) -> bool:
    """True for the URL of a database, False for a folder."""
    return "://" in os.fspath(place)


def open_place(place: Place) -> Study:
    """The study at `place` as it stands at this moment: in a folder, or in the database at that URL.

    A folder with a studio.db is being collected: its database is the truth, and is read. Databases are only read, also
    while a studio writes to them. MissingExtra when the part that speaks to databases is not installed.
    """
    if is_address(place):
        return _read(os.fspath(place))
    folder = Path(place).resolve()
    file = studio_file(folder)
    return open_study(folder) if file is None else _read(file)


def studio_file(folder: Path) -> Path | None:
    """The studio's database in a study folder; None where the study is not collected there, or not yet.

    A restore that failed, or a studio that was killed as it began, leaves a database without a study.
    """
    path = present(folder.resolve()) / DATABASE
    return path if path.is_file() and not _is_empty(path) else None


def _is_empty(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path)) as database:
            (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return not tables or database.execute("SELECT 1 FROM study").fetchone() is None
    except sqlite3.Error:  # whoever reads it says what is wrong
        return False


def _read(url: str | Path) -> Study:
    databases = importlib.import_module("salon.store.database")  # SQLAlchemy only for those who need it
    with databases.open_database(url) as database:
        study: Study = database.read_study()
    return study
