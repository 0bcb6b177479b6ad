"""The command that freezes where scores lie on a study, so that criteria can be weighed on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from salon.cli.console import json_option, print_json, print_table, say, watching
from salon.errors import BadFile
from salon.judge.score import ScoreSettings
from salon.select.reference import ScoreReference
from salon.select.scores import reference_of, scorer_words, study_scores
from salon.select.sealed import write_sealed
from salon.store.folder import local, open_study


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("-s", "--scorer", "names", multiple=True, metavar="NAME", help="As for salon score (repeatable).")
@click.option("--model", "models", multiple=True, type=click.Path(path_type=Path),
              help="Folder of a trained model: all its criteria but the flag (repeatable).")  # fmt: skip
@click.option("--criterion", "criteria", multiple=True, help="With --model: only this criterion (repeatable).")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False),
              help="File to write: .json.")  # fmt: skip
@click.option("--name", help="What the set of items is called  [default: the study's name]")
@click.option("--limit", type=click.IntRange(1), help="Only the first items of the study.")
@click.option("--device", help="Of networks: cpu, cuda, mps  [default: the best there is]")
@click.option("--batch", type=click.IntRange(1, 4096), default=8, show_default=True, help="Pictures scored together.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@json_option
def reference(
    study: Path,
    names: Sequence[str],
    models: Sequence[Path],
    criteria: Sequence[str],
    output: Path,
    name: str | None,
    limit: int | None,
    device: str | None,
    batch: int,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Freeze mean and standard deviation of scores over the items of STUDY.

    Criteria on different scales are weighed in standard deviations of a stated set of items: this one. The file holds
    the numbers, the study's hash and the signature of every scorer. It is used as long as the scorers are the same,
    and refused for others. Items without a score are left out of mean and deviation, and counted.

    \b
      salon select reference study --model taste-heads -o reference.json
      salon select reference study --model taste-heads --criterion taste/mood -s words -o reference.json
    """
    _free(output, overwrite)
    words = scorer_words(names, models, criteria)
    opened = open_study(study)
    with watching("reference", quiet=as_json) as watch:
        settings = ScoreSettings(device=device, batch=batch, limit=limit)
        table = study_scores(opened, local(study), words, settings, watch)
    made = reference_of(table, name or opened.name)
    write_sealed(made, output, overwrite=overwrite)
    if as_json:
        print_json({"file": str(output), "hash": made.hash, **made.model_dump(mode="json")})
    else:
        _print(made, output, simulated=opened.simulated)


def _free(output: Path, overwrite: bool) -> None:
    """Refuse before anything is scored."""
    if output.exists() and not overwrite:
        raise BadFile(
            "a frozen file is only replaced when asked to", found="one that is there", where=str(output),
            remedy="--overwrite, or another name",
        )  # fmt: skip
    if not output.absolute().parent.is_dir():
        raise BadFile("the folder of the output must be there", found="none", where=str(output.absolute().parent))


def _print(made: ScoreReference, output: Path, *, simulated: bool) -> None:
    if simulated:
        say("SIMULATED: nobody judged these items; means and deviations are of scores all the same.")
    rows = [
        (one.criterion, f"{one.mean:.4g}", f"{one.sd:.4g}", f"{one.n:,}", f"{one.missing:,}") for one in made.levels
    ]
    print_table(f"scores on {made.name}", ("criterion", "mean", "sd", "items", "without"), rows)
    say("missing: items without a score enter neither mean nor deviation", dim=True)
    say(f"wrote {output}, hash {made.hash}")
