"""`salon bench arena` and `salon bench raters`: which generators raters prefer, and how reliable the raters are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from salon.bench import ArenaSettings
from salon.cli.console import Cell, count, html_option, json_option, print_json, print_table, say, spinner, write_page
from salon.cli.options import options_from, settings_from
from salon.cli.study_argument import STUDY
from salon.errors import BadFile, BadValue
from salon.evaluate import ReportSettings
from salon.judge import ScoreSettings

if TYPE_CHECKING:
    from salon.bench import ArenaBoard, ArenaPlace, ArenaSnapshot, RaterResult, RaterTables, Snapshot
    from salon.stats import Estimate

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
    from salon.bench import arena_snapshot
    from salon.bench.arena import FOLDER as ARENA
    from salon.cli.study_argument import read_study_argument

    settings = settings_from(ArenaSettings, flags)
    _require_board(board)
    criterion_weights = _weights(weights)
    study_data = read_study_argument(study)
    folder = study if isinstance(study, Path) and study.is_dir() else None
    criterion_ids = [study_data.criterion(id).id for id in criteria]
    with spinner("fitting boards") as step:
        snapshot = arena_snapshot(
            study_data,
            settings,
            folder=folder,
            criteria=criterion_ids,
            by_category=by_category,
            covariates=covariates,
            weights=criterion_weights,
            progress=step,
        )
    snapshot, message = _publish_snapshot(board, ARENA, snapshot)
    if as_json:
        print_json(snapshot)
    else:
        print_arena(snapshot)
        _say_published(message)


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
    """How reliable scorers and judges are against the people of each STUDY: agreement, accuracy, order of generators.

    Raters are judges in STUDY/judges, tables in STUDY/scores, and raters of the study that are models; one that has
    the same name in several studies has one row.

    \b
      salon bench raters study
      salon bench raters study-1 study-2 --board board
      salon bench raters study --rater hpsv3 --rater pickscore --json
      salon bench raters hpdv3/test.json hpdv2/test.json -s hpsv3:hpsv3 -s pickscore:pickscore --html tables.html
    """
    from salon.bench import rater_tables, raters_report
    from salon.bench.rater_results import FOLDER as RATERS
    from salon.cli.study_argument import read_study_argument

    settings = settings_from(ReportSettings, flags)
    _require_board(board)
    if scorers:
        tables = _released_tests(studies, scorers, names, settings, flags)
    else:
        if flags["image_root"] or flags["remap"]:
            raise BadValue("--image-root and --remap go with --scorer", found="no --scorer")
        study_places = [
            (read_study_argument(place), place if isinstance(place, Path) and place.is_dir() else None)
            for place in studies
        ]
        with spinner("judging the raters") as step:
            tables = rater_tables(study_places, settings, names=names, check=check, progress=step)
    tables, message = _publish_snapshot(board, RATERS, tables)
    write_page(lambda: raters_report(tables), html, figures)
    if as_json:
        print_json(tables)
    else:
        print_raters(tables)
        _say_published(message)


def _released_tests(
    places: Sequence[Path | str],
    scorers: Sequence[str],
    names: Sequence[str],
    settings: ReportSettings,
    flags: dict[str, Any],
) -> RaterTables:
    from salon.bench import open_scorers, read_tests, released_test_tables
    from salon.store import PictureFiles

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
    with TemporaryDirectory(prefix="salon-") as folder, spinner("scoring") as step:
        tests = read_tests([Path(place) for place in places], files, Path(folder))
        return released_test_tables(tests, open_scorers(scorers, scoring), settings, scoring, progress=step)


def _require_board(board: Path | None) -> None:
    """Before the work: what could not be published after."""
    from salon.bench import is_board

    if board is not None and not is_board(board):
        raise BadFile(
            "a board is needed to publish on",
            found="a folder without a board.json" if board.is_dir() else "nothing there",
            where=str(board),
            remedy="salon bench run makes one; leave out --board to look only",
        )


def _say_published(message: str) -> None:
    if message:
        say(message)


def _weights(pairs: Sequence[str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for pair in pairs:
        name, sign, number = pair.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            sign = ""
        if not sign or not name:
            raise BadValue("a weight is CRITERION=NUMBER", found=repr(pair), remedy="--weights taste/mood=2")
    return weights


def _publish_snapshot(board: Path | None, folder: str, snapshot: Snapshot) -> tuple[Snapshot, str]:
    """The snapshot as published, and what there is to say of it."""
    from salon.bench import publish_snapshot

    if board is None:
        return snapshot, ""
    published, new = publish_snapshot(board / folder, snapshot)
    file = board / folder / f"{published.number:04}.json"
    return published, f"{'published' if new else 'nothing new: the same as'} {file}"


MOST_BOARDS = 20
"""Boards printed; --json holds all."""
MOST_COLUMNS = 8
"""Generators of a win matrix that fit a terminal."""


# -- arenas ------------------------------------------------------------------------------------------------------------


def print_arena(snapshot: ArenaSnapshot) -> None:
    """Every board with its win matrix and coverage; then who for what."""
    from salon.report import MISSING, with_interval

    simulated = " · SIMULATED answers" if snapshot.simulated else ""
    number = f" · snapshot {snapshot.number}" if snapshot.number else ""
    say(f"{snapshot.study}: {len(snapshot.boards)} boards{number}{simulated}", bold=True)
    for board in snapshot.boards[:MOST_BOARDS]:
        click.echo()
        _print_board(board)
    if len(snapshot.boards) > MOST_BOARDS:
        say(f"\n... and {len(snapshot.boards) - MOST_BOARDS:,} more boards: --json or --board holds all", dim=True)
    click.echo()
    rows = [
        (
            job.name,
            job.category or "all",
            job.recommended or MISSING,
            MISSING if job.margin is None else with_interval(job.margin, 2),
            ", ".join(job.best[1:]) or ("" if job.best else job.reason or MISSING),
        )
        for job in snapshot.routing.jobs
    ]
    columns = ("job", "category", "generator", "lead in logits", "no clear difference to")
    print_table("Which generator for which job", columns, rows, left=(0, 1, 2, 4))
    about: dict[str, list[str]] = {}
    for board in snapshot.boards:
        for words in board.warnings:
            about.setdefault(words, []).append(board.label)
    for words, labels in about.items():
        where = "" if len(labels) == len(snapshot.boards) else f" ({', '.join(labels)})"
        say(f"warning: {words}{where}", fg="yellow")
    for policy in snapshot.policies:
        say(f"policy: {policy}")
    say(f"intervals: {100 * snapshot.level:g}%", dim=True)
    say(snapshot.signature_line, dim=True)


def _print_board(board: ArenaBoard) -> None:
    from salon.report import p_value, with_interval

    if board.places:
        adjusted = {place.generator: place for place in (() if board.adjusted is None else board.adjusted.places)}
        columns = ("rank", "generator", "points", board.scale, "tier", "n", *(("adjusted", "rank") if adjusted else ()))
        rows = [_place(place, adjusted) for place in board.places]
        print_table(board.label, columns, rows, left=(1,))
    else:
        say(board.label, bold=True)
        say(f"no scores: {board.reason}", fg="yellow")
    if board.adjusted is not None and board.adjusted.reason is not None:
        say(f"not adjusted: {board.adjusted.reason}", fg="yellow")
    elif board.adjusted is not None:
        for effect in board.adjusted.effects:
            say(f"{effect.covariate}: {with_interval(effect.beta, 3)} logits for {effect.unit}, p {p_value(effect.p)}")
        left = f", {board.adjusted.left_out:,} left out for want of a number" if board.adjusted.left_out else ""
        say(f"adjusted by {board.adjusted.method}, from {board.adjusted.answers:,} answers{left}", dim=True)
    if board.matrix is not None and len(board.matrix.generators) <= MOST_COLUMNS and board.category is None:
        names = board.matrix.generators
        duels = [(row, [board.matrix.duel(row, column) for column in names]) for row in names]
        wins = [(row, *("" if duel is None else _percent(duel.share) for duel in cells)) for row, cells in duels]
        print_table("Wins of the row over the column, %", ("", *names), wins)
    say(_coverage(board), dim=True)


def _place(place: ArenaPlace, adjusted: dict[str, ArenaPlace]) -> tuple[Cell, ...]:
    from salon.report import MISSING, with_interval

    points = MISSING if place.points is None else with_interval(place.points, 0)
    tier = MISSING if place.tier is None else str(place.tier)
    cells = (_rank(place), place.generator, points, with_interval(place.score, 2), tier, place.n)
    adjusted_place = adjusted.get(place.generator)
    if not adjusted:
        return cells
    return (
        *cells,
        *(
            (MISSING, MISSING)
            if adjusted_place is None
            else (with_interval(adjusted_place.points, 0), _rank(adjusted_place))
        ),
    )


def _rank(place: ArenaPlace) -> str:
    return str(place.rank) if place.rank_low is None else f"{place.rank} [{place.rank_low}, {place.rank_high}]"


def _percent(share: Estimate, digits: int = 0) -> str:
    from salon.report import with_interval

    scaled = share.transform(lambda end: 100 * end)
    return with_interval(scaled, digits)


def _coverage(board: ArenaBoard) -> str:
    coverage = board.coverage
    counts = (("comparisons", coverage.comparisons), ("rankings", coverage.rankings), ("ratings", coverage.ratings))
    used = ", ".join(f"{n:,} {name}" for name, n in counts if n) or "no answers"
    left = (("both bad", coverage.both_bad), ("repeats", coverage.repeats), ("one generator", coverage.same),
            ("other kinds", coverage.unused))  # fmt: skip
    out = ", ".join(f"{n:,} {name}" for name, n in left if n)
    pairs_met = f"{coverage.pairs_met} of {coverage.pairs} pairs of generators met"
    how = f"{board.method}; {board.errors}" if board.errors else board.method
    tail = f"; left out: {out}" if out else ""
    return f"{how}; {used} by {coverage.raters.words} on {coverage.prompts:,} prompts; {pairs_met}{tail}"


# -- raters ------------------------------------------------------------------------------------------------------------


def print_raters(tables: RaterTables) -> None:
    """Agreement by criterion beside ceilings, accuracy by study, and the order of generators."""
    from salon.bench import rater_order_table
    from salon.cli.console import print_report_table
    from salon.report import MISSING

    for study in tables.studies:
        if study.count == "pairs":
            rater_columns = [(rater.rater, on) for rater in tables.raters if (on := rater.on(study.study)) is not None]
            rows = [
                (
                    criterion.name,
                    *(on.criteria.get(criterion.criterion) for _, on in rater_columns),
                    criterion.next_rater,
                    criterion.oracle,
                    criterion.pairs - criterion.tied,
                    criterion.signal or criterion.no_ceiling or MISSING,
                )
                for criterion in study.criteria
            ]
            rows.append(("mean", *(on.macro for _, on in rater_columns), "", "", "", ""))
            simulated = ", SIMULATED" if study.simulated else ""
            majority = count(study.raters, "person or crowd", "people")
            title = f"{study.study}: agreement with the majority of {majority}{simulated}"
            columns = (
                "criterion",
                *(name for name, _ in rater_columns),
                "one more person",
                "knows the odds",
                "pairs",
                "their signal",
            )
            if len(rater_columns) > len(study.criteria):
                turned = list(zip(columns, *rows, strict=True))
                print_table(title, ("rater", *turned[0][1:]), turned[1:])
            else:
                print_table(title, columns, rows, left=(0, len(columns) - 1))
            click.echo()
    rows = [(rater.rater, *(_accuracy(rater, study.study) for study in tables.studies)) for rater in tables.raters]
    rows.append(("ceiling: one more person", *(_share(study.next_rater) for study in tables.studies)))
    print_table("Preference accuracy, %", ("rater", *(study.study for study in tables.studies)), rows)
    for study in tables.studies:
        if study.count == "records":
            rater_columns = [(rater.rater, on) for rater in tables.raters if (on := rater.on(study.study)) is not None]
            ties = sum(criterion.tied for criterion in study.criteria)
            records = rater_columns[0][1].panel_pairs
            say(
                f"{study.study}: {records:,} records; repeated pairs, each of which counts: {study.repeats:,}; "
                f"pairs without a winner, left out: {ties:,}; equal numbers: "
                + ", ".join(f"{name} {on.equal or 0:,}" for name, on in rater_columns)
            )
    click.echo()
    print_report_table(rater_order_table(tables), "Order of generators, to the people's")
    click.echo()
    for warning in tables.warnings:
        say(f"warning: {warning}", fg="yellow")
    for policy in tables.policies:
        say(f"policy: {policy}")
    say(tables.signature_line, dim=True)


def _accuracy(rater: RaterResult, study: str) -> str:
    from salon.report import MISSING

    on = rater.on(study)
    if on is None:
        return MISSING
    return _share(on.accuracy) if on.equal is None else _share(on.accuracy, 1)


def _share(figure: Estimate | None, digits: int = 0) -> str:
    from salon.report import MISSING

    return MISSING if figure is None else _percent(figure, digits)
