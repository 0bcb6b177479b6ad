"""tags.html: every tag by every entry, as a grid of shaded numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from salon.bench.results import GroupResult
from salon.bench.site.frame import SiteBlock, SitePage
from salon.bench.site.material import Material
from salon.bench.site.wording import capital
from salon.report import Section, numbers
from salon.report.words import brief
from salon.stats.result import Estimate

STEPS = 10
"""Shades from 0 to 100."""


@dataclass(frozen=True)
class GridCell:
    """One number, its shade and its interval."""

    words: str
    shade: int
    hint: str


@dataclass(frozen=True)
class GridRow:
    """A tag, or a group of tags above its own."""

    name: str
    prompts: int
    cells: Sequence[GridCell | None]
    is_group: bool


@dataclass(frozen=True)
class Grid(SiteBlock):
    """Tags down, entries across."""

    template: ClassVar[str] = "grid.html"

    name: str
    heads: Sequence[tuple[str, str]]
    """(words, address) of each entry."""
    rows: Sequence[GridRow]


def tags_page(material: Material) -> SitePage:
    """tags.html."""
    return SitePage(
        path="tags.html",
        title="Tags",
        subtitle=f"{len(material.suite.tags)} kinds of task in {len(material.tag_groups)} groups, entry by entry.",
        head=material.head,
        sections=[*_sections(material)],
        notes=["Few prompts a tag make wide intervals: point at a number to see its own."],
        wide=True,
    )


def _sections(material: Material) -> Iterator[Section]:
    yield Section("Capability", [_grid(material, "Capability by tag", lambda group: group.capability)], "0 to 100.")
    column = material.headline
    if column and len(material.axes) > 1:
        grid = _grid(material, "EPS by tag", lambda group: group.eps.get(column))
        left_out = [tag.name for tag in material.suite.tags if not tag.eps]
        without = f" {len(left_out)} tags count for Capability only." if left_out else ""
        yield Section("EPS", [grid], f"0 to 100; 50 is the frozen reference.{without}")


def _grid(material: Material, name: str, read: Callable[[GroupResult], Estimate | None]) -> Grid:
    rows = []
    for group in material.tag_groups:
        tags = [tag for tag in material.suite.tags if tag.group == group]
        lines = [_row(material, "group", group, group, read)]
        lines += [_row(material, "tag", tag.id, tag.name, read) for tag in tags]
        rows += [line for line in lines if any(line.cells)]
    heads = [
        (brief(material.labels[one.name], 24), f"generators/{material.entry_pages[one.name]}.html")
        for one in material.published
    ]
    return Grid(name, heads, rows)


def _row(material: Material, kind: str, id: str, name: str, read: Callable[[GroupResult], Estimate | None]) -> GridRow:
    held = [material.groups[one.name].get((kind, id)) for one in material.published]
    prompts = next((group.prompts for group in held if group), 0)
    return GridRow(capital(name), prompts, [_cell(read(group)) if group else None for group in held], kind == "group")


def _cell(figure: Estimate | None) -> GridCell | None:
    if figure is None:
        return None
    shade = min(STEPS, max(0, round(figure.value / 100 * STEPS)))
    return GridCell(numbers.fixed(figure.value, 0), shade, numbers.interval(figure.low, figure.high, 0))
