"""The front page: the board, who stands beside it, and what the numbers look like together."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from salon.bench.results import AxisResult
from salon.bench.site.arena_page import arena_summary
from salon.bench.site.board_table import BoardTable, rank_range
from salon.bench.site.frame import SitePage
from salon.bench.site.material import Axis, Material, Shown
from salon.bench.site.multiples import criterion_multiples, group_multiples
from salon.bench.site.raters_page import raters_summary
from salon.report import Card, Column, Figure, Note, Section, Table, charts, numbers
from salon.report.svg import element
from salon.report.words import breakable, brief, counted, listed, sentence

LEADERS = 3
"""Names on the card of those who lead; the others are counted."""


BROAD = 1040
"""Pixels of the drawing that has the whole width of the page."""


def index_page(material: Material) -> SitePage:
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


def _signature(material: Material) -> str:
    shown = material.published[0].computed.signature if material.published else None
    return f"salon:{shown.version}" if shown else "no entry"


def _subtitle(material: Material) -> Markup:
    suite = material.suite
    pictures = len(suite.prompts) * suite.card.images
    if not material.published:
        return Markup("{} wait for the first entry.").format(counted(len(suite.prompts), "prompt"))
    about = f" {sentence(suite.card.about)}" if suite.card.about else ""
    return Markup("{} answered {} with {} each.{}").format(
        counted(len(material.published), "entry", "entries"),
        counted(len(suite.prompts), "prompt"),
        counted(pictures, "picture"),
        about,
    )


def _cards(material: Material) -> list[Card]:
    return [card for axis in material.axes[:3] for card in _leaders(material, axis)]


def _leaders(material: Material, axis: Axis) -> Iterator[Card]:
    """Who leads an axis: everybody who cannot be told from the first."""
    places = [*material.standing.get(axis.id, {}).values()]
    if not places:
        return
    first = [one.entry for one in places if one.tier == 1]
    named = [material.labels[name] for name in first[:LEADERS]]
    more = len(first) - len(named)
    best = places[0].figure
    others = listed([*named[1:], *([f"{more} more"] if more else [])]).unescape()
    yield Card(
        label=axis.title,
        value=breakable(brief(material.labels[places[0].entry], 28)),
        note=f"{numbers.fixed(best.value, 1)} {numbers.interval(best.low, best.high, 1)}"
        + ("" if len(first) == 1 else f"; not told apart: {others}"),
    )


def _sections(material: Material) -> Iterator[Section]:
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


def _board_words(material: Material) -> str:
    level = numbers.percent(material.suite.card.level)
    return (
        f"Bars run from 0 to 100 and show {level} intervals over prompts; under them the interval and, after #, the "
        "ranks an entry may truly hold. Rows on one line at the left are a tie group: none can be told from its best."
    )


def _empty() -> Note:
    return Note("No entry is published yet.", heading="")


def _provisional(material: Material) -> Table:
    columns = [Column("name", "Entry"), Column("open", "Answers open"), Column("missing", "Pictures missing")]
    columns += [Column(axis.id.replace(".", " "), axis.title) for axis in material.axes]
    return Table(
        columns, [_provisional_row(material, one) for one in material.provisional], sortable=False, label="Provisional"
    )


def _provisional_row(material: Material, one: Shown) -> dict[str, object]:
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


def _retracted(material: Material) -> Table:
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


def _liked(material: Material) -> str:
    """What EPS rests on is said where it is first drawn."""
    note = material.suite.reference.note if material.suite.reference else ""
    return "What can be checked, and what is liked." + (f" {sentence(note)}" if note else "")


def _scatter(material: Material) -> Figure:
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
    return Figure(
        drawing,
        caption=f"Crosses are {level} intervals over prompts. Axes run over the data, not from 0. The dashed line is "
        "the frozen reference. Names stand where there is room; the others show when pointed at.",
    )


def _triple(axis: AxisResult) -> tuple[float, float | None, float | None]:
    return axis.figure.value, axis.figure.low, axis.figure.high


def _notes(material: Material) -> list[str]:
    policies = material.published[0].computed.policies if material.published else ()
    return [*policies, "Ranks and tie groups depend on who stands on the board; published numbers never do."]


def entry_link(material: Material, one: Shown) -> Markup:
    """A link to an entry's page."""
    return element("a", material.labels[one.name], href=f"generators/{material.entry_pages[one.name]}.html")
