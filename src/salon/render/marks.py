"""What a picture is made of: a closed list of marks that the rasteriser and the SVG writer both know how to draw.

Coordinates are canvas pixels, y downwards. Colors are "#rrggbb"; transparency is `opacity`. Marks are plain data, so
a style never touches a drawing library and a poster can be drawn twice with the same result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Color = str
Blend = Literal["normal", "multiply", "screen", "overlay", "difference"]


@dataclass(frozen=True, slots=True)
class Linear:
    """A gradient along the line (x0, y0)-(x1, y1): stops are (place in 0..1, color, opacity)."""

    x0: float
    y0: float
    x1: float
    y1: float
    stops: tuple[tuple[float, Color, float], ...]


@dataclass(frozen=True, slots=True)
class Radial:
    """A gradient from the centre (x, y) to radius r."""

    x: float
    y: float
    r: float
    stops: tuple[tuple[float, Color, float], ...]


Paint = Color | Linear | Radial


Command = tuple[str, *tuple[float, ...]]
"""One step of an outline: its letter and its numbers."""


@dataclass(frozen=True, slots=True)
class Path:
    """An outline as commands: ("M", x, y), ("L", x, y), ("Q", x1, y1, x, y), ("C", x1, y1, x2, y2, x, y), ("Z",)."""

    commands: tuple[Command, ...]
    even_odd: bool = False


@dataclass(frozen=True, slots=True)
class Fill:
    """A filled outline."""

    path: Path
    paint: Paint
    opacity: float = 1.0
    blend: Blend = "normal"
    blur: float = 0.0
    """Standard deviation in pixels; for large soft shapes use `Soft`, which is far cheaper."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A drawn line along an outline."""

    path: Path
    paint: Paint
    width: float
    opacity: float = 1.0
    blend: Blend = "normal"
    cap: Literal["butt", "round", "square"] = "butt"
    join: Literal["miter", "round", "bevel"] = "miter"
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Shaped text: glyph ids of one face at one size, each at its own place (baseline origin)."""

    face: str
    """Key of the face in `render.typeset.fonts` (family, weight, slant and axes: `Face.key`)."""
    size: float
    ids: tuple[int, ...]
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    paint: Paint
    opacity: float = 1.0
    blend: Blend = "normal"
    blur: float = 0.0
    outline: float | None = None
    """Stroke width; None fills the letters."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A pattern: `marks` drawn in a cell of width x height, repeated over `within`, turned by `angle` degrees."""

    marks: tuple[Mark, ...]
    width: float
    height: float
    within: Path
    angle: float = 0.0
    opacity: float = 1.0
    blend: Blend = "normal"


@dataclass(frozen=True, slots=True)
class Soft:
    """`marks` blurred together by `blur` pixels; drawn small and enlarged, so cheap over the whole canvas."""

    marks: tuple[Mark, ...]
    blur: float
    opacity: float = 1.0
    blend: Blend = "normal"


@dataclass(frozen=True, slots=True)
class Grain:
    """Film grain over `within`: grey noise of strength `amount` (0..1) and speck size in pixels."""

    within: Path
    amount: float
    seed: int
    speck: float = 1.0


@dataclass(frozen=True, slots=True)
class Shadow:
    """The shadow a group casts."""

    dx: float
    dy: float
    blur: float
    color: Color = "#000000"
    opacity: float = 0.35


@dataclass(frozen=True, slots=True)
class Group:
    """Marks drawn as one: clipped, turned, faded, with one shadow."""

    marks: tuple[Mark, ...]
    clip: Path | None = None
    transform: tuple[float, float, float, float, float, float] = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    """SVG's matrix(a b c d e f): x' = a x + c y + e, y' = b x + d y + f."""
    opacity: float = 1.0
    blend: Blend = "normal"
    shadow: Shadow | None = None


Mark = Fill | Stroke | Glyphs | Tile | Soft | Grain | Group


@dataclass(frozen=True, slots=True)
class Layer:
    """The marks of one element of a poster, by the element's id."""

    element: str
    marks: tuple[Mark, ...] = field(default=())
