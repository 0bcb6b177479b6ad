"""salon distill evaluate: predicted scores against fused scores, ratings or pseudo-scores."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import html_option, json_option, print_closing, print_json, print_table, say, working, write_page
from salon.cli.options import options_from, settings_from
from salon.report.numbers import MISSING, fixed, with_interval
from salon.train.score_evaluation_results import ScoreEvaluationSettings

if TYPE_CHECKING:
    from salon.train.score_evaluation_results import Agreed, Part, ScoreEvaluation, TargetFigures

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("study", type=FOLDER)
@click.option(
    "-s",
    "--scorer",
    "scorers",
    multiple=True,
    metavar="NAME",
    help="A table in STUDY/scores, or a scorer as salon score names it (repeatable).",
)
@click.option("--model", "models", multiple=True, type=FOLDER, help="Folder of a trained model (repeatable).")
@click.option(
    "--against",
    multiple=True,
    metavar="TARGET",
    help="fused, ratings, medians, a folder of salon distill label, or a table of salon fuse -o (repeatable)  "
    "[default: fused, where people compared, else ratings]",
)
@click.option("--labels", multiple=True, type=FOLDER, help="Labels that scorers learned from: in no test (repeatable).")
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    metavar="NAME",
    help="A candidate or its folder: one is chosen (repeatable).",
)
@click.option("--validation", metavar="TARGET", help="With --checkpoint: the target to choose by, of other items.")
@click.option("--criterion", "criteria", multiple=True, metavar="ID", help="Only this criterion (repeatable).")
@html_option()
@click.option("--device", help="cpu, cuda, cuda:1 or mps  [default: the best there is]")
@options_from(ScoreEvaluationSettings)
@json_option
def evaluate(
    study: Path, scorers: Sequence[str], models: Sequence[Path], against: Sequence[str], labels: Sequence[Path],
    checkpoints: Sequence[str], validation: str | None, criteria: Sequence[str], html: Path | None,
    figures: Path | None, device: str | None, as_json: bool, **flags: Any,
) -> None:  # fmt: skip
    """Predicted scores of STUDY's items against scores that people gave them.

    Order (SRCC, KRCC), line (PLCC) and distance (MAE, RMSE), by category and criterion, with intervals; level and
    spread of the predictions beside the target's, so that a collapsed scale is seen; several scorers side by side on
    the same items; what raters reach; calls and passes. In its own study a model is tested on what it was not trained
    or chosen on; elsewhere one that was trained on a test picture is refused. Of several checkpoints one is chosen on
    other items, and only that one sees the test.

    \b
      salon distill evaluate study -s base -s distilled --html report.html
      salon distill evaluate study --model distilled --against fused --against ratings
      salon distill evaluate study -s distilled --labels labels --missing scored
      salon distill evaluate study --checkpoint scorer-1 --checkpoint scorer-2 --validation labels
    """
    settings = settings_from(ScoreEvaluationSettings, flags)
    flow = importlib.import_module("salon.flows.distill.evaluate")
    asked = flow.Asked(scorers, models, checkpoints, validation, against, labels, criteria)
    with working("evaluating") as step:
        report: ScoreEvaluation = flow.evaluate_scores(study, asked, settings, device=device, progress=step)
    write_page(
        lambda: importlib.import_module("salon.train.score_evaluation_page").score_evaluation_page(report),
        html,
        figures,
    )
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        print_scores(report, html)


def print_scores(report: ScoreEvaluation, html: Path | None = None) -> None:
    """Tables for a terminal: figures, scale, categories, criteria, differences, cost, policies."""
    if report.leaking:
        say("LEAK: a model was trained on a test picture", fg="red", bold=True)
    if report.simulated:
        say("SIMULATED: nobody gave these answers.", fg="yellow")
    if report.choice is not None:
        rows = [(one.name, with_interval(one.srcc), "chosen" if one.name == report.choice.chosen else "")
                for one in report.choice.candidates]  # fmt: skip
        title = f"Chosen on {report.choice.items:,} validation items by {report.choice.target}"
        print_table(title, ("checkpoint", "SRCC", ""), rows, left=(0, 2))
        say("")
    for target in report.targets:
        _print_target(target)
    rows = [(one.name, MISSING if one.label_calls is None else f"{one.label_calls:,}", f"{one.passes:,g}",
             f"{one.total:,}", one.note) for one in report.cost]  # fmt: skip
    print_table("Cost", ("", "label calls, once", "passes an item", "passes here", ""), rows, left=(0, 4))
    print_closing(report.policies, report.signature_line, warnings=report.warnings, html=html)


def _print_target(target: TargetFigures) -> None:
    columns = ("scorer", "SRCC", "PLCC", "KRCC", "MAE", "RMSE", "scored")
    rows = [(one.name, *_figures(one.overall)) for one in target.scorers]
    level = target.rater_level
    if level is not None:
        rows.append(
            ("one rater against the others", with_interval(level.srcc), with_interval(level.plcc), "", "", "", "")
        )
    print_table(f"Against {target.name}: {target.items:,} items", columns, rows)
    scales = [
        (
            one.name,
            with_interval(one.overall.mean, 2),
            with_interval(one.overall.sd, 2),
            with_interval(one.overall.target_mean, 2),
            with_interval(one.overall.target_sd, 2),
            one.scale,
        )
        for one in target.scorers
    ]
    columns = ("scorer", "mean", "spread", "target's mean", "target's spread", "scale")
    print_table("\nLevel and spread", columns, scales, left=(0, 5))
    for words, of in (("category", "categories"), ("criterion", "criteria")):
        parts: list[tuple[str, Part]] = [(one.name, part) for one in target.scorers for part in getattr(one, of)]
        if len({part.id for _, part in parts}) > 1:
            told = [(name, part.name, *_figures(part.agreed)) for name, part in parts]
            heads = ("scorer", words, "SRCC", "PLCC", "KRCC", "MAE", "RMSE", "scored")
            print_table(f"\nBy {words}", heads, told, left=(0, 1))
    if target.differences:
        told = [
            (
                f"{one.first} - {one.second}",
                with_interval(one.srcc),
                with_interval(one.mae),
                "yes" if one.apart else "no",
            )
            for one in target.differences
        ]
        print_table("\nOn the same items", ("", "SRCC", "MAE", "told apart"), told, left=(0,))
    say("")


def _figures(agreed: Agreed) -> tuple[str, ...]:
    numbers = (agreed.srcc, agreed.plcc, agreed.krcc, agreed.mae, agreed.rmse)
    told = f"{agreed.scored:,} of {agreed.wanted:,}"
    if agreed.scored < agreed.wanted and agreed.scored_srcc is not None:
        told += f", SRCC of these {fixed(agreed.scored_srcc, 3)}"
    return (*(with_interval(one) for one in numbers), told)
