"""`salon train`, `salon train heads` and `salon train sweep`: heads on a frozen encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import BaseModel, create_model

from salon.cli.console import Cell, count, json_option, print_json, print_table, progress_bar, say, spinner
from salon.cli.lazy_commands import LazyGroup
from salon.cli.options import options_from, settings_from
from salon.train import GRID, CompareSettings, HeadSettings, SweepSettings

if TYPE_CHECKING:
    from salon.evaluate import HeadFigures
    from salon.train import Epoch

TRAIN_COMMANDS = {
    "sweep": ("salon.cli.train:sweep", "Try settings of heads, and choose by validation."),
    "reward": ("salon.cli.train_reward:reward", "Tune a vision-language model into a reward model with uncertainty."),
    "pairs": ("salon.cli.train_reward:pairs", "Pairs to train on from HPDv3, HPDv2, Pick-a-Pic or ImageReward files."),
    "probe": ("salon.cli.evaluate:probe", "Can tricks raise a model's score? Contrast, borders, texts and more."),
}


@click.group(cls=LazyGroup, lazy=TRAIN_COMMANDS)
def train() -> None:
    """Learn what raters prefer, and give it to any picture.

    \b
      salon train heads study -o model                            small heads: minutes, without a GPU
      salon train reward study -o model --backbone weights/vlm    a whole VLM
      salon evaluate model study --html report.html               what it is worth
    """


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where pictures are turned into vectors."""
    engines = click.Choice(["here", "pool", "ray"])
    for option in (
        click.option("--address", help="Address of a Ray cluster  [default: one on this machine]"),
        click.option("--workers", type=click.IntRange(1), help="Workers of a pool or on Ray  [default: one a core]"),
        click.option("--engine", type=engines, default="here", show_default=True,
                     help="Where pictures become vectors: in this process, in several, or on Ray."),
    ):  # fmt: skip
        command = option(command)
    return command


@train.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for the model.")
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@click.option(
    "--compare", "comparing", is_flag=True,
    help="Instead of a model, a table: scalar and pairwise heads, with the criterion in the prompt and without, and an "
    "adapted encoder (LoRA), by how the panel split.",
)  # fmt: skip
@options_from(CompareSettings)
@options_from(HeadSettings)
@engine_options
@click.option("--overwrite", is_flag=True, help="Replace a model that is there already.")
@json_option
def heads(
    study: Path,
    output: Path,
    criteria: Sequence[str],
    comparing: bool,
    overwrite: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Small heads on a frozen encoder, from the judgments of STUDY.

    For each criterion a head learns which of two pictures raters prefer under a prompt. Pictures become vectors once
    and are kept in the cache. The split is by prompt. The best state is chosen on validation pairs; test pairs are left
    to salon evaluate.

    \b
      salon train heads study -o model
      salon train heads study -o scalar --form scalar --seed 1
      salon train heads study -o mood --criterion taste/mood --encoder siglip:weights/siglip2
      salon train heads study -o raters --labels raters --rater-weights learned
      salon train heads study -o table --compare --encoder clip:weights/clip       TASTE's Table 6, LoRA as fifth row
    """
    from salon.engine import EngineSettings
    from salon.store import local_path, open_study

    settings = settings_from(HeadSettings, flags)
    if comparing:
        _compare(study, output, criteria, settings, as_json, flags)
        return
    from salon.train import train_heads as training  # torch and the encoders come with it

    opened = open_study(study)
    with training_progress(settings.epochs, quiet=as_json) as (progress, watch):
        report = training.train_study(
            opened, local_path(study).resolve(), settings, output, criteria=criteria, overwrite=overwrite,
            engine=settings_from(EngineSettings, flags | {"batch": None}), progress=progress, watch=watch,
        )  # fmt: skip
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        if report.simulated:
            say("SIMULATED: nobody gave these answers.")
        say(f"{report.form} heads on {report.encoder}: pass {report.best_pass} of {report.passes} kept", bold=True)
        title = "validation, by which it was chosen (the numbers lean upwards; chance is 0.500)"
        print_figures(title, report.validation)
        counts = report.counts
        train = f"{counts['train pairs']:,} pairs of {count(counts['train prompts'], 'prompt')}"
        test = f"{counts['test pairs']:,} pairs of {count(counts['test prompts'], 'prompt')}"
        say(f"trained on {train}; {test} are kept for the test", dim=True)
        for rater, eta in sorted(report.rater_reliability.items(), key=lambda pair: pair[1]):
            say(f"- rater {rater}: reliability {eta:.2f}")
        say(f"- ended because: {report.stopped}")
        print_notes((*report.notes, report.validation[0].missing), report.validation)
        times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in report.seconds.items())
        say(f"- {times}; {report.pairs_per_second:,.0f} pairs a second")
        say(f"wrote {report.model}")
        say(str(report.signature), dim=True)
        say(f"next: salon evaluate {report.model} {study}", dim=True)


def _compare(
    study: Path, output: Path, criteria: Sequence[str], settings: HeadSettings, as_json: bool, flags: dict[str, Any]
) -> None:
    from salon.engine import EngineSettings
    from salon.store import local_path, open_study
    from salon.train import compare_heads as comparing

    opened = open_study(study)
    with spinner("comparing heads") as step:
        report = comparing.compare_heads(
            opened, local_path(study).resolve(), settings, settings_from(CompareSettings, flags), output,
            criteria=criteria, engine=settings_from(EngineSettings, flags | {"batch": None}), progress=step,
        )  # fmt: skip
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        if report.simulated:
            say("SIMULATED: nobody gave these answers.")
        splits = [row.split for row in report.panel.buckets]
        say(
            f"heads on {report.encoder}: {report.pairs:,} validation pairs of {count(report.prompts, 'prompt')}",
            bold=True,
        )
        rows: list[tuple[Cell, ...]] = [("chance", *["0.500"] * (1 + len(splits)))]
        for row in (report.panel, *report.rows):
            accuracies = {bucket.split: bucket.accuracy for bucket in row.buckets}
            rows.append((row.name, row.accuracy, *(accuracies.get(split) for split in splits)))
        print_table("accuracy by how the panel split", ("heads", "all", *splits), rows)
        for row in report.rows:
            if row.reason:
                say(f"- {row.name}: {row.reason}")
        for note in report.notes:
            say(f"- {note}")
        say(f"wrote {output}")
        say(str(report.signature), dim=True)


@contextmanager
def training_progress(passes: int, *, quiet: bool) -> Iterator[tuple[Callable[[int], None], Callable[[Epoch], None]]]:
    """A bar for two counts: how many more pictures are vectors, then each pass."""
    with progress_bar("pictures", quiet=quiet) as tell:
        pictures = 0

        def encoded(count: int) -> None:
            nonlocal pictures
            pictures += count
            tell(pictures, None)

        def watch(epoch: Epoch) -> None:
            note = f"validation loss {epoch.validation_loss:.3f}, accuracy {epoch.validation_accuracy:.3f}"
            tell(epoch.number, passes, note, "passes")

        yield encoded, watch


# -- the result --------------------------------------------------------------------------------------------------------


def print_notes(notes: Iterable[str], figures: Sequence[HeadFigures]) -> None:
    """The notes of a training; those that say what validation cannot tell stand out, and stand last."""
    from salon.evaluate import validation_warnings

    warned = validation_warnings(figures)
    for note in notes:
        if note not in warned:
            say(f"- {note}")
    for words in warned:
        say(f"warning: {words}", fg="yellow")


def print_figures(title: str, figures: Sequence[HeadFigures]) -> None:
    """Print criterion, pairs, accuracy and ceiling with intervals, and loss."""
    from salon.report.numbers import fixed

    rows = [(row.criterion or "all", row.pairs, row.accuracy, row.ceiling, fixed(row.loss)) for row in figures]
    print_table(title, ("criterion", "pairs", "accuracy", "one more rater", "loss"), rows)


# -- sweep ----------------------------------------------------------------------------------------------------------

_FIXED: dict[str, Any] = {
    name: (field.annotation, field) for name, field in HeadSettings.model_fields.items() if name not in GRID
}
_FixedSettings: type[BaseModel] = create_model("_FixedSettings", **_FIXED)
"""The settings of `salon train heads` but those that are varied."""


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for runs and model.")
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@options_from(SweepSettings)
@options_from(_FixedSettings)
@engine_options
@json_option
def sweep(study: Path, output: Path, criteria: Sequence[str], as_json: bool, **flags: Any) -> None:
    """Heads on STUDY with many settings and seeds; the best by validation becomes OUTPUT/model.

    Repeat a flag to give several values. Finished runs are kept: the same command continues after an interruption, and
    a longer list runs only what is new. Test pairs are not used.

    \b
      salon train sweep study -o sweep
      salon train sweep study -o sweep --widths 32 --widths 64 --weight-decays 0.1 --seeds 5 --form scalar
    """
    from salon.engine import EngineSettings
    from salon.report import with_interval
    from salon.report.numbers import fixed
    from salon.store import local_path, open_study

    settings, grid = settings_from(HeadSettings, flags), settings_from(SweepSettings, flags)
    from salon.train import head_sweep as sweeps  # torch and the encoders come with it

    opened = open_study(study)
    with progress_bar("runs", quiet=as_json) as progress:
        report = sweeps.sweep_study(
            opened, local_path(study).resolve(), settings, grid, output, criteria=criteria,
            engine=settings_from(EngineSettings, flags | {"batch": None}), progress=progress,
        )  # fmt: skip
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        if report.simulated:
            say("SIMULATED: nobody gave these answers.")
        say(f"{len(report.points):,} settings, {report.made:,} runs made, {report.kept:,} known", bold=True)
        columns = ("width", "dropout", "weight decay", "labels", "seeds", "accuracy", "spread", "loss", "spread", "")
        rows = [
            (*(f"{value:g}" if isinstance(value, int | float) else value for value in point.settings.values()),
             f"{point.seeds}", fixed(point.accuracy), fixed(point.accuracy_spread), fixed(point.loss, 4),
             fixed(point.loss_spread, 4), "chosen" if point.chosen else "")
            for point in report.points
        ]  # fmt: skip
        print_table("validation, mean and standard deviation over seeds; chance is 0.500", columns, rows, left=(3, 9))
        pairs = f"{report.validation_pairs:,} pairs of {report.validation_prompts:,} prompts"
        say(f"- on {pairs}; {report.missing}; chosen by the lowest mean loss, so its own numbers lean upwards")
        if report.ceiling is not None:
            reach = with_interval(report.ceiling)
            say(f"- one more rater would reach {reach} on the same pairs")
        say(f"wrote {output}; the chosen model is {output / 'model'}")
        say(str(report.signature), dim=True)
