"""Histograms of T and p_max over their nulls, and how often majorities run in circles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from salon.check.report_parts import Cohorts, main_shape, measured, triple
from salon.check.report_signal import references, why_missing
from salon.check.results import CheckReport, CriterionFigures, ShapeFigures
from salon.report import SMALL, Block, Figure, Figures, Note, Prose, Section, charts
from salon.report.words import brief, counted, fixed, gathered, listed

MOST_BARS = 6
"""Splits drawn as bars with their numbers; more become a histogram."""
MOST_SHAPES = 6
MOST_ANCHORS = 4
T_TOLD = "T, the mean τ between the raters of one prompt, over its null. Solid line: median. Dashed: the null's median."
ANCHORS_TOLD = " Dashed with a name: the median of a reference anchor."
SPLITS_TOLD = "Item pairs by how the raters split, over the folded binomial that random raters give."
TAIL = 0.001
"""The axis of T leaves out what neither a prompt reached nor one random panel in a thousand does."""


def distribution_section(report: CheckReport, cohorts: Cohorts) -> Section | None:
    """Histograms of T and p_max over their nulls; the largest shape is drawn, the others are listed."""
    criteria = [c for c in report.criteria if _drawable(c)]
    if not criteria:
        return None
    axes = _axes(criteria)
    ts = [_t_figure(c, cohorts.tone(c), *axes[_shape_key(c)], _anchors(report, c)) for c in criteria]
    ps = [_pmax_figure(c, cohorts.tone(c), criteria) for c in criteria]
    told = T_TOLD + (ANCHORS_TOLD if any(_anchors(report, c) for c in criteria) else "")
    legend = [*cohorts.legend, ("null-line", "random raters (null)")]
    if len(criteria) == 1:
        pair = [replace(ts[0], heading="T between raters"), replace(ps[0], heading="Splits of the panel")]
        blocks = [Figures(pair, f"{told} {SPLITS_TOLD}", legend)]
    else:
        blocks = [Figures(ts, told, legend), Figures(ps, SPLITS_TOLD, legend)]
    return Section("Distributions", blocks, "Every prompt counts once.")


def _drawable(c: CriterionFigures) -> bool:
    shape = main_shape(c)
    return shape is not None and sum(shape.t_counts) > 0 and sum(shape.pmax_counts) > 0


def _drawn_shape(c: CriterionFigures) -> ShapeFigures:
    """The main shape of a criterion that can be drawn."""
    shape = main_shape(c)
    assert shape is not None
    return shape


def _shape_key(c: CriterionFigures) -> tuple[int, int]:
    shape = _drawn_shape(c)
    return shape.items, shape.raters


def _axes(criteria: Sequence[CriterionFigures]) -> dict[tuple[int, int], tuple[tuple[float, float], float]]:
    """One x range and one height for all criteria of a shape, so that their histograms can be compared."""
    axes = {}
    for key in dict.fromkeys(map(_shape_key, criteria)):
        shapes = [_drawn_shape(c) for c in criteria if _shape_key(c) == key]
        seen = [t for s in shapes for t, n, q in zip(s.t_support, s.t_counts, s.t_null) if n > 0 or q > TAIL]
        tops = [max(s.t_counts) / sum(s.t_counts) for s in shapes] + [max(s.t_null) for s in shapes]
        axes[key] = (min(seen), max(seen)), max(tops)
    return axes


def _anchors(report: CheckReport, c: CriterionFigures) -> list[tuple[str, float]]:
    """Medians of the anchors at the shape that is drawn."""
    found = [one for one in report.anchors if (one.items, one.raters) == _shape_key(c)]
    return [(brief(one.name, 16), one.median_T) for one in found[:MOST_ANCHORS]]


def _t_figure(
    c: CriterionFigures, tone: str, x_range: tuple[float, float], top: float, anchors: Sequence[tuple[str, float]]
) -> Figure:
    shape = _drawn_shape(c)
    alone = len(c.shapes) == 1
    drawing = charts.histogram_over_null(
        shape.t_support, shape.t_counts, shape.t_null, title=f"T of {c.name} over its null", tone=tone,
        x_range=x_range, top_share=top if _comparable(shape) else None, width=SMALL,
        medians=(c.statistics.median_T, c.null.median_T if c.null else None) if alone else (None, None),
        references=anchors,
    )  # fmt: skip
    return Figure(drawing, _shape_words(c), c.name)


def _comparable(shape: ShapeFigures) -> bool:
    """With many support points bars are merged and shares grow: each histogram then keeps its own height."""
    return len(shape.t_support) <= 40


def _shape_words(c: CriterionFigures) -> Markup:
    first = _drawn_shape(c)
    words = _shape(first) + Markup(". Null: {}.").format(first.null_method)
    others = sorted((s for s in c.shapes if s is not first), key=lambda s: -s.prompts)
    if others:
        words += Markup(" Not drawn: {}.").format(listed(_shape(s) for s in others[:MOST_SHAPES]))
    if len(others) > MOST_SHAPES:
        words += Markup(" And {}.").format(counted(len(others) - MOST_SHAPES, "more shape"))
    return words


def _shape(shape: ShapeFigures) -> Markup:
    parts = fixed(shape.items, 0), fixed(shape.raters, 0)
    return counted(shape.prompts, "prompt") + Markup(" of {} items × {} raters").format(*parts)


def _pmax_figure(c: CriterionFigures, tone: str, criteria: Sequence[CriterionFigures]) -> Figure:
    """Bars of equal scale for all panels of a size; a histogram where the splits are too many to label."""
    shape = _drawn_shape(c)
    title = f"Splits of {c.name} over their null"
    if len(shape.pmax_support) > MOST_BARS:
        drawing = charts.histogram_over_null(
            shape.pmax_support, shape.pmax_counts, shape.pmax_null, title=title, tone=tone, unit="item pairs",
            medians=(None, None), height=165, width=SMALL,
        )  # fmt: skip
        return Figure(drawing, heading=c.name)
    levels = [f"{round(p * shape.raters)}–{shape.raters - round(p * shape.raters)}" for p in shape.pmax_support]
    alike = [s for s in map(_drawn_shape, criteria) if s.raters == shape.raters]
    top = max(max(max(s.pmax_counts) / sum(s.pmax_counts), *s.pmax_null) for s in alike)
    drawing = charts.pmax_bars(
        levels, shape.pmax_counts, shape.pmax_null, title=title, tone=tone, top_share=top, height=165, width=SMALL
    )
    return Figure(drawing, heading=c.name)


def cycle_section(report: CheckReport, cohorts: Cohorts) -> Section | None:
    """Does the majority contradict itself? Rates against the null and other domains."""
    criteria = [c for c in report.criteria if c.statistics.cycle_rate is not None]
    if not measured(report.criteria):
        return None
    blocks: list[Block | str] = [_cycle_figure(report, criteria, cohorts)] if criteria else []
    missing = [c for c in measured(report.criteria) if c.statistics.cycle_rate is None]
    told = gathered((c.name, why_missing(c, "cycle_rate")) for c in missing)
    blocks += [Prose(Markup("{}: no cycle rate; {}.").format(listed(names), why.rstrip("."))) for why, names in told]
    note = Note(
        "Cycles above the null point to factions. Cycles at or below it do not exclude them: two factions with little "
        "noise can give the same T, p max and cycle rate as one weak shared order. Factions are tested on the raters.",
        "open",
        "Read with care.",
    )
    return Section("Cycles", [*blocks, note], "Does the majority contradict itself?")


def _cycle_figure(report: CheckReport, criteria: Sequence[CriterionFigures], cohorts: Cohorts) -> Figure:
    rows = [
        (c.name, *rate, cohorts.group(c)) for c in criteria if (rate := triple(c.statistics, "cycle_rate")) is not None
    ]
    nulls = [None if c.null is None else c.null.cycle_rate for c in criteria]
    same = len(set(nulls)) == 1
    drawing = charts.dot_intervals(
        rows, nulls[0] if same else None, references(report, "cycle_rate"), title="Cycle rates",
        x_label="share of prompts with a cycle of majorities", null_label="random raters", groups=cohorts.groups,
        row_nulls=() if same else nulls, sort=False, within=(0.0, 1.0),
    )  # fmt: skip
    words = "Share of prompts whose majority prefers x to y, y to z and z to x. " + (
        "Line: random raters." if same else "Short lines: random raters at each criterion's own shapes."
    )
    return Figure(drawing, words)
