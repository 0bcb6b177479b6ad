"""The command that tunes a vision-language model into a reward model."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import counting, json_option, print_json, print_table, say
from salon.cli.options import options_from
from salon.cli.train import figure_rows, print_notes
from salon.cli.train_plan import chosen_settings, plan_options, require, show_plan, stated_memory
from salon.errors import BadFile
from salon.train.reward_settings import RewardSettings

if TYPE_CHECKING:
    from salon.train.train_reward import RewardReport

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("source", type=_FILE, required=False)
@click.option("-o", "--output", type=_FILE, help="Folder for the model.")
@click.option(
    "--backbone", required=True, help="A VLM by folder or hub name, a reward model, or released HPSv3 weights."
)
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@click.option(
    "--images", type=_FILE, help="Where pictures are that files name: a folder, or one of tars  [default: beside them]"
)
@click.option(
    "--also", multiple=True, type=_FILE,
    help="Further pairs to look at whenever validation is, never to choose by: the test pairs of a file or a folder of "
    "files, or all of a study (repeatable).",
)  # fmt: skip
@click.option("--instruction", type=_FILE, help="File with the words the VLM is asked with; see the guide.")
@options_from(RewardSettings)
@plan_options(RewardSettings)
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted.")
@click.option("--overwrite", is_flag=True, help="Replace a model or run that is there already.")
@json_option
def reward(
    source: Path | None,
    output: Path | None,
    backbone: str,
    criteria: Sequence[str],
    images: Path | None,
    also: Sequence[Path],
    instruction: Path | None,
    is_plan: bool,
    resume: bool,
    overwrite: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """A reward model with uncertainty, from the judgments of SOURCE.

    SOURCE is a study folder, or a Parquet file with the columns of salon labels, or a folder of Parquet or Arrow
    files: a million pairs need no more memory than a thousand. Pictures are files, members of WebDataset's tars, or
    columns of SOURCE. The VLM reads a picture with its prompt; a head gives the score mu and its standard deviation
    sigma. Several GPUs: the same command under accelerate launch, with a file of examples/reward, or under torchrun
    with --shard. salon evaluate says what the model is worth. --plan says how much memory it takes, from the backbone's
    config alone; without its folder, from a shape such as qwen2-vl-7b.

    \b
      salon train reward study -o model --backbone weights/Qwen2-VL-7B-Instruct --learn lora
      salon train reward hpdv3/labels.parquet -o model --backbone weights/HPSv3 --confident 0.95
      salon train reward shards -o model --backbone weights/vlm --images tars --also test.parquet --log wandb
      salon train reward --backbone qwen2-vl-7b --recipe hpsv3 --plan --gpus 48 --memory 80GB
      torchrun --standalone --nproc_per_node 8 $(command -v salon) train reward study -o model \\
        --backbone weights/Qwen2-VL-7B-Instruct --shard fsdp2
      accelerate launch --config_file examples/reward/fsdp2_8.yaml $(command -v salon) train reward study -o model \\
        --backbone weights/Qwen2-VL-7B-Instruct
    """
    settings = chosen_settings(RewardSettings, flags, "train reward", quiet=as_json)
    if is_plan:
        show_plan("reward", backbone, settings, flags, as_json=as_json)
        return
    source, output = require(source, "SOURCE"), require(output, "--output")
    words = None if instruction is None else _read(instruction)
    training = importlib.import_module("salon.train.train_reward")  # torch comes with it
    with counting("steps", quiet=as_json) as tell:
        report = training.train_reward(
            source, backbone, output, settings, criteria=criteria, images=images, also=also, instruction=words,
            resume=resume, overwrite=overwrite, memory=stated_memory(flags["memory"]),
            progress=lambda step, steps, loss: tell(step, steps, f"loss {loss:.3f}"),
        )  # fmt: skip
    if report is None:  # another process writes and tells
        return
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        _print(report, source)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a text file with the instruction is needed", found=str(error), where=str(path)) from None


def _print(report: RewardReport, source: Path) -> None:
    if report.simulated:
        say("SIMULATED: nobody gave these answers.")
    say(
        f"reward model on {report.backbone}, law {report.law}, {report.learn}: step {report.best_step} of "
        f"{report.steps} kept", bold=True,
    )  # fmt: skip
    if report.validation:
        title = "validation, by which it was chosen (the numbers lean upwards; chance is 0.500)"
        print_table(title, ("criterion", "pairs", "accuracy", "one more rater", "loss"), figure_rows(report.validation))
    for name, figures in report.also.items():
        title = f"also on {name}, by which nothing was chosen"
        print_table(title, ("criterion", "pairs", "accuracy", "one more rater", "loss"), figure_rows(figures))
    say("- " + ", ".join(f"{count:,} {what}" for what, count in report.counts.items()))
    print_notes((*report.notes, *{one.missing for one in report.validation}), report.validation)
    say(f"- {report.seconds:,.1f} s of training")
    say(f"wrote {report.model}")
    say(str(report.signature), dim=True)
    say(f"next: salon evaluate {report.model} {source}", dim=True)
