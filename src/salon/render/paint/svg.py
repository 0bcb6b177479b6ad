"""A poster's layers as SVG: one group for each element, letters as outlines, named by the words they show.

It draws what the rasteriser draws (filters in sRGB, blends against the picture itself) save for grain, whose noise each
viewer makes in its own way. No scripts, no links, no fonts; every word from the brief is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from xml.sax.saxutils import escape, quoteattr

from salon.render.marks import (
    Fill,
    Glyphs,
    Grain,
    Group,
    Layer,
    Linear,
    Mark,
    Paint,
    Path,
    Radial,
    Shadow,
    Soft,
    Stroke,
    Tile,
)
from salon.render.shapes import transformed
from salon.render.typeset.setting import outlines


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


# Marks


Span = tuple[float, float, float, float]
"""Left, top, right, bottom."""
NOISE_GAIN = 2.4
"""Perlin noise is paler than the rasteriser's: its deviation times this agrees."""


class MarkWriter:
    """Writes marks, gathering what they refer to in `defs`."""

    def __init__(self) -> None:
        self.defs: list[str] = []
        self._ids: dict[object, str] = {}

    def lines(self, marks: tuple[Mark, ...]) -> list[str]:
        """The marks as elements, one a line."""
        return [line for mark in marks for line in self._lines(mark)]

    def _lines(self, mark: Mark) -> list[str]:
        match mark:
            case Fill():
                return self.fill(mark)
            case Stroke():
                return self.stroke(mark)
            case Glyphs():
                return self.glyphs(mark)
            case Tile():
                return self.tile(mark)
            case Soft():
                return self.soft(mark)
            case Grain():
                return self.grain(mark)
            case Group():
                return self.group(mark)

    def fill(self, mark: Fill) -> list[str]:
        """A filled outline."""
        rule = _rule(mark.path)
        return [tag("path", d=path_data(mark.path), **self._filled(mark), fill_rule=rule, **_laid(mark))]

    def stroke(self, mark: Stroke) -> list[str]:
        """A line along an outline."""
        ends = {
            "stroke_linecap": None if mark.cap == "butt" else mark.cap,
            "stroke_linejoin": None if mark.join == "miter" else mark.join,
            "stroke_dasharray": " ".join(map(number, mark.dash)) or None,
        }
        line = {"fill": "none", "stroke": self._paint(mark.paint), "stroke_width": number(mark.width)}
        return [tag("path", d=path_data(mark.path), **line, **ends, **_laid(mark))]

    def glyphs(self, mark: Glyphs) -> list[str]:
        """Letters by their outlines."""
        if mark.outline is None:
            return [tag("path", d=_letters(mark), **self._filled(mark), **_laid(mark))]
        line = {"fill": "none", "stroke": self._paint(mark.paint), "stroke_width": number(mark.outline)}
        filter_ = self._blur(mark.blur, _span(mark)) if mark.blur else None
        return [tag("path", d=_letters(mark), **line, stroke_linejoin="round", filter=filter_, **_laid(mark))]

    def tile(self, mark: Tile) -> list[str]:
        """A pattern over an area."""
        turn = f"rotate({number(mark.angle)})" if mark.angle else None
        size = {"width": share(mark.width), "height": share(mark.height)}
        cell = partial(opened, "pattern", patternUnits="userSpaceOnUse", **size, patternTransform=turn)
        name = self._defined(mark, lambda id_: [cell(id=id_), *self.lines(mark.marks), "</pattern>"])
        return [tag("path", d=path_data(mark.within), fill=name, fill_rule=_rule(mark.within), **_laid(mark))]

    def soft(self, mark: Soft) -> list[str]:
        """Marks blurred together."""
        filter_ = self._blur(mark.blur, _around(mark.marks))
        return [opened("g", filter=filter_, **_laid(mark)), *self.lines(mark.marks), "</g>"]

    def grain(self, mark: Grain) -> list[str]:
        """Noise by overlay; each viewer has its own noise."""
        shift = number(0.5 - NOISE_GAIN / 2)
        grey = f"{NOISE_GAIN} 0 0 0 {shift} " * 3 + "0 0 0 0 1"
        noise = {"type": "fractalNoise", "baseFrequency": share(0.9 / max(mark.speck, 1.0)), "numOctaves": "1"}
        steps = [
            tag("feTurbulence", **noise, seed=str(mark.seed % 10_000)),
            tag("feColorMatrix", values=grey),
            tag("feComposite", in2="SourceAlpha", operator="in"),
        ]
        filter_ = self._filter(("grain", mark), _span(mark), steps)
        return [tag("path", d=path_data(mark.within), filter=filter_, opacity=share(mark.amount), style=_blend(mark))]

    def group(self, mark: Group) -> list[str]:
        """Marks as one; a shadow falls outside the clip and does not turn with the group, hence a group around."""
        matrix = None
        if mark.transform != (1, 0, 0, 1, 0, 0):
            matrix = f"matrix({' '.join(share(v) for v in mark.transform)})"
        apart = mark.shadow is not None or mark.opacity < 1 or mark.blend != "normal"
        if mark.clip is not None and not apart and any(map(_blend, mark.marks)):
            return [opened("g", transform=matrix), *self._clipped(mark.marks, self._clip(mark.clip)), "</g>"]
        inner = {"transform": matrix, "clip_path": None if mark.clip is None else self._clip(mark.clip)}
        if mark.shadow is None:
            return [opened("g", **inner, **_laid(mark)), *self.lines(mark.marks), "</g>"]
        outer = opened("g", filter=self._shadow(mark.shadow, _span(mark)), **_laid(mark))
        return [outer, opened("g", **inner), *self.lines(mark.marks), "</g>", "</g>"]

    def _clipped(self, marks: tuple[Mark, ...], clip: str) -> Iterator[str]:
        """Marks clipped one by one: a clip around all would keep their blends from what is below it."""
        for mark in marks:
            first, *rest = self.lines((mark,))
            style = _blend(mark)
            yield opened("g", clip_path=clip, style=style)
            yield from (first.replace(f' style="{style}"', "", 1), *rest, "</g>")

    def _filled(self, mark: Fill | Glyphs) -> dict[str, str | None]:
        filter_ = self._blur(mark.blur, _span(mark)) if mark.blur else None
        return {"fill": self._paint(mark.paint), "filter": filter_}

    def _paint(self, paint: Paint) -> str:
        return paint if isinstance(paint, str) else self._defined(paint, partial(_gradient, paint))

    def _clip(self, path: Path) -> str:
        outline = tag("path", d=path_data(path), clip_rule=_rule(path))
        return self._defined(("clip", path), lambda id_: [opened("clipPath", id=id_), outline, "</clipPath>"])

    def _blur(self, deviation: float, span: Span) -> str:
        step = tag("feGaussianBlur", stdDeviation=number(deviation))
        return self._filter(("blur", deviation, span), _widened(span, 3 * deviation), [step])

    def _shadow(self, shadow: Shadow, span: Span) -> str:
        place = {"dx": number(shadow.dx), "dy": number(shadow.dy), "stdDeviation": number(shadow.blur)}
        step = tag("feDropShadow", **place, flood_color=shadow.color, flood_opacity=share(shadow.opacity))
        return self._filter(("shadow", shadow, span), span, [step])

    def _filter(self, key: object, span: Span, steps: list[str]) -> str:
        left, top, right, bottom = span
        box = {"x": number(left), "y": number(top), "width": number(right - left), "height": number(bottom - top)}
        space = {"filterUnits": "userSpaceOnUse", "color-interpolation-filters": "sRGB"}
        return self._defined(key, lambda id_: [opened("filter", id=id_, **space, **box), *steps, "</filter>"])

    def _defined(self, key: object, write: Callable[[str], list[str]]) -> str:
        """A reference to a definition, written when first met."""
        if key not in self._ids:
            self._ids[key] = f"_{len(self._ids) + 1}"
            self.defs += write(self._ids[key])
        return f"url(#{self._ids[key]})"


@lru_cache(maxsize=20_000)
def _letter(face: str, size: float, glyph: int) -> str:
    """One glyph's outline in steps from its origin."""
    return relative_data(outlines(Glyphs(face, size, (glyph,), (0.0,), (0.0,), "#000000")))


def _letters(mark: Glyphs) -> str:
    """The `d` of a run."""
    places = zip(mark.ids, mark.xs, mark.ys)
    return "".join(f"M{number(x)} {number(y)}{_letter(mark.face, mark.size, glyph)}" for glyph, x, y in places)


def _gradient(paint: Linear | Radial, id_: str) -> list[str]:
    if isinstance(paint, Linear):
        name = "linearGradient"
        place = {"x1": paint.x0, "y1": paint.y0, "x2": paint.x1, "y2": paint.y1}
    else:
        name = "radialGradient"
        place = {"cx": paint.x, "cy": paint.y, "r": paint.r}
    stops = [
        tag("stop", offset=share(at), stop_color=color, stop_opacity=None if opacity >= 1 else share(opacity))
        for at, color, opacity in paint.stops
    ]
    numbers = {key: number(value) for key, value in place.items()}
    return [opened(name, id=id_, gradientUnits="userSpaceOnUse", **numbers), *stops, f"</{name}>"]


def _laid(mark: Fill | Stroke | Glyphs | Tile | Soft | Group) -> dict[str, str | None]:
    """How the mark is laid over what is below."""
    return {
        "opacity": None if mark.opacity >= 1 else share(mark.opacity),
        "style": _blend(mark),
    }


def _blend(mark: Mark) -> str | None:
    """The style that blends it, if it does."""
    blend = "overlay" if isinstance(mark, Grain) else mark.blend
    return None if blend == "normal" else f"mix-blend-mode:{blend}"


def _rule(path: Path) -> str | None:
    return "evenodd" if path.even_odd else None


def _span(mark: Mark) -> Span:
    """A box the mark does not leave (generous, not tight)."""
    if isinstance(mark, Group):
        left, top, right, bottom = _around(mark.marks)
        corners = tuple(("L", x, y) for x in (left, right) for y in (top, bottom))
        box = left, top, right, bottom = _path_span(transformed(Path(corners), mark.transform))
        if mark.shadow is None:
            return box
        dx, dy = mark.shadow.dx, mark.shadow.dy
        cast = _widened((left + dx, top + dy, right + dx, bottom + dy), 3 * mark.shadow.blur)
        return min(left, cast[0]), min(top, cast[1]), max(right, cast[2]), max(bottom, cast[3])
    if isinstance(mark, Soft):
        return _widened(_around(mark.marks), 3 * mark.blur)
    if isinstance(mark, Tile | Grain):
        return _path_span(mark.within)
    if isinstance(mark, Glyphs):
        # No letter reaches further than two sizes from its origin.
        span = (min(mark.xs), min(mark.ys), max(mark.xs), max(mark.ys)) if mark.ids else (0.0, 0.0, 0.0, 0.0)
        extra = 2 * mark.size + 3 * mark.blur + (mark.outline or 0)
    else:
        span = _path_span(mark.path)
        # A mitred corner reaches four half-widths at most.
        extra = 2 * mark.width if isinstance(mark, Stroke) else 3 * mark.blur
    return _widened(span, extra)


def _around(marks: tuple[Mark, ...]) -> Span:
    """The box of several marks."""
    lefts, tops, rights, bottoms = zip(*(_span(mark) for mark in marks)) if marks else ((0.0,),) * 4
    return min(lefts), min(tops), max(rights), max(bottoms)


def _path_span(path: Path) -> Span:
    """The box of all points of an outline, those that only pull a curve included."""
    xs = [x for command in path.commands for x in command[1:][::2]] or [0.0]
    ys = [y for command in path.commands for y in command[1:][1::2]] or [0.0]
    return min(xs), min(ys), max(xs), max(ys)


def _widened(span: Span, by: float) -> Span:
    return span[0] - by, span[1] - by, span[2] + by, span[3] + by


# Text: escaped tags, short numbers, path data


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, even escaped: control characters, lone surrogates."""


def opened(name: str, **attributes: str | None) -> str:
    """An opening tag. In attribute names `_` stands for `-`; those with None are left out."""
    parts = (
        f" {key.replace('_', '-')}={quoteattr(_NOT_XML.sub('', value))}"
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{''.join(parts)}>"


def tag(name: str, content: str | None = None, **attributes: str | None) -> str:
    """A whole element, with text or empty."""
    start = opened(name, **attributes)
    if content is None:
        return f"{start[:-1]}/>"
    return f"{start}{escape(_NOT_XML.sub('', content))}</{name}>"


def number(value: float) -> str:
    """At most two decimals, none where none are needed."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def share(value: float) -> str:
    """A number in 0..1, to four decimals."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def path_data(path: Path) -> str:
    """The `d` of a path."""
    return "".join(name + " ".join(map(number, values)) for name, *values in path.commands)


def relative_data(path: Path) -> str:
    """The `d` of a path in steps from the origin, so that it can be put anywhere by a move before it."""
    parts, here, start = [], (0.0, 0.0), (0.0, 0.0)
    for name, *values in path.commands:
        places = [round(value, 2) for value in values]
        steps = (number(value - here[index % 2]) for index, value in enumerate(places))
        parts.append(name.lower() + " ".join(steps))
        here = start if name == "Z" else (places[-2], places[-1])
        start = here if name == "M" else start
    return "".join(parts)
