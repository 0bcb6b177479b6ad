"""Prompts x generators x seeds: every picture wanted, what of it is there already, and whether it can be asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from salon.errors import BadValue, InputError
from salon.generate.names import ask_digest, item_id
from salon.generate.record import Generation
from salon.generate.settings import GenerateSettings
from salon.generate.start import Start
from salon.study import Ask, Generator, Prompt, Study
from salon.study.tables import JUDGMENTS


@dataclass(frozen=True)
class Wanted:
    """One picture of the matrix."""

    item: str
    ask: Ask
    generator: Generator
    digest: str

    @property
    def signature(self) -> str:
        """The generator's signature as it is recorded."""
        return str(self.generator.signature)


@dataclass
class Matrix:
    """Every picture wanted, and what is to be done about it."""

    wanted: list[Wanted]
    make: list[Wanted] = field(default_factory=list)
    reuse: list[Wanted] = field(default_factory=list)
    keep: list[Wanted] = field(default_factory=list)
    """Judged items whose generator or prompt has changed since: another picture may not take their place."""
    leave: list[Wanted] = field(default_factory=list)
    """Not there and not to be made: failed before, or judged by a picture that is gone and cannot be drawn again."""

    def counts(self) -> list[tuple[str, int, int]]:
        """(generator, pictures to make, pictures that are there) in the order of the generators."""
        make = Counter(one.generator.name for one in self.make)
        total = Counter(one.generator.name for one in self.wanted)
        return [(name, make[name], total[name] - make[name]) for name in total]


def wanted_items(
    prompts: Sequence[Prompt],
    generators: Sequence[Generator],
    settings: GenerateSettings,
    starts: Mapping[str, Start] | None = None,
) -> list[Wanted]:
    """The whole matrix, prompt by prompt; refused before anything is spent when a generator cannot do it."""
    _check_different("prompt", [prompt.id for prompt in prompts], "prompts")
    _check_different("generator", [generator.name for generator in generators], "--generator")
    for generator in generators:
        check_abilities(generator, settings, starts_from_image=starts is not None)
    width, height = settings.width_height or (None, None)
    seeds = range(settings.seed, settings.seed + settings.seeds)
    found = []
    for prompt in prompts:
        start = _start(prompt, starts)
        asks = [
            Ask(prompt=prompt, seed=seed, width=width, height=height, strength=settings.strength, **start)
            for seed in seeds
        ]
        digests = [ask_digest(ask) for ask in asks]
        for generator in generators:
            found += [
                Wanted(item_id(prompt.id, generator.name, ask.seed), ask, generator, digest)
                for ask, digest in zip(asks, digests)
            ]
    return found


def _start(prompt: Prompt, starts: Mapping[str, Start] | None) -> dict[str, Any]:
    """What an ask says of the picture it starts from."""
    if starts is None:
        return {}
    if prompt.id not in starts:
        raise InputError(
            "a picture to start from is needed for each prompt", found="none", where=f"prompt {prompt.id!r}"
        )
    return {"image": starts[prompt.id].image, "layout": starts[prompt.id].layout}


def _check_different(noun: str, names: Sequence[str], where: str) -> None:
    if not names:
        raise InputError(f"at least one {noun} is needed", found="none", where=where)
    again = [name for name, count in Counter(names).items() if count > 1]
    if again:
        found = f"{again[0]!r} {names.count(again[0])} times"
        raise BadValue(f"each {noun} may stand once", found=found, where=where, remedy="rename or remove one of them")


def check_abilities(generator: Generator, settings: GenerateSettings, *, starts_from_image: bool) -> None:
    """BadValue when `generator` cannot do what `settings` ask for."""
    can, where = generator.abilities, f"generator {generator.name!r}"
    if starts_from_image and not can.image_to_image:
        remedy = "leave --image out, or choose another generator"
        raise BadValue("a generator that starts from a picture is needed", found="one that cannot", where=where,
                       remedy=remedy)  # fmt: skip
    if not starts_from_image and not can.text_to_image:
        remedy = "name the picture with --image"
        raise BadValue("a picture to start from is needed", found="none", where=where, remedy=remedy)
    if settings.strength is not None and not starts_from_image:
        raise BadValue("--strength needs a picture to start from", found="no --image", remedy="add --image FILE")
    size = settings.width_height
    if size is not None and can.sizes is not None and size not in can.sizes:
        possible = ", ".join(f"{width}x{height}" for width, height in can.sizes)
        raise BadValue("a size that the generator makes is needed", found=settings.size, where=where,
                       remedy=f"--size one of {possible}; or leave it out")  # fmt: skip


def sort_out(
    wanted: Sequence[Wanted], known: Mapping[str, Generation], folder: Path, judged: Iterable[str], *, retry: bool
) -> Matrix:
    """What is to be made, and what stays as it is."""
    answered = set(judged)
    matrix = Matrix(list(wanted))
    for one in wanted:
        _pile(matrix, one, known.get(one.item), folder, one.item in answered, retry).append(one)
    return matrix


def _pile(
    matrix: Matrix, one: Wanted, line: Generation | None, folder: Path, judged: bool, retry: bool
) -> list[Wanted]:
    if line is None:
        return matrix.keep if judged else matrix.make
    same = line.ask == one.digest and line.signature == one.signature
    if not line.ok:
        return matrix.make if retry or not same else matrix.leave
    if not (same or judged):
        return matrix.make
    if line.is_stored(folder):
        return matrix.reuse if same else matrix.keep
    again = not judged or (same and one.generator.abilities.seeded)
    return matrix.make if again else matrix.leave


def judged_items(study: Study) -> set[str]:
    """Ids of the items that some judgment names."""
    found: set[str] = set()
    for kind in JUDGMENTS:
        table = study.table(kind)
        for name in {"a", "b", "item", "items"} & set(table.column_names):
            column = table.column(name).combine_chunks()
            flat = column.flatten() if name == "items" else column
            found.update(flat.unique().to_pylist())
    return found
