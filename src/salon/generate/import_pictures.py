"""A folder of pictures that are there already as a study: read its layout, then keep every picture as a run would."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from salon.generate.folder import Folder
from salon.generate.picture_layout import PictureLayout
from salon.generate.run import Watch, generate_items
from salon.generate.settings import GenerateSettings
from salon.store.folder import is_study, name_after, save_study
from salon.study import Criterion, Study
from salon.study.noun import Noun


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
    progress: Watch | None = None,
) -> ImportedPictures:
    """Copy the pictures of `layout` into the study `folder`, which is made if it is not there."""
    if overwrite or not is_study(folder):
        criteria = [] if criterion is None else [criterion]
        save_study(Study.build(name or name_after(folder), criteria, tables={}), folder, overwrite=overwrite)
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
