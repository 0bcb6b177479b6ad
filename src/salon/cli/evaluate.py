"""`salon evaluate` and `salon train probe`: how accurate is a model, and can its score be gamed?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import (
    html_option,
    json_option,
    print_json,
    print_report_table,
    say,
    spinner,
    write_page,
)
from salon.cli.judge_options import rater_options
from salon.cli.options import SectionedCommand, chosen_people, options_from, person_options, settings_from
from salon.errors import BadValue, InputError
from salon.evaluate import CurveSettings, EvaluateSettings
from salon.train import ProbeSettings

if TYPE_CHECKING:
    from salon.evaluate import Evaluation


@click.command(cls=SectionedCommand)
@click.argument("places", nargs=-1, required=True, metavar="[MODEL]... STUDY", type=click.Path(path_type=Path))
@click.option(
    "--also", multiple=True, type=click.Path(path_type=Path, file_okay=False), help="Another study (repeatable)."
)
@click.option(
    "-s", "--scorer", "scorers", multiple=True, metavar="NAME", help="A scorer, as for salon score (repeatable)."
)
@person_options
@click.option("--criterion", "criteria", multiple=True, metavar="ID", help="Only this criterion (repeatable).")
@html_option()
@click.option("--device", help="cpu, cuda, cuda:1 or mps  [default: the best there is]")
@options_from(EvaluateSettings)
@click.option("--learning-curve", "with_curve", is_flag=True, help="Train the first model anew on parts of its data.")
@options_from(CurveSettings)
@rater_options
@json_option
def evaluate(
    places: Sequence[Path],
    also: Sequence[Path],
    scorers: Sequence[str],
    persons: Sequence[str],
    everyone: bool,
    criteria: Sequence[str],
    html: Path | None,
    figures: Path | None,
    device: str | None,
    with_curve: bool,
    dry_run: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """How good each MODEL is on STUDY: accuracy beside what people reach, on prompts it was not trained on.

    Every accuracy stands beside its ceilings: what one more rater would reach, and what a predictor that knows every
    pair's odds would reach. The report also has accuracies by criterion and by how clearly raters agreed, calibration,
    the order of generators, and paired tests of several models. A model that was trained on what it is tested on is
    refused. MODEL may also be the folder of an untrained VLM, which is asked for scores in one pass. With --rater a
    person of STUDY is evaluated too, against the majority of the others.

    \b
      salon evaluate model study --html report.html
      salon evaluate model-a model-b study -s words -s effnet-lite2+minilm+ocr
      salon evaluate model study --also hpdv3 --also pickapic
      salon evaluate model study --learning-curve
      salon evaluate study --raters --html raters.html
      salon evaluate model weights/Qwen3-VL-8B study -s onepass:openai:qwen@http://localhost:8000/v1
    """
    from salon.cli.judge_options import forecast_printer
    from salon.judge import RaterSettings

    *models, study = places
    raters = chosen_people(persons, everyone)
    if not models and not scorers and not raters:
        remedy = "salon evaluate MODEL STUDY, --scorer NAME, or --rater ID"
        raise BadValue("a model, a scorer or a rater to evaluate is needed", found=f"only {study}", remedy=remedy)
    settings = settings_from(EvaluateSettings, flags)
    curve = settings_from(CurveSettings, flags) if with_curve else None
    from salon.train import model_evaluation as flow

    with spinner("evaluating") as step:
        report: Evaluation = flow.evaluate_models(
            models, [study, *also], settings,
            scorers=scorers, raters=raters, criteria=criteria, curve=curve, device=device,
            rater=settings_from(RaterSettings, flags), progress=step, on_forecast=forecast_printer(dry_run),
        )  # fmt: skip
    from salon.evaluate import evaluation_page

    write_page(lambda: evaluation_page(report), html, figures)
    if as_json:
        print_json(report)
    else:
        from salon.cli.evaluation import print_evaluation

        print_evaluation(report, html)


# --------------------------------------------------------------------------------------------------
# The command that tries to fool a scorer.
# --------------------------------------------------------------------------------------------------

_OUTCOME_WORDS = {
    "raises": "raises the score",
    "does not raise": "does not raise the score",
    "open": "open: items of more prompts are needed",
    "noticed": "noticed",
    "not noticed": "not noticed",
}


@click.command()
@click.argument("model")
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--criterion", "criteria", multiple=True, help="Only this criterion of a trained model (repeatable).")
@html_option()
@click.option("--gate", is_flag=True, help="Exit code 1 when a trick raises the score.")
@click.option("--device", help="cpu, cuda, cuda:1 or mps  [default: the best there is]")
@options_from(ProbeSettings)
@json_option
def probe(
    model: str,
    study: Path,
    criteria: Sequence[str],
    html: Path | None,
    figures: Path | None,
    gate: bool,
    device: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Can MODEL be gamed? Alter items of STUDY and see what happens to their scores.

    MODEL is the folder of a trained model, or any scorer that salon score --list names. More contrast or saturation, a
    border, praise or the prompt written into the picture must not raise a score; blur, grain and JPEG must lower it.
    Items whose pictures the model was trained on are left out.

    \b
      salon train probe taste-heads study                                            every criterion
      salon train probe taste-heads study --criterion taste/mood --html probe.html   one of them, as a page
      salon train probe naturalness study --gate       exit code 1 when a trick pays
    """
    from salon.judge import ScoreSettings, expand_model
    from salon.store import local_path, open_study
    from salon.train import SIZES, example_item, probe_page, probe_study, probe_table, training_items

    settings = settings_from(ProbeSettings, flags)
    if html is not None or figures is not None:
        scorers = expand_model(model, criteria)
        if len(scorers) > 1:
            raise InputError("a page is about one scorer", found=f"{len(scorers)} criteria", remedy="name --criterion")
    folder, opened = local_path(study).resolve(), open_study(study)
    with spinner("probing") as step:
        reports = probe_study(
            opened, folder, model, settings, ScoreSettings(device=device, batch=32), criteria=criteria, step=step
        )
    write_page(
        lambda: probe_page(reports[0], example_item(opened, folder, training_items(opened, folder, model))),
        html,
        figures,
    )
    if as_json:
        print_json({"study": str(study), "probes": [report.model_dump(mode="json") for report in reports]})
    else:
        for report in reports:
            about = "" if report.criterion is None else f" ({report.criterion})"
            say(f"{report.scorer}{about}: {report.items:,} items of {report.prompts:,} prompts, altered", bold=True)
            if report.simulated:
                say("SIMULATED: nobody gave the answers of this study.", fg="yellow")
            print_report_table(probe_table(report))
            for verdict in report.verdicts:
                bad = verdict.outcome in ("raises", "not noticed")
                say(f"{verdict.trick}: {_OUTCOME_WORDS[verdict.outcome]}", fg="red" if bad else None)
            say(SIZES, dim=True)
            say(f"change is in spreads of a prompt ({report.spread:.3g} on the scorer's scale)", dim=True)
            say(
                f"intervals: whole prompts drawn again; those of one alteration hold together at {report.level:.0%}",
                dim=True,
            )
            for reason, items in report.left_out.items():
                say(f"not used: {items:,} items {reason}", dim=True)
            say(f"missing values: {report.missing}", dim=True)
            say(str(report.signature), dim=True)
    if gate and any(report.raised for report in reports):
        click.get_current_context().exit(1)
