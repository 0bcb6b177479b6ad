"""A study as a folder: study.toml, one file per table, and the images; and wherever else it may be kept.

The folder is replaced whole: a process killed at any moment leaves the old study or the new one. An export is a folder
for others, from which `open_study` reads back the identical study. `open_place` also reads the database of a studio.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import sqlite3
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import tomli_w
from pydantic import Field, model_validator

from salon.errors import BadFile, InputError
from salon.store import data_card
from salon.store.atomic_files import PART, present_folder, wait_turn, whole_file, whole_folder
from salon.store.tabular_files import FORMS, read_table, write_table
from salon.study import FIRST, KINDS, Cohort, CompareWithin, Criterion, Design, Noun, Revision, Study

FORMAT = 1
"""The version of the folder format this Salon writes, and the newest it reads."""
METADATA_FILE = "study.toml"


class Metadata(Noun):
    """The contents of study.toml, in the order they are written."""

    format: int = FORMAT
    name: str = Field(min_length=1)
    compare_within: CompareWithin = "prompt"
    simulated: bool = False
    note: str | None = None
    excel_safe: bool = False
    """Text cells of its CSV tables have an apostrophe where a spreadsheet would see a formula."""
    design: Design = Design()
    criteria: tuple[Criterion, ...] = ()
    cohorts: tuple[Cohort, ...] = ()
    revisions: tuple[Revision, ...] = Field(default=(FIRST,), min_length=1)

    @model_validator(mode="after")
    def _revisions_go_up(self) -> Metadata:
        numbers = [revision.number for revision in self.revisions]
        if any(later <= earlier for earlier, later in pairwise(numbers)):
            raise ValueError(f"revisions are numbered upwards, found {numbers}")
        return self

    @classmethod
    def of(cls, study: Study) -> Self:
        """What study.toml says about `study`."""
        names = [name for name in cls.model_fields if name not in ("format", "excel_safe")]
        return cls.parse({name: getattr(study, name) for name in names}, where=f"study {study.name!r}")

    def study(self, tables: dict[str, pa.Table], *, where: str) -> Study:
        """The validated study with these tables."""
        rest = {name: getattr(self, name) for name in type(self).model_fields if name not in _OWN_FIELDS}
        return Study.build(self.name, self.criteria, tables=tables, where=where, conformed=True, **rest)


_OWN_FIELDS = {"format", "name", "criteria", "excel_safe"}


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Write study.toml, whole or not at all."""
    with whole_file(folder / METADATA_FILE) as file:
        record = metadata.record()
        if not metadata.excel_safe:
            record.pop("excel_safe", None)
        lists = {name: record.pop(name) for name in ("criteria", "cohorts", "revisions")}
        tables = [
            ("[design]", record.pop("design")),
            *((f"[[{name}]]", entry) for name in lists for entry in lists[name]),
        ]
        as_toml = "\n".join([tomli_w.dumps(record), *(_toml_table(head, fields) for head, fields in tables)])
        file.write(as_toml.encode())


def _toml_table(head: str, fields: dict[str, Any]) -> str:
    scalars = {name: value for name, value in fields.items() if value != []}
    inner = {name: scalars.pop(name) for name, value in fields.items() if isinstance(value, dict)}
    below = [_toml_table(f"[{head.strip('[]')}.{name}]", value) for name, value in inner.items()]
    return "\n".join([head, tomli_w.dumps(scalars), *below])


def read_metadata(folder: Path) -> Metadata:
    """study.toml as it stands in `folder`, or BadFile or BadValue with the place of the fault."""
    path = folder / METADATA_FILE
    record = _parse_toml(path)
    number = record.get("format")
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= FORMAT:
        newer = isinstance(number, int) and number > FORMAT
        raise BadFile(
            f"study.toml with format = {FORMAT} is needed",
            found="no format" if number is None else f"format = {number!r}",
            where=str(path),
            remedy="a newer Salon wrote it: update Salon" if newer else f"write format = {FORMAT} as its first line",
        )
    return Metadata.parse(record, where=str(path))


def _parse_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = f"{path}:{line[1]}" if line else str(path)
        raise BadFile("a study.toml in TOML is needed", found=error, where=place, remedy=_TOML_REMEDY) from None
    except UnicodeDecodeError as error:
        raise BadFile("a study.toml in UTF-8 is needed", found=error, where=str(path), remedy=_TOML_REMEDY) from None
    except (OSError, RecursionError) as error:
        raise BadFile("a study.toml that can be read is needed", found=error, where=str(path)) from None


_TOML_REMEDY = "correct the line; docs/data.md shows a whole study.toml"


# -- the folder --------------------------------------------------------------------------------------------------------

TABLE_FOLDERS = ("", "data")
"""Where tables may stand in a study folder; `data` is what the Hugging Face hub expects."""
IMAGES = "images"
_ATTEMPTS = 3

Place = str | os.PathLike[str]


# -- reading -----------------------------------------------------------------------------------------------


def is_study(path: Place) -> bool:
    """True when `path` is a folder with a study.toml."""
    return (present_folder(Path(path)) / METADATA_FILE).is_file()


def open_study(path: Place) -> Study:
    """The validated study in the folder `path`.

    A study replaced by another process in the middle of reading is read again, so tables never mix.
    """
    place = local_path(path)
    for attempt in range(_ATTEMPTS):
        folder = present_folder(place)
        _check_is_study(folder, place)
        before = folder.stat().st_ino
        try:
            study = _read_folder(folder)
        except InputError:
            if attempt == _ATTEMPTS - 1 or _is_still(folder, before):
                raise
        else:
            if _is_still(folder, before):
                return study
    raise BadFile("a study that holds still is needed", found="one that is replaced all the time", where=str(path))


def local_path(path: Place) -> Path:
    """`path` as a place in the file system; BadFile for the address of a database."""
    if "://" in os.fspath(path):
        raise BadFile(
            "STUDY must be a folder",
            found=f"an address, {os.fspath(path).split('://')[0]}://...",
            remedy="name a folder with a study.toml in it",
        )
    return Path(path)


def default_name(folder: Path) -> str:
    """The name of a study in `folder` when none is given; bytes that are no UTF-8 become a mark."""
    return os.fsencode(folder.resolve().name).decode(errors="replace")


def table_files(folder: Path) -> dict[str, Path]:
    """The file of every table in a study folder; BadFile when a kind has two."""
    paths: dict[str, Path] = {}
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
            paths[kind] = files[0]
    return paths


def _read_folder(folder: Path) -> Study:
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


def _check_is_study(folder: Path, place: Path) -> None:
    if (folder / METADATA_FILE).is_file():
        return
    if not folder.exists():
        contents = "nothing there"
    elif not folder.is_dir():
        contents = "a file"
    else:
        names = sorted(name.name for name in folder.iterdir())
        contents = "a folder with " + (", ".join(names[:8]) + (" ..." if len(names) > 8 else "") or "nothing in it")
    raise BadFile(
        "a study is needed: a folder with a study.toml in it",
        found=contents,
        where=str(place),
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
    place = local_path(path).resolve()
    metadata = Metadata.of(study).model_copy(update={"excel_safe": excel_safe})
    try:
        with wait_turn(place / METADATA_FILE), whole_folder(place) as new:
            _check_may_replace(place, overwrite)
            write_metadata(new, metadata)
            (new / inner).mkdir(exist_ok=True)
            for kind in study.counts:
                write_table(kind, study.table(kind), new / inner / f"{kind}.{form}", excel_safe=excel_safe)
            for name, text in (texts or {}).items():
                with whole_file(new / name) as file:
                    file.write(text.encode())
            sources = [] if images is None else [images] if isinstance(images, str | os.PathLike) else images
            folders = [local_path(place) / IMAGES for place in sources]
            for source in folders:
                _check_same(source, new / IMAGES)
                _add_tree(source, new / IMAGES, link=False)
            if place.exists():
                ours = {Path(inner) / f"{kind}.{form}" for inner in TABLE_FOLDERS for kind in KINDS for form in FORMS}
                ours |= {Path(METADATA_FILE)} | (
                    {Path(data_card.CARD_FILE)} if data_card.is_salon_card(place / data_card.CARD_FILE) else set()
                )
                _add_tree(place, new, link=True, leave_out={place / name for name in ours})
    except OSError as error:
        raise BadFile(
            "a folder that can be written is needed",
            found=error.strerror or error,
            where=str(error.filename or place),
            remedy="choose another place; what was there before is as it was",
        ) from None


@contextmanager
def written_inside(path: Place) -> Iterator[None]:
    """While the block writes `path`, the study around it is not replaced, and no other process writes in this way.

    The folders above `path` are made.

    Saving a study puts a new folder in the place of the old one: what came into that one after it was copied would be
    gone with it. Whoever saves waits for the block, and it for them, so nothing is asked or computed in here.
    """
    whole = Path(path).resolve()
    study = next((folder for folder in whole.parents if is_study(folder)), None)
    if study is None:
        whole.parent.mkdir(parents=True, exist_ok=True)
    with wait_turn(whole.parent if study is None else study / METADATA_FILE):
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


def _add_tree(source: Path, target: Path, *, link: bool, leave_out: frozenset[Path] | set[Path] = frozenset()) -> None:
    """Copy files into `target` unless they are there. A link keeps a hundred thousand images without copying them."""
    for folder, inner, names in os.walk(source):
        inside = target / Path(folder).relative_to(source)
        files = [*names, *(name for name in inner if Path(folder, name).is_symlink())]  # a link to a folder is kept too
        copied = [name for name in files if Path(folder, name) not in leave_out and not name.endswith(PART)]
        if copied or not files + inner:
            inside.mkdir(parents=True, exist_ok=True)
        for name in copied:
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


# -- exports -----------------------------------------------------------------------------------------------------------

EXPORTS = ("parquet", "csv", "jsonl", "huggingface")


def export_study(
    study: Study,
    path: Place,
    to: str = "parquet",
    *,
    overwrite: bool = False,
    images: Place | None = None,
    excel_safe: bool = False,
) -> None:
    """Write `study` as a folder of Parquet, CSV or JSONL tables, or as a dataset folder for the Hugging Face hub.

    `images` names the study folder whose images are copied along. `excel_safe` puts an apostrophe before the cells of
    CSV tables that a spreadsheet would run as formulas; the study read back is the same.
    """
    if excel_safe and to != "csv":
        raise InputError("excel_safe is for CSV tables", found=f"to={to!r}", remedy="to='csv', or leave it out")
    if to not in EXPORTS:
        raise InputError(f"an export is one of {', '.join(EXPORTS)}", found=repr(to))
    if to != "huggingface":
        write_folder(study, path, form=to, overwrite=overwrite, images=images, excel_safe=excel_safe)
        return
    card = {data_card.CARD_FILE: data_card.card(study)}
    write_folder(study, path, form="parquet", overwrite=overwrite, images=images, inner="data", texts=card)


# -- folders and databases ---------------------------------------------------------------------------------------------

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
        return _read_database(os.fspath(place))
    folder = Path(place).resolve()
    file = studio_file(folder)
    return open_study(folder) if file is None else _read_database(file)


def studio_file(folder: Path) -> Path | None:
    """The studio's database in a study folder; None where the study is not collected there, or not yet.

    A restore that failed, or a studio that was killed as it began, leaves a database without a study.
    """
    path = present_folder(folder.resolve()) / DATABASE
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(path)) as database:
            (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return path if tables and database.execute("SELECT 1 FROM study").fetchone() is not None else None
    except sqlite3.Error:  # reading it reports what is wrong
        return path


def _read_database(url: str | Path) -> Study:
    from salon.store import database as databases  # SQLAlchemy only for those who need it

    with databases.open_database(url) as database:
        study: Study = database.read_study()
    return study
