"""The command that draws, looks, revises and draws again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from salon.cli.console import html_option, json_option, print_json, print_table, say, watching, write_page
from salon.cli.judge_asked import judge_options
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.generate.asked import asked_prompts
from salon.generate.named import Terms, generator_named
from salon.judge.named import Named
from salon.judge.scorers.named import scorer_named
from salon.report.numbers import p_value, with_interval
from salon.select.refine.page import refine_page
from salon.select.refine.record import FOLDER
from salon.select.refine.refine import RefineSettings
from salon.select.refine.results import RefineReport
from salon.select.refine.run import refine_study
from salon.select.refine.scores import PointsBy, answering_vlm, diagnosing_vlm
from salon.store.point_files import read_points

PAGE = "index.html"


@click.command(cls=SectionedCommand)
@click.argument("prompts")
@click.option("-g", "--generator", "drawing", required=True, metavar="NAME", help="As for salon generate; one.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, file_okay=False),
              help="Study folder: a new one, or that of the same loop.")  # fmt: skip
@click.option("-s", "--scorer", "scorers", multiple=True, metavar="NAME",
              help="Scores every picture, as for salon score (repeatable).")  # fmt: skip
@click.option("--points", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              help="Points of a checklist that every picture is held against.")  # fmt: skip
@click.option("--points-by", type=click.Choice(get_args(PointsBy)), default="pixels", show_default=True,
              help="Who answers them: rules on pixels, the record of a drawn poster, the VLM that looks.")  # fmt: skip
@click.option("--pick", metavar="NAME", help="Scorer that chooses the best picture  [default: the first; else points]")
@options_from(RefineSettings)
@click.option("--limit", type=click.IntRange(1), help="Only this many prompts; categories take turns.")
@click.option(
    "--picture-budget", type=click.FloatRange(0), help="The most a hosted generator may spend; needs --prices."
)
@html_option("Write the filmstrips to this file too.")
@judge_options
@json_option
def refine(
    prompts: str,
    drawing: str,
    output: Path,
    scorers: Sequence[str],
    points: Path | None,
    points_by: PointsBy,
    pick: str | None,
    limit: int | None,
    picture_budget: float | None,
    html: Path | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Draw PROMPTS, have a VLM look at each picture and revise its prompt, draw again; as many rounds as wanted.

    PROMPTS is a file, a study or a set of briefs as for salon generate, or the text of one prompt. The VLM is named as
    for salon judge run; it sees the picture and the original prompt. --measured pixels looks without a model, and
    --measured layout reads how a house drew its poster. In every round a control draws the original prompt from the
    same seeds. The same command goes on after an interruption, and tries again what failed.

    The filmstrips are in refine/index.html of the study. Exit code 0 when every prompt went through all rounds, 1
    when some wait.

    \b
      salon select refine briefs:posters -g carnival -o loop --measured pixels -s words --limit 8
      salon select refine "a halloween poster for children" -g openai:gpt-image-1 -o loop --model gpt-5
      salon select refine prompts.txt -g diffusers:./qwen-image -o loop --transformers ./Qwen3-VL-8B --rounds 3
    """
    settings, named = settings_from(RefineSettings, flags), settings_from(Named, flags)
    asked = asked_prompts(prompts, limit)
    terms = Terms(output.resolve().with_name(f"{output.resolve().name}.images.sqlite"), named.prices, picture_budget)
    generator = generator_named(drawing, asked, terms)
    listed = [scorer_named(name) for name in scorers]
    found = [] if points is None else read_points(points)
    with diagnosing_vlm(named, output) as vlm, watching("loop", quiet=as_json) as watch:
        report = refine_study(
            asked, generator, vlm, settings, output, scorers=listed, points=found, pick=pick,
            answering=partial(answering_vlm, points_by, named, output, found),
            watch=watch,
        )  # fmt: skip
    page = refine_page(report, output)
    written = [output / FOLDER / PAGE, *([] if html is None else [html])]
    page.write(written[0])
    write_page(lambda: page, html, figures)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report, written)
    if not report.is_complete:
        click.get_current_context().exit(1)


def _print(report: RefineReport, written: Sequence[Path]) -> None:
    read = report.replies.get("revised", 0)
    looks = sum(report.replies.values())
    say(f"{report.generator} drew {report.prompts:,} prompts, {report.rounds} rounds after the first", bold=True)
    say(f"{report.vlm} was read {read:,} times of {looks:,}")
    for why, count in report.unread.items():
        say(f"- {count:,} not read: {why}; the former prompt was kept")
    for kind, count in report.failed.items():
        say(f"- {count:,} pictures not made: {kind}")
    for what, count in report.waiting.items():
        say(f"- {count:,} prompts wait for {what}: the same command goes on", fg="yellow")
    for one in report.scores:
        rows = [
            (f"{level.arm} {level.round}", with_interval(level.figure), f"{level.missing:,}") for level in one.levels
        ]
        rows += [(f"best of {level.arm}s by {report.pick}", with_interval(level.figure), f"{level.missing:,}")
                 for level in one.best]  # fmt: skip
        print_table(f"\n{one.scorer}", ("", "mean", "missing"), rows)
        apart = [
            (f"{d.first} less {d.second}", with_interval(d.figure), p_value(d.p), p_value(d.holm), f"{d.figure.n:,}")
            for d in one.differences
        ]
        if apart:
            print_table(None, ("paired over prompts", "difference", "p", "adjusted", "prompts"), apart)
    for words in (*report.policies, *report.notes):
        say(f"- {words}", dim=True)
    say(report.signature, dim=True)
    for path in written:
        say(f"wrote {path}")
