"""Drawings: what illustrations are put together from, read from one SVG file for each subject.

`assets/motifs/coffee.svg` holds the drawings of the subject coffee, each a group with an id:

    <g id="bean">
      <title>A coffee bean, one unit long.</title>
      <ellipse class="main" rx="0.36" ry="0.5"/>
      <path class="far" d="M -0.03 -0.5 C -0.2 -0.15 0.2 0.15 -0.03 0.5 L ... Z"/>
    </g>

- A drawing has a small space of its own: y downwards, about one unit tall, standing things with their foot at y = 0.
  A group around it only says where it stands on the sheet, so that a browser shows all drawings of a file.
- The class names a tone, never a color: backdrop, far, middle, main, accent or detail (`tones.css` colors the preview).
  What carries a tone is one part; a toned group joins its shapes to one outline, with holes if `fill-rule="evenodd"`.
- Shapes are path, circle, ellipse, rect (`rx` rounds it), polygon, line and polyline. A line or polyline is a round
  stroke as wide as its `stroke-width`; a polyline bends smoothly through its points.
- With the class hairline a part is a line that styles draw themselves, left out where it would cross the box's edge.
- `<use href="#bean"/>` or `<use href="leaf.svg#blade"/>` repeats a drawing; a tone class gives all of it one tone,
  `data-tones="main=accent far=middle"` exchanges tones. `transform` moves, turns and scales, as everywhere in SVG.

The drawing `emblem` is the subject as a bold small mark (`emblem-2` and so on are further ones).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from xml.etree import ElementTree

from salon.errors import BadValue
from salon.render.brief import MOTIF_FOLDER
from salon.render.layout import Box
from salon.render.marks import Command, Path
from salon.render.shapes import (
    Matrix,
    Point,
    arc,
    circle,
    ellipse,
    joined,
    line,
    polygon,
    polyline,
    rounded,
    smooth,
    transformed,
    turn,
    turned,
)

TONES = ("backdrop", "far", "middle", "main", "accent", "detail")
"""What a tone's number means, 0 to 5; `MotifShape` says how styles use them."""
_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True, slots=True)
class DrawingPart:
    """One outline of a drawing, in the drawing's own units; a positive width makes it a line."""

    tone: int
    path: Path
    width: float = 0.0


Drawing = tuple[DrawingPart, ...]


@cache
def drawing(subject: str, name: str, tone: int | None = None) -> Drawing:
    """The drawing of this name from the file of this subject; with `tone`, all of it in one tone."""
    if tone is not None:
        return tuple(DrawingPart(tone, part.path, part.width) for part in drawing(subject, name))
    groups = _groups(subject)
    where = f"{subject}.svg, drawing {name!r}"
    if name not in groups:
        raise BadValue("a drawing that exists is needed", found=repr(name), where=f"{subject}.svg",
                       remedy=f"one of {', '.join(groups)}")  # fmt: skip
    try:
        return _SvgReader(subject, where).parts(groups[name])
    except RecursionError:
        raise BadValue("a drawing may not use itself", found=f"#{name}", where=where) from None


def drawing_names(subject: str) -> tuple[str, ...]:
    """The names of all drawings of a subject, in the order of its file."""
    return tuple(_groups(subject))


@cache
def _groups(subject: str) -> dict[str, ElementTree.Element]:
    """The groups of a file that have an id, by it."""
    try:
        root = ElementTree.fromstring((MOTIF_FOLDER / f"{subject}.svg").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadValue("a subject that has a file of drawings is needed", found=repr(subject)) from None
    except ElementTree.ParseError as error:
        raise BadValue("a file of drawings must be well-formed SVG", found=str(error), where=f"{subject}.svg") from None
    groups: dict[str, ElementTree.Element] = {}

    def collect(element: ElementTree.Element) -> None:
        for child in element.iterfind(f"{_SVG}g"):
            name = child.get("id")
            if name is None:
                collect(child)
            elif name in groups:
                raise BadValue("the drawings of a file need different ids", found=f"{name!r} twice",
                               where=f"{subject}.svg")  # fmt: skip
            else:
                groups[name] = child

    collect(root)
    return groups


class _SvgReader:
    """Reads the elements of one drawing; errors say which."""

    def __init__(self, subject: str, where: str) -> None:
        self.subject, self.where = subject, where

    def parts(self, group: ElementTree.Element) -> Drawing:
        """Everything in a group that carries no tone itself."""
        parts: list[DrawingPart] = []
        for element in group:
            if element.tag not in (f"{_SVG}title", f"{_SVG}desc"):
                parts += self.placed_parts(element)
        return tuple(parts)

    def placed_parts(self, element: ElementTree.Element) -> Drawing:
        """The parts that one element stands for."""
        tag, classes = element.tag.removeprefix(_SVG), (element.get("class") or "").split()
        tones = [TONES.index(name) for name in classes if name in TONES]
        if tag == "use":
            parts = self.used(element)
            if tones:
                parts = tuple(DrawingPart(tones[0], part.path, part.width) for part in parts)
        elif tones:
            hairline = "hairline" in classes
            width = self.number(element, "stroke-width") if hairline else 0.0
            parts = (DrawingPart(tones[0], self.outline(element, hairline), width),)
        elif tag == "g":
            parts = self.parts(element)
        else:
            raise self.error(
                "a shape needs the class of its tone", f"<{tag}> without one", f"one of {', '.join(TONES)}"
            )
        if exchanges := element.get("data-tones"):
            pairs = (pair.partition("=") for pair in exchanges.split())
            try:
                parts = retoned(parts, {TONES.index(old): TONES.index(new) for old, _, new in pairs})
            except ValueError:
                raise self.error("data-tones must exchange tones, as in main=accent", exchanges) from None
        if transform := element.get("transform"):
            matrix = self.matrix(transform)
            scale = math.sqrt(abs(matrix[0] * matrix[3] - matrix[1] * matrix[2]))
            parts = tuple(DrawingPart(p.tone, transformed(p.path, matrix), p.width * scale) for p in parts)
        return parts

    def used(self, element: ElementTree.Element) -> Drawing:
        """The drawing that a `use` repeats."""
        href = element.get("href") or element.get("{http://www.w3.org/1999/xlink}href") or ""
        file, mark, name = href.partition("#")
        if not mark:
            raise self.error("use needs the href of a drawing, as in leaf.svg#blade", repr(href))
        return drawing(file.removesuffix(".svg") or self.subject, name)

    def outline(self, element: ElementTree.Element, hairline: bool) -> Path:
        """The outline of one element, before its own transform."""
        tag = element.tag.removeprefix(_SVG)
        if tag == "g":
            outlines = [self.placed_outline(child, hairline) for child in element if child.tag != f"{_SVG}title"]
            return joined(*outlines, even_odd=element.get("fill-rule") == "evenodd")
        if tag == "use":
            return joined(*(part.path for part in self.used(element)))
        if tag == "path":
            path = self.path(element.get("d") or "")
            return Path(path.commands, even_odd=True) if element.get("fill-rule") == "evenodd" else path
        if tag in ("polygon", "polyline"):
            values = self.numbers(element.get("points") or "", f"the points of a {tag}")
            points = list(zip(values[::2], values[1::2]))
            if tag == "polygon":
                return polygon(points)
            return polyline(points) if hairline else ribbon(points, self.number(element, "stroke-width"))
        names = {
            "circle": ("cx", "cy", "r"),
            "ellipse": ("cx", "cy", "rx", "ry"),
            "rect": ("x", "y", "width", "height", "rx"),
            "line": ("x1", "y1", "x2", "y2"),
        }
        if tag not in names:
            raise self.error(
                "a drawing is made of shapes", f"<{tag}>", f"one of path, polygon, polyline, {', '.join(names)}"
            )
        values = [self.number(element, name, 0.0) for name in names[tag]]
        if tag == "circle":
            return circle(*values)
        if tag == "ellipse":
            return ellipse(*values)
        if tag == "rect":
            return rounded(*values)
        x0, y0, x1, y1 = values
        return line(x0, y0, x1, y1) if hairline else bar(x0, y0, x1, y1, self.number(element, "stroke-width"))

    def placed_outline(self, element: ElementTree.Element, hairline: bool) -> Path:
        """The outline of an element inside a toned group."""
        path = self.outline(element, hairline)
        transform = element.get("transform")
        return transformed(path, self.matrix(transform)) if transform else path

    def matrix(self, text: str) -> Matrix:
        """A transform attribute as one matrix."""
        whole: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
        for name, inner in re.findall(r"(\w+)\s*\(([^)]*)\)", text):
            values = self.numbers(inner, f"the numbers of {name}")
            if name == "translate" and len(values) in (1, 2):
                step: Matrix = (1.0, 0.0, 0.0, 1.0, values[0], values[-1] if len(values) == 2 else 0.0)
            elif name == "scale" and len(values) in (1, 2):
                step = (values[0], 0.0, 0.0, values[-1], 0.0, 0.0)
            elif name == "rotate" and len(values) in (1, 3):
                step = turn(values[0], *(values[1:] or (0.0, 0.0)))
            elif name == "matrix" and len(values) == 6:
                step = (values[0], values[1], values[2], values[3], values[4], values[5])
            else:
                raise self.error("transform takes translate, rotate, scale and matrix", f"{name}({inner})")
            a, b, c, d, e, f = whole
            whole = (
                a * step[0] + c * step[1],
                b * step[0] + d * step[1],
                a * step[2] + c * step[3],
                b * step[2] + d * step[3],
                a * step[4] + c * step[5] + e,
                b * step[4] + d * step[5] + f,
            )
        return whole

    def path(self, text: str) -> Path:
        """Path data: all of SVG's commands but turned ellipses."""
        commands: list[Command] = []
        here = start = control = (0.0, 0.0)
        for letter, inner in re.findall(r"([MLHVCSQTAZmlhvcsqtaz])([^MLHVCSQTAZmlhvcsqtaz]*)", text):
            upper, values = letter.upper(), self.numbers(inner, f"the numbers after {letter}")
            count = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2, "A": 7, "Z": 0}[upper]
            if (len(values) % count if count else len(values)) or (count and not values):
                raise self.error("path data must be as SVG writes them", f"{letter} {inner.strip()}")
            if upper == "Z":
                commands.append(("Z",))
                here = control = start
            for k in range(0, len(values), count or 1):
                step = values[k : k + count]
                if letter.islower() and upper not in "HVA":
                    step = [value + here[i % 2] for i, value in enumerate(step)]
                if upper in "HV":
                    level = step[0] + (here[upper == "V"] if letter.islower() else 0.0)
                    step = [level, here[1]] if upper == "H" else [here[0], level]
                mirrored = (2 * here[0] - control[0], 2 * here[1] - control[1])
                if upper == "A":
                    end = (step[5] + here[0], step[6] + here[1]) if letter.islower() else (step[5], step[6])
                    commands += self.arc(here, step, end)
                    step = [*end]
                elif upper == "S":
                    step = [*(mirrored if commands[-1][0] == "C" else here), *step]
                    commands.append(("C", *step))
                elif upper == "T":
                    step = [*(mirrored if commands[-1][0] == "Q" else here), *step]
                    commands.append(("Q", *step))
                elif upper == "M" and k == 0:
                    commands.append(("M", *step))
                    start = (step[0], step[1])
                else:
                    commands.append((upper if upper in "CQ" else "L", *step))
                here, control = (step[-2], step[-1]), (step[-4], step[-3]) if len(step) > 2 else (step[-2], step[-1])
        if not commands or commands[0][0] != "M":
            raise self.error("path data must begin with M", text[:40])
        return Path(tuple(commands))

    def arc(self, here: Point, step: list[float], end: Point) -> list[Command]:
        """An arc to `end` as curves: radii, turn of the axis (0), whether the long way, whether clockwise."""
        rx, ry, axis, large, sweep = step[:5]
        if axis != 0 and rx != ry:
            raise self.error("arcs of turned ellipses are not read", f"A ... {axis:g} ...", "convert them to curves")
        if here == end:
            return []
        if rx == 0 or ry == 0:
            return [("L", end[0], end[1])]
        grow = max(1.0, math.dist((here[0] / rx, here[1] / ry), (end[0] / rx, end[1] / ry)) / 2)  # too small to reach
        rx, ry = (rx, ry) if grow < 1 + 1e-9 else (rx * grow, ry * grow)
        # On the unit circle: the middle of the chord, and how far the centre lies from it (SVG 2, appendix B.2).
        (x0, y0), (x1, y1) = (here[0] / rx, here[1] / ry), (end[0] / rx, end[1] / ry)
        half = math.dist((x0, y0), (x1, y1)) / 2
        rest = 1 - half * half
        side = 1.0 if bool(large) == bool(sweep) else -1.0
        # The root would turn the rounding of a half turn's ends, 1e-16, into 1e-8.
        share = side * math.sqrt(rest) / (2 * half) if rest > 1e-12 else 0.0
        x, y = (x0 + x1) / 2 + share * (y1 - y0), (y0 + y1) / 2 - share * (x1 - x0)
        first, last = math.degrees(math.atan2(y0 - y, x0 - x)), math.degrees(math.atan2(y1 - y, x1 - x))
        if sweep and last < first:
            last += 360
        if not sweep and last > first:
            last -= 360
        curves = arc(x * rx, y * ry, rx, first, last, ry).commands[1:]
        x1, y1, x2, y2, *_ = curves[-1][1:]
        return [*curves[:-1], ("C", x1, y1, x2, y2, end[0], end[1])]

    def number(self, element: ElementTree.Element, name: str, default: float | None = None) -> float:
        """The number in an attribute."""
        text = element.get(name)
        if text is None and default is not None:
            return default
        try:
            return float(text or "")
        except ValueError:
            tag = element.tag.removeprefix(_SVG)
            raise self.error(f"{name} of <{tag}> must be a number", repr(text)) from None

    def numbers(self, text: str, what: str) -> list[float]:
        """Numbers apart by spaces, commas or signs."""
        words = re.findall(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[^\s,]", text)
        try:
            return [float(word) for word in words]
        except ValueError:
            raise self.error(f"{what} must be numbers", text.strip()[:60]) from None

    def error(self, message: str, found: str, remedy: str | None = None) -> BadValue:
        return BadValue(message, found=found, where=self.where, remedy=remedy)


# Outlines that drawings and scenes share


def bar(x0: float, y0: float, x1: float, y1: float, width: float) -> Path:
    """A straight stroke with round ends as a closed outline."""
    length = math.dist((x0, y0), (x1, y1))
    level = rounded(x0 - width / 2, y0 - width / 2, length + width, width, width / 2)
    return turned(level, math.degrees(math.atan2(y1 - y0, x1 - x0)), x0, y0)


def ribbon(points: list[Point], width: float | list[float]) -> Path:
    """A band along a curve through the points, as a closed outline: of one width, or of one for each point."""
    widths = width if isinstance(width, list) else [width] * len(points)
    left, right = [], []
    last = len(points) - 1
    for i, (x, y) in enumerate(points):
        (x0, y0), (x1, y1) = points[max(i - 1, 0)], points[min(i + 1, last)]
        share = widths[i] / 2 / (math.dist((x0, y0), (x1, y1)) or 1.0)
        left.append((x + (y1 - y0) * share, y - (x1 - x0) * share))
        right.append((x - (y1 - y0) * share, y + (x1 - x0) * share))
    there, back = smooth(left, closed=False).commands, smooth(right[::-1], closed=False).commands
    return Path((*there, ("L", *back[0][1:]), *back[1:], ("Z",)))


# Drawings changed and measured


def placed(
    parts: Drawing, x: float = 0.0, y: float = 0.0, size: float = 1.0, turn: float = 0.0, flip: bool = False
) -> Drawing:
    """The drawing scaled by `size`, mirrored, turned clockwise by `turn` degrees, and moved so its origin is (x, y)."""
    cos, sin = math.cos(math.radians(turn)) * size, math.sin(math.radians(turn)) * size
    side = -1.0 if flip else 1.0
    matrix = (cos * side, sin * side, -sin, cos, x, y)
    return tuple(DrawingPart(part.tone, transformed(part.path, matrix), part.width * size) for part in parts)


def retoned(parts: Drawing, tones: dict[int, int]) -> Drawing:
    """The drawing with some tones exchanged."""
    return tuple(DrawingPart(tones.get(part.tone, part.tone), part.path, part.width) for part in parts)


def extent(paths: Iterable[Path]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the points that steer the outlines; curves lie within."""
    xs: list[float] = []
    ys: list[float] = []
    for path in paths:
        for command in path.commands:
            xs += command[1:][::2]
            ys += command[1:][1::2]
    return min(xs), min(ys), max(xs), max(ys)


def size_of(parts: Drawing) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a drawing, lines included."""
    sides = [(*extent([part.path]), part.width / 2) for part in parts]
    return (
        min(left - half for left, _, _, _, half in sides),
        min(top - half for _, top, _, _, half in sides),
        max(right + half for _, _, right, _, half in sides),
        max(bottom + half for _, _, _, bottom, half in sides),
    )


def fitted(parts: Drawing, box: Box) -> Drawing:
    """The drawing as large as the box allows, in its middle."""
    left, top, right, bottom = size_of(parts)
    size = min(box.width / (right - left), box.height / (bottom - top))
    x = box.x + box.width / 2 - size * (left + right) / 2
    y = box.y + box.height / 2 - size * (top + bottom) / 2
    return placed(parts, x, y, size)
