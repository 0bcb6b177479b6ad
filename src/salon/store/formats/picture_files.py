"""Pictures that files of the field name by path: where they are, whether they can be read, and into the study.

    relative path       below --image-root, or below the folder of the file that names it
    absolute path       only below a folder that --remap OLD=NEW names: OLD at its beginning becomes NEW

Every picture is decoded once, so that a file that is missing, empty, broken or no picture is found now. Its bytes are
kept as they are; what a reader of it will have to do (turn it upright, convert its colors) is counted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from salon.errors import BadFile, BadValue, shorten
from salon.store.formats.ledger import Ledger
from salon.store.formats.pickapic import image_name
from salon.store.formats.source import Source
from salon.store.pictures import Picture, is_inside, read_picture

FOLDER = "images"
_AT_ONCE = 64
_THREADS = 8


def inside_folder(path: str) -> bool:
    """Whether a path of a file may be looked up below a folder: not absolute, and not out of it again."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    return bool(parts) and parts[0] != "/" and ":" not in parts[0] and ".." not in parts


def parse_remap(text: str) -> tuple[PurePosixPath, Path]:
    """OLD=NEW: where absolute paths begin in a file, and which folder here that is."""
    old, mark, new = text.partition("=")
    if not mark or not old.strip() or not new.strip():
        raise BadValue("--remap takes OLD=NEW", found=repr(text), remedy="e.g. --remap /data/hpdv3=images")
    if not Path(new).is_dir():
        raise BadFile("--remap needs a folder that is there", found=repr(new), remedy="OLD=NEW, NEW a folder here")
    return PurePosixPath(_slashes(old)), Path(new)


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


@dataclass
class PictureFiles:
    """Where the pictures of one import are."""

    root: Path | None
    remap: tuple[tuple[PurePosixPath, Path], ...] = ()

    @classmethod
    def of(cls, source: Source) -> PictureFiles:
        """As the options of an import say."""
        return cls.of_flags(source.options.image_root, source.options.remap)

    @classmethod
    def of_flags(cls, image_root: Path | None, remap: Sequence[str]) -> PictureFiles:
        """As --image-root and --remap say; BadFile where a folder of theirs is not there."""
        if image_root is not None and not image_root.is_dir():
            found = "a file" if image_root.exists() else "nothing there"
            raise BadFile("--image-root must be a folder", found=found, where=str(image_root))
        return cls(image_root, tuple(parse_remap(text) for text in remap))

    def locate(self, path: str, beside: Path) -> tuple[Path, str] | str:
        """The file of a path, and its name below the folder it was found in; or why it has none."""
        posix = PurePosixPath(_slashes(path))
        fitting = [(old, new) for old, new in self.remap if posix.is_relative_to(old)]
        if fitting:
            old, folder = max(fitting, key=lambda one: len(one[0].parts))
            inner = posix.relative_to(old).as_posix()
        else:
            inner, folder = posix.as_posix(), self.root or beside
        if not inside_folder(inner):
            return "named by a place outside the folder; --remap OLD=NEW says which folder OLD is here"
        place = folder / inner
        if not os.path.lexists(place):
            return "no such file"
        return (place, inner) if is_inside(place, folder) else "a link out of the folder"


def keep_pictures(source: Source, ledger: Ledger, named: Mapping[str, tuple[str, Path]]) -> None:
    """Write the pictures of items (by id: path, and folder of the file that names it) where the import keeps them.

    A picture that is missing or cannot be read is an error; with --missing drop its items and their judgments are left
    out and counted.
    """
    target, files = source.options.images, PictureFiles.of(source)
    taken: dict[str, Path] = {}
    problems: dict[str, str] = {}
    notes: Counter[str] = Counter()
    (target / FOLDER).mkdir(exist_ok=True)
    for id, found in _read(files, named):
        if isinstance(found, str):
            problems[id] = found
            continue
        place, inner, picture = found
        notes.update(picture.notes)
        name = inner.removeprefix(f"{FOLDER}/")
        if taken.setdefault(name, place) != place:  # two folders, one name
            name = image_name(picture.data)
        written = target / FOLDER / name
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_bytes(picture.data)
        ledger.named["items"][id]["image"] = f"{FOLDER}/{name}"
        source.paths_of[id] = place
    source.say(f"{len(named) - len(problems):,} of {len(named):,} pictures were found, read and kept")
    for note, count in notes.items():
        source.say(f"{count:,} pictures are kept as they are; scorers will see them with: {note}")
    if problems:
        _missing(source, ledger, named, problems)


def _read(
    files: PictureFiles, named: Mapping[str, tuple[str, Path]]
) -> Iterator[tuple[str, str | tuple[Path, str, Picture]]]:
    def read(entry: tuple[str, tuple[str, Path]]) -> tuple[str, str | tuple[Path, str, Picture]]:
        id, (path, beside) = entry
        found = files.locate(path, beside)
        if isinstance(found, str):
            return id, found
        try:
            return id, (*found, read_picture(found[0]))
        except BadFile as error:
            return id, str(error.found)

    entries = list(named.items())
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
        for start in range(0, len(entries), _AT_ONCE):  # decoded pictures are large: a few at a time
            yield from threads.map(read, entries[start : start + _AT_ONCE])


def _missing(
    source: Source, ledger: Ledger, named: Mapping[str, tuple[str, Path]], problems: Mapping[str, str]
) -> None:
    reasons = Counter(problems.values())
    first = next(iter(problems))
    if source.options.policies.missing != "drop":
        listed = "; ".join(f"{count:,} {shorten(reason, 80)}" for reason, count in reasons.most_common(3))
        raise BadFile(
            "every picture that the file names is needed",
            found=f"{len(problems):,} of {len(named):,} cannot be used ({listed}), the first {named[first][0]!r}",
            where=str(named[first][1]),
            remedy="--image-root FOLDER says where relative paths begin, --remap OLD=NEW where absolute ones do; "
            "--missing drop leaves their pairs out and counts them",
        )
    for reason, count in reasons.items():
        source.leave_out(f"pictures: {shorten(reason, 80)}", count)
    for kind, count in ledger.drop_items(problems).items():
        source.leave_out(f"{kind} about a picture that cannot be used", count)
