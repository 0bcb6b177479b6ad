"""Styles of the printing press: Pop Art, Retro."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from salon.render.colors import contrast, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Command, Fill, Glyphs, Grain, Mark, Path, Stroke, Tile
from salon.render.motifs import MotifShape, emblem, motif
from salon.render.plan import Palette, Stage, Style, StyledText
from salon.render.shapes import circle, moved, polygon, rect
from salon.render.styles.ways import (
    Marks,
    apart,
    boxed,
    canvas,
    clipped,
    copies,
    flat,
    freest,
    haloed,
    in_view,
    is_free,
    is_pieced,
    middle,
    outline_box,
    rays,
    shade,
    shifted,
    size_of,
    square,
    stands_out,
    tones,
    toward,
)

BLACK = "#14110f"

WHITE = "#fffdf5"

SCENERY = ("abstract", "mountain", "sea", "city", "forest", "stars", "moon", "sun")
"""Subjects that are places rather than things: a comic panel suits them better than a portrait."""


class PopArt(Style):
    """Ben-Day dots, thick black outlines, primary colors printed slightly off their outlines, bursts."""

    name = "Pop Art"
    moods = ("bold", "playful", "joyful")
    displays = (("Luckiest Guy", 400), ("Bungee", 400), ("Anton", 400))
    texts = (("Archivo", 600), ("Barlow Condensed", 600), ("Montserrat", 600))
    case = "upper"
    arrangements = ("hero-bottom", "hero-top", "turned", "split", "full-bleed", "mark-above", "mark-left")
    scale = 1.12

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Printer's colors: the same hues at full strength."""
        return replace(
            palette,
            primary=_vivid(palette.primary),
            secondary=_vivid(palette.secondary),
            accent=_vivid(palette.accent),
        )

    def ground(self, stage: Stage) -> Marks:
        """Paper with a halftone running in from the corners that no text is near."""
        plain = Fill(canvas(stage), stage.palette.ground)
        reach = 0.34 * min(stage.width, stage.height)
        corners = [(x, y) for x in (0.0, stage.width - reach) for y in (0.0, stage.height - reach)]
        free = [(x, y) for x, y in corners if is_free(stage, Box(x=x, y=y, width=reach, height=reach))]
        if stage.format == "logo" or not free:
            return (plain,)
        color = toward(stage.palette.ground, apart(stage.palette.secondary, stage.palette.ground, 1.3), 0.6)
        dots = (self._halftone(stage, x and stage.width, y and stage.height, reach) for x, y in free)
        return (plain, *(Fill(path, color) for path in dots))

    def _halftone(self, stage: Stage, x: float, y: float, reach: float) -> Path:
        """Dots that shrink away from the corner (x, y)."""
        pitch = 30 * stage.unit
        side_x, side_y = (1 if x == 0 else -1), (1 if y == 0 else -1)
        steps = int(reach / pitch) + 1
        commands: list[Command] = []
        for row in range(steps + 2):
            for column in range(steps):
                dx, dy = (column + 0.5 * (row % 2)) * pitch, row * pitch * 0.87
                radius = pitch * 0.48 * (1 - math.hypot(dx, dy) / reach)
                if radius > pitch * 0.07:
                    commands += circle(x + side_x * dx, y + side_y * dy, radius).commands
        return Path(tuple(commands))

    def picture(self, stage: Stage, box: Box) -> Marks:
        """A comic panel, a thing in a burst, or the thing four times over."""
        if stage.format == "logo":
            return self._printed(stage, emblem(stage.subject, box, stage.rng), inks(stage.palette), 9)
        ways = (
            (self._panel_scene, self._serial) if stage.subject in SCENERY else (self._burst, self._serial, self._burst)
        )
        marks = ways[int(stage.rng.integers(len(ways)))](stage, box)
        return (clipped(marks, boxed(box)), Stroke(boxed(box), BLACK, 14 * stage.unit))

    def _panel_scene(self, stage: Stage, box: Box) -> Marks:
        """The scene with dots in its sky."""
        colors = inks(stage.palette)
        back = (Fill(boxed(box), colors[0]), _dots(boxed(box), colors[1], 20 * stage.unit))
        shapes = tuple(shape for shape in in_view(stage, box) if shape.tone > 0)
        return (*back, *self._printed(stage, shapes, colors, 6))

    def _burst(self, stage: Stage, box: Box) -> Marks:
        """Rays, a jagged white burst with a hard shadow, and the thing upon it."""
        place, colors, unit = freest(stage, box), inks(stage.palette), stage.unit
        (x, y), side = middle(place), min(place.width, place.height)
        star = self._jagged(stage, x, y, side)
        form = emblem(stage.subject, square(place, 0.52), stage.rng)
        # The strongest on white first: what was pale on a dark ground would be lost in a burst.
        strong = sorted(colors[2:5], key=lambda color: -contrast(color, WHITE))
        plates = (WHITE, mix(strong[0], WHITE, 0.6), strong[2], strong[0], strong[1], WHITE)
        return (
            Fill(boxed(box), colors[4]),
            Fill(rays(x, y, box.width + box.height, 14), toward(colors[4], colors[3], 0.4)),
            Fill(moved(star, 14 * unit, 14 * unit), BLACK),
            Fill(star, WHITE),
            _dots(star, mix(WHITE, colors[2] if contrast(colors[2], WHITE) > 1.4 else colors[4], 0.4), 20 * unit),
            Stroke(star, BLACK, 8 * unit, join="round"),
            *self._printed(stage, form, plates, 9),
        )

    def _jagged(self, stage: Stage, x: float, y: float, side: float) -> Path:
        """The outline of a bang."""
        points = 28
        radii = side * np.where(np.arange(points) % 2, 0.345, 0.47) * stage.rng.uniform(0.93, 1.06, points)
        angles = np.linspace(0, 2 * np.pi, points, endpoint=False)
        return polygon(list(zip((x + radii * np.cos(angles)).tolist(), (y + radii * np.sin(angles)).tolist())))

    def _serial(self, stage: Stage, box: Box) -> Marks:
        """The same print in changing inks, side by side."""
        columns = 2 if box.width < 1.7 * box.height else 3
        rows = max(1, round(box.height / (box.width / columns)))
        wide, high = box.width / columns, box.height / rows
        first = Box(x=box.x, y=box.y, width=wide, height=high)
        form = emblem(stage.subject, square(first, 0.66), stage.rng)
        plates = inks(stage.palette)[2:5]
        marks: list[Mark] = []
        for k in range(columns * rows):
            row, column = divmod(k, columns)
            turn = (k + row) % 3
            back, main, accent = plates[turn], plates[(turn + 1) % 3], plates[(turn + 2) % 3]
            cell = moved(boxed(first), column * wide, row * high)
            shapes = tuple(replace(s, path=moved(s.path, column * wide, row * high)) for s in form)
            marks += [Fill(cell, back)]
            if (row + column) % 2:
                marks.append(_dots(cell, mix(back, WHITE, 0.5), 20 * stage.unit))
            marks += self._printed(stage, shapes, (back, WHITE, mix(main, WHITE, 0.5), main, accent, WHITE), 7)
            marks.append(Stroke(cell, BLACK, 8 * stage.unit))
        return tuple(marks)

    def _printed(self, stage: Stage, shapes: Sequence[MotifShape], colors: Sequence[Color], line: float) -> Marks:
        """Every shape printed, under black lines of `line` units."""
        return tuple(mark for shape in shapes for mark in self._print(stage, shape, colors, line * stage.unit))

    def _print(self, stage: Stage, shape: MotifShape, colors: Sequence[Color], width: float) -> Marks:
        """Color a little off its outline, dots in a middle tone, and the line; small things have no line or slip."""
        path, color, off = shape.path, colors[shape.tone], 6 * stage.unit
        if shape.line:
            return (Stroke(path, BLACK, max(shape.width, width * 0.8), cap="round", join="round"),)
        around = outline_box(path)
        if min(around.width, around.height) <= 22 * stage.unit:
            return (Fill(path, color),)
        if is_pieced(path):
            return (Stroke(path, BLACK, 2 * width, join="round"), Fill(path, color))
        dotted = shape.tone == 2 and around.width * around.height > (90 * stage.unit) ** 2
        dots = (_dots(path, mix(color, WHITE, 0.55), 16 * stage.unit),) if dotted else ()
        return (shifted((Fill(path, color),), off, off * 0.6), *dots, Stroke(path, BLACK, width, join="round"))

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A caption box with a hard shadow."""
        drop = 12 * stage.unit
        return (
            Fill(moved(boxed(box), drop, drop), BLACK),
            Fill(boxed(box), stage.palette.surface),
            Stroke(boxed(box), BLACK, 7 * stage.unit),
        )

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """Headlines printed twice, slightly off; light letters get a black rim."""
        if role != "headline" or not stands_out(stage, glyphs):
            return StyledText(glyphs)
        size, ink = size_of(glyphs), str(glyphs[0].paint)
        off = size * 0.055
        if contrast(ink, BLACK) > 5:
            rim = haloed(glyphs, BLACK, size * 0.03)
            return StyledText((*copies(glyphs, BLACK, off, off), *rim, *glyphs), ("outline", "shadow"))
        return StyledText((*copies(glyphs, self._second_ink(stage, ink), off, off), *glyphs), ("shadow",))

    def _second_ink(self, stage: Stage, ink: Color) -> Color:
        """The color of the palette that shows best between the letters and the ground."""
        palette = stage.palette
        choices = (palette.accent, palette.primary, palette.secondary)
        return max(choices, key=lambda color: min(contrast(color, ink), 2 * contrast(color, palette.ground)))


def _vivid(color: Color) -> Color:
    lightness, chroma, _ = oklch(color)
    return color if chroma < 0.04 else shade(color, lightness, 1.35)


def inks(palette: Palette) -> tuple[Color, ...]:
    """Tones as a cheap press has them: plates of full color, and white."""
    ground = palette.ground
    return (
        toward(ground, palette.secondary, 0.3),
        toward(ground, palette.secondary, 0.65),
        apart(palette.secondary, ground, 1.3),
        apart(palette.primary, ground, 1.5),
        apart(palette.accent, ground, 1.3),
        WHITE,
    )


def _dots(within: Path, color: Color, pitch: float) -> Tile:
    """Ben-Day dots on the diagonal; whole pixels, which the rasteriser repeats fastest."""
    cell = max(4.0, float(round(pitch * 1.4142)))
    dots = tuple(Fill(circle(cell * at, cell * at, cell * 0.21), color) for at in (0.25, 0.75))
    return Tile(dots, cell, cell, within)


class Retro(Style):
    """The sixties and seventies. Sunbursts, rainbow arches, warm faded inks, worn print, fat soft letters."""

    name = "Retro"
    moods = ("nostalgic", "warm", "joyful")
    displays = (("Righteous", 400), ("Lobster", 400), ("Fraunces", 900), ("Abril Fatface", 400), ("Alfa Slab One", 400))
    texts = (("Josefin Sans", 600), ("Zilla Slab", 500), ("Work Sans", 500))
    arrangements = ("hero-bottom", "hero-top", "stack", "framed", "split", "mark-above")

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Inks that have seen the sun: a little less chroma, blacks lifted, whites yellowed to cream."""
        return replace(
            palette,
            ground=_faded(palette.ground),
            surface=_faded(palette.surface),
            primary=_faded(palette.primary),
            secondary=_faded(palette.secondary),
            accent=_faded(palette.accent),
        )

    def ground(self, stage: Stage) -> Marks:
        """A sunburst that hardly parts from the paper."""
        palette = stage.palette
        plain = Fill(canvas(stage), palette.ground)
        if stage.format == "logo":
            return (plain,)
        ray = mix(palette.ground, palette.secondary, 0.09)
        reach = float(np.hypot(stage.width, stage.height))
        return (plain, Fill(rays(stage.width / 2, stage.height * 0.42, reach, 18), ray))

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The scene under a rainbow of arches, or in a sun from which the same stripes run to the sides."""
        if stage.format == "logo":
            return flat(emblem(stage.subject, box, stage.rng), tones(stage.palette))
        place = freest(stage, box)
        way = self._striped if place.width > 1.7 * place.height or stage.rng.random() < 0.3 else self._arched
        return (clipped(way(stage, place), boxed(box)),)

    def _arched(self, stage: Stage, box: Box) -> Marks:
        """Nested doorways, the scene in the innermost."""
        width = min(box.width, 1.45 * box.height)
        arch = Box(x=box.x + (box.width - width) / 2, y=box.y, width=width, height=box.height)
        bands, step = _bands(stage.palette), width * 0.042
        inner = _shrunk(arch, len(bands) * step)
        return (
            *(Fill(_arch(_shrunk(arch, k * step)), color) for k, color in enumerate(bands)),
            clipped(self._scene(stage, inner), _arch(inner)),
        )

    def _striped(self, stage: Stage, box: Box) -> Marks:
        """A sun with rings, set on stripes that cross the whole picture."""
        x, y = middle(box)
        radius = min(box.width, box.height) * 0.5
        bands = _bands(stage.palette)
        step = radius * 0.085
        stripes = [
            Fill(rect(box.x, y + (k - 0.5 * len(bands)) * step * 1.5, box.width, step * 1.5), color)
            for k, color in enumerate(bands)
        ]
        rings = [Fill(circle(x, y, radius - k * step), color) for k, color in enumerate(bands)]
        inner = radius - len(bands) * step
        window = Box(x=x - inner, y=y - inner, width=2 * inner, height=2 * inner)
        return (*stripes, *rings, clipped(self._scene(stage, window), circle(x, y, inner)))

    def _scene(self, stage: Stage, box: Box) -> Marks:
        colors = tones(stage.palette)
        return (Fill(boxed(box), colors[0]), *flat(motif(stage.subject, box, stage.rng), colors))

    def finish(self, stage: Stage) -> Marks:
        """Worn print."""
        seed = int(stage.rng.integers(2**31))
        return (Grain(canvas(stage), 0.09, seed, speck=1.6),)

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A label with an inner line."""
        radius = 36 * stage.unit
        return (Fill(boxed(box, radius), stage.palette.surface),)

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """Headlines in three steps of color."""
        if role != "headline" or not stands_out(stage, glyphs):
            return StyledText(glyphs)
        size, palette = size_of(glyphs), stage.palette
        ink = str(glyphs[0].paint)
        steps = [color for color in (palette.primary, palette.accent) if contrast(color, ink) > 1.7]
        shift = size * 0.035
        behind = [
            mark
            for k, color in reversed(list(enumerate(steps, start=1)))
            for mark in copies(glyphs, color, shift * k, shift * k)
        ]
        return StyledText((*behind, *glyphs), ("shadow",) if behind else ())


def _faded(color: Color) -> Color:
    lightness, chroma, _ = oklch(color)
    if chroma < 0.035:
        return mix(color, "#f3dfb8" if lightness > 0.6 else "#4a2c1a", 0.35)
    return shade(color, 0.5 + (lightness - 0.5) * 0.93, 0.82)


def _bands(palette: Palette) -> tuple[Color, ...]:
    """Five stripes from the palette, neighbours well apart."""
    ground = palette.ground
    return (
        apart(palette.primary, ground, 1.35),
        mix(palette.primary, palette.accent, 0.55),
        palette.accent,
        mix(palette.accent, palette.surface, 0.55),
        apart(palette.secondary, palette.surface, 1.3),
    )


def _shrunk(box: Box, by: float) -> Box:
    """Drawn in at the sides and the top; arches stand on their foot."""
    return Box(x=box.x + by, y=box.y + by, width=box.width - 2 * by, height=box.height - by)


def _arch(box: Box) -> Path:
    """A doorway with a round top (an oval one in a low box)."""
    rx, ry = box.width / 2, min(box.width / 2, box.height)
    k = 0.5523
    left, right, spring, x = box.x, box.right, box.y + ry, box.x + rx
    return Path(
        (
            ("M", left, box.bottom),
            ("L", left, spring),
            ("C", left, spring - k * ry, x - k * rx, box.y, x, box.y),
            ("C", x + k * rx, box.y, right, spring - k * ry, right, spring),
            ("L", right, box.bottom),
            ("Z",),
        )
    )
