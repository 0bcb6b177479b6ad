"""`salon select cohp` and `salon select refine`: loops that draw, look, and draw again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from salon.cli.console import (
    figures_option,
    html_option,
    json_option,
    print_json,
    print_report_table,
    print_table,
    say,
    staged_progress_bar,
    write_page,
)
from salon.cli.judge_options import judge_options
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.collect import TRUTH
from salon.select import CohpSettings, PointsBy, RefineSettings

if TYPE_CHECKING:
    from salon.select import CohpReport

PAGE = "index.html"


@click.command()
@click.argument("prompts")
@click.option("-g", "--generator", "drawing", multiple=True, required=True, metavar="NAME",
              help="As for salon generate (repeatable).")  # fmt: skip
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, file_okay=False),
              help="Study folder: a new one, or that of the same chain.")  # fmt: skip
@click.option("-s", "--scorer", "names", multiple=True, metavar="NAME",
              help=f"Who decides, as for salon score; {TRUTH} reads true quality on record (repeatable).")  # fmt: skip
@click.option("--model", "models", multiple=True, type=click.Path(path_type=Path),
              help="Folder of a trained model: all its criteria but the flag (repeatable).")  # fmt: skip
@click.option("--criterion", "criteria", multiple=True, help="With --model: only this criterion (repeatable).")
@click.option("-w", "--weights", help="Criterion weights: typography=3,mood=1; *=1 for all others  [default: alike]")
@click.option("--reference", type=click.Path(path_type=Path, dir_okay=False),
              help="Frozen reference that brings criteria to one scale (salon select reference).")  # fmt: skip
@click.option("--equal-scales", is_flag=True, help="Declare that all scores are on one scale.")
@options_from(CohpSettings)
@click.option("--limit", type=click.IntRange(1), help="Only this many prompts; categories take turns.")
@click.option("--device", help="Of networks: cpu, cuda, mps  [default: the best there is]")
@click.option("--score-batch", type=click.IntRange(1, 4096), default=8, show_default=True,
              help="Pictures scored together.")  # fmt: skip
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), help="Prices of hosted generators, TOML.")
@click.option("--budget", type=click.FloatRange(0), help="The most that hosted generators may spend in this run.")
@figures_option
@json_option
def cohp(
    prompts: str,
    drawing: Sequence[str],
    output: Path,
    names: Sequence[str],
    models: Sequence[Path],
    criteria: Sequence[str],
    weights: str | None,
    reference: Path | None,
    equal_scales: bool,
    limit: int | None,
    device: str | None,
    score_batch: int,
    prices: Path | None,
    budget: float | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Chain of human preference: choose the generator of PROMPTS by score, then draw from the best picture, round by
    round.

    Stage 1: every generator draws every prompt, and the one with the highest mean score goes on. Stage 2: its best
    picture, with noise, is what the next round starts from. The answer is the best of everything seen. Generators must
    be able to start from a picture (built-in ones, diffusers, HTTP templates with one); --unable redraw takes others.

    The study keeps all pictures, cohp/decisions.jsonl every decision, cohp/index.html the filmstrips. The same command
    goes on after an interruption, and with more --rounds. Exit code 0 when every prompt has an answer, 1 when
    some wait or have none.

    \b
      salon select cohp briefs:posters -g atelier -g carnival -g ledger -g mirage -s words -o chain --limit 4
      salon select cohp prompts.txt -g diffusers:./sdxl -g diffusers:./kolors --model taste-heads -o chain
      salon select cohp prompts.txt -g mirage -s words -o chain --variant released
    """
    from salon.collect import TrueQuality
    from salon.generate import CallTerms, make_generators, read_prompt_argument
    from salon.judge import ScoreSettings
    from salon.select import COHP_FOLDER, BestSettings, chain_study, cohp_page, list_scorers, read_reference

    settings = settings_from(CohpSettings, flags)
    prompt_list = read_prompt_argument(prompts, limit)
    terms = CallTerms(output.resolve().with_name(f"{output.resolve().name}.calls.sqlite"), prices, budget)
    oracle = [TrueQuality()] if TRUTH in names else []
    scorer_names = [name for name in names if name != TRUTH]
    words = [] if oracle and not scorer_names and not models else list_scorers(scorer_names, models, criteria)
    frozen = None if reference is None else read_reference(reference)
    wish = BestSettings(weights=weights, reference=frozen, equal_scales=equal_scales)
    with staged_progress_bar("cohp", quiet=as_json) as watch:
        report = chain_study(
            prompt_list, make_generators(drawing, prompt_list, terms), settings, output, words, wish, scorers=oracle,
            scoring=ScoreSettings(device=device, batch=score_batch),
            watch=watch,
        )  # fmt: skip
    page = output / COHP_FOLDER / PAGE
    write_page(lambda: cohp_page(report, output), page, figures)
    if as_json:
        print_json(report)
    else:
        _print_cohp(report, page)
    if not report.is_complete or any(chain.answer is None or chain.answer.item is None for chain in report.chains):
        click.get_current_context().exit(1)


def _print_cohp(report: CohpReport, page: Path) -> None:
    from salon.report import with_interval
    from salon.select import generator_counts, round_table

    answered = sum(chain.answer is not None and chain.answer.item is not None for chain in report.chains)
    say(f"{answered:,} of {report.prompts:,} prompts have an answer, the best of {report.asked:,} pictures", bold=True)
    for kind, count in report.failed.items():
        say(f"- {count:,} pictures not made: {kind}")
    if report.unscored:
        say(f"- {report.unscored:,} pictures without a score")
    for what, count in report.waiting.items():
        say(f"- {count:,} prompts wait for {what}: the same command goes on", fg="yellow")
    print_report_table(round_table(report))
    print_report_table(generator_counts(report))
    say(f"for {report.not_apart:,} prompts another generator does not differ significantly from the chosen one")
    for name, gain in (("score", report.gain), ("true quality", report.true_gain)):
        if gain is not None:
            say(f"answer less the best of stage 1, {name}: {with_interval(gain)}")
    for words in (*report.policies, *report.notes):
        say(f"- {words}", dim=True)
    say(report.signature, dim=True)
    say(f"wrote {page}")


# -- refine ---------------------------------------------------------------------------------------------------------


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
    --measured layout reads the record of a built-in generator. In every round a control draws the original prompt from
    the same seeds. The same command goes on after an interruption, and tries again what failed.

    The filmstrips are in refine/index.html of the study. Exit code 0 when every prompt went through all rounds, 1
    when some wait.

    \b
      salon select refine briefs:posters -g carnival -o loop --measured pixels -s words --limit 8
      salon select refine "a halloween poster for children" -g openai:gpt-image-1 -o loop --model gpt-5
      salon select refine prompts.txt -g diffusers:./qwen-image -o loop --transformers ./Qwen3-VL-8B --rounds 3
    """
    from salon.generate import CallTerms, make_generator, read_prompt_argument
    from salon.judge import JudgeSpec, make_scorer
    from salon.select import (
        REFINE_FOLDER,
        difference_table,
        open_answering_vlm,
        open_diagnosing_vlm,
        refine_page,
        refine_study,
    )
    from salon.store import read_points

    settings, judge_choice = settings_from(RefineSettings, flags), settings_from(JudgeSpec, flags)
    prompt_list = read_prompt_argument(prompts, limit)
    terms = CallTerms(
        output.resolve().with_name(f"{output.resolve().name}.images.sqlite"), judge_choice.prices, picture_budget
    )
    generator = make_generator(drawing, prompt_list, terms)
    listed = [make_scorer(name) for name in scorers]
    checklist = [] if points is None else read_points(points)
    with open_diagnosing_vlm(judge_choice, output) as vlm, staged_progress_bar("loop", quiet=as_json) as watch:
        report = refine_study(
            prompt_list, generator, vlm, settings, output, scorers=listed, points=checklist, pick=pick,
            answering=partial(open_answering_vlm, points_by, judge_choice, output, checklist),
            watch=watch,
        )  # fmt: skip
    page = refine_page(report, output)
    pages = [output / REFINE_FOLDER / PAGE, *([] if html is None else [html])]
    page.write(pages[0])
    write_page(lambda: page, html, figures)
    if as_json:
        print_json(report)
    else:
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
        for scorer in report.scores:
            rows = [(f"{level.arm} {level.round}", level.figure, level.missing) for level in scorer.levels]
            rows += [(f"best of {level.arm}s by {report.pick}", level.figure, level.missing)
                     for level in scorer.best]  # fmt: skip
            print_table(f"\n{scorer.scorer}", ("", "mean", "missing"), rows)
            print_report_table(difference_table([scorer]))
        for words in (*report.policies, *report.notes):
            say(f"- {words}", dim=True)
        say(report.signature, dim=True)
        for path in pages:
            say(f"wrote {path}")
    if not report.is_complete:
        click.get_current_context().exit(1)
