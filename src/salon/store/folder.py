"""A study as a folder: study.toml, one file per table, and the images.

The folder is replaced whole: a process killed at any moment leaves the old study or the new one.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from salon.errors import BadFile, InputError
from salon.store import data_card
from salon.store.atomic import PART, in_turn, present, whole_file, whole_folder
from salon.store.metadata import FILE, Metadata, read_metadata, write_metadata
from salon.store.table_files import FORMS, read_table, write_table
from salon.study import Study
from salon.study.tables import KINDS

TABLE_FOLDERS = ("", "data")
"""Where tables may stand in a study folder; `data` is what the Hugging Face hub expects."""
IMAGES = "images"
_ATTEMPTS = 3

Place = str | os.PathLike[str]


# -- reading -----------------------------------------------------------------------------------------------


def is_study(path: Place) -> bool:
    """True when `path` is a folder with a study.toml."""
    return (present(Path(path)) / FILE).is_file()


def open_study(path: Place) -> Study:
    """The validated study in the folder `path`.

    A study replaced by another process in the middle of reading is read again, so tables never mix.
    """
    place = local(path)
    for attempt in range(_ATTEMPTS):
        folder = present(place)
        _check_is_study(folder, place)
        before = folder.stat().st_ino
        try:
            study = _read(folder)
        except InputError:
            if attempt == _ATTEMPTS - 1 or _is_still(folder, before):
                raise
        else:
            if _is_still(folder, before):
                return study
    raise BadFile("a study that holds still is needed", found="one that is replaced all the time", where=str(path))


def local(path: Place) -> Path:
    """`path` as a place in the file system; BadFile for the address of a database."""
    if "://" in os.fspath(path):
        raise BadFile(
            "STUDY must be a folder",
            found=f"an address, {os.fspath(path).split('://')[0]}://...",
            remedy="name a folder with a study.toml in it",
        )
    return Path(path)


def name_after(folder: Path) -> str:
    """What a study in `folder` is called when nobody says; bytes of the name that are no UTF-8 become a mark."""
    return os.fsencode(folder.resolve().name).decode(errors="replace")


def table_files(folder: Path) -> dict[str, Path]:
    """The file of every table in a study folder; BadFile when a kind has two."""
    found: dict[str, Path] = {}
    for kind in KINDS:
        names = [folder / inner / f"{kind}.{form}" for inner in TABLE_FOLDERS for form in FORMS]
        files = [name for name in names if name.is_file()]
        if len(files) > 1:
            raise BadFile(
                f"one file for {kind} is needed",
                found=" and ".join(str(file.relative_to(folder)) for file in files),
                where=str(folder),
                remedy="remove all but one",
            )
        if files:
            found[kind] = files[0]
    return found


def _read(folder: Path) -> Study:
    metadata = read_metadata(folder)
    files = table_files(folder)
    tables = {kind: read_table(kind, file, excel_safe=metadata.excel_safe) for kind, file in files.items()}
    pa.default_memory_pool().release_unused()  # what decoding needed, before checking needs its own
    try:
        study = metadata.study(tables, where=str(folder))
    except InputError as error:
        where = f"{folder}, {error.where}" if error.where else str(folder)
        raise type(error)(error.needed, found=error.found, where=where, remedy=error.remedy) from None
    pa.default_memory_pool().release_unused()
    return study


def _check_is_study(folder: Path, asked: Path) -> None:
    if (folder / FILE).is_file():
        return
    if not folder.exists():
        found = "nothing there"
    elif not folder.is_dir():
        found = "a file"
    else:
        names = sorted(name.name for name in folder.iterdir())
        found = "a folder with " + (", ".join(names[:8]) + (" ..." if len(names) > 8 else "") or "nothing in it")
    raise BadFile(
        "a study is needed: a folder with a study.toml in it",
        found=found,
        where=str(asked),
        remedy="salon import makes a study from a file of judgments; docs/data.md shows what one looks like",
    )


def _is_still(folder: Path, number: int) -> bool:
    return folder.exists() and folder.stat().st_ino == number


# -- writing -----------------------------------------------------------------------------------------------


def save_study(
    study: Study,
    path: Place,
    *,
    form: str = "parquet",
    overwrite: bool = False,
    images: Place | Sequence[Place] | None = None,
) -> None:
    """Write `study` as the folder `path`, whole or not at all.

    An existing study is only replaced with `overwrite`; whatever else its folder holds, images above all, stays. A
    folder that is no study is never replaced. `images` names the study folders whose images are copied along; where two
    have one under the same name, it must be the same image.
    """
    write_folder(study, path, form=form, overwrite=overwrite, images=images)


def write_folder(
    study: Study,
    path: Place,
    *,
    form: str,
    overwrite: bool,
    images: Place | Sequence[Place] | None,
    inner: str = "",
    texts: dict[str, str] | None = None,
    excel_safe: bool = False,
) -> None:
    """As `save_study`, with the tables in the folder `inner`, extra text files, and CSV for spreadsheets if wanted."""
    if form not in FORMS:
        raise InputError(f"a form of table is needed: {', '.join(FORMS)}", found=repr(form))
    place = local(path).resolve()
    metadata = Metadata.of(study).model_copy(update={"excel_safe": excel_safe})
    try:
        with in_turn(place / FILE), whole_folder(place) as new:
            _check_may_replace(place, overwrite)
            write_metadata(new, metadata)
            (new / inner).mkdir(exist_ok=True)
            for kind in study.counts:
                write_table(kind, study.table(kind), new / inner / f"{kind}.{form}", excel_safe=excel_safe)
            for name, text in (texts or {}).items():
                with whole_file(new / name) as file:
                    file.write(text.encode())
            for source in _folders(images):
                _check_same(source, new / IMAGES)
                _add_tree(source, new / IMAGES, link=False)
            if place.exists():
                _keep_the_rest(place, new)
    except OSError as error:
        raise BadFile(
            "a folder that can be written is needed",
            found=error.strerror or error,
            where=str(error.filename or place),
            remedy="choose another place; what was there before is as it was",
        ) from None


@contextmanager
def written_inside(path: Place) -> Iterator[None]:
    """While the block writes `path` the study around it, if any, is not replaced, and nobody else writes in this way.

    The folders above `path` are made.

    Saving a study puts a new folder in the place of the old one: what came into that one after it was copied would be
    gone with it. Whoever saves waits for the block, and it for them, so nothing is asked or computed in here.
    """
    whole = Path(path).resolve()
    study = next((folder for folder in whole.parents if is_study(folder)), None)
    if study is None:
        whole.parent.mkdir(parents=True, exist_ok=True)
    with in_turn(whole.parent if study is None else study / FILE):
        whole.parent.mkdir(parents=True, exist_ok=True)
        yield


def _check_may_replace(place: Path, overwrite: bool) -> None:
    if not place.exists() or (place.is_dir() and not any(place.iterdir())):
        return
    if not is_study(place):
        raise BadFile(
            "a new folder, an empty one or a study is needed to write to",
            found="a folder with other files" if place.is_dir() else "a file",
            where=str(place),
            remedy="choose another place; nothing was changed",
        )
    if not overwrite:
        raise BadFile(
            "a study is only replaced when asked to",
            found="a study that is there already",
            where=str(place),
            remedy="choose another place, or overwrite it (overwrite=True)",
        )


def _folders(images: Place | Sequence[Place] | None) -> list[Path]:
    """The folders that hold the images of studies."""
    named = [] if images is None else [images] if isinstance(images, str | os.PathLike) else images
    return [local(place) / IMAGES for place in named]


def _check_same(source: Path, target: Path) -> None:
    """BadFile where an image of `source` has the name of another one in `target`."""
    for folder, _, names in os.walk(source) if target.is_dir() else ():
        for name in names:
            image = Path(folder, name)
            there = target / image.relative_to(source)
            if there.is_file() and not filecmp.cmp(image, there, shallow=False):
                raise BadFile(
                    "images under one name must be the same image",
                    found="two that differ",
                    where=str(image),
                    remedy="name the images of one study otherwise; nothing was written",
                )


def _keep_the_rest(old: Path, new: Path) -> None:
    """Give the new folder everything in the old one that is not part of the study as written."""
    ours = {Path(inner) / f"{kind}.{form}" for inner in TABLE_FOLDERS for kind in KINDS for form in FORMS}
    ours |= {Path(FILE)} | ({Path(data_card.FILE)} if data_card.is_ours(old / data_card.FILE) else set())
    _add_tree(old, new, link=True, leave_out={old / name for name in ours})


def _add_tree(source: Path, target: Path, *, link: bool, leave_out: frozenset[Path] | set[Path] = frozenset()) -> None:
    """Copy files into `target` unless they are there. A link keeps a hundred thousand images without copying them."""
    for folder, inner, names in os.walk(source):
        inside = target / Path(folder).relative_to(source)
        files = [*names, *(name for name in inner if Path(folder, name).is_symlink())]  # a link to a folder is kept too
        kept = [name for name in files if Path(folder, name) not in leave_out and not name.endswith(PART)]
        if kept or not files + inner:
            inside.mkdir(parents=True, exist_ok=True)
        for name in kept:
            if not (inside / name).exists():
                _add_file(Path(folder, name), inside / name, link=link)


def _add_file(source: Path, target: Path, *, link: bool) -> None:
    if link:
        try:
            os.link(source, target, follow_symlinks=False)
            return
        except OSError:  # a file system without hard links
            pass
    shutil.copy2(source, target, follow_symlinks=False)
    if not target.is_symlink():
        with open(target, "rb") as file:
            os.fsync(file.fileno())
