"""Rewards as a page, from their tables alone: generators by category, or the quality report of one of them."""

from __future__ import annotations

from collections.abc import Sequence

from salon.bench.rewards import RewardBoard, RewardOrder, RewardPlace, RewardTables, Verdict
from salon.report import (
    SIMULATED,
    Badge,
    Cell,
    Chart,
    Column,
    Page,
    Section,
    Table,
    brief,
    charts,
    columns_of,
    count,
    estimate,
    join_names,
    located,
    one_way,
    sentence,
)

ALL = "All"
_BADGES: dict[Verdict, Badge] = {
    "ahead": Badge("ahead", "clear"),
    "behind": Badge("behind", "alert"),
    "not told apart": Badge("no clear difference", "open"),
    "alone": Badge("alone", "open"),
    "no mean": Badge("no mean", "open"),
}


def reward_page(tables: RewardTables, generator: str | None = None) -> Page:
    """All generators under each scorer; or one generator under all of them."""
    here: RewardTables = located(tables)
    many = f"{count(len(tables.generators))} generators"
    sections = [_scorer_section(here, scorer.name) for scorer in tables.scorers] if generator is None else []
    if generator is None and tables.orders:
        sections.append(_order_section(here))
    if generator is not None:
        sections = [_lead_section(here, generator), Section("Scorer by scorer", [generator_table(here, generator)])]
    return Page(
        title="Mean rewards" if generator is None else f"Quality report: {brief(generator)}",
        subtitle=f"{many} of {brief(tables.study)}"
        + (", by category." if generator is None else f": where {brief(generator)} is ahead and where behind."),
        kicker=f"Salon bench rewards · {brief(tables.study)}",
        banner=SIMULATED if tables.simulated else "",
        sections=sections,
        notes=[sentence(words) for words in tables.policies],
        signature=one_way(tables.signature_line),
    )


# -- all generators ----------------------------------------------------------------------------------------------------


def _scorer_section(tables: RewardTables, name: str) -> Section:
    boards = [board for board in tables.boards if board.scorer == name]
    scorer = next(candidate for candidate in tables.scorers if candidate.name == name)
    columns = [
        *columns_of(RewardPlace, "generator", "rank"),
        *(
            Column(f"c{number}", f"{board.category or ALL} ({count(board.prompts)})", "estimate", 2)
            for number, board in enumerate(boards)
        ),
    ]
    rows = [_row(place, boards) for place in boards[0].places] if boards else []
    about = sentence(scorer.measures) if scorer.measures else ""
    unit = "Logits: one more is odds of e to one." if scorer.is_logit else "On the scorer's own scale."
    reasons = [f"{board.category or ALL}: {board.reason}." for board in boards if board.reason]
    left = [f"{board.category or ALL}: {count(board.left_out)} prompts left out." for board in boards if board.left_out]
    return Section(brief(name), [Table(columns, rows, label=f"Rewards by {name}"), *reasons, *left], f"{about} {unit}")


def _row(first: RewardPlace, boards: Sequence[RewardBoard]) -> dict[str, object]:
    places = {
        f"c{number}": _cell(
            next((place for place in board.places if place.generator == first.generator), None), number > 0
        )
        for number, board in enumerate(boards)
    }
    return {"generator": first.generator, "rank": _rank(first), **places}


def _cell(place: RewardPlace | None, ranked: bool) -> Cell:
    if place is None:
        return Cell(None, why="no pictures in this category")
    if place.mean is None:
        return Cell(None, why=_lacking(place))
    rank = _rank(place) if ranked else None
    return Cell(place.mean, under="" if rank is None else f"rank {estimate(*rank, decimals=0)}")


def _lacking(place: RewardPlace) -> str:
    return f"{count(place.lacking)} prompts without a picture or a score"


def _rank(place: RewardPlace) -> tuple[int, int | None, int | None] | None:
    return None if place.rank is None else (place.rank, place.rank_low, place.rank_high)


def board_table(board: RewardBoard) -> Table:
    """The generators of one board, best first."""
    columns = columns_of(RewardPlace, "generator", "rank", "mean", "lead")
    return Table(columns, [_place_row(place) for place in board.places], label=f"Rewards by {board.scorer}")


def _place_row(place: RewardPlace) -> dict[str, object]:
    return {**vars(place), "rank": _rank(place), "mean": Cell(place.mean, why="" if place.mean else _lacking(place))}


def _order_section(tables: RewardTables) -> Section:
    missing = tables.orders[0].left_out
    notes = [f"Not in both, so in no order: {', '.join(brief(name) for name in missing)}."] if missing else []
    about = f"Do means and the people of {brief(tables.orders[0].people)} put generators in the same order?"
    return Section("Order of generators", [order_table(tables), *notes], about)


def order_table(tables: RewardTables) -> Table:
    """HPSv3's Table 3."""
    columns = columns_of(RewardOrder, "scorer", "spearman", "kendall", "nmse", "generators", "prompts", "pairs")
    rows = [
        {
            **vars(order),
            "scorer": brief(order.scorer),
            "spearman": Cell(order.spearman, why=order.reason or ""),
            "generators": len(order.generators),
        }
        for order in tables.orders
    ]
    return Table(columns, rows, label="Order of generators")


# -- one generator -----------------------------------------------------------------------------------------------------


def _lead_section(tables: RewardTables, generator: str) -> Section:
    """A chart of its leads over all categories, and which of them are sure."""
    places = [(board, place) for board, place in tables.of(generator) if board.category is None]
    leads = [(board, place, place.lead) for board, place in places if place.lead is not None]
    if not leads:
        return Section("In short", ["No scorer has a mean of it and of another generator on all prompts."])
    drawings = [
        Chart(
            charts.dot_intervals(
                [(brief(board.scorer), lead.value, lead.low, lead.high, "")],
                null_line=0.0,
                title=f"Lead under {board.scorer}",
                x_label="mean less the mean of the others",
                null_label="the others",
            )
        )
        for board, _, lead in leads
    ]
    same_scale = all(scorer.is_logit for scorer in tables.scorers)
    if same_scale:
        rows = [(brief(board.scorer), lead.value, lead.low, lead.high, "") for board, _, lead in leads]
        drawings = [
            Chart(
                charts.dot_intervals(
                    rows, null_line=0.0, title="Leads over the others", x_label="logits", null_label="the others"
                )
            )
        ]
    parts = []
    for verdict in ("ahead", "behind", "not told apart"):
        names = [brief(board.scorer) for board, place, _ in leads if place.verdict == verdict]
        if names:
            parts.append(f"{verdict} under {join_names(names).unescape()}")
    summary = f"Over all categories: {'; '.join(parts)}."
    return Section("In short", [summary, *drawings], "Its mean less that of all others on the same prompts.")


def generator_table(tables: RewardTables, generator: str) -> Table:
    """One generator under every scorer, category by category."""
    columns = [
        *columns_of(RewardBoard, "scorer", "category"),
        Column("verdict", "Verdict", "badge"),
        *columns_of(RewardBoard, "prompts"),
        *columns_of(RewardPlace, "mean", "lead", "beats", "rank"),
    ]
    rows = [
        {
            **_place_row(place),
            "scorer": brief(board.scorer),
            "category": board.category or ALL,
            "prompts": board.prompts,
            "verdict": _BADGES[place.verdict],
        }
        for board, place in tables.of(generator)
    ]
    return Table(columns, rows, label=f"Rewards of {generator}")
