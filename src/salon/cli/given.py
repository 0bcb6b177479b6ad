"""The study a command was given: a folder, or one file of judgments whose kind can be recognised."""

from __future__ import annotations

from pathlib import Path

from salon.cli.console import say
from salon.store.folder import open_study
from salon.store.formats import import_files, recognize
from salon.study import Study


def given_study(path: Path, kind: str | None = None) -> Study:
    """The study in folder `path`, or in file `path` read as `kind` (recognised when left out)."""
    if not path.is_file():
        return open_study(path)
    imported = import_files(kind or recognize(path), [path])
    for note in (f"read {path.name} as {imported.kind}", *imported.notes):
        say(f"note: {note}", dim=True, err=True)
    return imported.study
