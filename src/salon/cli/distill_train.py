"""The command that trains a VLM into a one-pass scorer."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import counting, json_option, print_json, print_table, say
from salon.cli.options import options_from, settings_from
from salon.report.numbers import fixed
from salon.train.distill_settings import DistillSettings

if TYPE_CHECKING:
    from salon.flows.distill.train import DistillReport

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("study", type=_FILE)
@click.option("--labels", required=True, type=_FILE, help="Folder of labels, by salon distill label.")
@click.option("--vlm", required=True, help="The VLM to train, by folder or hub name; best the one that labelled.")
@click.option("-o", "--output", required=True, type=_FILE, help="Folder for the scorer.")
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@click.option("--apart", type=_FILE, help="A study to be tested on: refuse to train on any of its pictures.")
@options_from(DistillSettings)
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted.")
@click.option("--overwrite", is_flag=True, help="Replace a scorer, once the new one is whole, or a run.")
@json_option
def train(
    study: Path,
    labels: Path,
    vlm: str,
    output: Path,
    criteria: Sequence[str],
    apart: Path | None,
    resume: bool,
    overwrite: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Train a VLM to score pictures in one pass, from the LABELS of STUDY.

    GRPO through TRL: answers about one picture are rewarded for keeping the order of the labels against the other
    pictures of the step, with confidence weights, and lose for a broken form or a score off its scale. The state with
    the highest SRCC on the validation items is kept; test items are never looked at. Several GPUs: the same command
    under torchrun or accelerate launch.

    \b
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer --learn lora
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer --resume
      accelerate launch --config_file zero3.yaml $(command -v salon) distill train study --labels labels ...
    """
    settings = settings_from(DistillSettings, flags)
    training = importlib.import_module("salon.flows.distill.train")  # torch and TRL come with it
    with counting("steps", quiet=as_json) as tell:
        report = training.distill_study(
            study, labels, vlm, output, settings, criteria=criteria, apart=apart, resume=resume,
            overwrite=overwrite,
            progress=lambda step, steps, reward: tell(step, steps, f"reward {reward:.3f}", "steps"),
            format_progress=lambda step, steps, loss: tell(step, steps, f"loss {loss:.3f}", "form"),
        )  # fmt: skip
    if report is None:  # another process writes and tells
        return
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        _print(report, study)


def _print(report: DistillReport, study: Path) -> None:
    if report.simulated:
        say("SIMULATED: no model gave these labels.")
    say(
        f"one-pass scorer from {report.backbone}, {report.learn}, labels by {report.labels}: step {report.best_step} "
        f"of {report.steps} kept", bold=True,
    )  # fmt: skip
    looks = [("before", report.before), ("kept", report.validation)]
    rows = [(name, *_row(found)) for name, found in looks if found is not None]
    if rows:
        title = "validation against the labels, by which it was chosen (it leans upwards)"
        print_table(title, ("", "SRCC", "answers read", "mean score", "spread"), rows)
    say("- " + ", ".join(f"{count:,} {what}" for what, count in report.counts.items()))
    say("- " + ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in report.answers.items()))
    for note in report.notes:
        say(f"- {note}")
    say(f"- {report.seconds:,.1f} s of training")
    say(f"wrote {report.model}")
    say(str(report.signature), dim=True)
    say(f"next: salon score {study} --model {report.model}", dim=True)


def _row(found: dict[str, Any]) -> tuple[str, str, str, str]:
    mean, sd = (fixed(found[name], 2) for name in ("mean", "sd"))
    return f"{found['srcc']:.3f}", f"{found['read']:,} of {found['images']:,}", mean, sd
