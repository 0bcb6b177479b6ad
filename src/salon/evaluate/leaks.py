"""The leak guard: what a model was trained on is remembered beside it, and known again when it is tested.

    MODEL/guard.parquet      kind (picture or text), key, near: hashes only, no picture and no text can be read from it

A picture leaks when its bytes were trained on, or when it is *near* one that was (`salon.store.near_pictures`). A text
leaks when the same text was trained on, after Unicode normalisation (NFKC), case folding and collapsing of white space.
Everything that shaped the model counts as trained on: the validation part, by which settings and the last epoch were
chosen, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from salon.engine import cores
from salon.errors import BadFile
from salon.models import ResultCache
from salon.store import METHOD, PictureKey, content_hash, near_groups, nearest, picture_key, whole_file
from salon.study import normalize_text

FILE = "guard.parquet"
COLUMNS = pa.schema([("kind", pa.string()), ("key", pa.string()), ("near", pa.string())])
_MOST_NAMED = 3
_AT_ONCE = 64
"""Pictures decoded before their hashes are remembered."""
_PREFIX = f"near {METHOD} "
"""Of the keys under which hashes are remembered."""


@dataclass(frozen=True)
class LeakGuard:
    """What a model was trained on, as hashes."""

    pictures: tuple[PictureKey, ...]
    texts: frozenset[str]

    @classmethod
    def of(cls, pictures: Iterable[PictureKey], texts: Iterable[str]) -> LeakGuard:
        """From the keys of pictures (`picture_keys`) and the texts of prompts as they are."""
        return cls(tuple(dict.fromkeys(pictures)), frozenset(text_key(text) for text in texts if text.strip()))


@dataclass(frozen=True)
class Leaks:
    """What of a test was trained on; names as they were given to `find_leaks`."""

    pictures: tuple[str, ...]
    """Items whose very bytes were trained on."""
    near: tuple[str, ...]
    """Items that look like one that was, without being it."""
    texts: tuple[str, ...]
    """Prompts whose text was trained on."""

    def __bool__(self) -> bool:
        return bool(self.pictures or self.near or self.texts)

    @property
    def words(self) -> str:
        """What leaked, counted, with the first few named."""
        kinds = (
            (self.pictures, "picture", "pictures"),
            (self.near, "near copy of a picture", "near copies of pictures"),
            (self.texts, "prompt text", "prompt texts"),
        )
        parts = (
            f"{len(names):,} {singular if len(names) == 1 else plural} ({_first(names)})"
            for names, singular, plural in kinds
            if names
        )
        return "; ".join(parts)


def text_key(text: str) -> str:
    """A prompt's text as it is known again: the sha256 of its normalised form."""
    return hashlib.sha256(normalize_text(text).encode("utf-8", "surrogatepass")).hexdigest()


def picture_keys(paths: Sequence[Path], *, cache: ResultCache | None = None) -> list[PictureKey]:
    """The key of each picture, in order; each content is decoded once in its life, then remembered in `kept`."""
    memory = cache or ResultCache()
    with ThreadPoolExecutor(cores()) as threads:  # reading, hashing and decoding leave Python's lock alone
        contents = list(threads.map(_content, paths))
        cached = memory.many({_PREFIX + content for content in contents})
        looks: dict[str, str] = {key.removeprefix(_PREFIX): near for key, near in cached.items()}
        missing = list(
            {digest: path for path, digest in zip(paths, contents, strict=True) if digest not in looks}.items()
        )
        for start in range(0, len(missing), _AT_ONCE):
            part = dict(missing[start : start + _AT_ONCE])
            fresh = dict(zip(part, (key.near for key in threads.map(picture_key, part.values()))))
            memory.keep({_PREFIX + content: near for content, near in fresh.items()})
            looks |= fresh
    return [PictureKey(content, looks[content]) for content in contents]


def save_guard(guard: LeakGuard, folder: Path) -> dict[str, str]:
    """Write the guard into a model's folder; what comes back is the card's `guard`."""
    texts = sorted(guard.texts)
    rows = {
        "kind": ["picture"] * len(guard.pictures) + ["text"] * len(texts),
        "key": [key.sha256 for key in guard.pictures] + texts,
        "near": [key.near for key in guard.pictures] + [""] * len(texts),
    }
    with whole_file(folder / FILE) as target:
        pq.write_table(pa.table(rows, COLUMNS), target, compression="zstd")
    return guard_record(folder)


def guard_record(folder: Path) -> dict[str, str]:
    """What the card of a model says of the guard in its folder."""
    return {"file": FILE, "method": METHOD, "sha256": content_hash(folder / FILE)}


def load_guard(folder: Path, card: Mapping[str, str]) -> LeakGuard:
    """The guard that a model's card names; BadFile where it is missing, changed, or made by another method."""
    file = folder / card.get("file", FILE)
    remedy = "train the model again, or --allow-leak to go on without the guard"
    if not card or not file.is_file():
        raise BadFile("a model with its leak guard is needed", found=f"no {FILE}", where=str(folder), remedy=remedy)
    if content_hash(file) != card.get("sha256") or card.get("method") != METHOD:
        raise BadFile(
            "the leak guard that the model's card names is needed",
            found="another file" if card.get("method") == METHOD else f"hashes of method {card.get('method')!r}",
            where=str(file),
            remedy=remedy,
        )
    rows = pq.read_table(file, schema=COLUMNS).to_pylist()
    return LeakGuard(
        tuple(PictureKey(row["key"], row["near"]) for row in rows if row["kind"] == "picture"),
        frozenset(row["key"] for row in rows if row["kind"] == "text"),
    )


def find_leaks(guard: LeakGuard, pictures: Mapping[str, PictureKey], texts: Mapping[str, str]) -> Leaks:
    """What of a test a model was trained on: `pictures` by item, `texts` by prompt."""
    trained = {key.sha256 for key in guard.pictures}
    same = [item for item, key in pictures.items() if key.sha256 in trained]
    rest = [item for item, key in pictures.items() if key.sha256 not in trained]
    place, _ = nearest([pictures[item].near for item in rest], [key.near for key in guard.pictures])
    near = [rest[number] for number in np.flatnonzero(place >= 0)]
    read = [prompt for prompt, text in texts.items() if text.strip() and text_key(text) in guard.texts]
    return Leaks(tuple(same), tuple(near), tuple(read))


def without_look_alikes(
    tables: Sequence[pa.Table], columns: Sequence[str], pictures: Mapping[str, PictureKey], order: Sequence[str]
) -> tuple[list[pa.Table], list[str]]:
    """The tables without rows that look like something on a later side of the split, and a note that counts pairs.

    `columns` name the pictures of a row, `order` the sides of the column split. A picture that is not in `pictures` is
    like no other. The note is of the first table that loses rows: others tell of the same pairs.
    """
    group = dict(zip(pictures, near_groups(list(pictures.values())).tolist()))
    there = [[name for name in columns if name in table.column_names] for table in tables]
    sides = [np.array([order.index(side) for side in table.column("split").to_pylist()], np.int64) for table in tables]
    ends = [_places(table, names, group) for table, names in zip(tables, there)]
    latest = np.zeros(len(pictures) + 1, np.int64)  # the last place takes pictures that are like no other
    for side, end in zip(sides, ends):
        for picture in end:  # one by one: maximum.at reads a broadcast operand past its end
            np.maximum.at(latest, picture, side)
    stays = [((latest[end] == side) | (end < 0)).all(axis=0) for side, end in zip(sides, ends)]
    remaining = [table.filter(pa.array(stay)) for table, stay in zip(tables, stays)]
    for table, names, stay in zip(tables, there, stays):
        if not stay.all():
            keys = [name for name in ("criterion", *names) if name in table.column_names]
            lost = table.filter(pa.array(~stay)).group_by(keys).aggregate([]).num_rows
            return remaining, [
                f"left out because their pictures look like others on a later side of the split: {lost:,} pairs"
            ]
    return remaining, []


def _places(table: pa.Table, names: Sequence[str], group: Mapping[str, int]) -> NDArray[np.int64]:
    """(names, rows) the group of each picture, -1 without one."""
    groups = [[group.get(name, -1) for name in table.column(column).to_pylist()] for column in names]
    return np.array(groups, np.int64).reshape(len(names), table.num_rows)


def _content(path: Path) -> str:
    try:
        return content_hash(path)
    except OSError:
        return picture_key(path).sha256  # says what is wrong with it


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
