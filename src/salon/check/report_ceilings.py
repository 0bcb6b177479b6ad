"""How good can a model get against this panel? Ceilings to quote, ceilings of papers, and buckets."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.check.report_parts import fixed, level_words, listed
from salon.check.results import CheckReport, CriterionFigures
from salon.report import Block, Cell, Column, Figure, Note, Section, Table, charts, numbers

MOST_ROWS = 200
MOST_DRAWN = 20
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
        "predictor that knew every pair's true odds would reach. Accuracy above the oracle's interval suggests a leak.",
        "clear",
        "Quote these two.",
    )
    missing = [c.name for c in report.criteria if c.ceilings is None]
    absent = [Note(Markup("No ceilings: {}.").format(listed(missing)), "thin")] if missing else []
    figure = [_figure(criteria)] if len(criteria) <= MOST_DRAWN else []
    blocks = [quote, *figure, _quoted(report, criteria), _papers(report, criteria), *absent]
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
        null_label="chance", tones=("cohort-3", "cohort-4"), sort=False,
    )  # fmt: skip
    return Figure(drawing, "For each criterion the next rater above the oracle. Line: chance.")


def _quoted(report: CheckReport, criteria: Sequence[CriterionFigures]) -> Table:
    columns = [
        Column("name", "Criterion"),
        Column("next_rater", "Next rater", "estimate", hint="One more rater against the panel's majority"),
        Column("oracle", "Oracle", "estimate", hint="A predictor that knows every pair's true probability"),
        Column("pairs", "Pairs", "count"),
        Column("tied_share", "Tied panels", "percent", hint="Pairs whose majority is a tie"),
        Column("left_out", "Left out", "count", hint="Pairs with fewer than two votes"),
    ]
    rows = []
    for c in criteria:
        both = {f: Cell(getattr(c.ceilings, f), getattr(c.ceilings, f).method, _range(c, f)) for f in QUOTED}
        counts = {name: getattr(c.ceilings, name) for name in ("pairs", "tied_share", "left_out")}
        rows.append({"name": c.name, **both, **counts})
    caption = Markup(
        "Ceilings to quote, with {} intervals. Below each: what any law of pair probabilities that fits the votes "
        "would give."
    ).format(level_words(report))
    return Table(columns, rows, caption)


def _range(c: CriterionFigures, field: str) -> Markup:
    low, high = getattr(c.ceilings, f"{field}_range")
    return Markup("any law {} – {}").format(fixed(low), fixed(high))


def _papers(report: CheckReport, criteria: Sequence[CriterionFigures]) -> Table:
    columns = [Column("name", "Criterion")]
    columns += [Column(name, header, "estimate", hint=hint) for name, (header, hint) in OF_PAPERS.items()]
    rows = [{"name": c.name, **{name: getattr(c.ceilings, name) for name in OF_PAPERS}} for c in criteria]
    caption = Markup(
        "Ceilings found in papers, for comparison only, with {} intervals. The panel's figure counts the rater's own "
        "vote; the cap is not a bound: an oracle may exceed it."
    ).format(level_words(report))
    return Table(columns, rows, caption)


def _buckets(report: CheckReport, criteria: Sequence[CriterionFigures]) -> list[Block]:
    """The panel size most criteria have as a chart and a table; other sizes as one list."""
    sizes = _sizes(criteria)
    main = max(sizes, key=lambda size: (len(sizes[size]), size), default=None)
    if main is None:
        return []
    names = _names_of(main, sizes[main])
    rows = [(c.name, [_share(c, name) for name in names]) for c in sizes[main]]
    null = _null_shares(report, main, len(names))
    labels = [name.replace("-", "–") for name in names]
    drawing = charts.bucket_bar(rows, labels, null, title="Item pairs by split of the panel")
    table = Table(
        [Column("name", "Criterion"), *(Column(str(i), label, "estimate") for i, label in enumerate(labels))],
        [{"name": c.name, **{str(i): _cell(c, name) for i, name in enumerate(names)}} for c in sizes[main]],
        Markup("Share of item pairs by split of the panel, with {} intervals.").format(level_words(report)),
    )
    others = [(c, name) for size in sorted(sizes, reverse=True) if size != main for c in sizes[size]
              for name in _names_of(size, [c])]  # fmt: skip
    return [Figure(drawing, "How often panels were of one mind."), table, *_other_sizes(others)]


def _sizes(criteria: Sequence[CriterionFigures]) -> dict[int, list[CriterionFigures]]:
    """Criteria by panel size, read off the names of their buckets."""
    sizes: dict[int, list[CriterionFigures]] = {}
    for c in criteria:
        for size in dict.fromkeys(map(_size, c.ceilings.buckets)):
            sizes.setdefault(size, []).append(c)
    return sizes


def _size(bucket: str) -> int:
    return sum(int(part) for part in bucket.split("-"))


def _names_of(size: int, criteria: Sequence[CriterionFigures]) -> list[str]:
    """Buckets of a panel size, unanimous first."""
    names = {name for c in criteria for name in c.ceilings.buckets if _size(name) == size}
    return sorted(names, key=lambda name: -int(name.split("-")[0]))


def _share(c: CriterionFigures, name: str) -> float:
    return c.ceilings.buckets[name].value if name in c.ceilings.buckets else 0.0


def _cell(c: CriterionFigures, name: str) -> Cell:
    figure = c.ceilings.buckets.get(name)
    return Cell(figure, "" if figure else "no pair split so")


def _null_shares(report: CheckReport, size: int, buckets: int) -> list[float] | None:
    """The folded binomial of a panel size, from any shape that has it."""
    shapes = [s for c in report.criteria for s in c.shapes if s.raters == size and len(s.pmax_null) == buckets]
    return list(reversed(shapes[0].pmax_null)) if shapes else None


def _other_sizes(others: Sequence[tuple[CriterionFigures, str]]) -> list[Block]:
    if not others:
        return []
    rows = [
        {"name": c.name, "split": name.replace("-", "–"), "share": c.ceilings.buckets[name]}
        for c, name in others[:MOST_ROWS]
    ]
    columns = [Column("name", "Criterion"), Column("split", "Split"), Column("share", "Share", "estimate")]
    left = len(others) - len(rows)
    more = f" {numbers.count(left)} more rows are in the JSON." if left else ""
    return [Table(columns, rows, "Other panel sizes; shares among the pairs with that number of raters." + more)]
