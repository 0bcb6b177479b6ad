"""Charts as figures of a paper: SVG files that need no style sheet, in the widths of one and two columns.

    for figure in paper_figures(page.sections):
        figure.svg(ONE_COLUMN)

Colors are those of the light theme on white. Every rule of the style sheet is written into the elements, because many
programs read SVG without CSS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from xml.etree import ElementTree

from markupsafe import Markup

from salon.errors import BadValue
from salon.report.block import Details, Figure, Figures
from salon.report.frame import Key, legend
from salon.report.page import Section, anchors, asset
from salon.report.palette import LIGHT
from salon.report.svg import Drawing

ONE_COLUMN = 85
"""Millimeters of a figure in one column."""
TWO_COLUMNS = 178
"""Millimeters of a figure over two columns."""
PIXELS = 4
"""Pixels of a drawing in a millimeter: its text of 12 pixels is 8.5 points tall in print."""
MARGIN = 4
"""Pixels of white around a drawing."""
FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"

_COLORS = {**LIGHT, "paper": "#ffffff"}
_COMPOUND = re.compile(r'(?P<tag>[a-z]*)(?P<classes>(?:\.[\w-]+)*)(?:\[class\*="(?P<part>[^"]+)"\])?')
_PAINTED = frozenset({
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
    "stroke-linejoin", "font-size", "font-weight", "font-family",
})  # fmt: skip
_GEOMETRY = frozenset({
    "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "d", "width", "height", "transform", "text-anchor",
})  # fmt: skip


@dataclass(frozen=True)
class PaperFigure:
    """A chart of a page, ready to be written to files."""

    name: str
    """No two of a page are alike."""
    drawing: Drawing
    csv: str
    keys: tuple[Key, ...] = ()
    """What the page explains beside the chart, and a file must explain in it."""
    caption: str = ""

    def svg(self, millimeters: int) -> str:
        """The text of an .svg file of this width."""
        return ElementTree.tostring(self.tree(millimeters), encoding="unicode") + "\n"

    def tree(self, millimeters: int) -> ElementTree.Element:
        """The same as elements: svg, title, desc, g, rect, line, circle, path and text with attributes of their own."""
        source = ElementTree.fromstring(self.drawing.at(millimeters * PIXELS - 2 * MARGIN))
        width, height = map(float, (source.get("viewBox") or "").split()[2:])
        keys, used = legend(self.keys, 0, 0, width)
        whole = (width + 2 * MARGIN, height + used + 2 * MARGIN)
        corner = f"{-MARGIN:g}"
        root = ElementTree.Element("svg", {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"{corner} {corner} {whole[0]:g} {whole[1]:g}",
            "width": f"{millimeters}mm",
            "height": f"{whole[1] * millimeters / whole[0]:.2f}mm",
            "font-family": FONTS,
        })  # fmt: skip
        ElementTree.SubElement(root, "rect", {
            "x": corner, "y": corner, "width": f"{whole[0]:g}", "height": f"{whole[1]:g}", "fill": _COLORS["paper"],
        })  # fmt: skip
        if self.keys:
            root.extend(_plain(ElementTree.fromstring(keys)))
        body = ElementTree.SubElement(root, "g", {"transform": f"translate(0 {used:g})"}) if self.keys else root
        for number, child in enumerate(source):
            if child.tag in ("title", "desc"):
                words = ElementTree.Element(child.tag)
                words.text = child.text
                root.insert(number, words)
            else:
                body.extend(_plain(child))
        return root


def paper_figures(sections: Sequence[Section]) -> list[PaperFigure]:
    """Every chart of a page, in its order."""
    charts = [found for section in sections for found in _charts(section.blocks)]
    names = anchors([figure.name for figure, *_ in charts])
    return [
        PaperFigure(name, figure.drawing, figure.csv, keys, " ".join(filter(None, (figure.heading, _words(caption)))))
        for name, (figure, keys, caption) in zip(names, charts)
        if isinstance(figure.drawing, Drawing)
    ]


def _words(caption: str) -> str:
    """A caption without markup."""
    return caption.striptags() if isinstance(caption, Markup) else caption


def _charts(blocks: Sequence[object]) -> Iterator[tuple[Figure, tuple[Key, ...], str]]:
    """Charts with the keys and the caption that they have on the page, their own or that of their row."""
    for block in blocks:
        if isinstance(block, Figure) and isinstance(block.drawing, Drawing):
            yield block, (), block.caption
        elif isinstance(block, Figures):
            keys = tuple(Key(swatch, words, "line" if "line" in swatch else "box") for swatch, words in block.legend)
            yield from ((figure, keys, own or block.caption) for figure, _, own in _charts(block.figures))
        elif isinstance(block, Details):
            yield from _charts(block.blocks)


# -- the style sheet, written into elements ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rule:
    tag: str
    classes: frozenset[str]
    part: str | None
    declarations: Mapping[str, str]

    @property
    def weight(self) -> tuple[int, int]:
        return len(self.classes) + (self.part is not None), bool(self.tag)

    def holds(self, tag: str, classes: str) -> bool:
        return (
            self.tag in ("", tag)
            and self.classes <= set(classes.split())
            and (self.part is None or self.part in classes)
        )


@cache
def _rules() -> tuple[_Rule, ...]:
    """The rules of chart.css for the parts of a chart at rest, the strongest last."""
    rules = []
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", asset("chart.css")):
        lines = (line.partition(":") for line in body.split(";") if line.strip())
        declarations = {name.strip(): value.strip() for name, _, value in lines}
        for selector in (part.strip() for part in selectors.split(",")):
            if ":hover" in selector or selector == "svg.chart":
                continue
            match = _COMPOUND.fullmatch(selector.removeprefix("svg.chart "))
            if match is None:
                raise BadValue("a selector of one element, classes or part of a class is needed", found=selector)
            classes = frozenset(match["classes"].split(".")) - {""}
            rules.append(_Rule(match["tag"], classes, match["part"], declarations))
    return tuple(sorted(rules, key=lambda rule: rule.weight))


@cache
def _styles(tag: str, classes: str) -> Mapping[str, str]:
    """What the style sheet says of an element, variables replaced."""
    said: dict[str, str] = {}
    for rule in _rules():
        if rule.holds(tag, classes):
            said |= rule.declarations
    if font := said.pop("font", ""):
        said.setdefault("font-size", font.split()[0])
    return {name: _value(value, said).removesuffix("px") for name, value in said.items()}


def _value(value: str, said: Mapping[str, str]) -> str:
    """`value` with its variables replaced: those of the element first, then colors."""

    def known(match: re.Match[str]) -> str:
        own = said.get(f"--{match[1]}")
        return _COLORS[match[1]] if own is None else _value(own, said)

    return re.sub(r"var\(--([\w-]+)\)", known, value)


def _plain(element: ElementTree.Element) -> list[ElementTree.Element]:
    """An element without classes; none for what cannot be seen, two for text with a halo."""
    styles = _styles(element.tag, element.get("class", ""))
    if element.tag == "title" or styles.get("fill") == "transparent":
        return []
    given = {name: value for name, value in element.attrib.items() if name in _GEOMETRY | _PAINTED}
    painted = {name: value for name, value in styles.items() if name in _PAINTED}
    copy = ElementTree.Element(element.tag, {**given, **painted})
    if element.tag == "text":
        copy.text = "".join([element.text or "", *(child.tail or "" for child in element)])
    else:
        copy.extend([plain for child in element for plain in _plain(child)])
    if styles.get("paint-order") != "stroke":
        return [copy]
    halo = ElementTree.Element(copy.tag, {**copy.attrib, "fill": "none"})
    halo.text = copy.text
    for name in [name for name in copy.attrib if name.startswith("stroke")]:
        del copy.attrib[name]
    return [halo, copy]
