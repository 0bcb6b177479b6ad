"""Bundles: an entry's card and pictures as one file to send, and adding it to a board.

NAME.salon.zip holds entry.json, images/PROMPT__SEED.png and LICENCE.txt. It holds no answers and no scores: the keeper
of a board asks its judges again. Two bundles of the same pictures and words are the same bytes.

A bundle comes from a stranger. What it may hold is checked before anything is unpacked, and nothing is ever extracted
under a name that the file chose.
"""

from __future__ import annotations

import json
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from salon.bench.board import ENTRIES, Board, check_new_name, entry_folder, open_board
from salon.bench.entry import Entry
from salon.bench.entry_files import read_entry, write_entry
from salon.bench.submission import (
    EntryTerms,
    Submission,
    SubmittedFiles,
    Watch,
    check_prompts,
    first_few,
    read_submission,
    submitted_files,
)
from salon.bench.suite import Suite
from salon.bench.suite_folder import parse_object
from salon.errors import BadFile, BadValue
from salon.store import Metadata, held, whole_file, whole_folder, write_metadata, write_table
from salon.study import Item, Study

_STAMP = (1980, 1, 1, 0, 0, 0)
"""The same for every member: the time of packing is no part of what is sent."""
_OWN = ("name", "title", "generator", "by", "link", "licence", "about")


# -- packing -------------------------------------------------------------------------------------------------------


def pack(submission: Submission, target: Path) -> Path:
    """Write a bundle, whole; it appears when all pictures are in it."""
    entry = submission.entry
    with whole_file(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as bundle:
        _put(bundle, CARD, (json.dumps(entry.record(), ensure_ascii=False, indent=1) + "\n").encode())
        _put(bundle, LICENCE, licence_text(entry).encode())
        for picture in entry.pictures:
            if picture.image is not None:
                _put(bundle, picture.image, submission.read(picture))
        if file.tell() > MOST_IN_ALL or len(bundle.infolist()) > MOST_FILES:
            size = f"{len(bundle.infolist()):,} files, {file.tell():,} bytes"
            raise BadFile(f"a bundle has at most {MOST_FILES:,} files and {MOST_IN_ALL:,} bytes", found=size)
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
def open_submission(
    place: Path, suite: Suite, terms: EntryTerms | None = None, *, publish: bool = False, watch: Watch | None = None
) -> Iterator[Submission]:
    """What `place` submits: a bundle says its own terms, pictures alone need `terms`; given ones go first."""
    with ExitStack() as stack:
        if is_bundle(place):
            bundle = stack.enter_context(BundleZip(place))
            own = _card(bundle)
            card: Entry | None = own
            check_prompts(own, suite, where=str(bundle.path))
            there = [picture for picture in own.pictures if picture.image is not None]
            stray = sorted({str(picture.image) for picture in there} ^ set(bundle.pictures))
            if stray or len(there) != len(bundle.pictures):
                raise BadFile(
                    "a bundle holds exactly the pictures that its entry.json names, each once",
                    found=f"{len(stray):,} on one side only: {first_few(stray)}"
                    if stray
                    else "one that is named twice",
                    where=str(bundle.path),
                )
            source = SubmittedFiles(
                where=str(bundle.path),
                files={(picture.prompt, picture.seed): str(picture.image) for picture in there},
                read=bundle.read,
                hashes={(picture.prompt, picture.seed): picture.sha256 or "no hash" for picture in there},
                exact=True,
            )
        else:
            card = read_entry(place) if (place / CARD).is_file() else None
            source = submitted_files(place, suite)
        yield read_submission(source, suite, _terms(place, card, terms), publish=publish, watch=watch)


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


def _terms(place: Path, card: Entry | None, chosen: EntryTerms | None) -> EntryTerms:
    own = {} if card is None else {name: getattr(card, name) for name in _OWN}
    values = {} if chosen is None else {name: value for name, value in chosen.record().items() if value}
    if not own and "name" not in values:
        raise BadValue("a name for the entry is needed", found="none", where=str(place), remedy="add --name NAME")
    return EntryTerms.parse(own | values)


# -- adding --------------------------------------------------------------------------------------------------------


def add_entry(board: Board, submission: Submission) -> Path:
    """A new entry of the board, whole or not at all: its pictures, its card, and its items as a study."""
    entry = submission.entry
    folder = entry_folder(board, entry.name)
    with _lock_entries(board):
        check_new_name(open_board(board.folder), entry.name)
        with whole_folder(folder) as new:
            for picture in entry.pictures:
                if picture.image is not None:
                    path = new / picture.image
                    data = submission.read(picture)
                    path.parent.mkdir(exist_ok=True)
                    with whole_file(path) as file:
                        file.write(data)
            items = [
                Item(id=picture.item, prompt=picture.prompt, generator=entry.name, image=picture.image)
                for picture in entry.pictures
                if picture.image is not None
            ]
            study = Study.build(
                entry.name, [], tables={"prompts": [prompt.prompt for prompt in board.suite.prompts], "items": items}
            )
            write_metadata(new, Metadata.of(study))
            for kind in study.counts:
                write_table(kind, study.table(kind), new / f"{kind}.parquet")
            write_entry(new, entry)
    return folder


@contextmanager
def _lock_entries(board: Board) -> Iterator[None]:
    """Nobody else adds to the board meanwhile, so that two entries never take one name."""
    with ExitStack() as stack:
        try:
            stack.enter_context(held(board.folder / ENTRIES))
        except BadFile:
            raise BadFile("one writer at a time may add to a board", found="another one at work",
                          where=str(board.folder), remedy="wait until it is done") from None  # fmt: skip
        yield


# -- reading an untrusted zip file -------------------------------------------------------------------------------------

CARD, LICENCE = "entry.json", "LICENCE.txt"
MOST_FILES = 20_000
MOST_BYTES = 64 << 20
"""Of one picture, unpacked."""
MOST_CARD = 16 << 20
MOST_IN_ALL = 4 << 30
_PICTURE = re.compile(r"images/[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.(?:png|jpg|webp|gif)")
_END, _WIDE = b"PK\x05\x06", b"PK\x06\x07"
_END_BYTES, _LOCATOR_BYTES = 22, 20
_ENTRY_BYTES = 46 + 512
"""The most that one file takes in the list of files: longer names and notes have no use here."""
_ENCRYPTED = 0x1
_MOST_LISTED = 3


class BundleZip:
    """An opened bundle. Its members are checked; `read` gives one, never more than was announced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _check_end(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise _bad(path, str(error)) from None
        try:
            infos = self._zip.infolist()
            files = [info for info in infos if not (info.is_dir() and info.filename == "images/")]
            twice = [name for name, count in Counter(info.filename.casefold() for info in files).items() if count > 1]
            if twice:
                raise _bad(path, f"{len(twice):,} names that stand twice: {_some(twice)}")
            strange = [info.filename for info in files if not _is_ours(info)]
            if strange:
                raise _bad(path, f"{len(strange):,} files that no bundle holds: {_some(strange)}")
            large = [
                info.filename for info in files if info.file_size > (MOST_CARD if info.filename == CARD else MOST_BYTES)
            ]
            if large:
                raise _bad(path, f"{len(large):,} files too large unpacked: {_some(large)}")
            if (whole := sum(info.file_size for info in files)) > MOST_IN_ALL:
                raise _bad(path, f"{whole:,} bytes unpacked; at most {MOST_IN_ALL:,}")
            self.members = {info.filename: info for info in files}
        except BadFile:
            self._zip.close()
            raise

    @property
    def pictures(self) -> list[str]:
        """Names of the pictures."""
        return [name for name in self.members if name not in (CARD, LICENCE)]

    def read(self, name: str) -> bytes:
        """The bytes of one member; BadFile where they are not what the list of files says."""
        if name not in self.members:
            raise _bad(self.path, f"no {name} in it")
        try:
            with self._zip.open(self.members[name]) as file:
                return file.read()
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
            raise _bad(self.path, f"{name}: {error}") from None
        except Exception as error:  # zlib.error has no public parent of its own
            raise _bad(self.path, f"{name}: {type(error).__name__}: {error}") from None

    def close(self) -> None:
        """Let the file go."""
        self._zip.close()

    def __enter__(self) -> BundleZip:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_end(path: Path) -> None:
    """The last bytes say how long the list of files is: a list of a million files is refused before it is read."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise _bad(path, "something that is no file")
        with path.open("rb") as file:
            file.seek(max(0, size - _END_BYTES - _LOCATOR_BYTES))
            last = file.read()
    except OSError as error:
        raise _bad(path, error.strerror or str(error)) from None
    end = last[-_END_BYTES:]
    if size < _END_BYTES or not end.startswith(_END) or end[20:22] != b"\0\0":
        raise _bad(path, "an end that is none: cut off, or no zip")
    if last[:-_END_BYTES].startswith(_WIDE):
        raise _bad(path, "a list of files in the wide form (zip64), which no bundle needs")
    files, listed = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    if files > MOST_FILES or listed > MOST_FILES * _ENTRY_BYTES:
        raise _bad(path, f"a list of {files:,} files in {listed:,} bytes; at most {MOST_FILES:,} files are read")


def _is_ours(info: zipfile.ZipInfo) -> bool:
    """A plain file of a known name, packed in a plain way: no links, no folders, nothing encrypted."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    is_expected = info.filename in (CARD, LICENCE) or _PICTURE.fullmatch(info.filename) is not None
    plain = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) and not info.flag_bits & _ENCRYPTED
    return is_expected and plain and kind in (0, stat.S_IFREG)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(repr(name[:80]) for name in names[:_MOST_LISTED]) + more


def _bad(path: Path, problem: str) -> BadFile:
    return BadFile(
        "a bundle is needed: a zip file with entry.json and images/PROMPT__SEED.png",
        found=problem,
        where=str(path),
        remedy="salon bench pack makes one",
    )
