"""Marks' paints as Skia's: colors, gradients, blends, strokes.

A gradient over a large area costs 20 ms a frame when Skia computes it at every pixel. It is drawn small instead: along
one row or column where its bands are upright (exact), else at every fourth pixel and enlarged linearly.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

from salon.render.marks import Blend, Color, Fill, Glyphs, Linear, Radial, Stroke
from salon.render.skia_library import skia

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
CLAMP = skia.TileMode.kClamp

COARSE = 4
"""Pixels per cell of a gradient drawn small."""
LARGE = 128 * 128
"""Pixels above which drawing small pays."""


def layer_paint(opacity: float, blend: Blend) -> skia.Paint:
    """How a finished layer or image is laid down."""
    return skia.Paint(Alphaf=opacity, BlendMode=BLENDS[blend])


def ink(mark: Fill | Stroke | Glyphs, bounds: skia.Rect, canvas: skia.Canvas) -> skia.Paint:
    """The paint of a mark that covers `bounds` (in the canvas's current coordinates)."""
    paint = skia.Paint(AntiAlias=True, BlendMode=BLENDS[mark.blend])
    if isinstance(mark.paint, str):
        paint.setColor(rgb(mark.paint))
    else:
        paint.setShader(_shader(mark.paint, bounds, canvas))
    paint.setAlphaf(mark.opacity)
    return paint


def with_line(paint: skia.Paint, mark: Stroke | Glyphs) -> skia.Paint:
    """The paint made to draw along the outline."""
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


@lru_cache(maxsize=4096)
def rgb(color: Color) -> int:
    """'#rrggbb' as Skia's opaque integer."""
    return 0xFF000000 | int(color[1:7], 16)


def _shader(paint: Linear | Radial, bounds: skia.Rect, canvas: skia.Canvas) -> skia.Shader:
    exact = _exact_shader(paint)
    matrix = canvas.getTotalMatrix()
    area = matrix.mapRect(bounds)
    if not area.intersect(skia.Rect.Make(canvas.getDeviceClipBounds())) or area.width() * area.height() < LARGE:
        return exact
    if (step := _step(paint, matrix, area)) is None:
        return exact
    return _drawn_small(exact, area, matrix, step, opaque=all(stop[2] >= 1 for stop in paint.stops))


def _exact_shader(paint: Linear | Radial) -> skia.Shader:
    places = [float(stop[0]) for stop in paint.stops]
    colors = [(round(255 * opacity) << 24) | (rgb(color) & 0xFFFFFF) for _, color, opacity in paint.stops]
    if isinstance(paint, Radial):
        return skia.GradientShader.MakeRadial(skia.Point(paint.x, paint.y), paint.r, colors, places)
    ends = [skia.Point(paint.x0, paint.y0), skia.Point(paint.x1, paint.y1)]
    return skia.GradientShader.MakeLinear(ends, colors, places)


def _step(paint: Linear | Radial, matrix: skia.Matrix, area: skia.Rect) -> tuple[float, float] | None:
    """Width and height of the cells in which the gradient may be drawn; None where its bands are too narrow."""
    if isinstance(paint, Linear) and matrix.isScaleTranslate():
        if paint.x0 == paint.x1:
            return area.width() + 2, 1
        if paint.y0 == paint.y1:
            return 1, area.height() + 2
    length = paint.r if isinstance(paint, Radial) else math.hypot(paint.x1 - paint.x0, paint.y1 - paint.y0)
    gaps = (b[0] - a[0] for a, b in pairwise(paint.stops))
    narrowest = min(gaps, default=1.0) * length * matrix.getMinScale()
    return (COARSE, COARSE) if narrowest >= 8 * COARSE else None


def _drawn_small(
    exact: skia.Shader, area: skia.Rect, matrix: skia.Matrix, step: tuple[float, float], *, opaque: bool
) -> skia.Shader:
    """The shader sampled once per cell of the device area, as an image laid over it."""
    left, top = math.floor(area.left()) - step[0], math.floor(area.top()) - step[1]
    columns = math.ceil((area.right() - left) / step[0]) + 1
    rows = math.ceil((area.bottom() - top) / step[1]) + 1
    alpha = skia.kOpaque_AlphaType if opaque else skia.kPremul_AlphaType
    surface = skia.Surface.MakeRaster(skia.ImageInfo.Make(columns, rows, skia.kN32_ColorType, alpha))
    canvas = surface.getCanvas()
    to_cells = skia.Matrix.Scale(1 / step[0], 1 / step[1])
    to_cells.preTranslate(-left, -top)
    canvas.setMatrix(skia.Matrix.Concat(to_cells, matrix))
    canvas.drawPaint(skia.Paint(Shader=exact, BlendMode=skia.BlendMode.kSrc))
    back, from_cells = skia.Matrix(), skia.Matrix()
    if not matrix.invert(back) or not to_cells.invert(from_cells):
        return exact
    sampling = NEAREST if 1 in step else SMOOTH
    return surface.makeImageSnapshot().makeShader(CLAMP, CLAMP, sampling, skia.Matrix.Concat(back, from_cells))
