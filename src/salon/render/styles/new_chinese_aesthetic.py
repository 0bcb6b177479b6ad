"""New Chinese Aesthetic: a moon window, ridges in mist, auspicious clouds, fine gold lines, a seal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.colors import mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Linear, Mark, Path, Stroke
from salon.render.motifs import MotifShape, emblem, motif
from salon.render.plan import Palette, Stage, Style
from salon.render.shapes import circle, joined, rect, rounded, smooth
from salon.render.styles.ways import (
    Marks,
    apart,
    bleeds,
    boxed,
    clipped,
    freest,
    inset,
    is_dark,
    is_free,
    is_pieced,
    middle,
    paper,
    plain_ground,
    plain_letter,
    shade,
    spread,
    square,
    tones,
    toward,
)

CARVED = ((2, 2, 6, 1), (2, 2, 1, 6), (4, 4, 4, 1), (4, 4, 1, 4), (7, 4, 1, 4), (4, 7, 2, 1))
"""Strokes of the seal in tenths of its side: a meander, no character."""


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """Mineral pigments: nothing glares, and white is rice paper."""
    return replace(
        palette,
        ground=paper(_mineral(palette.ground)),
        surface=paper(palette.surface),
        primary=_mineral(palette.primary),
        secondary=_mineral(palette.secondary),
        accent=_mineral(palette.accent),
    )


def _mineral(color: Color) -> Color:
    lightness, chroma, _ = oklch(color)
    return shade(color, lightness, 0.17 / chroma) if chroma > 0.17 else color


def gold(stage: Stage) -> Color:
    """Gold leaf that shows on this ground."""
    return "#d9b063" if is_dark(stage.palette.ground) else "#b4842f"


def picture(stage: Stage, box: Box) -> Marks:
    """Ridges behind, the scene in a moon window, clouds in front."""
    if stage.format == "logo":
        return _medallion(stage, box)
    place = freest(stage, box)
    x, y = middle(place)
    radius = min(place.width, place.height) * 0.43
    land = Box(x=box.x, y=place.y, width=box.width, height=place.height)
    marks = (*_land(stage, land), *_window(stage, x, y, radius), *_clouds(stage, x, y, radius))
    return (clipped(marks, boxed(box)),)


def _land(stage: Stage, box: Box) -> Marks:
    """Ridges across the canvas; in a column of its own they stand on a tinted screen; a free picture has none."""
    if bleeds(stage, box):
        return _ridges(stage, box)
    if box.x > 1 and box.right < stage.width - 1:
        return ()
    return (Fill(boxed(box), toward(stage.palette.ground, stage.palette.secondary, 0.14)), *_ridges(stage, box))


def _medallion(stage: Stage, box: Box) -> Marks:
    """The form in a double gold ring."""
    (x, y), radius, leaf = middle(box), min(box.width, box.height) / 2, gold(stage)
    form = emblem(stage.subject, square(box, 0.58), stage.rng)
    rings = ((0.97, 7.0), (0.9, 2.5))
    return (
        *(Stroke(circle(x, y, radius * share), leaf, width * stage.unit) for share, width in rings),
        *_misty(stage, form),
    )


def _window(stage: Stage, x: float, y: float, radius: float) -> Marks:
    """The scene seen through an opening with a double gold rim: a moon, or the four petals of a begonia."""
    palette, leaf = stage.palette, gold(stage)
    outline = circle if stage.rng.random() < 0.65 else _begonia
    opening = outline(x, y, radius)
    colors = tones(palette)
    sky = Linear(x, y - radius, x, y + radius, ((0, mix(colors[0], palette.accent, 0.35), 1), (1, colors[0], 1)))
    box = Box(x=x - radius, y=y - radius, width=2 * radius, height=2 * radius)
    scene = (Fill(opening, sky), *_misty(stage, motif(stage.subject, box, stage.rng)))
    return (
        clipped(scene, opening),
        Stroke(opening, leaf, 6 * stage.unit),
        Stroke(outline(x, y, radius + 13 * stage.unit), leaf, 1.8 * stage.unit),
    )


def _begonia(x: float, y: float, radius: float) -> Path:
    """A window of four petals, as in garden walls."""
    angles = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    radii = radius * (0.8 + 0.2 * np.abs(np.cos(2 * angles)) ** 0.6)
    return smooth(list(zip((x + radii * np.cos(angles)).tolist(), (y + radii * np.sin(angles)).tolist())))


def _misty(stage: Stage, shapes: tuple[MotifShape, ...]) -> Marks:
    """Every shape in its tone, with mist and gold."""
    colors = tones(stage.palette)
    return tuple(mark for shape in shapes for mark in _gilded(stage, shape, colors[shape.tone], colors[0]))


def _gilded(stage: Stage, shape: MotifShape, color: Color, mist: Color) -> Marks:
    """One shape: sunk into mist at its foot and edged with gold, where it is large enough to bear it."""
    leaf, around = gold(stage), spread(shape.path)
    if shape.line:
        return (Stroke(shape.path, leaf if shape.tone == 5 else color, shape.width, cap="round", join="round"),)
    if shape.tone == 0 or min(around.width, around.height) <= 24 * stage.unit:
        return (Fill(shape.path, color),)
    foot = mix(color, mist, 0.6 if shape.tone < 3 else 0.3)
    area = Fill(shape.path, Linear(around.x, around.y, around.x, around.bottom, ((0, color, 1), (1, foot, 1))))
    if is_pieced(shape.path):
        return (Stroke(shape.path, leaf, 3.4 * stage.unit, join="round"), area)
    return (area, Stroke(shape.path, leaf, 1.7 * stage.unit, join="round"))


def _ridges(stage: Stage, box: Box) -> Marks:
    """Three ranges at the foot of the picture, paler the farther, each with a gold crest."""
    palette, leaf = stage.palette, gold(stage)
    main = apart(palette.primary, palette.ground, 1.5)
    marks: list[Mark] = []
    for k in range(3):
        top = box.bottom - box.height * (0.4 - 0.12 * k)
        crest = _crest(stage, box, top, box.height * 0.08)
        color = mix(palette.ground, main, 0.3 + 0.25 * k)
        fade = Linear(0, top - box.height * 0.08, 0, box.bottom, ((0, color, 1), (1, color, 0)))
        area = Path((*crest.commands, ("L", box.right, box.bottom), ("L", box.x, box.bottom), ("Z",)))
        marks += [Fill(area, fade), Stroke(crest, leaf, 1.6 * stage.unit, opacity=0.8)]
    return tuple(marks)


def _crest(stage: Stage, box: Box, level: float, height: float) -> Path:
    """The skyline of one range: a few summits, rounded."""
    n = 9
    xs = np.linspace(box.x - 10, box.right + 10, n)
    ys = level + height * stage.rng.uniform(-1, 1, n)
    return smooth(list(zip(xs.tolist(), ys.tolist())), closed=False)


def _clouds(stage: Stage, x: float, y: float, radius: float) -> Marks:
    """Two auspicious clouds that cross the rim of the window."""
    return (
        *_cloud(stage, x - radius * 0.98, y + radius * 0.62, radius * 0.36),
        *_cloud(stage, x + radius * 0.88, y - radius * 0.34, radius * 0.26),
        *_cloud(stage, x + radius * 0.55, y + radius * 0.86, radius * 0.3),
    )


def _cloud(stage: Stage, x: float, y: float, size: float) -> Marks:
    """Three curled heads on a trailing band, outlined in gold."""
    palette, leaf = stage.palette, gold(stage)
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


def finish(stage: Stage) -> Marks:
    """A thin gold frame with stepped corners, and a seal where there is room."""
    if stage.format == "logo":
        return ()
    edge = 0.026 * min(stage.width, stage.height)
    frame = Box(x=edge, y=edge, width=stage.width - 2 * edge, height=stage.height - 2 * edge)
    return (Stroke(_stepped(frame, 26 * stage.unit), gold(stage), 1.8 * stage.unit), *_seal(stage))


def _stepped(box: Box, step: float) -> Path:
    """A frame whose corners are folded in, as on screens and book covers."""
    l, t, r, b = box.x, box.y, box.right, box.bottom
    s = step
    points = (
        (l + s, t), (r - s, t), (r - s, t + s), (r, t + s), (r, b - s), (r - s, b - s), (r - s, b), (l + s, b),
        (l + s, b - s), (l, b - s), (l, t + s), (l + s, t + s),
    )  # fmt: skip
    return Path((("M", *points[0]), *(("L", *point) for point in points[1:]), ("Z",)))


def _seal(stage: Stage) -> Marks:
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


def panel(stage: Stage, box: Box) -> Marks:
    """A plaque with a stepped gold line."""
    return (
        Fill(boxed(box), stage.palette.surface),
        Stroke(_stepped(inset(box, 9 * stage.unit), 14 * stage.unit), gold(stage), 1.8 * stage.unit),
    )


STYLE = Style(
    name="New Chinese Aesthetic",
    moods=("elegant", "mysterious", "calm", "warm"),
    displays=(("Cinzel", 700), ("Playfair Display", 700), ("Cormorant Garamond", 700)),
    texts=(("Noto Serif", 400), ("EB Garamond", 500), ("Cormorant Garamond", 600)),
    case="as is",
    arrangements=("hero-top", "hero-bottom", "stack", "split", "sidebar", "mark-above"),
    tune=tune,
    ground=plain_ground,
    picture=picture,
    finish=finish,
    panel=panel,
    letter=plain_letter,
    tracking=0.02,
)
