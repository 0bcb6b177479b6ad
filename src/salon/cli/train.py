"""The commands that learn a preference: heads on a frozen encoder here, the others in modules of their own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import count, counting, json_option, print_json, print_table, say, working
from salon.cli.later import LaterGroup
from salon.cli.options import options_from, settings_from
from salon.engine.work import EngineSettings
from salon.evaluate.pairs.validation_words import validation_warnings
from salon.report.numbers import fixed, with_interval
from salon.store.folder import local, open_study
from salon.train.settings import CompareSettings, HeadSettings

if TYPE_CHECKING:
    from salon.evaluate.pairs.validation_figures import HeadFigures
    from salon.train.compare_heads import HeadComparison
    from salon.train.loop import Epoch
    from salon.train.train_heads import TrainReport

LATER = {
    "sweep": ("salon.cli.train_sweep:sweep", "Try settings of heads, and choose by validation."),
    "reward": ("salon.cli.train_reward:reward", "Tune a vision-language model into a reward model with uncertainty."),
    "pairs": ("salon.cli.train_pairs:pairs", "Pairs to train on from HPDv3, HPDv2, Pick-a-Pic or ImageReward files."),
    "probe": ("salon.cli.train_probe:probe", "Can tricks raise a model's score? Contrast, borders, texts and more."),
}
"""Commands whose module is loaded when they are called, and what the list says of them."""


@click.group(cls=LaterGroup, later=LATER)
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
    and are kept in the cache. The split is by prompt; the best state is chosen on validation pairs, and test pairs are
    not looked at: salon evaluate says what the model is worth.

    \b
      salon train heads study -o model
      salon train heads study -o scalar --form scalar --seed 1
      salon train heads study -o mood --criterion taste/mood --encoder siglip:weights/siglip2
      salon train heads study -o raters --labels raters --rater-weights learned
      salon train heads study -o table --compare --encoder clip:weights/clip       TASTE's Table 6, LoRA as fifth row
    """
    settings = settings_from(HeadSettings, flags)
    if comparing:
        _compare(study, output, criteria, settings, as_json, flags)
        return
    training = importlib.import_module("salon.train.train_heads")  # torch and the encoders come with it
    opened = open_study(study)
    with watched(settings.epochs, quiet=as_json) as (progress, watch):
        report = training.train_study(
            opened, local(study).resolve(), settings, output, criteria=criteria, overwrite=overwrite,
            engine=settings_from(EngineSettings, flags | {"batch": None}), progress=progress, watch=watch,
        )  # fmt: skip
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        _print(report, study)


def _compare(
    study: Path, output: Path, criteria: Sequence[str], settings: HeadSettings, as_json: bool, flags: dict[str, Any]
) -> None:
    comparing = importlib.import_module("salon.train.compare_heads")
    opened = open_study(study)
    with working("comparing heads") as step:
        report = comparing.compare_heads(
            opened, local(study).resolve(), settings, settings_from(CompareSettings, flags), output,
            criteria=criteria, engine=settings_from(EngineSettings, flags | {"batch": None}), progress=step,
        )  # fmt: skip
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        _print_comparison(report, output)


def _print_comparison(report: HeadComparison, output: Path) -> None:
    if report.simulated:
        say("SIMULATED: nobody gave these answers.")
    splits = [one.split for one in report.panel.buckets]
    say(f"heads on {report.encoder}: {report.pairs:,} validation pairs of {count(report.prompts, 'prompt')}", bold=True)
    rows = [("chance", *["0.500"] * (1 + len(splits)))]
    for one in (report.panel, *report.rows):
        known = {bucket.split: bucket.accuracy for bucket in one.buckets}
        rows.append((one.name, with_interval(one.accuracy), *(with_interval(known.get(split)) for split in splits)))
    print_table("accuracy by how the panel split", ("heads", "all", *splits), rows)
    for one in report.rows:
        if one.reason:
            say(f"- {one.name}: {one.reason}")
    for note in report.notes:
        say(f"- {note}")
    say(f"wrote {output}")
    say(str(report.signature), dim=True)


@contextmanager
def watched(passes: int, *, quiet: bool) -> Iterator[tuple[Callable[[int], None], Callable[[Epoch], None]]]:
    """A bar for two counts: how many more pictures are vectors, then each pass."""
    with counting("pictures", quiet=quiet) as tell:
        done = 0

        def encoded(count: int) -> None:
            nonlocal done
            done += count
            tell(done, None)

        def watch(epoch: Epoch) -> None:
            told = f"validation loss {epoch.validation_loss:.3f}, accuracy {epoch.validation_accuracy:.3f}"
            tell(epoch.number, passes, told, "passes")

        yield encoded, watch


# -- the result --------------------------------------------------------------------------------------------------------


def _print(report: TrainReport, study: Path) -> None:
    if report.simulated:
        say("SIMULATED: nobody gave these answers.")
    say(f"{report.form} heads on {report.encoder}: pass {report.best_pass} of {report.passes} kept", bold=True)
    title = "validation, by which it was chosen (the numbers lean upwards; chance is 0.500)"
    print_table(title, ("criterion", "pairs", "accuracy", "one more rater", "loss"), figure_rows(report.validation))
    counts = report.counts
    say(
        f"trained on {counts['train pairs']:,} pairs of {count(counts['train prompts'], 'prompt')}; "
        f"{counts['test pairs']:,} pairs of {count(counts['test prompts'], 'prompt')} are kept for the test", dim=True,
    )  # fmt: skip
    for rater, eta in sorted(report.rater_reliability.items(), key=lambda one: one[1]):
        say(f"- rater {rater}: reliability {eta:.2f}")
    say(f"- ended because: {report.stopped}")
    print_notes((*report.notes, report.validation[0].missing), report.validation)
    times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in report.seconds.items())
    say(f"- {times}; {report.pairs_per_second:,.0f} pairs a second")
    say(f"wrote {report.model}")
    say(str(report.signature), dim=True)
    say(f"next: salon evaluate {report.model} {study}", dim=True)


def print_notes(notes: Iterable[str], figures: Sequence[HeadFigures]) -> None:
    """The notes of a training; those that say what validation cannot tell stand out, and stand last."""
    warned = validation_warnings(figures)
    for note in notes:
        if note not in warned:
            say(f"- {note}")
    for words in warned:
        say(f"warning: {words}", fg="yellow")


def figure_rows(figures: Sequence[HeadFigures]) -> list[tuple[str, ...]]:
    """Rows of a table: criterion, pairs, accuracy and ceiling with intervals, loss."""
    return [
        (
            one.criterion or "all",
            f"{one.pairs:,}",
            with_interval(one.accuracy),
            with_interval(one.ceiling),
            fixed(one.loss),
        )
        for one in figures
    ]
