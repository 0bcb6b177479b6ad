"""A poster's layers as SVG: one group for each element, letters as outlines, named by the words they show.

It draws what the rasteriser draws (filters in sRGB, blends against the picture itself) save for grain, whose noise each
viewer makes in its own way. No scripts, no links, no fonts; every word from the brief is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from salon.render.marks import Layer
from salon.render.paint.svg_marks import MarkWriter
from salon.render.paint.svg_text import number, opened, tag


def write_svg(
    layers: Sequence[Layer], width: int, height: int, *, title: str, labels: Mapping[str, str] | None = None
) -> str:
    """Layers, the first lowest, as an SVG document. `labels` gives the words of text elements by element id."""
    writer = MarkWriter()
    body = []
    for layer in layers:
        label = (labels or {}).get(layer.element)
        role = {"role": "img", "aria-label": label} if label else {}
        body += [opened("g", id=layer.element, **role), *writer.lines(layer.marks), "</g>"]
    size = {"width": number(width), "height": number(height), "viewBox": f"0 0 {number(width)} {number(height)}"}
    head = [opened("svg", xmlns="http://www.w3.org/2000/svg", **size), tag("title", title)]
    defs = ["<defs>", *writer.defs, "</defs>"] if writer.defs else []
    paper = tag("rect", width=size["width"], height=size["height"], fill="#ffffff")
    return "\n".join([*head, *defs, paper, *body, "</svg>", ""])
