"""What the scores rest on: the comparison graph, what the fit explains badly, the raters, what went in."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.fuse.report_boards import MOST_ROWS, Names, cut, folded
from salon.fuse.results import FuseReport, GraphFigures, GroupFigures, PairResidual, RaterFigures
from salon.report import Block, Cell, Column, Section, Table
from salon.report.numbers import MISSING
from salon.report.words import RATER_NAME, brief, counted, fixed, listed, sentence

MOST_PAIRS = 20
MOST_RATERS = 200
MOST_NAMES = 3
RATER_COLUMNS = (
    Column("agreement", "Agrees", "percent", 1, "Decided answers that go with the higher score"),
    Column("expected_agreement", "Expected", "percent", 1, "What the model expects on the same pairs"),
    Column("z", "z", "number", 2, "Surprise of the answers; far below zero: unlike the others"),
    Column("reliability", "Reliability", "number", 3, "Chance that an answer is meant as given"),
    Column("left_bias", "Left bias", "number", 3, "Pull to the left item, in logits"),
    Column("offset", "Offset", "number", 3, "Mean shift of ratings against the panel"),
    Column("gain", "Gain", "number", 3, "Stretch of ratings against the panel; one: as the panel"),
    Column("inconsistency", "Noise", "number", 3, "Noise of the rater's ratings"),
)
COUNTS = (
    Column("items", "Items", "count"),
    Column("raters", "Raters", "count"),
    Column("comparisons", "Comparisons", "count"),
    Column("rankings", "Rankings", "count"),
    Column("ratings", "Ratings", "count"),
    Column("ties", "Ties", "percent", 1, "Share of the comparisons used"),
    Column("both_bad", "Both bad", "count", hint="Answers that order nothing"),
    Column("repeats", "Repeats", "count", hint="Repeated answers, left out"),
)
ALWAYS = ("items", "raters")


def graph_section(report: FuseReport, names: Names) -> Section | None:
    """Is every item tied to every other by comparisons, and how closely?"""
    groups = sorted(((g, g.graph) for g in report.groups if g.graph is not None), key=_thinness)
    if not groups:
        return None
    columns = [
        Column("place", "Group"),
        Column("items", "Items", "count"),
        Column("edges", "Pairs met", "count", hint="Pairs of items that met"),
        Column("fraction", "Of all pairs", "percent", 1),
        Column("components", "Parts", "count", hint="Parts that no comparison connects"),
        Column("degrees", "Partners", hint="Least, mean and most other items that an item met"),
        Column("diameter", "Diameter", "count", hint="Longest of the shortest paths between two items"),
        Column("mean_path", "Mean path", "number", 2),
        Column("undefeated", "Never lost"),
        Column("winless", "Never won"),
    ]
    ends = {name: any(getattr(graph, name) for _, graph in groups) for name in ("undefeated", "winless")}
    kept = [column for column in columns if ends.get(column.path, True)]
    rows = [{"place": names.place(g), **_graph_cells(graph, names)} for g, graph in groups[:MOST_ROWS]]
    caption = Markup("Comparison graphs, the thinnest first.") if len(groups) > 1 else Markup("The comparison graph.")
    absent = [] if any(ends.values()) else [Markup(" No item went undefeated or winless.")]
    table = Table(kept, rows, Markup("").join([caption, *absent]) + cut(groups))
    summary = Markup("Comparison graphs of {}").format(counted(len(groups), "group"))
    return Section("Comparison graph", [folded(table, summary)], "Who met whom: scores reach only as far.")


def _thinness(entry: tuple[GroupFigures, GraphFigures]) -> tuple[int, float]:
    _, graph = entry
    return -graph.components, graph.fraction


def _graph_cells(graph: GraphFigures, names: Names) -> dict[str, object]:
    apart = "not all items are connected"
    few = Markup("{} / {} / {}").format(
        fixed(graph.degree_min, 0), fixed(graph.degree_mean, 1), fixed(graph.degree_max, 0)
    )
    alone = graph.items - graph.compared
    return {
        "items": Cell(graph.items, under=Markup("{} compared").format(fixed(graph.compared, 0)) if alone else ""),
        "edges": graph.edges,
        "fraction": graph.fraction,
        "components": graph.components,
        "degrees": few,
        "diameter": Cell(graph.diameter, apart if graph.diameter is None else ""),
        "mean_path": Cell(graph.mean_path, apart if graph.mean_path is None else ""),
        "undefeated": _some(graph.undefeated, names),
        "winless": _some(graph.winless, names),
    }


def _some(items: Sequence[str], names: Names) -> Markup:
    if not items:
        return Markup(MISSING)
    more = [counted(len(items) - MOST_NAMES, "other")] if len(items) > MOST_NAMES else []
    return listed([*(names.item(item) for item in items[:MOST_NAMES]), *more])


def residual_section(report: FuseReport, names: Names) -> Section | None:
    """Which pairs and which raters the fit explains worst, and whether it fits at all."""
    blocks = [*_pair_table(report, names), *_rater_table(report), *_fit_table(report, names)]
    return Section("Residuals", blocks, "What the fit explains badly.") if blocks else None


def _pair_table(report: FuseReport, names: Names) -> list[Block]:
    pairs = [(group, pair) for group in report.groups for pair in group.worst_pairs]
    pairs.sort(key=lambda found: -abs(found[1].z))
    if not pairs:
        return []
    columns = [
        Column("first", report.by.capitalize()),
        Column("second", "Against"),
        *([Column("place", "Group")] if len(report.groups) > 1 else []),
        Column("n", "Answers", "number", 0),
        Column("observed", "Won", "percent", 1, "Share of wins of the first, ties half"),
        Column("expected", "Expected", "percent", 1),
        Column("z", "z", "number", 2, "Standardised residual"),
    ]
    rows = [_pair_row(group, pair, names) for group, pair in pairs[:MOST_PAIRS]]
    caption = Markup("Pairs that the fit explains worst, over all groups.") + cut(pairs, MOST_PAIRS, "pair")
    return [Table(columns, rows, caption)]


def _pair_row(group: GroupFigures, pair: PairResidual, names: Names) -> dict[str, object]:
    figures = {name: getattr(pair, name) for name in ("n", "observed", "expected", "z")}
    return {"first": names.item(pair.first), "second": names.item(pair.second), "place": names.place(group), **figures}


def _rater_table(report: FuseReport) -> list[Block]:
    """The least like the others first."""
    if not report.raters:
        return []
    raters = sorted(report.raters, key=lambda r: (r.z is None, r.z or 0.0))
    known = [c for c in RATER_COLUMNS if any(getattr(r, c.path) is not None for r in raters)]
    columns = [Column("rater", "Rater"), Column("answers", "Answers", "count"), *known]
    rows = [_rater_row(rater) for rater in raters[:MOST_RATERS]]
    told = (
        "Raters against the fit, the least like the others first."
        if known
        else "Raters; this fit has no figures of theirs."
    )
    caption = Markup(told) + cut(raters, MOST_RATERS, "rater")
    return [folded(Table(columns, rows, caption), Markup("{} against the fit").format(counted(len(raters), "rater")))]


def _rater_row(rater: RaterFigures) -> dict[str, object]:
    cells: dict[str, object] = {"rater": brief(rater.rater, RATER_NAME), "answers": rater.answers}
    for column in RATER_COLUMNS:
        raw, error = getattr(rater, column.path), getattr(rater, f"{column.path}_error", None)
        why = "" if raw is not None else "no answers of this rater to compute it from"
        under = "" if error is None else Markup("± {}").format(fixed(error, column.decimals or 3))
        cells[column.path] = Cell(raw, why, under)
    return cells


def _fit_table(report: FuseReport, names: Names) -> list[Block]:
    groups = sorted(report.groups, key=lambda g: (g.fit_p is None, g.fit_p or 0.0))
    if not groups:
        return []
    columns = [
        Column("place", "Group"),
        Column("fit_p", "p of the fit", "p", hint="Does the model fit? Pearson chi-square over pairs"),
        Column("tie", "Tie parameter", "number", 3),
        Column("log_likelihood", "Log-likelihood", "number", 1),
        Column("solver", "Found by"),
        Column("iterations", "Steps", "count"),
        Column("errors", "Errors"),
        Column("df", "df", "number", 0, "Degrees of freedom of the errors; a dash: normal"),
    ]
    alike = len({g.errors for g in groups}) == 1
    columns = [c for c in columns if c.path != "errors" or not alike]
    known = [c for c in columns if c.path == "place" or any(getattr(g, c.path) is not None for g in groups)]
    rows = [{"place": names.place(g), **_fit_cells(g)} for g in groups[:MOST_ROWS]]
    order = ", the worst first" if groups[0].fit_p is not None else ""
    errors = Markup(" Errors: {}.").format(groups[0].errors) if alike and groups[0].errors else ""
    caption = Markup("How each fit went{}.{}").format(order, errors) + cut(groups)
    return [folded(Table(known, rows, caption), Markup("How {} went").format(counted(len(groups), "fit")))]


def _fit_cells(group: GroupFigures) -> dict[str, object]:
    tie_error = "" if group.tie_error is None else Markup("± {}").format(fixed(group.tie_error, 3))
    slope = "" if group.gradient is None else f"largest slope left {group.gradient:.1g}"
    return {
        "fit_p": Cell(group.fit_p, "" if group.fit_p is not None else "too few answers for each pair"),
        "tie": Cell(group.tie, "" if group.tie is not None else "no tie parameter", tie_error),
        "log_likelihood": Cell(group.log_likelihood, "" if group.log_likelihood is not None else "no likelihood"),
        "solver": brief(group.solver, 60),
        "iterations": Cell(group.iterations, slope),
        "errors": brief(group.errors, 160),
        "df": Cell(group.df, "normal" if group.df is None else ""),
    }


def data_section(report: FuseReport, names: Names) -> Section:
    """What went in, what was left out, and every policy."""
    used = [c for c in COUNTS if c.path in ALWAYS or any(getattr(g, c.path) for g in report.groups)]
    unused = [c.header.lower() for c in COUNTS if c not in used]
    rows = [{"place": names.place(g), **{c.path: getattr(g, c.path) for c in used}} for g in report.groups[:MOST_ROWS]]
    caption = Markup("What went in.") + (Markup(" None: {}.").format(listed(unused)) if unused else Markup(""))
    table = Table([Column("place", "Group"), *used], rows, caption + cut(report.groups))
    summary = Markup("What went into {}").format(counted(len(report.groups), "group"))
    blocks: list[Block | str] = [folded(table, summary)] if rows else ["No group could be fused."]
    if report.policies:
        policies = [{"policy": sentence(policy)} for policy in report.policies]
        blocks.append(Table([Column("policy", "Policy")], policies, "What was done about it.", sortable=False))
    return Section("Data", blocks, "What went in, and what was done about it.")
