"""A folder of pictures as a study: folders and names tell the generator and the prompt of every picture.

    renders/flux/fox.png              a folder for each generator, the same names in each
    renders/p01/flux.png              a folder for each prompt
    renders/flux_fox.png              one folder; the names have two parts
    --pattern '{prompt}-by-{generator}-{seed}.png'      any other way

The result says in a sentence how names were read, and lists files that fit nowhere. Several files of one generator and
prompt become seeds in the order of their names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from salon.errors import BadFile, BadValue
from salon.generate.folder import Folder, files_below, list_names, printable_name
from salon.generate.prompts import PROMPT_ENDINGS, read_prompts
from salon.generate.record import GenerateSettings, slug
from salon.generate.run import GenerationCallback, generate_items
from salon.store import default_name, is_study, save_study
from salon.study import Criterion, Noun, Prompt, Study

PROMPT_FILES = tuple(f"prompts{ending}" for ending in PROMPT_ENDINGS)
"""Files that are taken for the prompts of the pictures beside them."""
FIELDS = ("generator", "prompt", "seed")
_SEPARATORS = ("__", "--", "_", "-", " ", ".")
_MOST_SEEDS = 64
NamePair = tuple[str, str]
"""Generator and prompt as files name them."""


@dataclass(frozen=True)
class PictureLayout:
    """The pictures of a folder, sorted out."""

    root: Path
    files: Mapping[str, Mapping[tuple[str, int], Path]]
    """By generator; then by prompt id and seed."""
    prompts: Sequence[Prompt]
    how: str
    """One sentence: how folders and names were read."""
    notes: Sequence[str] = field(default=())

    @property
    def seeds(self) -> int:
        """The most pictures that one generator has of one prompt."""
        return max(seed + 1 for files in self.files.values() for _, seed in files)


def read_layout(root: Path, *, pattern: str | None = None, prompts: Path | None = None) -> PictureLayout:
    """The layout of the pictures below `root`; BadFile when there are none, BadValue when names cannot be read."""
    if not root.is_dir():
        raise BadFile("a folder of pictures is needed", found="a file" if root.exists() else "nothing there",
                      where=str(root))  # fmt: skip
    pictures, other_files = files_below(root)
    if not pictures:
        raise BadFile("a folder with pictures is needed", found=f"none among {len(other_files)} files", where=str(root))
    source = prompts or next((root / name for name in PROMPT_FILES if (root / name).is_file()), None)
    prompt_list = [] if source is None else read_prompts(str(source))
    inside = {path: path.relative_to(root) for path in pictures}
    if pattern is not None:
        names, how = _by_pattern(inside, pattern), f"names read as {pattern}"
    else:
        names, how = _guess_names(inside, prompt_list, root)
    unread = [str(inside[path]) for path in pictures if path not in names]
    notes = [f"{len(unread):,} pictures fit nowhere and are left out: {list_names(unread)}"] if unread else []
    layout_prompts, ids, more = _match_prompts(names, prompt_list, source)
    left_out = [str(inside[path]) for path, (_, prompt) in names.items() if prompt not in ids]
    if left_out:
        notes.append(f"{len(left_out):,} pictures have no prompt in {source}: {list_names(left_out)}")
    files: dict[str, dict[tuple[str, int], Path]] = defaultdict(dict)
    for path, (generator, name) in names.items():
        if name in ids:
            seed = sum(prompt == ids[name] for prompt, _ in files[generator])
            files[generator][ids[name], seed] = path
    if not files:
        raise _unreadable(root, [str(path) for path in inside.values()])
    return PictureLayout(root, dict(files), layout_prompts, how, (*more, *notes))


# -- generator and prompt by name -----------------------------------------------------------------------------------


def _by_pattern(inside: Mapping[Path, Path], pattern: str) -> dict[Path, NamePair]:
    fields = re.findall(r"\{(\w*)\}", pattern)
    if not {"generator", "prompt"} <= set(fields) <= set(FIELDS) or len(set(fields)) != len(fields):
        raise BadValue(
            "--pattern: a name with {generator} and {prompt}, and {seed} where wanted, is needed",
            found=repr(pattern),
            remedy="--pattern '{generator}/{prompt}_{seed}.png'",
        )
    parts = re.split(r"(\{\w+\})", pattern)
    expression = "".join(_FIELD[part] if part in _FIELD else re.escape(part).replace(r"\*", "[^/]*") for part in parts)
    if not Path(pattern).suffix:
        expression += r"\.[A-Za-z]+"
    reader = re.compile(expression)
    matches = {path: reader.fullmatch(name.as_posix()) for path, name in inside.items()}
    return {path: (match["generator"], match["prompt"]) for path, match in matches.items() if match}


_FIELD = {
    "{generator}": "(?P<generator>[^/]+?)",
    "{prompt}": "(?P<prompt>[^/]+?)",
    "{seed}": r"(?P<seed>\d+)",
}


def _guess_names(
    inside: Mapping[Path, Path], prompts: Sequence[Prompt], root: Path
) -> tuple[dict[Path, NamePair], str]:
    """Names by folders where there are any, else by the two parts of a file's name."""
    deep = {path: name for path, name in inside.items() if len(name.parts) > 1}
    if 2 * len(deep) >= len(inside):
        pairs = {path: (name.parts[-2], _stem(name)) for path, name in deep.items()}
        if _folders_are_prompts(list(pairs.values()), prompts):
            return _swap(pairs), "a folder for each prompt, a file for each generator"
        pairs = _without_seeds(pairs, prompts)
        return pairs, "a folder for each generator, files named by prompt"
    stems = {path: _stem(name) for path, name in inside.items() if path not in deep}
    split = _two_parts(stems, prompts)
    if split is None:
        raise _unreadable(root, [str(name) for name in inside.values()])
    pairs, separator, prompt_first = split
    order = ("prompt", "generator") if prompt_first else ("generator", "prompt")
    swapped_pattern = f"{{{order[1]}}}{separator}{{{order[0]}}}"
    how = f"one folder; names are {order[0]}, then {order[1]}, with {separator!r} between them"
    return pairs, f"{how} (if it is the other way round: --pattern '{swapped_pattern}')"


def _stem(name: Path) -> str:
    return name.name.removesuffix(name.suffix)


def _swap(pairs: Mapping[Path, NamePair]) -> dict[Path, NamePair]:
    return {path: (second, first) for path, (first, second) in pairs.items()}


def _folders_are_prompts(pairs: Sequence[NamePair], prompts: Sequence[Prompt]) -> bool:
    """Whether the first of two names is the prompt: one we know, or a number or sentence where the other is not."""
    ids = _prompt_keys(prompts)
    first, second = ({pair[place] for pair in pairs} for place in (0, 1))
    if ids:
        return sum(_fold(name) in ids for name in first) > sum(_fold(name) in ids for name in second)
    return _prompt_like(first) and not _prompt_like(second) and len(second) <= len(first)


def _prompt_like(names: Iterable[str]) -> bool:
    """Whether all names are numbers, such as p01, or sentences of four words and more."""
    return all(
        re.fullmatch(r"(?:p|prompt|brief|id)?[-_ ]?\d+", name, re.IGNORECASE)
        or len(re.findall(r"[^\W\d_]+", name)) >= 4
        for name in names
    )


def _two_parts(stems: Mapping[Path, str], prompts: Sequence[Prompt]) -> tuple[dict[Path, NamePair], str, bool] | None:
    """The split of all names into two parts under which most of the combinations are there."""
    best: tuple[float, dict[Path, NamePair], str] | None = None
    splits: list[Callable[[str, str], Sequence[str]]] = [lambda stem, mark: stem.split(mark, 1),
                                                         lambda stem, mark: stem.rsplit(mark, 1)]  # fmt: skip
    for separator in _SEPARATORS:
        for split in splits:
            parts = {path: split(stem, separator) for path, stem in stems.items()}
            pairs = {path: (part[0], part[1]) for path, part in parts.items() if len(part) == 2 and all(part)}
            heads, tails = ({pair[place] for pair in pairs.values()} for place in (0, 1))
            if len(pairs) < 0.9 * len(stems) or min(len(heads), len(tails)) < 2:
                continue
            filled = len(set(pairs.values())) / (len(heads) * len(tails))
            if filled >= 0.5 and (best is None or filled > best[0]):
                best = (filled, pairs, separator)
    if best is None:
        return None
    _, pairs, separator = best
    heads, tails = ({pair[place] for pair in pairs.values()} for place in (0, 1))
    ids = _prompt_keys(prompts)
    if ids:
        prompt_first = sum(_fold(head) in ids for head in heads) > sum(_fold(tail) in ids for tail in tails)
    elif _prompt_like(heads) != _prompt_like(tails):
        prompt_first = _prompt_like(heads)
    else:
        prompt_first = len(heads) > len(tails)
    return (_swap(pairs) if prompt_first else pairs), separator, prompt_first


def _without_seeds(pairs: Mapping[Path, NamePair], prompts: Sequence[Prompt]) -> dict[Path, NamePair]:
    """Names that end in the same few numbers for every prompt, as fox_0, fox_1, owl_0, owl_1: the numbers are seeds."""
    ids = _prompt_keys(prompts)
    parted = {path: re.fullmatch(r"(.+?)[-_ ]+(?:seed|s|v)?(\d{1,4})", name) for path, (_, name) in pairs.items()}
    if not all(parted.values()) or sum(_fold(name) in ids for _, name in pairs.values()):
        return dict(pairs)
    numbers: dict[str, set[int]] = defaultdict(set)
    for match in parted.values():
        if match:
            numbers[match[1]].add(int(match[2]))
    seeds = next(iter(numbers.values()))
    few = 2 <= len(seeds) <= _MOST_SEEDS and seeds in (set(range(len(seeds))), set(range(1, len(seeds) + 1)))
    matching = sum(_fold(name) in ids for name in numbers)
    if not matching and (
        len(numbers) < 2 or not few or any(prompt_numbers != seeds for prompt_numbers in numbers.values())
    ):
        return dict(pairs)
    return {path: (pairs[path][0], match[1]) for path, match in parted.items() if match}


def _unreadable(root: Path, names: Sequence[str]) -> BadValue:
    return BadValue(
        "names that say which generator made a picture, and of which prompt, are needed",
        found=list_names(names),
        where=str(root),
        remedy="put the pictures of each generator into a folder of its own, with the same names in each; or say how "
        "names are read: --pattern '{generator}_{prompt}.png'",
    )


# -- prompts and seeds ----------------------------------------------------------------------------------------------


def _fold(name: str) -> str:
    return slug(name).casefold()


def _prompt_keys(prompts: Sequence[Prompt]) -> dict[str, str]:
    return {_fold(prompt.id): prompt.id for prompt in prompts}


def _match_prompts(
    names: Mapping[Path, NamePair], file_prompts: Sequence[Prompt], source: Path | None
) -> tuple[list[Prompt], dict[str, str], list[str]]:
    """The prompts; the id of each as files name it; and what to say about it."""
    file_names = list(dict.fromkeys(prompt for _, prompt in names.values()))
    if source is None:
        words = {name: re.findall(r"[^\W_]+", name) for name in file_names}
        prompts = [  # a name that is a sentence, such as a-red-fox-on-a-hill, is the prompt's text
            Prompt(id=name, text=" ".join(some) if len(some) > 2 and not any(map(str.isdigit, some)) else None)
            for name, some in words.items()
        ]
        silent = sum(prompt.text is None for prompt in prompts)
        notes = (
            [f"{silent:,} prompts have no text: --prompts FILE gives them one (columns id and text)"] if silent else []
        )
        return prompts, {name: name for name in file_names}, notes
    keys = _prompt_keys(file_prompts)
    ids = {name: keys[_fold(name)] for name in file_names if _fold(name) in keys}
    if not ids and len(file_names) == len(file_prompts):
        ids = {name: prompt.id for name, prompt in zip(file_names, file_prompts)}
        first = f"{printable_name(file_names[0])} is {file_prompts[0].id}"
        return (
            list(file_prompts),
            ids,
            [f"prompts of {source.name} are matched in the order of names: {first}, and so on"],
        )
    used = set(ids.values())
    unused = [prompt.id for prompt in file_prompts if prompt.id not in used]
    notes = [f"{len(unused):,} prompts of {source.name} have no picture: {list_names(unused)}"] if unused else []
    return [prompt for prompt in file_prompts if prompt.id in used], ids, notes


# -- the study ---------------------------------------------------------------------------------------------------------


class ImportedPictures(Noun):
    """What became of a folder of pictures."""

    study: str = Field(description="Folder of the study.")
    layout: str = Field(description="How folders and names were read.")
    generators: dict[str, int] = Field(description="Pictures of each generator.")
    prompts: int = Field(description="Prompts with at least one picture.")
    pictures: int = Field(description="Pictures in the study.")
    missing: int = Field(description="Combinations of prompt, generator and seed without a picture.")
    broken: dict[str, str] = Field(description="Pictures that could not be read, by item, and why.")
    notes: tuple[str, ...] = Field(description="What was left out or assumed.")


def import_pictures(
    layout: PictureLayout,
    folder: Path,
    *,
    name: str | None = None,
    criterion: Criterion | None = None,
    overwrite: bool = False,
    progress: GenerationCallback | None = None,
) -> ImportedPictures:
    """Copy the pictures of `layout` into the study `folder`, which is made if it is not there."""
    if overwrite or not is_study(folder):
        criteria = [] if criterion is None else [criterion]
        save_study(Study.build(name or default_name(folder), criteria, tables={}), folder, overwrite=overwrite)
    generators = [
        Folder(generator, layout.root, [prompt.id for prompt in layout.prompts], files)
        for generator, files in layout.files.items()
    ]
    report = generate_items(layout.prompts, generators, GenerateSettings(seeds=layout.seeds), folder, progress)
    return ImportedPictures(
        study=str(folder),
        layout=layout.how,
        generators={part.generator: part.made + part.reused for part in report.generators},
        prompts=len(layout.prompts),
        pictures=report.made + report.reused,
        missing=sum(failure.kind == "missing" for failure in report.failures),
        broken={failure.item: failure.reason for failure in report.failures if failure.kind != "missing"},
        notes=tuple(layout.notes),
    )
