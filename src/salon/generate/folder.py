"""Pictures that exist already as a generator: a folder, or a table of files.

A file belongs to a prompt by its name, by the sub-folder it is in, or by a table. Names are compared as whole words:
`p1` is in `flux_p1_v2.png` but not in `p10.png`, and where two prompts fit, the longer id wins. Several files of one
prompt become seeds 0, 1, 2 ... in the order of their names (2 before 10).

Every file goes through the one safe decoder. A file that cannot be read is a failure with its reason. A picture that
would not look the same everywhere (turned by EXIF, CMYK, 16 bits, animated) is stored as a plain one, and its record
says so.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from salon.errors import BadFile, BadValue
from salon.generate.prompts import TABLE_ENDINGS, read_table_rows
from salon.generate.record import slug
from salon.store import ENDINGS, is_inside, read_picture
from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, ItemSource, Noun, Prompt, Signature

PICTURES = frozenset(
    {".png", ".jpg", ".jpeg", ".webp", ".gif", ".jfif", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif"}
)
"""Endings of files that are taken for pictures; what cannot be read among them is a failure, not a file to pass by."""
_NAMES_LISTED = 5


@dataclass(frozen=True)
class FileMatches:
    """Files by prompt and seed, and the files that belong to nothing."""

    files: Mapping[tuple[str, int], Path]
    unmatched: Sequence[str] = ()
    others: Sequence[str] = field(default=())
    """Files that are no pictures by their ending, and linked folders, which are not entered."""


def list_names(names: Sequence[str]) -> str:
    """The first few names and how many more there are."""
    more = f" and {len(names) - _NAMES_LISTED} more" if len(names) > _NAMES_LISTED else ""
    return ", ".join(map(printable_name, names[:_NAMES_LISTED])) + more


def printable_name(name: str) -> str:
    """A file name as it can be printed and kept: bytes that are no text become question marks."""
    return name.encode(errors="replace").decode()


# -- by name ---------------------------------------------------------------------------------------------------------


def files_below(root: Path) -> tuple[list[Path], list[str]]:
    """Pictures below `root` in the order of their names, and what else lies there; hidden files are nobody's."""
    pictures: list[Path] = []
    other_files: list[str] = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".")]
        other_files += [
            _relative_name(Path(folder, name), root) + "/" for name in inner if Path(folder, name).is_symlink()
        ]
        for name in names:
            path = Path(folder, name)
            if path.suffix.lower() in PICTURES and not name.startswith("."):
                pictures.append(path)
            elif not name.startswith("."):
                other_files.append(_relative_name(path, root))
    return sorted(pictures, key=lambda path: _natural(_relative_name(path, root))), sorted(other_files)


def match_names(root: Path, prompts: Iterable[str]) -> FileMatches:
    """Every picture below `root` with the prompt whose id its folder or its name holds."""
    keys = _keys(prompts)
    pictures, other_files = files_below(root)
    by_prompt: dict[str, list[Path]] = defaultdict(list)
    unmatched = []
    for path in pictures:
        prompt = _prompt_of(path.relative_to(root), keys)
        if prompt is None:
            unmatched.append(_relative_name(path, root))
        else:
            by_prompt[prompt].append(path)
    files = {(prompt, seed): path for prompt, paths in by_prompt.items() for seed, path in enumerate(paths)}
    return FileMatches(files, unmatched, other_files)


def _keys(prompts: Iterable[str]) -> dict[str, str]:
    """What a file can call each prompt: its id or slug as it is written, and in any case where only one fits."""
    exact: dict[str, set[str]] = defaultdict(set)
    folded: dict[str, set[str]] = defaultdict(set)
    for prompt in prompts:
        for key in (_composed(slug(prompt)), _composed(prompt)):
            exact[key].add(prompt)
            folded[key.casefold()].add(prompt)
    return {key: next(iter(fits)) for names in (folded, exact) for key, fits in names.items() if len(fits) == 1}


def _composed(name: str) -> str:
    """Some systems write é as e and an accent: the same name in other characters."""
    return unicodedata.normalize("NFC", name)


def _prompt_of(path: Path, keys: Mapping[str, str]) -> str | None:
    stem = _composed(path.stem)
    edges = [match.span() for match in re.finditer(r"[^\W_]+", stem)]
    starts = {0, *(start for start, _ in edges)}
    ends = {len(stem), *(end for _, end in edges)}
    pieces = (stem[start:end] for start in starts for end in ends if start < end)  # they begin and end where words do
    words = sorted(pieces, key=lambda word: (-len(word), word))
    for name in (*map(_composed, reversed(path.parts[:-1])), *words):
        prompt = keys.get(name) or keys.get(name.casefold())
        if prompt is not None:
            return prompt
    return None


def _natural(name: str) -> list[tuple[int, int, str]]:
    """A sorting key by which 2 comes before 10."""
    parts = re.findall(r"\d+|\D+", name.casefold())
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]


def _relative_name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


# -- by table --------------------------------------------------------------------------------------------------------


class PictureRow(Noun):
    """One line of a table of pictures."""

    prompt: str
    file: str
    generator: str | None = None
    seed: int | None = None
    """Counted from 0 for each prompt and generator when left out."""
    source: ItemSource | None = None


def read_rows(path: Path) -> list[tuple[int, PictureRow]]:
    """The rows of a CSV or JSONL table with their line numbers; columns of the user's own are passed over."""
    rows = read_table_rows(path, ("prompt", "file"))
    fields = PictureRow.model_fields
    return [
        (line, PictureRow.parse({name: row[name] for name in fields if name in row}, where=f"{path}:{line}"))
        for line, row in rows
    ]


def match_rows(
    rows: Sequence[tuple[int, PictureRow]], path: Path
) -> dict[str | None, dict[tuple[str, int], PictureRow]]:
    """Rows by generator, then by prompt and seed; BadValue when two rows claim one place."""
    by_generator: dict[str | None, dict[tuple[str, int], PictureRow]] = defaultdict(dict)
    lines: dict[tuple[str | None, str, int], int] = {}
    counts: dict[tuple[str | None, str], int] = defaultdict(int)
    for line, row in rows:
        seed = row.seed if row.seed is not None else counts[row.generator, row.prompt]
        counts[row.generator, row.prompt] += 1
        first = lines.setdefault((row.generator, row.prompt, seed), line)
        if first != line:
            raise BadValue(
                "each prompt, generator and seed may stand once",
                found=f"prompt {row.prompt!r}, seed {seed} in lines {first} and {line}",
                where=str(path),
                remedy="remove one of them, or give each a seed of its own",
            )
        by_generator[row.generator][row.prompt, seed] = row
    return by_generator


# -- the generator -----------------------------------------------------------------------------------------------------

SAME_ENDINGS = {".jpeg": ".jpg", ".jfif": ".jpg"}


def folder_generators(text: str, prompts: Iterable[Prompt] = (), *, source: ItemSource = "generated") -> list[Folder]:
    """The generators in `text`: `PATH` or `NAME=PATH`, where PATH is a folder of pictures, or a CSV or JSONL table.

    A folder is one generator, named NAME or as the folder is. A table has the columns prompt and file, and where
    wanted generator, seed and source; each of its generators is one. Files stand relative to the table.
    """
    match = None if Path(text).exists() else re.fullmatch(r"([^/\\=]+)=(.+)", text)
    name, path = (None, Path(text)) if match is None else (match[1].strip(), Path(match[2]))
    prompt_ids = [prompt.id for prompt in prompts]
    if path.is_dir():
        return [Folder(name or path.resolve().name, path, prompt_ids, source=source)]
    if path.suffix.lower() not in TABLE_ENDINGS or not path.is_file():
        raise BadFile(
            "a folder of pictures, or a table of files as .csv or .jsonl, is needed",
            found="nothing there" if not path.exists() else f"a file {path.name!r}",
            where=str(path),
        )
    by_generator = match_rows(read_rows(path), path)
    if name is not None and len(by_generator) > 1:
        raise BadValue(
            "a table of one generator can be named", found=f"{len(by_generator)} generators", where=str(path)
        )
    generators = []
    for generator, rows in by_generator.items():
        files = {key: path.parent / row.file for key, row in rows.items()}
        sources = {key: row.source or source for key, row in rows.items()}
        generators.append(
            Folder(name or generator or path.stem, path.parent, prompt_ids, files, sources, source=source)
        )
    return generators


class Folder:
    """Pictures that are there already, given out as if they were made."""

    def __init__(
        self,
        name: str,
        root: Path,
        prompts: Sequence[str] = (),
        files: Mapping[tuple[str, int], Path] | None = None,
        sources: Mapping[tuple[str, int], ItemSource] | None = None,
        *,
        source: ItemSource = "generated",
    ) -> None:
        self.name = name
        self.root = root.resolve()
        self.abilities = Abilities(seeded=True, offline=True)
        self._prompts = list(dict.fromkeys(prompts))
        self._table = None if files is None else FileMatches(files)
        self._sources, self._source = sources or {}, source
        self._seeds = 0
        self.signature = Signature(method="folder", settings={"name": name, "files": self._digest()})

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        """The file of every ask, or why there is none."""
        self._prompts = list(dict.fromkeys([*self._prompts, *(ask.prompt.id for ask in asks)]))
        matched = self._matched()
        for index, ask in enumerate(asks):
            self._seeds = max(self._seeds, ask.seed + 1)
            yield index, self._one(ask, matched)

    def _matched(self) -> FileMatches:
        return self._table or match_names(self.root, self._prompts)

    def _one(self, ask: Ask, matched: FileMatches) -> GeneratedPicture | FailedPicture:
        key = (ask.prompt.id, ask.seed)
        path = matched.files.get(key)
        if path is None:
            there = sum(prompt == ask.prompt.id for prompt, _ in matched.files)
            has = f"{there} files, none for seed {ask.seed}" if there else "no file"
            return FailedPicture(reason=f"{self.name} has {has} for the prompt {ask.prompt.id!r}", kind="missing")
        if not is_inside(path, self.root):
            return FailedPicture(
                reason=f"{printable_name(path.name)} leads out of {self.root.name}/, or nowhere", kind="outside"
            )
        try:
            picture = read_picture(path)
        except BadFile as error:
            kind = "missing" if _size_and_time(path)[0] is None else "broken-image"
            return FailedPicture(reason=f"{printable_name(path.name)}: {error.found}", kind=kind)
        source = self._sources.get(key, self._source)
        changes = list(picture.notes)
        ending = path.suffix.lower()
        if SAME_ENDINGS.get(ending, ending) != ENDINGS[picture.format]:
            changes.append(f"named {ending or 'without ending'} but is a {picture.format}")
        facts = {"file": printable_name(path.name), "source": source, "file_sha256": picture.sha256}
        facts |= {"changed": "; ".join(changes)} if changes else {}
        return GeneratedPicture(image=picture.plain()[0], facts=facts)

    def notes(self) -> list[str]:
        """Files that no prompt asked for, so that none is left out unseen."""
        if not self._prompts:
            return []
        matched = self._matched()
        prompt_ids = set(self._prompts)
        unasked = [path.name for (prompt, _), path in matched.files.items() if prompt not in prompt_ids]
        extra = [
            path.name for (prompt, seed), path in matched.files.items() if prompt in prompt_ids and seed >= self._seeds
        ]
        notes = []
        if matched.unmatched or unasked:
            names = [*matched.unmatched, *unasked]
            notes.append(f"{self.name}: {len(names)} files belong to no prompt: {list_names(names)}")
            if not matched.files:
                notes.append(
                    f"{self.name}: a file belongs to the prompt whose id is a word of its name or its folder "
                    f"({list_names(self._prompts)}); "
                    "or list them: folder:FILE.csv with the columns prompt,generator,file"
                )
        if extra and self._seeds:
            notes.append(f"{self.name}: {len(extra)} more files have a prompt; --seeds takes them: {list_names(extra)}")
        if matched.others:
            notes.append(f"{self.name}: {len(matched.others)} files are no pictures: {list_names(matched.others)}")
        return notes

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
        status = path.stat()
    except (OSError, ValueError):  # gone, a link to nowhere, a name that no file can have: told when it is asked for
        return None, None
    return status.st_size, status.st_mtime_ns
