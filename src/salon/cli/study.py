"""`salon init`, `import`, `export` and `merge`: make, read, write and join studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import click

import salon
from salon.cli.console import count, json_option, print_json, print_table, printable, progress_bar, result_console, say
from salon.cli.options import (
    PluginChoice,
    SectionedCommand,
    options_from,
    output_option,
    overwrite_option,
    settings_from,
)
from salon.cli.study_argument import STUDY
from salon.errors import BadFile, BadValue, UnknownReference
from salon.store import EXPORTS, FIELD_FILES, KINDS, Columns, Policies

if TYPE_CHECKING:
    from salon.fuse import DerivedRankings
    from salon.generate import GenerationProgress, ImportedPictures
    from salon.study import CompareWithin, Criterion, Study

DERIVED = "rankings"


# -- init --------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--criteria", multiple=True, help="Built-in criterion, or a family such as taste/... (repeatable).")
@click.option("--name", help="Name of the study; the folder's name when left out.")
@click.option(
    "--compare-within",
    type=click.Choice(["prompt", "category", "all"]),
    default="prompt",
    show_default=True,
    help="What two items must share to be compared.",
)
@overwrite_option
@json_option
def init(
    study: Path,
    criteria: Sequence[str],
    name: str | None,
    compare_within: CompareWithin,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Start an empty study folder STUDY.

    \b
      salon init posters --criteria taste/mood --criteria taste/color-harmony
      salon init posters --criteria taste/...          all criteria of the family
    """
    from salon.store import default_name, save_study
    from salon.study import Study, builtin_criteria, matching_criteria

    _refuse_to_replace(study, overwrite)
    chosen = [match for pattern in criteria for match in matching_criteria(pattern)]
    new_study = Study.build(
        name or default_name(study), dict.fromkeys(chosen), tables={}, compare_within=compare_within
    )
    save_study(new_study, study, overwrite=overwrite)
    if as_json:
        print_json(
            {
                "study": str(study),
                "name": new_study.name,
                "criteria": [criterion.id for criterion in new_study.criteria],
            }
        )
        return
    say(f"started {study} with {count(len(new_study.criteria), 'criterion', 'criteria')}")
    if not new_study.criteria:
        say("built in: " + ", ".join(builtin_criteria()))


# -- import ------------------------------------------------------------------------------------------------------


PICTURES = "pictures"


class _ImportCommand(SectionedCommand):
    """A command whose help ends with the kinds of files, each with a sentence."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from salon.store import plugin_formats

        with formatter.section("Kinds"):
            kinds = [(form.name, form.about) for form in KINDS.values()]
            pictures = (PICTURES, "A folder of pictures: generators and prompts by folders and names.")
            own = ("python:MODULE:NAME", "A format of your own.")
            plugins = [(form.name, f"{form.about} Plugin: {form.origin}.") for form in plugin_formats()]
            formatter.write_dl([*kinds, pictures, own, *plugins])


@click.command("import", cls=_ImportCommand)
@click.argument("kind", type=PluginChoice("formats", [*KINDS, PICTURES]), metavar="KIND")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@output_option("Folder of the new study.")
@click.option(
    "--left-known/--left-unknown",
    "left_known",
    default=None,
    help="Say that --left was (or may not have been) shown on the left; guessed from column names otherwise.",
)
@options_from(Columns, section="Columns of comparisons, ratings and rankings")
@options_from(Policies)
@click.option(
    "--images", is_flag=True,
    help="Keep the pictures that the files hold (Pick-a-Pic) or name by path (HPDv2, HPDv3, ImageReward, benchmark).",
)  # fmt: skip
@click.option("--image-root", type=click.Path(path_type=Path),
              help="With --images: where relative paths begin  [default: the folder of the file]")  # fmt: skip
@click.option("--remap", multiple=True, metavar="OLD=NEW",
              help="With --images: absolute paths below OLD are below the folder NEW here (repeatable).")  # fmt: skip
@click.option("--prompts", type=click.Path(path_type=Path, dir_okay=False),
              help="Of pictures: their prompts, .csv, .jsonl, .txt, .toml  [default: prompts.* there]")  # fmt: skip
@click.option("--pattern", help="Of pictures: how names are read, such as '{generator}_{prompt}_{seed}.png'.")
@overwrite_option
@json_option
def import_(kind: str, files: Sequence[Path], output: Path, overwrite: bool, as_json: bool, **flags: Any) -> None:
    """Read FILE... of KIND into the study folder OUTPUT.

    Column flags are for comparisons, ratings and rankings; what is not named is guessed and the guess is printed.
    Files may be gzipped. Nothing is written unless everything is right.

    A folder of pictures becomes a study, too: generators and prompts are found by folders and names, and what was
    understood is printed.

    \b
      salon import pictures renders/ -o study
      salon import comparisons votes.csv --left left --right right --outcome winner --rater worker -o study
      salon import ratings scores.parquet --item image --value stars --rater user --scale 1:5:1 -o study
      salon import rankings orders.csv --item image --rank place --prompt brief -o study
      salon import imagenhub rater1.tsv rater2.tsv rater3.tsv -o study
      salon import hpdv3 all.json --images --remap /data/hpdv3=pictures -o study
    """
    from salon.store import ImportOptions, default_name, import_files, save_study

    if any(file.exists() and output.exists() and file.samefile(output) for file in files):
        raise BadFile("the output must be another place than the input", found=str(output), remedy="choose another -o")
    _refuse_to_replace(output, overwrite)
    if kind == PICTURES:
        _import_pictures(files, output, overwrite, as_json, flags)
        return
    with TemporaryDirectory(prefix="salon-") as folder:
        options = ImportOptions(
            columns=settings_from(Columns, flags),
            policies=settings_from(Policies, flags | {"name": flags["name"] or default_name(output)}),
            left_known=flags["left_known"],
            images=Path(folder) if flags["images"] else None,
            image_root=flags["image_root"],
            remap=flags["remap"],
        )
        imported = import_files(kind, files, options)
        save_study(imported.study, output, overwrite=overwrite, images=options.images)
    if as_json:
        print_json({"study": str(output), **imported.record()})
    else:
        study = imported.study
        names = ", ".join(Path(file).name for file in imported.files)
        say(f"read {names} as {imported.kind}: study {study.name!r} in {output}")
        rows = list(study.counts.items())
        print_table(None, ("table", "rows"), rows)
        say(f"criteria: {', '.join(criterion.id for criterion in study.criteria)}")
        say(f"items are compared within: {study.compare_within}; design: {study.design.kind}")
        total = len(study.comparisons)
        if total:
            ties = int((study.comparisons.outcome == 2).sum())
            bad = int((study.comparisons.outcome == 3).sum())
            say(f"outcomes: {ties / total:.1%} ties, {bad / total:.1%} both bad, of {total:,}")
        skipped = {kind: getattr(study, kind).skipped for kind in ("comparisons", "rankings", "ratings")}
        if any(skipped.values()):
            say("skipped: " + ", ".join(f"{count:,} {kind}" for kind, count in skipped.items() if count))
        for note in imported.notes:
            say(f"- {note}")
        result_console().print(f"next: salon check {output}", style="dim", markup=False)


def _import_pictures(
    files: Sequence[Path], output: Path, overwrite: bool, as_json: bool, flags: dict[str, Any]
) -> None:
    if len(files) > 1:
        raise BadValue(
            "one folder of pictures is needed",
            found=f"{len(files)} places",
            remedy="name the folder above them: each folder in it is a generator",
        )
    imported = pictures_as_study(
        files[0], output, prompts=flags["prompts"], pattern=flags["pattern"], criterion=flags["criterion_id"],
        name=flags["name"], overwrite=overwrite, quiet=as_json,
    )  # fmt: skip
    if as_json:
        print_json(imported)
        return
    print_pictures(imported)
    result_console().print(f"next: salon serve {output}", style="dim", markup=False)


def _refuse_to_replace(path: Path, overwrite: bool) -> None:
    from salon.store import is_study

    if is_study(path.resolve()) and not overwrite:
        raise BadFile(
            "a study is only replaced when asked to",
            found="a study that is there already",
            where=str(path),
            remedy="choose another place, or add --overwrite",
        )


# -- export and merge --------------------------------------------------------------------------------------------


@click.command()
@click.argument("study", type=STUDY)
@click.option(
    "--to",
    type=click.Choice([*EXPORTS, *FIELD_FILES, DERIVED]),
    default="parquet",
    show_default=True,
    help="Form of the tables.",
)
@output_option("Folder to write; with --to rankings a file: .csv, .parquet or .jsonl.")
@click.option(
    "--equal",
    type=click.Choice(["shared", "drawn", "leave-out"]),
    default="shared",
    show_default=True,
    help="With --to rankings: items of equal strength share the better rank, are ordered by a seeded lot, or leave the "
    "ranking out.",
)
@click.option(
    "--images", type=click.Path(path_type=Path, file_okay=False), help="Study folder with the pictures, for a database."
)
@click.option("--excel-safe", is_flag=True, help="With --to csv: no cell is run as a formula by a spreadsheet.")
@overwrite_option
@json_option
def export(
    study: Path | str,
    to: str,
    output: Path,
    equal: Literal["shared", "drawn", "leave-out"],
    images: Path | None,
    excel_safe: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write STUDY as Parquet, CSV, JSONL or a Hugging Face folder with a data card, or in a format of the field.

    The first four are study folders again: nothing is lost on the way, and every command takes them. hpdv2, hpdv3,
    pickapic, arena (FastChat's votes) and preflib hold answers only, one file for each criterion; what does not fit is
    counted. rankings is one table: the ranking of every rater, prompt and criterion that the rater's own comparisons
    give, with what was done about cycles, ties and missing pairs.

    \b
      salon export study --to csv -o tables
      salon export study --to huggingface -o upload
      salon export study --to hpdv3 -o pairs
      salon export study --to rankings -o rankings.csv
    """
    from salon.store import check_target, export_field, export_study, open_place

    if to == DERIVED:
        check_target(output, overwrite=overwrite)
        _print_rankings(salon.derive_rankings(open_place(study), equal=equal), output, overwrite, as_json)
        return
    study_data = open_place(study)
    _refuse_to_replace(output, overwrite)
    if isinstance(study, Path) and output.exists() and output.resolve() == study.resolve():
        raise BadFile("the output must be another place than the study", found=str(output))
    if excel_safe and to != "csv":
        raise BadValue("--excel-safe is for CSV tables", found=f"--to {to}", remedy="--to csv --excel-safe")
    if to in FIELD_FILES:
        result = export_field(study_data, output, to)
        if as_json:
            print_json({"folder": str(output), "files": result.rows, "left_out": dict(result.left_out)})
        else:
            print_table(None, ("file", "records"), list(result.rows.items()))
            for reason, number in result.left_out.items():
                say(f"left out: {number:,} {reason}")
            say(f"wrote {output}")
        return
    pictures = images or (study if isinstance(study, Path) else None)
    export_study(study_data, output, to, overwrite=overwrite, images=pictures, excel_safe=excel_safe)
    _print_written(study_data, output, as_json, to=to)


def _print_rankings(derived: DerivedRankings, output: Path, overwrite: bool, as_json: bool) -> None:
    from salon.store import write_plain

    write_plain(derived.table, output, overwrite=overwrite)
    if as_json:
        facts = {"rankings": derived.rankings, "counts": derived.counts, "policies": derived.policies}
        print_json({"file": str(output), **facts, "signature": str(derived.signature)})
        return
    print_table(
        None,
        ("rankings", "number"),
        [("derived", derived.rankings), *derived.counts.items()],
    )
    for policy in derived.policies:
        say(f"- {policy}")
    say(f"wrote {output}")


@click.command("merge")
@click.argument("studies", nargs=-1, required=True, metavar="STUDY...", type=STUDY)
@output_option("Folder of the merged study.")
@click.option("--name", help="Name of the merged study; the folder's name when left out.")
@overwrite_option
@json_option
def merge_(studies: Sequence[Path | str], output: Path, name: str | None, overwrite: bool, as_json: bool) -> None:
    """Put several studies into one; their criteria, prompts, items and raters must agree where they share ids.

    The pictures of study folders come along.

    \b
      salon merge week1 week2 -o all
    """
    from salon.store import default_name, open_place, save_study
    from salon.study import merge

    if len(studies) < 2:
        raise BadValue("at least two studies are needed to merge", found=str(len(studies)))
    _refuse_to_replace(output, overwrite)
    merged = merge([open_place(place) for place in studies], name=name or default_name(output))
    pictures = [place for place in studies if isinstance(place, Path)]
    save_study(merged, output, overwrite=overwrite, images=pictures)
    _print_written(merged, output, as_json, merged=[str(place) for place in studies])


def _print_written(study: Study, output: Path, as_json: bool, **facts: Any) -> None:
    if as_json:
        record = {"study": str(output), "name": study.name, **facts, "counts": study.counts, "data": study.hash[:12]}
        print_json(record)
        return
    print_table(None, ("table", "rows"), list(study.counts.items()))
    say(f"wrote {output}")


# -- pictures -------------------------------------------------------------------------------------------------------

_MOST_BROKEN = 10


def pictures_as_study(
    root: Path,
    output: Path,
    *,
    prompts: Path | None = None,
    pattern: str | None = None,
    criterion: str | None = "preference",
    name: str | None = None,
    overwrite: bool = False,
    quiet: bool = False,
) -> ImportedPictures:
    """Read the layout of `root` and copy its pictures into the study `output`, with a bar."""
    from salon.generate import import_pictures, read_layout

    layout = read_layout(root, pattern=pattern, prompts=prompts)
    with progress_bar("reading pictures", quiet=quiet) as tell:

        def watch(progress: GenerationProgress) -> None:
            tell(progress.done, progress.wanted, "")

        chosen = None if criterion is None else _criterion(criterion)
        return import_pictures(layout, output, name=name, criterion=chosen, overwrite=overwrite, progress=watch)


def _criterion(id: str) -> Criterion:
    from salon.study import Criterion, builtin_criterion

    try:
        return builtin_criterion(id)
    except UnknownReference:
        return Criterion(id=id)


def print_pictures(imported: ImportedPictures) -> None:
    """What was found and understood."""
    generators = len(imported.generators)
    say(
        f"{imported.pictures:,} pictures of {imported.prompts:,} prompts by {generators:,} generators "
        f"are in {imported.study}",
        bold=True,
    )
    say(f"read as: {imported.layout}")
    rows = [(printable(name), count) for name, count in imported.generators.items()]
    print_table(None, ("generator", "pictures"), rows)
    if imported.missing:
        say(f"- {imported.missing:,} combinations of prompt and generator have no picture")
    for note in imported.notes:
        say(f"- {printable(note)}")
    for item, reason in list(imported.broken.items())[:_MOST_BROKEN]:
        say(f"- could not be read: {item}: {printable(reason)}", fg="yellow")
    if generators < 2:
        say("- one generator alone: pictures are compared within a prompt only if it has several", fg="yellow")
