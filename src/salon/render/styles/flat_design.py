"""Flat Design: solid soft-cornered shapes, no gradients, cheerful: the way apps are illustrated."""

from __future__ import annotations

from salon.render.colors import mix
from salon.render.layout import Box
from salon.render.marks import Fill, Path
from salon.render.motifs import emblem
from salon.render.plan import Stage, Style
from salon.render.shapes import circle, swell
from salon.render.styles.ways import (
    Marks,
    boxed,
    canvas,
    clipped,
    flat,
    in_view,
    keep,
    no_finish,
    plain_letter,
    tones,
)


def ground(stage: Stage) -> Marks:
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


def picture(stage: Stage, box: Box) -> Marks:
    """The scene in a soft-cornered window, or across the canvas with a long curved edge."""
    colors = tones(stage.palette)
    if stage.format == "logo":
        return flat(emblem(stage.subject, box, stage.rng), colors)
    shapes = in_view(stage, box)
    marks = (Fill(boxed(box), colors[0]), *flat(shapes, colors))
    return (clipped(marks, _window(stage, box)),)


def _window(stage: Stage, box: Box) -> Path:
    """The outline the scene is seen through: round corners, a long curve towards the text, or plain at the edges."""
    on_edge = (box.x <= 1, box.right >= stage.width - 1, box.y <= 1, box.bottom >= stage.height - 1)
    if not any(on_edge):
        return boxed(box, min(box.width, box.height) * 0.09)
    height = box.height * 0.035
    if on_edge == (True, True, True, False):
        return swell(box.x, box.right, box.bottom - height, height, box.width * 1.1, box.y, phase=0.1)
    if on_edge == (True, True, False, True):
        return swell(box.x, box.right, box.y + height, height, box.width * 1.1, box.bottom, phase=0.1)
    return boxed(box)


def panel(stage: Stage, box: Box) -> Marks:
    """A soft-cornered card."""
    return (Fill(boxed(box, 28 * stage.unit), stage.palette.surface),)


STYLE = Style(
    name="Flat Design",
    moods=("joyful", "playful", "warm", "calm"),
    displays=(("Poppins", 700), ("Fredoka", 600), ("Montserrat", 800)),
    texts=(("Poppins", 400), ("DM Sans", 400), ("Montserrat", 500)),
    case="as is",
    arrangements=(
        "hero-top",
        "hero-bottom",
        "split",
        "full-bleed",
        "stack",
        "sidebar",
        "mark-above",
        "mark-left",
    ),
    tune=keep,
    ground=ground,
    picture=picture,
    finish=no_finish,
    panel=panel,
    letter=plain_letter,
    tracking=-0.015,
)
