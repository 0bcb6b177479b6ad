"""The board: a row for each published entry, its axes with intervals, ranges of ranks and tie groups."""

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
from salon.report import SMALL, Card, Chart, ChartRow, Column, Note, Section, Table, charts, numbers
from salon.report.svg import element
from salon.report.values import value
from salon.report.words import breakable, brief, count_noun, join_names, sentence
from salon.stats.result import Estimate

BAR = 96
"""Pixels of the line that stands for 0 to 100."""
NAMED = 6
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

    material: SiteData

    @property
    def axes(self) -> tuple[SiteAxis, ...]:
        """Columns."""
        return self.material.axes

    @cached_property
    def oracle(self) -> bool:
        """Whether any entry was read by a judge that knows."""
        return any(one.computed.oracle for one in self.material.published)

    @cached_property
    def makers(self) -> list[str]:
        """Who submitted entries."""
        return sorted({one.entry.by for one in self.material.published if one.entry.by}, key=str.lower)

    @cached_property
    def rows(self) -> list[BoardRow]:
        """Best first; a row that starts a tie group says so."""
        rows, last = [], None
        for index, one in enumerate(self.material.published):
            tier = _tier(self.material.standing[self.axes[0].id].get(one.name))
            rows.append(self._row(index, one, starts=tier != last, shaded=bool(tier) and int(tier) % 2 == 1))
            last = tier
        return rows

    def _row(self, index: int, one: SiteEntry, *, starts: bool, shaded: bool) -> BoardRow:
        entry, label = one.entry, self.material.labels[one.name]
        cells = [self._cell(index, one, axis) for axis in self.axes]
        oracle = one.computed.oracle
        seen = (entry.name, entry.title, entry.by, entry.licence, entry.generator)
        return BoardRow(
            label=label,
            href=f"generators/{self.material.entry_pages[one.name]}.html",
            under=brief(entry.by, 40) if entry.by else "",
            by=entry.by,
            words=" ".join(seen).lower(),
            cells=cells,
            oracle=axis_cell(oracle, f"entries.{index}.oracle") if oracle else None,
            starts=starts,
            shaded=shaded,
        )

    def _cell(self, index: int, one: SiteEntry, axis: SiteAxis) -> AxisCell:
        found = axis.of(one.computed)
        standing = self.material.standing[axis.id].get(one.name)
        return axis_cell(found, f"entries.{index}.axes.{axis.id}", standing, self.material.labels)


def axis_cell(
    found: AxisResult | None, key: str, standing: Standing | None = None, labels: dict[str, str] | None = None
) -> AxisCell:
    """The inside of a cell: value, bar, interval, and what is known of its rank."""
    if found is None:
        return AxisCell("", Markup(numbers.MISSING), Markup(""), "")
    figure = found.figure
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


def tied_words(standing: Standing | None, labels: dict[str, str], most: int = NAMED) -> str:
    """Who it cannot be told from: at most so many by name."""
    if standing is None or not standing.tied:
        return ""
    named = [labels.get(name, name) for name in standing.tied[:most]]
    more = len(standing.tied) - len(named)
    return f"not told apart from {join_names([*named, *([f'{more} more'] if more else [])]).unescape()}"


def _tier(standing: Standing | None) -> str:
    return "" if standing is None else str(standing.tier)


# --------------------------------------------------------------------------------------------------
# Small multiples: one panel for each group of tags, one for each criterion, all on one axis.
# --------------------------------------------------------------------------------------------------

MOST = 8
"""Rows of a panel; where there are more entries, the best of each panel."""
FEW = 12
"""Up to this many entries, panels show all."""

Read = Callable[[SiteEntry], Estimate | None]


def group_multiples(material: SiteData) -> Iterator[Section]:
    """Capability by group of tags."""
    panels = []
    for name in material.tag_groups:
        panels += panel(material, capital(name), partial(_capability, material, name))
    if panels and len(material.tag_groups) > 1:
        yield Section("By kind of task", [ChartRow(panels, caption=_caption(material, "Capability"))], "Capability.")


def criterion_multiples(material: SiteData) -> Iterator[Section]:
    """EPS columns beside the headline."""
    panels = []
    for axis in material.axes[1:]:
        if axis.id in (material.headline, "capability"):
            continue
        panels += panel(material, axis.title, partial(_figure_of, axis))
    if panels:
        yield Section(
            "By criterion", [ChartRow(panels, caption=_caption(material, "EPS"))], "EPS of each criterion's own scorer."
        )


def _figure_of(axis: SiteAxis, one: SiteEntry) -> Estimate | None:
    found = axis.of(one.computed)
    return found.figure if found else None


def panel(material: SiteData, title: str, read: Read) -> list[Chart]:
    """One panel, best first; nothing where no entry has the number."""
    found = [(material.labels[one.name], figure) for one in material.published if (figure := read(one)) is not None]
    if not found:
        return []
    ordered = sorted(found, key=lambda pair: -pair[1].value)
    shown = ordered if len(ordered) <= FEW else ordered[:MOST]
    marks = [charts.ScoreMark(label, figure.value, figure.low, figure.high) for label, figure in shown]
    drawing = charts.caterpillar(marks, title=title, x_range=(0.0, 100.0), decimals=0, width=SMALL)
    return [Chart(drawing, heading=title)]


def _capability(material: SiteData, group: str, one: SiteEntry) -> Estimate | None:
    found = material.groups[one.name].get(("group", group))
    return found.capability if found else None


def _caption(material: SiteData, axis: str) -> Markup:
    many = len(material.published) > FEW
    which = (
        f"The best {MOST} of {len(material.published)} in each panel: the first of many is partly luck"
        if many
        else "All entries"
    )
    return Markup("{}, 0 to 100, with intervals. {}. Every number, tag by tag: {}.").format(
        axis, which, element("a", "Tags", href="tags.html")
    )


# --------------------------------------------------------------------------------------------------
# The front page: the board, who stands beside it, and what the numbers look like together.
# --------------------------------------------------------------------------------------------------

LEADERS = 3
"""Names on the card of those who lead; the others are counted."""


BROAD = 1040
"""Pixels of the drawing that has the whole width of the page."""


def index_page(material: SiteData) -> SitePage:
    """index.html."""
    return SitePage(
        path="index.html",
        title=material.title,
        subtitle=_subtitle(material),
        head=material.head,
        cards=_cards(material),
        sections=[*_sections(material)],
        kicker=f"{material.suite.card.name}, version {material.suite.card.version}",
        notes=_notes(material),
        signature=f"suite:{material.suite.hash[:16]}|" + _signature(material),
        wide=True,
    )


def _signature(material: SiteData) -> str:
    shown = material.published[0].computed.signature if material.published else None
    return f"salon:{shown.version}" if shown else "no entry"


def _subtitle(material: SiteData) -> Markup:
    suite = material.suite
    pictures = len(suite.prompts) * suite.card.images
    if not material.published:
        return Markup("{} wait for the first entry.").format(count_noun(len(suite.prompts), "prompt"))
    about = f" {sentence(suite.card.about)}" if suite.card.about else ""
    return Markup("{} answered {} with {} each.{}").format(
        count_noun(len(material.published), "entry", "entries"),
        count_noun(len(suite.prompts), "prompt"),
        count_noun(pictures, "picture"),
        about,
    )


def _cards(material: SiteData) -> list[Card]:
    return [card for axis in material.axes[:3] for card in _leaders(material, axis)]


def _leaders(material: SiteData, axis: SiteAxis) -> Iterator[Card]:
    """Who leads an axis: everybody who cannot be told from the first."""
    places = [*material.standing.get(axis.id, {}).values()]
    if not places:
        return
    first = [one.entry for one in places if one.tier == 1]
    named = [material.labels[name] for name in first[:LEADERS]]
    more = len(first) - len(named)
    best = places[0].figure
    others = join_names([*named[1:], *([f"{more} more"] if more else [])]).unescape()
    yield Card(
        label=axis.title,
        value=breakable(brief(material.labels[places[0].entry], 28)),
        note=f"{numbers.fixed(best.value, 1)} {numbers.interval(best.low, best.high, 1)}"
        + ("" if len(first) == 1 else f"; not told apart: {others}"),
    )


def _sections(material: SiteData) -> Iterator[Section]:
    yield Section("The board", [BoardTable(material)] if material.published else [_empty()], _board_words(material))
    if material.provisional:
        yield Section(
            "Not published yet", [_provisional(material)], "Judges or scorers still owe answers. Bounds, no ranks."
        )
    if material.retracted:
        yield Section("Retracted", [_retracted(material)], "Taken back, with the reason.")
    if len(material.axes) > 1 and material.published:
        yield Section("Capability and preference", [_scatter(material)], _liked(material))
    yield from group_multiples(material)
    yield from criterion_multiples(material)
    yield from arena_summary(material)
    yield from raters_summary(material)


def _board_words(material: SiteData) -> str:
    level = numbers.percent(material.suite.card.level)
    return (
        f"Bars run from 0 to 100 and show {level} intervals over prompts; under them the interval and, after #, the "
        "ranks an entry may truly hold. Rows on one line at the left are a tie group: none can be told from its best."
    )


def _empty() -> Note:
    return Note("No entry is published yet.", heading="")


def _provisional(material: SiteData) -> Table:
    columns = [Column("name", "Entry"), Column("open", "Answers open"), Column("missing", "Pictures missing")]
    columns += [Column(axis.id.replace(".", " "), axis.title) for axis in material.axes]
    return Table(
        columns, [_provisional_row(material, one) for one in material.provisional], sortable=False, label="Provisional"
    )


def _provisional_row(material: SiteData, one: SiteEntry) -> dict[str, object]:
    missing = sum(picture.image is None for picture in one.entry.pictures)
    row: dict[str, object] = {
        "name": entry_link(material, one),
        "open": "not judged yet",
        "missing": numbers.count(missing),
    }
    found = {axis.id.replace(".", " "): axis.of(one.result) if one.result else None for axis in material.axes}
    if one.result:
        row["open"] = numbers.count(max((axis.coverage.open for axis in found.values() if axis), default=0))
    return row | {id: _bounds(axis) for id, axis in found.items()}


def _bounds(axis: AxisResult | None) -> str:
    if axis is None:
        return numbers.MISSING
    low = numbers.fixed(axis.figure.value, 1)
    return low if axis.complete else f"{low} to {numbers.fixed(axis.at_best, 1)}"


def _retracted(material: SiteData) -> Table:
    rows = [
        {
            "name": entry_link(material, one),
            "reason": sentence(brief(one.retraction.reason, 400)),
            "at": one.retraction.at[:10],
        }
        for one in material.retracted
    ]
    columns = [Column("name", "Entry"), Column("reason", "Reason"), Column("at", "When")]
    return Table(columns, rows, sortable=False, label="Retracted")


def _liked(material: SiteData) -> str:
    """What EPS rests on is said where it is first drawn."""
    note = material.suite.reference.note if material.suite.reference else ""
    return "What can be checked, and what is liked." + (f" {sentence(note)}" if note else "")


def _scatter(material: SiteData) -> Chart:
    headline = next(axis for axis in material.axes if axis.id == material.headline)
    dots = [
        charts.ScatterMark(
            material.labels[one.name], _triple(one.computed.capability), _triple(found),
            f"overall rank {rank_range(material.standing[material.axes[0].id].get(one.name))}",
        )
        for one in material.published if (found := headline.of(one.computed))
    ]  # fmt: skip
    drawing = charts.scatter(
        dots,
        title="Capability against EPS",
        x_label="Capability",
        y_label=headline.title,
        y_line=("the frozen reference: 50", 50.0),
        width=BROAD,
    )
    level = numbers.percent(material.suite.card.level)
    return Chart(
        drawing,
        caption=f"Crosses are {level} intervals over prompts. Axes run over the data, not from 0. The dashed line is "
        "the frozen reference. Names stand where there is room; the others show when pointed at.",
    )


def _triple(axis: AxisResult) -> tuple[float, float | None, float | None]:
    return axis.figure.value, axis.figure.low, axis.figure.high


def _notes(material: SiteData) -> list[str]:
    policies = material.published[0].computed.policies if material.published else ()
    return [*policies, "Ranks and tie groups depend on who stands on the board; published numbers never do."]


def entry_link(material: SiteData, one: SiteEntry) -> Markup:
    """A link to an entry's page."""
    return element("a", material.labels[one.name], href=f"generators/{material.entry_pages[one.name]}.html")
