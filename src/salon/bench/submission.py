"""Pictures that somebody submits for a suite: checked one by one, and made an entry's card.

Missing pictures are counted and fail. A picture that cannot be read, has another size or belongs to no prompt is
refused, because the sender can put it right.

A folder holds PROMPT.png (the first seed) or PROMPT__SEED.png. A table (CSV or JSONL) has the columns prompt and file,
and seed if there are several; files stand relative to it. An entry's folder has its entry.json.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from salon.bench import entry as entry_names
from salon.bench.entry import Entry, EntryPicture
from salon.bench.entry_files import read_entry
from salon.bench.suite import Suite
from salon.bench.suite_folder import prompts_hash, read_lines, read_text
from salon.errors import BadColumns, BadFile, BadValue, SalonError
from salon.store import ENDINGS, is_inside, open_header, read_bytes, read_picture
from salon.study import Noun

MISSING = "not among the pictures that were sent"
WITHHELD = "the prompt is private: only its keeper has pictures of it"
_MOST_LISTED = 3
Key = tuple[str, int]
"""Prompt and seed."""
Watch = Callable[[int, int], None]


class EntryTerms(Noun):
    """What is said of an entry beside its pictures."""

    name: str = Field(default="", max_length=100)
    title: str = Field(default="", max_length=200)
    generator: str = Field(default="", max_length=200)
    by: str = Field(default="", max_length=200)
    link: str = Field(default="", max_length=500)
    licence: str = Field(default="", max_length=100)
    about: str = Field(default="", max_length=2000)


@dataclass(frozen=True)
class SubmittedFiles:
    """Files that claim to be pictures of prompts."""

    where: str
    files: Mapping[Key, str]
    read: Callable[[str], bytes]
    """The bytes of a file by its name."""
    hashes: Mapping[Key, str] = field(default_factory=dict)
    """What is promised of them."""
    exact: bool = False
    """Pictures are taken as they are or not at all: their hashes are promised."""
    missing: Mapping[Key, str] = field(default_factory=dict)
    """Why some are not there, where the source says."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """An entry whose pictures were checked; `read` gives their bytes once more."""

    entry: Entry
    read: Callable[[EntryPicture], bytes]
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """Pictures that are not there, each of which counts as a failure."""
        return sum(picture.image is None for picture in self.entry.pictures)


def read_submission(
    source: SubmittedFiles, suite: Suite, terms: EntryTerms, *, publish: bool = False, watch: Watch | None = None
) -> Submission:
    """The entry that `source` makes; `publish` leaves out the pictures of private prompts."""
    check_licence(suite, terms)
    _check_known(source, suite)
    checked: dict[Key, _CheckedPicture] = {}
    faults: dict[str, list[str]] = defaultdict(list)
    hidden = suite.private if publish else frozenset()
    keys = [key for key in required_keys(suite) if key in source.files and key[0] not in hidden]
    for number, key in enumerate(keys, 1):
        try:
            checked[key] = _check_picture(source, key, suite.card.size)
        except _RefusedPicture as refused:
            faults[refused.kind].append(f"{source.files[key]}: {refused.reason}")
        except SalonError as error:
            faults["cannot be read"].append(f"{source.files[key]}: {error.found}")
        if watch is not None:
            watch(number, len(keys))
    if faults:
        summary = "; ".join(f"{len(names):,} {kind} ({first_few(names)})" for kind, names in faults.items())
        raise BadFile(
            "pictures as the suite asks for them are needed",
            found=summary,
            where=source.where,
            remedy="put them right or leave them out: a missing picture counts as a failure",
        )
    if not checked:
        raise BadFile("pictures of the suite's prompts are needed", found="none", where=source.where,
                      remedy="name them PROMPT.png, or PROMPT__SEED.png")  # fmt: skip
    pictures = tuple(
        _entry_picture(
            key, terms.name, checked.get(key), source.missing.get(key, WITHHELD if key[0] in suite.private else MISSING)
        )
        for key in required_keys(suite)
    )
    entry = Entry.parse({**terms.record(), "suite": prompts_hash(suite), "pictures": pictures}, where=source.where)
    changed = [f"{key[0]}__{key[1]}: {'; '.join(picture.notes)}" for key, picture in checked.items() if picture.notes]
    notes = (*source.notes, *([f"{len(changed):,} pictures were made plain: {first_few(changed)}"] if changed else []))
    return Submission(entry, lambda picture: _read_again(source, picture), notes)


def required_keys(suite: Suite) -> list[Key]:
    """Every picture the suite asks for."""
    return [(prompt.id, seed) for prompt in suite.prompts for seed in suite.seeds]


def check_licence(suite: Suite, terms: EntryTerms) -> None:
    """BadValue if no licence is stated, or one that the suite does not accept."""
    allowed = suite.card.image_licences
    if terms.licence.strip() and (
        not allowed or terms.licence.casefold() in {licence.casefold() for licence in allowed}
    ):
        return
    raise BadValue(
        "a licence of the pictures that the suite takes is needed"
        if allowed
        else "a licence of the pictures is needed",
        found=repr(terms.licence) if terms.licence.strip() else "none",
        remedy=f"--licence one of: {', '.join(allowed)}" if allowed else "--licence CC-BY-4.0, or what holds for them",
    )


# -- checking -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _CheckedPicture:
    sha256: str
    width: int
    height: int
    ending: str
    notes: tuple[str, ...]


def _check_known(source: SubmittedFiles, suite: Suite) -> None:
    strange = [source.files[key] for key in source.files.keys() - set(required_keys(suite))]
    if strange:
        seeds = f"{suite.seeds.start} to {suite.seeds.stop - 1}"
        form = "PROMPT.png" if len(suite.seeds) == 1 else f"PROMPT__SEED.png, seeds {seeds}"
        prompts = first_few([prompt.id for prompt in suite.prompts])
        raise BadFile(
            "pictures of the suite's prompts and seeds are needed",
            found=f"{len(strange):,} of other prompts or seeds: {first_few(sorted(strange))}",
            where=source.where,
            remedy=f"name them {form}; the prompts are {prompts}; remove what does not belong to the suite",
        )


class _RefusedPicture(Exception):
    def __init__(self, kind: str, reason: str) -> None:
        self.kind, self.reason = kind, reason


def _check_picture(source: SubmittedFiles, key: Key, size: str | None) -> _CheckedPicture:
    """One picture decoded, after all checks that need no decoding."""
    data = source.read(source.files[key])
    promised = source.hashes.get(key)
    original_digest = hashlib.sha256(data).hexdigest()
    if promised is not None and original_digest != promised:
        raise _RefusedPicture("have another hash", f"{original_digest[:16]}, promised {promised[:16]}")
    if source.exact:
        header = open_header(data)
        _check_size(size, header.width, header.height)
    picture = read_picture(data)
    if source.exact and not picture.is_plain:
        raise _RefusedPicture("do not look the same everywhere", "; ".join(picture.notes))
    _check_size(size, picture.width, picture.height)
    plain, format = picture.plain()
    digest = hashlib.sha256(plain).hexdigest()
    return _CheckedPicture(digest, picture.width, picture.height, ENDINGS[format], picture.notes)


def _check_size(size: str | None, width: int, height: int) -> None:
    if size not in (None, f"{width}x{height}"):
        raise _RefusedPicture(f"are not {size}", f"{width}x{height}")


def first_few(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def _entry_picture(key: Key, name: str, checked: _CheckedPicture | None, missing: str) -> EntryPicture:
    prompt, seed = key
    fields: dict[str, Any] = {"prompt": prompt, "seed": seed, "item": f"{prompt}/{name}/{seed}"}
    if checked is None:
        return EntryPicture(**fields, missing=missing)
    image = f"images/{prompt}__{seed}{checked.ending}"
    return EntryPicture(**fields, image=image, sha256=checked.sha256, width=checked.width, height=checked.height)


def _read_again(source: SubmittedFiles, picture: EntryPicture) -> bytes:
    name = source.files[picture.prompt, picture.seed]
    data = source.read(name)
    if hashlib.sha256(data).hexdigest() != picture.sha256:  # one that had to be made plain, or another one
        data, _ = read_picture(data).plain()
    if hashlib.sha256(data).hexdigest() != picture.sha256:
        raise BadFile("a picture that stays as it was is needed", found="one that changed meanwhile", where=name)
    return data


# -- where pictures come from ------------------------------------------------------------------------------------------

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif"})
TABLES = frozenset({".csv", ".jsonl"})
_NAME = re.compile(r"(?P<prompt>.+?)(?:__(?P<seed>\d{1,9}))?")


def submitted_files(place: Path, suite: Suite) -> SubmittedFiles:
    """The pictures in a folder, a table of files, or the folder of an entry."""
    if (place / entry_names.CARD).is_file():
        return submitted_entry(place, read_entry(place), suite)
    if place.is_dir():
        prompt_ids = {prompt.id for prompt in suite.prompts}
        names = sorted(path.name for path in place.iterdir() if not path.name.startswith("."))
        pictures = [name for name in names if Path(name).suffix.lower() in PICTURES]
        ignored = [name for name in names if name not in set(pictures)]
        pairs = [(_key(Path(name).stem, prompt_ids, suite.seeds.start), name) for name in pictures]
        notes = (f"{len(ignored):,} files are no pictures: {first_few(ignored)}",) if ignored else ()
        return SubmittedFiles(str(place), _each_once(pairs, str(place)), lambda name: _inside(place, name), notes=notes)
    if place.suffix.lower() in TABLES and place.is_file():
        rows = []
        for where, record in _table_rows(place):
            for name in ("prompt", "file"):
                if not isinstance(record.get(name), str):
                    raise BadColumns.missing(name, record, where=where)
            seed = str(record.get("seed", suite.seeds.start))
            if not re.fullmatch(r"\d{1,9}", seed):
                raise BadValue("a seed is a whole number", found=seed, where=where)
            rows.append(((record["prompt"], int(seed)), record["file"]))
        return SubmittedFiles(str(place), _each_once(rows, str(place)), lambda name: _inside(place.parent, name))
    raise BadFile(
        "a bundle, a folder of pictures, a table of files (.csv, .jsonl) or an entry's folder is needed",
        found=f"a file {place.name!r}" if place.exists() else "nothing there",
        where=str(place),
    )


def submitted_entry(folder: Path, entry: Entry, suite: Suite) -> SubmittedFiles:
    """The pictures of an entry, which must be those its card names."""
    check_prompts(entry, suite, where=str(folder))
    there = [picture for picture in entry.pictures if picture.image is not None]
    return SubmittedFiles(
        where=str(folder),
        files={(picture.prompt, picture.seed): str(picture.image) for picture in there},
        read=lambda name: _inside(folder, name),
        hashes={(picture.prompt, picture.seed): str(picture.sha256) for picture in there},
        exact=True,
        missing={
            (picture.prompt, picture.seed): picture.missing or MISSING
            for picture in entry.pictures
            if picture.image is None
        },
    )


def check_prompts(entry: Entry, suite: Suite, *, where: str) -> None:
    """BadFile for an entry made for other prompts, or one that names a picture twice."""
    if entry.suite != prompts_hash(suite):
        raise BadFile(
            f"pictures for the prompts {prompts_hash(suite)[:16]} of {suite.card.name}/{suite.card.version} are needed",
            found=f"an entry for {entry.suite[:16]}",
            where=where,
            remedy="make the pictures with this version of the suite",
        )
    if len({(picture.prompt, picture.seed) for picture in entry.pictures}) < len(entry.pictures):
        raise BadFile("an entry names each prompt and seed once", found="one that stands twice", where=where)


def _inside(folder: Path, name: str) -> bytes:
    path = folder / name
    if not is_inside(path, folder):
        raise BadFile("a file inside the folder is needed", found="one that leads out of it, or nowhere", where=name)
    return read_bytes(path)


def _key(stem: str, prompt_ids: set[str], first: int) -> Key:
    if stem in prompt_ids:
        return stem, first
    match = _NAME.fullmatch(stem)
    return (match["prompt"], int(match["seed"] or first)) if match else (stem, first)


def _table_rows(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    if path.suffix.lower() == ".jsonl":
        return read_lines(path)
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), restkey="more")
    try:
        return [(f"{path}:{reader.line_num}", {str(k): v for k, v in row.items() if v}) for row in reader]
    except csv.Error as error:
        raise BadFile("a table as CSV is needed", found=error, where=str(path)) from None


def _each_once(pairs: Iterable[tuple[Key, str]], where: str) -> dict[Key, str]:
    files: dict[Key, str] = {}
    twice = []
    for key, name in pairs:
        if key in files:
            twice.append(f"{files[key]} and {name}")
        files[key] = name
    if twice:
        raise BadFile(
            "one picture of each prompt and seed is needed",
            found=f"{len(twice):,} twice: {first_few(twice)}",
            where=where,
            remedy="leave one of each",
        )
    return files
