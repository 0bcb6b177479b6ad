"""A folder of pictures as a study: what `salon import pictures` and `salon serve PICTURES` share."""

from __future__ import annotations

from pathlib import Path

from salon.cli.console import counting, print_table, printable, say
from salon.errors import UnknownReference
from salon.generate.import_pictures import ImportedPictures, import_pictures
from salon.generate.picture_layout import read_layout
from salon.generate.results import Progress
from salon.study import Criterion, builtin_criterion

_MOST_BROKEN = 10


def pictures_as_study(
    root: Path,
    output: Path,
    *,
    prompts: Path | None = None,
    pattern: str | None = None,
    criterion: str | None = "preference",
    name: str | None = None,
    overwrite: bool = False,
    quiet: bool = False,
) -> ImportedPictures:
    """Read the layout of `root` and copy its pictures into the study `output`, with a bar."""
    layout = read_layout(root, pattern=pattern, prompts=prompts)
    with counting("reading pictures", quiet=quiet) as tell:

        def watch(progress: Progress) -> None:
            tell(progress.done, progress.wanted, "")

        chosen = None if criterion is None else _criterion(criterion)
        return import_pictures(layout, output, name=name, criterion=chosen, overwrite=overwrite, progress=watch)


def _criterion(id: str) -> Criterion:
    try:
        return builtin_criterion(id)
    except UnknownReference:
        return Criterion(id=id)


def print_pictures(imported: ImportedPictures) -> None:
    """What was found and understood."""
    generators = len(imported.generators)
    say(
        f"{imported.pictures:,} pictures of {imported.prompts:,} prompts by {generators:,} generators "
        f"are in {imported.study}",
        bold=True,
    )
    say(f"read as: {imported.layout}")
    rows = [(printable(name), f"{count:,}") for name, count in imported.generators.items()]
    print_table(None, ("generator", "pictures"), rows)
    if imported.missing:
        say(f"- {imported.missing:,} combinations of prompt and generator have no picture")
    for note in imported.notes:
        say(f"- {printable(note)}")
    for item, reason in list(imported.broken.items())[:_MOST_BROKEN]:
        say(f"- could not be read: {item}: {printable(reason)}", fg="yellow")
    if generators < 2:
        say("- one generator alone: pictures are compared within a prompt only if it has several", fg="yellow")
