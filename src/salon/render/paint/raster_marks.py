"""Every kind of mark on a Skia canvas.

What is blurred is drawn small, on a grid where the blur is 2.5 cells wide, and enlarged linearly. Layers are
opened only where opacity, blend or a shadow needs one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from salon.render.marks import Fill, Glyphs, Grain, Group, Mark, Path, Shadow, Soft, Stroke, Tile
from salon.render.paint.grain import noise_tile
from salon.render.paint.raster_paint import BLENDS, LARGE, NEAREST, SMOOTH, along, coarse, ink, layer_paint, rgb
from salon.render.paint.raster_paths import inner_pixels, run_path, scale_of, skia_matrix, skia_path
from salon.render.paint.raster_pattern import lattice, pattern
from salon.render.paint.skia_library import clear, skia

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
        self, canvas: skia.Canvas, known: dict[int, tuple[object, skia.Path]] | None = None, *, recorded: bool = False
    ) -> None:
        self.canvas = canvas
        self.known = {} if known is None else known
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
        Painter(recorder.beginRecording(cell), self.known, recorded=True).draw(mark.marks)
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
        if id(path) not in self.known:
            self.known[id(path)] = (path, skia_path(path))
        return self.known[id(path)][1]

    def letters(self, mark: Glyphs) -> skia.Path:
        """All letters of a run as one outline."""
        if id(mark) not in self.known:
            self.known[id(mark)] = (mark, run_path(mark))
        return self.known[id(mark)][1]

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
            return box if mark.shadow is None else _shaded(box, mark.shadow)
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
        found = None
        for mark in group.marks if group.clip is None else ():
            if not isinstance(mark, Fill) or not _hides(mark):
                continue
            path = skia.Path()
            self.outline(mark.path).transform(matrix, path)
            if path.getBounds().width() * path.getBounds().height() < LARGE:
                continue
            inner = inner_pixels(path, clip)
            if found is None:
                found = inner
            else:
                found.op(inner, skia.Region.kUnion_Op)
        return found

    def _outlined(self, mark: Fill | Glyphs, path: skia.Path) -> None:
        """Draw an outline, blurred where asked."""
        pixels = mark.blur * scale_of(self.canvas.getTotalMatrix())
        if pixels >= FEW:
            plain = _unblurred(mark)
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
        draw(Painter(on_grid, self.known))
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


def _unblurred(mark: Fill | Glyphs) -> Fill | Glyphs:
    """The mark before its blur and blend, which are applied to the result."""
    if isinstance(mark, Fill):
        return Fill(mark.path, mark.paint, mark.opacity)
    return Glyphs(mark.face, mark.size, mark.ids, mark.xs, mark.ys, mark.paint, mark.opacity, outline=mark.outline)


def _hides(mark: Fill) -> bool:
    """Whether nothing shows through the fill."""
    solid = isinstance(mark.paint, str) or all(stop[2] >= 1 for stop in mark.paint.stops)
    return solid and mark.opacity >= 1 and mark.blend == "normal" and mark.blur == 0


def _shaded(box: skia.Rect, shadow: Shadow) -> skia.Rect:
    """The box with its shadow's."""
    cast = box.makeOffset(shadow.dx, shadow.dy).makeOutset(3 * shadow.blur, 3 * shadow.blur)
    cast.join(box)
    return cast


def _area(reach: skia.Rect, clip: skia.IRect, spread: float, grid: float) -> skia.Rect | None:
    """The part of the canvas to draw for a blur: what can be seen, and what spreads into it; whole cells."""
    seen = skia.Rect.Make(clip).makeOutset(spread, spread)
    if not reach.intersect(seen):
        return None
    left, top = (math.floor((edge - spread) / grid) * grid for edge in (reach.left(), reach.top()))
    right, bottom = (math.ceil((edge + spread) / grid) * grid for edge in (reach.right(), reach.bottom()))
    return skia.Rect.MakeLTRB(left, top, right, bottom)
