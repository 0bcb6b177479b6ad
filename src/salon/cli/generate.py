"""The commands that make the items of a study, and that say whether it is ready to be shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from salon.cli.console import count, counting, json_option, out, print_json, print_table, printable, say, working
from salon.cli.options import options_from, settings_from
from salon.errors import SalonError
from salon.generate import results
from salon.generate.curate import in_turns
from salon.generate.matrix import Matrix, judged_items, sort_out, wanted_items
from salon.generate.named import HOW, Terms, generators_named, house_help
from salon.generate.prompts import read_prompts
from salon.generate.ready import ReadyReport, ReadySettings, check_ready
from salon.generate.record import read_generations
from salon.generate.run import Watch, generate_items
from salon.generate.settings import GenerateSettings
from salon.generate.start import read_start
from salon.store.folder import is_study, open_study

MOST_FAILURES = 10
"""Failures printed; all of them are in --json, in the record and in the gallery."""


class _Houses(click.Command):
    """A command whose help ends with the built-in houses; they are loaded only for that."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Houses"):
            formatter.write_dl(house_help())


@click.command(cls=_Houses)
@click.argument("prompts")
@click.option(
    "-g", "--generator", "names", multiple=True, required=True, metavar="NAME",
    help=f"Who makes pictures: {HOW} (repeatable).",
)  # fmt: skip
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Study folder: a new one, or one to extend."
)
@options_from(GenerateSettings)
@click.option(
    "--image",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Picture to start from (image-to-image); for a house a poster of its own, in its study.",
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
    settings = settings_from(GenerateSettings, flags)
    asked = read_prompts(prompts)
    asked = asked if limit is None else in_turns(asked, limit)
    starts = None if image is None else dict.fromkeys([one.id for one in asked], read_start(image))
    if dry_run:
        with TemporaryDirectory(prefix="salon-") as folder:
            generators = generators_named(names, asked, Terms(Path(folder) / "calls", prices, budget))
            wanted = wanted_items(asked, generators, settings, starts)
        _print_plan(_planned(wanted, output.resolve(), settings), len(asked), output, as_json)
        return
    kept = calls or output.resolve().with_name(f"{output.resolve().name}.calls.sqlite")
    generators = generators_named(names, asked, Terms(kept, prices, budget))
    with _watched(quiet=as_json) as watch:
        report = generate_items(asked, generators, settings, output, watch, starts=starts)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print_report(report, output)
    if not report.is_complete:
        click.get_current_context().exit(1)


# -- what would be made ----------------------------------------------------------------------------------------------


def _planned(wanted: Sequence[Any], folder: Path, settings: GenerateSettings) -> Matrix:
    known = read_generations(folder)[0] if folder.is_dir() else {}
    judged = judged_items(open_study(folder)) if is_study(folder) else set()
    return sort_out(wanted, known, folder, judged, retry=settings.retry)


def _print_plan(matrix: Matrix, prompts: int, output: Path, as_json: bool) -> None:
    rows = matrix.counts()
    if as_json:
        parts = [{"generator": name, "make": make, "there": there} for name, make, there in rows]
        print_json({"study": str(output), "dry_run": True, "prompts": prompts, "wanted": len(matrix.wanted),
                    "make": len(matrix.make), "generators": parts})  # fmt: skip
        return
    say(f"would make {len(matrix.make):,} of {len(matrix.wanted):,} pictures of {prompts:,} prompts in {output}")
    print_table(None, ("generator", "to make", "there"), [(name, f"{make:,}", f"{n:,}") for name, make, n in rows])


# -- progress --------------------------------------------------------------------------------------------------------


@contextmanager
def _watched(*, quiet: bool) -> Iterator[Watch]:
    """A bar while pictures are made; what was done so far when somebody stops it."""
    latest = results.Progress(0)
    try:
        with counting("generating", quiet=quiet) as tell:

            def watch(progress: results.Progress) -> None:
                nonlocal latest
                latest = progress
                tell(progress.done, progress.wanted, _told(progress))

            yield watch
    except (KeyboardInterrupt, SalonError):
        if latest.wanted:
            say(f"{_told(latest)}; run the same command again to go on", err=True)
        raise


def _told(progress: results.Progress) -> str:
    parts = [f"{progress.made:,} made", f"{progress.reused:,} there", f"{progress.failed:,} failed"]
    if progress.cost is not None:
        parts.append(f"cost {progress.cost:,.2f}")
    return ", ".join(parts)


def _print_report(report: results.GenerateReport, output: Path) -> None:
    say(f"{report.made + report.reused:,} of {report.wanted:,} pictures are in {output}", bold=True)
    rows = [
        (part.generator, *(f"{n:,}" for n in (part.wanted, part.made, part.reused, part.failed)))
        for part in report.generators
    ]
    print_table(None, ("generator", "wanted", "made", "there before", "failed"), rows)
    cost = "" if report.cost is None else f", cost {report.cost:,.4f}"
    say(f"{report.seconds:.1f} s{cost}", dim=True)
    for note in report.notes:
        say(f"- {note}")
    if report.failures:
        _print_failures(report)
    next_step = f"salon ready {output}" if report.is_complete else "the same command again tries what failed"
    out().print(f"next: {next_step}", style="dim", markup=False)


def _print_failures(report: results.GenerateReport) -> None:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.kinds())
    say(f"failed: {kinds}", fg="yellow")
    for failure in report.failures[:MOST_FAILURES]:
        say(f"- {failure.item}: {failure.kind}: {printable(failure.reason)}")
    if len(report.failures) > MOST_FAILURES:
        say(f"... and {len(report.failures) - MOST_FAILURES:,} more (--json prints all)")


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
    with working("looking at pictures") as step:
        report = check_ready(study, settings_from(ReadySettings, flags), progress=step)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print_ready(report)
    if not report.ready:
        click.get_current_context().exit(1)


def _print_ready(report: ReadyReport) -> None:
    answer = "ready to be shown" if report.ready else f"not ready: {len(report.problems):,} problems"
    say(f"{report.study}: {answer}", bold=True, fg="green" if report.ready else "yellow")
    sizes = ", ".join(f"{size.width}x{size.height} ({size.items:,})" for size in report.sizes[:5]) or "unknown"
    items = f"{count(report.items, 'item')} of {count(report.prompts, 'prompt')}"
    say(f"{items} by {count(len(report.generators), 'generator')}; sizes {sizes}")
    for kind, number in report.kinds():
        say(f"{kind}: {number:,}", fg="yellow")
        told = [problem for problem in report.problems if problem.kind == kind]
        for problem in told[:MOST_FAILURES]:
            say(f"- {problem.where}: {problem.told}")
        if number > MOST_FAILURES:
            say(f"... and {number - MOST_FAILURES:,} more (--json prints all)")
    for note in report.notes:
        say(f"- {note}", dim=True)
