"""Small multiples: one panel for each group of tags, one for each criterion, all on one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from markupsafe import Markup

from salon.bench.site.material import Axis, Material, Shown
from salon.bench.site.wording import capital
from salon.report import SMALL, Figure, Figures, Section, charts
from salon.report.svg import element
from salon.stats.result import Estimate

MOST = 8
"""Rows of a panel; where there are more entries, the best of each panel."""
FEW = 12
"""Up to this many entries, panels show all."""

Read = Callable[[Shown], Estimate | None]


def group_multiples(material: Material) -> Iterator[Section]:
    """Capability by group of tags."""
    panels = []
    for name in material.tag_groups:
        panels += panel(material, capital(name), partial(_capability, material, name))
    if panels and len(material.tag_groups) > 1:
        yield Section("By kind of task", [Figures(panels, caption=_caption(material, "Capability"))], "Capability.")


def criterion_multiples(material: Material) -> Iterator[Section]:
    """EPS columns beside the headline."""
    panels = []
    for axis in material.axes[1:]:
        if axis.id in (material.headline, "capability"):
            continue
        panels += panel(material, axis.title, partial(_figure_of, axis))
    if panels:
        yield Section(
            "By criterion", [Figures(panels, caption=_caption(material, "EPS"))], "EPS of each criterion's own scorer."
        )


def _figure_of(axis: Axis, one: Shown) -> Estimate | None:
    found = axis.of(one.computed)
    return found.figure if found else None


def panel(material: Material, title: str, read: Read) -> list[Figure]:
    """One panel, best first; nothing where no entry has the number."""
    found = [(material.labels[one.name], figure) for one in material.published if (figure := read(one)) is not None]
    if not found:
        return []
    ordered = sorted(found, key=lambda pair: -pair[1].value)
    shown = ordered if len(ordered) <= FEW else ordered[:MOST]
    marks = [charts.ScoreMark(label, figure.value, figure.low, figure.high) for label, figure in shown]
    drawing = charts.caterpillar(marks, title=title, x_range=(0.0, 100.0), decimals=0, width=SMALL)
    return [Figure(drawing, heading=title)]


def _capability(material: Material, group: str, one: Shown) -> Estimate | None:
    found = material.groups[one.name].get(("group", group))
    return found.capability if found else None


def _caption(material: Material, axis: str) -> Markup:
    many = len(material.published) > FEW
    which = (
        f"The best {MOST} of {len(material.published)} in each panel: the first of many is partly luck"
        if many
        else "All entries"
    )
    return Markup("{}, 0 to 100, with intervals. {}. Every number, tag by tag: {}.").format(
        axis, which, element("a", "Tags", href="tags.html")
    )
