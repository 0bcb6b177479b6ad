"""Skia as the renderer uses it: loaded in one place, so that a missing library is a clear word, and marks' paints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from salon.errors import MissingExtra, SalonError
from salon.render.marks import Blend, Color, Fill, Glyphs, Linear, Radial, Stroke

try:
    import skia
except ModuleNotFoundError:
    raise MissingExtra("generate") from None
except ImportError as error:  # the wheel is there, a library of the system it links to is not
    raise SalonError(
        "drawing needs the system libraries EGL and GL (Skia links to them, no screen or GPU is used)",
        found=str(error),
        remedy="apt-get install -y libegl1 libgl1 (Debian, Ubuntu); dnf install -y libglvnd-egl libglvnd-glx (Fedora)",
    ) from None

__all__ = [
    "BLENDS",
    "LARGE",
    "NEAREST",
    "PIXEL",
    "SMOOTH",
    "Coarse",
    "along",
    "clear",
    "coarse",
    "ink",
    "layer_paint",
    "opaque",
    "rgb",
    "skia",
]

PIXEL = skia.kBGRA_8888_ColorType
"""Skia's own order of bytes here. Its fast paths (4 to 10 times) exist for this one only; the binding's constant
`kN32_ColorType` names another."""


def opaque(width: int, height: int) -> skia.ImageInfo:
    """A canvas without transparency."""
    return skia.ImageInfo.Make(width, height, PIXEL, skia.kOpaque_AlphaType)


def clear(width: int, height: int) -> skia.ImageInfo:
    """A canvas that starts transparent."""
    return skia.ImageInfo.Make(width, height, PIXEL, skia.kPremul_AlphaType)


# Paints


BLENDS = {
    "normal": skia.BlendMode.kSrcOver,
    "multiply": skia.BlendMode.kMultiply,
    "screen": skia.BlendMode.kScreen,
    "overlay": skia.BlendMode.kOverlay,
    "difference": skia.BlendMode.kDifference,
}
CAPS = {"butt": skia.Paint.kButt_Cap, "round": skia.Paint.kRound_Cap, "square": skia.Paint.kSquare_Cap}
JOINS = {"miter": skia.Paint.kMiter_Join, "round": skia.Paint.kRound_Join, "bevel": skia.Paint.kBevel_Join}
NEAREST, SMOOTH = skia.SamplingOptions(), skia.SamplingOptions(skia.FilterMode.kLinear)

COARSE = 4
"""Pixels per cell of a gradient drawn small."""
LARGE = 128 * 128
"""Pixels above which drawing small pays."""


def layer_paint(opacity: float, blend: Blend) -> skia.Paint:
    """How a finished layer or image is laid down."""
    return skia.Paint(Alphaf=opacity, BlendMode=BLENDS[blend])


def ink(mark: Fill | Stroke | Glyphs) -> skia.Paint:
    """The paint of a mark, computed at every pixel. Shared by marks of one color: change only a copy."""
    if isinstance(mark.paint, str):
        return _plain(mark.paint, mark.opacity, mark.blend)
    # Dithered, a gradient shows no bands, and Skia takes a path 2.5 times faster.
    paint = skia.Paint(AntiAlias=True, Dither=True, BlendMode=BLENDS[mark.blend])
    paint.setShader(_shader(mark.paint))
    paint.setAlphaf(mark.opacity)
    return paint


def along(mark: Stroke | Glyphs) -> skia.Paint:
    """The paint of a mark that draws along an outline."""
    paint = skia.Paint(ink(mark))
    paint.setStyle(skia.Paint.kStroke_Style)
    if isinstance(mark, Glyphs):
        paint.setStrokeWidth(mark.outline)
        paint.setStrokeJoin(skia.Paint.kRound_Join)
        return paint
    paint.setStrokeWidth(mark.width)
    paint.setStrokeCap(CAPS[mark.cap])
    paint.setStrokeJoin(JOINS[mark.join])
    if mark.dash:
        dash = mark.dash if len(mark.dash) % 2 == 0 else mark.dash * 2
        paint.setPathEffect(skia.DashPathEffect.Make(list(dash), 0))
    return paint


@lru_cache(maxsize=1024)
def _plain(color: Color, opacity: float, blend: Blend) -> skia.Paint:
    paint = skia.Paint(AntiAlias=True, BlendMode=BLENDS[blend], Color=rgb(color))
    paint.setAlphaf(opacity)
    return paint


@lru_cache(maxsize=4096)
def rgb(color: Color) -> int:
    """'#rrggbb' as Skia's opaque integer."""
    return 0xFF000000 | int(color[1:7], 16)


@dataclass(frozen=True, slots=True)
class Coarse:
    """A gradient drawn small, and the part of the device it is to be enlarged over."""

    image: skia.Image
    over: skia.Rect
    sampling: skia.SamplingOptions


def coarse(paint: Linear | Radial, bounds: skia.Rect, canvas: skia.Canvas) -> Coarse | None:
    """The gradient drawn small for an area of the canvas; None where that would not pay or not be exact enough.

    Not as a shader: the binding copies a shader's image through PNG whenever it is given to a paint.
    """
    matrix = canvas.getTotalMatrix()
    area = matrix.mapRect(bounds)
    if not area.intersect(skia.Rect.Make(canvas.getDeviceClipBounds())) or area.width() * area.height() < LARGE:
        return None
    if (step := _step(paint, matrix, area)) is None:
        return None
    left, top = math.floor(area.left()) - step[0], math.floor(area.top()) - step[1]
    columns = math.ceil((area.right() - left) / step[0]) + 1
    rows = math.ceil((area.bottom() - top) / step[1]) + 1
    solid = all(stop[2] >= 1 for stop in paint.stops)
    surface = skia.Surface.MakeRaster((opaque if solid else clear)(columns, rows))
    small = surface.getCanvas()
    small.scale(1 / step[0], 1 / step[1])
    small.translate(-left, -top)
    small.concat(matrix)
    small.drawPaint(skia.Paint(Shader=_shader(paint), BlendMode=skia.BlendMode.kSrc))
    over = skia.Rect.MakeXYWH(left, top, columns * step[0], rows * step[1])
    return Coarse(surface.makeImageSnapshot(), over, NEAREST if 1 in step else SMOOTH)


def _shader(paint: Linear | Radial) -> skia.Shader:
    places = [float(stop[0]) for stop in paint.stops]
    colors = [(round(255 * opacity) << 24) | (rgb(color) & 0xFFFFFF) for _, color, opacity in paint.stops]
    if isinstance(paint, Radial):
        return skia.GradientShader.MakeRadial(skia.Point(paint.x, paint.y), paint.r, colors, places)
    ends = [skia.Point(paint.x0, paint.y0), skia.Point(paint.x1, paint.y1)]
    return skia.GradientShader.MakeLinear(ends, colors, places)


def _step(paint: Linear | Radial, matrix: skia.Matrix, area: skia.Rect) -> tuple[int, int] | None:
    """Width and height in pixels of the cells in which it may be drawn; None where its bands are too narrow."""
    if isinstance(paint, Linear) and matrix.isScaleTranslate():
        if paint.x0 == paint.x1:
            return math.ceil(area.width()) + 2, 1
        if paint.y0 == paint.y1:
            return 1, math.ceil(area.height()) + 2
    length = paint.r if isinstance(paint, Radial) else math.hypot(paint.x1 - paint.x0, paint.y1 - paint.y0)
    gaps = (b[0] - a[0] for a, b in pairwise(paint.stops))
    narrowest = min(gaps, default=1.0) * length * matrix.getMinScale()
    return (COARSE, COARSE) if narrowest >= 8 * COARSE else None
