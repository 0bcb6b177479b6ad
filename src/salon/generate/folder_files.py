"""Which file of a folder belongs to which prompt: by its name, by the sub-folder it is in, or by a table.

Names are compared as whole words: `p1` is in `flux_p1_v2.png` but not in `p10.png`, and where two prompts fit, the
longer id wins. Several files of one prompt become seeds 0, 1, 2 ... in the order of their names (2 before 10).
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from salon.errors import BadValue
from salon.generate.names import slug
from salon.generate.rows import read_lines
from salon.study.item import Source
from salon.study.noun import Noun

PICTURES = frozenset(
    {".png", ".jpg", ".jpeg", ".webp", ".gif", ".jfif", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif"}
)
"""Endings of files that are taken for pictures; what cannot be read among them is a failure, not a file to pass by."""
_SHOWN = 5


@dataclass(frozen=True)
class Matched:
    """Files by prompt and seed, and the files that belong to nothing."""

    files: Mapping[tuple[str, int], Path]
    unmatched: Sequence[str] = ()
    others: Sequence[str] = field(default=())
    """Files that are no pictures by their ending, and linked folders, which are not entered."""


def listed(names: Sequence[str]) -> str:
    """The first few names and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(shown, names[:_SHOWN])) + more


def shown(name: str) -> str:
    """A file name as it can be printed and kept: bytes that are no text become question marks."""
    return name.encode(errors="replace").decode()


# -- by name ---------------------------------------------------------------------------------------------------------


def files_below(root: Path) -> tuple[list[Path], list[str]]:
    """Pictures below `root` in the order of their names, and what else lies there; hidden files are nobody's."""
    pictures: list[Path] = []
    others: list[str] = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".")]
        others += [_inside(Path(folder, name), root) + "/" for name in inner if Path(folder, name).is_symlink()]
        for name in names:
            path = Path(folder, name)
            if path.suffix.lower() in PICTURES and not name.startswith("."):
                pictures.append(path)
            elif not name.startswith("."):
                others.append(_inside(path, root))
    return sorted(pictures, key=lambda path: _natural(_inside(path, root))), sorted(others)


def match_names(root: Path, prompts: Iterable[str]) -> Matched:
    """Every picture below `root` with the prompt whose id its folder or its name holds."""
    keys = _keys(prompts)
    pictures, others = files_below(root)
    found: dict[str, list[Path]] = defaultdict(list)
    unmatched = []
    for path in pictures:
        prompt = _prompt_of(path.relative_to(root), keys)
        if prompt is None:
            unmatched.append(_inside(path, root))
        else:
            found[prompt].append(path)
    files = {(prompt, seed): path for prompt, paths in found.items() for seed, path in enumerate(paths)}
    return Matched(files, unmatched, others)


def _keys(prompts: Iterable[str]) -> dict[str, str]:
    """What a file can call each prompt: its id or slug as it is written, and in any case where only one fits."""
    written: dict[str, set[str]] = defaultdict(set)
    folded: dict[str, set[str]] = defaultdict(set)
    for prompt in prompts:
        for key in (_composed(slug(prompt)), _composed(prompt)):
            written[key].add(prompt)
            folded[key.casefold()].add(prompt)
    return {key: next(iter(fits)) for names in (folded, written) for key, fits in names.items() if len(fits) == 1}


def _composed(name: str) -> str:
    """Some systems write é as e and an accent: the same name in other characters."""
    return unicodedata.normalize("NFC", name)


def _prompt_of(path: Path, keys: Mapping[str, str]) -> str | None:
    stem = _composed(path.stem)
    words = sorted(_words(stem), key=lambda word: (-len(word), word))
    for name in (*map(_composed, reversed(path.parts[:-1])), *words):
        prompt = keys.get(name) or keys.get(name.casefold())
        if prompt is not None:
            return prompt
    return None


def _words(stem: str) -> Iterator[str]:
    """Every piece of a name that begins and ends where a word does."""
    edges = [match.span() for match in re.finditer(r"[^\W_]+", stem)]
    starts = {0, *(start for start, _ in edges)}
    ends = {len(stem), *(end for _, end in edges)}
    return (stem[start:end] for start in starts for end in ends if start < end)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """A sorting key by which 2 comes before 10."""
    parts = re.findall(r"\d+|\D+", name.casefold())
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]


def _inside(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


# -- by table --------------------------------------------------------------------------------------------------------


class Row(Noun):
    """One line of a table of pictures."""

    prompt: str
    file: str
    generator: str | None = None
    seed: int | None = None
    """Counted from 0 for each prompt and generator when left out."""
    source: Source | None = None


def read_rows(path: Path) -> list[tuple[int, Row]]:
    """The rows of a CSV or JSONL table with their line numbers; columns of the user's own are passed over."""
    rows = read_lines(path, ("prompt", "file"))
    fields = Row.model_fields
    return [
        (line, Row.parse({name: row[name] for name in fields if name in row}, where=f"{path}:{line}"))
        for line, row in rows
    ]


def match_rows(rows: Sequence[tuple[int, Row]], path: Path) -> dict[str | None, dict[tuple[str, int], Row]]:
    """Rows by generator, then by prompt and seed; BadValue when two rows claim one place."""
    found: dict[str | None, dict[tuple[str, int], Row]] = defaultdict(dict)
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
        found[row.generator][row.prompt, seed] = row
    return found
