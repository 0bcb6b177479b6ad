"""From the method's own scale to the scale of ratings: the curve, and the rating anchors that hold it."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.fuse.report_boards import MOST_ROWS, Names, cut, folded, scale_words
from salon.fuse.results import AnchorFigure, CurveFigures, FuseReport, GroupFigures, ScoreRow
from salon.report import SMALL, WIDE, Block, Cell, Column, Figure, Figures, Note, Section, Table, charts, value
from salon.report.words import counted, fixed, listed

MOST_CURVES = 12
MOST_ANCHORS = 100
MOST_BARS = 30
MOST_PLACES = 6
NO_ERROR = "no error can be given"


def calibration_section(report: FuseReport, names: Names) -> Section | None:
    """The curve or curves, their parameters, the rating anchors, and levels that have none."""
    if not report.curves and not report.rating_anchors:
        return None
    blocks = [*_figures(report, names), *_missing(report, names), *_curves(report, names), *_anchors(report, names)]
    return Section("Calibration", blocks, "How latent scores become scores on the scale of the ratings.")


def _figures(report: FuseReport, names: Names) -> list[Block]:
    """A pooled curve in full width; curves of groups side by side."""
    drawable = [curve for curve in report.curves if _latent_range(report, curve) is not None]
    if report.scale_low is None or report.scale_high is None or not drawable:
        return []
    if len(drawable) == 1:
        left = cut(report.rating_anchors, MOST_ANCHORS, "rating anchor")
        return [_figure(report, drawable[0], names, WIDE, _words(len(report.rating_anchors)) + left)]
    figures = [_figure(report, curve, names, SMALL) for curve in drawable[:MOST_CURVES]]
    axes = Markup(" Across: the latent score; up: the score on the scale {}.").format(scale_words(report))
    return [Figures(figures, _words(0) + axes + cut(drawable, MOST_CURVES))]


def _words(anchors: int) -> str:
    """What the figure shows; many bars would hide it."""
    words = (
        "Diamonds are rating anchors: items whose ratings agree so well that they tie the latent scale to the ratings. "
        "Each stands at its latent score and the centre of its ratings"
    )
    return words + (", with a bar of one standard deviation over raters to each side." if anchors <= MOST_BARS else ".")


def _figure(report: FuseReport, curve: CurveFigures, names: Names, width: int, words: str = "") -> Figure:
    mine = [anchor for anchor in report.rating_anchors if _belongs(anchor, curve)][:MOST_ANCHORS]
    small = width == SMALL
    drawing = charts.calibration_curve(
        curve.a,
        curve.b,
        [_mark(anchor, names, small, bar=len(mine) <= MOST_BARS) for anchor in mine],
        low=report.scale_low,
        high=report.scale_high,
        title=f"Calibration curve: {names.place(curve)}",
        x_label="latent score" if not small else "",
        y_label=f"score ({scale_words(report)})" if not small else "",
        x_range=_latent_range(report, curve),
        height=190 if small else 320,
        width=width,
    )
    return Figure(drawing, words, names.place(curve) if small else "")


def _mark(anchor: AnchorFigure, names: Names, small: bool, *, bar: bool) -> charts.AnchorMark:
    label = names.item(anchor.item) if small else f"{names.item(anchor.item)} ({names.place(anchor)})"
    return charts.AnchorMark(label, anchor.latent, anchor.target, anchor.fitted, anchor.spread if bar else None)


def _belongs(part: AnchorFigure | ScoreRow, curve: CurveFigures) -> bool:
    return curve.group in (None, part.group) and curve.criterion in (None, part.criterion)


def _latent_range(report: FuseReport, curve: CurveFigures) -> tuple[float, float] | None:
    """The scores the curve serves."""
    latent = [row.latent for row in report.scores if _belongs(row, curve)]
    return (min(latent), max(latent)) if latent else None


def _missing(report: FuseReport, names: Names) -> list[Block]:
    """Levels without a rating anchor, and the groups that lack them."""
    lacking: dict[tuple[float, ...], list[GroupFigures]] = {}
    for group in report.groups:
        if group.missing_levels:
            lacking.setdefault(group.missing_levels, []).append(group)
    told = [
        Markup("level {} in {}").format(listed(map(_level, levels)), _some([names.place(g) for g in groups]))
        for levels, groups in lacking.items()
    ]
    return [Note(Markup("; ").join(told[:MOST_CURVES]) + ".", "thin", "No rating anchor at")] if told else []


def _level(level: float) -> Markup:
    return value(level, None, f"{level:g}")


def _some(places: Sequence[str]) -> Markup:
    more = [counted(len(places) - MOST_PLACES, "other group")] if len(places) > MOST_PLACES else []
    return listed([*places[:MOST_PLACES], *more])


def _curves(report: FuseReport, names: Names) -> list[Block]:
    if not report.curves:
        return []
    columns = [
        Column("place", "Curve"),
        Column("a", "a", "number", 4, "Steepness; its standard error below"),
        Column("b", "b", "number", 3, "Shift; its standard error below"),
        Column("residual", "Residual", "number", 3, "Root mean square distance of the rating anchors to the curve"),
        Column("anchors", "Rating anchors", "count"),
    ]
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
    return [folded(Table(columns, rows, caption + cut(report.curves, noun="curve")), "Parameters of the curves")]


def _with_error(number: float, error: float | None, decimals: int) -> Cell:
    if error is None:
        return Cell(number, NO_ERROR)
    return Cell(number, under=Markup("± {}").format(fixed(error, decimals)))


def _anchors(report: FuseReport, names: Names) -> list[Block]:
    if not report.rating_anchors:
        return []
    several = len(names.criteria) > 1 or len(names.groups) > 1
    columns = [
        Column("item", "Rating anchor"),
        *([Column("place", "Group")] if several else []),
        Column("level", "Level", "number", 0),
        Column("target", "Ratings", "number", 2, "Centre of its ratings"),
        Column("spread", "Spread", "number", 2, "Standard deviation of its ratings over raters"),
        Column("latent", "Latent", "number", 2),
        Column("fitted", "On the curve", "number", 2),
    ]
    rows = [
        {"item": names.item(anchor.item), "place": names.place(anchor), **_figures_of(anchor)}
        for anchor in report.rating_anchors[:MOST_ANCHORS]
    ]
    caption = Markup("Rating anchors.") + cut(report.rating_anchors, MOST_ANCHORS, "rating anchor")
    return [folded(Table(columns, rows, caption), "Rating anchors")]


def _figures_of(anchor: AnchorFigure) -> dict[str, float]:
    return {name: getattr(anchor, name) for name in ("level", "target", "spread", "latent", "fitted")}
