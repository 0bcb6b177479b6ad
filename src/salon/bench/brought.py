"""Pictures somebody brings for a suite: looked at one by one, and made an entry's card.

Missing pictures are counted and fail. One that cannot be read, has another size or belongs to no prompt is refused,
because whoever sent it can put it right.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from salon.bench.entry import Entry, Pictured
from salon.bench.suite import Suite
from salon.bench.suite_folder import prompts_hash
from salon.errors import BadFile, BadValue, SalonError
from salon.store.pictures import ENDINGS, open_header, read_picture
from salon.study.noun import Noun

MISSING = "not among the pictures that were sent"
WITHHELD = "the prompt is private: only its keeper has pictures of it"
_SHOWN = 3
Key = tuple[str, int]
"""Prompt and seed."""
Watch = Callable[[int, int], None]


class Terms(Noun):
    """What is said of an entry beside its pictures."""

    name: str = Field(default="", max_length=100)
    title: str = Field(default="", max_length=200)
    generator: str = Field(default="", max_length=200)
    by: str = Field(default="", max_length=200)
    link: str = Field(default="", max_length=500)
    licence: str = Field(default="", max_length=100)
    about: str = Field(default="", max_length=2000)


@dataclass(frozen=True)
class Source:
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
class Brought:
    """An entry whose pictures were looked at; `read` gives their bytes once more."""

    entry: Entry
    read: Callable[[Pictured], bytes]
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """Pictures that are not there, each of which counts as a failure."""
        return sum(picture.image is None for picture in self.entry.pictures)


def look_at(
    source: Source, suite: Suite, terms: Terms, *, publish: bool = False, watch: Watch | None = None
) -> Brought:
    """The entry that `source` makes; `publish` leaves out the pictures of private prompts."""
    check_licence(suite, terms)
    _check_known(source, suite)
    looked, faults = _looked_at(source, suite, suite.private if publish else frozenset(), watch or _nobody)
    _refuse(faults, source.where)
    if not looked:
        raise BadFile("pictures of the suite's prompts are needed", found="none", where=source.where,
                      remedy="name them PROMPT.png, or PROMPT__SEED.png")  # fmt: skip
    pictures = tuple(_pictured(key, terms.name, looked.get(key), _why(key, source, suite)) for key in wanted(suite))
    entry = Entry.parse({**terms.record(), "suite": prompts_hash(suite), "pictures": pictures}, where=source.where)
    changed = [f"{key[0]}__{key[1]}: {'; '.join(one.notes)}" for key, one in looked.items() if one.notes]
    notes = (*source.notes, *([f"{len(changed):,} pictures were made plain: {some(changed)}"] if changed else []))
    return Brought(entry, lambda picture: _again(source, picture), notes)


def wanted(suite: Suite) -> list[Key]:
    """Every picture the suite asks for."""
    return [(one.prompt.id, seed) for one in suite.prompts for seed in suite.seeds]


def check_licence(suite: Suite, terms: Terms) -> None:
    """BadValue where no licence is stated, or one that the suite does not take."""
    allowed = suite.card.image_licences
    if terms.licence.strip() and (not allowed or terms.licence.casefold() in {one.casefold() for one in allowed}):
        return
    raise BadValue(
        "a licence of the pictures that the suite takes is needed"
        if allowed
        else "a licence of the pictures is needed",
        found=repr(terms.licence) if terms.licence.strip() else "none",
        remedy=f"--licence one of: {', '.join(allowed)}" if allowed else "--licence CC-BY-4.0, or what holds for them",
    )


# -- looking -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Looked:
    sha256: str
    width: int
    height: int
    ending: str
    notes: tuple[str, ...]


def _check_known(source: Source, suite: Suite) -> None:
    strange = [source.files[key] for key in source.files.keys() - set(wanted(suite))]
    if strange:
        seeds = f"{suite.seeds.start} to {suite.seeds.stop - 1}"
        form = "PROMPT.png" if len(suite.seeds) == 1 else f"PROMPT__SEED.png, seeds {seeds}"
        prompts = some([one.prompt.id for one in suite.prompts])
        raise BadFile(
            "pictures of the suite's prompts and seeds are needed",
            found=f"{len(strange):,} of other prompts or seeds: {some(sorted(strange))}",
            where=source.where,
            remedy=f"name them {form}; the prompts are {prompts}; remove what does not belong to the suite",
        )


def _looked_at(
    source: Source, suite: Suite, private: frozenset[str], watch: Watch
) -> tuple[dict[Key, _Looked], dict[str, list[str]]]:
    looked: dict[Key, _Looked] = {}
    faults: dict[str, list[str]] = defaultdict(list)
    keys = [key for key in wanted(suite) if key in source.files and key[0] not in private]
    for done, key in enumerate(keys, 1):
        try:
            looked[key] = _look(source, key, suite.card.size)
        except _Refused as refused:
            faults[refused.kind].append(f"{source.files[key]}: {refused.told}")
        except SalonError as error:
            faults["cannot be read"].append(f"{source.files[key]}: {error.found}")
        watch(done, len(keys))
    return looked, faults


class _Refused(Exception):
    def __init__(self, kind: str, told: str) -> None:
        self.kind, self.told = kind, told


def _look(source: Source, key: Key, size: str | None) -> _Looked:
    """One picture decoded, after all that can be told without decoding it."""
    data = source.read(source.files[key])
    promised = source.hashes.get(key)
    found = hashlib.sha256(data).hexdigest()
    if promised is not None and found != promised:
        raise _Refused("have another hash", f"{found[:16]}, promised {promised[:16]}")
    if source.exact:
        header = open_header(data)
        _check_size(size, header.width, header.height)
    picture = read_picture(data)
    if source.exact and not picture.is_plain:
        raise _Refused("do not look the same everywhere", "; ".join(picture.notes))
    _check_size(size, picture.width, picture.height)
    plain, format = picture.plain()
    digest = hashlib.sha256(plain).hexdigest()
    return _Looked(digest, picture.width, picture.height, ENDINGS[format], picture.notes)


def _check_size(size: str | None, width: int, height: int) -> None:
    if size not in (None, f"{width}x{height}"):
        raise _Refused(f"are not {size}", f"{width}x{height}")


def _refuse(faults: Mapping[str, list[str]], where: str) -> None:
    if faults:
        told = "; ".join(f"{len(found):,} {kind} ({some(found)})" for kind, found in faults.items())
        raise BadFile("pictures as the suite asks for them are needed", found=told, where=where,
                      remedy="put them right or leave them out: a missing picture counts as a failure")  # fmt: skip


def some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")


def _nobody(done: int, wanted: int) -> None:
    """Watches nothing."""


def _why(key: Key, source: Source, suite: Suite) -> str:
    return source.missing.get(key, WITHHELD if key[0] in suite.private else MISSING)


def _pictured(key: Key, name: str, looked: _Looked | None, missing: str) -> Pictured:
    prompt, seed = key
    told: dict[str, Any] = {"prompt": prompt, "seed": seed, "item": f"{prompt}/{name}/{seed}"}
    if looked is None:
        return Pictured(**told, missing=missing)
    image = f"images/{prompt}__{seed}{looked.ending}"
    return Pictured(**told, image=image, sha256=looked.sha256, width=looked.width, height=looked.height)


def _again(source: Source, picture: Pictured) -> bytes:
    name = source.files[picture.prompt, picture.seed]
    data = source.read(name)
    if hashlib.sha256(data).hexdigest() != picture.sha256:  # one that had to be made plain, or another one
        data, _ = read_picture(data).plain()
    if hashlib.sha256(data).hexdigest() != picture.sha256:
        raise BadFile("a picture that stays as it was is needed", found="one that changed meanwhile", where=name)
    return data
