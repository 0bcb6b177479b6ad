"""The front page: the board with intervals, ranges of ranks and tie groups, and what the numbers look like together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

from markupsafe import Markup

from salon.bench.entry import AxisResult
from salon.bench.result import Standing
from salon.bench.site.arena_pages import arena_summary
from salon.bench.site.frame import SiteBlock, SitePage, capital
from salon.bench.site.raters_page import raters_summary
from salon.bench.site.site_data import SiteAxis, SiteData, SiteEntry
from salon.report import (
    SMALL,
    Card,
    Chart,
    ChartRow,
    Column,
    Note,
    Section,
    Table,
    breakable,
    brief,
    charts,
    count_noun,
    element,
    join_names,
    numbers,
    sentence,
    value,
)
from salon.stats import Estimate

BAR = 96
"""Pixels of the line that stands for 0 to 100."""
MOST_NAMES = 6
"""Names in the list of those an entry is tied with; the others are counted."""


@dataclass(frozen=True)
class AxisCell:
    """One axis of one entry."""

    sort: str
    figure: Markup
    bar: Markup
    interval: Markup | str
    rank: str = ""
    range: str = ""
    tier: str = ""
    tied: str = ""


@dataclass(frozen=True)
class BoardRow:
    """One entry."""

    label: str
    href: str
    under: str
    by: str
    words: str
    cells: Sequence[AxisCell]
    oracle: AxisCell | None
    starts: bool = False
    shaded: bool = False

    @property
    def name(self) -> Markup:
        """The label, breaking where a name may."""
        return breakable(self.label)

    @property
    def rank(self) -> str:
        """By the axis that the page is ordered by at first."""
        return self.cells[0].rank or numbers.MISSING

    @property
    def range(self) -> str:
        """Ranks it may hold there."""
        return self.cells[0].range

    @property
    def spoken(self) -> str:
        """What stands between the two for who does not see the line of a tie group."""
        return f", tie group {self.cells[0].tier}, ranks " if self.cells[0].tier else ""


@dataclass(frozen=True)
class BoardTable(SiteBlock):
    """The table of published entries."""

    template: ClassVar[str] = "board.html"

    site: SiteData

    @property
    def axes(self) -> tuple[SiteAxis, ...]:
        """Columns."""
        return self.site.axes

    @cached_property
    def oracle(self) -> bool:
        """Whether any entry was read by a judge that knows."""
        return any(site_entry.computed.oracle for site_entry in self.site.published)

    @cached_property
    def makers(self) -> list[str]:
        """Who submitted entries."""
        return sorted({site_entry.entry.by for site_entry in self.site.published if site_entry.entry.by}, key=str.lower)

    @cached_property
    def rows(self) -> list[BoardRow]:
        """Best first; a row that starts a tie group says so."""
        rows, last = [], None
        for index, site_entry in enumerate(self.site.published):
            tier = _tier(self.site.standing[self.axes[0].id].get(site_entry.name))
            rows.append(self._row(index, site_entry, starts=tier != last, shaded=bool(tier) and int(tier) % 2 == 1))
            last = tier
        return rows

    def _row(self, index: int, site_entry: SiteEntry, *, starts: bool, shaded: bool) -> BoardRow:
        entry, label = site_entry.entry, self.site.labels[site_entry.name]
        cells = [self._cell(index, site_entry, axis) for axis in self.axes]
        oracle = site_entry.computed.oracle
        searched = (entry.name, entry.title, entry.by, entry.licence, entry.generator)
        return BoardRow(
            label=label,
            href=f"generators/{self.site.entry_pages[site_entry.name]}.html",
            under=brief(entry.by, 40) if entry.by else "",
            by=entry.by,
            words=" ".join(searched).lower(),
            cells=cells,
            oracle=axis_cell(oracle, f"entries.{index}.oracle") if oracle else None,
            starts=starts,
            shaded=shaded,
        )

    def _cell(self, index: int, site_entry: SiteEntry, axis: SiteAxis) -> AxisCell:
        axis_result = axis.of(site_entry.computed)
        standing = self.site.standing[axis.id].get(site_entry.name)
        return axis_cell(axis_result, f"entries.{index}.axes.{axis.id}", standing, self.site.labels)


def axis_cell(
    axis_result: AxisResult | None, key: str, standing: Standing | None = None, labels: dict[str, str] | None = None
) -> AxisCell:
    """The inside of a cell: value, bar, interval, and what is known of its rank."""
    if axis_result is None:
        return AxisCell("", Markup(numbers.MISSING), Markup(""), "")
    figure = axis_result.figure
    return AxisCell(
        sort=repr(figure.value),
        figure=value(figure.value, f"{key}.value", numbers.fixed(figure.value, 1)),
        bar=interval_bar(figure),
        interval=interval_words(figure, key),
        rank=str(standing.rank) if standing else "",
        range=rank_range(standing),
        tier=_tier(standing),
        tied=tied_words(standing, labels or {}),
    )


def interval_words(figure: Estimate, key: str) -> Markup | str:
    """64.1–77.8; both ends carry their paths."""
    if figure.low is None or figure.high is None:
        return "no interval"
    ends = [
        value(end, f"{key}.{name}", numbers.fixed(end, 1)) for name, end in (("low", figure.low), ("high", figure.high))
    ]
    return Markup("{}–{}").format(*ends)


def interval_bar(figure: Estimate) -> Markup:
    """A value and its interval on a line from 0 to 100, with a tick at 50."""
    width = BAR / 100
    parts = [element("path", d=f"M0 6H{BAR}M{BAR / 2} 2V10", class_="line")]
    if figure.low is not None and figure.high is not None:
        parts.append(element("path", d=f"M{figure.low * width:.1f} 6H{figure.high * width:.1f}", class_="reach"))
    parts.append(element("path", d=f"M{figure.value * width:.1f} 1V11", class_="at"))
    return element(
        "svg", *parts, class_="bar", viewBox=f"-4 0 {BAR + 8} 12", width=BAR + 8, height=12, aria_hidden="true"
    )


def rank_range(standing: Standing | None) -> str:
    """Ranks that an entry may hold: `2–5`, or `2` where there is no other."""
    if standing is None:
        return ""
    return str(standing.low) if standing.low == standing.high else f"{standing.low}–{standing.high}"


def tied_words(standing: Standing | None, labels: dict[str, str], most: int = MOST_NAMES) -> str:
    """Entries it cannot be told apart from, at most `most` by name."""
    if standing is None or not standing.tied:
        return ""
    names = [labels.get(name, name) for name in standing.tied[:most]]
    more = len(standing.tied) - len(names)
    return f"no clear difference to {join_names([*names, *([f'{more} more'] if more else [])]).unescape()}"


def _tier(standing: Standing | None) -> str:
    return "" if standing is None else str(standing.tier)


# -- small multiples: a panel for each group of tags and each criterion ------------------------------------------------

MOST = 8
"""Rows of a panel; where there are more entries, the best of each panel."""
FEW = 12
"""Up to this many entries, panels show all."""

Read = Callable[[SiteEntry], Estimate | None]


def group_multiples(site: SiteData) -> Iterator[Section]:
    """Capability by group of tags."""
    panels = []
    for name in site.tag_groups:
        panels += panel(site, capital(name), partial(_capability, site, name))
    if panels and len(site.tag_groups) > 1:
        yield Section("By kind of task", [ChartRow(panels, caption=_caption(site, "Capability"))], "Capability.")


def criterion_multiples(site: SiteData) -> Iterator[Section]:
    """EPS columns beside the headline."""
    panels = []
    for axis in site.axes[1:]:
        if axis.id in (site.headline, "capability"):
            continue
        panels += panel(site, axis.title, partial(_figure_of, axis))
    if panels:
        yield Section(
            "By criterion", [ChartRow(panels, caption=_caption(site, "EPS"))], "EPS of each criterion's own scorer."
        )


def _figure_of(axis: SiteAxis, site_entry: SiteEntry) -> Estimate | None:
    axis_result = axis.of(site_entry.computed)
    return axis_result.figure if axis_result else None


def panel(site: SiteData, title: str, read: Read) -> list[Chart]:
    """One panel, best first; nothing where no entry has the number."""
    figures = [
        (site.labels[site_entry.name], figure)
        for site_entry in site.published
        if (figure := read(site_entry)) is not None
    ]
    if not figures:
        return []
    ordered = sorted(figures, key=lambda pair: -pair[1].value)
    rows = ordered if len(ordered) <= FEW else ordered[:MOST]
    marks = [charts.ScoreMark(label, figure.value, figure.low, figure.high) for label, figure in rows]
    drawing = charts.caterpillar(marks, title=title, x_range=(0.0, 100.0), decimals=0, width=SMALL)
    return [Chart(drawing, heading=title)]


def _capability(site: SiteData, group: str, site_entry: SiteEntry) -> Estimate | None:
    result = site.groups[site_entry.name].get(("group", group))
    return result.capability if result else None


def _caption(site: SiteData, axis: str) -> Markup:
    many = len(site.published) > FEW
    which = (
        f"The best {MOST} of {len(site.published)} in each panel: the first of many is partly luck"
        if many
        else "All entries"
    )
    return Markup("{}, 0 to 100, with intervals. {}. Every number, tag by tag: {}.").format(
        axis, which, element("a", "Tags", href="tags.html")
    )


# -- the page ----------------------------------------------------------------------------------------------------------

LEADERS = 3
"""Names on the card of those who lead; the others are counted."""


BROAD = 1040
"""Pixels of the drawing that has the whole width of the page."""


def index_page(site: SiteData) -> SitePage:
    """index.html."""
    policies = site.published[0].computed.policies if site.published else ()
    notes = [*policies, "Ranks and tie groups depend on who stands on the board; published numbers never do."]
    signature = site.published[0].computed.signature if site.published else None
    version = f"salon:{signature.version}" if signature else "no entry"
    return SitePage(
        path="index.html",
        title=site.title,
        subtitle=_subtitle(site),
        head=site.head,
        cards=[card for axis in site.axes[:3] for card in _leaders(site, axis)],
        sections=[*_sections(site)],
        kicker=f"{site.suite.card.name}, version {site.suite.card.version}",
        notes=notes,
        signature=f"suite:{site.suite.hash[:16]}|" + version,
        wide=True,
    )


def _subtitle(site: SiteData) -> Markup:
    suite = site.suite
    pictures = len(suite.prompts) * suite.card.images
    if not site.published:
        return Markup("{} wait for the first entry.").format(count_noun(len(suite.prompts), "prompt"))
    about = f" {sentence(suite.card.about)}" if suite.card.about else ""
    return Markup("{} answered {} with {} each.{}").format(
        count_noun(len(site.published), "entry", "entries"),
        count_noun(len(suite.prompts), "prompt"),
        count_noun(pictures, "picture"),
        about,
    )


def _leaders(site: SiteData, axis: SiteAxis) -> Iterator[Card]:
    """The leaders of an axis: everybody who cannot be told apart from the first."""
    places = [*site.standing.get(axis.id, {}).values()]
    if not places:
        return
    first = [standing.entry for standing in places if standing.tier == 1]
    names = [site.labels[name] for name in first[:LEADERS]]
    more = len(first) - len(names)
    best = places[0].figure
    tied_names = join_names([*names[1:], *([f"{more} more"] if more else [])]).unescape()
    yield Card(
        label=axis.title,
        value=breakable(brief(site.labels[places[0].entry], 28)),
        note=f"{numbers.fixed(best.value, 1)} {numbers.interval(best.low, best.high, 1)}"
        + ("" if len(first) == 1 else f"; no clear difference to {tied_names}"),
    )


def _sections(site: SiteData) -> Iterator[Section]:
    level = numbers.percent(site.suite.card.level)
    board_words = (
        f"Bars run from 0 to 100 and show {level} intervals over prompts; under them the interval and, after #, the "
        "ranks an entry may truly hold. Rows on one line at the left are tied with the best of them."
    )
    yield Section(
        "The board",
        [BoardTable(site)] if site.published else [Note("No entry is published yet.", heading="")],
        board_words,
    )
    if site.provisional:
        columns = [Column("name", "Entry"), Column("open", "Answers open"), Column("missing", "Pictures missing")]
        columns += [Column(axis.id.replace(".", " "), axis.title) for axis in site.axes]
        provisional_rows = []
        for site_entry in site.provisional:
            missing = sum(picture.image is None for picture in site_entry.entry.pictures)
            row: dict[str, object] = {
                "name": entry_link(site, site_entry),
                "open": "not judged yet",
                "missing": numbers.count(missing),
            }
            axis_results = {
                axis.id.replace(".", " "): axis.of(site_entry.result) if site_entry.result else None
                for axis in site.axes
            }
            if site_entry.result:
                row["open"] = numbers.count(
                    max((axis.coverage.open for axis in axis_results.values() if axis), default=0)
                )
            provisional_rows.append(row | {id: _bounds(axis) for id, axis in axis_results.items()})
        provisional = Table(
            columns,
            provisional_rows,
            sortable=False,
            label="Provisional",
        )
        yield Section("Not published yet", [provisional], "Judges or scorers still owe answers. Bounds, no ranks.")
    if site.retracted:
        rows = [
            {
                "name": entry_link(site, site_entry),
                "reason": sentence(brief(site_entry.retraction.reason, 400)),
                "at": site_entry.retraction.at[:10],
            }
            for site_entry in site.retracted
        ]
        retracted_columns = [Column("name", "Entry"), Column("reason", "Reason"), Column("at", "When")]
        retracted_table = Table(retracted_columns, rows, sortable=False, label="Retracted")
        yield Section("Retracted", [retracted_table], "Taken back, with the reason.")
    if len(site.axes) > 1 and site.published:
        note = site.suite.reference.note if site.suite.reference else ""
        liked = "What can be checked, and what is liked." + (f" {sentence(note)}" if note else "")
        yield Section("Capability and preference", [_scatter(site)], liked)
    yield from group_multiples(site)
    yield from criterion_multiples(site)
    yield from arena_summary(site)
    yield from raters_summary(site)


def _bounds(axis: AxisResult | None) -> str:
    if axis is None:
        return numbers.MISSING
    low = numbers.fixed(axis.figure.value, 1)
    return low if axis.complete else f"{low} to {numbers.fixed(axis.at_best, 1)}"


def _scatter(site: SiteData) -> Chart:
    headline = next(axis for axis in site.axes if axis.id == site.headline)
    dots = [
        charts.ScatterMark(
            site.labels[site_entry.name], _triple(site_entry.computed.capability), _triple(axis_result),
            f"overall rank {rank_range(site.standing[site.axes[0].id].get(site_entry.name))}",
        )
        for site_entry in site.published if (axis_result := headline.of(site_entry.computed))
    ]  # fmt: skip
    drawing = charts.scatter(
        dots,
        title="Capability against EPS",
        x_label="Capability",
        y_label=headline.title,
        y_line=("the frozen reference: 50", 50.0),
        width=BROAD,
    )
    level = numbers.percent(site.suite.card.level)
    return Chart(
        drawing,
        caption=f"Crosses are {level} intervals over prompts. Axes run over the data, not from 0. The dashed line is "
        "the frozen reference. Names stand where there is room; the others show when pointed at.",
    )


def _triple(axis: AxisResult) -> tuple[float, float | None, float | None]:
    return axis.figure.value, axis.figure.low, axis.figure.high


def entry_link(site: SiteData, site_entry: SiteEntry) -> Markup:
    """A link to an entry's page."""
    return element("a", site.labels[site_entry.name], href=f"generators/{site.entry_pages[site_entry.name]}.html")
