"""The layout of HPDv3's benchmark: a folder for each category and model, and beside every picture a text with its name.

    animals/kolors/0001.png, animals/kolors/0001.txt, ...        or        kolors/animals/0001.png, ...

The released benchmark scores each picture with the whole of its text, and joins the text's lines by an additional line
end. The released generator writes the prompt on the first line and the picture's name on the second: both are scored.
Texts are read in the same way unless --prompt-lines first is given.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from salon.errors import BadFile, BadValue
from salon.store.formats.column_labels import text_id
from salon.store.formats.files import Head
from salon.store.formats.hpd import CRITERION, keep_pictures
from salon.store.formats.records import TableBuilder
from salon.store.formats.source import Draft, Source
from salon.study import Design

CATEGORIES = frozenset(
    {"characters", "arts", "design", "architecture", "architechture", "animals", "natural scenery", "transportation",
     "products", "plants", "food", "science", "others"}
)  # fmt: skip
"""The twelve of the paper, one of them also as its table spells it."""
_RELEASED = (".png", ".jpg")
_ENDINGS = (*_RELEASED, ".jpeg", ".webp")


@dataclass(frozen=True)
class _Entry:
    """A picture with its text."""

    id: str
    path: Path
    outer: str
    inner: str
    name: str
    """Path below both folders, without its ending: the same for all models where they drew the same prompts."""
    text: str


def is_hpdv3_benchmark(head: Head) -> bool:
    """A folder is never known by the beginning of a file."""
    return False


def read_hpdv3_benchmark(source: Source) -> Draft:
    """Pictures with category, model and prompt, without judgments."""
    entries = [entry for root in source.paths for entry in _entries(source, root)]
    if not entries:
        raise BadFile(
            "pictures with texts are needed: CATEGORY/MODEL/NAME.png and NAME.txt",
            found="none",
            where=", ".join(map(str, source.paths)),
        )
    layout = source.options.policies.layout or _guess_layout(entries)
    category_first = layout == "category/model"
    source.say(f"folders are read as {layout} (--layout)")
    places = {
        entry.id: (entry.outer, entry.inner) if category_first else (entry.inner, entry.outer) for entry in entries
    }
    ledger = TableBuilder()
    prompts = _prompts(source, entries, {id: category for id, (category, _) in places.items()})
    for entry in entries:
        category, model = places[entry.id]
        ledger.prompt(prompts[entry.id], str(entry.path), text=entry.text, category=None)
        facts = {"prompt": prompts[entry.id], "generator": model, "category": category, "image": None}
        ledger.item(entry.id, str(entry.path), **facts)
        source.paths_of[entry.id] = entry.path
    _say_counts(source, places.values(), len(set(prompts.values())))
    if source.options.images is not None:
        paths: dict[str, tuple[str, Path]] = {}
        for entry in entries:
            folder = next(folder for folder in source.paths if entry.path.is_relative_to(folder))
            paths[entry.id] = (entry.path.relative_to(folder).as_posix(), folder)
        keep_pictures(source, ledger, paths)
    return Draft((CRITERION,), ledger.tables(), "prompt", Design())


# -- files -------------------------------------------------------------------------------------------------------------


def _entries(source: Source, root: Path) -> list[_Entry]:
    if not root.is_dir():
        what = "a file" if root.exists() else "nothing there"
        raise BadFile("the folder of a benchmark is needed", found=what, where=str(root))
    pictures, texts = _files(root)
    inner = [path.relative_to(root).parts for path in pictures]
    shallow = bool(inner) and all(len(parts) == 2 for parts in inner)  # the root itself is a category or a model
    if flat := [path for path, parts in zip(pictures, inner) if len(parts) < 3 and not shallow]:
        raise BadFile(
            "every picture must lie in a folder of its category and one of its model",
            found=f"{len(flat):,} that do not, the first {flat[0].relative_to(root)}",
            where=str(root),
            remedy="CATEGORY/MODEL/NAME.png or MODEL/CATEGORY/NAME.png",
        )
    without = [path for path in pictures if path.with_suffix(".txt") not in texts]
    if without and source.options.policies.missing != "drop":
        raise BadFile(
            "every picture needs its prompt: NAME.txt beside NAME.png",
            found=f"{len(without):,} of {len(pictures):,} without, the first {without[0].relative_to(root)}",
            where=str(root),
            remedy="write the texts, or import the rest: salon import hpdv3-benchmark --missing drop",
        )
    source.leave_out("pictures without a text", len(without))
    lonely = len(texts) - len(texts & {path.with_suffix(".txt") for path in pictures})
    if lonely:
        source.say(f"{lonely:,} texts have no picture: a generator without a picture has none on that prompt")
    unreleased = sum(path.suffix not in _RELEASED for path in pictures)
    if unreleased:
        source.say(f"{unreleased:,} pictures end neither in .png nor in .jpg: the released benchmark does not see them")
    entries, signed = [], 0
    for path, parts in zip(pictures, inner):
        if path.with_suffix(".txt") not in texts:
            continue
        text, names_picture = _text(path, source.options.policies.prompt_lines)
        signed += names_picture
        whole = (root.resolve().name, *parts) if shallow else parts
        name = Path(*whole[2:]).with_suffix("").as_posix()
        id = "/".join(whole) if shallow or len(source.paths) == 1 else "/".join((root.resolve().name, *whole))
        entries.append(_Entry(id, path, whole[0], whole[1], name, text))
    if signed and source.options.policies.prompt_lines == "all":
        source.say(
            f"{signed:,} texts end with the name of their picture, as the released generator writes them; the released "
            "benchmark scores that line too (--prompt-lines first leaves it out)"
        )
    return entries


def _files(root: Path) -> tuple[list[Path], set[Path]]:
    """Pictures in the order of their paths, and texts; hidden ones are not seen, as by the released benchmark."""
    pictures: list[Path] = []
    texts: set[Path] = set()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(folder, name)
            if path.suffix.lower() in _ENDINGS:
                pictures.append(path)
            elif path.suffix == ".txt" and path.is_file():  # reading a pipe may never end
                texts.add(path)
    return pictures, texts


def _text(picture: Path, lines: str) -> tuple[str, bool]:
    """The prompt of a picture, and whether the text's last line names the picture."""
    path = picture.with_suffix(".txt")
    try:
        with open(path, encoding="utf-8-sig") as file:
            rows = file.readlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a text in UTF-8 is needed", found=str(error), where=str(path)) from None
    text = rows[0].rstrip("\n") if rows and lines == "first" else "\n".join(rows)
    if not text.strip():
        raise BadValue("a prompt that is not blank is needed", found="a blank text", where=str(path))
    return text, len(rows) > 1 and Path(rows[-1].strip()).stem == picture.stem


# -- what the folders mean ---------------------------------------------------------------------------------------------


def _guess_layout(entries: Sequence[_Entry]) -> str:
    """By the names of the paper's categories; else by texts, which models share and categories do not."""
    outer, inner = (
        {getattr(entry, part).replace("_", " ").replace("-", " ").strip().casefold() for entry in entries}
        for part in ("outer", "inner")
    )
    are_categories = bool(outer) and outer <= CATEGORIES, bool(inner) and inner <= CATEGORIES
    if are_categories[0] != are_categories[1]:
        return "category/model" if are_categories[0] else "model/category"
    groups = {part: _shared(entries, part) for part in ("outer", "inner")}
    if groups["outer"] != groups["inner"]:
        return "category/model" if groups["outer"] > groups["inner"] else "model/category"
    raise BadFile(
        "it must be known which folders are categories and which are models",
        found=f"folders {', '.join(sorted({entry.outer for entry in entries})[:4])} around "
        f"{', '.join(sorted({entry.inner for entry in entries})[:4])}",
        remedy="--layout category/model or --layout model/category",
    )


def _shared(entries: Iterable[_Entry], part: str) -> int:
    """How often a text stands again in the same folder `part`: often where that folder is a category."""
    second_part = "inner" if part == "outer" else "outer"
    folders_of_text: dict[tuple[str, str], set[str]] = defaultdict(set)
    for entry in entries:
        folders_of_text[getattr(entry, part), entry.text].add(getattr(entry, second_part))
    return sum(len(folders) - 1 for folders in folders_of_text.values())


def _prompts(source: Source, entries: Sequence[_Entry], category: dict[str, str]) -> dict[str, str]:
    """The prompt of each picture: its name in the category where all models have the same text there; or its text."""
    texts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for entry in entries:
        texts[category[entry.id], entry.name].add(entry.text)
    if all(len(texts_of_name) == 1 for texts_of_name in texts.values()):
        source.say("pictures of one name in one category have one prompt: they are compared over models by name")
        return {entry.id: f"{category[entry.id]}/{entry.name}" for entry in entries}
    source.say("pictures of one name have different texts: prompts are known by their text, not by the name")
    return {entry.id: text_id(entry.text) for entry in entries}


def _say_counts(source: Source, places: Iterable[tuple[str, str]], prompts: int) -> None:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for place in places:
        counts[place] += 1
    categories, models = ({place[number] for place in counts} for number in (0, 1))
    source.say(f"{len(categories):,} categories, {len(models):,} models, {prompts:,} prompts")
    if len(counts) < len(categories) * len(models):
        source.say(
            f"{len(categories) * len(models) - len(counts):,} of these have no pictures of a model in a category"
        )
    elif len(set(counts.values())) > 1:
        source.say(f"models have from {min(counts.values()):,} to {max(counts.values()):,} pictures in a category")
