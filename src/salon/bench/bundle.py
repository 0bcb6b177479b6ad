"""Bundles: an entry's card and pictures as one file to send, and the way onto a board.

NAME.salon.zip holds entry.json, images/PROMPT__SEED.png and LICENCE.txt; no answers and no scores: whoever keeps a
board asks its judges again. Two bundles of the same pictures and words are the same bytes.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from salon.bench.board import ENTRIES, Board, check_new_name, entry_folder, open_board
from salon.bench.brought import Brought, Source, Terms, Watch, look_at, some
from salon.bench.brought_sources import check_prompts, source_of
from salon.bench.bundle_zip import CARD, LICENCE, MOST_FILES, MOST_IN_ALL, BundleZip
from salon.bench.entry import Entry
from salon.bench.entry_files import read_entry, write_entry
from salon.bench.suite import Suite
from salon.bench.suite_records import parse_object
from salon.errors import BadFile, BadValue
from salon.store.atomic import held, whole_file, whole_folder
from salon.store.metadata import Metadata, write_metadata
from salon.store.table_files import write_table
from salon.study import Item, Study

ENDING = ".salon.zip"
_STAMP = (1980, 1, 1, 0, 0, 0)
"""The same for every member: the time of packing is no part of what is sent."""
_OWN = ("name", "title", "generator", "by", "link", "licence", "about")


# -- packing -------------------------------------------------------------------------------------------------------


def pack(brought: Brought, target: Path) -> Path:
    """Write a bundle, whole; it appears when all pictures are in it."""
    entry = brought.entry
    with whole_file(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as bundle:
        _put(bundle, CARD, (json.dumps(entry.record(), ensure_ascii=False, indent=1) + "\n").encode())
        _put(bundle, LICENCE, licence_text(entry).encode())
        for picture in entry.pictures:
            if picture.image is not None:
                _put(bundle, picture.image, brought.read(picture))
        if file.tell() > MOST_IN_ALL or len(bundle.infolist()) > MOST_FILES:
            found = f"{len(bundle.infolist()):,} files, {file.tell():,} bytes"
            raise BadFile(f"a bundle has at most {MOST_FILES:,} files and {MOST_IN_ALL:,} bytes", found=found)
    return target


def _put(bundle: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _STAMP)
    info.external_attr = 0o100644 << 16
    bundle.writestr(info, data)


def licence_text(entry: Entry) -> str:
    """The statement that goes with the pictures."""
    by = f" by {entry.by}" if entry.by else ""
    link = f"\n{entry.link}" if entry.link else ""
    return (
        f"Pictures of {entry.label}{by}.{link}\n\nLicence: {entry.licence}\n\n"
        "Whoever sent this bundle states that the pictures were made by the generator it names, from the prompts of\n"
        "the suite, and that they may be shown, measured and passed on under this licence.\n"
    )


# -- opening -------------------------------------------------------------------------------------------------------


def is_bundle(place: Path) -> bool:
    """Whether `place` is a file that is called a bundle."""
    return place.suffix.lower() == ".zip" and place.is_file()


@contextmanager
def opened(
    place: Path, suite: Suite, terms: Terms | None = None, *, publish: bool = False, watch: Watch | None = None
) -> Iterator[Brought]:
    """What `place` submits: a bundle says its own terms, pictures alone need `terms`; given ones go first."""
    with ExitStack() as stack:
        if is_bundle(place):
            bundle = stack.enter_context(BundleZip(place))
            own = _card(bundle)
            card: Entry | None = own
            source = _bundle_source(bundle, own, suite)
        else:
            card = read_entry(place) if (place / CARD).is_file() else None
            source = source_of(place, suite)
        yield look_at(source, suite, _terms(place, card, terms), publish=publish, watch=watch)


def bundle_card(place: Path) -> Entry:
    """What a bundle says of itself."""
    with BundleZip(place) as bundle:
        return _card(bundle)


def _card(bundle: BundleZip) -> Entry:
    where = f"{bundle.path}, {CARD}"
    try:
        text = bundle.read(CARD).decode()
    except UnicodeDecodeError as error:
        raise BadFile(f"{CARD} in UTF-8 is needed", found=error, where=where) from None
    return Entry.parse(parse_object(text, where), where=where)


def _terms(place: Path, card: Entry | None, given: Terms | None) -> Terms:
    own = {} if card is None else {name: getattr(card, name) for name in _OWN}
    said = {} if given is None else {name: value for name, value in given.record().items() if value}
    if not own and "name" not in said:
        raise BadValue("a name for the entry is needed", found="none", where=str(place), remedy="add --name NAME")
    return Terms.parse(own | said)


def _bundle_source(bundle: BundleZip, card: Entry, suite: Suite) -> Source:
    check_prompts(card, suite, where=str(bundle.path))
    there = [one for one in card.pictures if one.image is not None]
    stray = sorted({str(one.image) for one in there} ^ set(bundle.pictures))
    if stray or len(there) != len(bundle.pictures):
        raise BadFile(
            "a bundle holds exactly the pictures that its entry.json names, each once",
            found=f"{len(stray):,} on one side only: {some(stray)}" if stray else "one that is named twice",
            where=str(bundle.path),
        )
    return Source(
        where=str(bundle.path),
        files={(one.prompt, one.seed): str(one.image) for one in there},
        read=bundle.read,
        hashes={(one.prompt, one.seed): one.sha256 or "no hash" for one in there},
        exact=True,
    )


# -- adding --------------------------------------------------------------------------------------------------------


def add_entry(board: Board, brought: Brought) -> Path:
    """A new entry of the board, whole or not at all: its pictures, its card, and its items as a study."""
    entry = brought.entry
    folder = entry_folder(board, entry.name)
    with _alone(board):
        check_new_name(open_board(board.folder), entry.name)
        with whole_folder(folder) as new:
            for picture in entry.pictures:
                if picture.image is not None:
                    _write(new / picture.image, brought.read(picture))
            _write_study(board.suite, entry, new)
            write_entry(new, entry)
    return folder


@contextmanager
def _alone(board: Board) -> Iterator[None]:
    """Nobody else adds to the board meanwhile, so that two entries never take one name."""
    with ExitStack() as stack:
        try:
            stack.enter_context(held(board.folder / ENTRIES))
        except BadFile:
            raise BadFile("one writer at a time may add to a board", found="another one at work",
                          where=str(board.folder), remedy="wait until it is done") from None  # fmt: skip
        yield


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    with whole_file(path) as file:
        file.write(data)


def _write_study(suite: Suite, entry: Entry, folder: Path) -> None:
    """The entry's pictures as the items of a study, so that galleries, judges and scorers can work on it."""
    items = [
        Item(id=one.item, prompt=one.prompt, generator=entry.name, image=one.image)
        for one in entry.pictures
        if one.image is not None
    ]
    study = Study.build(entry.name, [], tables={"prompts": [one.prompt for one in suite.prompts], "items": items})
    write_metadata(folder, Metadata.of(study))
    for kind in study.counts:
        write_table(kind, study.table(kind), folder / f"{kind}.parquet")
