"""The command that trains a VLM into a one-pass scorer."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import counting, json_option, print_json, print_table, say
from salon.cli.options import options_from
from salon.cli.train_plan import chosen_settings, plan_options, require, show_plan, stated_memory
from salon.train.distill_settings import DistillSettings

if TYPE_CHECKING:
    from salon.train.distill_study import DistillReport

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("study", type=_FILE, required=False)
@click.option("--labels", type=_FILE, help="Folder of labels, by salon distill label.")
@click.option("--vlm", required=True, help="The VLM to train, by folder or hub name; best the one that labelled.")
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
    pictures of the step, with confidence weights, and lose for a broken form or a score off its scale. The latest
    state within one standard error of the highest SRCC on the validation items is kept; test items are never looked
    at. Where that state gives one score to all, cannot be read or is not above chance, no scorer is written and the
    exit code is 1. Several GPUs: the same command under torchrun or accelerate launch;
    examples/distill has launch files.

    \b
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer --learn lora
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer --resume
      salon distill train --vlm qwen3-vl-8b --recipe psdistill --plan --gpus 8 --shard zero3 --memory 80GB
      accelerate launch --config_file zero3.yaml $(command -v salon) distill train study --labels labels ...
    """
    settings = chosen_settings(DistillSettings, flags, "distill train", quiet=as_json)
    if is_plan:
        show_plan("distill", vlm, settings, flags, as_json=as_json)
        return
    study, labels, output = require(study, "STUDY"), require(labels, "--labels"), require(output, "--output")
    training = importlib.import_module("salon.train.distill_study")  # torch and TRL come with it
    with counting("steps", quiet=as_json) as tell:
        report = training.distill_study(
            study, labels, vlm, output, settings, criteria=criteria, apart=apart, resume=resume,
            overwrite=overwrite, keep_anyway=keep_anyway, memory=stated_memory(flags["memory"]),
            progress=lambda step, steps, reward: tell(step, steps, f"reward {reward:.3f}", "steps"),
            format_progress=lambda step, steps, loss: tell(step, steps, f"loss {loss:.3f}", "form"),
        )  # fmt: skip
    if report is None:  # another process writes and tells
        return
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        _print(report, study)
    if not report.written:
        click.get_current_context().exit(1)


def _print(report: DistillReport, study: Path) -> None:
    if report.simulated:
        say("SIMULATED: no model gave these labels.")
    say(report.verdict.words, bold=True, fg=None if report.verdict.outcome == "learned" else "yellow")
    say(
        f"one-pass scorer from {report.backbone}, {report.learn}, labels by {report.labels}: step {report.best_step} "
        f"of {report.steps} kept"
    )
    validation = importlib.import_module("salon.train.distill_validation")  # statistics, not for --help
    shown = validation.shown_looks(report.looks, report.best_step)
    rows = [validation.look_cells(look, report.best_step) for look in shown]
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
