"""How good can a model get against this panel? Ceilings to quote, ceilings of papers, and buckets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from salon.check.results import CeilingFigures, CheckReport, CriterionFigures
from salon.report import Block, Cell, Column, Figure, Note, Section, Table, charts
from salon.report.words import counted, fixed, law_range, law_range_note, level_words, listed
from salon.stats.result import Estimate

MOST_ROWS = 200
MOST_DRAWN = 20
NO_PAIR = "no pair split so"
Split = tuple[int, int]
QUOTED = ("next_rater", "oracle")
OF_PAPERS = {
    "panel": ("Panel", "A rater against a majority the rater is part of; some papers call this leave-one-out"),
    "leave_one_out": ("Leave one out, ties half", "A rater against the majority of the others"),
    "leave_one_out_dropped": ("Leave one out, ties dropped", "The same over judgments where the others are not tied"),
    "cap": ("Cap (not a bound)", "One for each pair decided by more than one vote, a half for the rest"),
}


def ceiling_section(report: CheckReport) -> Section | None:
    """The two ceilings to quote, then the papers', then how panels split."""
    criteria = [c for c in report.criteria if c.ceilings is not None]
    if not criteria:
        return None
    quote = Note(
        "The next rater is what one more person of the same kind would reach against this panel, the oracle what a "
        "predictor that knew every pair's true odds would reach. A few votes a pair do not fix either: any law of pair "
        "odds that fits the votes is possible, so each is a range. An accuracy suggests a leak only where its whole "
        "interval is above the oracle's.",
        "clear",
        "Quote these two ranges.",
    )
    missing = [c.name for c in report.criteria if c.ceilings is None]
    absent = [Note(Markup("No ceilings: {}.").format(listed(missing)), "thin")] if missing else []
    figure = [_figure(criteria)] if len(criteria) <= MOST_DRAWN else []
    blocks = [quote, *figure, _quoted(report, criteria), _papers(report, criteria), *absent]
    blocks += _together(report)
    return Section("Ceilings", [*blocks, *_buckets(report, criteria)], "How good can a model get on these answers?")


def _figure(criteria: Sequence[CriterionFigures]) -> Figure:
    """Both ceilings of every criterion, one row each."""
    rows = []
    for c in criteria:
        for field, words in (("next_rater", "next rater"), ("oracle", "oracle")):
            figure = getattr(c.ceilings, field)
            rows.append((c.name if field == "next_rater" else "", figure.value, figure.low, figure.high, words))
    drawing = charts.dot_intervals(
        rows, 0.5, title="Next rater and oracle by criterion", x_label="accuracy against the panel's majority",
        null_label="chance", tones=("cohort-3", "cohort-4"), sort=False, within=(0.0, 1.0),
    )  # fmt: skip
    return Figure(
        drawing,
        "For each criterion the next rater above the oracle: the interval over all laws of pair odds that fit, "
        "and as its dot a beta law, or the nearest that fits. Line: chance.",
    )


def _quoted(report: CheckReport, criteria: Sequence[CriterionFigures]) -> Table:
    columns = [
        Column("name", "Criterion"),
        Column("next_rater", "Next rater", hint="One more rater against the panel's majority"),
        Column("oracle", "Oracle", hint="A predictor that knows every pair's true probability"),
        Column("pairs", "Pairs", "count"),
        Column("tied_share", "Tied panels", "percent", hint="Pairs whose majority is a tie"),
        Column("left_out", "Left out", "count", hint="Pairs with fewer than two votes"),
    ]
    rows = []
    for c in criteria:
        assert c.ceilings is not None
        both = {field: _range_cell(c.ceilings, field) for field in QUOTED}
        counts = {name: getattr(c.ceilings, name) for name in ("pairs", "tied_share", "left_out")}
        rows.append({"name": c.name, **both, **counts})
    caption = Markup(
        "Ceilings to quote: the range over all laws of pair odds that fit the votes. Below each its {} interval, and "
        "what a beta law gives."
    ).format(level_words(report))
    return Table(columns, rows, caption)


def _range_cell(ceilings: CeilingFigures, field: str) -> Cell:
    figure = getattr(ceilings, field)
    return Cell(law_range(getattr(ceilings, f"{field}_range")), figure.method, law_range_note(figure))


def _papers(report: CheckReport, criteria: Sequence[CriterionFigures]) -> Table:
    columns = [Column("name", "Criterion")]
    columns += [Column(name, header, "estimate", hint=hint) for name, (header, hint) in OF_PAPERS.items()]
    rows = [{"name": c.name, **{name: getattr(c.ceilings, name) for name in OF_PAPERS}} for c in criteria]
    caption = Markup(
        "Ceilings found in papers, for comparison only, with {} intervals. The panel's figure counts the rater's own "
        "vote; the cap is not a bound: an oracle may exceed it."
    ).format(level_words(report))
    return Table(columns, rows, caption)


def _together(report: CheckReport) -> list[Block]:
    """One row for the whole study."""
    one = report.together
    if one is None:
        return []
    names = {c.criterion: c.name for c in report.criteria}
    columns = [Column("pairs", "Pairs", "count")]
    columns += [Column("next_rater", "Next rater"), Column("oracle", "Oracle")]
    columns += [Column(name, OF_PAPERS[name][0], "estimate") for name in ("panel", "leave_one_out", "cap")]
    columns += [Column(f"b{n}", name.replace("-", "–"), "estimate") for n, name in enumerate(one.pooled.buckets)]
    shares = {f"b{n}": share for n, share in enumerate(one.pooled.buckets.values())}
    row = {name: getattr(one.pooled, name) for name in ("pairs", "panel", "leave_one_out", "cap")}
    row |= {field: _range_cell(one.pooled, field) for field in QUOTED}
    caption = Markup(
        "The whole study: all pairs of {} together, with {} intervals. The mean panel over criteria is {}, from "
        "{} ({}) to {} ({})."
    ).format(
        counted(one.criteria, "criterion", "criteria"), level_words(report), fixed(one.mean_panel),
        fixed(one.lowest_panel), names.get(one.lowest, one.lowest), fixed(one.highest_panel),
        names.get(one.highest, one.highest),
    )  # fmt: skip
    return [Table(columns, [row | shares], caption, sortable=False)]


def _buckets(report: CheckReport, criteria: Sequence[CriterionFigures]) -> list[Block]:
    """The panel size most criteria have as a chart and a table; other sizes as one list."""
    found = {c.name: _splits(c) for c in criteria}
    sizes = [size for splits in found.values() for size in {larger + rest for larger, rest in splits}]
    if not sizes:
        return []
    main = max(sizes, key=lambda size: (sizes.count(size), size))
    shown = {name: splits for name, splits in found.items() if any(sum(split) == main for split in splits)}
    columns = sorted({split for splits in shown.values() for split in splits if sum(split) == main}, reverse=True)
    others = [(name, split, figure) for name, splits in found.items() for split, figure in splits.items()
              if sum(split) != main]  # fmt: skip
    return [_bucket_figure(report, shown, columns), _bucket_table(report, shown, columns), *_other_sizes(others)]


def _splits(c: CriterionFigures) -> dict[Split, Estimate]:
    """Buckets by (larger, smaller) camp, read off their names: '4-1', or '4-1 of 5' where panels differ in size."""
    assert c.ceilings is not None
    found = {}
    for name, figure in c.ceilings.buckets.items():
        camps = re.match(r"(\d+)-(\d+)", name)
        if camps:
            found[int(camps[1]), int(camps[2])] = figure
    return found


def _bucket_figure(report: CheckReport, shown: dict[str, dict[Split, Estimate]], columns: Sequence[Split]) -> Figure:
    rows = [(name, [splits[s].value if s in splits else 0.0 for s in columns]) for name, splits in shown.items()]
    null = _null_shares(report, sum(columns[0]), len(columns))
    drawing = charts.bucket_bar(rows, list(map(_words, columns)), null, title="Item pairs by split of the panel")
    return Figure(drawing, "How often panels were of one mind.")


def _bucket_table(report: CheckReport, shown: dict[str, dict[Split, Estimate]], columns: Sequence[Split]) -> Table:
    rows = [
        {"name": name, **{str(i): Cell(splits.get(s), "" if s in splits else NO_PAIR) for i, s in enumerate(columns)}}
        for name, splits in shown.items()
    ]
    heads = [Column(str(i), _words(split), "estimate") for i, split in enumerate(columns)]
    caption = Markup("Share of item pairs by split of the panel, with {} intervals.").format(level_words(report))
    return Table([Column("name", "Criterion"), *heads], rows, caption)


def _words(split: Split) -> str:
    return f"{split[0]}–{split[1]}"


def _null_shares(report: CheckReport, size: int, buckets: int) -> list[float] | None:
    """The folded binomial of a panel size, from any shape that has it."""
    shapes = [s for c in report.criteria for s in c.shapes if s.raters == size and len(s.pmax_null) == buckets]
    return list(reversed(shapes[0].pmax_null)) if shapes else None


def _other_sizes(others: Sequence[tuple[str, Split, Estimate]]) -> list[Block]:
    if not others:
        return []
    rows = [
        {"name": name, "size": f"{sum(split)} raters", "split": _words(split), "share": figure}
        for name, split, figure in others[:MOST_ROWS]
    ]
    columns = [
        Column("name", "Criterion"),
        Column("size", "Panel"),
        Column("split", "Split"),
        Column("share", "Share", "estimate"),
    ]
    left = len(others) - len(rows)
    more = Markup(" {} in the JSON.").format(counted(left, "more row")) if left else Markup("")
    return [Table(columns, rows, "Other panel sizes; shares among the pairs with that number of raters." + more)]
