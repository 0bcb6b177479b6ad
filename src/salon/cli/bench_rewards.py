"""`salon bench rewards`: mean scores of generators by category, and a report on one generator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.bench import RewardTableSettings
from salon.cli.console import html_option, json_option, print_json, say, spinner, write_page
from salon.cli.options import options_from, settings_from
from salon.cli.study_argument import STUDY
from salon.errors import BadValue
from salon.judge import ScoreSettings
from salon.store import Policies

if TYPE_CHECKING:
    from salon.bench import RewardTables


@click.command()
@click.argument("study", type=STUDY)
@click.option(
    "-s",
    "--scorer",
    "names",
    metavar="NAME",
    multiple=True,
    help="Only the scores of this name in STUDY/scores; or a scorer that scores now, as for salon score (repeatable).",
)
@click.option("-g", "--generator", help="The quality report of this generator: its place under every scorer.")
@click.option("--by-category/--all-together", default=True, show_default=True, help="Also each category for itself.")
@click.option("--people", type=STUDY, help="Votes of people, a study or a file: is the order of generators theirs?")
@options_from(Policies, only=("layout", "prompt_lines"))
@options_from(ScoreSettings, only=("text", "batch", "device"))
@options_from(RewardTableSettings)
@html_option()
@json_option
def rewards(
    study: Path | str,
    names: Sequence[str],
    generator: str | None,
    by_category: bool,
    html: Path | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Mean scores of the generators of STUDY by category, ranked, with intervals; from tables of `salon score`.

    STUDY may also be the folder of HPDv3's benchmark: a folder for each category and model, a text for each picture.

    With --generator: where one generator is ahead of the others and where behind. Score a study by a model that was
    trained on a panel (salon score STUDY --model MODEL) and every criterion of it is a row.

    \b
      salon bench rewards study
      salon bench rewards study -s hpsv3 --missing shared
      salon bench rewards study -g new-generator --html report.html
      salon bench rewards benchmark -s hpsv3:hpsv3 --overall categories --html table.html
      salon bench rewards benchmark -s hpsv3:hpsv3 -s pickscore:pickscore --people hpdv3/test.json
    """
    from salon.bench import board_table, check_generator, generator_table, order_table, reward_page
    from salon.cli.console import print_report_table

    settings = settings_from(RewardTableSettings, flags)
    if not isinstance(study, Path) or not study.is_dir():
        raise BadValue("a study's folder is needed: scores are kept in it", found=str(study))
    tables = _tables(study, settings, names, by_category, flags)
    if generator is not None:
        check_generator(tables, generator)
    write_page(lambda: reward_page(tables, generator), html, figures)
    if as_json:
        print_json(tables)
        return
    if generator is None:
        for board in tables.boards:
            title = f"{board.scorer}, {board.category or 'all categories'}: {board.prompts:,} prompts"
            if board.left_out:
                title += f", {board.left_out:,} left out"
            print_report_table(board_table(board), title)
            if board.reason:
                say(f"- {board.reason}", fg="yellow")
    else:
        title = f"{generator} among {len(tables.generators):,} generators"
        print_report_table(generator_table(tables, generator), title)
    if tables.orders:
        print_report_table(order_table(tables), f"Order of generators, to that of {tables.orders[0].people}")
        if tables.orders[0].left_out:
            say(f"- not in both, so in no order: {', '.join(tables.orders[0].left_out)}", fg="yellow")
    for scorer in tables.scorers:
        for reason, count in scorer.unscored.items():
            say(f"warning: {scorer.name} gives no number to {count:,} pictures: {reason}", fg="yellow")
    for words in tables.policies:
        say(f"policy: {words}", dim=True)
    say(tables.signature_line, dim=True)


def _tables(
    place: Path, settings: RewardTableSettings, names: Sequence[str], by_category: bool, flags: dict[str, Any]
) -> RewardTables:
    """From tables of scores; or from pictures that are scored now: a benchmark's, or a study's by a scorer named so."""
    from salon.bench import reward_tables, score_study_pictures
    from salon.cli.study_argument import read_study_argument
    from salon.judge import list_scores
    from salon.store import ImportOptions, import_files, is_study

    scoring = settings_from(ScoreSettings, flags)
    people = None if flags["people"] is None else read_study_argument(flags["people"])
    if is_study(place):
        study = read_study_argument(place)
        if not names or any(name in list_scores(place) for name in names):
            return reward_tables(study, place, settings, names=names, by_category=by_category, people=people)
        paths = {item.id: place / item.image for item in study.nouns("items") if item.image}
    else:
        if not names:
            raise BadValue("a scorer for the benchmark is needed", found="none", remedy="--scorer hpsv3:FOLDER")
        policies = Policies(layout=flags["layout"], prompt_lines=flags["prompt_lines"])
        imported = import_files("hpdv3-benchmark", [place], ImportOptions(policies=policies))
        for note in imported.notes:
            say(f"note: {note}", dim=True, err=True)
        study, paths = imported.study, imported.paths
    with spinner("scoring") as step:
        scored = score_study_pictures(study, paths, names, scoring, step)
    return reward_tables(study, None, settings, by_category=by_category, scored=scored, people=people)
