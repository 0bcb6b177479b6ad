"""Have a generator make the posters that the generation files ask for.

    OUT/gen_task/NAME.json      the files, each record's `path` leading to its poster
    OUT/posters/                the posters: a study as `salon generate` makes it, with what became of every ask
    OUT/run.json                who made them

Each poster is kept before the next is paid for: the same call goes on where it stopped, and asks again for what failed.
A poster that is not there leaves its record as it was, and is worth nothing when scored. Verdicts on a poster go when
another picture takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import Field

from salon.bench.posters.files import POSTERS, PosterFile, RunCard, claim_folder, open_run_file
from salon.errors import BadValue
from salon.generate import (
    CallTerms,
    GenerateSettings,
    Generation,
    GenerationCallback,
    generate_items,
    item_id,
    make_generator,
    read_generations,
)
from salon.study import Generator, Noun, Prompt

VERDICTS = ("judge", "why", "oracle", "oracle_why")
"""Fields that say something about one picture."""
_ADDED = ("response", "picture", *VERDICTS)
_SAME = ("task", "name", "prompt")


class PosterGenerationReport(Noun):
    """What a run of a generator did."""

    generator: str = Field(description="Who made the posters.")
    signature: str = Field(description="What would have to be equal for the same posters.")
    wanted: int = Field(description="Prompts of the files.")
    made: int = Field(description="Posters made now.")
    kept: int = Field(description="Posters that were there already.")
    failed: dict[str, int] = Field(description="Posters that are not there, by reason: worth nothing when scored.")
    not_asked: dict[str, int] = Field(description="Items of tasks that ask for no poster, by task.")
    cost: float | None = Field(description="What the generator said it cost.")
    files: tuple[str, ...] = Field(description="Files that lead to the posters.")
    output: str = Field(description="Their folder.")
    notes: tuple[str, ...] = Field(description="What the generator has to say, a sentence each.")


def generate_named(
    files: Sequence[PosterFile], name: str, out: Path, settings: GenerateSettings, terms: CallTerms, *,
    watch: GenerationCallback | None = None,
) -> PosterGenerationReport:  # fmt: skip
    """The generator that the command line names, over the prompts of these files."""
    generator = make_generator(name, [prompt for _, _, prompt in _prompts(_generation_files(files))], terms)
    return generate_files(files, generator, out, settings, watch=watch)


def generate_files(
    files: Sequence[PosterFile],
    generator: Generator,
    out: Path,
    settings: GenerateSettings = GenerateSettings(),  # noqa: B008 - frozen
    *,
    watch: GenerationCallback | None = None,
) -> PosterGenerationReport:
    """Every poster that these files ask for and that is not in `out` yet, and the files that lead to them."""
    asking = _generation_files(files)
    started = [open_run_file(file, out / file.task.place, added=_ADDED, same=_SAME) for file in asking]
    signature = f"{generator.signature.method}|seed:{settings.seed}|size:{settings.size or 'own'}"
    claim_folder(out, RunCard(contestant=generator.name, signature=signature))
    prompts = list(_prompts(asking))
    try:
        report = generate_items([prompt for _, _, prompt in prompts], [generator], settings, out / POSTERS, watch)
    finally:  # whatever ended the run, the files lead to what is there
        generations = read_generations(out / POSTERS)[0] if (out / POSTERS).is_dir() else {}
        ids = {(task, number): item_id(p.id, generator.name, settings.seed) for task, number, p in prompts}
        for bare, there in zip(asking, started):
            _link_posters(bare, there, ids, generations, out).write(out / bare.task.place)
    (part,) = report.generators
    return PosterGenerationReport(
        generator=part.generator,
        signature=part.signature,
        wanted=report.wanted,
        made=report.made,
        kept=report.reused,
        failed=dict(sorted(report.kinds())),
        not_asked={file.task.name: len(file.items) for file in files if file not in asking},
        cost=report.cost,
        files=tuple(file.task.place for file in asking),
        output=str(out),
        notes=report.notes,
    )


def _generation_files(files: Sequence[PosterFile]) -> list[PosterFile]:
    generation_files = [file for file in files if file.task.side == "generation"]
    if not generation_files:
        raise BadValue(
            "files that ask for posters are needed", found=", ".join(file.task.name for file in files) or "none",
            remedy="gen_dense, gen_font, gen_style, gen_composition or gen_intention: of PosterIQ, or from "
            "salon bench posters make",
        )  # fmt: skip
    return generation_files


# -- prompts and where their posters are -------------------------------------------------------------------------------


def _prompts(files: Sequence[PosterFile]) -> Iterator[tuple[str, int, Prompt]]:
    """Task, number in its file, and the prompt as generators get it: the record's words and nothing else."""
    for file in files:
        names: set[str] = set()
        for item in file.items:
            stem = PurePosixPath(item.name.replace("\\", "/")).stem or str(item.number)
            name = stem if stem.startswith(file.task.name) else f"{file.task.name}-{stem}"
            name = name if name not in names else f"{name}-{item.number}"
            names.add(name)
            yield file.task.name, item.number, Prompt(id=name, text=item.prompt, category="posters")


def _link_posters(
    bare: PosterFile,
    there: PosterFile,
    ids: Mapping[tuple[str, int], str],
    generations: Mapping[str, Generation],
    out: Path,
) -> PosterFile:
    """The file with `path` leading to each poster; verdicts on another picture are taken away."""
    changes: dict[int, dict[str, Any]] = {}
    for item in bare.items:
        line = generations.get(ids[bare.task.name, item.number])
        stored = line is not None and line.is_stored(out / POSTERS)
        fields: dict[str, Any] = {
            "path": f"{POSTERS}/{line.image}" if line is not None and stored else item.path,
            "picture": (line.sha256 or "")[:12] if line is not None and stored else None,
        }
        if there.records[item.number].get("picture") != fields["picture"]:
            fields |= dict.fromkeys(VERDICTS)
        changes[item.number] = fields
    return there.edited(changes)
