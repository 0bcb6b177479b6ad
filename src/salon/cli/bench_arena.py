"""The commands that say what raters think of generators, and what raters are worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from salon.bench.arena import FOLDER as ARENA
from salon.bench.arena_fit import ArenaSettings, arena_snapshot
from salon.bench.board import is_board
from salon.bench.numbered import Snapshot, publish
from salon.bench.picture_scores import named_scorers
from salon.bench.rater_evaluation import rater_tables
from salon.bench.rater_tables import FOLDER as RATERS
from salon.bench.rater_tables import RaterTables
from salon.bench.released_tests import read_tests, released_test_tables
from salon.bench.site.raters_page import raters_report
from salon.cli.bench_arena_tables import print_arena, print_raters
from salon.cli.console import html_option, json_option, print_json, say, working, write_page
from salon.cli.given import STUDY, given_study
from salon.cli.options import options_from, settings_from
from salon.errors import BadFile, BadValue
from salon.evaluate.judges.report_settings import ReportSettings
from salon.judge.score import ScoreSettings
from salon.store.formats.picture_files import PictureFiles

_BOARD = click.option(
    "--board", type=click.Path(path_type=Path, file_okay=False), help="Publish it on this board, as the next snapshot."
)


@click.command()
@click.argument("study", type=STUDY)
@_BOARD
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@click.option("--by-category", is_flag=True, help="Also one board for each category of items.")
@click.option(
    "--covariate",
    "covariates",
    multiple=True,
    help="Also adjust scores for this: a table of scores in STUDY/scores, or position (repeatable).",
)
@click.option(
    "--weights", multiple=True, metavar="CRITERION=WEIGHT", help="Which generator if criteria weigh so (repeatable)."
)
@options_from(ArenaSettings)
@json_option
def arena(
    study: Path | str,
    board: Path | None,
    criteria: Sequence[str],
    by_category: bool,
    covariates: Sequence[str],
    weights: Sequence[str],
    as_json: bool,
    **flags: Any,
) -> None:
    """Which generators the raters of STUDY prefer: boards by criterion, who beats whom, and who for which job.

    Raters are people, models or simulated, as STUDY has them; comparisons, rankings or ratings. A published snapshot
    is never changed: new answers make a new one, and the same answers and settings none.

    \b
      salon bench arena study
      salon bench arena study --by-category --board board
      salon bench arena study --covariate ink --covariate position      as if all pictures had the same ink
      salon bench arena study --weights taste/typography=2 --weights taste/mood=1
    """
    settings = settings_from(ArenaSettings, flags)
    _check_board(board)
    asked = _weights(weights)
    found = given_study(study)
    folder = study if isinstance(study, Path) and study.is_dir() else None
    known = [found.criterion(id).id for id in criteria]
    with working("fitting boards") as step:
        made = arena_snapshot(
            found,
            settings,
            folder=folder,
            criteria=known,
            by_category=by_category,
            covariates=covariates,
            weights=asked,
            progress=step,
        )
    made, said = _published(board, ARENA, made)
    if as_json:
        print_json(made.model_dump(mode="json"))
    else:
        print_arena(made)
        _say_published(said)


@click.command()
@click.argument("studies", nargs=-1, required=True, type=STUDY, metavar="STUDY...")
@_BOARD
@click.option("--rater", "names", multiple=True, help="Only the scorer or judge with this name (repeatable).")
@click.option("--check/--no-check", default=True, show_default=True, help="Test the signal of the people themselves.")
@click.option(
    "-s", "--scorer", "scorers", multiple=True, metavar="NAME",
    help="Score with this now, as for salon score; each STUDY is then a test set of HPDv3, HPDv2, ImageReward or "
    "Pick-a-Pic, whose every record counts as in the released evaluations (repeatable).",
)  # fmt: skip
@click.option("--image-root", type=click.Path(path_type=Path),
              help="With --scorer: where relative paths begin  [default: the folder of the file]")  # fmt: skip
@click.option("--remap", multiple=True, metavar="OLD=NEW",
              help="With --scorer: absolute paths below OLD are below the folder NEW here (repeatable).")  # fmt: skip
@options_from(ScoreSettings, only=("text", "batch", "device"))
@options_from(ReportSettings)
@html_option()
@json_option
def raters(
    studies: Sequence[Path | str],
    board: Path | None,
    names: Sequence[str],
    check: bool,
    scorers: Sequence[str],
    html: Path | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """What scorers and judges are worth against the people of each STUDY: agreement, accuracy, order of generators.

    Raters are judges in STUDY/judges, tables in STUDY/scores, and raters of the study that are models; one that has
    the same name in several studies has one row.

    \b
      salon bench raters study
      salon bench raters study-1 study-2 --board board
      salon bench raters study --rater hpsv3 --rater pickscore --json
      salon bench raters hpdv3/test.json hpdv2/test.json -s hpsv3:hpsv3 -s pickscore:pickscore --html tables.html
    """
    settings = settings_from(ReportSettings, flags)
    _check_board(board)
    if scorers:
        made = _released_tests(studies, scorers, names, settings, flags)
    else:
        if flags["image_root"] or flags["remap"]:
            raise BadValue("--image-root and --remap go with --scorer", found="no --scorer")
        found = [(given_study(one), one if isinstance(one, Path) and one.is_dir() else None) for one in studies]
        with working("judging the raters") as step:
            made = rater_tables(found, settings, names=names, check=check, progress=step)
    made, said = _published(board, RATERS, made)
    write_page(lambda: raters_report(made), html, figures)
    if as_json:
        print_json(made.model_dump(mode="json"))
    else:
        print_raters(made)
        _say_published(said)


def _released_tests(
    places: Sequence[Path | str],
    scorers: Sequence[str],
    names: Sequence[str],
    settings: ReportSettings,
    flags: dict[str, Any],
) -> RaterTables:
    if names:
        raise BadValue("--rater names raters of studies, --scorer scorers of test sets", found="both")
    wrong = [str(place) for place in places if not isinstance(place, Path) or place.is_dir()]
    if wrong:
        raise BadFile(
            "with --scorer each STUDY is a file: a test set of HPDv3, HPDv2, ImageReward or Pick-a-Pic",
            found="a folder or an address", where=wrong[0],
            remedy="score a study's folder by salon score STUDY --scorer NAME, then leave out --scorer here",
        )  # fmt: skip
    scoring = settings_from(ScoreSettings, flags)
    files = PictureFiles.of_flags(flags["image_root"], flags["remap"])
    with TemporaryDirectory(prefix="salon-") as folder, working("scoring") as step:
        tests = read_tests([Path(place) for place in places], files, Path(folder))
        return released_test_tables(tests, named_scorers(scorers, scoring), settings, scoring, progress=step)


def _check_board(board: Path | None) -> None:
    """Before the work: what could not be published after."""
    if board is not None and not is_board(board):
        raise BadFile(
            "a board is needed to publish on",
            found="a folder without a board.json" if board.is_dir() else "nothing there",
            where=str(board),
            remedy="salon bench run makes one; leave out --board to look only",
        )


def _say_published(said: str) -> None:
    if said:
        say(said)


def _weights(given: Sequence[str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for one in given:
        name, sign, number = one.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            sign = ""
        if not sign or not name:
            raise BadValue("a weight is CRITERION=NUMBER", found=repr(one), remedy="--weights taste/mood=2")
    return weights


def _published(board: Path | None, folder: str, made: Snapshot) -> tuple[Snapshot, str]:
    """The snapshot as published, and what there is to say of it."""
    if board is None:
        return made, ""
    shown, new = publish(board / folder, made)
    file = board / folder / f"{shown.number:04}.json"
    return shown, f"{'published' if new else 'nothing new: the same as'} {file}"
