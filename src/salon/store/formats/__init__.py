"""The field's files, in: `recognize` a file, read it with `import_files`, or only its study with `read_study`.

A kind may be a plugin's: the name of an installed one, or python:MODULE:NAME (see `salon.study.plugins`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from salon.errors import BadColumns, BadFile, BadValue, SalonError
from salon.store.formats import annotation_tools, hpd, hpdv3_benchmark, judgment_tables, public_datasets, vote_files
from salon.store.formats.column_labels import settle_duplicates
from salon.store.formats.column_mapping import guess_columns
from salon.store.formats.files import Head, head_of, read_records
from salon.store.formats.source import LEFT_OUT, Columns, Draft, ImportOptions, ImportResult, Policies, Source
from salon.study import Design, Study, load_plugin, plugin_lines

__all__ = [
    "KINDS",
    "Columns",
    "Draft",
    "FileFormat",
    "Head",
    "ImportOptions",
    "ImportResult",
    "Policies",
    "Source",
    "as_format",
    "format_named",
    "import_files",
    "import_form",
    "plugin_formats",
    "read_study",
    "recognize",
]


@dataclass(frozen=True)
class FileFormat:
    """One kind of file: its name, what it is, how to tell it by its beginning, and how to read it."""

    name: str
    about: str
    recognise: Callable[[Head], bool]
    read: Callable[[Source], Draft]
    parts: tuple[str, ...] = ()
    """Column flags that mean something to it; none where the layout is fixed."""
    images: bool = False
    """Whether its files may hold images, or name them."""
    by_path: bool = False
    """Whether its records name pictures by path."""
    folder: bool = False
    """Whether it is a folder and no file."""
    origin: str | None = None
    """Of a plugin: where it comes from."""


def _has(*needed: str) -> Callable[[Head], bool]:
    """Recognises a table whose columns can be guessed for all these parts."""
    return lambda head: set(needed) <= set(guess_columns(head.columns, needed))


GENERIC = {
    form.name: form
    for form in (
        FileFormat(
            "comparisons",
            "A table of votes between two items: CSV, TSV, JSON, JSONL or Parquet.",
            _has("left", "right", "outcome"),
            judgment_tables.read_comparisons,
            (*judgment_tables.COMPARISON_NEEDED, *judgment_tables.COMPARISON_OPTIONAL),
        ),
        FileFormat(
            "ratings",
            "A table of ratings, one row a rating: CSV, TSV, JSON, JSONL or Parquet.",
            lambda head: _has("item", "value")(head) or _has("prompt", "generator", "value")(head),
            judgment_tables.read_ratings,
            ("item", "value", *judgment_tables.RATING_OPTIONAL),
        ),
        FileFormat(
            "rankings",
            "A table of rankings, one row a ranked item or one row a ranking ('a>b=c').",
            lambda head: _has("item", "rank")(head) or _has("ranking")(head),
            judgment_tables.read_rankings,
            ("item", "rank", "ranking", *judgment_tables.RANKING_OPTIONAL),
        ),
    )
}
NAMED = {
    form.name: form
    for form in (
        FileFormat(
            "preflib",
            "PrefLib ballots (.soc .soi .toc .toi).",
            public_datasets.is_preflib,
            public_datasets.read_preflib,
        ),
        FileFormat("sushi", "Sushi preference orders (.order).", public_datasets.is_sushi, public_datasets.read_sushi),
        FileFormat(
            "movielens",
            "MovieLens ratings (u.data, ratings.dat, ratings.csv).",
            public_datasets.is_movielens,
            public_datasets.read_movielens,
        ),
        FileFormat(
            "hpdv2",
            "HPDv2 train.json (comparisons) or test.json (rankings).",
            hpd.is_hpdv2,
            hpd.read_hpdv2,
            images=True,
            by_path=True,
        ),
        FileFormat(
            "hpdv3",
            "HPDv3 JSON: pairs with the preferred image first.",
            hpd.is_hpdv3,
            hpd.read_hpdv3,
            ("category",),
            images=True,
            by_path=True,
        ),
        FileFormat(
            "hpdv3-benchmark",
            "HPDv3's benchmark: folders CATEGORY/MODEL with pictures and a text for each.",
            hpdv3_benchmark.is_hpdv3_benchmark,
            hpdv3_benchmark.read_hpdv3_benchmark,
            images=True,
            folder=True,
        ),
        FileFormat(
            "pickapic",
            "Pick-a-Pic rows (Parquet or CSV).",
            vote_files.is_pickapic,
            vote_files.read_pickapic,
            images=True,
        ),
        FileFormat(
            "imagereward",
            "ImageReward JSON: one agreed ranking a prompt.",
            hpd.is_imagereward,
            hpd.read_imagereward,
            images=True,
            by_path=True,
        ),
        FileFormat(
            "arena", "Arena votes of FastChat and LMSYS (JSON, JSONL, CSV).", vote_files.is_arena, vote_files.read_arena
        ),
        FileFormat(
            "genai-bench",
            "GenAI-Bench human votes with the verdicts of judges (CSV or JSONL).",
            vote_files.is_genai_bench,
            vote_files.read_genai_bench,
        ),
        FileFormat(
            "label-studio",
            "Label Studio JSON export: pairwise, choices, rating, ranker.",
            annotation_tools.is_label_studio,
            annotation_tools.read_label_studio,
            ("left", "right", "prompt"),
        ),
        FileFormat(
            "argilla",
            "Argilla 2 records as JSON: responses and suggestions.",
            annotation_tools.is_argilla,
            annotation_tools.read_argilla,
            ("left", "right", "prompt"),
        ),
        FileFormat("dsg", "DSG's TIFA160 Likert answers (CSV).", public_datasets.is_dsg, public_datasets.read_dsg),
        FileFormat(
            "imagenhub",
            "ImagenHub ratings, one TSV a rater.",
            public_datasets.is_imagenhub,
            public_datasets.read_imagenhub,
        ),
        FileFormat(
            "pwcmp",
            "pwcmp comparisons of conditions on scenes (CSV).",
            judgment_tables.is_pwcmp,
            judgment_tables.read_pwcmp,
        ),
    )
}
KINDS: dict[str, FileFormat] = {**GENERIC, **NAMED}


def format_named(kind: str) -> FileFormat:
    """The format that `kind` names, built in or a plugin's; BadValue otherwise."""
    if kind in KINDS:
        return KINDS[kind]
    loaded = load_plugin("formats", kind, KINDS)
    if loaded is None:
        names = [*KINDS, *(name for name, _ in plugin_lines("formats", KINDS))]
        raise BadValue("a known kind of file is needed", found=repr(kind), remedy="one of " + ", ".join(names))
    return as_format(loaded.part, name=kind, origin=loaded.origin)


def as_format(part: Any, *, name: str | None = None, origin: str | None = None) -> FileFormat:
    """A plugin as a FileFormat; one that is a FileFormat already keeps its flags."""
    if isinstance(part, FileFormat):
        return replace(part, name=name or part.name, origin=origin)
    return FileFormat(name or part.name, part.about, part.recognise, part.read, origin=origin)


def plugin_formats() -> list[FileFormat]:
    """The formats that other packages add; one that cannot be loaded is left out."""
    formats = []
    for name, _ in plugin_lines("formats", KINDS):
        with suppress(BadValue):
            formats.append(format_named(name))
    return formats


def recognize(path: str | Path) -> str:
    """The kind of a file by its beginning; BadFile listing the kinds when none or several fit."""
    head = head_of(Path(path))
    matches: list[str] = []
    for forms in ([*NAMED.values(), *plugin_formats()], GENERIC.values()):  # a known origin before a table in general
        matches = matches or [form.name for form in forms if form.recognise(head)]
    if len(matches) == 1:
        return matches[0]
    if head.suffix in (".json", ".jsonl") and not head.columns:
        read_records(Source("", (Path(path),), ImportOptions()), Path(path))  # where it is broken
    description = (
        f"columns {', '.join(map(repr, head.columns[:12]))}" if head.columns else f"a file {head.suffix or 'of text'}"
    )
    raise BadFile(
        "a file of one known kind is needed: " + ", ".join(KINDS),
        found=f"{'several fit: ' + ', '.join(matches) if matches else 'none fits'}; {description}",
        where=str(path),
        remedy=f"salon import KIND {Path(path).name} -o STUDY names the kind and its columns",
    )


def read_study(kind: str, paths: Sequence[str | Path], options: ImportOptions | None = None) -> Study:
    """The study in these files."""
    return import_files(kind, paths, options).study


def import_files(kind: str, paths: Sequence[str | Path], options: ImportOptions | None = None) -> ImportResult:
    """The study in these files, with every decision taken on the way."""
    return import_form(format_named(kind), paths, options)


def import_form(form: FileFormat, paths: Sequence[str | Path], options: ImportOptions | None = None) -> ImportResult:
    """The same for a format that is at hand."""
    kind = form.name
    if not paths:
        raise BadFile("at least one file is needed", found="none")
    options = options or ImportOptions()
    source = Source(kind, tuple(Path(path) for path in paths), options)
    if source.options.images is not None and not form.images:
        raise BadValue(f"--images means nothing to the kind {form.name!r}", remedy="its files have no images")
    if (source.options.image_root or source.options.remap) and not form.by_path:
        flag = "--image-root" if source.options.image_root else "--remap"
        raise BadValue(f"{flag} means nothing to the kind {form.name!r}", remedy="its files name no pictures by path")
    if (source.options.image_root or source.options.remap) and source.options.images is None:
        raise BadValue("--image-root and --remap go with --images", found="no --images")
    flags_set = [part for part, column in source.options.columns.model_dump().items() if column is not None]
    bad = next((part for part in flags_set if part not in form.parts), None)
    if bad is not None:
        flags = ", ".join("--" + part.replace("_", "-") for part in form.parts)
        raise BadValue(
            f"--{bad.replace('_', '-')} means nothing to the kind {form.name!r}",
            remedy=f"it takes {flags}" if flags else "leave it out: the layout of this kind is fixed",
        )
    if form.origin is not None:
        source.say(f"read by the plugin {form.origin}")
    try:
        draft = form.read(source)
    except BadColumns as error:
        raise _of_another_kind(error, source) from None
    study = _build(source, draft)
    notes = (*source.notes, *(f"{LEFT_OUT}: {count:,} {reason}" for reason, count in source.left_out.items()))
    files = tuple(str(path) for path in source.paths)
    columns = dict(source.columns) if kind in GENERIC else {}
    return ImportResult(study, kind, files, columns, notes, dict(source.left_out), dict(source.paths_of))


def _of_another_kind(error: BadColumns, source: Source) -> BadColumns:
    """The same error; where a file has no such column because it is of another named kind, with that kind."""
    path = source.paths[0]
    head = head_of(path)
    matches = [form.name for form in NAMED.values() if form.recognise(head)]
    by_user = any(column is not None for column in source.options.columns.model_dump().values())
    if by_user or len(matches) != 1 or matches[0] == source.kind:
        return error
    remedy = f"it looks like {matches[0]}: salon import {matches[0]} {path.name} -o STUDY"
    return BadColumns(error.needed, found=error.found, where=error.where, remedy=remedy)


def _build(source: Source, draft: Draft) -> Study:
    policies = source.options.policies
    tables = settle_duplicates(source, draft.tables)
    design = Design(kind=policies.design) if policies.design else draft.design
    place = ", ".join(str(path) for path in source.paths)
    try:
        names = ", ".join(path.name for path in source.paths)
        left_out = [f"{LEFT_OUT}: {count:,} {reason}" for reason, count in source.left_out.items()]
        note = "; ".join([f"imported from {names} as {source.kind}", *source.notes, *left_out])
        return Study.build(
            policies.name or source.paths[0].name.split(".")[0] or "study",
            draft.criteria,
            tables=tables,
            compare_within=policies.compare_within or draft.compare_within,
            design=design,
            note=note,
        )
    except SalonError as error:
        where = f"{place}: {error.where}" if error.where else place
        raise type(error)(error.needed, found=error.found, where=where, remedy=error.remedy) from None
