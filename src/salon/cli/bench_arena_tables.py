"""Arenas and tables of raters on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import click

from salon.bench.arena import AdjustedBoard, ArenaBoard, ArenaSnapshot, Place
from salon.bench.rater_tables import PanelStudy, RaterRow, RaterTables
from salon.bench.routing_table import RoutingTable
from salon.bench.win_matrix import WinMatrix
from salon.cli.console import count, print_table, say
from salon.report.numbers import MISSING, p_value, with_interval
from salon.stats.result import Estimate

MOST_BOARDS = 20
"""Boards printed; --json holds all."""
MOST_COLUMNS = 8
"""Generators of a win matrix that fit a terminal."""


# -- arenas ------------------------------------------------------------------------------------------------------------


def print_arena(made: ArenaSnapshot) -> None:
    """Every board with its win matrix and coverage; then who for what."""
    simulated = " · SIMULATED answers" if made.simulated else ""
    number = f" · snapshot {made.number}" if made.number else ""
    say(f"{made.study}: {len(made.boards)} boards{number}{simulated}", bold=True)
    for board in made.boards[:MOST_BOARDS]:
        click.echo()
        _print_board(board)
    if len(made.boards) > MOST_BOARDS:
        say(f"\n... and {len(made.boards) - MOST_BOARDS:,} more boards: --json or --board holds all", dim=True)
    click.echo()
    _print_routing(made.routing)
    _print_warnings(made)
    for policy in made.policies:
        say(f"policy: {policy}")
    say(f"intervals: {100 * made.level:g}%", dim=True)
    say(made.signature_line, dim=True)


def _print_warnings(made: ArenaSnapshot) -> None:
    """Each once, with the boards it is about."""
    about: dict[str, list[str]] = {}
    for board in made.boards:
        for words in board.warnings:
            about.setdefault(words, []).append(board.label)
    for words, labels in about.items():
        where = "" if len(labels) == len(made.boards) else f" ({', '.join(labels)})"
        say(f"warning: {words}{where}", fg="yellow")


def _print_board(board: ArenaBoard) -> None:
    if board.places:
        adjusted = {place.generator: place for place in (() if board.adjusted is None else board.adjusted.places)}
        columns = ("rank", "generator", "points", board.scale, "tier", "n", *(("adjusted", "rank") if adjusted else ()))
        rows = [_place(place, adjusted) for place in board.places]
        print_table(board.label, columns, rows, left=(1,))
    else:
        say(board.label, bold=True)
        say(f"no scores: {board.reason}", fg="yellow")
    if board.adjusted is not None:
        _print_effects(board.adjusted)
    if board.matrix is not None and len(board.matrix.generators) <= MOST_COLUMNS and board.category is None:
        _print_matrix(board.matrix)
    say(_coverage(board), dim=True)


def _place(place: Place, adjusted: dict[str, Place]) -> tuple[str, ...]:
    points = MISSING if place.points is None else with_interval(place.points, 0)
    tier = MISSING if place.tier is None else str(place.tier)
    cells = (_rank(place), place.generator, points, with_interval(place.score, 2), tier, f"{place.n:,}")
    other = adjusted.get(place.generator)
    if not adjusted:
        return cells
    return (*cells, *((MISSING, MISSING) if other is None else (with_interval(other.points, 0), _rank(other))))


def _rank(place: Place) -> str:
    return str(place.rank) if place.rank_low is None else f"{place.rank} [{place.rank_low}, {place.rank_high}]"


def _print_effects(adjusted: AdjustedBoard) -> None:
    if adjusted.reason is not None:
        say(f"not adjusted: {adjusted.reason}", fg="yellow")
        return
    for one in adjusted.effects:
        say(f"{one.covariate}: {with_interval(one.beta, 3)} logits for {one.unit}, p {p_value(one.p)}")
    left = f", {adjusted.left_out:,} left out for want of a number" if adjusted.left_out else ""
    say(f"adjusted by {adjusted.method}, from {adjusted.answers:,} answers{left}", dim=True)


def _print_matrix(matrix: WinMatrix) -> None:
    """Shares of the row against the column, in percent."""
    rows = []
    for row in matrix.generators:
        cells = []
        for column in matrix.generators:
            duel = matrix.duel(row, column)
            cells.append("" if duel is None else _percent(duel.share))
        rows.append((row, *cells))
    print_table("Wins of the row over the column, %", ("", *matrix.generators), rows)


def _percent(share: Estimate, digits: int = 0) -> str:
    scaled = share.transform(lambda end: 100 * end)
    return with_interval(scaled, digits)


def _coverage(board: ArenaBoard) -> str:
    told_of = board.coverage
    counts = (("comparisons", told_of.comparisons), ("rankings", told_of.rankings), ("ratings", told_of.ratings))
    used = ", ".join(f"{n:,} {name}" for name, n in counts if n) or "no answers"
    left = (("both bad", told_of.both_bad), ("repeats", told_of.repeats), ("one generator", told_of.same),
            ("other kinds", told_of.unused))  # fmt: skip
    out = ", ".join(f"{n:,} {name}" for name, n in left if n)
    met = f"{told_of.pairs_met} of {told_of.pairs} pairs of generators met"
    how = f"{board.method}; {board.errors}" if board.errors else board.method
    tail = f"; left out: {out}" if out else ""
    return f"{how}; {used} by {told_of.raters.words} on {told_of.prompts:,} prompts; {met}{tail}"


def _print_routing(routing: RoutingTable) -> None:
    rows = [
        (
            job.name,
            job.category or "all",
            job.recommended or MISSING,
            MISSING if job.margin is None else with_interval(job.margin, 2),
            ", ".join(job.best[1:]) or ("" if job.best else job.reason or MISSING),
        )
        for job in routing.jobs
    ]
    columns = ("job", "category", "generator", "lead in logits", "cannot be told from it")
    print_table("Which generator for which job", columns, rows, left=(0, 1, 2, 4))


# -- raters ------------------------------------------------------------------------------------------------------------


def print_raters(made: RaterTables) -> None:
    """Agreement by criterion beside ceilings, accuracy by study, and the order of generators."""
    for study in made.studies:
        if study.count == "pairs":
            _print_agreement(study, made.raters)
    _print_accuracy(made)
    _print_order(made)
    for warning in made.warnings:
        say(f"warning: {warning}", fg="yellow")
    for policy in made.policies:
        say(f"policy: {policy}")
    say(made.signature_line, dim=True)


def _print_agreement(study: PanelStudy, raters: Sequence[RaterRow]) -> None:
    """Every rater, and what could be reached, by criterion; whichever are more stand below each other."""
    met = [(rater.rater, on) for rater in raters if (on := rater.on(study.study)) is not None]
    rows = [
        (
            one.name,
            *(with_interval(on.criteria.get(one.criterion), 3) for _, on in met),
            with_interval(one.next_rater, 3),
            with_interval(one.oracle, 3),
            f"{one.pairs - one.tied:,}",
            one.signal or one.no_ceiling or MISSING,
        )
        for one in study.criteria
    ]
    rows.append(("mean", *(with_interval(on.macro, 3) for _, on in met), "", "", "", ""))
    simulated = ", SIMULATED" if study.simulated else ""
    title = (
        f"{study.study}: agreement with the majority of {count(study.raters, 'person or crowd', 'people')}{simulated}"
    )
    columns = ("criterion", *(name for name, _ in met), "one more person", "knows the odds", "pairs", "their signal")
    if len(met) > len(study.criteria):
        turned = list(zip(columns, *rows, strict=True))
        print_table(title, ("rater", *turned[0][1:]), turned[1:])
    else:
        print_table(title, columns, rows, left=(0, len(columns) - 1))
    click.echo()


def _print_accuracy(made: RaterTables) -> None:
    rows = [(rater.rater, *(_accuracy(rater, study.study) for study in made.studies)) for rater in made.raters]
    rows.append(("ceiling: one more person", *(_share(study.next_rater) for study in made.studies)))
    print_table("Preference accuracy, %", ("rater", *(study.study for study in made.studies)), rows)
    for study in made.studies:
        if study.count == "records":
            _print_records(study, made.raters)
    click.echo()


def _print_records(study: PanelStudy, raters: Sequence[RaterRow]) -> None:
    """How many records stand behind an accuracy, and which of them need a word."""
    met = [(rater.rater, on) for rater in raters if (on := rater.on(study.study)) is not None]
    ties = sum(one.tied for one in study.criteria)
    say(
        f"{study.study}: {met[0][1].panel_pairs:,} records; repeated pairs, each of which counts: {study.repeats:,}; "
        f"pairs without a winner, left out: {ties:,}; equal numbers: "
        + ", ".join(f"{name} {on.equal or 0:,}" for name, on in met)
    )


def _accuracy(rater: RaterRow, study: str) -> str:
    on = rater.on(study)
    if on is None:
        return MISSING
    return _share(on.accuracy) if on.equal is None else _share(on.accuracy, 1)


def _share(figure: Estimate | None, digits: int = 0) -> str:
    return MISSING if figure is None else _percent(figure, digits)


def _print_order(made: RaterTables) -> None:
    rows = []
    for rater in made.raters:
        for on in rater.studies:
            order = on.order
            why = order.reason or ""
            cells = [with_interval(one, 2) for one in (order.spearman, order.kendall)]
            rows.append(
                (
                    rater.rater,
                    on.study,
                    *cells,
                    with_interval(order.nmse, 3),
                    f"{order.generators}",
                    f"{order.pairs:,}",
                    why,
                )
            )
    columns = ("rater", "study", "Spearman", "Kendall", "NMSE", "generators", "pairs", "")
    print_table("Order of generators, to the people's", columns, rows, left=(0, 1, 7))
    click.echo()
