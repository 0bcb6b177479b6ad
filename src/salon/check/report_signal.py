"""Agreement against random raters: the statistics, their tests, their distributions, and cycles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from markupsafe import Markup

from salon.check.report_parts import Cohorts, heading, holm, main_shape, measured, triple
from salon.check.results import MAIN, STATISTICS, AnchorFigures, CheckReport, CriterionFigures, TestFigures
from salon.report import Cell, Column, Figure, Note, Prose, Section, Table, charts
from salon.report.words import brief, counted, fixed, gathered, level_words, listed

TESTS = {"agreement": "Agreement", "pairs": "Pairs", "T": "T", "p_max": "p max", "cycle": "Cycles"}
NO_ORDERS = "no complete orders, only votes on single pairs: see the agreement of votes"
NO_CYCLE = "strict majorities of this number of raters and items cannot cycle"
DEPENDENT = (
    "T is a function of the p max histogram, so a T test and a p max test that both reject are one piece of evidence "
    "and not two. They describe; the verdict rests on the test of agreement alone."
)


def signal_section(report: CheckReport, cohorts: Cohorts) -> Section:
    """Criteria ordered by signal, then the four statistics and the tests behind them."""
    blocks = [
        _order_figure(report, cohorts),
        _statistics_table(report),
        _votes_table(report),
        _tests_table(report),
        _refused_note(report),
        Note(DEPENDENT, "open", "Not independent.") if _tested_twice(report) else None,
        _anchor_table(report),
    ]
    return Section("Signal", [b for b in blocks if b is not None], "Agreement beyond random raters.")


def _order_figure(report: CheckReport, cohorts: Cohorts) -> Figure | None:
    rows = [(c.name, *shown, cohorts.group(c)) for c in report.criteria if (shown := _headline(c)) is not None]
    if not rows:
        return None
    anchors = references(report, "mean_tau")
    zero = next((c.null.mean_tau for c in report.criteria if c.null is not None), 0.0)
    drawing = charts.dot_intervals(
        rows, zero, anchors, title="Criteria ordered by mean tau", x_label="mean τ between raters",
        null_label="random raters", groups=cohorts.groups, sort=False,
    )  # fmt: skip
    votes = any(c.statistics.mean_tau is None for c in report.criteria)
    words = ["Criteria ordered by signal, strongest first, with {} intervals. Line: random raters."]
    words += ["Dashed: reference anchors, other domains' judgments at the same shape."] if anchors else []
    words += ["Where there are no complete orders the dot is the agreement of two votes on a pair."] if votes else []
    return Figure(drawing, Markup(" ".join(words)).format(level_words(report)))


def _headline(c: CriterionFigures) -> tuple[float, float | None, float | None] | None:
    """Mean tau, or the agreement of two votes where no complete orders exist: equal where both do."""
    if c.statistics.mean_tau is not None:
        return triple(c.statistics, "mean_tau")
    return None if c.pair_agreement is None else (c.pair_agreement.value, c.pair_agreement.low, c.pair_agreement.high)


def _statistics_table(report: CheckReport) -> Table | None:
    criteria = measured(report.criteria)
    if not criteria:
        return None
    columns = [Column("name", "Criterion"), Column("prompts", "Prompts", "count")]
    columns += _statistic_columns("estimate")
    rows = [
        {"name": c.name, "prompts": c.prompts, **{name: _statistic_cell(c, name) for name in STATISTICS}}
        for c in criteria
    ]
    methods = list(dict.fromkeys(c.null.method for c in criteria if c.null is not None))
    caption = Markup(
        "The four statistics of agreement with {} bootstrap intervals over prompts, and under each what random raters "
        "would give. Null laws: {}."
    ).format(level_words(report), listed(methods))
    return Table(columns, rows, caption)


def _statistic_columns(kind: Literal["estimate", "number"]) -> list[Column]:
    """One column for each statistic, headed and explained as its field is."""
    return [
        Column(name, heading(str(field.title)), kind, 3, str(field.description).removesuffix("."))
        for name, field in STATISTICS.items()
    ]


def _statistic_cell(c: CriterionFigures, name: str) -> Cell:
    raw = triple(c.statistics, name)
    null = None if c.null is None else getattr(c.null, name, None)
    under = "" if null is None else Markup("null {}").format(fixed(null))
    return Cell(raw, "" if raw is not None else why_missing(c, name), under)


def why_missing(c: CriterionFigures, name: str) -> str:
    """The reason a criterion lacks a statistic."""
    test = next((t for t in c.tests if t.name == "cycle"), None)
    if name == "cycle_rate" and c.shapes:
        return (test.refused if test else None) or NO_CYCLE
    return NO_ORDERS if c.protocol == "votes" else "too few complete answers"


def _votes_table(report: CheckReport) -> Table | None:
    """Criteria without complete orders, or with votes beside them."""
    criteria = [(c, c.pair_agreement) for c in report.criteria if c.pair_agreement is not None]
    if not criteria:
        return None
    columns = [
        Column("name", "Criterion"),
        Column("groups", "Prompts", "count"),
        Column("judgments", "Judgments", "count"),
        Column("agreement", "Agreement of two votes", "estimate", hint="Mean product of two raters' votes on a pair"),
        Column("n", "Resting on"),
    ]
    rows = [
        {"name": c.name, "groups": c.prompts, "judgments": c.judgments, "agreement": agreement,
         "n": counted(agreement.n, agreement.unit.removesuffix("s"))}
        for c, agreement in criteria
    ]  # fmt: skip
    caption = "Where raters gave no complete orders: mean agreement of two votes on a pair, minus one to one; zero "
    return Table(columns, rows, caption + "if raters answer at random, and equal to mean τ where orders are complete.")


def _tests_table(report: CheckReport) -> Table | None:
    used = [name for name in TESTS if any(t.name == name for c in report.criteria for t in c.tests)]
    if not used:
        return None
    columns = [Column("name", "Criterion")]
    for name in used:
        columns.append(Column(name, f"{TESTS[name]}: p", "p", hint="Holm's adjusted p below it"))
        if name in MAIN:
            columns.append(Column(f"{name}-opposite", "Opposed: p", "p", hint="Raters agree less than chance"))
        if name == "p_max":
            columns.append(Column("naive", "p max: naive p (wrong law)", "p", hint="Pairs as if independent"))
    rows = [{"name": c.name, **_test_cells(c, used)} for c in report.criteria]
    wrong = (
        " The naive p treats the pairs of one prompt as independent, which they are not: it rejects too often and is "
    )
    caption = (
        "Tests against random raters: p, and below it the p adjusted after Holm. The verdict rests on the first, the "
        "total agreement, adjusted over criteria. The histograms of T and p max and the cycles describe, and are "
        "adjusted among themselves."
    )
    return Table(columns, rows, caption + (wrong + "shown only because papers print it." if "p_max" in used else ""))


def _tested_twice(report: CheckReport) -> bool:
    """Was a criterion tested on both T and p_max?"""
    return any({"T", "p_max"} <= {t.name for t in c.tests if t.p is not None} for c in report.criteria)


def _test_cells(c: CriterionFigures, used: Sequence[str]) -> dict[str, Cell]:
    made: dict[str, TestFigures] = {t.name: t for t in c.tests}
    cells = {name: _test_cell(made.get(name), c) for name in used}
    cells |= {f"{name}-opposite": _opposite_cell(made.get(name), c) for name in MAIN if name in used}
    naive = made.get("p_max")
    reason = (naive and naive.refused) or "not made"
    cells["naive"] = Cell(naive and naive.p_naive, "" if naive and naive.p_naive is not None else reason)
    return cells


def _test_cell(test: TestFigures | None, c: CriterionFigures) -> Cell:
    if test is None:
        return Cell(None, NO_ORDERS if c.protocol == "votes" else "not made for complete orders")
    if test.p is None:
        return Cell(None, test.refused or "not made")
    return Cell(test.p, test.law or "", holm(test.p_holm))


def _opposite_cell(test: TestFigures | None, c: CriterionFigures) -> Cell:
    """The other side of a one-sided test."""
    if test is None or test.p_opposite is None:
        return Cell(None, _test_cell(test, c).why if test is None or test.p is None else "not made")
    return Cell(test.p_opposite, test.law or "", holm(test.p_opposite_holm))


def _refused_note(report: CheckReport) -> Prose | None:
    """The reasons behind the dashes, for readers on paper."""
    refused = [(f"{c.name} ({TESTS[t.name]})", t.refused) for c in report.criteria for t in c.tests if t.refused]
    if not refused:
        return None
    told = [Markup("{}: {}.").format(listed(names), reason.rstrip(".")) for reason, names in gathered(refused)]
    return Prose(Markup("Not tested. ") + Markup(" ").join(told))


def references(report: CheckReport, name: str) -> list[tuple[str, float]]:
    """Anchors at a shape some criterion has; the shape is named where the study has several."""
    shapes = _shapes(report)
    return [
        (brief(a.name, 32) if len(shapes) == 1 else f"{brief(a.name, 24)} ({a.items}×{a.raters})", getattr(a, name))
        for a in report.anchors
        if (a.items, a.raters) in shapes and getattr(a, name) is not None
    ]


def _shapes(report: CheckReport) -> set[tuple[int, int]]:
    found = [main_shape(c) for c in report.criteria]
    return {(s.items, s.raters) for s in found if s is not None}


def _anchor_table(report: CheckReport) -> Table | None:
    if not report.anchors:
        return None
    columns = [
        Column("name", "Reference anchor"),
        Column("shape", "Items × raters"),
        *_statistic_columns("number"),
        Column("source", "Source"),
    ]
    rows = [_anchor_row(anchor) for anchor in report.anchors]
    shapes = _shapes(report)
    undrawn = [brief(a.name) for a in report.anchors if (a.items, a.raters) not in shapes]
    caption = Markup("Reference anchors: other domains' judgments, cut down to a stated shape.")
    if undrawn:
        caption += Markup(" Not drawn in the charts, because no criterion has their shape: {}.").format(listed(undrawn))
    return Table(columns, rows, caption)


def _anchor_row(anchor: AnchorFigures) -> dict[str, object]:
    shape = Markup("{} × {}").format(fixed(anchor.items, 0), fixed(anchor.raters, 0))
    figures = {name: getattr(anchor, name, None) for name in STATISTICS}
    return {"name": brief(anchor.name), "shape": shape, "source": brief(anchor.source, 120), **figures}
