"""A report as one HTML file, its colors, and its charts as figures for a paper.

    for figure in paper_figures(page.sections):
        figure.svg(ONE_COLUMN)

Cohorts, null and alert have colors that color-blind readers can tell apart, and none of them carries meaning without
words, a shape or a dash beside it. Paper figures use the light colors on white; every rule of the style sheet is
written into the elements, because many programs read SVG without CSS.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from markupsafe import Markup

from salon.errors import BadFile, BadValue
from salon.report import svg
from salon.report.blocks import Block, Card, Chart, ChartRow, Details, slug, templates
from salon.report.glossary import explain_terms
from salon.report.svg import Drawing, LegendKey, legend
from salon.store import put_file

GENERATOR = b'<meta name="generator" content="salon">'
"""What every page of Salon's holds in its head."""
EXPLANATIONS = "<!-- terms -->"
"""Where a page holds the explanations of its terms."""
BESIDE = 600
"""Pixels of the chart beside the answer."""


@dataclass(frozen=True)
class Section:
    """A heading and the blocks under it; plain strings are paragraphs."""

    title: str
    blocks: Sequence[Block | str]
    summary: str = ""
    """One sentence under the heading."""


@dataclass(frozen=True)
class Answer:
    """The first screen: the answer in words, the one chart behind it, and what to do next."""

    words: Sequence[str]
    """Paragraphs; the first is the answer."""
    chart: Chart | None = None
    next_steps: Sequence[str] = ()

    @property
    def drawn(self) -> Chart | None:
        """The chart at the width it has beside the words."""
        if self.chart is None or not isinstance(self.chart.drawing, Drawing):
            return self.chart
        return replace(self.chart, drawing=self.chart.drawing.redrawn(BESIDE))


@dataclass(frozen=True)
class Page:
    """Title, answer, cards, contents, sections, and a footer that says how to make it again."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    answer: Answer | None = None
    cards: Sequence[Card] = ()
    kicker: str = "Salon"
    signature: str = ""
    """The line that reproduces every number of the page."""
    notes: Sequence[str] = field(default_factory=tuple)
    """Small print above the signature: policies, versions, sources."""
    banner: str = ""
    """What nobody may overlook, above the title: that a study is simulated."""
    tab: str = ""
    """The name of the window, where it should say more than the title."""
    language: str = "en"

    @property
    def parts(self) -> list[Section]:
        """The sections, after one for the chart of the first screen: everything that `paper_figures` reads."""
        first = self.answer.chart if self.answer else None
        return [*([Section("", [first])] if first else []), *self.sections]

    def html(self) -> str:
        """The whole page as text; the same page always gives the same bytes."""
        script = asset("page.js")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
        text = templates().get_template("page.html").render(
            page=self,
            anchors=anchors([section.title for section in self.sections]),
            fewest=1,
            style=Markup(style()),
            script=Markup(script),
            policy=policy,
            icon=icon(),
        )  # fmt: skip
        text, explanations = explain_terms(svg.clean(_regions_apart(text)))
        return text.replace(EXPLANATIONS, explanations, 1)

    def write(self, target: str | os.PathLike[str]) -> Path:
        """Write the page whole or not at all; only a page of Salon's own is ever replaced."""
        path = page_target(target)
        put_file(path, self.html().encode())
        return path


def ground() -> str:
    """What all of Salon's pages stand on, those of the studio too: colours, type, links, focus."""
    return palette_css() + "\n" + asset("ground.css")


def style() -> str:
    """The style sheet of every report: the ground, charts, page."""
    return "\n".join((ground(), asset("chart.css"), asset("page.css")))


@cache
def icon() -> str:
    """Salon's icon as an address, for pages that are one file."""
    return "data:image/svg+xml," + quote(asset("favicon.svg"), safe="")


def standalone_svg(drawing: str) -> str:
    """A drawing as the text of an .svg file that follows the reader's theme."""
    return svg.standalone(drawing, palette_css() + "\n" + asset("chart.css"))


def anchors(titles: Sequence[str], otherwise: str = "section") -> list[str]:
    """One id per heading, in ASCII, no two alike."""
    counts: dict[str, int] = {}
    ids = []
    for title in titles:
        name = slug(title) or otherwise
        counts[name] = counts.get(name, 0) + 1
        ids.append(name if counts[name] == 1 else f"{name}--{counts[name]}")
    return ids


@cache
def asset(name: str) -> str:
    """A text file of this package."""
    return (resources.files("salon.report") / "templates" / name).read_text(encoding="utf-8")


def _regions_apart(html: str) -> str:
    """Regions of one name get numbers from the second on, for who goes from one to the next by ear."""
    counts: Counter[str] = Counter()

    def named(match: re.Match[str]) -> str:
        counts[match[1]] += 1
        number = f" ({counts[match[1]]})" if counts[match[1]] > 1 else ""
        return f'role="region" aria-label="{match[1]}{number}"'

    return re.sub(r'role="region" aria-label="([^"]*)"', named, html)


def page_target(target: str | os.PathLike[str]) -> Path:
    """Where a page may be written: a new file, or an earlier page of Salon's. BadFile for anything else."""
    path = Path(target).resolve()
    if path.exists() and not (path.is_file() and _is_page(path)):
        raise BadFile(
            "a page is written to a new file, or over an earlier page",
            found="something else that is there already",
            where=str(target),
            remedy="choose another name, or move what is there",
        )
    parent = next(folder for folder in path.parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise BadFile("a folder that can be written to is needed", found=str(parent), where=str(target))
    return path


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return GENERATOR in file.read(2000)


# -- colors ---------------------------------------------------------------------------------------------------------

LIGHT = {
    "paper": "#fbfaf6",
    "card": "#ffffff",
    "ink": "#1f1d1a",
    "soft": "#5e5a52",
    "rule": "#e2ddd2",
    "rule-strong": "#b9b2a4",
    "edge": "#8c8576",
    "accent": "#8a3b1e",
    "cohort-1": "#2a5ea3",
    "cohort-2": "#9c5305",
    "cohort-3": "#0b4d3e",
    "cohort-4": "#641f66",
    "null": "#68635a",
    "null-wash": "#efebe2",
    "alert": "#8c061a",
    "good": "#14735d",
    "heat-above": "#7fb2e0",
    "heat-below": "#eeab72",
}

DARK = {
    "paper": "#161512",
    "card": "#1e1c19",
    "ink": "#efeae0",
    "soft": "#aba498",
    "rule": "#35322c",
    "rule-strong": "#5c574d",
    "edge": "#7a7467",
    "accent": "#eb9d77",
    "cohort-1": "#84b3ee",
    "cohort-2": "#e6a250",
    "cohort-3": "#a1eac4",
    "cohort-4": "#a683cd",
    "null": "#a09a8e",
    "null-wash": "#2a2823",
    "alert": "#f95b5b",
    "good": "#66c4a7",
    "heat-above": "#2f659d",
    "heat-below": "#8d4f16",
}


def palette_css() -> str:
    """Light by default and on paper; dark by the system's wish or by the reader's toggle."""
    return "\n".join(
        [
            _css_block(":root", "light", LIGHT),
            "@media screen and (prefers-color-scheme: dark) {",
            _css_block(':root:not([data-theme="light"])', "dark", DARK),
            "}",
            "@media screen {",
            _css_block(':root[data-theme="dark"]', "dark", DARK),
            "}",
        ]
    )


def _css_block(selector: str, scheme: str, colors: dict[str, str]) -> str:
    lines = "".join(f"  --{name}: {value};\n" for name, value in colors.items())
    return f"{selector} {{\n  color-scheme: {scheme};\n{lines}}}"


# -- figures for a paper --------------------------------------------------------------------------------------------

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
    keys: tuple[LegendKey, ...] = ()
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
            root.extend(_plain_elements(ElementTree.fromstring(keys)))
        body = ElementTree.SubElement(root, "g", {"transform": f"translate(0 {used:g})"}) if self.keys else root
        for number, child in enumerate(source):
            if child.tag in ("title", "desc"):
                words = ElementTree.Element(child.tag)
                words.text = child.text
                root.insert(number, words)
            else:
                body.extend(_plain_elements(child))
        return root


def paper_figures(sections: Sequence[Section]) -> list[PaperFigure]:
    """Every chart of a page, in its order."""
    charts = [chart for section in sections for chart in _charts(section.blocks)]
    names = anchors([figure.name for figure, *_ in charts])
    return [
        PaperFigure(
            name,
            figure.drawing,
            figure.csv,
            keys,
            " ".join(filter(None, (figure.heading, (caption.striptags() if isinstance(caption, Markup) else caption)))),
        )
        for name, (figure, keys, caption) in zip(names, charts)
        if isinstance(figure.drawing, Drawing)
    ]


def _charts(blocks: Sequence[object]) -> Iterator[tuple[Chart, tuple[LegendKey, ...], str]]:
    """Charts with the keys and the caption that they have on the page, their own or that of their row."""
    for block in blocks:
        if isinstance(block, Chart) and isinstance(block.drawing, Drawing):
            yield block, (), block.caption
        elif isinstance(block, ChartRow):
            keys = tuple(
                LegendKey(swatch, words, "line" if "line" in swatch else "box") for swatch, words in block.legend
            )
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
    declarations: dict[str, str] = {}
    for rule in _rules():
        if rule.holds(tag, classes):
            declarations |= rule.declarations
    if font := declarations.pop("font", ""):
        declarations.setdefault("font-size", font.split()[0])
    return {name: _value(value, declarations).removesuffix("px") for name, value in declarations.items()}


def _value(value: str, declarations: Mapping[str, str]) -> str:
    """`value` with its variables replaced: those of the element first, then colors."""

    def known(match: re.Match[str]) -> str:
        own = declarations.get(f"--{match[1]}")
        return _COLORS[match[1]] if own is None else _value(own, declarations)

    return re.sub(r"var\(--([\w-]+)\)", known, value)


def _plain_elements(element: ElementTree.Element) -> list[ElementTree.Element]:
    """An element without classes; none for what cannot be seen, two for text with a halo."""
    styles = _styles(element.tag, element.get("class", ""))
    if element.tag == "title" or styles.get("fill") == "transparent":
        return []
    attributes = {name: value for name, value in element.attrib.items() if name in _GEOMETRY | _PAINTED}
    painted = {name: value for name, value in styles.items() if name in _PAINTED}
    copy = ElementTree.Element(element.tag, {**attributes, **painted})
    if element.tag == "text":
        copy.text = "".join([element.text or "", *(child.tail or "" for child in element)])
    else:
        copy.extend([plain for child in element for plain in _plain_elements(child)])
    if styles.get("paint-order") != "stroke":
        return [copy]
    halo = ElementTree.Element(copy.tag, {**copy.attrib, "fill": "none"})
    halo.text = copy.text
    for name in [name for name in copy.attrib if name.startswith("stroke")]:
        del copy.attrib[name]
    return [halo, copy]
