"""Ordinal flags, and two protocols side by side."""

from __future__ import annotations

from markupsafe import Markup

from salon.check.flags import FLAGS_NOT_RANKED, unranked_flags
from salon.check.results import CheckReport, FlagFigures, ProtocolFigures, ProtocolRow
from salon.report import Block, Cell, Column, Figure, Note, Prose, Section, Table, charts, estimate_value, numbers
from salon.report.words import RATER_NAME, brief, counted, fixed, level_words

MOST_RATERS = 60
MOST_SPLITS = 12


def flag_section(report: CheckReport) -> Section | None:
    """For each flag: how common its levels are, who gives them, who splits between which."""
    if not report.flags:
        return None
    blocks: list[Block] = [Note(FLAGS_NOT_RANKED, "plain")] if unranked_flags(report) else []
    blocks += [block for flag in report.flags for block in _flag(flag, report)]
    return Section("Flags", blocks, "How common flags are, and whether raters agree on them.")


def _flag(flag: FlagFigures, report: CheckReport) -> list[Block]:
    name = brief(flag.name) + (f" ({brief(flag.cohort, 24)})" if flag.cohort else "")
    blocks: list[Block] = [_prevalence(flag, name), _levels(flag, name, report)]
    if flag.positive_rate:
        blocks.append(_rater_rates(flag, name))
    if flag.splits:
        ranked = sorted(((brief(levels), share) for levels, share in flag.splits.items()), key=lambda pair: -pair[1])
        drawing = charts.bar_list(ranked[:MOST_SPLITS], title=f"{name}: levels used on one item", percent=True)
        left = len(ranked) - MOST_SPLITS
        more = Markup(" {} in the JSON.").format(counted(left, "rarer split")) if left > 0 else Markup("")
        told = Markup("Share of items whose raters use exactly these levels.") + more
        blocks.append(Figure(drawing, told, f"{name}: splits"))
    return blocks


def _prevalence(flag: FlagFigures, name: str) -> Figure:
    """Worst level first and darkest."""
    shares = [share.value for share in reversed(flag.shares)]
    labels = [brief(label, 24) for label in reversed(flag.labels)]
    drawing = charts.bucket_bar([("all answers", shares)], labels, title=f"{name}: share of each level")
    told = Markup("{} on {}. ").format(counted(flag.answers, "answer"), counted(flag.items, "item"))
    return Figure(drawing, told + _agreement(flag), name)


def _levels(flag: FlagFigures, name: str, report: CheckReport) -> Table:
    rows = [
        {"level": level, "label": brief(label, RATER_NAME), "share": share}
        for level, label, share in zip(flag.levels, flag.labels, flag.shares)
    ]
    columns = [Column("label", "Level"), Column("level", "Value", "number", 0), Column("share", "Share", "estimate")]
    caption = Markup("{}: share of answers at each level, with {} intervals.").format(name, level_words(report))
    return Table(columns, rows, caption, sortable=False)


def _agreement(flag: FlagFigures) -> Markup:
    alpha = estimate_value(flag.alpha, None) if flag.alpha else "not given, too few answers"
    kappa = estimate_value(flag.kappa, None) if flag.kappa else "not given, numbers of answers differ"
    start = fixed(flag.positive_from, 0 if float(flag.positive_from).is_integer() else 2)
    return Markup("Krippendorff's α, ordinal: {}. Fleiss κ: {}. Positive means a level of at least {}.").format(
        alpha, kappa, start
    )


def _rater_rates(flag: FlagFigures, name: str) -> Table:
    rows = [
        {"rater": brief(rater, RATER_NAME), "positive": rate, "top": flag.top_rate.get(rater)}
        for rater, rate in list(flag.positive_rate.items())[:MOST_RATERS]
    ]
    columns = [
        Column("rater", "Rater"),
        Column("positive", "Positive", "percent"),
        Column("top", "Worst level", "percent"),
    ]
    left = len(flag.positive_rate) - len(rows)
    more = Markup(" {} are in the JSON.").format(counted(left, "more rater")) if left else ""
    return Table(columns, rows, Markup("{}: each rater's share of flags.").format(name) + more)


def protocol_section(report: CheckReport) -> Section | None:
    """The same raters, items and criteria under comparisons and under ratings."""
    if not report.protocols:
        return None
    together = [] if report.protocols_together is None else [report.protocols_together]
    blocks: list[Block] = [_protocol(figures, report) for figures in (*together, *report.protocols)]
    if report.protocol_raters:
        blocks.append(_protocol_raters(report))
    blocks.append(Note(PROTOCOL_NOTE, "plain"))
    return Section("Protocols", [Prose(PROTOCOLS), *blocks], "Comparisons against ratings.")


PROTOCOLS = (
    "The study asked the same raters about the same items in two ways. Each row is one diagnostic computed under both, "
    "so that the protocol and not the panel makes the difference."
)
PROTOCOL_NOTE = (
    "Higher means steadier in every row unless its name says otherwise. Ahead: groups in which comparisons come out "
    "better. Intervals hold these raters fixed. A dash has its reason on it."
)


SIDES = ("comparisons", "ratings", "difference")


def _protocol(figures: ProtocolFigures, report: CheckReport) -> Table:
    found = [getattr(row, side) for row in figures.rows for side in SIDES]
    places = numbers.common_decimals((one.low, one.high) for one in found if one is not None)
    columns = [
        Column("name", "Diagnostic"),
        *(Column(side, side.capitalize(), "estimate", places) for side in SIDES),
        Column("ahead", "Ahead", "number", 0),
        Column("groups", "Groups", "number", 0),
    ]
    caption = Markup("{}, {}: {} and {}, with {} intervals.").format(
        "All criteria together" if figures.criterion is None else brief(figures.criterion), brief(figures.group),
        counted(figures.items, "item"), counted(figures.raters, "rater") + Markup(" a group"), level_words(report),
    )  # fmt: skip
    return Table(columns, [_protocol_row(row) for row in figures.rows], caption, sortable=False)


def _protocol_row(row: ProtocolRow) -> dict[str, object]:
    why = row.note or "not defined for this protocol"
    sides = {side: getattr(row, side) for side in SIDES}
    return {
        "name": Cell(brief(row.name), under=brief(row.note, 200) if row.note else ""),
        **{side: Cell(figure, "" if figure else why) for side, figure in sides.items()},
        "ahead": Cell(row.ahead, "" if row.ahead is not None else why),
        "groups": row.groups,
    }


def _protocol_raters(report: CheckReport) -> Table:
    rows = [
        {
            "rater": brief(one.rater, RATER_NAME), "mean": one.mean_rating, "extreme": one.extreme_share,
            "left": one.left_rate, "tie": one.tie_rate,
            "compared": one.to_consensus[0], "rated": one.to_consensus[1],
            "compared_away": one.displacement[0], "rated_away": one.displacement[1],
        }
        for one in report.protocol_raters[:MOST_RATERS]
    ]  # fmt: skip
    columns = [
        Column("rater", "Rater"),
        Column("mean", "Mean rating", "number", 2),
        Column("extreme", "Extreme ratings", "percent"),
        Column("left", "Left wins", "percent"),
        Column("tie", "Ties", "percent"),
        Column("compared", "Spearman to consensus, comparisons", "number", 3),
        Column("rated", "Spearman to consensus, ratings", "number", 3),
        Column("compared_away", "Rank displacement, comparisons", "number", 2),
        Column("rated_away", "Rank displacement, ratings", "number", 2),
    ]
    left = len(report.protocol_raters) - len(rows)
    more = Markup(" {} are in the JSON.").format(counted(left, "more rater")) if left else ""
    return Table(columns, rows, Markup("How each rater used the two protocols, over the matched criteria.") + more)
