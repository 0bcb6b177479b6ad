"""Do other methods say the same? Pairs of methods, group by group, and the gap between rating levels."""

from __future__ import annotations

from markupsafe import Markup

from salon.fuse.report_boards import MOST_ROWS, Names, cut, folded
from salon.fuse.results import CompareFigures, FuseReport, GapRow, MethodPair
from salon.report import SMALL, Block, Cell, Column, Figure, Figures, Section, Table, charts
from salon.report.words import fixed

AGREEMENT = (
    Column("srcc", "SRCC", "number", 4, "Rank correlation"),
    Column("plcc", "PLCC", "number", 4, "Linear correlation"),
    Column("mae", "MAE", "number", 3, "Mean absolute difference of the scores"),
    Column("decisions", "Decisions", "percent", 1, "Item pairs on which both decide alike"),
)
KS = Column("ks", "KS pass", hint="Groups whose two distributions of scores pass Kolmogorov-Smirnov at p > .05")
CALIBRATIONS = {"pooled": "pooled", "group": "by group"}


def method_section(report: FuseReport, names: Names) -> Section | None:
    """The cross-method table of `salon fuse --compare`."""
    if report.compare is None:
        return None
    compare = report.compare
    blocks = [_pairs(compare), *_by_group(compare, names), *_gaps(compare)]
    return Section("Methods", blocks, "Do other methods give the same scores?")


def _pairs(compare: CompareFigures) -> Table:
    columns = [
        Column("first", "Method"),
        Column("second", "Against"),
        *AGREEMENT,
        KS,
        Column("srcc_low", "Lowest SRCC", "number", 4, "Lowest rank correlation of any group"),
    ]
    rows = [{"first": pair.first, "second": pair.second, **_cells(pair)} for pair in compare.pairs]
    near = Markup("Scores closer than {} count as ties.").format(fixed(compare.tie_margin, 2))
    ties = near if compare.tie_margin else Markup("Only equal scores count as ties.")
    return Table(columns, rows, Markup("Agreement between methods, averaged over groups. ") + ties)


def _cells(pair: MethodPair) -> dict[str, object]:
    why = "all scores of a group are equal"
    known = {name: getattr(pair, name) for name in ("srcc", "plcc", "mae", "decisions", "srcc_low")}
    cells = {name: Cell(number, why if number is None else "") for name, number in known.items()}
    passed = Markup("{} of {}").format(fixed(pair.ks_pass, 0), fixed(pair.groups, 0))
    return {**cells, "ks": passed}


def _by_group(compare: CompareFigures, names: Names) -> list[Block]:
    if not compare.by_group:
        return []
    criteria, groups = (len(set(parts)) > 1 for parts in zip(*compare.group_names))
    columns = [
        *([Column("criterion", "Criterion")] if criteria or not groups else []),
        *([Column("group", "Group")] if groups else []),
        *AGREEMENT,
        Column("ks", "KS", hint="Kolmogorov-Smirnov at p > .05"),
    ]
    rows = [
        {
            "criterion": names.criteria.get(criterion, criterion),
            "group": names.groups.get(group, group),
            **_cells(pair),
            "ks": "pass" if pair.ks_pass else "fail",
        }
        for pair, (criterion, group) in list(zip(compare.by_group, compare.group_names))[:MOST_ROWS]
    ]
    caption = Markup("Anchored Elo against anchored Davidson, group by group.") + cut(compare.by_group)
    return [folded(Table(columns, rows, caption), "Anchored Elo against anchored Davidson, group by group")]


def _gaps(compare: CompareFigures) -> list[Block]:
    """How much depends on the Elo points between adjacent rating levels?"""
    if not compare.gaps:
        return []
    columns = [
        Column("gap", "Gap", "count", hint="Elo points between adjacent rating levels"),
        Column("calibration", "Curve"),
        *AGREEMENT,
        KS,
    ]
    rows = [
        {"gap": row.gap, "calibration": CALIBRATIONS[row.calibration], **_cells(row.agreement)} for row in compare.gaps
    ]
    words = "Anchored Elo against anchored Davidson as the gap changes: Elo points between adjacent rating levels, and "
    table = Table(columns, rows, words + "one curve for all groups or one for each.")
    return [Figures(_gap_figures(compare.gaps), "The gap between rating levels, in Elo points."), table]


def _gap_figures(gaps: tuple[GapRow, ...]) -> list[Figure]:
    figures = []
    for name, heading in (("srcc", "SRCC"), ("mae", "MAE"), ("decisions", "Decisions")):
        curves = [
            charts.Curve(words, [row.gap for row in rows], [getattr(row.agreement, name) for row in rows])
            for kind, words in CALIBRATIONS.items()
            if (rows := [r for r in gaps if r.calibration == kind and getattr(r.agreement, name) is not None])
        ]
        if curves:
            drawing = charts.line_curves(
                curves, title=f"{heading} over the gap", percent=name == "decisions", height=180, width=SMALL
            )
            figures.append(Figure(drawing, heading=heading))
    return figures
