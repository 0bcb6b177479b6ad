"""The sections on signal of a check report: statistics, tests, histograms and cycles; and what all sections share.

Shared are distinct criterion names, a color for each cohort, and verdicts as badges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markupsafe import Markup

from salon.check.results import (
    MAIN,
    STATISTICS,
    Agree,
    AnchorFigures,
    CheckReport,
    CriterionFigures,
    ShapeFigures,
    Statistics,
    Taste,
    TestFigures,
)
from salon.report import (
    SMALL,
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
    Tone,
    brief,
    charts,
    columns_of,
    count_noun,
    fold,
    group_by_reason,
    join_names,
    level_words,
    numbers,
    value,
)
from salon.report.words import fixed

MOST_COLORS = 4
VERDICTS: dict[tuple[Agree, Taste | None], tuple[str, Tone]] = {
    ("yes", "one taste"): ("agree: one taste", "clear"),
    ("yes", "camps"): ("agree: in camps", "split"),
    ("yes", "cannot tell"): ("agree: one taste or camps?", "clear"),
    ("no", "camps"): ("opposed camps", "split"),
    ("no", None): ("no agreement", "none"),
    ("cannot tell", None): ("cannot tell", "thin"),
}
"""The two answers as a badge: words and tone."""
Triple = tuple[float, float | None, float | None]


@dataclass(frozen=True)
class CohortColors:
    """One colour for each cohort, by first appearance. More cohorts than colours: one colour, and no claim."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, report: CheckReport) -> CohortColors:
        return cls(tuple(dict.fromkeys(cohort_name(c) for c in report.criteria)))

    @property
    def told_apart(self) -> bool:
        return 1 < len(self.names) <= MOST_COLORS

    def group(self, criterion: CriterionFigures) -> str:
        """What a chart's legend calls the criterion's cohort."""
        return cohort_name(criterion) if self.told_apart else ""

    @property
    def groups(self) -> tuple[str, ...]:
        return self.names if self.told_apart else ("",)

    def tone(self, criterion: CriterionFigures) -> str:
        return f"cohort-{self.groups.index(self.group(criterion)) + 1}"

    @property
    def legend(self) -> list[tuple[str, str]]:
        """(swatch, words) of each cohort, or of what is drawn."""
        if not self.told_apart:
            return [("cohort-1", "observed")]
        return [(f"cohort-{i + 1}", name) for i, name in enumerate(self.names)]


def heading(title: str) -> str:
    """What a number is called on the terminal, as the head of a column of a page: Mean τ for mean tau."""
    return title[0].upper() + title[1:].replace("tau", "τ").replace("_", " ")


def cohort_name(criterion: CriterionFigures) -> str:
    """The cohort's name; raters of several cohorts have none in common."""
    return brief(criterion.cohort or "no single cohort")


def with_distinct_names(report: CheckReport) -> CheckReport:
    """The report with criterion names short enough to print and no two alike: cohort, protocol or number added."""
    names = [brief(c.name) for c in report.criteria]
    for extra in ("cohort", "protocol"):
        again = Counter(names)
        names = [
            f"{name} ({brief(getattr(c, extra), 24)})" if again[name] > 1 and getattr(c, extra) else name
            for name, c in zip(names, report.criteria)
        ]
    again = Counter(names)
    names = [f"{name} #{i + 1}" if again[name] > 1 else name for i, name in enumerate(names)]
    criteria = tuple(c.model_copy(update={"name": name}) for c, name in zip(report.criteria, names))
    return report.model_copy(update={"criteria": criteria})


def badge(criterion: CriterionFigures) -> Badge:
    """The verdict as a badge."""
    words, tone = VERDICTS[criterion.agree, criterion.taste]
    return Badge(words, tone, f"Do raters agree more than chance? {criterion.answer}")


def statistic_with_interval(statistics: Statistics, name: str) -> Triple | None:
    """A statistic with its interval, or None where there is none."""
    value = getattr(statistics, name)
    ends = statistics.intervals.get(name)
    return None if value is None else (value, ends.low if ends else None, ends.high if ends else None)


def holm_line(p: float | None) -> Markup:
    """The adjusted p as a second line."""
    return Markup("") if p is None else Markup("Holm {}").format(value(p, None, numbers.p_value(p)))


def main_shape(criterion: CriterionFigures) -> ShapeFigures | None:
    """The shape most prompts have; the first of equals."""
    return max(criterion.shapes, key=lambda shape: shape.prompts, default=None)


def criteria_with_tau(criteria: Sequence[CriterionFigures]) -> list[CriterionFigures]:
    """Criteria with a mean tau."""
    return [c for c in criteria if c.statistics.mean_tau is not None]


MOST_CRITERIA = 100
"""Rows of a table with one row for each criterion."""


def cap_criteria(table: Table) -> Table:
    """A table by criterion that a page of hundreds of criteria can hold."""
    return table.capped(MOST_CRITERIA, "criterion", "criteria")


# -- statistics and tests ----------------------------------------------------------------------------------------------

MOST_ORDERED = 30
"""Criteria in the chart of the first screen."""
TESTS = {"agreement": "Agreement", "pairs": "Pairs", "T": "T", "p_max": "p max", "cycle": "Cycles"}
NO_ORDERS = "no complete orders, only votes on single pairs: see the agreement of votes"
NO_CYCLE = "strict majorities of this number of raters and items cannot cycle"
DEPENDENT = (
    "T is a function of the p max histogram, so a T test and a p max test that both reject are one piece of evidence "
    "and not two. They describe; the verdict rests on the test of agreement alone."
)


def signal_section(report: CheckReport, cohorts: CohortColors) -> Section:
    """Criteria ordered by signal, then the four statistics and the tests behind them."""
    both_tested = any({"T", "p_max"} <= {t.name for t in c.tests if t.p is not None} for c in report.criteria)
    blocks = [
        _signal_words(report),
        *fold("Statistics of agreement by criterion", _statistics_table(report), _votes_table(report)),
        *fold(
            "Tests against random raters",
            _tests_table(report),
            _refused_note(report),
            Note(DEPENDENT, "open", "Not independent.") if both_tested else None,
        ),
        *fold("Reference anchors: other domains beside this study", _anchor_table(report)),
    ]
    return Section("Signal", blocks, "Agreement beyond random raters.")


def _signal_words(report: CheckReport) -> Prose:
    """How many criteria the test finds agreement on, and the largest adjusted p."""
    tests = [t for c in report.criteria for t in c.tests if t.name in MAIN and t.p is not None]
    if not tests:
        return Prose("No criterion could be tested for agreement: see the verdicts for the reason.")
    largest_p = max((t.p if t.p_holm is None else t.p_holm) or 0.0 for t in tests)
    found = sum(c.agree == "yes" for c in report.criteria)
    largest = value(largest_p, None, numbers.p_value(largest_p))
    if len(tests) == 1:
        return Prose(Markup("The test of agreement against random raters gives p {}.").format(largest))
    words = Markup("Tested against random raters, {} of {} show agreement; the largest p, adjusted after Holm, is {}.")
    tested = count_noun(len(report.criteria), "criterion", "criteria")
    return Prose(words.format(fixed(found, 0), tested, largest))


def order_figure(report: CheckReport, cohorts: CohortColors) -> Chart | None:
    """Criteria ordered by mean tau; of very many, as many as a chart can show."""
    rows = []
    for c in report.criteria:  # mean tau, or the agreement of two votes where no complete orders exist
        tau, votes = statistic_with_interval(c.statistics, "mean_tau"), c.pair_agreement
        if tau is not None:
            rows.append((c.name, *tau, cohorts.group(c)))
        elif votes is not None:
            rows.append((c.name, votes.value, votes.low, votes.high, cohorts.group(c)))
    if not rows:
        return None
    left, rows = len(rows) - MOST_ORDERED, rows[:MOST_ORDERED]
    anchors = anchor_references(report, "mean_tau")
    zero = next((c.null.mean_tau for c in report.criteria if c.null is not None), 0.0)
    drawing = charts.dot_intervals(
        rows, zero, anchors, title="Criteria ordered by mean tau", x_label="mean τ between raters",
        null_label="random raters", groups=cohorts.groups, sort=False,
    )  # fmt: skip
    without_orders = any(c.statistics.mean_tau is None for c in report.criteria)
    words = ["Criteria ordered by signal, strongest first, with {} intervals. Line: random raters."]
    words += ["Dashed: reference anchors, other domains' judgments at the same shape."] if anchors else []
    if without_orders:
        words.append("Where there are no complete orders the dot is the agreement of two votes on a pair.")
    caption = Markup(" ".join(words)).format(level_words(report))
    if left > 0:
        caption += Markup(" {} not drawn; see Signal.").format(count_noun(left, "weaker criterion", "weaker criteria"))
    return Chart(drawing, caption)


def _statistics_table(report: CheckReport) -> Table | None:
    criteria = criteria_with_tau(report.criteria)
    if not criteria:
        return None
    columns = columns_of(CriterionFigures, "name", "prompts")
    columns += _statistic_columns("estimate")
    rows = []
    for c in criteria:
        row: dict[str, object] = {"name": c.name, "prompts": c.prompts}
        for name in STATISTICS:
            value, null = statistic_with_interval(c.statistics, name), getattr(c.null, name, None)
            under = "" if null is None else Markup("null {}").format(fixed(null))
            row[name] = Cell(value, "" if value is not None else why_missing(c, name), under)
        rows.append(row)
    methods = list(dict.fromkeys(c.null.method for c in criteria if c.null is not None))
    caption = Markup(
        "The four statistics of agreement with {} bootstrap intervals over prompts, and under each what random raters "
        "would give. Null laws: {}."
    ).format(level_words(report), join_names(methods))
    return cap_criteria(Table(columns, rows, caption))


def _statistic_columns(kind: Literal["estimate", "number"]) -> list[Column]:
    """One column for each statistic, headed and explained as its field is."""
    return [
        Column(name, heading(str(field.title)), kind, 3, str(field.description).removesuffix("."))
        for name, field in STATISTICS.items()
    ]


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
        *columns_of(CriterionFigures, "name"),
        *columns_of(CriterionFigures, "prompts", "judgments", "pair_agreement"),
        Column("n", "Resting on"),
    ]
    rows = [
        {"name": c.name, "prompts": c.prompts, "judgments": c.judgments, "pair_agreement": agreement,
         "n": count_noun(agreement.n, agreement.unit.removesuffix("s"))}
        for c, agreement in criteria
    ]  # fmt: skip
    caption = "Where raters gave no complete orders: mean agreement of two votes on a pair, minus one to one; zero "
    return cap_criteria(
        Table(columns, rows, caption + "if raters answer at random, and equal to mean τ where orders are complete.")
    )


def _tests_table(report: CheckReport) -> Table | None:
    used = [name for name in TESTS if any(t.name == name for c in report.criteria for t in c.tests)]
    if not used:
        return None
    columns = columns_of(CriterionFigures, "name")
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
    return cap_criteria(
        Table(columns, rows, caption + (wrong + "shown only because papers print it." if "p_max" in used else ""))
    )


def _test_cells(c: CriterionFigures, used: Sequence[str]) -> dict[str, Cell]:
    tests: dict[str, TestFigures] = {t.name: t for t in c.tests}
    cells = {name: _test_cell(tests.get(name), c) for name in used}
    for name in set(MAIN) & set(used):  # the other side of a one-sided test
        test, cell = tests.get(name), cells[name]
        if test is not None and test.p_opposite is not None:
            cells[f"{name}-opposite"] = Cell(test.p_opposite, test.law or "", holm_line(test.p_opposite_holm))
        else:
            cells[f"{name}-opposite"] = Cell(None, cell.why if test is None or test.p is None else "not made")
    naive = tests.get("p_max")
    reason = (naive and naive.refused) or "not made"
    cells["naive"] = Cell(naive and naive.p_naive, "" if naive and naive.p_naive is not None else reason)
    return cells


def _test_cell(test: TestFigures | None, c: CriterionFigures) -> Cell:
    if test is None:
        return Cell(None, NO_ORDERS if c.protocol == "votes" else "not made for complete orders")
    if test.p is None:
        return Cell(None, test.refused or "not made")
    return Cell(test.p, test.law or "", holm_line(test.p_holm))


def _refused_note(report: CheckReport) -> Prose | None:
    """The reasons behind the dashes, for readers on paper."""
    refused = [(f"{c.name} ({TESTS[t.name]})", t.refused) for c in report.criteria for t in c.tests if t.refused]
    if not refused:
        return None
    reasons = [
        Markup("{}: {}.").format(join_names(names), reason.rstrip(".")) for reason, names in group_by_reason(refused)
    ]
    return Prose(Markup("Not tested. ") + Markup(" ").join(reasons))


def anchor_references(report: CheckReport, name: str) -> list[tuple[str, float]]:
    """Anchors at a shape some criterion has; the shape is named where the study has several."""
    shapes = _main_shapes(report)
    return [
        (brief(a.name, 32) if len(shapes) == 1 else f"{brief(a.name, 24)} ({a.items}×{a.raters})", getattr(a, name))
        for a in report.anchors
        if (a.items, a.raters) in shapes and getattr(a, name) is not None
    ]


def _main_shapes(report: CheckReport) -> set[tuple[int, int]]:
    shapes = [main_shape(c) for c in report.criteria]
    return {(s.items, s.raters) for s in shapes if s is not None}


def _anchor_table(report: CheckReport) -> Table | None:
    if not report.anchors:
        return None
    columns = [
        *columns_of(AnchorFigures, "name"),
        Column("shape", "Items × raters"),
        *_statistic_columns("number"),
        *columns_of(AnchorFigures, "source"),
    ]
    rows = []
    for anchor in report.anchors:
        row: dict[str, object] = {name: getattr(anchor, name, None) for name in STATISTICS}
        row["shape"] = Markup("{} × {}").format(fixed(anchor.items, 0), fixed(anchor.raters, 0))
        rows.append(row | {"name": brief(anchor.name), "source": brief(anchor.source, 120)})
    shapes = _main_shapes(report)
    undrawn = [brief(a.name) for a in report.anchors if (a.items, a.raters) not in shapes]
    caption = Markup("Reference anchors: other domains' judgments, cut down to a stated shape.")
    if undrawn:
        caption += Markup(" Not drawn in the charts, because no criterion has their shape: {}.").format(
            join_names(undrawn)
        )
    return Table(columns, rows, caption)


# -- histograms and cycles ---------------------------------------------------------------------------------------------

MOST_HISTOGRAMS = 12
"""Criteria whose histograms are drawn."""
MOST_BARS = 6
"""Splits drawn as bars with their numbers; more become a histogram."""
MOST_SHAPES = 6
MOST_ANCHORS = 4
T_CAPTION = (
    "T, the mean τ between the raters of one prompt, over its null. Solid line: median. Dashed: the null's median."
)
ANCHOR_CAPTION = " Dashed with a name: the median of a reference anchor."
SPLIT_CAPTION = "Item pairs by how the raters split, over the folded binomial that random raters give."
TAIL = 0.001
"""The axis of T leaves out what neither a prompt reached nor one random panel in a thousand does."""


def distribution_section(report: CheckReport, cohorts: CohortColors) -> Section | None:
    """Histograms of T and p_max over their nulls; the largest shape is drawn, the others are listed."""
    criteria = []
    for c in report.criteria:
        shape = main_shape(c)
        if shape is not None and sum(shape.t_counts) > 0 and sum(shape.pmax_counts) > 0:
            criteria.append(c)
    if not criteria:
        return None
    # one x range and one height for all criteria of a shape, so that their histograms can be compared
    axes = {}
    for key in dict.fromkeys(map(_shape_key, criteria)):
        shapes = [_drawn_shape(c) for c in criteria if _shape_key(c) == key]
        values = [t for s in shapes for t, n, q in zip(s.t_support, s.t_counts, s.t_null) if n > 0 or q > TAIL]
        tops = [max(s.t_counts) / sum(s.t_counts) for s in shapes] + [max(s.t_null) for s in shapes]
        axes[key] = (min(values), max(values)), max(tops)
    left = len(criteria) - MOST_HISTOGRAMS
    criteria = criteria[:MOST_HISTOGRAMS]
    ts = [_t_figure(c, cohorts.tone(c), *axes[_shape_key(c)], _anchor_medians(report, c)) for c in criteria]
    ps = [_pmax_figure(c, cohorts.tone(c), criteria) for c in criteria]
    caption = T_CAPTION + (ANCHOR_CAPTION if any(_anchor_medians(report, c) for c in criteria) else "")
    legend = [*cohorts.legend, ("null-line", "random raters (null)")]
    several = f"{criteria[0].name}: " if len(criteria) > 1 else ""
    pair = [
        replace(ts[0], heading=f"{several}T between raters"),
        replace(ps[0], heading=f"{several}splits of the panel"),
    ]
    blocks: list[Block] = [ChartRow(pair, f"{caption} {SPLIT_CAPTION}", legend)]
    rest = count_noun(len(criteria) - 1, "other criterion", "other criteria")
    more = None
    if left > 0:
        more = Prose(Markup("Not drawn: {}; they are in the JSON.").format(count_noun(left, "criterion", "criteria")))
    if len(criteria) > 1:
        blocks += fold(Markup("T of {}").format(rest), ChartRow(ts[1:], caption, legend), more)
        blocks += fold(Markup("Splits of {}").format(rest), ChartRow(ps[1:], SPLIT_CAPTION, legend), more)
    return Section("Distributions", blocks, "How far raters agree, prompt by prompt, beside random raters.")


def _drawn_shape(c: CriterionFigures) -> ShapeFigures:
    """The main shape of a criterion that can be drawn."""
    shape = main_shape(c)
    assert shape is not None
    return shape


def _shape_key(c: CriterionFigures) -> tuple[int, int]:
    shape = _drawn_shape(c)
    return shape.items, shape.raters


def _anchor_medians(report: CheckReport, c: CriterionFigures) -> list[tuple[str, float]]:
    """Medians of the anchors at the shape that is drawn."""
    anchors = [anchor for anchor in report.anchors if (anchor.items, anchor.raters) == _shape_key(c)]
    return [(brief(anchor.name, 16), anchor.median_T) for anchor in anchors[:MOST_ANCHORS]]


def _t_figure(
    c: CriterionFigures, tone: str, x_range: tuple[float, float], top: float, anchors: Sequence[tuple[str, float]]
) -> Chart:
    shape = _drawn_shape(c)
    alone = len(c.shapes) == 1
    comparable = len(shape.t_support) <= 40  # with more support points bars are merged, and shares grow
    drawing = charts.histogram_over_null(
        shape.t_support, shape.t_counts, shape.t_null, title=f"T of {c.name} over its null", tone=tone,
        x_range=x_range, top_share=top if comparable else None, width=SMALL,
        medians=(c.statistics.median_T, c.null.median_T if c.null else None) if alone else (None, None),
        references=anchors,
    )  # fmt: skip
    words = _shape_size(shape) + Markup(". Null: {}.").format(shape.null_method)
    other_shapes = sorted((s for s in c.shapes if s is not shape), key=lambda s: -s.prompts)
    if other_shapes:
        words += Markup(" Not drawn: {}.").format(join_names(_shape_size(s) for s in other_shapes[:MOST_SHAPES]))
    if len(other_shapes) > MOST_SHAPES:
        words += Markup(" And {}.").format(count_noun(len(other_shapes) - MOST_SHAPES, "more shape"))
    return Chart(drawing, words, c.name)


def _shape_size(shape: ShapeFigures) -> Markup:
    parts = fixed(shape.items, 0), fixed(shape.raters, 0)
    return count_noun(shape.prompts, "prompt") + Markup(" of {} items × {} raters").format(*parts)


def _pmax_figure(c: CriterionFigures, tone: str, criteria: Sequence[CriterionFigures]) -> Chart:
    """Bars of equal scale for all panels of a size; a histogram where the splits are too many to label."""
    shape = _drawn_shape(c)
    title = f"Splits of {c.name} over their null"
    if len(shape.pmax_support) > MOST_BARS:
        drawing = charts.histogram_over_null(
            shape.pmax_support, shape.pmax_counts, shape.pmax_null, title=title, tone=tone, unit="item pairs",
            medians=(None, None), height=165, width=SMALL,
        )  # fmt: skip
        return Chart(drawing, heading=c.name)
    levels = [f"{round(p * shape.raters)}–{shape.raters - round(p * shape.raters)}" for p in shape.pmax_support]
    alike = [s for s in map(_drawn_shape, criteria) if s.raters == shape.raters]
    top = max(max(max(s.pmax_counts) / sum(s.pmax_counts), *s.pmax_null) for s in alike)
    drawing = charts.pmax_bars(
        levels, shape.pmax_counts, shape.pmax_null, title=title, tone=tone, top_share=top, height=165, width=SMALL
    )
    return Chart(drawing, heading=c.name)


def cycle_section(report: CheckReport, cohorts: CohortColors) -> Section | None:
    """Does the majority contradict itself? Rates against the null and other domains."""
    criteria = [c for c in report.criteria if c.statistics.cycle_rate is not None]
    if not criteria_with_tau(report.criteria):
        return None
    blocks: list[Block | str] = []
    details: list[Block] = []
    if criteria:
        rates = [(c, statistic_with_interval(c.statistics, "cycle_rate")) for c in criteria]
        rows = [(c.name, *rate, cohorts.group(c)) for c, rate in rates if rate is not None][:MOST_ORDERED]
        nulls = [None if c.null is None else c.null.cycle_rate for c in criteria]
        same = len(set(nulls)) == 1
        drawing = charts.dot_intervals(
            rows, nulls[0] if same else None, anchor_references(report, "cycle_rate"), title="Cycle rates",
            x_label="share of prompts with a cycle of majorities", null_label="random raters", groups=cohorts.groups,
            row_nulls=() if same else nulls[: len(rows)], sort=False, within=(0.0, 1.0),
        )  # fmt: skip
        words = Markup("Share of prompts whose majority prefers x to y, y to z and z to x. ") + (
            "Line: random raters." if same else "Short lines: random raters at each criterion's own shapes."
        )
        ordered = sorted(criteria, key=lambda c: c.statistics.cycle_rate or 0.0)
        if len(rates) > len(rows):
            left = count_noun(len(rates) - len(rows), "other criterion", "other criteria")
            words += Markup(" {} not drawn; their rates are in the table of statistics.").format(left)
        blocks.append(_cycle_words(ordered[0], ordered[-1], nulls[0] if same else None))
        details = fold("Cycle rate by criterion", Chart(drawing, words))
    missing = [c for c in criteria_with_tau(report.criteria) if c.statistics.cycle_rate is None]
    reasons = group_by_reason((c.name, why_missing(c, "cycle_rate")) for c in missing)
    blocks += [
        Prose(Markup("{}: no cycle rate; {}.").format(join_names(names), why.rstrip("."))) for why, names in reasons
    ]
    note = Note(
        "Cycles above the null point to factions. Cycles at or below it do not exclude them: two factions with little "
        "noise can give the same T, p max and cycle rate as one weak shared order. Factions are tested on the raters.",
        "open",
        "Read with care.",
    )
    return Section("Cycles", [*blocks, note, *details], "Does the majority contradict itself?")


def _cycle_words(low: CriterionFigures, high: CriterionFigures, null: float | None) -> Prose:
    """The lowest and the highest rate, and what random raters give."""
    rates = [value(c.statistics.cycle_rate, None, numbers.percent(c.statistics.cycle_rate, 1)) for c in (low, high)]
    every = "" if low is high else " under every criterion"
    words = Markup("The majority contradicts itself on {} of prompts{}").format(rates[0], every)
    if low.statistics.cycle_rate != high.statistics.cycle_rate:
        words = Markup("The majority contradicts itself on {} ({}) to {} ({}) of prompts").format(
            rates[0], low.name, rates[1], high.name
        )
    if null is not None:
        words += Markup("; random raters would on {}").format(value(null, None, numbers.percent(null, 1)))
    return Prose(words + ".")
