"""`salon distill label`, `train`, `ablate` and `evaluate`: from comparisons by a VLM to a one-pass scorer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import (
    Cell,
    html_option,
    json_option,
    print_closing,
    print_json,
    print_report_table,
    print_table,
    progress_bar,
    say,
    spinner,
    write_page,
)
from salon.cli.judge_options import judge_options, rater_options
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.cli.train_reward import plan_options
from salon.errors import BadValue
from salon.evaluate import KINDS, ScoreEvaluationSettings
from salon.train import AblateSettings, DistillLabelSettings, DistillSettings

if TYPE_CHECKING:
    from salon.evaluate import Evaluation, LabelCard, PseudoScores, ScorePaperTable, TableKind
    from salon.train import AblateReport, DistillReport, LabelForecast, LabelPlan


@click.command(cls=SectionedCommand)
@click.argument("study", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for the labels.")
@options_from(DistillLabelSettings)
@judge_options
@click.option("--overwrite", is_flag=True, help="Replace labels of other settings, another judge or another study.")
@click.option("--dry-run", is_flag=True, help="Say how many calls it takes and what they may cost, and ask nothing.")
@json_option
def label(study: Path, output: Path, overwrite: bool, dry_run: bool, as_json: bool, **flags: Any) -> None:
    """Labels for the items of STUDY from a VLM's own answers, without people.

    The bridge compares a pool exhaustively and places every other item on its scale; the other sources are for
    comparison. A call asks about all criteria at once. Every answer is kept before it is used: run the same command
    again to go on after an interruption, or to ask again what got no reply. Exit code 0 when every question got a
    reply, 1 when some did not.

    \b
      salon distill label study -o labels --model openai:qwen@http://localhost:8000/v1
      salon distill label study -o labels --transformers ./Qwen3-VL-8B --adaptive --target-sd 0.8
      salon distill label study -o votes --source majority --model qwen --dry-run      how many calls?
      salon distill label study -o single --source pointwise --max-calls 30725 --model qwen
      salon distill label study -o labels --simulated accuracy=0.8,bias=0.1            try it out, without a model
    """
    from salon.cli.study_argument import read_study_argument
    from salon.evaluate import read_pseudo_scores
    from salon.judge import JudgeSpec, VlmWithNotes, check_budget, open_judge
    from salon.store import local_path
    from salon.train import (
        LabelForecast,
        check_labels_target,
        drift_warnings,
        forecast_labels,
        plan_labels,
        write_labels,
    )

    judge_choice, settings = settings_from(JudgeSpec, flags), settings_from(DistillLabelSettings, flags)
    study_data = read_study_argument(local_path(study))
    with spinner("looking at pictures") as step:
        plan = plan_labels(study_data, study, judge_choice, settings, step)
    with open_judge(judge_choice, study_data, study) as vlm:
        check_labels_target(plan, vlm, output, overwrite=overwrite)
        priced = dry_run or judge_choice.budget is not None
        cast = forecast_labels(plan, vlm) if priced else LabelForecast(plan.budget.calls, 0, None)
        warning = check_budget(judge_choice.budget, cast.cost_at_most, cast.calls - cast.stored)
        if dry_run:
            _print_forecast(plan, cast, vlm.name, warning, as_json)
            return
        say(f"{vlm.name}: {_calls_sum(plan)}", err=True)
        for message in [*([warning] if warning else []), *drift_warnings(plan, vlm, judge_choice.canaries)]:
            say(f"note: {message}", fg="yellow", err=True)
        with progress_bar("asking", quiet=as_json) as watch:
            card, tally = write_labels(plan, vlm, output, watch, overwrite=overwrite)
        notes = vlm.notes() if isinstance(vlm, VlmWithNotes) else []
    if as_json:
        print_json(card.model_dump(mode="json") | {"folder": str(output), "stored": tally.stored, "notes": notes})
    else:
        scores = read_pseudo_scores(output)
        if card.simulated:
            say("SIMULATED: no model gave these answers.")
        say(f"{card.judge}, {card.source}: {card.labelled:,} of {card.items:,} items labeled", bold=True)
        if card.source == "majority":
            assert scores.pairs is not None  # majority labels are pairs
            say(f"- {len(scores.pairs):,} labels of pairs and criteria, {(scores.pairs.p == 0.5).mean():.0%} level")
        else:
            label_rows = _label_rows(card, scores)
            print_table(None, ("criterion", "items", "mean", "spread", "median sd", "ties"), label_rows)
        say(f"- {card.calls_made:,} calls ({card.calls_planned:,} planned), {tally.stored:,} from the store")
        if card.unread:
            say("- not read: " + ", ".join(f"{id} {count:,}" for id, count in card.unread.items()))
        for warning in card.warnings:
            say(f"warning: {warning}", fg="yellow", err=True)
        for note in (*card.policies, *notes):
            say(f"- {note}", dim=True)
        say(f"wrote {output}")
        say(card.signature, dim=True)
    if card.calls_failed:
        click.get_current_context().exit(1)


def _calls_sum(plan: LabelPlan) -> str:
    at_most = "at most " if plan.settings.adaptive and plan.settings.source == "bridge" else ""
    return f"{at_most}{plan.budget.calls:,} calls = {plan.budget.words()}"


def _print_forecast(plan: LabelPlan, cast: LabelForecast, name: str, warning: str | None, as_json: bool) -> None:
    if as_json:
        cost = None if cast.cost_at_most is None else float(cast.cost_at_most)
        record = {"dry_run": True, "judge": name, "source": plan.settings.source, "items": len(plan.items)}
        record |= {"calls": cast.calls, "stored": cast.stored, "cost_at_most": cost, "sum": plan.budget.words()}
        print_json(record)
        return
    say(f"{name} would be asked about {len(plan.items):,} items", bold=True)
    priced = "not known: give a price list with --prices"
    rows: list[tuple[Cell, ...]] = [
        ("calls", _calls_sum(plan)),
        ("answered already", cast.stored),
        ("cost", priced if cast.cost_at_most is None else f"at most {cast.cost_at_most:.4f}"),
    ]
    print_table(None, ("", ""), rows, left=(0, 1))
    if warning:
        say(f"note: {warning}", fg="yellow")


def _label_rows(card: LabelCard, scores: PseudoScores) -> list[tuple[Cell, ...]]:
    from salon.report import MISSING
    from salon.report.numbers import fixed

    rows: list[tuple[Cell, ...]] = []
    for number, id in enumerate(scores.criteria):
        values = [value for value in scores.values[:, number] if value == value]
        errors = sorted(error for error in scores.sd[:, number] if error == error)
        mean = sum(values) / len(values) if values else None
        spread = None
        if mean is not None and len(values) > 1:
            spread = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5
        middle = errors[len(errors) // 2] if errors else None
        ties = card.ties.get(id)
        cells = (fixed(mean, 2), fixed(spread, 2), fixed(middle, 2), MISSING if ties is None else f"{ties:.0%}")
        rows.append((id, len(values), *cells))
    return rows


# -- train ----------------------------------------------------------------------------------------------------------

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("study", type=_FILE, required=False)
@click.option("--labels", type=_FILE, help="Folder of labels, by salon distill label.")
@click.option("--vlm", required=True, help="The VLM to train, by folder or hub name; best that of the labels.")
@click.option("-o", "--output", type=_FILE, help="Folder for the scorer.")
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@click.option("--apart", type=_FILE, help="A study to be tested on: refuse to train on any of its pictures.")
@options_from(DistillSettings)
@plan_options(DistillSettings)
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted.")
@click.option("--overwrite", is_flag=True, help="Replace a scorer, once the new one is whole, or a run.")
@click.option("--keep-anyway", is_flag=True, help="Write the scorer even if the policy collapsed or learned nothing.")
@json_option
def train(
    study: Path | None,
    labels: Path | None,
    vlm: str,
    output: Path | None,
    criteria: Sequence[str],
    apart: Path | None,
    is_plan: bool,
    resume: bool,
    overwrite: bool,
    keep_anyway: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Train a VLM to score pictures in one pass, from the LABELS of STUDY.

    GRPO through TRL: answers about one picture are rewarded for keeping the order of the labels against the other
    pictures of the step, and penalized for a broken form or a score off its scale. The latest state within one standard
    error of the highest SRCC on the validation items is kept; test items are not used. If that state gives one score to
    all, is unreadable or is not above chance, no scorer is written and the exit code is 1. Several GPUs: the same
    command under torchrun or accelerate launch; examples/distill has launch files.

    \b
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer --learn lora
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer --resume
      salon distill train --vlm qwen3-vl-8b --recipe psdistill --plan --gpus 8 --shard zero3 --memory 80GB
      accelerate launch --config_file zero3.yaml $(command -v salon) distill train study --labels labels ...
    """
    from salon.cli.train_reward import chosen_settings, memory_flag_bytes, require, show_plan

    settings = chosen_settings(DistillSettings, flags, "distill train", quiet=as_json)
    if is_plan:
        show_plan("distill", vlm, settings, flags, as_json=as_json)
        return
    study, labels, output = require(study, "STUDY"), require(labels, "--labels"), require(output, "--output")
    from salon.train import distillation as training  # torch and TRL come with it

    with progress_bar("steps", quiet=as_json) as tell:
        report = training.distill_study(
            study, labels, vlm, output, settings, criteria=criteria, apart=apart, resume=resume,
            overwrite=overwrite, keep_anyway=keep_anyway, memory=memory_flag_bytes(flags["memory"]),
            progress=lambda step, steps, reward: tell(step, steps, f"reward {reward:.3f}", "steps"),
            format_progress=lambda step, steps, loss: tell(step, steps, f"loss {loss:.3f}", "form"),
        )  # fmt: skip
    if report is None:  # another process writes and tells
        return
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        _print_training(report, study)
    if not report.written:
        click.get_current_context().exit(1)


def _print_training(report: DistillReport, study: Path) -> None:
    if report.simulated:
        say("SIMULATED: no model gave these labels.")
    say(report.verdict.words, bold=True, fg=None if report.verdict.outcome == "learned" else "yellow")
    say(
        f"one-pass scorer from {report.backbone}, {report.learn}, labels by {report.labels}: step {report.best_step} "
        f"of {report.steps} kept"
    )
    from salon.train import distill_validation as validation  # statistics, not for --help

    looks = validation.shown_looks(report.looks, report.best_step)
    rows = [validation.look_cells(look, report.best_step) for look in looks]
    if rows:
        title = "validation against the labels, by which it was chosen (it leans upwards)"
        columns = validation.LOOK_COLUMNS
        print_table(title, columns, rows, left=(0, len(columns) - 1))
    if len(rows) < len(report.looks):
        say(f"- {len(rows)} of {len(report.looks)} looks; --json has all")
    say("- " + ", ".join(f"{count:,} {what}" for what, count in report.counts.items()))
    say("- " + ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in report.answers.items()))
    for note in report.notes:
        say(f"- {note}")
    say(f"- {report.seconds:,.1f} s of training")
    if not report.written:
        say("no scorer was written", bold=True)
        say("--resume --keep-anyway writes this state all the same; --overwrite begins anew, with other settings")
        return
    say(f"wrote {report.model}")
    say(str(report.signature), dim=True)
    say(f"next: salon score {study} --model {report.model}", dim=True)


# -- ablate ---------------------------------------------------------------------------------------------------------

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(cls=SectionedCommand)
@click.argument("study", type=_FOLDER)
@click.option("--vlm", required=True, help="The VLM to train, by folder or hub name; a small one.")
@click.option("-o", "--output", required=True, type=_FOLDER, help="Folder of the cells: run again, it goes on.")
@click.option("--test", "test", type=_FOLDER, help="Another study to test on  [default: the test side of STUDY]")
@click.option(
    "--against", multiple=True, metavar="TARGET", help="As for salon distill evaluate (repeatable); the first counts."
)
@click.option("--set", "training", multiple=True, metavar="NAME=VALUE",
              help="A setting of training, in all cells (repeatable).")  # fmt: skip
@click.option("--set-label", "labels", multiple=True, metavar="NAME=VALUE",
              help="A setting of labels, in all cells (repeatable).")  # fmt: skip
@options_from(AblateSettings)
@judge_options
@html_option("Write the table as one HTML file.")
@json_option
def ablate(
    study: Path, vlm: str, output: Path, test: Path | None, against: Sequence[str], training: Sequence[str],
    labels: Sequence[str], html: Path | None, figures: Path | None, as_json: bool, **flags: Any,
) -> None:  # fmt: skip
    """Label, train and test STUDY again with one setting changed at a time, once for every seed.

    The first value of each list is the reference. Cells are kept as soon as they are done: run the same command again
    to go on. Meant for a small VLM: a cell is a whole training.

    \b
      salon distill ablate study --vlm tiny -o ablation --simulated accuracy=0.8 --weigh gap --weigh none
      salon distill ablate study --vlm tiny -o ablation --transformers tiny --source bridge --source majority
      salon distill ablate study --vlm tiny -o ablation --simulated accuracy=0.8 --pool 20 --opponents 5 --opponents 10
      salon distill ablate study --vlm tiny -o ablation --simulated accuracy=0.8 --set steps=100 --set lr=1e-3
    """
    from salon.judge import JudgeSpec

    settings, judge_choice = settings_from(AblateSettings, flags), settings_from(JudgeSpec, flags)
    from salon.train import ablation as flow

    fixed = flow.Ablation(
        study=study,
        vlm=vlm,
        named=judge_choice,
        test=test,
        against=against,
        labels=_parse_settings(labels),
        training=_parse_settings(training),
    )
    with spinner("ablating") as step:
        report: AblateReport = flow.ablate(fixed, output, settings, progress=step)
    from salon.train import ablation_page, setting_table

    write_page(lambda: ablation_page(report), html, figures)
    if as_json:
        print_json(report)
    else:
        if report.simulated:
            say("SIMULATED: nobody gave the answers that are tested against.", fg="yellow")
        title = f"{report.test}, against {report.target}: {report.items:,} items"
        print_report_table(setting_table(report, "difference"), title)
        print_closing(report.policies, report.signature_line, html=html)


def _parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE; a value that reads as JSON is that, else a word."""
    settings = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise BadValue("a setting is NAME=VALUE", found=repr(pair), remedy="for instance --set steps=100")
        try:
            settings[name.replace("-", "_")] = json.loads(value)
        except ValueError:
            settings[name.replace("-", "_")] = value
    return settings


# -- evaluate -------------------------------------------------------------------------------------------------------

FOLDER = click.Path(path_type=Path, file_okay=False)
_TEXTS = (".md", ".tex")
"""Endings of files in which a table is text."""


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

    The report has order (SRCC, KRCC), linear fit (PLCC) and distance (MAE, RMSE) by category and criterion, the level
    and spread of predictions beside the target's, several scorers on the same items, what raters reach, and the cost.
    In its own study a model is tested on items that it was not trained or chosen on; elsewhere a model that was trained
    on a test picture is refused. Of several checkpoints only the one chosen on other items sees the test. An untrained
    VLM, in a folder or at an endpoint, gets the same question.

    \b
      salon distill evaluate study -s base -s distilled --html report.html
      salon distill evaluate study --model distilled --against fused --against ratings
      salon distill evaluate study -s distilled --labels labels --missing scored
      salon distill evaluate study --checkpoint scorer-1 --checkpoint scorer-2 --validation labels
      salon distill evaluate study -s onepass:weights/Qwen3-VL-8B --model distilled --table category -o table3.tex
      salon distill evaluate study -s onepass:openai:qwen@http://localhost:8000/v1 --role painting --dry-run
    """
    from salon.cli.judge_options import forecast_printer
    from salon.evaluate import paper_table
    from salon.judge import RaterSettings
    from salon.store import TABLE_ENDINGS, check_target

    settings = settings_from(ScoreEvaluationSettings, flags)
    if output is not None:
        if table is None:
            raise BadValue("-o writes one table", found="no --table", remedy="--table category, scale or criterion")
        check_target(output, overwrite=overwrite, endings=(*TABLE_ENDINGS, *_TEXTS))
    from salon.evaluate import scorers as flow

    rater = settings_from(RaterSettings, flags)
    request = flow.ScoreQuestion(scorers, models, checkpoints, validation, against, labels, criteria, rater=rater)
    with spinner("evaluating") as step:
        report: Evaluation = flow.evaluate_scores(
            study, request, settings, device=device, progress=step, on_forecast=forecast_printer(dry_run)
        )
    from salon.evaluate import evaluation_page

    write_page(lambda: evaluation_page(report), html, figures)
    if table is not None and output is not None:
        _write_table(paper_table(report, table), output, overwrite=overwrite)
    if as_json:
        print_json(report)
    elif table is not None:
        print_paper_table(report, paper_table(report, table))
        print_closing(report.policies, report.signature_line, warnings=report.warnings, html=html)
    else:
        from salon.cli.evaluation import print_evaluation

        print_evaluation(report, html)


def print_paper_table(report: Evaluation, table: ScorePaperTable) -> None:
    """One table in the shape of the paper's, groups of rows under their headings."""
    if report.leaking:
        say("LEAK: a model was trained on a test picture", fg="red", bold=True)
    if report.simulated:
        say("SIMULATED: nobody gave these answers.", fg="yellow")
    heads, rows = table.heads(), []
    for block in table.blocks:
        if block.opens_target:
            rows.append([f"Against {block.target}", *[""] * (len(heads) - 1)])
        rows.append([f"  {block.heading}", *[""] * (len(heads) - 1)])
        rows += [[f"    {cell}" if place == 0 else cell for place, cell in enumerate(table.cells(row))]
                 for row in block.rows]  # fmt: skip
    print_table(table.title, heads, rows, left=(0, 1) if table.has_labels else (0,))


def _write_table(table: ScorePaperTable, output: Path, *, overwrite: bool) -> None:
    from salon.evaluate import table_latex, table_markdown, table_records
    from salon.store import whole_file, write_plain

    if output.suffix not in _TEXTS:
        write_plain(table_records(table), output, overwrite=overwrite)
        return
    with whole_file(output, overwrite=overwrite) as file:
        text = table_latex(table) if output.suffix == ".tex" else table_markdown(table)
        file.write(text.encode())
