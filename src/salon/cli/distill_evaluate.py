"""salon distill evaluate: predicted scores against fused scores, ratings or pseudo-scores."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import html_option, json_option, print_closing, print_json, print_table, say, working, write_page
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.cli.raters import forecast_printer, rater_options
from salon.errors import BadValue
from salon.evaluate.scores.score_evaluation_results import ScoreEvaluationSettings
from salon.evaluate.scores.score_evaluation_tables import (
    KINDS,
    PaperTable,
    TableKind,
    paper_table,
    table_latex,
    table_markdown,
    table_records,
)
from salon.judge.untrained import RaterSettings
from salon.report.numbers import MISSING, fixed, with_interval
from salon.store.atomic import whole_file
from salon.store.plain_table import ENDINGS, plain_target, write_plain

if TYPE_CHECKING:
    from salon.evaluate.scores.score_evaluation_results import Agreed, Part, ScoreEvaluation, TargetFigures

FOLDER = click.Path(path_type=Path, file_okay=False)
_TEXTS = {".md": table_markdown, ".tex": table_latex}
"""How a table is written as text, by the ending of its file."""


@click.command(cls=SectionedCommand)
@click.argument("study", type=FOLDER)
@click.option(
    "-s",
    "--scorer",
    "scorers",
    multiple=True,
    metavar="NAME",
    help="A table in STUDY/scores, or a scorer as salon score names it (repeatable).",
)
@click.option(
    "--model", "models", multiple=True, type=FOLDER, help="Folder of a trained model or of a VLM (repeatable)."
)
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
@click.option(
    "--table",
    type=click.Choice(KINDS),
    help="Print this table alone, in the shape of PSDistill's: category (Tables 3, 4 and 21), scale (22), criterion "
    "(23).",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write that table: .md or .tex as printed; .csv, .jsonl or .parquet a row a number, with intervals.",
)
@click.option("--overwrite", is_flag=True, help="Replace the output.")
@html_option()
@click.option("--device", help="cpu, cuda, cuda:1 or mps  [default: the best there is]")
@options_from(ScoreEvaluationSettings)
@rater_options
@json_option
def evaluate(
    study: Path, scorers: Sequence[str], models: Sequence[Path], against: Sequence[str], labels: Sequence[Path],
    checkpoints: Sequence[str], validation: str | None, criteria: Sequence[str], table: TableKind | None,
    output: Path | None, overwrite: bool, html: Path | None, figures: Path | None, device: str | None, dry_run: bool,
    as_json: bool, **flags: Any,
) -> None:  # fmt: skip
    """Predicted scores of STUDY's items against scores that people gave them.

    Order (SRCC, KRCC), line (PLCC) and distance (MAE, RMSE), by category and criterion, with intervals; level and
    spread of the predictions beside the target's, so that a collapsed scale is seen; several scorers side by side on
    the same items; what raters reach; calls and passes. In its own study a model is tested on what it was not trained
    or chosen on; elsewhere one that was trained on a test picture is refused. Of several checkpoints one is chosen on
    other items, and only that one sees the test. An untrained VLM, in a folder or at an endpoint, is asked as a
    trained one is and stands beside it as its base.

    \b
      salon distill evaluate study -s base -s distilled --html report.html
      salon distill evaluate study --model distilled --against fused --against ratings
      salon distill evaluate study -s distilled --labels labels --missing scored
      salon distill evaluate study --checkpoint scorer-1 --checkpoint scorer-2 --validation labels
      salon distill evaluate study -s onepass:weights/Qwen3-VL-8B --model distilled --table category -o table3.tex
      salon distill evaluate study -s onepass:openai:qwen@http://localhost:8000/v1 --role painting --dry-run
    """
    settings = settings_from(ScoreEvaluationSettings, flags)
    if output is not None:
        _check_output(output, table, overwrite=overwrite)
    flow = importlib.import_module("salon.evaluate.scores.evaluate_scorers")
    rater = settings_from(RaterSettings, flags)
    asked = flow.Asked(scorers, models, checkpoints, validation, against, labels, criteria, rater=rater)
    with working("evaluating") as step:
        report: ScoreEvaluation = flow.evaluate_scores(
            study, asked, settings, device=device, progress=step, on_forecast=forecast_printer(dry_run)
        )
    write_page(
        lambda: importlib.import_module("salon.evaluate.scores.score_evaluation_page").score_evaluation_page(report),
        html,
        figures,
    )
    if table is not None and output is not None:
        _write_table(paper_table(report, table), output, overwrite=overwrite)
    if as_json:
        print_json(report.model_dump(mode="json"))
    elif table is not None:
        print_paper_table(report, paper_table(report, table))
        print_closing(report.policies, report.signature_line, warnings=report.warnings, html=html)
    else:
        print_scores(report, html)


def print_paper_table(report: ScoreEvaluation, table: PaperTable) -> None:
    """One table in the shape of the paper's, groups of rows under their headings."""
    if report.leaking:
        say("LEAK: a model was trained on a test picture", fg="red", bold=True)
    if report.simulated:
        say("SIMULATED: nobody gave these answers.", fg="yellow")
    heads, rows, target = table.heads(), [], ""
    for block in table.blocks:
        if block.target != target:
            rows.append([f"Against {block.target}", *[""] * (len(heads) - 1)])
            target = block.target
        rows.append([f"  {block.heading}", *[""] * (len(heads) - 1)])
        rows += [[f"    {cell}" if place == 0 else cell for place, cell in enumerate(table.cells(row))]
                 for row in block.rows]  # fmt: skip
    print_table(table.title, heads, rows, left=(0, 1) if table.has_labels else (0,))


def _check_output(output: Path, table: TableKind | None, *, overwrite: bool) -> None:
    """Everything that can be wrong with the file is found before anything is asked."""
    if table is None:
        raise BadValue("-o writes one table", found="no --table", remedy="--table category, scale or criterion")
    plain_target(output, overwrite=overwrite, endings=(*ENDINGS, *_TEXTS))


def _write_table(table: PaperTable, output: Path, *, overwrite: bool) -> None:
    if output.suffix not in _TEXTS:
        write_plain(table_records(table), output, overwrite=overwrite)
        return
    with whole_file(output, overwrite=overwrite) as file:
        file.write(_TEXTS[output.suffix](table).encode())


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
    costs = [(one.name, MISSING if one.label_calls is None else f"{one.label_calls:,}", f"{one.passes:,g}",
              f"{one.total:,}", one.note) for one in report.cost]  # fmt: skip
    print_table("Cost", ("", "label calls, once", "passes an item", "passes here", ""), costs, left=(0, 4))
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
    titles = ("scorer", "mean", "spread", "target's mean", "target's spread", "scale")
    print_table("\nLevel and spread", titles, scales, left=(0, 5))
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
