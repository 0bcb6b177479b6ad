"""`salon check`, `null`, `anchor`, `plan` and `plan budget`: is there signal, and how large must a study be?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from salon.check import AnchorSettings, CheckSettings, PlanSettings, SimulatedBudgetSettings, ThinSettings
from salon.cli.console import html_option, json_option, print_json, say, spinner, write_page
from salon.cli.options import options_from, settings_from
from salon.cli.study_argument import STUDY
from salon.errors import BadFile, BadValue

if TYPE_CHECKING:
    from salon.check import AnchorFigures, PlanReport


@click.command()
@click.argument("study", type=STUDY)
@click.option("--criterion", "criteria", multiple=True, help="Check only the criterion with this id (repeatable).")
@html_option()
@click.option(
    "--anchor",
    "anchors",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Show this anchor, a file made by salon anchor --json (repeatable).",
)
@click.option(
    "--gate",
    is_flag=True,
    help="Exit code 1 unless every criterion shows signal (a test rejects random raters after Holm).",
)
@options_from(CheckSettings)
@json_option
def check(
    study: Path | str,
    criteria: Sequence[str],
    html: Path | None,
    figures: Path | None,
    anchors: Sequence[Path],
    gate: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Is there signal in the judgments of STUDY, and how good can a model get on them?

    STUDY is a study folder, the address of a database (sqlite:///FILE, postgresql://...), or one file of judgments
    whose kind can be recognized. A folder whose studio runs is read as it stands now.

    \b
      salon check study --html check.html
      salon check votes.csv
      salon check study --json > check.json
      salon check study --gate            exit code 1 unless raters agree on every criterion
    """
    from salon.check import check_page, check_study
    from salon.cli.check_report import print_check
    from salon.cli.study_argument import read_study_argument

    settings = settings_from(CheckSettings, flags)
    study_data = read_study_argument(study)
    criterion_ids = [study_data.criterion(id).id for id in criteria]
    anchor_figures = [_anchor(path) for path in anchors]
    with spinner("checking") as step:
        report = check_study(study_data, settings, criteria=criterion_ids, anchors=anchor_figures, progress=step)
    write_page(lambda: check_page(report), html, figures)
    if as_json:
        print_json(report)
    else:
        print_check(report, html)
    if gate and not (report.criteria and all(criterion.agree == "yes" for criterion in report.criteria)):
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--items", type=click.IntRange(2, 60), default=4, show_default=True, help="Items per prompt (p).")
@click.option("--raters", type=click.IntRange(2, 1000), default=5, show_default=True, help="Raters per prompt (R).")
@click.option(
    "--cache/--no-cache", default=True, show_default=True, help="Use shipped and stored laws, or compute afresh."
)
@click.option(
    "--limit",
    type=float,
    default=60.0,
    show_default=True,
    help="Longest time in seconds to spend on an exact law; beyond it, Monte Carlo.",
)
@click.option(
    "--draws", type=click.IntRange(1000), default=200_000, show_default=True, help="Simulated prompts when Monte Carlo."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the Monte Carlo.")
@json_option
def null(items: int, raters: int, cache: bool, limit: float, draws: int, seed: int, as_json: bool) -> None:
    """The law of T, p_max and majority cycles when raters rank at random, exact where that is feasible.

    \b
      salon null --items 4 --raters 5
      salon null --items 5 --raters 9 --no-cache --json
    """
    from salon.cli.check_report import print_null
    from salon.stats import check_shape
    from salon.store import null_for
    from salon.study import Signature

    check_shape(items, raters)
    with spinner(f"the law of {items} items and {raters} raters"):
        law = null_for(items, raters, cache=cache, draws=draws, seed=seed, limit=limit)
    signature = Signature(
        method="null",
        settings={"items": items, "raters": raters, "law": law.method, **({} if law.exact else {"draws": draws})},
        seed=None if law.exact else seed,
    )
    if as_json:
        print_json({**law.as_json(), "signature": str(signature)})
    else:
        print_null(law, str(signature))


@click.command()
@click.argument("file", type=STUDY)
@options_from(AnchorSettings)
@click.option("--kind", help="The file's kind (see salon import --help); recognized when left out.")
@click.option("--name", help="Name of the anchor; the study's when left out.")
@json_option
def anchor(file: Path | str, kind: str | None, name: str | None, as_json: bool, **flags: Any) -> None:
    """Agreement in another data set FILE (or study folder), drawn down to p items and R raters.

    A reference anchor puts a mean tau in context: do designers agree as much as people do on sushi or films?

    \b
      salon anchor sushi3a.5000.10.order --items 4 --raters 5
      salon anchor u.data --items 4 --raters 5 --json > movielens.json
      salon check study --anchor movielens.json --html check.html
    """
    from salon.check import anchor as make_anchor
    from salon.cli.check_report import print_anchor
    from salon.cli.study_argument import read_study_argument

    settings = settings_from(AnchorSettings, flags)
    report = make_anchor(read_study_argument(file, kind), settings)
    if name:
        report = report.model_copy(update={"name": name})
    for warning in report.warnings:
        say(f"warning: {warning}", fg="yellow", err=True)
    if as_json:
        print_json(report)
    else:
        print_anchor(report)


@click.group(invoke_without_command=True)
@options_from(PlanSettings)
@json_option
@click.pass_context
def plan(ctx: click.Context, /, as_json: bool, **flags: Any) -> None:
    """The power of a planned study, and the smallest study that is large enough.

    \b
      salon plan --items 4 --raters 5 --prompts 80 --tau 0.1 --criteria 9
      salon plan --theta 0.3
      salon plan budget --items 50 --raters 5     how many of all pairs must be compared
      salon plan budget study                     how few of a study's comparisons would have done
    """
    if ctx.invoked_subcommand is not None:
        _refuse(flags_on_command_line(ctx), f"flags of {ctx.invoked_subcommand} stand after its name")
        return
    from salon.check import plan as make_plan
    from salon.cli.check_report import print_plan
    from salon.store import null_for

    settings = settings_from(PlanSettings, flags)
    with spinner("planning") as step:
        report: PlanReport = make_plan(settings, null_for, progress=step)
    if as_json:
        print_json(report)
    else:
        print_plan(report)


@plan.command("budget")
@click.argument("study", type=STUDY, required=False)
@options_from(SimulatedBudgetSettings)
@options_from(ThinSettings)
@click.option("--criterion", "criteria", multiple=True, help="With STUDY: only this criterion (repeatable).")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of everything drawn by chance."
)
@json_option
@click.pass_context
def budget(
    ctx: click.Context, /, study: Path | str | None, criteria: Sequence[str], seed: int, as_json: bool, **flags: Any
) -> None:
    """How many of all pairs must be compared?

    Without STUDY, items and raters are simulated, and scores from some pairs are compared with scores from all. With
    STUDY, the same is done with its own comparisons, by Elo and by Bradley-Terry.

    \b
      salon plan budget --items 50 --raters 5 --spread 2
      salon plan budget study
      salon plan budget study --fraction 0.25 --fraction 0.5 --repeats 50 --json
    """
    from salon.check import simulated_budget, thin_study
    from salon.cli.check_report import print_budget, print_thinning
    from salon.cli.study_argument import read_study_argument

    on_command_line = flags_on_command_line(ctx)
    if study is None:
        _refuse(on_command_line & {*ThinSettings.model_fields, "criteria"}, "these flags need a STUDY")
        with spinner("simulating comparisons"):
            simulated = simulated_budget(settings_from(SimulatedBudgetSettings, flags), seed)
        return print_json(simulated) if as_json else print_budget(simulated)
    _refuse(
        on_command_line & {*SimulatedBudgetSettings.model_fields},
        "these flags are for a simulated budget, without STUDY",
    )
    study_data = read_study_argument(study)
    criterion_ids = [study_data.criterion(id).id for id in criteria]
    with spinner("thinning") as step:
        report = thin_study(
            study_data, settings_from(ThinSettings, flags), criteria=criterion_ids, seed=seed, progress=step
        )
    if as_json:
        print_json(report)
    else:
        print_thinning(report)


def flags_on_command_line(ctx: click.Context) -> set[str]:
    """Names of the flags that stand on the command line."""
    return {name for name in ctx.params if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}


def _refuse(names: set[str], needed: str) -> None:
    if names:
        flags = ", ".join("--" + name.replace("_", "-") for name in sorted(names))
        raise BadValue(needed, found=flags, remedy="leave them out, or see --help")


def _anchor(path: Path) -> AnchorFigures:
    """An anchor report written by `salon anchor --json`."""
    from salon.check import AnchorReport

    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return AnchorReport.model_validate(record).figures(f"salon anchor, {record['signature_line']}")
    except (ValueError, KeyError, TypeError):
        raise BadFile("a file made by salon anchor --json is needed", found="something else", where=str(path)) from None
