"""Ways of drawing that several styles share: plain parts, tones from a palette, and what one does to letters.

A style is these with its own manner on top: `ground=plain_ground` is a fair start, and a flat picture is
`flat(motif(stage.subject, box, stage.rng), tones(stage.palette))`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from salon.render.colors import contrast, from_oklch, luminance, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Group, Mark, Paint, Path, Stroke
from salon.render.motifs import MotifShape, motif
from salon.render.plan import Lettered, Palette, Stage
from salon.render.shapes import joined, rect, rounded, sector

Marks = tuple[Mark, ...]
Tones = tuple[Color, Color, Color, Color, Color, Color]
"""Colors of a motif's tones: backdrop, far, middle, main, accent, detail."""


# Places


def canvas(stage: Stage) -> Path:
    """The whole canvas as an outline."""
    return rect(0, 0, stage.width, stage.height)


def whole(stage: Stage) -> Box:
    """The whole canvas as a box."""
    return Box(x=0, y=0, width=stage.width, height=stage.height)


def boxed(box: Box, radius: float = 0.0) -> Path:
    """The outline of a box, its corners rounded by `radius`."""
    if radius <= 0:
        return rect(box.x, box.y, box.width, box.height)
    return rounded(box.x, box.y, box.width, box.height, min(radius, box.width / 2, box.height / 2))


def inset(box: Box, by: float) -> Box:
    """The box drawn in by `by` on every side (out, where negative), never past its own centre."""
    by_x, by_y = min(by, box.width / 2), min(by, box.height / 2)
    return Box(x=box.x + by_x, y=box.y + by_y, width=box.width - 2 * by_x, height=box.height - 2 * by_y)


def square(box: Box, share: float = 1.0) -> Box:
    """The largest centred square in the box, times `share`."""
    side = min(box.width, box.height) * share
    return Box(x=box.x + (box.width - side) / 2, y=box.y + (box.height - side) / 2, width=side, height=side)


def middle(box: Box) -> tuple[float, float]:
    """The centre of a box."""
    return box.x + box.width / 2, box.y + box.height / 2


def is_free(stage: Stage, box: Box, gap: float = 0.0) -> bool:
    """Whether the box lies on the canvas and keeps `gap` pixels from everywhere text will stand."""
    on_canvas = box.x >= 0 and box.y >= 0 and box.right <= stage.width and box.bottom <= stage.height
    return on_canvas and not any(inset(quiet, -gap).meets(box) for quiet in stage.quiet)


def bleeds(stage: Stage, box: Box) -> bool:
    """Whether the box reaches the left and the right edge of the canvas."""
    return box.x <= 1 and box.right >= stage.width - 1


def freest(stage: Stage, box: Box) -> Box:
    """The largest part of the box beside, above or below all text that stands in it; the box where none does."""
    inside = [quiet for quiet in stage.quiet if quiet.meets(box)]
    if not inside:
        return box
    left, right = max(box.x, min(q.x for q in inside)), min(box.right, max(q.right for q in inside))
    top, bottom = max(box.y, min(q.y for q in inside)), min(box.bottom, max(q.bottom for q in inside))
    parts = (
        Box(x=box.x, y=box.y, width=box.width, height=top - box.y),
        Box(x=box.x, y=bottom, width=box.width, height=box.bottom - bottom),
        Box(x=box.x, y=box.y, width=left - box.x, height=box.height),
        Box(x=right, y=box.y, width=box.right - right, height=box.height),
    )
    return max(parts, key=lambda part: min(part.width, part.height) ** 2 * max(part.width, part.height))


# Colors


def is_dark(color: Color) -> bool:
    """Whether white reads better on it than black."""
    return luminance(color) < 0.18


def shade(color: Color, lightness: float, chroma: float = 1.0) -> Color:
    """The color at another OKLCH lightness, its chroma times `chroma`: the hue stays."""
    _, own_chroma, hue = oklch(color)
    return from_oklch(float(np.clip(lightness, 0.0, 1.0)), own_chroma * chroma, hue)


def moved_lightness(color: Color, by: float, chroma: float = 1.0) -> Color:
    """The color lighter by `by` (darker, where negative) in OKLCH."""
    return shade(color, oklch(color)[0] + by, chroma)


def apart(color: Color, ground: Color, least: float = 1.5) -> Color:
    """The color, moved in lightness away from the ground until their contrast is at least `least`.

    A yellow that has to darken turns towards ochre, as pigment does; at its own hue it would be mud.
    """
    lightness, chroma, hue = oklch(color)
    step = -0.04 if lightness <= oklch(ground)[0] else 0.04
    if not 0.12 < oklch(ground)[0] + step * 6 < 0.98:  # no room on that side: go through to the other
        step = -step
    ochre = -25.0 if step < 0 and lightness > 0.72 and 80 < hue < 125 else 0.0
    moved = 0
    while contrast(color, ground) < least and 0.0 < lightness < 1.0:
        moved += 1
        lightness = float(np.clip(lightness + step, 0.0, 1.0))
        color = from_oklch(lightness, chroma, hue + ochre * min(1.0, moved / 6))
    return color


def strongest(palette: Palette, on: Color, least: float) -> Color:
    """The first of primary, accent and secondary that stands out from `on`; the ink where none does."""
    return next(
        (color for color in (palette.primary, palette.accent, palette.secondary) if contrast(color, on) >= least),
        palette.ink,
    )


def paper(color: Color, share: float = 0.4) -> Color:
    """White turned to unbleached paper; any other color as it is."""
    lightness, chroma, _ = oklch(color)
    return mix(color, "#f3ead8", share) if lightness > 0.88 and chroma < 0.05 else color


def toward(color: Color, other: Color, share: float) -> Color:
    """A share of the way to another color without passing through grey: far hues are not crossed, only approached."""
    (_, chroma, hue), (_, other_chroma, other_hue) = oklch(color), oklch(other)
    turn = abs((hue - other_hue + 180) % 360 - 180)
    if turn < 75 or min(chroma, other_chroma) < 0.04:
        return mix(color, other, share)
    lightness, _, _ = oklch(mix(color, other, share))
    return from_oklch(lightness, chroma * (1 - 0.4 * share), hue)


def tones(palette: Palette) -> Tones:
    """The plain reading of a palette: far things near the ground, the main thing primary, one accent, light details."""
    ground, primary = palette.ground, palette.primary
    detail = max((ground, palette.surface, palette.ink), key=lambda color: contrast(color, primary))
    return (
        toward(ground, palette.secondary, 0.22),
        toward(ground, palette.secondary, 0.5),
        apart(palette.secondary, ground, 1.25),
        apart(primary, ground, 1.6),
        apart(palette.accent, ground, 1.4),
        detail,
    )


def nearest_hue(palette: Palette, hue: float) -> Color:
    """Of primary, accent and secondary the one nearest `hue` (OKLCH degrees), strong colors before faint ones."""

    def distance(color: Color) -> float:
        _, chroma, own = oklch(color)
        return abs((own - hue + 180) % 360 - 180) - 300 * min(chroma, 0.2)

    return min((palette.accent, palette.primary, palette.secondary), key=distance)


def keep(palette: Palette, rng: np.random.Generator) -> Palette:
    """The palette as it is: a `tune` that changes nothing."""
    return palette


# Shapes into marks


def drawn(shape: MotifShape, paint: Paint, *, opacity: float = 1.0) -> Fill | Stroke:
    """One shape of a motif in one paint: a line where it is a line, else filled."""
    if shape.line:
        return Stroke(shape.path, paint, shape.width, opacity=opacity, cap="round", join="round")
    return Fill(shape.path, paint, opacity=opacity)


def flat(shapes: Iterable[MotifShape], colors: Sequence[Paint]) -> Marks:
    """Every shape in the color of its tone, back to front as given."""
    return tuple(drawn(shape, colors[shape.tone]) for shape in shapes)


def shifted(marks: Marks, dx: float, dy: float) -> Group:
    """The marks moved as they are: outlines drawn twice need not be written twice."""
    return Group(marks, transform=(1.0, 0.0, 0.0, 1.0, dx, dy))


def spread(path: Path) -> Box:
    """About the box of an outline, from the points that steer it: quick, and never too small."""
    xs = [x for command in path.commands for x in command[1:][::2]]
    ys = [y for command in path.commands for y in command[1:][1::2]]
    return Box.model_construct(x=min(xs), y=min(ys), width=max(xs) - min(xs), height=max(ys) - min(ys))


def is_pieced(path: Path) -> bool:
    """Whether several outlines make up the area, so that a line along them belongs below the fill, not across it."""
    return not path.even_odd and sum(command[0] == "M" for command in path.commands) > 1


def in_view(stage: Stage, box: Box) -> tuple[MotifShape, ...]:
    """The subject's scene in the box, composed for what a panel over the whole canvas leaves to see of it."""
    seen = freest(stage, box)
    if len(stage.quiet) != 1 or seen == box:
        return motif(stage.subject, box, stage.rng)
    if seen.width < box.width:
        x, _ = middle(seen)
        half = max(x - box.x, box.right - x)  # the scene reaches past the canvas, so that its middle is in view
        return motif(stage.subject, Box(x=x - half, y=box.y, width=2 * half, height=box.height), stage.rng)
    hidden = 0.05 * box.height
    top, bottom = max(box.y, seen.y - hidden), min(box.bottom, seen.bottom + hidden)
    shapes = motif(stage.subject, Box(x=box.x, y=top, width=box.width, height=bottom - top), stage.rng)
    soil = Box(x=box.x, y=bottom, width=box.width, height=box.bottom - bottom)
    return (*shapes, MotifShape(boxed(soil), _soil(shapes, bottom, box.width), 1.0)) if soil.height > 1 else shapes


def _soil(shapes: Iterable[MotifShape], bottom: float, width: float) -> int:
    """The tone of the front shape that stands on the lower edge and is most of it wide; the backdrop's if none is."""
    tone = 0
    for shape in shapes:
        around = spread(shape.path)
        if not shape.line and around.bottom > bottom - 1.5 and around.width > 0.6 * width:
            tone = shape.tone
    return tone


def clipped(marks: Marks, outline: Path) -> Group:
    """The marks, cut along an outline."""
    return Group(marks, clip=outline)


def rays(x: float, y: float, reach: float, count: int) -> Path:
    """Every other slice of a full turn about (x, y), as one outline: a sunburst."""
    step = 180 / count
    return joined(*(sector(x, y, reach, 2 * k * step, (2 * k + 1) * step) for k in range(count)))


# Plain parts of a style


def plain_ground(stage: Stage) -> Marks:
    """The canvas in the palette's ground."""
    return (Fill(canvas(stage), stage.palette.ground),)


def no_finish(stage: Stage) -> Marks:
    """Nothing on top."""
    return ()


def plain_panel(stage: Stage, box: Box) -> Marks:
    """A sharp-cornered panel in the palette's surface."""
    return (Fill(boxed(box), stage.palette.surface),)


def plain_letter(stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> Lettered:
    """The letters as set."""
    return Lettered(glyphs)


# Letters


def copies(
    glyphs: Iterable[Glyphs], paint: Paint, dx: float = 0.0, dy: float = 0.0, *, outline: float | None = None
) -> tuple[Glyphs, ...]:
    """The same letters in another paint, moved, and drawn as lines of width `outline` where given."""
    return tuple(
        replace(
            run,
            paint=paint,
            xs=tuple(x + dx for x in run.xs),
            ys=tuple(y + dy for y in run.ys),
            outline=outline,
        )
        for run in glyphs
    )


def stands_out(stage: Stage, glyphs: Sequence[Glyphs], least: float = 4.5) -> bool:
    """Whether the letters keep their promised contrast: effects are for these, never a rescue for faint ones."""
    palette = stage.palette
    promised = {palette.on_surface: palette.surface, palette.on_accent: palette.accent, palette.ink: palette.ground}
    paints = {run.paint for run in glyphs}
    return all(
        isinstance(paint, str) and contrast(paint, promised.get(paint, palette.ground)) >= least for paint in paints
    )


def size_of(glyphs: Sequence[Glyphs]) -> float:
    """The type size in pixels: effects are measured in it. Zero for no letters."""
    return max((run.size for run in glyphs), default=0.0)


def extruded(glyphs: Sequence[Glyphs], paint: Paint, dx: float, dy: float) -> Marks:
    """The letters pulled back to (dx, dy) as a solid body; draw the letters themselves on top."""
    steps = int(np.clip(max(abs(dx), abs(dy)) / max(size_of(glyphs) * 0.012, 1.0), 2, 12))
    return tuple(
        mark for step in range(steps, 0, -1) for mark in copies(glyphs, paint, dx * step / steps, dy * step / steps)
    )


def haloed(glyphs: Sequence[Glyphs], paint: Paint, width: float) -> Marks:
    """A rim of `width` pixels around the letters; draw the letters themselves on top."""
    return copies(glyphs, paint, outline=2 * width)
