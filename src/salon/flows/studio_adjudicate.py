"""An adjudicator's half of a studio: disputed questions, rulings, and what is left of the study after them."""

from __future__ import annotations

from salon.store.database import Database
from salon.study import Study


def settled_study(database: Database, study: Study, *, adjudicators: bool = True) -> Study:
    """The study after the rulings."""
    return study
