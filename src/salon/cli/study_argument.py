"""The STUDY argument of commands: a folder, the address of a database, or one file of judgments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from salon.cli.console import say

if TYPE_CHECKING:
    from salon.study import Study


class StudyPathType(click.ParamType[Path | str]):
    """A path; or the address of a database, which must not be taken for one."""

    name = "study"

    def convert(self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        """The address as it is, anything else as a path."""
        from salon.store import is_address

        return value if isinstance(value, Path) or is_address(value) else Path(value)


STUDY = StudyPathType()
MOST_NOTES = 3
"""Lines about how a file was read: more push the result out of sight."""


def read_study_argument(place: Path | str, kind: str | None = None) -> Study:
    """The study in a folder or database, or in a file read as `kind` (recognised when left out).

    Of a file, rows without an answer are left out and counted.
    """
    from salon.store import ImportOptions, Policies, import_files, open_place, recognize, studio_file

    if isinstance(place, str) or not place.is_file():
        if isinstance(place, Path) and studio_file(place):
            say("note: read from the studio's database, as it stands now", dim=True, err=True)
        return open_place(place)
    imported = import_files(kind or recognize(place), [place], ImportOptions(policies=Policies(missing="drop")))
    for note in _brief_notes(f"read {place.name} as {imported.kind}", imported.notes):
        say(f"note: {note}", dim=True, err=True)
    return imported.study


def _brief_notes(first: str, notes: Sequence[str]) -> list[str]:
    """At most MOST_NOTES lines: how the file was read, then what was left out, and how many decisions are not shown."""
    from salon.store import COLUMNS_GUESSED
    from salon.store.formats.source import LEFT_OUT

    columns = [note for note in notes if note.startswith(COLUMNS_GUESSED)]
    other_notes = [note for note in notes if note not in columns]
    lines = ["; ".join([first, *columns]), *sorted(other_notes, key=lambda note: not note.startswith(LEFT_OUT))]
    if len(lines) <= MOST_NOTES:
        return lines
    return [*lines[: MOST_NOTES - 1], f"and {len(lines) - MOST_NOTES + 1} more: salon import shows them"]
