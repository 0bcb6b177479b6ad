"""`salon train reward` and `salon train pairs`, and flags that training commands share: memory plans and recipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from pydantic import BaseModel

from salon.cli.console import json_option, print_json, print_table, progress_bar, say
from salon.cli.options import options_from, settings_from
from salon.errors import BadFile, BadValue
from salon.store import TrainingPairSettings
from salon.store.formats.training_pairs import READERS
from salon.train import RewardSettings

if TYPE_CHECKING:
    from salon.train import Command

S = TypeVar("S", bound=BaseModel)


def plan_options(settings: type[BaseModel]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Flags of a plan; --shard only where the settings have none of their own."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        options = [
            click.option("--plan", "is_plan", is_flag=True, help="Only say how much memory this training needs."),
            click.option("--gpus", type=click.IntRange(1), default=1, show_default=True, help="GPUs to plan for."),
            click.option("--memory", help="Memory of a GPU, such as 80GB  [default: what is there]"),
            click.option("--text-tokens", type=click.IntRange(1), help="To plan for: tokens of text with a picture."),
        ]
        if "shard" not in settings.model_fields:
            choice = click.Choice(("none", "fsdp2", "zero2", "zero3"))
            options.append(
                click.option("--shard", type=choice, default="none", help="To plan for: how weights are shared out.")
            )
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def chosen_settings(settings: type[S], flags: Mapping[str, Any], command: Command, *, quiet: bool) -> S:
    """The settings that the flags and their recipe describe; the recipe is printed with its sources."""
    from salon.train import find_recipe

    name = flags.get("recipe")
    if not name:
        return settings_from(settings, flags)
    recipe = find_recipe(name, command)
    context = click.get_current_context()
    on_command_line = {
        flag: value for flag, value in flags.items()
        if flag != "recipe" and context.get_parameter_source(flag) is not ParameterSource.DEFAULT
    }  # fmt: skip
    if not quiet:
        rows = recipe.lines(on_command_line)
        print_table(f"recipe {recipe.label}: {recipe.about}", ("setting", "value", "source"), rows, left=(0, 2))
        for note in recipe.notes:
            say(f"- {note}", dim=True)
    return settings_from(settings, {**flags, **recipe.values(on_command_line)})


def show_plan(kind: str, source: str, settings: Any, flags: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a training of this `kind`, reward or distill, needs."""
    from salon.train import memory_plan as planning  # torch comes with it

    memory, tokens = memory_flag_bytes(flags["memory"]) or planning.gpu_memory(), flags["text_tokens"]
    shard = flags["shard"]
    plan = getattr(planning, f"plan_{kind}")(
        source, settings, gpus=flags["gpus"], shard=planning.launched_shard(settings) if shard == "auto" else shard,
        memory=memory, **({"text_tokens": tokens} if tokens else {}),
    )  # fmt: skip
    if as_json:
        print_json(plan)
    else:
        from salon.train import words

        say(plan.headline, bold=True)
        say(
            f"{plan.backbone}: {plan.parameters:,} parameters, {plan.trained:,} of them learn; {plan.picture_tokens:,} "
            f"tokens a picture, {plan.tokens:,} a sequence"
        )
        rows = [(row.name, words(row.bytes), row.how) for row in plan.rows]
        rows += [("margin", words(plan.margin), "10% of the sum, and at least 1 GB on a GPU")]
        rows += [("total", words(plan.total), "")]
        print_table("memory of each GPU", ("", "bytes", "how it is counted"), rows, left=(0, 2))
        if plan.fits is None:
            say("- no memory is stated (--memory 80GB) and no GPU is here: nothing to hold it against")
        else:
            say(f"- it {'fits' if plan.fits else 'does not fit'} into {words(plan.memory)}")
        if plan.fits is False:
            say(f"- smallest change that fits: {plan.change or 'none of recompute, at-once, shard and lora is enough'}")
        for words_ in plan.left_out:
            say(f"- not counted: {words_}", dim=True)


def memory_flag_bytes(text: str | None) -> int | None:
    """Bytes of --memory, where it is given."""
    if text is None:
        return None
    from salon.train import parse_memory

    return int(parse_memory(text))


def require(value: Path | None, flag: str) -> Path:
    """What only a plan can do without."""
    if value is None:
        raise BadValue(f"{flag} is needed", found="nothing", remedy=f"give {flag}, or --plan")
    return value


# -- reward ---------------------------------------------------------------------------------------------------------

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

    SOURCE is a study folder, or a Parquet file with the columns of salon labels, or a folder of Parquet or Arrow files:
    a million pairs need no more memory than a thousand. Pictures are files, members of WebDataset's tars, or columns of
    SOURCE. The VLM reads a picture with its prompt; a head gives the score mu and its standard deviation sigma. Several
    GPUs: the same command under accelerate launch, with a file of examples/reward, or under torchrun with --shard. Test
    the model with salon evaluate. --plan prints the memory that training needs, from the backbone's config alone or
    from a shape such as qwen2-vl-7b.

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
    from salon.cli.train import print_figures, print_notes

    settings = chosen_settings(RewardSettings, flags, "train reward", quiet=as_json)
    if is_plan:
        show_plan("reward", backbone, settings, flags, as_json=as_json)
        return
    source, output = require(source, "SOURCE"), require(output, "--output")
    words = None if instruction is None else _read_instruction(instruction)
    from salon.train import reward_training as training  # torch comes with it

    with progress_bar("steps", quiet=as_json) as tell:
        report = training.train_reward(
            source, backbone, output, settings, criteria=criteria, images=images, also=also, instruction=words,
            resume=resume, overwrite=overwrite, memory=memory_flag_bytes(flags["memory"]),
            progress=lambda step, steps, loss: tell(step, steps, f"loss {loss:.3f}"),
        )  # fmt: skip
    if report is None:  # another process writes and tells
        return
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        if report.simulated:
            say("SIMULATED: nobody gave these answers.")
        say(
            f"reward model on {report.backbone}, law {report.law}, {report.learn}: step {report.best_step} of "
            f"{report.steps} kept", bold=True,
        )  # fmt: skip
        if report.validation:
            title = "validation, by which it was chosen (the numbers lean upwards; chance is 0.500)"
            print_figures(title, report.validation)
        for name, figures in report.also.items():
            print_figures(f"also on {name}, by which nothing was chosen", figures)
        say("- " + ", ".join(f"{count:,} {what}" for what, count in report.counts.items()))
        print_notes((*report.notes, *{row.missing for row in report.validation}), report.validation)
        say(f"- {report.seconds:,.1f} s of training")
        say(f"wrote {report.model}")
        say(str(report.signature), dim=True)
        say(f"next: salon evaluate {report.model} {source}", dim=True)


def _read_instruction(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a text file with the instruction is needed", found=str(error), where=str(path)) from None


# -- pairs ----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("kind", type=click.Choice(list(READERS)), metavar="KIND")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="Parquet file to write."
)
@click.option(
    "--images", type=click.Path(path_type=Path, file_okay=False), help="Where Pick-a-Pic's pictures are written."
)
@options_from(TrainingPairSettings)
@json_option
def pairs(kind: str, files: Sequence[Path], output: Path, images: Path | None, as_json: bool, **flags: Any) -> None:
    """Write the labeled pairs of FILES for salon train reward; KIND is hpdv3, hpdv2, pickapic or imagereward.

    Files are read record by record, so a million pairs need no more memory than a thousand. To check small files first,
    import them as a study and write them with salon labels.

    \b
      salon train pairs hpdv3 HPDv3/all.json -o pairs.parquet
      salon train pairs imagereward test.json -o test.parquet --train 0 --validation 0 --test 1
      salon train pairs pickapic train-*.parquet --images pickapic -o pickapic/pairs.parquet
    """
    from salon.store import write_pairs

    result = write_pairs(kind, files, output, settings_from(TrainingPairSettings, flags), images=images)
    if as_json:
        print_json({"output": str(output), "kind": kind, **result.model_dump(mode="json")})
        return
    splits = ", ".join(f"{count:,} {name}" for name, count in result.splits.items())
    say(f"wrote {result.rows:,} pairs to {output}: {splits}", bold=True)
    for reason, count in result.left_out.items():
        say(f"- left out: {count:,} {reason}")
    if result.sorted:
        say(f"- choice_dist gave path2 more votes in {result.sorted:,} pairs: sorted, as the released code does")
    say(f"next: salon train reward {output} -o MODEL", dim=True)
