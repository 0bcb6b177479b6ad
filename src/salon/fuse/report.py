"""The HTML report of a fusion, made from its FuseReport alone: it prints numbers and computes none.

Every number of the page carries its path in the JSON of `salon fuse --json`, so that
`salon.report.disagreements(page.html(), report.model_dump(mode="json"))` is empty. Counts of what is listed, and the
median width of the intervals, are not in the JSON and have no path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low

from markupsafe import Markup

from salon.fuse.report_scores import (
    MOST_ROWS,
    PLACE,
    ScoreBoard,
    ScoreNames,
    alike_section,
    cut_note,
    first_figure,
    fold_table,
    item_label,
    list_boards,
    method_section,
    scale_words,
    score_section,
    score_warnings,
)
from salon.fuse.results import (
    AnchorFigure,
    CurveFigures,
    FuseReport,
    GraphFigures,
    GroupFigures,
    PairResidual,
    RaterFit,
    ScoreRow,
)
from salon.report import (
    MISSING,
    RATER_NAME,
    SIMULATED,
    SMALL,
    WIDE,
    Answer,
    Block,
    Card,
    Cell,
    Chart,
    ChartRow,
    Column,
    Note,
    Page,
    Prose,
    Section,
    Table,
    brief,
    charts,
    columns_of,
    count_noun,
    fold,
    join_names,
    level_words,
    located,
    numbers,
    one_way,
    sentence,
    value,
)
from salon.report.words import fixed

MOST_CURVES = 12
MOST_ANCHORS = 100
MOST_BARS = 30
MOST_PLACES = 6
NO_ERROR = "no error can be given"


def calibration_section(report: FuseReport, names: ScoreNames) -> Section | None:
    """The curve or curves, their parameters, the rating anchors, and levels that have none."""
    if not report.curves and not report.rating_anchors:
        return None
    curves = _curve_figures(report, names)
    blocks = [
        *_curve_words(report),
        *(curves if len(report.curves) == 1 else fold("The curve of each group", *curves)),
        *_missing_level_notes(report, names),
        *_curve_table(report, names),
        *_anchor_table(report, names),
    ]
    return Section("Calibration", blocks, "How latent scores become scores on the scale of the ratings.")


def _curve_words(report: FuseReport) -> list[Block]:
    if not report.curves:
        return [Prose(Markup("{}, and no curve.").format(count_noun(len(report.rating_anchors), "rating anchor")))]
    worst = max(report.curves, key=lambda curve: curve.residual)
    words = "{} from {}; the rating anchors lie {} points off the curve (root mean square{})."
    several = ", in the worst group" if len(report.curves) > 1 else ""
    return [
        Prose(
            Markup(words).format(
                count_noun(len(report.curves), "curve"),
                count_noun(len(report.rating_anchors), "rating anchor"),
                fixed(worst.residual, 3),
                several,
            )
        )
    ]


def _curve_figures(report: FuseReport, names: ScoreNames) -> list[Block]:
    """A pooled curve in full width; curves of groups side by side."""
    drawable = [curve for curve in report.curves if _latent_range(report, curve) is not None]
    if report.scale_low is None or report.scale_high is None or not drawable:
        return []
    if len(drawable) == 1:
        left = cut_note(report.rating_anchors, MOST_ANCHORS, "rating anchor")
        return [_curve_figure(report, drawable[0], names, WIDE, _anchor_words(len(report.rating_anchors)) + left)]
    figures = [_curve_figure(report, curve, names, SMALL) for curve in drawable[:MOST_CURVES]]
    axes = Markup(" Across: the latent score; up: the score on the scale {}.").format(scale_words(report))
    return [ChartRow(figures, _anchor_words(0) + axes + cut_note(drawable, MOST_CURVES))]


def _anchor_words(anchors: int) -> str:
    """What the figure shows; many bars would hide it."""
    words = (
        "Diamonds are rating anchors: items whose ratings agree so well that they tie the latent scale to the ratings. "
        "Each stands at its latent score and the centre of its ratings"
    )
    return words + (", with a bar of one standard deviation over raters to each side." if anchors <= MOST_BARS else ".")


def _curve_figure(report: FuseReport, curve: CurveFigures, names: ScoreNames, width: int, words: str = "") -> Chart:
    mine = [anchor for anchor in report.rating_anchors if _belongs(anchor, curve)][:MOST_ANCHORS]
    small = width == SMALL
    marks = []
    for anchor in mine:
        label = names.item(anchor.item) if small else f"{names.item(anchor.item)} ({names.place(anchor)})"
        bar = anchor.spread if len(mine) <= MOST_BARS else None
        marks.append(charts.AnchorMark(label, anchor.latent, anchor.target, anchor.fitted, bar))
    drawing = charts.calibration_curve(
        curve.a,
        curve.b,
        marks,
        low=report.scale_low,
        high=report.scale_high,
        title=f"Calibration curve: {names.place(curve)}",
        x_label="latent score" if not small else "",
        y_label=f"score ({scale_words(report)})" if not small else "",
        x_range=_latent_range(report, curve),
        height=190 if small else 320,
        width=width,
    )
    return Chart(drawing, words, names.place(curve) if small else "")


def _belongs(part: AnchorFigure | ScoreRow, curve: CurveFigures) -> bool:
    return curve.group in (None, part.group) and curve.criterion in (None, part.criterion)


def _latent_range(report: FuseReport, curve: CurveFigures) -> tuple[float, float] | None:
    """The scores the curve serves."""
    latent = [row.latent for row in report.scores if _belongs(row, curve)]
    return (min(latent), max(latent)) if latent else None


def _missing_level_notes(report: FuseReport, names: ScoreNames) -> list[Block]:
    """Levels without a rating anchor, and the groups that lack them."""
    lacking: dict[tuple[float, ...], list[GroupFigures]] = {}
    for group in report.groups:
        if group.missing_levels:
            lacking.setdefault(group.missing_levels, []).append(group)
    sentences = []
    for levels, groups in lacking.items():
        places = [names.place(group) for group in groups[:MOST_PLACES]]
        more = [count_noun(len(groups) - MOST_PLACES, "other group")] if len(groups) > MOST_PLACES else []
        shown_levels = join_names(value(level, None, f"{level:g}") for level in levels)
        sentences.append(Markup("level {} in {}").format(shown_levels, join_names([*places, *more])))
    return [Note(Markup("; ").join(sentences[:MOST_CURVES]) + ".", "thin", "No rating anchor at")] if sentences else []


def _curve_table(report: FuseReport, names: ScoreNames) -> list[Block]:
    if not report.curves:
        return []
    columns = [Column("place", "Curve"), *columns_of(CurveFigures, "a", "b", "residual", "anchors")]
    rows = [
        {
            "place": names.place(curve),
            "a": _with_error(curve.a, curve.a_error, 4),
            "b": _with_error(curve.b, curve.b_error, 3),
            "residual": curve.residual,
            "anchors": curve.anchors,
        }
        for curve in report.curves[:MOST_ROWS]
    ]
    caption = Markup(
        "score = low + (high − low) / (1 + exp(−(a · latent + b))), with low and high the ends of the scale."
    )
    return [
        fold_table(Table(columns, rows, caption + cut_note(report.curves, noun="curve")), "Parameters of the curves")
    ]


def _with_error(number: float, error: float | None, decimals: int) -> Cell:
    if error is None:
        return Cell(number, NO_ERROR)
    return Cell(number, under=Markup("± {}").format(fixed(error, decimals)))


def _anchor_table(report: FuseReport, names: ScoreNames) -> list[Block]:
    if not report.rating_anchors:
        return []
    several = len(names.criteria) > 1 or len(names.groups) > 1
    columns = [
        *columns_of(AnchorFigure, "item"),
        *([PLACE] if several else []),
        *columns_of(AnchorFigure, "level", "target", "spread", "latent", "fitted"),
    ]
    rows = [
        {
            "item": names.item(anchor.item),
            "place": names.place(anchor),
            **{name: getattr(anchor, name) for name in ("level", "target", "spread", "latent", "fitted")},
        }
        for anchor in report.rating_anchors[:MOST_ANCHORS]
    ]
    caption = Markup("Rating anchors.") + cut_note(report.rating_anchors, MOST_ANCHORS, "rating anchor")
    return [fold_table(Table(columns, rows, caption), "Rating anchors")]


# -- graph, residuals, raters, data ------------------------------------------------------------------------------------

MOST_PAIRS = 20
MOST_RATERS = 200
MOST_NAMES = 3
RATER_COLUMNS = columns_of(
    RaterFit,
    *("agreement", "expected_agreement", "z", "reliability", "left_bias", "offset", "gain", "inconsistency"),
)
COUNTS = columns_of(
    GroupFigures, "items", "raters", "comparisons", "rankings", "ratings", "ties", "both_bad", "repeats"
)
ALWAYS = ("items", "raters")


def graph_section(report: FuseReport, names: ScoreNames) -> Section | None:
    """Is every item tied to every other by comparisons, and how closely?"""
    groups = [(group, group.graph) for group in report.groups if group.graph is not None]
    groups.sort(key=lambda entry: (-entry[1].components, entry[1].fraction))
    if not groups:
        return None
    columns = [
        PLACE,
        *columns_of(GraphFigures, "items", "edges", "fraction", "components"),
        Column("degrees", "Partners", hint="Least, mean and most other items that an item met"),
        *columns_of(GraphFigures, "diameter", "mean_path", "undefeated", "winless"),
    ]
    ends = {name: any(getattr(graph, name) for _, graph in groups) for name in ("undefeated", "winless")}
    present = [column for column in columns if ends.get(column.path, True)]
    rows = [{"place": names.place(g), **_graph_cells(graph, names)} for g, graph in groups[:MOST_ROWS]]
    caption = Markup("Comparison graphs, the thinnest first.") if len(groups) > 1 else Markup("The comparison graph.")
    absent = [] if any(ends.values()) else [Markup(" No item went undefeated or winless.")]
    table = Table(present, rows, Markup("").join([caption, *absent]) + cut_note(groups))
    summary = Markup("Comparison graphs of {}").format(count_noun(len(groups), "group"))
    return Section(
        "Comparison graph",
        [_graph_words(groups), fold_table(table, summary)],
        "Which items were compared, and how often.",
    )


def _graph_words(groups: Sequence[tuple[GroupFigures, GraphFigures]]) -> Block:
    """Whether comparisons connect all items; the groups come thinnest first."""
    apart = sum(graph.components > 1 for _, graph in groups)
    if apart:
        words = "In {} of {} the comparisons do not connect all items: scores of unconnected items cannot be compared."
        return Note(Markup(words).format(fixed(apart, 0), count_noun(len(groups), "group")), "alert")
    thinnest = groups[0][1]
    words = "Comparisons connect all items{}. {} of all pairs met{}."
    several = (" of each group", " in the thinnest group") if len(groups) > 1 else ("", "")
    share = value(thinnest.fraction, None, numbers.percent(thinnest.fraction, 1))
    return Prose(Markup(words).format(several[0], share, several[1]))


def _graph_cells(graph: GraphFigures, names: ScoreNames) -> dict[str, object]:
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
        "undefeated": _some_items(graph.undefeated, names),
        "winless": _some_items(graph.winless, names),
    }


def _some_items(items: Sequence[str], names: ScoreNames) -> Markup:
    if not items:
        return Markup(MISSING)
    more = [count_noun(len(items) - MOST_NAMES, "other")] if len(items) > MOST_NAMES else []
    return join_names([*(names.item(item) for item in items[:MOST_NAMES]), *more])


def residual_section(report: FuseReport, names: ScoreNames) -> Section | None:
    """Which pairs and which raters the fit explains worst, and whether it fits at all."""
    tables = [*_pair_table(report, names), *_rater_table(report), *_fit_table(report, names)]
    return Section("Residuals", [*_fit_words(report), *tables], "What the fit explains badly.") if tables else None


def _fit_words(report: FuseReport) -> list[Block]:
    """The worst fit, and the pair furthest from its expectation."""
    fits = [group.fit_p for group in report.groups if group.fit_p is not None]
    pairs = [pair for group in report.groups for pair in group.worst_pairs]
    sentences = []
    if fits:
        several = Markup(" in the worst of {}").format(count_noun(len(fits), "group")) if len(fits) > 1 else ""
        p = value(min(fits), None, numbers.p_value(min(fits)))
        sentences.append(Markup("The test of the fit gives p {}{}; a small p means a poor fit.").format(p, several))
    if pairs:
        worst = max(pairs, key=lambda pair: abs(pair.z))
        sentences.append(Markup("The pair furthest from the fit has z {}.").format(fixed(worst.z, 2)))
    return [Prose(Markup(" ").join(sentences))] if sentences else []


def _pair_table(report: FuseReport, names: ScoreNames) -> list[Block]:
    pairs = [(group, pair) for group in report.groups for pair in group.worst_pairs]
    pairs.sort(key=lambda entry: -abs(entry[1].z))
    if not pairs:
        return []
    columns = [
        Column("first", report.by.capitalize()),
        *columns_of(PairResidual, "second"),
        *([PLACE] if len(report.groups) > 1 else []),
        *columns_of(PairResidual, "n", "observed", "expected", "z"),
    ]
    rows = [
        {
            "first": names.item(pair.first),
            "second": names.item(pair.second),
            "place": names.place(group),
            **{name: getattr(pair, name) for name in ("n", "observed", "expected", "z")},
        }
        for group, pair in pairs[:MOST_PAIRS]
    ]
    caption = Markup("Pairs that the fit explains worst, over all groups.") + cut_note(pairs, MOST_PAIRS, "pair")
    return fold("Pairs that the fit explains worst", Table(columns, rows, caption))


def _rater_table(report: FuseReport) -> list[Block]:
    """The least like the others first."""
    if not report.raters:
        return []
    raters = sorted(report.raters, key=lambda r: (r.z is None, r.z or 0.0))
    present = [c for c in RATER_COLUMNS if any(getattr(r, c.path) is not None for r in raters)]
    columns = [*columns_of(RaterFit, "rater", "answers"), *present]
    rows = []
    for rater in raters[:MOST_RATERS]:
        cells: dict[str, object] = {"rater": brief(rater.rater, RATER_NAME), "answers": rater.answers}
        for column in RATER_COLUMNS:
            raw, error = getattr(rater, column.path), getattr(rater, f"{column.path}_error", None)
            why = "" if raw is not None else "no answers of this rater to compute it from"
            under = "" if error is None else Markup("± {}").format(fixed(error, column.decimals or 3))
            cells[column.path] = Cell(raw, why, under)
        rows.append(cells)
    words = (
        "Raters against the fit, the least like the others first."
        if present
        else "Raters; this fit has no figures of theirs."
    )
    caption = Markup(words) + cut_note(raters, MOST_RATERS, "rater")
    return [
        fold_table(Table(columns, rows, caption), Markup("{} against the fit").format(count_noun(len(raters), "rater")))
    ]


def _fit_table(report: FuseReport, names: ScoreNames) -> list[Block]:
    groups = sorted(report.groups, key=lambda g: (g.fit_p is None, g.fit_p or 0.0))
    if not groups:
        return []
    shown = ("fit_p", "tie", "log_likelihood", "solver", "iterations", "errors", "df")
    columns = [PLACE, *columns_of(GroupFigures, *shown)]
    alike = len({g.errors for g in groups}) == 1
    columns = [c for c in columns if c.path != "errors" or not alike]
    present = [c for c in columns if c.path == "place" or any(getattr(g, c.path) is not None for g in groups)]
    rows = [{"place": names.place(g), **_fit_cells(g)} for g in groups[:MOST_ROWS]]
    order = ", the worst first" if groups[0].fit_p is not None else ""
    errors = Markup(" Errors: {}.").format(groups[0].errors) if alike and groups[0].errors else ""
    caption = Markup("How each fit went{}.{}").format(order, errors) + cut_note(groups)
    return [fold_table(Table(present, rows, caption), Markup("How {} went").format(count_noun(len(groups), "fit")))]


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


def data_section(report: FuseReport, names: ScoreNames) -> Section:
    """What went in, what was left out, and every policy."""
    used = [c for c in COUNTS if c.path in ALWAYS or any(getattr(g, c.path) for g in report.groups)]
    unused = [c.header.lower() for c in COUNTS if c not in used]
    rows = [{"place": names.place(g), **{c.path: getattr(g, c.path) for c in used}} for g in report.groups[:MOST_ROWS]]
    caption = Markup("What went in.") + (Markup(" None: {}.").format(join_names(unused)) if unused else Markup(""))
    table = Table([PLACE, *used], rows, caption + cut_note(report.groups))
    summary = Markup("What went into {}").format(count_noun(len(report.groups), "group"))
    words = Markup("{} in {}.").format(count_noun(len(report.scores), "score"), count_noun(len(report.groups), "group"))
    blocks: list[Block | str] = [words, fold_table(table, summary)] if rows else ["No group could be fused."]
    if report.policies:
        policies = [{"policy": sentence(policy)} for policy in report.policies]
        table = Table([Column("policy", "Policy")], policies, sortable=False, label="Policies")
        blocks += fold("What was done about ties, repeats and gaps", table)
    return Section("Data", blocks, "What went in, and what was done about it.")


# -- the page ----------------------------------------------------------------------------------------------------------

CLUSTERS = {
    "answer": "answers of the same raters",
    "rater": "raters",
    "prompt": "prompts",
    "both": "raters and prompts",
}


def fuse_page(report: FuseReport, prompts: Mapping[str, str] | None = None) -> Page:
    """The whole report as one self-contained page.

    `prompts`: the text of each prompt by its id, where a group is a prompt.
    """
    here = located(report)
    names = ScoreNames.of(here, prompts)
    boards = list_boards(here, names)
    sections = [
        score_section(here, names, boards),
        alike_section(names, boards),
        calibration_section(here, names),
        graph_section(here, names),
        method_section(here, names),
        residual_section(here, names),
        data_section(here, names),
    ]
    scored = count_noun(len(names.items), here.by)
    criteria = count_noun(len(names.criteria), "criterion", "criteria")
    subtitle = Markup("{}: {} under {}, by {}.").format(brief(here.study), scored, criteria, here.method)
    drawn_anew = CLUSTERS.get(here.cluster, here.cluster)
    scale = Markup("on the scale {}; intervals as if other {} were drawn").format(scale_words(here), drawn_anew)
    cards = [
        Card("Method", here.method, scale),
        _size_card(here, names, boards),
        _winner_card(boards, names),
        _width_card(here),
    ]
    sentences = [
        "Scores are always the fit itself, never the middle of a bootstrap.",
        "Each number of this page carries its path in the JSON of the same fusion.",
    ]
    if here.signature.seed is not None:
        sentences.append(Markup("Everything drawn by chance comes from seed {}.").format(fixed(here.signature.seed, 0)))
    return Page(
        title=f"How good is each {report.by}?",
        tab=f"Scores: {brief(report.study)}",
        subtitle=subtitle,
        kicker=f"Salon fuse · {brief(report.study)}" + (" · simulated" if report.simulated else ""),
        banner=SIMULATED if report.simulated else "",
        answer=Answer(_answer_words(here, boards, names), first_figure(here, names, boards), _next_steps(here, boards)),
        cards=cards,
        sections=[section for section in sections if section is not None],
        notes=[*([SIMULATED] if here.simulated else []), Markup(" ").join(sentences)],
        signature=one_way(report.signature_line),
    )


def _answer_words(report: FuseReport, boards: Sequence[ScoreBoard], names: ScoreNames) -> list[str]:
    """Who is best, or how many groups have a clear winner."""
    if not boards:
        return ["No item could be scored."]
    first, sizes = boards[0].rows[0], [board.first_tier for board in boards]
    best = names.item(item_label(first))
    if None in sizes:
        return [Markup("{} has the highest score, but without errors nobody knows whether it is best.").format(best)]
    if len(boards) > 1:
        clear = sizes.count(1)
        if not clear:
            return [Markup("None of {} has a clear winner.").format(count_noun(len(boards), "group"))]
        words = "{} of {} have a clear winner: one {} that is significantly better than all others."
        return [Markup(words).format(fixed(clear, 0), count_noun(len(boards), "group"), report.by)]
    if sizes[0] == 1:
        return [
            Markup("{} is best: significantly better than each of {}.").format(
                best, count_noun(len(boards[0].rows) - 1, f"other {report.by}")
            )
        ]
    words = "No clear winner: {} of {} are not significantly worse than the best. {} has the highest score."
    return [Markup(words).format(fixed(sizes[0], 0), count_noun(len(boards[0].rows), report.by), best)]


def _next_steps(report: FuseReport, boards: Sequence[ScoreBoard]) -> list[str]:
    steps: list[str] = []
    if score_warnings(report):
        steps.append(Markup('Read the <a href="#scores">warnings</a> first.'))
    if any(board.first_tier is None for board in boards):
        steps.append("Compare no two scores: without errors their difference may be chance.")
    elif any(board.first_tier != 1 for board in boards):
        steps.append(
            Markup("To separate the best, collect more comparisons: <code>salon plan budget</code> says how many.")
        )
    steps.append("Quote each score with its interval and its tier.")
    steps.append(Markup("Check that raters agree before you use the scores: <code>salon check</code>."))
    return steps


def _size_card(report: FuseReport, names: ScoreNames, boards: Sequence[ScoreBoard]) -> Card:
    """Items by criteria where each item has every criterion; else the number of scores."""
    groups, scores = count_noun(len(boards), "group"), len(report.scores)
    items, criteria = len(names.items), len(names.criteria)
    if scores == items * criteria:
        size = Markup("{} × {}").format(fixed(items, 0), fixed(criteria, 0))
        return Card(f"{report.by.capitalize()}s × criteria", size, count_noun(scores, "score") + " in " + groups)
    note = count_noun(criteria, "criterion", "criteria") + ", " + groups
    return Card("Scores", fixed(scores, 0), note)


def _winner_card(boards: Sequence[ScoreBoard], names: ScoreNames) -> Card:
    """One board: its winner, if it has one alone. Several: in how many there is one."""
    sizes = [board.first_tier for board in boards]
    if not boards or None in sizes:
        return Card("Clear winner", "–", "no tiers without errors", "thin")
    clear = sizes.count(1)
    if len(boards) > 1:
        words = Markup("{} of {}").format(fixed(clear, 0), fixed(len(boards), 0))
        return Card("Groups with a clear winner", words, "one alone in its first tier", "clear" if clear else "open")
    if clear:
        return Card("Clear winner", names.item(item_label(boards[0].rows[0])), "alone in the first tier", "clear")
    note = Markup("{} of {} are not significantly worse").format(fixed(sizes[0], 0), fixed(len(boards[0].rows), 0))
    return Card("Winner", "no clear winner", note, "open")


def _width_card(report: FuseReport) -> Card:
    widths = [row.high - row.low for row in report.scores if row.low is not None and row.high is not None]
    if not widths:
        return Card("Median width of the intervals", "–", "no error can be given", "thin")
    middle = median_low(widths)
    width = value(middle, None, numbers.significant(middle, 2))
    note = Markup("{} intervals, on the scale {}").format(level_words(report), scale_words(report))
    missing = len(report.scores) - len(widths)
    return Card(
        "Median width of the intervals",
        width,
        note + (Markup("; {} without").format(count_noun(missing, "score")) if missing else Markup("")),
    )
