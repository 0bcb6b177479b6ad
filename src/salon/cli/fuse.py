"""The command that turns judgments into scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.compute as pc

from salon.cli.console import html_option, json_option, print_json, working, write_page
from salon.cli.fuse_tables import print_fuse, shown_groups
from salon.cli.given import STUDY, given_study
from salon.cli.options import options_from, settings_from
from salon.fuse.fuse import fuse_study
from salon.fuse.report import fuse_page
from salon.fuse.settings import FuseSettings
from salon.store.plain_table import plain_target, write_plain
from salon.study import Study


@click.command()
@click.argument("study", type=STUDY)
@click.option("--criterion", "criteria", multiple=True, help="Fuse only the criterion with this id (repeatable).")
@click.option("--compare", is_flag=True, help="Also compare anchored and plain Elo and Davidson, and vary the gap.")
@html_option()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the scores as a table: .parquet, .csv or .jsonl.",
)
@click.option("--overwrite", is_flag=True, help="Replace a table of scores that is there already.")
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True, help="Rows of each group to print; 0: all."
)
@options_from(FuseSettings)
@json_option
def fuse(
    study: Path | str,
    criteria: Sequence[str],
    compare: bool,
    html: Path | None,
    figures: Path | None,
    output: Path | None,
    overwrite: bool,
    top: int,
    as_json: bool,
    **flags: Any,
) -> None:
    """One score with its interval for each item and criterion of STUDY.

    Comparisons order, ratings anchor: where items were compared and rated, scores lie on the rating scale. Comparisons
    or rankings alone give scores on their own scale. STUDY is a study folder, the address of a database, or one file of
    judgments; a folder whose studio runs is read as it stands now.

    \b
      salon fuse study                                   the method that suits the judgments
      salon fuse study --method anchored-elo --json      rows of item, criterion, value, low, high
      salon fuse study --compare --html fuse.html        do the methods agree?
      salon fuse votes.csv --method bradley-terry --prior 3
      salon fuse study --by generator -o leaderboard.csv
    """
    settings = settings_from(FuseSettings, flags)
    if output is not None:
        plain_target(output, overwrite=overwrite)
    found = given_study(study)
    known = [found.criterion(id).id for id in criteria]
    with working("fusing") as step:
        report = fuse_study(found, settings, criteria=known, compare=compare, progress=step)
    write_page(lambda: fuse_page(report, _texts(found, [group.group for group in report.groups])), html, figures)
    if output is not None:
        write_plain(report.table(), output, overwrite=overwrite)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        generators = "generator" in found.table("items").column_names
        prompts = _texts(found, shown_groups(report))
        print_fuse(report, top=top, html=html, output=output, generators=generators, prompts=prompts)


def _texts(study: Study, prompts: Sequence[str]) -> dict[str, str]:
    """What some prompts say, where groups are prompts; the others, perhaps a million, are not looked at."""
    if study.compare_within != "prompt":
        return {}
    chosen = study.table("prompts").filter(pc.is_in(study.ids("prompts"), value_set=pa.array(prompts, pa.string())))
    prompted = replace(study, tables={"prompts": chosen})
    return {prompt.id: prompt.view() for prompt in prompted.nouns("prompts")}
