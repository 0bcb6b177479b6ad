"""Styles of plain form and much space: Flat Design, Minimalist, Typographic Minimalism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.colors import mix, oklch
from salon.render.layout import Box, Face
from salon.render.marks import Color, Fill, Glyphs, Group, Mark, Path, Stroke
from salon.render.motifs import emblem
from salon.render.plan import Palette, Stage, Style
from salon.render.shapes import circle, line, rect, swell
from salon.render.styles.ways import (
    Marks,
    apart,
    boxed,
    canvas,
    clipped,
    flat,
    freest,
    in_view,
    middle,
    shade,
    square,
    strongest,
    tones,
)
from salon.render.typeset.shape import ShapedLine, shape_line


class FlatDesign(Style):
    """Solid soft-cornered shapes, no gradients, cheerful: the way apps are illustrated."""

    name = "Flat Design"
    moods = ("joyful", "playful", "warm", "calm")
    displays = (("Poppins", 700), ("Fredoka", 600), ("Montserrat", 800))
    texts = (("Poppins", 400), ("DM Sans", 400), ("Montserrat", 500))
    arrangements = (
        "hero-top",
        "hero-bottom",
        "split",
        "full-bleed",
        "stack",
        "sidebar",
        "mark-above",
        "mark-left",
    )
    tracking = -0.015

    def ground(self, stage: Stage) -> Marks:
        """The plain canvas with two large forms that barely leave it."""
        palette, side = stage.palette, min(stage.width, stage.height)
        if stage.format == "logo":
            return (Fill(canvas(stage), palette.ground),)
        left = bool(stage.rng.random() < 0.5)
        x, far = (0.0, float(stage.width)) if left else (float(stage.width), 0.0)
        return (
            Fill(canvas(stage), palette.ground),
            Fill(circle(x, stage.height, side * 0.46), mix(palette.ground, palette.secondary, 0.1)),
            Fill(circle(far, 0, side * 0.34), mix(palette.ground, palette.primary, 0.08)),
        )

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The scene in a soft-cornered window, or across the canvas with a long curved edge."""
        colors = tones(stage.palette)
        if stage.format == "logo":
            return flat(emblem(stage.subject, box, stage.rng), colors)
        shapes = in_view(stage, box)
        marks = (Fill(boxed(box), colors[0]), *flat(shapes, colors))
        return (clipped(marks, self._window(stage, box)),)

    def _window(self, stage: Stage, box: Box) -> Path:
        """The outline the scene is seen through: round corners, a long curve towards the text, or plain at edges."""
        on_edge = (box.x <= 1, box.right >= stage.width - 1, box.y <= 1, box.bottom >= stage.height - 1)
        if not any(on_edge):
            return boxed(box, min(box.width, box.height) * 0.09)
        height = box.height * 0.035
        if on_edge == (True, True, True, False):
            return swell(box.x, box.right, box.bottom - height, height, box.width * 1.1, box.y, phase=0.1)
        if on_edge == (True, True, False, True):
            return swell(box.x, box.right, box.y + height, height, box.width * 1.1, box.bottom, phase=0.1)
        return boxed(box)

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A soft-cornered card."""
        return (Fill(boxed(box, 28 * stage.unit), stage.palette.surface),)


class Minimalist(Style):
    """One form in a wide empty space, one accent, a restrained grotesque."""

    name = "Minimalist"
    moods = ("calm", "elegant", "serious")
    displays = (("Inter", 500), ("DM Sans", 500), ("Work Sans", 400))
    texts = (("Inter", 400), ("DM Sans", 400), ("Work Sans", 400))
    arrangements = ("hero-top", "corner-grid", "hero-bottom", "sidebar", "stack", "mark-above", "mark-left")
    tracking = -0.02
    scale = 0.64

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """A calmer ground: pale ones paler, dark ones darker, strong ones as they are."""
        lightness, chroma, _ = oklch(palette.ground)
        if chroma > 0.08:
            return palette
        further = min(0.97, lightness + 0.04) if lightness > 0.5 else max(0.14, lightness - 0.03)
        return replace(palette, ground=shade(palette.ground, further, 0.75))

    def picture(self, stage: Stage, box: Box) -> Marks:
        """One form in one of three poses; which one is chance."""
        if stage.format == "logo":
            return self._alone(stage, box, 0.86)
        place = freest(stage, box)
        pose = (self._on_a_line, self._on_a_disc, self._beside_a_dot)[int(stage.rng.integers(3))]
        return pose(stage, place)

    def _inks(self, stage: Stage, on: Color) -> tuple[Color, ...]:
        """One ink in two strengths, and one accent."""
        palette = stage.palette
        main = strongest(palette, on, 2.4)
        return (on, mix(on, main, 0.35), mix(on, main, 0.6), main, apart(palette.accent, on, 1.6), on)

    def _alone(self, stage: Stage, box: Box, share: float) -> Marks:
        return flat(emblem(stage.subject, square(box, share), stage.rng), self._inks(stage, stage.palette.ground))

    def _on_a_line(self, stage: Stage, box: Box) -> Marks:
        """The form standing on a hairline, off the centre."""
        x, y = middle(box)
        side = min(box.width, box.height) * 0.44
        reach = min(box.width, 1.9 * box.height)
        left = x - reach * 0.5 + reach * 0.382 - side / 2
        foot = Box(x=left, y=y + side * 0.42 - side, width=side, height=side)
        level = line(x - reach / 2, foot.bottom, x + reach / 2, foot.bottom)
        return (*self._alone(stage, foot, 1.0), Stroke(level, stage.palette.ink, 2.2 * stage.unit))

    def _on_a_disc(self, stage: Stage, box: Box) -> Marks:
        """The form cut out of a plain disc."""
        palette = stage.palette
        x, y = middle(box)
        radius = min(box.width, box.height) * 0.36
        disc = apart(palette.primary, palette.ground, 1.6)
        light = max(
            (palette.ground, palette.surface, palette.ink), key=lambda color: abs(oklch(color)[0] - oklch(disc)[0])
        )
        inks = (disc, mix(disc, light, 0.45), mix(disc, light, 0.7), light, apart(palette.accent, disc, 1.5), disc)
        form = emblem(stage.subject, square(box, 0.72 * 0.56), stage.rng)
        return (Fill(circle(x, y, radius), disc), *flat(form, inks))

    def _beside_a_dot(self, stage: Stage, box: Box) -> Marks:
        """The form, and far from it a dot of accent."""
        x, y = middle(box)
        side = min(box.width, box.height)
        form = Box(x=x - side * 0.36, y=y - side * 0.2, width=side * 0.5, height=side * 0.5)
        dot = circle(x + side * 0.36, y - side * 0.3, side * 0.052)
        return (*self._alone(stage, form, 1.0), Fill(dot, apart(stage.palette.accent, stage.palette.ground, 1.4)))


FACES = (
    Face(family="Archivo Black"),
    Face(family="Bodoni Moda", weight=900),
    Face(family="Abril Fatface"),
    Face(family="Fraunces", weight=900),
)

SIGNS = "&*“,"
"""Signs that say nothing wrong beside any headline."""

FRAGMENTS = "RSGaegk"
"""Letters with bowls, legs and ears: cropped so close that one sees form before one reads."""


class TypographicMinimalism(Style):
    """Type is the picture. An enormous sign, a fragment of a letter, heavy rules, two colors."""

    name = "Typographic Minimalism"
    moods = ("serious", "bold", "elegant")
    displays = (("Archivo Black", 400), ("Anton", 400), ("Bodoni Moda", 800), ("Syne", 800))
    texts = (("Archivo", 400), ("Inter", 400), ("Space Grotesk", 400))
    arrangements = ("big-type", "split", "corner-grid", "sidebar", "hero-top", "hero-bottom", "mark-left")
    tracking = -0.03
    scale = 1.35

    def picture(self, stage: Stage, box: Box) -> Marks:
        """A giant sign, whole or sliced, a close crop of a letter, or bars."""
        if stage.format == "logo":
            return self._fitted(stage, box)
        place = freest(stage, box)
        ways = (
            (self._cropped, self._fragment, self._sliced, self._bars)
            if place.height > 380 * stage.unit
            else (self._fragment, self._bars)
        )
        return ways[int(stage.rng.integers(len(ways)))](stage, place)

    def _color(self, stage: Stage) -> Color:
        return strongest(stage.palette, stage.palette.ground, 2.0)

    def _one_of(self, stage: Stage, characters: str) -> ShapedLine:
        face = FACES[int(stage.rng.integers(len(FACES)))]
        return shape_line(characters[int(stage.rng.integers(len(characters)))], face, 1000.0)

    def _placed(self, stage: Stage, shaped: ShapedLine, scale: float, x: float, y: float) -> tuple[Glyphs, ...]:
        """Shaped letters enlarged, the centre of their ink at (x, y)."""
        centre_x, centre_y = middle(shaped.ink)
        left, top = x - centre_x * scale, y - centre_y * scale
        return tuple(
            Glyphs(
                run.face,
                shaped.size * scale,
                run.ids,
                tuple(left + at * scale for at in run.xs),
                tuple(top + at * scale for at in run.ys),
                self._color(stage),
            )
            for run in shaped.runs
        )

    def _fitted(self, stage: Stage, box: Box, share: float = 1.0, signs: str = SIGNS) -> tuple[Glyphs, ...]:
        """A whole sign, as large as the box allows, times `share`."""
        shaped = self._one_of(stage, signs)
        scale = share * min(box.height / shaped.ink.height, box.width / shaped.ink.width)
        return self._placed(stage, shaped, scale, *middle(box))

    def _cropped(self, stage: Stage, box: Box) -> Marks:
        """A sign a little too large for its place."""
        return (clipped(self._fitted(stage, box, 1.18), boxed(box)),)

    def _fragment(self, stage: Stage, box: Box) -> Marks:
        """A letter at more than twice the size of its place, seen somewhere off its middle."""
        shaped = self._one_of(stage, FRAGMENTS)
        scale = 2.1 * max(box.width / shaped.ink.width, box.height / shaped.ink.height)
        (x, y), (dx, dy) = middle(box), stage.rng.uniform(0.2, 0.3, 2) * stage.rng.choice((-1, 1), 2) * scale
        letter = self._placed(stage, shaped, scale, x + dx * shaped.ink.width, y + dy * shaped.ink.height)
        return (clipped(letter, boxed(box)),)

    def _sliced(self, stage: Stage, box: Box) -> Marks:
        """A sign cut into strips, each shifted against the next."""
        sign = self._fitted(stage, box, 0.94, "&*")
        strips = 5
        height = box.height / strips
        marks = []
        for k in range(strips):
            shift = box.width * 0.04 * (k - (strips - 1) / 2) * (1 if k % 2 else -1)
            strip = rect(box.x, box.y + k * height, box.width, height - 5 * stage.unit)
            marks.append(Group((Group(sign, transform=(1, 0, 0, 1, shift, 0)),), clip=strip))
        return tuple(marks)

    def _bars(self, stage: Stage, box: Box) -> Marks:
        """Rules that grow by a constant ratio, one of them in the accent."""
        ratio, gap = 1.55, 0.35
        count = 7
        heights = ratio ** np.arange(count)
        unit = box.height / float(heights.sum() * (1 + gap) - gap * heights[-1])
        special = int(stage.rng.integers(2, count - 1))
        marks: list[Mark] = []
        y = box.y
        for k, height in enumerate(heights * unit):
            color = apart(stage.palette.accent, stage.palette.ground, 1.5) if k == special else self._color(stage)
            marks.append(Fill(rect(box.x, y, box.width, float(height)), color))
            y += float(height) * (1 + gap)
        return tuple(marks)
