"""Take a rater who asks for it out of a study folder, and out of the studio in it.

The folder's tables are replaced whole; then the studio's database loses the rater in one transaction. A process killed
between the two leaves a rater that one of them still knows: erasing again finishes it.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from salon.collect.studio.trim import without_raters
from salon.errors import UnknownReference
from salon.store.atomic import held
from salon.store.export import export_study
from salon.store.folder import open_study, table_files
from salon.store.place import studio_file
from salon.study import Study
from salon.study.tables import JUDGMENTS

ERASED = "a rater was erased"
"""Why there is a new revision; who it was is not said."""
MOST_NAMES = 3


@dataclass(frozen=True)
class Holding:
    """What a study folder holds of one rater."""

    rater: str
    judgments: dict[str, int] | None
    """Rows of each table of the folder; None where its tables do not know the rater."""
    answers: int | None
    """Questions answered in the studio's database; None where it does not know the rater, or there is no studio."""


def holding_of(folder: Path, rater: str) -> Holding:
    """What would be erased; UnknownReference with near names where nobody is called so."""
    study = open_study(folder)
    ids, answers = set(study.ids("raters").to_pylist()), None
    found = _counts(study, rater) if rater in ids else None
    with _studio(folder) as database:
        if database is not None:
            ids |= {state.id for state in database.raters()}
            answers = database.answered().get(rater, 0) if rater in {s.id for s in database.raters()} else None
    if rater not in ids:
        raise _unknown(rater, ids, folder)
    return Holding(rater, found, answers)


def erase_rater(folder: Path, holding: Holding) -> None:
    """Delete the rater and everything they gave, for good. A folder whose studio is open is refused."""
    if holding.judgments is not None:
        study = open_study(folder)
        left = without_raters(study, [holding.rater]).revised(ERASED)
        export_study(left, folder, _form(folder), overwrite=True)
    if holding.answers is not None:
        with held(folder), _studio(folder) as database:
            if database is not None:
                database.erase(holding.rater)


def _counts(study: Study, rater: str) -> dict[str, int]:
    """How many judgments of each kind the rater gave."""
    given = {kind: study.table(kind).column("rater").cast(pa.string()) for kind in JUDGMENTS if kind in study.counts}
    found = {kind: int(pc.sum(pc.equal(column, rater)).as_py() or 0) for kind, column in given.items()}
    return {kind: number for kind, number in found.items() if number}


@contextmanager
def _studio(folder: Path) -> Iterator[Any]:
    """The database of the studio in `folder`; None where there is none."""
    file = studio_file(folder)
    if file is None:
        yield None
        return
    databases = importlib.import_module("salon.store.database")  # SQLAlchemy only for those who need it
    with databases.open_database(file) as database:
        yield database


def _form(folder: Path) -> str:
    """How the tables are kept, so that they stay so."""
    file = next(iter(table_files(folder).values()))
    return "huggingface" if file.parent.name == "data" else file.suffix.removeprefix(".")


def _unknown(rater: str, ids: Iterable[str], folder: Path) -> UnknownReference:
    known = sorted(ids)
    near = difflib.get_close_matches(rater, known, MOST_NAMES, 0.5) or known[:MOST_NAMES]
    return UnknownReference(
        "a rater of the study is needed",
        found=repr(rater),
        where=str(folder),
        remedy=f"one of {len(known):,}, such as {', '.join(map(repr, near))}" if known else "the study has no raters",
    )
