"""A poster's layers as pixels, drawn by Skia.

What is blurred is drawn small, on a grid where the blur is 2.5 cells wide, and enlarged linearly. Layers are opened
only where opacity, blend or a shadow needs one. A gradient over a large area costs 20 ms a frame when Skia computes it
at every pixel, so it is drawn small too: along one row or column where its bands are upright (exact), else at every
fourth pixel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from salon.errors import BadValue
from salon.render.marks import (
    Fill,
    Glyphs,
    Grain,
    Group,
    Layer,
    Mark,
    Path,
    Shadow,
    Soft,
    Stroke,
    Tile,
)
from salon.render.paint.png import encode_png
from salon.render.paint.skia_library import (
    BLENDS,
    LARGE,
    NEAREST,
    PIXEL,
    SMOOTH,
    along,
    clear,
    coarse,
    ink,
    layer_paint,
    opaque,
    rgb,
    skia,
)
from salon.render.shapes import Matrix
from salon.render.typeset.setting import outlines

LARGEST = 16_384
"""Pixels of a side; four bytes each, a square of them takes a gigabyte."""


def paint(layers: Sequence[Layer], width: int, height: int, scale: float = 1.0) -> np.ndarray:
    """Layers, the first lowest, on a white canvas of width x height: (height, width, 3) bytes, sRGB.

    `scale` draws the same picture larger or smaller. The same layers give the same bytes at the same library versions.
    """
    columns, rows = round(width * scale), round(height * scale)
    if not (1 <= columns <= LARGEST and 1 <= rows <= LARGEST):
        raise BadValue(f"a picture of 1 to {LARGEST:,} pixels a side", found=f"{columns} x {rows}")
    canvas_pixels = np.full((rows, columns, 4), 255, np.uint8)
    surface = skia.Surface.MakeRasterDirect(opaque(columns, rows), canvas_pixels, canvas_pixels.strides[0])
    canvas = surface.getCanvas()
    canvas.scale(columns / width, rows / height)
    painter = Painter(canvas)
    for layer in layers:
        painter.draw(layer.marks)
    rgb = np.empty((*canvas_pixels.shape[:2], 3), np.uint8)
    for plane in range(3):
        rgb[..., plane] = canvas_pixels[..., 2 - plane]
    return rgb


def paint_png(layers: Sequence[Layer], width: int, height: int) -> bytes:
    """The same as a PNG file's content."""
    return encode_png(paint(layers, width, height))


# Marks


FEW = 4.0
"""Pixels of blur below which drawing small does not pay."""
MANY = 8
"""Marks in a clip above which a layer pays."""
COPIED = skia.Canvas.kInitWithPrevious_SaveLayerFlag
CELLS = 2.5
"""Cells of a coarse grid to one standard deviation of blur."""
FIVE = 2.66
"""Asked of Skia, it averages three times over five cells: a variance of 6. Averaging within a cell adds 1/12 and
enlarging 1/6, which makes CELLS squared."""


class Painter:
    """Draws marks on one canvas; outlines met twice are built once."""

    def __init__(
        self,
        canvas: skia.Canvas,
        outlines_by_id: dict[int, tuple[object, skia.Path]] | None = None,
        *,
        recorded: bool = False,
    ) -> None:
        self.canvas = canvas
        self.outlines_by_id = {} if outlines_by_id is None else outlines_by_id
        self.recorded = recorded
        """Whether it will be played back elsewhere, so that places on the device mean nothing yet."""

    def draw(self, marks: tuple[Mark, ...]) -> None:
        """All marks, the first lowest."""
        for mark in marks:
            match mark:
                case Fill():
                    self.fill(mark)
                case Stroke():
                    self.stroke(mark)
                case Glyphs():
                    self.glyphs(mark)
                case Tile():
                    self.tile(mark)
                case Soft():
                    self.soft(mark)
                case Grain():
                    self.grain(mark)
                case Group():
                    self.group(mark)

    def fill(self, mark: Fill) -> None:
        """A filled outline."""
        path = self.outline(mark.path)
        small = None
        if not isinstance(mark.paint, str) and not mark.blur:
            small = coarse(mark.paint, path.getBounds(), self.canvas)
        if small is None:
            self._outlined(mark, path)
            return
        self.canvas.save()
        self.canvas.clipPath(path, doAntiAlias=True)
        self._enlarge(small.image, small.over, small.sampling, layer_paint(mark.opacity, mark.blend))
        self.canvas.restore()

    def stroke(self, mark: Stroke) -> None:
        """A line along an outline."""
        path = self.outline(mark.path)
        self.canvas.drawPath(path, along(mark))

    def glyphs(self, mark: Glyphs) -> None:
        """Letters by their outlines: exact places, no hinting, the same shapes as in the SVG."""
        self._outlined(mark, self.letters(mark))

    def tile(self, mark: Tile) -> None:
        """A pattern, cut to its area."""
        canvas, cell = self.canvas, skia.Rect.MakeWH(mark.width, mark.height)
        recorder = skia.PictureRecorder()
        Painter(recorder.beginRecording(cell), self.outlines_by_id, recorded=True).draw(mark.marks)
        picture = recorder.finishRecordingAsPicture()
        if mark.angle % 360 and cell.contains(self.reach(mark.marks)):
            self._copies(mark, picture)
            return
        shader = pattern(picture, mark, cell, canvas.getTotalMatrix())
        # Given in the constructor: `setShader` copies a shader's image, through PNG.
        paint = skia.Paint(Shader=shader, AntiAlias=True, BlendMode=BLENDS[mark.blend])
        paint.setAlphaf(mark.opacity)
        canvas.drawPath(self.outline(mark.within), paint)

    def _copies(self, mark: Tile, picture: skia.Picture) -> None:
        """A turned pattern whose marks keep inside their cell, each copy drawn: four times faster than resampling."""
        canvas = self.canvas
        depth = canvas.save()
        canvas.clipPath(self.outline(mark.within), doAntiAlias=True)
        if mark.opacity < 1 or mark.blend != "normal":
            canvas.saveLayer(self.outline(mark.within).getBounds(), layer_paint(mark.opacity, mark.blend))
        places = lattice(mark, canvas.getLocalClipBounds())
        canvas.rotate(mark.angle)
        for x, y in places:
            canvas.translate(x, y)
            canvas.drawPicture(picture)
            canvas.translate(-x, -y)
        canvas.restoreToCount(depth)

    def soft(self, mark: Soft) -> None:
        """Marks blurred together."""
        paint = layer_paint(mark.opacity, mark.blend)
        self._blurred(mark.blur, self.reach(mark.marks), paint, lambda small: small.draw(mark.marks))

    def grain(self, mark: Grain) -> None:
        """Noise laid over by overlay, in tiles at places the seed decides."""
        canvas = self.canvas
        scale = scale_of(canvas.getTotalMatrix())
        tile, left, top = noise_tile(mark.seed, mark.speck * scale)
        canvas.save()
        canvas.clipPath(self.outline(mark.within))  # hard edges: nobody sees them in noise, and they are faster
        canvas.resetMatrix()
        area = canvas.getDeviceClipBounds()
        # Averaging over specks smaller than a pixel weakens them.
        paint = layer_paint(mark.amount * min(1.0, mark.speck * scale), "overlay")
        size = tile.width()
        for y in range(area.top() - (area.top() + top) % size, area.bottom(), size):
            for x in range(area.left() - (area.left() + left) % size, area.right(), size):
                canvas.drawImage(tile, x, y, NEAREST, paint)
        canvas.restore()

    def group(self, mark: Group) -> None:
        """Marks as one."""
        canvas = self.canvas
        apart = mark.opacity < 1 or mark.blend != "normal"
        if mark.shadow is not None:  # then its blends stay inside, as in SVG, where a filter makes a picture of its own
            apart = apart or any(getattr(inner, "blend", "normal") != "normal" for inner in mark.marks)
        if apart:
            canvas.saveLayer(self.reach((mark,)), layer_paint(mark.opacity, mark.blend))
        if mark.shadow is not None:
            self._shadow(mark, mark.shadow)
        self._inside(mark)
        if apart:
            canvas.restore()

    def outline(self, path: Path) -> skia.Path:
        """The path as Skia's; kept for the rest of the picture."""
        if id(path) not in self.outlines_by_id:
            self.outlines_by_id[id(path)] = (path, skia_path(path))
        return self.outlines_by_id[id(path)][1]

    def letters(self, mark: Glyphs) -> skia.Path:
        """All letters of a run as one outline."""
        if id(mark) not in self.outlines_by_id:
            self.outlines_by_id[id(mark)] = (mark, run_path(mark))
        return self.outlines_by_id[id(mark)][1]

    def reach(self, marks: tuple[Mark, ...]) -> skia.Rect:
        """A box none of the marks leaves (generous, not tight)."""
        total = skia.Rect.MakeEmpty()
        for mark in marks:
            total.join(self._reach(mark))
        return total

    def _reach(self, mark: Mark) -> skia.Rect:
        if isinstance(mark, Group):
            inside = self.reach(mark.marks)
            if mark.clip is not None and not inside.intersect(self.outline(mark.clip).getBounds()):
                return skia.Rect.MakeEmpty()
            box = skia_matrix(mark.transform).mapRect(inside)
            if mark.shadow is None:
                return box
            spread = 3 * mark.shadow.blur
            cast = box.makeOffset(mark.shadow.dx, mark.shadow.dy).makeOutset(spread, spread)
            cast.join(box)
            return cast
        if isinstance(mark, Soft):
            return self.reach(mark.marks).makeOutset(3 * mark.blur, 3 * mark.blur)
        if isinstance(mark, Tile | Grain):
            return skia.Rect(self.outline(mark.within).getBounds())
        path = self.letters(mark) if isinstance(mark, Glyphs) else self.outline(mark.path)
        extra = 3 * getattr(mark, "blur", 0.0)
        # A mitred corner reaches four half-widths at most.
        extra += 2 * (mark.width if isinstance(mark, Stroke) else getattr(mark, "outline", None) or 0.0)
        return path.getBounds().makeOutset(extra, extra)

    def _inside(self, group: Group) -> None:
        canvas = self.canvas
        depth = canvas.save()
        canvas.concat(skia_matrix(group.transform))
        if group.clip is not None:
            clip = self.outline(group.clip)
            canvas.clipPath(clip, doAntiAlias=True)
            # Soft-edged clips slow down every mark: many are drawn on a copy of what is below, then cut out once.
            if len(group.marks) >= MANY:
                bounds = clip.getBounds()  # the record only points to it: it must outlive the call
                canvas.saveLayer(skia.Canvas.SaveLayerRec(bounds, None, COPIED))
        self.draw(group.marks)
        canvas.restoreToCount(depth)

    def _shadow(self, group: Group, shadow: Shadow) -> None:
        """The group's silhouette in one color, moved and blurred. Its direction does not turn with the group."""
        bare = Group(group.marks, group.clip, group.transform)
        tint = skia.ColorFilters.Blend(rgb(shadow.color), skia.BlendMode.kSrcIn)
        self.canvas.save()
        if not self.recorded and (covered := self._covered(group)) is not None:
            self.canvas.clipRegion(covered, skia.ClipOp.kDifference)
        self.canvas.translate(shadow.dx, shadow.dy)
        paint = layer_paint(shadow.opacity, "normal")
        self._blurred(shadow.blur, self.reach((bare,)), paint, lambda small: small.group(bare), tint)
        self.canvas.restore()

    def _covered(self, group: Group) -> skia.Region | None:
        """Pixels that a large opaque fill of the group will hide for certain: no shadow need be drawn there."""
        matrix = skia.Matrix.Concat(self.canvas.getTotalMatrix(), skia_matrix(group.transform))
        clip = self.canvas.getDeviceClipBounds()
        hidden = None
        for mark in group.marks if group.clip is None else ():
            if not isinstance(mark, Fill) or mark.opacity < 1 or mark.blend != "normal" or mark.blur > 0:
                continue
            if not isinstance(mark.paint, str) and any(stop[2] < 1 for stop in mark.paint.stops):
                continue
            path = skia.Path()
            self.outline(mark.path).transform(matrix, path)
            if path.getBounds().width() * path.getBounds().height() < LARGE:
                continue
            inner = inner_pixels(path, clip)
            if hidden is None:
                hidden = inner
            else:
                hidden.op(inner, skia.Region.kUnion_Op)
        return hidden

    def _outlined(self, mark: Fill | Glyphs, path: skia.Path) -> None:
        """Draw an outline, blurred where asked."""
        pixels = mark.blur * scale_of(self.canvas.getTotalMatrix())
        if pixels >= FEW:
            # Before its blur and blend, which are applied to the result.
            plain = replace(mark, blur=0.0, blend="normal")
            paint = layer_paint(1.0, mark.blend)
            self._blurred(mark.blur, path.getBounds(), paint, lambda small: small._outlined(plain, path))
            return
        paint = along(mark) if isinstance(mark, Glyphs) and mark.outline is not None else ink(mark)
        if mark.blur > 0:
            paint = skia.Paint(paint)
            paint.setMaskFilter(skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, mark.blur))
        self.canvas.drawPath(path, paint)

    def _blurred(
        self,
        blur: float,
        reach: skia.Rect,
        paint: skia.Paint,
        draw: Callable[[Painter], None],
        tint: skia.ColorFilter | None = None,
    ) -> None:
        """What `draw` puts within `reach`, blurred on a coarse grid and enlarged."""
        canvas = self.canvas
        matrix = canvas.getTotalMatrix()
        sigma = blur * scale_of(matrix)
        grid = max(1.0, sigma / CELLS)
        area = _area(matrix.mapRect(reach), canvas.getDeviceClipBounds(), 3 * sigma, grid)
        if area is None:
            return
        small = skia.Surface.MakeRaster(clear(round(area.width() / grid), round(area.height() / grid)))
        on_grid = small.getCanvas()
        cells = sigma if grid == 1 else FIVE
        blurring = skia.ImageFilters.Blur(cells, cells) if cells > 0 else None
        on_grid.saveLayer(None, skia.Paint(ImageFilter=blurring, ColorFilter=tint))
        on_grid.scale(1 / grid, 1 / grid)
        on_grid.translate(-area.left(), -area.top())
        on_grid.concat(matrix)
        draw(Painter(on_grid, self.outlines_by_id))
        on_grid.restore()
        self._enlarge(small.makeImageSnapshot(), area, SMOOTH, paint)

    def _enlarge(self, image: skia.Image, over: skia.Rect, sampling: skia.SamplingOptions, paint: skia.Paint) -> None:
        """Lay a small image over a part of the device. Skia enlarges fast only without a blend, hence the layer."""
        canvas = self.canvas
        canvas.save()
        canvas.resetMatrix()
        if paint.isSrcOver():
            canvas.drawImageRect(image, over, sampling, paint)
        else:
            canvas.saveLayer(over, paint)
            canvas.drawImageRect(image, over, sampling)
            canvas.restore()
        canvas.restore()


def _area(reach: skia.Rect, clip: skia.IRect, spread: float, grid: float) -> skia.Rect | None:
    """The part of the canvas to draw for a blur: what can be seen, and what spreads into it; whole cells."""
    visible = skia.Rect.Make(clip).makeOutset(spread, spread)
    if not reach.intersect(visible):
        return None
    left, top = (math.floor((edge - spread) / grid) * grid for edge in (reach.left(), reach.top()))
    right, bottom = (math.ceil((edge + spread) / grid) * grid for edge in (reach.right(), reach.bottom()))
    return skia.Rect.MakeLTRB(left, top, right, bottom)


# Repeated cells: as a shader made from an image of several cells, or cell by cell


WIDEST = 1024
"""Pixels of a side of a pattern drawn as an image."""
REPEAT = skia.TileMode.kRepeat


def pattern(picture: skia.Picture, mark: Tile, cell: skia.Rect, matrix: skia.Matrix) -> skia.Shader:
    """A repeated cell. Upright, it comes from an image of several cells on whole pixels: fifteen times faster."""
    across = _whole_pixels(mark.width * matrix.getScaleX())
    down = _whole_pixels(mark.height * matrix.getScaleY())
    if mark.angle % 360 or not matrix.isScaleTranslate() or across is None or down is None:
        turn = skia.Matrix.RotateDeg(mark.angle)
        return picture.makeShader(REPEAT, REPEAT, skia.FilterMode.kLinear, turn, cell)
    (columns, width), (rows, height) = across, down
    surface = skia.Surface.MakeRaster(clear(width, height))
    canvas = surface.getCanvas()
    canvas.scale(width / (columns * mark.width), height / (rows * mark.height))
    for row in range(rows):
        for column in range(columns):
            canvas.save()
            canvas.translate(column * mark.width, row * mark.height)
            canvas.clipRect(cell)
            canvas.drawPicture(picture)
            canvas.restore()
    back = skia.Matrix.Scale(columns * mark.width / width, rows * mark.height / height)
    return surface.makeImageSnapshot().makeShader(REPEAT, REPEAT, NEAREST, back)


def _whole_pixels(size: float) -> tuple[int, int] | None:
    """How many cells of this size to draw side by side, and on how many pixels, to stay true to a pixel in WIDEST."""
    if not 1 <= size <= WIDEST:
        return None
    counts = range(1, 1 + min(12, math.floor(WIDEST / size)))
    best = min(counts, key=lambda count: round(abs(count * size - round(count * size)) / (count * size), 5))
    pixels = round(best * size)
    return (best, pixels) if abs(best * size - pixels) * WIDEST / pixels <= 1 else None


def lattice(mark: Tile, view: skia.Rect) -> list[list[float]]:
    """Where cells start, in the pattern's own turned coordinates, to fill the box `view`."""
    turned = skia.Matrix.RotateDeg(-mark.angle).mapRect(view)
    columns = np.arange(math.floor(turned.left() / mark.width), math.ceil(turned.right() / mark.width))
    rows = np.arange(math.floor(turned.top() / mark.height), math.ceil(turned.bottom() / mark.height))
    x, y = (axis.ravel() for axis in np.meshgrid(columns * mark.width, rows * mark.height))
    c, s = math.cos(math.radians(mark.angle)), math.sin(math.radians(mark.angle))
    middle = np.stack([x + mark.width / 2, y + mark.height / 2])
    across, down = c * middle[0] - s * middle[1], s * middle[0] + c * middle[1]
    reach = math.hypot(mark.width, mark.height) / 2
    near = (across > view.left() - reach) & (across < view.right() + reach)
    near &= (down > view.top() - reach) & (down < view.bottom() + reach)
    starts: list[list[float]] = np.stack([x[near], y[near]], axis=1).tolist()
    return starts


# Film grain: grey noise from a seed, kept as a few large tiles


TILE = 512
KINDS = 4
"""Different tiles; a seed picks one and where it starts, so that making noise is not paid for each poster."""
SPREAD = 0.28
"""Standard deviation of the noise, as a share of white."""


def noise_tile(seed: int, speck: float) -> tuple[skia.Image, int, int]:
    """An opaque tile of TILE pixels with specks of this size, and how far it is shifted left and up."""
    rng = np.random.default_rng([seed, 0x6A1])
    kind, left, top = rng.integers(0, [KINDS, TILE, TILE]).tolist()
    return _tile(kind, max(1.0, round(speck * 4) / 4)), left, top


@lru_cache(maxsize=16)
def _tile(kind: int, speck: float) -> skia.Image:
    cells = math.ceil(TILE / speck)
    noise = np.random.default_rng(kind).normal(0.5, SPREAD, (cells, cells))
    grey = np.round(255 * np.clip(noise, 0, 1)).astype(np.uint8)
    pixels = np.full((cells, cells, 4), 255, np.uint8)
    pixels[..., :3] = grey[..., None]
    small = skia.Image.fromarray(pixels, colorType=PIXEL)
    surface = skia.Surface.MakeRaster(opaque(TILE, TILE))
    whole = skia.Rect.MakeWH(TILE, TILE)
    surface.getCanvas().drawImageRect(small, whole, skia.SamplingOptions(skia.FilterMode.kLinear))
    return surface.makeImageSnapshot()


# Outlines and places as Skia keeps them


UNITS = 1000.0
"""Size at which glyph outlines are kept."""


def skia_path(path: Path) -> skia.Path:
    """The same outline as Skia keeps it."""
    outline = skia.Path()
    ways = {"M": outline.moveTo, "L": outline.lineTo, "Q": outline.quadTo, "C": outline.cubicTo, "Z": outline.close}
    for name, *values in path.commands:
        ways[name](*values)
    if path.even_odd:
        outline.setFillType(skia.PathFillType.kEvenOdd)
    return outline


@lru_cache(maxsize=20_000)
def _letter(face: str, glyph: int) -> skia.Path:
    """One glyph's outline at size UNITS, its origin at (0, 0)."""
    return skia_path(outlines(Glyphs(face, UNITS, (glyph,), (0.0,), (0.0,), "#000000")))


def run_path(mark: Glyphs) -> skia.Path:
    """All letters of a run as one outline."""
    run, zoom = skia.Path(), UNITS / mark.size
    for glyph, x, y in zip(mark.ids, mark.xs, mark.ys):
        run.addPath(_letter(mark.face, glyph), x * zoom, y * zoom)
    run.transform(skia.Matrix.Scale(1 / zoom, 1 / zoom))
    return run


def inner_pixels(path: skia.Path, clip: skia.IRect) -> skia.Region:
    """The pixels inside the outline and at least one away from its edge."""
    inner, whole = skia.Region(clip), skia.Region(clip)
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        path.offset(dx, dy)
        shifted = skia.Region()
        shifted.setPath(path, whole)
        inner.op(shifted, skia.Region.kIntersect_Op)
        path.offset(-dx, -dy)
    return inner


def skia_matrix(transform: Matrix) -> skia.Matrix:
    """x' = a x + c y + e, y' = b x + d y + f as Skia's."""
    a, b, c, d, e, f = transform
    return skia.Matrix.MakeAll(a, c, e, b, d, f, 0, 0, 1)


def scale_of(matrix: skia.Matrix) -> float:
    """By how much it enlarges: the root of its area factor."""
    across = matrix.getScaleX() * matrix.getScaleY() - matrix.getSkewX() * matrix.getSkewY()
    return math.sqrt(abs(across))
