"""`salon generate`, `ready` and `gallery`: make the pictures of a study, check them and look at them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import (
    count,
    json_option,
    print_json,
    print_table,
    printable,
    progress_bar,
    result_console,
    say,
    spinner,
)
from salon.cli.options import options_from, settings_from
from salon.errors import BadFile, BadValue, SalonError
from salon.generate import GENERATOR_FORMS, GenerateSettings, ReadySettings

if TYPE_CHECKING:
    from salon.generate import GenerationCallback, Matrix, StudyGallery, record as results

MOST_FAILURES = 10
"""Failures printed; all of them are in --json, in the record and in the gallery."""


class _GenerateCommand(click.Command):
    """A command whose help ends with the built-in generators; they are loaded only for that."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from salon.generate import house_help

        with formatter.section("Built-in generators"):
            formatter.write_dl(house_help())


@click.command(cls=_GenerateCommand)
@click.argument("prompts")
@click.option(
    "-g", "--generator", "names", multiple=True, required=True, metavar="NAME",
    help=f"Who makes pictures: {GENERATOR_FORMS} (repeatable).",
)  # fmt: skip
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Study folder: a new one, or one to extend."
)
@options_from(GenerateSettings)
@click.option(
    "--image",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Picture to start from (image-to-image); for a built-in generator, one of its own posters in its study.",
)
@click.option("--limit", type=click.IntRange(1), help="Only this many prompts; categories take turns.")
@click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Prices of hosted generators, TOML.",
)
@click.option("--budget", type=click.FloatRange(0), help="The most that hosted generators may spend in this run.")
@click.option(
    "--calls",
    type=click.Path(path_type=Path),
    help="File that keeps bought answers  [default: OUTPUT.calls.sqlite]",
)
@click.option("--dry-run", is_flag=True, help="Say what would be made, and make nothing.")
@json_option
def generate(
    prompts: str,
    names: Sequence[str],
    output: Path,
    image: Path | None,
    limit: int | None,
    prices: Path | None,
    budget: float | None,
    calls: Path | None,
    dry_run: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Make an item for each prompt of PROMPTS by each generator.

    PROMPTS is a file (.txt with one prompt per line, .csv, .jsonl, .toml), a study folder, or the name of a built-in
    set of briefs. The study keeps every picture as soon as it is made: run the same command again to go on after an
    interruption, to try failures again, or with more prompts, seeds or generators to extend the study. Judgments that
    it holds stay.

    Exit code 0 when every picture is there, 1 when some failed.

    \b
      salon generate briefs --generator atelier --generator carnival -o study --limit 20
      salon generate prompts.txt -g openai:gpt-image-1 -o study --prices prices.toml --budget 20
      salon generate prompts.csv -g diffusers:./sdxl -g folder:flux=pictures/flux -o study
      salon generate study -g photographs:camera=photos -o study          photographs beside generated pictures
      salon generate briefs -g atelier -o study --dry-run                 what would be made?
    """
    from salon.generate import (
        CallTerms,
        generate_items,
        make_generators,
        read_prompts,
        read_start,
        request_pictures,
        take_category_turns,
    )

    settings = settings_from(GenerateSettings, flags)
    prompt_list = read_prompts(prompts)
    prompt_list = prompt_list if limit is None else take_category_turns(prompt_list, limit)
    starts = None if image is None else dict.fromkeys([prompt.id for prompt in prompt_list], read_start(image))
    if dry_run:
        with TemporaryDirectory(prefix="salon-") as folder:
            generators = make_generators(names, prompt_list, CallTerms(Path(folder) / "calls", prices, budget))
            planned_items = request_pictures(prompt_list, generators, settings, starts)
        plan_pictures = _plan_pictures(planned_items, output.resolve(), settings)
        _print_plan(plan_pictures, len(prompt_list), output, as_json)
        return
    calls_file = calls or output.resolve().with_name(f"{output.resolve().name}.calls.sqlite")
    generators = make_generators(names, prompt_list, CallTerms(calls_file, prices, budget))
    with _generation_progress(quiet=as_json) as watch:
        report = generate_items(prompt_list, generators, settings, output, watch, starts=starts)
    if as_json:
        print_json(report)
    else:
        say(f"{report.made + report.reused:,} of {report.wanted:,} pictures are in {output}", bold=True)
        rows = [(part.generator, *(part.wanted, part.made, part.reused, part.failed)) for part in report.generators]
        print_table(None, ("generator", "wanted", "made", "there before", "failed"), rows)
        cost = "" if report.cost is None else f", cost {report.cost:,.4f}"
        say(f"{report.seconds:.1f} s{cost}", dim=True)
        for note in report.notes:
            say(f"- {note}")
        if report.failures:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.kinds())
            say(f"failed: {kinds}", fg="yellow")
            for failure in report.failures[:MOST_FAILURES]:
                say(f"- {failure.item}: {failure.kind}: {printable(failure.reason)}")
            if len(report.failures) > MOST_FAILURES:
                say(f"... and {len(report.failures) - MOST_FAILURES:,} more (--json prints all)")
        next_step = f"salon ready {output}" if report.is_complete else "the same command again tries what failed"
        result_console().print(f"next: {next_step}", style="dim", markup=False)
    if not report.is_complete:
        click.get_current_context().exit(1)


# -- what would be made ----------------------------------------------------------------------------------------------


def _plan_pictures(planned_items: Sequence[Any], folder: Path, settings: GenerateSettings) -> Matrix:
    from salon.generate import judged_items, read_generations, sort_requests
    from salon.store import is_study, open_study

    records = read_generations(folder)[0] if folder.is_dir() else {}
    judged_ids = judged_items(open_study(folder)) if is_study(folder) else set()
    return sort_requests(planned_items, records, folder, judged_ids, retry=settings.retry)


def _print_plan(matrix: Matrix, prompts: int, output: Path, as_json: bool) -> None:
    rows = matrix.counts()
    if as_json:
        parts = [{"generator": name, "make": make, "there": there} for name, make, there in rows]
        print_json({"study": str(output), "dry_run": True, "prompts": prompts, "wanted": len(matrix.requests),
                    "make": len(matrix.make), "generators": parts})  # fmt: skip
        return
    say(f"would make {len(matrix.make):,} of {len(matrix.requests):,} pictures of {prompts:,} prompts in {output}")
    print_table(None, ("generator", "to make", "there"), rows)


# -- progress --------------------------------------------------------------------------------------------------------


@contextmanager
def _generation_progress(*, quiet: bool) -> Iterator[GenerationCallback]:
    """A bar while pictures are made; what was done so far when somebody stops it."""
    from salon.generate import record as results

    latest = results.GenerationProgress(0)
    try:
        with progress_bar("generating", quiet=quiet) as tell:

            def watch(progress: results.GenerationProgress) -> None:
                nonlocal latest
                latest = progress
                tell(progress.done, progress.wanted, _progress_words(progress))

            yield watch
    except (KeyboardInterrupt, SalonError):
        if latest.wanted:
            say(f"{_progress_words(latest)}; run the same command again to go on", err=True)
        raise


def _progress_words(progress: results.GenerationProgress) -> str:
    parts = [f"{progress.made:,} made", f"{progress.reused:,} there", f"{progress.failed:,} failed"]
    if progress.cost is not None:
        parts.append(f"cost {progress.cost:,.2f}")
    return ", ".join(parts)


# -- ready -----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@options_from(ReadySettings)
@json_option
def ready(study: Path, as_json: bool, **flags: Any) -> None:
    """Are the pictures of STUDY ready to be shown to raters?

    Every item needs a picture that decodes; the pictures of a prompt need one aspect ratio and may not be the same
    picture twice; every generator needs an item for every prompt. Failed generations are listed. Exit code 0 when
    the study is ready, 1 when it is not.

    \b
      salon ready study
      salon ready study --partial              prompts may lack a generator
      salon ready study --tolerance 0.05       aspect ratios may differ by 5%
    """
    from salon.generate import check_ready

    with spinner("looking at pictures") as step:
        report = check_ready(study, settings_from(ReadySettings, flags), progress=step)
    if as_json:
        print_json(report)
    else:
        answer = "ready to be shown" if report.ready else f"not ready: {len(report.problems):,} problems"
        say(f"{report.study}: {answer}", bold=True, fg="green" if report.ready else "yellow")
        sizes = ", ".join(f"{size.width}x{size.height} ({size.items:,})" for size in report.sizes[:5]) or "unknown"
        items = f"{count(report.items, 'item')} of {count(report.prompts, 'prompt')}"
        say(f"{items} by {count(len(report.generators), 'generator')}; sizes {sizes}")
        for kind, number in report.kinds():
            say(f"{kind}: {number:,}", fg="yellow")
            problems = [problem for problem in report.problems if problem.kind == kind]
            for problem in problems[:MOST_FAILURES]:
                say(f"- {problem.where}: {problem.told}")
            if number > MOST_FAILURES:
                say(f"... and {number - MOST_FAILURES:,} more (--json prints all)")
        for note in report.notes:
            say(f"- {note}", dim=True)
    if not report.ready:
        click.get_current_context().exit(1)


# -- gallery --------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the page here.")
@click.option("--embed", is_flag=True, help="Put thumbnails into the page, which then needs no other file.")
@click.option("--width", type=click.IntRange(64, 2048), default=480, show_default=True, help="Width of thumbnails.")
@click.option("--sheet", type=click.Path(path_type=Path, dir_okay=False), help="Write one PNG with a grid of items.")
@click.option("--columns", type=click.IntRange(1, 40), default=4, show_default=True, help="Columns of the sheet.")
@click.option("--count", type=click.IntRange(1, 1000), default=12, show_default=True, help="Items on the sheet.")
@click.option(
    "--item", "items", multiple=True, metavar="ID", help="This item on the sheet, in this order (repeatable)."
)
@click.option(
    "--sheet-width", type=click.IntRange(100, 8192), default=1600, show_default=True, help="Pixels across the sheet."
)
@json_option
def gallery(
    study: Path,
    output: Path | None,
    embed: bool,
    width: int,
    sheet: Path | None,
    columns: int,
    count: int,
    items: Sequence[str],
    sheet_width: int,
    as_json: bool,
) -> None:
    """A contact sheet of the pictures of STUDY: prompts down, generators across.

    The page needs no network. It shows what failed in its place, filters by category and generator, and opens a
    picture in full by a click. Thumbnails stand in a folder beside it, or in the page itself with --embed.

    \b
      salon gallery study -o gallery.html
      salon gallery study -o gallery.html --embed             one file to send
      salon gallery study --sheet sheet.png --columns 6 --count 24
    """
    from salon.generate import study_sheet, write_gallery
    from salon.report import page_target
    from salon.store import whole_file

    if output is None and sheet is None:
        raise BadValue("something to write is needed", found="neither -o nor --sheet", remedy="add -o gallery.html")
    if output is not None:
        page_target(output)  # refuse before drawing what could not be written after
    if sheet is not None:
        if sheet.suffix.lower() != ".png":
            raise BadFile("a sheet is written as .png", found=sheet.name, remedy=sheet.with_suffix(".png").name)
        if not sheet.absolute().parent.is_dir():
            raise BadFile("the folder of the sheet must be there", found="none", where=str(sheet.absolute().parent))
        data = study_sheet(study, items=items, count=count, columns=columns, width=sheet_width)
        with whole_file(sheet) as file:
            file.write(data)
    result = None
    if output is not None:
        with spinner("thumbnails") as step:
            result = write_gallery(study, output, embed=embed, width=width, progress=step)
    _print_gallery(study, result, output, sheet, as_json)


def _print_gallery(
    study: Path, result: StudyGallery | None, output: Path | None, sheet: Path | None, as_json: bool
) -> None:
    if as_json:
        counts = {} if result is None else {"prompts": len(result.rows), "generators": list(result.generators),
                                          "pictures": result.pictures, "failed": result.failed}  # fmt: skip
        files = {name: None if path is None else str(path) for name, path in (("page", output), ("sheet", sheet))}
        print_json({"study": str(study), **files, **counts})
        return
    if result is not None:
        failed = f", {result.failed:,} could not be shown" if result.failed else ""
        say(f"{count(result.pictures, 'picture')} of {count(len(result.rows), 'prompt')}{failed}: {output}")
    if sheet is not None:
        say(f"sheet: {sheet}")
