"""Ways of drawing that several styles share: tones of a palette, shapes into marks, light, and effects of letters.

A style is these with its own manner on top: `flat(motif(stage.subject, box, stage.rng), tones(stage.palette))` is a
flat picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from salon.render.colors import contrast, from_oklch, luminance, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Group, Linear, Mark, Paint, Path, Radial, Stroke
from salon.render.motifs import MotifShape, emblem, motif
from salon.render.plan import Palette, Stage
from salon.render.shapes import bounds, circle, ellipse, joined, polygon, rect, rounded, sector

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


def toward(color: Color, target: Color, share: float) -> Color:
    """A share of the way to another color without passing through grey: far hues are not crossed, only approached."""
    (_, chroma, hue), (_, target_chroma, target_hue) = oklch(color), oklch(target)
    turn = abs((hue - target_hue + 180) % 360 - 180)
    if turn < 75 or min(chroma, target_chroma) < 0.04:
        return mix(color, target, share)
    lightness, _, _ = oklch(mix(color, target, share))
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


# Shapes into marks


def shape_mark(shape: MotifShape, paint: Paint, *, opacity: float = 1.0) -> Fill | Stroke:
    """One shape of a motif in one paint: a line where it is a line, else filled."""
    if shape.line:
        return Stroke(shape.path, paint, shape.width, opacity=opacity, cap="round", join="round")
    return Fill(shape.path, paint, opacity=opacity)


def flat(shapes: Iterable[MotifShape], colors: Sequence[Paint]) -> Marks:
    """Every shape in the color of its tone, back to front as given."""
    return tuple(shape_mark(shape, colors[shape.tone]) for shape in shapes)


def shifted(marks: Marks, dx: float, dy: float) -> Group:
    """The marks moved as they are: outlines drawn twice need not be written twice."""
    return Group(marks, transform=(1.0, 0.0, 0.0, 1.0, dx, dy))


def outline_box(path: Path) -> Box:
    """About the box of an outline, from the points that steer it: quick, and never too small."""
    xs = [x for command in path.commands for x in command[1:][::2]]
    ys = [y for command in path.commands for y in command[1:][1::2]]
    return Box.model_construct(x=min(xs), y=min(ys), width=max(xs) - min(xs), height=max(ys) - min(ys))


def is_pieced(path: Path) -> bool:
    """Whether several outlines make up the area, so that a line along them belongs below the fill, not across it."""
    return not path.even_odd and sum(command[0] == "M" for command in path.commands) > 1


def in_view(stage: Stage, box: Box) -> tuple[MotifShape, ...]:
    """The subject's scene in the box, composed for what a panel over the whole canvas leaves to see of it."""
    view = freest(stage, box)
    if len(stage.quiet) != 1 or view == box:
        return motif(stage.subject, box, stage.rng)
    if view.width < box.width:
        x, _ = middle(view)
        half = max(x - box.x, box.right - x)  # the scene reaches past the canvas, so that its middle is in view
        return motif(stage.subject, Box(x=x - half, y=box.y, width=2 * half, height=box.height), stage.rng)
    hidden = 0.05 * box.height
    top, bottom = max(box.y, view.y - hidden), min(box.bottom, view.bottom + hidden)
    shapes = motif(stage.subject, Box(x=box.x, y=top, width=box.width, height=bottom - top), stage.rng)
    soil = Box(x=box.x, y=bottom, width=box.width, height=box.bottom - bottom)
    return (*shapes, MotifShape(boxed(soil), _soil(shapes, bottom, box.width), 1.0)) if soil.height > 1 else shapes


def _soil(shapes: Iterable[MotifShape], bottom: float, width: float) -> int:
    """The tone of the front shape that stands on the lower edge and is most of it wide; the backdrop's if none is."""
    tone = 0
    for shape in shapes:
        around = outline_box(shape.path)
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


# Light, for the styles that live on it: night palettes, neon lines, shaded bodies, and room kept around the text


WHITE, BLACK = "#ffffff", "#000000"
GREY_CHROMA = 0.03
"""Below this a color has no hue worth keeping: it is made lighter or darker, never colored."""


# Colors


def vivid(color: Color, lowest: float, highest: float, chroma: float) -> Color:
    """The color brought between two OKLCH lightnesses and to at least `chroma`; its hue stays, greys stay grey."""
    lightness, own_chroma, hue = oklch(color)
    if own_chroma <= GREY_CHROMA:
        return from_oklch(max(lightness, lowest), own_chroma, hue)
    if 75 < hue < 130:  # a yellow turned down is mustard, a lime olive
        highest = max(highest, 0.92)
    return from_oklch(float(np.clip(lightness, lowest, highest)), max(own_chroma, chroma), hue)


def night(palette: Palette, lightness: float, *, chroma: float, glow: float, hue: float) -> Palette:
    """The palette after dark: a deep ground in its own hue, every color bright enough to shine on it.

    A bright ground would be lost in the dark, so its color lives on as the primary, and the primary as the secondary.
    `hue` is the night's own, for such grounds and for those that have none, such as black, white and cream; `chroma`
    is how colored the night may be, `glow` how colored the rest must be.
    """
    own_lightness, own_chroma, own_hue = oklch(palette.ground)
    primary, secondary = palette.primary, palette.secondary
    if own_chroma > 0.045 and own_lightness > 0.45:
        primary, secondary = palette.ground, palette.primary
    elif own_chroma > GREY_CHROMA and own_lightness <= 0.45:
        hue = own_hue
    depth = min(max(own_chroma, chroma * 0.5), chroma)
    return inked(
        replace(
            palette,
            ground=from_oklch(lightness, depth, hue),
            surface=from_oklch(lightness + 0.05, depth, hue),
            primary=vivid(primary, 0.64, 0.84, glow),
            secondary=vivid(secondary, 0.6, 0.86, glow * 0.9),
            accent=vivid(palette.accent, 0.7, 0.9, glow),
        )
    )


def inked(palette: Palette, *, tint: float = 0.06) -> Palette:
    """The palette with inks that read on its own ground, surface and accent, lightly tinted by the primary."""

    def reading_on(color: Color, amount: float = tint) -> Color:
        pure = max((WHITE, "#0b0b10"), key=lambda ink: contrast(ink, color))
        return mix(pure, palette.primary, amount)

    return replace(
        palette,
        ink=reading_on(palette.ground),
        ink_soft=mix(reading_on(palette.ground), palette.ground, 0.18),
        on_surface=reading_on(palette.surface),
        on_accent=reading_on(palette.accent, 0.0),
    )


def faded(color: Color, start: float = 1.0, end: float = 0.0) -> tuple[tuple[float, Color, float], ...]:
    """Gradient stops of one color from opacity `start` to `end`."""
    return (0.0, color, start), (1.0, color, end)


def down(box: Box, *colors: Color) -> Linear:
    """Colors spread evenly from the top of a box to its bottom."""
    last = max(len(colors) - 1, 1)
    return Linear(box.x, box.y, box.x, box.bottom, tuple((i / last, color, 1.0) for i, color in enumerate(colors)))


# Room around the text


def clearings(stage: Stage, count: int) -> list[tuple[float, float, float]]:
    """Places along the edges that are farthest from all text and from one another: x, y and the distance to text."""
    places = [(a * stage.width, b * stage.height) for a in (0.0, 0.5, 1.0) for b in (0.0, 0.25, 0.5, 0.75, 1.0)]
    places = [(x, y) for x, y in places if x in (0, stage.width) or y in (0, stage.height)]
    free = sorted(((_distance(stage, x, y), x, y) for x, y in places), reverse=True)
    chosen: list[tuple[float, float, float]] = []
    for distance, x, y in free:
        if len(chosen) < count and all(np.hypot(x - u, y - v) > 0.5 * stage.width for u, v, _ in chosen):
            chosen.append((x, y, distance))
    return chosen


def _distance(stage: Stage, x: float, y: float) -> float:
    """From a point to the nearest place of text; to the farthest corner of the canvas where there is none."""
    gaps = [np.hypot(max(box.x - x, 0.0, x - box.right), max(box.y - y, 0.0, y - box.bottom)) for box in stage.quiet]
    return float(min(gaps, default=np.hypot(stage.width, stage.height)))


def spots(stage: Stage, within: Box, count: int, size: float, *, gap: float = 0.0) -> list[tuple[float, float]]:
    """Up to `count` places for things of diameter `size` with their middles in the box, off text and one another."""
    places = stage.rng.uniform((within.x, within.y), (within.right, within.bottom), (count * 12, 2))
    margin = size / 2 + gap
    for box in stage.quiet:
        low, high = (box.x - margin, box.y - margin), (box.right + margin, box.bottom + margin)
        places = places[~((places > low) & (places < high)).all(axis=1)]
    chosen: list[tuple[float, float]] = []
    for x, y in places.tolist():
        if all((x - u) ** 2 + (y - v) ** 2 > (size + gap) ** 2 for u, v in chosen):
            chosen.append((x, y))
        if len(chosen) == count:
            break
    return chosen


# The subject


def focus(stage: Stage, box: Box) -> Box:
    """The part of a picture that no text covers, drawn out a little to reach under its panel."""
    free, tuck = freest(stage, box), 24 * stage.unit
    x, y = max(box.x, free.x - tuck), max(box.y, free.y - tuck)
    right, bottom = min(box.right, free.right + tuck), min(box.bottom, free.bottom + tuck)
    return Box(x=x, y=y, width=right - x, height=bottom - y)


def scene(stage: Stage, box: Box, over: float = 0.0) -> tuple[MotifShape, ...]:
    """The subject without its backdrop: an illustration that fills the box, or the bold mark of a logo.

    An illustration is drawn `over` units beyond the box, so that lines around its cut edges stay outside.
    """
    if stage.format == "logo":
        return emblem(stage.subject, box, stage.rng)
    place = inset(focus(stage, box), -over * stage.unit)
    return tuple(shape for shape in motif(stage.subject, place, stage.rng) if not _is_sky(shape, place))


def _is_sky(shape: MotifShape, place: Box) -> bool:
    """Whether a shape is backdrop: of tone 0, or a far one that fills the upper part of the scene from side to side."""
    if shape.tone == 0 or shape.tone > 2 or shape.line:
        return shape.tone == 0
    box = bounds(shape.path)
    return box.y < place.y + 1 and box.height > 0.5 * place.height and box.width > 0.9 * place.width


def mirror_behind_panel(stage: Stage, box: Box, marks: Marks) -> Marks:
    """A scene drawn beside a panel, mirrored to run on behind it, so that no edge shows above or below the panel."""
    place = focus(stage, box)
    if place.width >= box.width - 1 or place.height < box.height - 1:
        return marks
    edge = place.x if place.x > box.x else place.right
    rest = rect(box.x, box.y, edge - box.x, box.height) if edge == place.x else rect(edge, box.y, box.width, box.height)
    mirrored = Group(marks, transform=(-1.0, 0.0, 0.0, 1.0, 2 * edge, 0.0))
    return Group((mirrored,), clip=rest), Group(marks, clip=rect(place.x, place.y, place.width, place.height))


# Things that shine


def neon(path: Path, color: Color, width: float, *, core: float = 0.55, reach: float = 4.0) -> Marks:
    """A glowing tube along a path: a faint wide line, one of the color, one nearly white inside."""
    return (
        Stroke(path, color, width * reach * 1.4, opacity=0.2, cap="round", join="round"),
        Stroke(path, color, width * 1.7, cap="round", join="round"),
        Stroke(path, mix(color, WHITE, core), width * 0.7, cap="round", join="round"),
    )


def sphere(x: float, y: float, r: float, color: Color, *, dark: float = 0.45) -> Marks:
    """A glossy ball, lit from the upper left."""
    lightness, chroma, hue = oklch(color)
    deep = from_oklch(lightness * (1 - dark), chroma, hue)
    body = Radial(
        x - r * 0.35,
        y - r * 0.4,
        r * 1.45,
        (
            (0.0, mix(color, WHITE, 0.55), 1.0),
            (0.35, color, 1.0),
            (0.85, deep, 1.0),
            (1.0, mix(deep, color, 0.35), 1.0),
        ),
    )
    shine = Radial(x - r * 0.38, y - r * 0.46, r * 0.34, faded(WHITE, 0.95))
    return Fill(circle(x, y, r), body), Fill(ellipse(x - r * 0.38, y - r * 0.46, r * 0.34, r * 0.28), shine)


def sparkle(x: float, y: float, r: float, pinch: float = 0.12, points: int = 4) -> Path:
    """A slender star of light with hollow sides."""
    corners = []
    for i in range(points * 2):
        angle, reach = np.pi * i / points - np.pi / 2, r if i % 2 == 0 else r * pinch
        corners.append((x + reach * float(np.cos(angle)), y + reach * float(np.sin(angle))))
    return polygon(corners)


def across(path: Path, stops: Sequence[tuple[float, Color, float]], lean: float = 0.0) -> Linear:
    """A gradient from the top of a path's box to its bottom, leaning sideways by `lean` of its width."""
    box = bounds(path)
    middle = box.x + box.width / 2
    return Linear(
        middle - lean * box.width / 2,
        box.y,
        middle + lean * box.width / 2,
        max(box.bottom, box.y + 1.0),
        tuple(stops),
    )


# Letters


def is_bright(stage: Stage, glyphs: Sequence[Glyphs]) -> bool:
    """Whether the letters are light and keep the contrast promised: only then may their paint be played with."""
    return stands_out(stage, glyphs) and all(luminance(str(run.paint)) > 0.25 for run in glyphs)


def by_line(
    stage: Stage, glyphs: Iterable[Glyphs], stops: Sequence[tuple[float, Color, float]], rise: float = 0.74
) -> Marks:
    """The letters in a gradient anew on every line: from `rise` type sizes above its baseline down to it.

    No color of it has more contrast with the ground than the letters' own, so that faint letters stay faint.
    """
    lines = []
    for run in glyphs:
        most = contrast(str(run.paint), stage.palette.ground)
        capped = tuple((place, dimmed(color, stage.palette.ground, most), opacity) for place, color, opacity in stops)
        lines.append(replace(run, paint=Linear(0.0, min(run.ys) - rise * run.size, 0.0, max(run.ys), capped)))
    return tuple(lines)


def dimmed(color: Color, ground: Color, most: float) -> Color:
    """`color`, mixed with the ground until its contrast there is at most `most`."""
    near, far = 0.0, 1.0
    if contrast(color, ground) <= most:
        return color
    for _ in range(12):
        middle = (near + far) / 2
        near, far = (middle, far) if contrast(mix(color, ground, middle), ground) > most else (near, middle)
    return mix(color, ground, far)


def aglow(glyphs: Iterable[Glyphs], color: Color, blur: float, opacity: float = 0.8) -> Marks:
    """The shine of the letters in `color`; draw the letters themselves on top."""
    return tuple(replace(run, paint=color, blur=blur * run.size, opacity=opacity) for run in glyphs)
