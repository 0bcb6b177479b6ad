"""Styles of East Asia: Japanese, New Chinese Aesthetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.colors import difference, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Command, Fill, Grain, Linear, Mark, Path, Stroke, Tile
from salon.render.motifs import MotifShape, emblem, motif
from salon.render.plan import Palette, Stage, Style
from salon.render.shapes import circle, joined, line, rect, rounded, smooth
from salon.render.styles.ways import (
    Marks,
    apart,
    bleeds,
    boxed,
    canvas,
    clipped,
    flat,
    freest,
    inset,
    is_dark,
    is_free,
    is_pieced,
    middle,
    nearest_hue,
    outline_box,
    paper,
    shade,
    square,
    tones,
    toward,
)

RED = 30.0
"""OKLCH hue of the disc one would like best."""


class Japanese(Style):
    """Woodblock prints and mid-century posters. A red disc, wave scales, mist bands, washi, a wide void."""

    name = "Japanese"
    moods = ("calm", "elegant", "mysterious", "nostalgic")
    displays = (("Cormorant Garamond", 600), ("Noto Serif", 600), ("Josefin Sans", 400))
    texts = (("Noto Serif", 400), ("Josefin Sans", 400), ("EB Garamond", 400))
    arrangements = ("hero-bottom", "hero-top", "split", "corner-grid", "sidebar", "mark-above", "mark-left")
    tracking = 0.02

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Vegetable inks: chroma held down, white turned to paper."""
        return replace(
            palette,
            ground=paper(palette.ground),
            surface=paper(palette.surface),
            primary=shade(palette.primary, oklch(palette.primary)[0], 0.88),
            secondary=shade(palette.secondary, oklch(palette.secondary)[0], 0.8),
        )

    def sun(self, stage: Stage) -> Color:
        """The color of the disc: the reddest the palette has."""
        return apart(nearest_hue(stage.palette, RED), stage.palette.ground, 1.7)

    def indigo(self, stage: Stage) -> Color:
        """The dark printing ink: the palette's own blue, or its primary, deepened (made pale on a dark ground)."""
        own = nearest_hue(stage.palette, 265.0)
        own = stage.palette.primary if own == nearest_hue(stage.palette, RED) else own
        return shade(own, 0.86, 0.7) if is_dark(stage.palette.ground) else shade(own, min(oklch(own)[0], 0.42))

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The form before a high sun, before a rising one, or left out of a sun on a field of waves."""
        if stage.format == "logo":
            return self._crest(stage, box)
        way = (self._high_sun, self._rising_sun, self._high_sun, self._wave_field)[int(stage.rng.integers(4))]
        return (clipped(way(stage, box, freest(stage, box)), boxed(box)),)

    def _high_sun(self, stage: Stage, box: Box, place: Box) -> Marks:
        """Sky, disc, mist, the form at the shore, a strip of sea."""
        level = place.bottom - 0.2 * place.height
        side = min(0.9 * place.width, 0.8 * place.height)
        x = place.x + place.width * (0.5 if place.width < 1.2 * side else 0.56)
        form = Box(x=x - 0.31 * side, y=level - 0.56 * side, width=0.62 * side, height=0.6 * side)
        return (
            *self._sky(stage, box),
            Fill(circle(x, level - 0.47 * side, 0.37 * side), self.sun(stage)),
            *self._mist(stage, place, level - 0.62 * side, side),
            *self._printed(stage, form),
            *self._sea(stage, Box(x=box.x, y=level, width=box.width, height=box.bottom - level), 62),
        )

    def _rising_sun(self, stage: Stage, box: Box, place: Box) -> Marks:
        """Half a large disc on the horizon of a high sea, the form before it."""
        level = place.bottom - 0.36 * place.height
        side = min(0.8 * place.width, 1.1 * place.height)
        x, _ = middle(place)
        form = Box(x=x - 0.24 * side, y=level - 0.36 * side, width=0.48 * side, height=0.4 * side)
        return (
            *self._sky(stage, box),
            Fill(circle(x, level, 0.46 * side), self.sun(stage)),
            *self._mist(stage, place, level - 0.4 * side, side),
            *self._printed(stage, form),
            *self._sea(stage, Box(x=box.x, y=level, width=box.width, height=box.bottom - level), 96),
        )

    def _wave_field(self, stage: Stage, box: Box, place: Box) -> Marks:
        """Waves from edge to edge, faint, and a large crest upon them."""
        x, y = middle(place)
        side = 0.78 * min(place.width, place.height)
        rim = circle(x, y, 0.5 * side + 14 * stage.unit)
        faint = toward(stage.palette.ground, self.indigo(stage), 0.45)
        crest = Box(x=x - side / 2, y=y - side / 2, width=side, height=side)
        return (self._scales(stage, box, 110, faint), Fill(rim, stage.palette.ground), *self._crest(stage, crest))

    def _sky(self, stage: Stage, box: Box) -> Marks:
        """Wiped where the picture is the head of the canvas, void where it is the foot, else the sheet of a print."""
        if not bleeds(stage, box):
            return (Fill(boxed(box), toward(stage.palette.ground, self.indigo(stage), 0.1)),)
        return (self._bokashi(stage, box),) if box.y <= 1 else ()

    def _crest(self, stage: Stage, box: Box) -> Marks:
        """A family crest: the form left out of a disc."""
        x, y = middle(box)
        disc, sheet = self.sun(stage), stage.palette.ground
        inks = (disc, mix(disc, sheet, 0.5), mix(disc, sheet, 0.75), sheet, mix(sheet, disc, 0.25), disc)
        form = emblem(stage.subject, square(box, 0.6), stage.rng)
        return (Fill(circle(x, y, min(box.width, box.height) / 2), disc), *flat(form, inks))

    def _bokashi(self, stage: Stage, box: Box) -> Fill:
        """The printer's wiped gradient at the top of the sky."""
        sky = toward(stage.palette.ground, self.indigo(stage), 0.75)
        depth = box.height * 0.34
        fade = Linear(box.x, box.y, box.x, box.y + depth, ((0, sky, 1.0), (0.35, sky, 0.5), (1, sky, 0.0)))
        return Fill(boxed(Box(x=box.x, y=box.y, width=box.width, height=depth)), fade)

    def _printed(self, stage: Stage, box: Box) -> Marks:
        """The form in flat inks under one key line."""
        palette, key = stage.palette, self.indigo(stage)
        sheet = palette.surface if is_dark(palette.ground) == is_dark(palette.surface) else palette.ground
        lively = max((palette.accent, palette.primary, sheet), key=lambda color: difference(color, self.sun(stage)))
        inks = (sheet, toward(palette.ground, key, 0.4), palette.secondary, key, lively, sheet)
        shapes = emblem(stage.subject, box, stage.rng)
        rim = tuple(
            Stroke(shape.path, palette.ground, 9 * stage.unit, join="round") for shape in shapes if not shape.line
        )
        return (*rim, *flat(shapes, inks))

    def _sea(self, stage: Stage, box: Box, size: float) -> Marks:
        """Wave scales, and a line where the sky begins."""
        deep = self.indigo(stage)
        return (
            self._scales(stage, box, size, deep),
            Stroke(line(box.x, box.y, box.right, box.y), deep, 5 * stage.unit),
        )

    def _scales(self, stage: Stage, box: Box, size: float, ink: Color) -> Tile:
        """Seigaiha: overlapping scales of fine rings, `size` units in radius."""
        r = max(8.0, float(round(size * stage.unit)))
        rows = ((0.0, 0.0), (2 * r, 0.0), (r, r / 2), (0.0, r), (2 * r, r), (r, 1.5 * r), (0.0, 2 * r), (2 * r, 2 * r))
        rings = tuple(
            Fill(circle(x, y, r * share), ink if k % 2 == 0 else stage.palette.ground)
            for x, y in rows
            for k, share in enumerate((1.0, 0.92, 0.68, 0.6, 0.36, 0.28))
        )
        return Tile(rings, 2 * r, r, boxed(box))

    def _mist(self, stage: Stage, box: Box, level: float, side: float) -> Marks:
        """Bands of mist with round ends, drawn in from either side, in the color of the paper."""
        height = side * 0.032
        marks: list[Fill] = []
        for side_left, share, down in ((True, 0.5, 0.0), (False, 0.42, 0.3), (True, 0.3, 0.36)):
            length = box.width * share * float(stage.rng.uniform(0.8, 1.15))
            y = level + side * down
            for step, part in enumerate((1.0, 0.72)):
                x = box.x - height if side_left else box.right + height - length * part
                marks.append(
                    Fill(rounded(x, y + step * height * 1.35, length * part, height, height / 2), stage.palette.ground)
                )
        return tuple(marks)

    def finish(self, stage: Stage) -> Marks:
        """Washi: fine fibres under a little grain."""
        if stage.format == "logo":
            return ()
        seed = int(stage.rng.integers(2**31))
        starts = stage.rng.uniform(0, 1, (60, 2)) * (stage.width, stage.height)
        turns = stage.rng.normal(0, 16 * stage.unit, (60, 2))
        commands: list[Command] = []
        for (x, y), (dx, dy) in zip(starts.tolist(), turns.tolist()):
            commands += [("M", x, y), ("Q", x + dx, y + dy * 0.2, x + dx * 1.5, y + dy)]
        fibres = Stroke(Path(tuple(commands)), stage.palette.ink, 0.9 * stage.unit, opacity=0.1)
        return (fibres, Grain(canvas(stage), 0.06, seed, speck=1.5))

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A title slip with a thin border."""
        return (
            Fill(boxed(box), stage.palette.surface),
            Stroke(boxed(inset(box, 9 * stage.unit)), self.sun(stage), 2 * stage.unit),
        )


CARVED = ((2, 2, 6, 1), (2, 2, 1, 6), (4, 4, 4, 1), (4, 4, 1, 4), (7, 4, 1, 4), (4, 7, 2, 1))
"""Strokes of the seal in tenths of its side: a meander, no character."""


class NewChineseAesthetic(Style):
    """A moon window, ridges in mist, auspicious clouds, fine gold lines, a seal."""

    name = "New Chinese Aesthetic"
    moods = ("elegant", "mysterious", "calm", "warm")
    displays = (("Cinzel", 700), ("Playfair Display", 700), ("Cormorant Garamond", 700))
    texts = (("Noto Serif", 400), ("EB Garamond", 500), ("Cormorant Garamond", 600))
    arrangements = ("hero-top", "hero-bottom", "stack", "split", "sidebar", "mark-above")
    tracking = 0.02

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Mineral pigments: nothing glares, and white is rice paper."""
        return replace(
            palette,
            ground=paper(_mineral(palette.ground)),
            surface=paper(palette.surface),
            primary=_mineral(palette.primary),
            secondary=_mineral(palette.secondary),
            accent=_mineral(palette.accent),
        )

    def gold(self, stage: Stage) -> Color:
        """Gold leaf that shows on this ground."""
        return "#d9b063" if is_dark(stage.palette.ground) else "#b4842f"

    def picture(self, stage: Stage, box: Box) -> Marks:
        """Ridges behind, the scene in a moon window, clouds in front."""
        if stage.format == "logo":
            return self._medallion(stage, box)
        place = freest(stage, box)
        x, y = middle(place)
        radius = min(place.width, place.height) * 0.43
        land = Box(x=box.x, y=place.y, width=box.width, height=place.height)
        marks = (*self._land(stage, land), *self._window(stage, x, y, radius), *self._clouds(stage, x, y, radius))
        return (clipped(marks, boxed(box)),)

    def _land(self, stage: Stage, box: Box) -> Marks:
        """Ridges across the canvas; in a column of its own they stand on a tinted screen; a free picture has none."""
        if bleeds(stage, box):
            return self._ridges(stage, box)
        if box.x > 1 and box.right < stage.width - 1:
            return ()
        return (
            Fill(boxed(box), toward(stage.palette.ground, stage.palette.secondary, 0.14)),
            *self._ridges(stage, box),
        )

    def _medallion(self, stage: Stage, box: Box) -> Marks:
        """The form in a double gold ring."""
        (x, y), radius, leaf = middle(box), min(box.width, box.height) / 2, self.gold(stage)
        form = emblem(stage.subject, square(box, 0.58), stage.rng)
        rings = ((0.97, 7.0), (0.9, 2.5))
        return (
            *(Stroke(circle(x, y, radius * share), leaf, width * stage.unit) for share, width in rings),
            *self._misty(stage, form),
        )

    def _window(self, stage: Stage, x: float, y: float, radius: float) -> Marks:
        """The scene seen through an opening with a double gold rim: a moon, or the four petals of a begonia."""
        palette, leaf = stage.palette, self.gold(stage)
        outline = circle if stage.rng.random() < 0.65 else _begonia
        opening = outline(x, y, radius)
        colors = tones(palette)
        sky = Linear(x, y - radius, x, y + radius, ((0, mix(colors[0], palette.accent, 0.35), 1), (1, colors[0], 1)))
        box = Box(x=x - radius, y=y - radius, width=2 * radius, height=2 * radius)
        scene = (Fill(opening, sky), *self._misty(stage, motif(stage.subject, box, stage.rng)))
        return (
            clipped(scene, opening),
            Stroke(opening, leaf, 6 * stage.unit),
            Stroke(outline(x, y, radius + 13 * stage.unit), leaf, 1.8 * stage.unit),
        )

    def _misty(self, stage: Stage, shapes: tuple[MotifShape, ...]) -> Marks:
        """Every shape in its tone, with mist and gold."""
        colors = tones(stage.palette)
        return tuple(mark for shape in shapes for mark in self._gilded(stage, shape, colors[shape.tone], colors[0]))

    def _gilded(self, stage: Stage, shape: MotifShape, color: Color, mist: Color) -> Marks:
        """One shape: sunk into mist at its foot and edged with gold, where it is large enough to bear it."""
        leaf, around = self.gold(stage), outline_box(shape.path)
        if shape.line:
            return (Stroke(shape.path, leaf if shape.tone == 5 else color, shape.width, cap="round", join="round"),)
        if shape.tone == 0 or min(around.width, around.height) <= 24 * stage.unit:
            return (Fill(shape.path, color),)
        foot = mix(color, mist, 0.6 if shape.tone < 3 else 0.3)
        area = Fill(shape.path, Linear(around.x, around.y, around.x, around.bottom, ((0, color, 1), (1, foot, 1))))
        if is_pieced(shape.path):
            return (Stroke(shape.path, leaf, 3.4 * stage.unit, join="round"), area)
        return (area, Stroke(shape.path, leaf, 1.7 * stage.unit, join="round"))

    def _ridges(self, stage: Stage, box: Box) -> Marks:
        """Three ranges at the foot of the picture, paler the farther, each with a gold crest."""
        palette, leaf = stage.palette, self.gold(stage)
        main = apart(palette.primary, palette.ground, 1.5)
        marks: list[Mark] = []
        for k in range(3):
            top = box.bottom - box.height * (0.4 - 0.12 * k)
            crest = self._crest(stage, box, top, box.height * 0.08)
            color = mix(palette.ground, main, 0.3 + 0.25 * k)
            fade = Linear(0, top - box.height * 0.08, 0, box.bottom, ((0, color, 1), (1, color, 0)))
            area = Path((*crest.commands, ("L", box.right, box.bottom), ("L", box.x, box.bottom), ("Z",)))
            marks += [Fill(area, fade), Stroke(crest, leaf, 1.6 * stage.unit, opacity=0.8)]
        return tuple(marks)

    def _crest(self, stage: Stage, box: Box, level: float, height: float) -> Path:
        """The skyline of one range: a few summits, rounded."""
        n = 9
        xs = np.linspace(box.x - 10, box.right + 10, n)
        ys = level + height * stage.rng.uniform(-1, 1, n)
        return smooth(list(zip(xs.tolist(), ys.tolist())), closed=False)

    def _clouds(self, stage: Stage, x: float, y: float, radius: float) -> Marks:
        """Two auspicious clouds that cross the rim of the window."""
        return (
            *self._cloud(stage, x - radius * 0.98, y + radius * 0.62, radius * 0.36),
            *self._cloud(stage, x + radius * 0.88, y - radius * 0.34, radius * 0.26),
            *self._cloud(stage, x + radius * 0.55, y + radius * 0.86, radius * 0.3),
        )

    def _cloud(self, stage: Stage, x: float, y: float, size: float) -> Marks:
        """Three curled heads on a trailing band, outlined in gold."""
        palette, leaf = stage.palette, self.gold(stage)
        pale = mix(palette.ground, palette.surface, 0.5)
        heads = ((-0.55, -0.1, 0.36), (0.0, -0.32, 0.48), (0.58, -0.08, 0.34))
        band = rounded(x - size * 1.5, y, size * 3.0, size * 0.26, size * 0.13)
        width = max(1.6 * stage.unit, size * 0.022)
        marks: list[Mark] = []
        for dx, dy, r in heads:
            cx, cy = x + dx * size, y + dy * size + size * 0.1
            for k, share in enumerate((1.0, 0.68, 0.36)):
                color = mix(pale, apart(palette.secondary, palette.ground, 1.2), 0.28 * k)
                disc = circle(cx, cy, r * size * share)
                marks += [Fill(disc, color), Stroke(disc, leaf, width)]
        return (*marks, Fill(band, pale), Stroke(band, leaf, width))

    def finish(self, stage: Stage) -> Marks:
        """A thin gold frame with stepped corners, and a seal where there is room."""
        if stage.format == "logo":
            return ()
        edge = 0.026 * min(stage.width, stage.height)
        frame = Box(x=edge, y=edge, width=stage.width - 2 * edge, height=stage.height - 2 * edge)
        return (Stroke(_stepped(frame, 26 * stage.unit), self.gold(stage), 1.8 * stage.unit), *self._seal(stage))

    def _seal(self, stage: Stage) -> Marks:
        """A square stamp with carved strokes, in the first free corner."""
        side, margin = 58 * stage.unit, 84 * stage.unit
        right, bottom = stage.width - margin - side, stage.height - margin - side
        for x, y in ((right, bottom), (margin, bottom), (right, margin), (margin, margin)):
            place = Box(x=x, y=y, width=side, height=side)
            if is_free(stage, place, 14 * stage.unit):
                s = side / 10
                carved = joined(*(rect(x + a * s, y + b * s, w * s, h * s) for a, b, w, h in CARVED))
                return (Fill(boxed(place, s), "#b5301f"), Fill(carved, "#f8efdc"))
        return ()

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A plaque with a stepped gold line."""
        return (
            Fill(boxed(box), stage.palette.surface),
            Stroke(_stepped(inset(box, 9 * stage.unit), 14 * stage.unit), self.gold(stage), 1.8 * stage.unit),
        )


def _mineral(color: Color) -> Color:
    lightness, chroma, _ = oklch(color)
    return shade(color, lightness, 0.17 / chroma) if chroma > 0.17 else color


def _begonia(x: float, y: float, radius: float) -> Path:
    """A window of four petals, as in garden walls."""
    angles = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    radii = radius * (0.8 + 0.2 * np.abs(np.cos(2 * angles)) ** 0.6)
    return smooth(list(zip((x + radii * np.cos(angles)).tolist(), (y + radii * np.sin(angles)).tolist())))


def _stepped(box: Box, step: float) -> Path:
    """A frame whose corners are folded in, as on screens and book covers."""
    l, t, r, b = box.x, box.y, box.right, box.bottom
    s = step
    points = (
        (l + s, t), (r - s, t), (r - s, t + s), (r, t + s), (r, b - s), (r - s, b - s), (r - s, b), (l + s, b),
        (l + s, b - s), (l, b - s), (l, t + s), (l + s, t + s),
    )  # fmt: skip
    return Path((("M", *points[0]), *(("L", *point) for point in points[1:]), ("Z",)))
