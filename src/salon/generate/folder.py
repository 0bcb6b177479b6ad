"""Bring your own pictures: a folder (or a table of files) as a generator, for generated pictures and photographs.

Every file goes through the one safe decoder. What cannot be read is a failure with its reason; a picture that would
not look the same everywhere (turned by EXIF, CMYK, 16 bits, animated) is stored as a plain one, and its record says so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from salon.errors import BadFile, BadValue
from salon.generate.folder_files import Matched, files_below, listed, match_names, match_rows, read_rows, shown
from salon.generate.rows import TABLES
from salon.store.pictures import ENDINGS, Picture, is_inside, read_picture
from salon.study import Abilities, Ask, Failed, Made, Prompt, Signature
from salon.study.item import Source

SAME = {".jpeg": ".jpg", ".jfif": ".jpg"}


def folder_generators(text: str, prompts: Iterable[Prompt] = (), *, source: Source = "generated") -> list[Folder]:
    """The generators in `text`: `PATH` or `NAME=PATH`, where PATH is a folder of pictures, or a CSV or JSONL table.

    A folder is one generator, named NAME or as the folder is. A table has the columns prompt and file, and where
    wanted generator, seed and source; each of its generators is one. Files stand relative to the table.
    """
    name, path = _name_and_path(text)
    known = [prompt.id for prompt in prompts]
    if path.is_dir():
        return [Folder(name or path.resolve().name, path, known, source=source)]
    if path.suffix.lower() not in TABLES or not path.is_file():
        raise BadFile(
            "a folder of pictures, or a table of files as .csv or .jsonl, is needed",
            found="nothing there" if not path.exists() else f"a file {path.name!r}",
            where=str(path),
        )
    return _from_table(path, name, known, source)


def _name_and_path(text: str) -> tuple[str | None, Path]:
    named = re.fullmatch(r"([^/\\=]+)=(.+)", text)
    if named is None or Path(text).exists():
        return None, Path(text)
    return named[1].strip(), Path(named[2])


def _from_table(path: Path, name: str | None, known: Sequence[str], source: Source) -> list[Folder]:
    by_generator = match_rows(read_rows(path), path)
    if name is not None and len(by_generator) > 1:
        raise BadValue(
            "a table of one generator can be named", found=f"{len(by_generator)} generators", where=str(path)
        )
    made = []
    for generator, rows in by_generator.items():
        files = {key: path.parent / row.file for key, row in rows.items()}
        sources = {key: row.source or source for key, row in rows.items()}
        made.append(Folder(name or generator or path.stem, path.parent, known, files, sources, source=source))
    return made


class Folder:
    """Pictures that are there already, given out as if they were made."""

    def __init__(
        self,
        name: str,
        root: Path,
        prompts: Sequence[str] = (),
        files: Mapping[tuple[str, int], Path] | None = None,
        sources: Mapping[tuple[str, int], Source] | None = None,
        *,
        source: Source = "generated",
    ) -> None:
        self.name = name
        self.root = root.resolve()
        self.abilities = Abilities(seeded=True, offline=True)
        self._prompts = list(dict.fromkeys(prompts))
        self._table = None if files is None else Matched(files)
        self._sources, self._source = sources or {}, source
        self._seeds = 0
        self.signature = Signature(method="folder", settings={"name": name, "files": self._digest()})

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, Made | Failed]]:
        """The file of every ask, or why there is none."""
        self._prompts = list(dict.fromkeys([*self._prompts, *(ask.prompt.id for ask in asks)]))
        matched = self._matched()
        for index, ask in enumerate(asks):
            self._seeds = max(self._seeds, ask.seed + 1)
            yield index, self._one(ask, matched)

    def _matched(self) -> Matched:
        return self._table or match_names(self.root, self._prompts)

    def _one(self, ask: Ask, matched: Matched) -> Made | Failed:
        key = (ask.prompt.id, ask.seed)
        path = matched.files.get(key)
        if path is None:
            there = sum(prompt == ask.prompt.id for prompt, _ in matched.files)
            has = f"{there} files, none for seed {ask.seed}" if there else "no file"
            return Failed(reason=f"{self.name} has {has} for the prompt {ask.prompt.id!r}", kind="missing")
        if not is_inside(path, self.root):
            return Failed(reason=f"{shown(path.name)} leads out of {self.root.name}/, or nowhere", kind="outside")
        try:
            picture = read_picture(path)
        except BadFile as error:
            kind = "missing" if _size_and_time(path)[0] is None else "broken-image"
            return Failed(reason=f"{shown(path.name)}: {error.found}", kind=kind)
        return _made(picture, path, self._sources.get(key, self._source))

    def notes(self) -> list[str]:
        """Files that no prompt asked for, so that none is left out unseen."""
        if not self._prompts:
            return []
        matched = self._matched()
        asked = set(self._prompts)
        unasked = [path.name for (prompt, _), path in matched.files.items() if prompt not in asked]
        extra = [path.name for (prompt, seed), path in matched.files.items() if prompt in asked and seed >= self._seeds]
        told = []
        if matched.unmatched or unasked:
            names = [*matched.unmatched, *unasked]
            told.append(f"{self.name}: {len(names)} files belong to no prompt: {listed(names)}")
            if not matched.files:
                told.append(
                    f"{self.name}: a file belongs to the prompt whose id is a word of its name or its folder "
                    f"({listed(self._prompts)}); or list them: folder:FILE.csv with the columns prompt,generator,file"
                )
        if extra and self._seeds:
            told.append(f"{self.name}: {len(extra)} more files have a prompt; --seeds takes them: {listed(extra)}")
        if matched.others:
            told.append(f"{self.name}: {len(matched.others)} files are no pictures: {listed(matched.others)}")
        return told

    def _digest(self) -> str:
        """Names, sizes and times of all files: when one is replaced, it is taken anew."""
        files = files_below(self.root)[0] if self._table is None else sorted(set(self._table.files.values()))
        digest = hashlib.sha256()
        for path in files:
            size, changed = _size_and_time(path)
            digest.update(f"{path}\0{size}\0{changed}\n".encode(errors="surrogateescape"))
        return digest.hexdigest()[:12]


def _size_and_time(path: Path) -> tuple[int | None, int | None]:
    try:
        found = path.stat()
    except (OSError, ValueError):  # gone, a link to nowhere, a name that no file can have: told when it is asked for
        return None, None
    return found.st_size, found.st_mtime_ns


def _made(picture: Picture, path: Path, source: Source) -> Made:
    changes = list(picture.notes)
    ending = path.suffix.lower()
    if SAME.get(ending, ending) != ENDINGS[picture.format]:
        changes.append(f"named {ending or 'without ending'} but is a {picture.format}")
    facts = {"file": shown(path.name), "source": source, "file_sha256": picture.sha256}
    facts |= {"changed": "; ".join(changes)} if changes else {}
    return Made(image=picture.plain()[0], facts=facts)
