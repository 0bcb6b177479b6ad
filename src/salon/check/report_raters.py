"""The sections on raters, factions, flags and protocols of a check report."""

from __future__ import annotations

from markupsafe import Markup

from salon.check.report_signal import cap_criteria, holm_line
from salon.check.results import (
    FLAGS_NOT_RANKED,
    CheckReport,
    CriterionFigures,
    FactionFigures,
    FlagFigures,
    ProtocolFigures,
    ProtocolRater,
    ProtocolRow,
    RaterAgreement,
    RaterSummary,
    unranked_flags,
)
from salon.report import (
    RATER_NAME,
    SMALL,
    WIDE,
    Badge,
    Block,
    Cell,
    Chart,
    ChartRow,
    Column,
    Note,
    Prose,
    Section,
    Table,
    brief,
    charts,
    columns_of,
    count_noun,
    estimate_value,
    fold,
    join_names,
    level_words,
    numbers,
    text_width,
    unbroken_name,
    without_shared_start,
)
from salon.report.words import fixed

SMALL_PANEL = 10
"""Raters that small multiples can show; larger panels take the whole width."""
FEW_RATERS = 6
"""Raters up to which the map of raters by criterion stands open."""
NUMBERED = 5
"""Raters up to which the cells of a small map hold their numbers."""
SHORT_LABEL = 66.0
"""Pixels that a name may take beside a small map."""
MOST_CELLS = 1200
"""Cells drawn over all maps: less than a megabyte of page."""
MOST_MAPS = 30
MOST_ROWS = 200
MOST_FLAGGED = 6
"""Flagged raters that are named without a click."""
RATER_COLUMNS = columns_of(
    RaterSummary, *(name for name in RaterSummary.model_fields if name not in ("rater", "flags"))
)
ALWAYS_SHOWN = ("judgments", "mean_tau")
"""Columns that stay even when no rater has a value."""


def rater_section(report: CheckReport) -> Section:
    """Flags first in the table, then maps of agreement."""
    maps, criterion_map = _maps(report), _criterion_map(report)
    small = len(report.raters) <= FEW_RATERS
    blocks: list[Block] = [
        *_flagged_words(report),
        *(criterion_map if small else ()),
        *fold("Each rater over the whole study", *_rater_table(report)),
        *fold("Krippendorff's α and Kendall's W by criterion", *_coefficients(report)),
        *fold("Each rater on each criterion", *(() if small else criterion_map)),
        *fold("Each pair of raters on each criterion", *maps),
    ]
    if not blocks:
        blocks = [Prose("The study names no raters.")]
    return Section("Raters", blocks, "Who agrees with whom, and who stands out.")


def _flagged_words(report: CheckReport) -> list[Block]:
    """Who is flagged, and why."""
    if not report.raters:
        return []
    flagged = [rater for rater in report.raters if rater.flags]
    raters = count_noun(len(report.raters), "rater")
    if not flagged:
        return [Prose(Markup("None of {} is flagged.").format(raters))]
    shown = [
        Markup("{} ({})").format(unbroken_name(rater.rater), join_names(map(brief, rater.flags)))
        for rater in flagged[:MOST_FLAGGED]
    ]
    more = [count_noun(len(flagged) - MOST_FLAGGED, "other")] if len(flagged) > MOST_FLAGGED else []
    words = Markup("{} of {} flagged: {}. A flag asks for a look, not for removal.")
    return [Note(words.format(fixed(len(flagged), 0), raters, join_names([*shown, *more])), "alert")]


def _rater_table(report: CheckReport) -> list[Block]:
    if not report.raters:
        return []
    raters = list(report.raters)
    if len(raters) > MOST_ROWS:
        raters = sorted(raters, key=lambda r: (not r.flags, -r.judgments))[:MOST_ROWS]
    left = len(report.raters) - len(raters)
    with_values = [
        c for c in RATER_COLUMNS if c.path in ALWAYS_SHOWN or any(getattr(r, c.path) is not None for r in report.raters)
    ]
    absent = [c.header.lower() for c in RATER_COLUMNS if c not in with_values and c.kind != "text"]
    kinds = {r.kind for r in report.raters}
    with_values = [c for c in with_values if c.path != "kind" or len(kinds) > 1]
    columns = [*columns_of(RaterSummary, "rater", "flags"), *with_values]
    rows = []
    for rater in raters:
        row: dict[str, object] = {}
        for column in RATER_COLUMNS:
            value = getattr(rater, column.path)
            row[column.path] = Cell(value, "no answers of this rater to compute it from" if value is None else "")
        row |= {"rater": brief(rater.rater, RATER_NAME), "cohort": brief(rater.cohort or "–", RATER_NAME)}
        row |= {"kind": rater.kind, "flags": [Badge(brief(flag), "alert") for flag in rater.flags]}
        rows.append(row)
    who = f" Every rater is a {brief(kinds.pop(), RATER_NAME)}." if len(kinds) == 1 else ""
    caption = Markup("Raters over the whole study, with {} intervals.{}").format(level_words(report), who)
    caption += Markup(" A flag asks for a look, not for removal.")
    if absent:
        caption += Markup(" The answers do not tell: {}.").format(join_names(absent))
    if left:
        caption += Markup(" Flagged raters first, then the most active; {} more in the JSON.").format(
            count_noun(left, "rater")
        )
    return [Table(columns, rows, caption)]


def _coefficients(report: CheckReport) -> list[Block]:
    """Alpha, W and the ends of the agreement matrix by criterion."""
    rows = [
        {
            "name": c.name,
            "alpha": Cell(c.alpha, "" if c.alpha else "too few items with two answers"),
            "mean_W": Cell(c.mean_W, "" if c.mean_W else "needs complete orders of at least two raters"),
            "most": _pair_words(c.raters, "most_agreeing"),
            "least": _pair_words(c.raters, "least_agreeing"),
        }
        for c in report.criteria
        if c.alpha or c.mean_W or c.raters
    ]
    if not rows:
        return []
    columns = [
        *columns_of(CriterionFigures, "name", "alpha", "mean_W"),
        Column("most", "Most agreeing pair"),
        Column("least", "Least agreeing pair"),
    ]
    caption = Markup("Agreement coefficients with {} intervals, and the ends of each matrix.").format(
        level_words(report)
    )
    return [cap_criteria(Table(columns, rows, caption))]


def _pair_words(figures: RaterAgreement | None, end: str) -> Cell:
    pair = None if figures is None else getattr(figures, end)
    if figures is None or pair is None:
        return Cell(None, "no two raters share a prompt")
    i, j = (figures.raters.index(name) for name in pair)
    tau = figures.tau[i][j]
    under = "" if tau is None else Markup("τ {}").format(fixed(tau))
    return Cell(join_names(map(unbroken_name, pair)), under=under)


def _maps(report: CheckReport) -> list[Block]:
    """One map per criterion until the page would be too heavy; the rest is named and stays in the JSON."""
    panels = [(c.name, c.raters) for c in report.criteria if c.raters is not None and len(c.raters.raters) > 1]
    if not panels:
        return []
    values = [abs(tau) for _, raters in panels for row in raters.tau for tau in row if tau is not None]
    limit = max(values, default=1.0) or 1.0
    panels_drawn: list[tuple[str, RaterAgreement]] = []
    left: list[str] = []
    cells = 0
    for name, raters in panels:
        cells += len(raters.raters) ** 2 * (1 if _fits_small(raters) else 2)
        if not panels_drawn or (cells <= MOST_CELLS and len(panels_drawn) < MOST_MAPS):
            panels_drawn.append((name, raters))
        else:
            left.append(name)
    fitting = [(name, raters) for name, raters in panels_drawn if _fits_small(raters)]
    starts = {_short_names(raters)[1] for _, raters in fitting}
    shared = starts.pop() if len(starts) == 1 else ""
    small = [_map(name, raters, limit, SMALL, shared) for name, raters in fitting]
    wide = [_map(name, raters, limit, WIDE) for name, raters in panels_drawn if not _fits_small(raters)]
    caption = (
        "Mean τ of each pair of raters over the prompts both judged. Blue: agree; orange: disagree; one scale for all."
    )
    blocks: list[Block] = [
        *([ChartRow(small, Markup("{} {}").format(caption, _start_words(shared)))] if small else []),
        *wide,
    ]
    if left:
        words = "Not drawn, to keep the page light: {}. Their matrices are in the JSON of this check."
        more = [count_noun(len(left) - MOST_MAPS, "other")] if len(left) > MOST_MAPS else []
        blocks.append(Prose(Markup(words).format(join_names([*left[:MOST_MAPS], *more]))))
    return blocks


def _fits_small(figures: RaterAgreement) -> bool:
    """Few raters, with names that are short once a shared beginning is cut."""
    names, _ = without_shared_start(figures.raters)
    return len(names) <= SMALL_PANEL and max(map(text_width, names)) <= SHORT_LABEL


def _short_names(figures: RaterAgreement) -> tuple[list[str], str]:
    return without_shared_start([brief(name, RATER_NAME) for name in figures.raters])


def _start_words(start: str) -> Markup:
    return Markup("Names start with {}.").format(start) if start else Markup("")


def _map(name: str, figures: RaterAgreement, limit: float, width: int, shared_start: str = "") -> Chart:
    """`shared_start` is the start of names that the caption of all maps gives."""
    names, start = _short_names(figures)
    drawing = charts.heat_map(
        figures.tau, names, names, n=figures.prompts, error=figures.error, title=f"Agreement of raters on {name}",
        limit=limit, value_name="mean τ", key=width == WIDE or len(names) > NUMBERED, width=width,
    )  # fmt: skip
    words = _start_words(start if start != shared_start else "")
    if figures.left_out:
        words += Markup(" {} left out.").format(count_noun(figures.left_out, "less active rater"))
    return Chart(drawing, words, name)


def _criterion_map(report: CheckReport) -> list[Block]:
    """Each rater's mean tau to the rest, criterion by criterion: an outlier shows as a row."""
    order = list(dict.fromkeys(c.cohort for c in report.criteria))
    criteria = sorted((c for c in report.criteria if c.raters is not None), key=lambda c: order.index(c.cohort))
    taus = [c.raters.mean_tau for c in criteria if c.raters is not None]
    names = list(dict.fromkeys(name for mean_tau in taus for name in mean_tau))
    if len(criteria) < 2 or not 2 < len(names) <= 60 or len(criteria) > 60:
        return []
    matrix = [[mean_tau.get(name) for mean_tau in taus] for name in names]
    drawing = charts.heat_map(
        matrix, [brief(n, RATER_NAME) for n in names], [c.name for c in criteria], title="Raters by criterion",
        value_name="mean τ to the rest",
    )  # fmt: skip
    return [Chart(drawing, "Each rater's mean τ to the rest by criterion. A pale or orange row is a rater apart.")]


def faction_section(report: CheckReport) -> Section | None:
    """Is there more than one order among the raters?"""
    tested = [(c.name, c.factions) for c in report.criteria if c.factions is not None]
    if not tested:
        return None
    columns = [
        *columns_of(CriterionFigures, "name"),
        *columns_of(FactionFigures, "p", "power", "within", "between", "least", "gap", "split"),
    ]
    rows = []
    for name, factions in tested:
        why = factions.refused or "not computed"
        row: dict[str, object] = {"name": name}
        for field in ("p", "power", "between", "least", "gap"):
            value = getattr(factions, field)
            row[field] = Cell(value, "" if value is not None else why)
        if factions.p is not None and factions.p_holm is not None:
            row["p"] = Cell(factions.p, factions.law or "", holm_line(factions.p_holm))
        row["within"] = Markup(" / ").join(map(fixed, factions.within)) if factions.within else Cell(None, why)
        sides = [join_names(map(unbroken_name, side)) for side in factions.split or ()]
        row["split"] = Markup(" | ").join(sides) if sides else f"Cannot tell: {why}" if factions.refused else "none"
        rows.append(row)
    caption = Markup(
        "The two best camps, on prompts that did not choose them, with {} intervals. Camps are named where the gap is "
        "significant."
    ).format(level_words(report))
    words = (
        "A low mean τ may come from one order with much noise or from camps with little. Camps keep together from "
        "prompt to prompt, and agree less with each other than any raters of one order could, careful or not. Where "
        "the power is low, a small gap is inconclusive."
    )
    names = {
        "Camps on {}.": [name for name, factions in tested if factions.split],
        "One order explains the answers on {}.": [
            name for name, factions in tested if not factions.split and not factions.refused
        ],
        "We cannot tell on {}.": [name for name, factions in tested if factions.refused],
    }
    found = [Markup(text).format(_listed(these, len(tested))) for text, these in names.items() if these]
    details = fold("Test of camps by criterion", Prose(words), cap_criteria(Table(columns, rows, caption)))
    return Section("Factions", [Prose(Markup(" ").join(found)), *details], "One taste, or camps?")


def _listed(names: list[str], of: int) -> Markup:
    if len(names) == of > 1:
        return Markup("all criteria")
    more = [count_noun(len(names) - MOST_FLAGGED, "other")] if len(names) > MOST_FLAGGED else []
    return join_names([*names[:MOST_FLAGGED], *more])


# -- flags and protocols -----------------------------------------------------------------------------------------------

MOST_FLAG_RATERS = 60
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
    shares = [share.value for share in reversed(flag.shares)]  # worst level first and darkest
    labels = [brief(label, 24) for label in reversed(flag.labels)]
    bars = charts.bucket_bar([("all answers", shares)], labels, title=f"{name}: share of each level")
    words = Markup(
        "{} on {}. Krippendorff's α, ordinal: {}. Fleiss κ: {}. Positive means a level of at least {}."
    ).format(
        count_noun(flag.answers, "answer"),
        count_noun(flag.items, "item"),
        estimate_value(flag.alpha, None) if flag.alpha else "not given, too few answers",
        estimate_value(flag.kappa, None) if flag.kappa else "not given, numbers of answers differ",
        fixed(flag.positive_from, 0 if float(flag.positive_from).is_integer() else 2),
    )
    rows = [
        {"level": level, "label": brief(label, RATER_NAME), "share": share}
        for level, label, share in zip(flag.levels, flag.labels, flag.shares)
    ]
    columns = [Column("label", "Level"), Column("level", "Value", "number", 0), Column("share", "Share", "estimate")]
    level_caption = Markup("{}: share of answers at each level, with {} intervals.").format(name, level_words(report))
    levels = Table(columns, rows, level_caption, sortable=False)
    blocks: list[Block] = []
    if flag.positive_rate:
        raters = list(flag.positive_rate.items())[:MOST_FLAG_RATERS]
        rates = [
            {"rater": brief(rater, RATER_NAME), "positive": rate, "top": flag.top_rate.get(rater)}
            for rater, rate in raters
        ]
        heads = [
            Column("rater", "Rater"),
            Column("positive", "Positive", "percent"),
            Column("top", "Worst level", "percent"),
        ]
        hidden = len(flag.positive_rate) - len(rates)
        rest = Markup(" {} are in the JSON.").format(count_noun(hidden, "more rater")) if hidden else ""
        blocks.append(Table(heads, rates, Markup("{}: each rater's share of flags.").format(name) + rest))
    if flag.splits:
        ranked = sorted(((brief(levels), share) for levels, share in flag.splits.items()), key=lambda pair: -pair[1])
        drawing = charts.bar_list(ranked[:MOST_SPLITS], title=f"{name}: levels used on one item", percent=True)
        left = len(ranked) - MOST_SPLITS
        more = Markup(" {} in the JSON.").format(count_noun(left, "rarer split")) if left > 0 else Markup("")
        caption = Markup("Share of items whose raters use exactly these levels.") + more
        blocks.append(Chart(drawing, caption, f"{name}: splits"))
    return [Chart(bars, words, name), *fold(f"{name}: levels, raters and splits", levels, *blocks)]


def protocol_section(report: CheckReport) -> Section | None:
    """The same raters, items and criteria under comparisons and under ratings."""
    if not report.protocols:
        return None
    together = [] if report.protocols_together is None else [report.protocols_together]
    first, *rest = [_protocol(figures, report) for figures in (*together, *report.protocols)]
    blocks: list[Block] = [first, *fold("By criterion and group", *rest)]
    if report.protocol_raters:
        rows = [
            {
                "rater": brief(rater.rater, RATER_NAME), "mean_rating": rater.mean_rating,
                "extreme_share": rater.extreme_share, "left_rate": rater.left_rate, "tie_rate": rater.tie_rate,
                "compared": rater.to_consensus[0], "rated": rater.to_consensus[1],
                "compared_away": rater.displacement[0], "rated_away": rater.displacement[1],
            }
            for rater in report.protocol_raters[:MOST_FLAG_RATERS]
        ]  # fmt: skip
        columns = [
            *columns_of(ProtocolRater, "rater", "mean_rating", "extreme_share", "left_rate", "tie_rate"),
            Column("compared", "Spearman to consensus, comparisons", "number", 3),
            Column("rated", "Spearman to consensus, ratings", "number", 3),
            Column("compared_away", "Rank displacement, comparisons", "number", 2),
            Column("rated_away", "Rank displacement, ratings", "number", 2),
        ]
        left = len(report.protocol_raters) - len(rows)
        more = Markup(" {} are in the JSON.").format(count_noun(left, "more rater")) if left else ""
        caption = Markup("How each rater used the two protocols, over the matched criteria.") + more
        blocks += fold("How each rater used the two protocols", Table(columns, rows, caption))
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
    estimates = [getattr(row, side) for row in figures.rows for side in SIDES]
    places = numbers.common_decimals((estimate.low, estimate.high) for estimate in estimates if estimate is not None)
    columns = [
        *columns_of(ProtocolRow, "name"),
        *(Column(side, side.capitalize(), "estimate", places) for side in SIDES),
        *columns_of(ProtocolRow, "ahead", "groups"),
    ]
    caption = Markup("{}, {}: {} and {}, with {} intervals.").format(
        "All criteria together" if figures.criterion is None else brief(figures.criterion),
        brief(figures.group),
        count_noun(figures.items, "item"),
        count_noun(figures.raters, "rater") + Markup(" a group"),
        level_words(report),
    )
    rows = []
    for row in figures.rows:
        why = row.note or "not defined for this protocol"
        cells: dict[str, object] = {side: Cell(v := getattr(row, side), "" if v else why) for side in SIDES}
        cells["name"] = Cell(brief(row.name), under=brief(row.note, 200) if row.note else "")
        cells["ahead"] = Cell(row.ahead, "" if row.ahead is not None else why)
        rows.append(cells | {"groups": row.groups})
    return Table(columns, rows, caption, sortable=False)
