"""The command that has people answer what a judge of poster tasks answered."""

from __future__ import annotations

from pathlib import Path

import click

from salon.bench.posters.files import find_files, home_of
from salon.bench.posters.people import people_study
from salon.cli.console import json_option, print_json, say, seed_option

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("-o", "--output", type=_FOLDER, required=True, help="Folder of the study to write.")
@click.option("--pictures", type=_FOLDER, help="Folder with the posters  [default: FOLDER]")
@click.option("--judge", default="judge", show_default=True, help="Name of the judge among the study's raters.")
@click.option("-n", "--verdicts", type=click.IntRange(1), default=100, show_default=True, help="Verdicts to draw.")
@seed_option
@json_option
def people(
    folder: Path, output: Path, pictures: Path | None, judge: str, verdicts: int, seed: int, as_json: bool
) -> None:
    """Draw some verdicts of the judge in FOLDER into a study, for people to answer the same questions.

    Every verdict on a key point has the same chance to be drawn. People see the poster, what was said of it and the
    point on the studio's checklist screen, and not what the judge said. The report then tells how often they agree.

    \b
      salon bench posters people answers --pictures set -o people -n 200
      salon serve people
      salon judge report people
    """
    home = home_of(folder)
    report = people_study(find_files([folder]), pictures or home, output, judge=judge, n=verdicts, seed=seed)
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    say(f"{report.drawn:,} of {report.of:,} verdicts of {report.judge}, {report.yes:,} of them yes", bold=True)
    for task, count in report.by_task.items():
        say(f"{task}: {count:,}")
    if report.unread or report.no_picture:
        say(f"not drawn: {report.unread:,} that say neither yes nor no, {report.no_picture:,} without a picture")
    say(f"wrote {output}")
    say(f"salon serve {output}", dim=True)
