"""A study wherever it is kept: a folder, or the database it is collected in."""

from __future__ import annotations

import importlib
import os

from salon.store.folder import Place, open_study
from salon.study import Study


def is_address(place: Place) -> bool:
    """True for the URL of a database, False for a folder."""
    return "://" in os.fspath(place)


def open_place(place: Place) -> Study:
    """The study in the folder `place`, or in the database at that URL as it stands at this moment.

    A database is only read, also while a studio writes to it. MissingExtra when the part that speaks to databases is
    not installed.
    """
    if not is_address(place):
        return open_study(place)
    databases = importlib.import_module("salon.store.database")  # SQLAlchemy only for those who need it
    with databases.open_database(os.fspath(place)) as database:
        study: Study = database.read_study()
    return study
