"""The board: a row for each published entry, its axes with intervals, ranges of ranks and tie groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from markupsafe import Markup

from salon.bench.results import AxisResult
from salon.bench.site.frame import SiteBlock
from salon.bench.site.material import Axis, Material, Shown
from salon.bench.standings import Standing
from salon.report import numbers
from salon.report.svg import element
from salon.report.values import value
from salon.report.words import breakable, brief, listed
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

    material: Material

    @property
    def axes(self) -> tuple[Axis, ...]:
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

    def _row(self, index: int, one: Shown, *, starts: bool, shaded: bool) -> BoardRow:
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

    def _cell(self, index: int, one: Shown, axis: Axis) -> AxisCell:
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
    return f"not told apart from {listed([*named, *([f'{more} more'] if more else [])]).unescape()}"


def _tier(standing: Standing | None) -> str:
    return "" if standing is None else str(standing.tier)
