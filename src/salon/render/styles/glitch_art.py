"""Glitch Art: a broken signal: torn bands, split channels, scan lines, blocks of stuck data, noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from salon.render.colors import mix
from salon.render.layout import Box
from salon.render.marks import Fill, Glyphs, Grain, Group, Path
from salon.render.motifs import MotifShape
from salon.render.plan import Lettered, Palette, Stage, Style
from salon.render.shapes import bounds, joined, rect
from salon.render.styles.light import (
    BLACK,
    WHITE,
    night,
    scene,
    spots,
    spread,
)
from salon.render.styles.ways import Marks, boxed, canvas, clipped, copies, drawn, flat, size_of, stands_out, whole


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """A screen switched on in the dark."""
    return night(palette, 0.14, chroma=0.03, glow=0.19, hue=265)


Scene = Callable[[float, float], Marks]
"""What of a picture lies between two heights."""

RED, CYAN = "#ff2d55", "#00e5ff"
"""The two halves a split signal falls into."""


# What breaks


def torn(scene: Scene, box: Box, count: int, reach: float, rng: np.random.Generator) -> Marks:
    """Bands of a scene drawn again beside themselves."""
    bands = []
    for y in np.sort(rng.uniform(box.y, box.bottom, count)).tolist():
        height = box.height * float(rng.choice((0.008, 0.015, 0.03, 0.055)))
        shift = reach * float(rng.uniform(0.3, 1.0)) * float(rng.choice((-1, 1)))
        band = rect(box.x - reach, y, box.width + 2 * reach, height)
        bands.append(Group(scene(y, y + height), clip=band, transform=(1.0, 0.0, 0.0, 1.0, shift, 0.0)))
    return tuple(bands)


def stuck(box: Box, count: int, u: float, rng: np.random.Generator) -> Path:
    """Clusters of small blocks, as when a decoder loses its place."""
    blocks = []
    side = 9 * u
    for _ in range(count):
        x, y = rng.uniform((box.x, box.y), (box.right, box.bottom))
        for row, column in np.argwhere(rng.random((3, 9)) < 0.45).tolist():
            blocks.append(rect(float(x) + column * side, float(y) + row * side, side, side))
    return joined(*blocks)


def streaks(box: Box, count: int, u: float, rng: np.random.Generator) -> Path:
    """Long thin bars where a row of pixels was smeared."""
    return joined(
        *(
            rect(float(rng.uniform(box.x, box.right)), float(rng.uniform(box.y, box.bottom)),
                 box.width * float(rng.uniform(0.06, 0.3)), u * float(rng.choice((2, 3, 6))))
            for _ in range(count)
        )
    )  # fmt: skip


def scan_lines(box: Box, step: float) -> Path:
    """The dark half of every line of a tube."""
    return joined(*(rect(box.x, y, box.width, step * 0.42) for y in np.arange(box.y, box.bottom, step).tolist()))


# The parts of the style


def ground(stage: Stage) -> Marks:
    """A dark tube with a few smears and lost blocks off the text."""
    palette, u, rng = stage.palette, stage.unit, stage.rng
    marks: Marks = (Fill(canvas(stage), palette.ground),)
    if stage.format == "logo":
        return marks
    places = spots(stage, whole(stage), 12, 64 * u, gap=8 * u)
    for (x, y), color in zip(places, (palette.primary, palette.accent, CYAN, palette.secondary) * 3):
        near = Box(x=x - 28 * u, y=y - 10 * u, width=6 * u, height=8 * u)
        bars = rect(x - 28 * u, y + 18 * u, 56 * u, 3 * u)
        marks += (Fill(joined(stuck(near, 1, u * 0.6, rng), bars), color),)
    return marks


def picture(stage: Stage, box: Box) -> Marks:
    """The motif as a damaged frame: channels apart, bands torn sideways, blocks stuck; a logo is the motif alone."""
    palette, u, rng = stage.palette, stage.unit, stage.rng
    logo = stage.format == "logo"
    heights = [(shape, bounds(shape.path)) for shape in scene(stage, box)]

    def frame(top: float, bottom: float) -> Marks:
        """What of the picture lies between two heights: a band need not draw the rest."""
        shapes = tuple(shape for shape, at in heights if at.y < bottom + 20 * u and at.bottom > top - 20 * u)
        field = Fill(boxed(box), palette.ground if logo else _low(palette))
        return (field, *spread(stage, box, _split(shapes, palette, (9 if logo else 16) * u)))

    if logo:
        return (*frame(box.y, box.bottom)[1:], *torn(frame, box, 4, 30 * u, rng))
    debris = tuple(
        Fill(joined(stuck(box, 3, u, rng), streaks(box, 6, u, rng)), color)
        for color in (palette.accent, palette.primary, CYAN, WHITE)
    )
    lines = Fill(scan_lines(box, 5 * u), BLACK, opacity=0.3)
    broken = (*frame(box.y, box.bottom), *torn(frame, box, 11, 90 * u, rng))
    return (clipped((*broken, *debris, lines), boxed(box)),)


def _low(palette: Palette) -> str:
    """The dim color behind things."""
    return mix(palette.ground, palette.secondary, 0.25)


def _split(shapes: tuple[MotifShape, ...], palette: Palette, shift: float) -> Marks:
    """The motif with a red ghost to one side and a cyan one to the other."""
    far = mix(palette.ground, palette.secondary, 0.5)
    colors = (_low(palette), far, palette.secondary, palette.primary, palette.accent, WHITE)
    solid = [shape for shape in shapes if shape.tone >= 2]
    ghosts = tuple(
        Group(tuple(drawn(shape, color) for shape in solid), transform=(1.0, 0.0, 0.0, 1.0, dx, 0.0))
        for color, dx in ((RED, shift), (CYAN, -shift))
    )
    return (*ghosts, *flat(shapes, colors))


def finish(stage: Stage) -> Marks:
    """Faint noise over the tube."""
    return (Grain(canvas(stage), 0.10, int(stage.rng.integers(2**31)), speck=2.0),)


def panel(stage: Stage, box: Box) -> Marks:
    """A window of the broken interface: surface with a red and a cyan ghost edge."""
    palette, u = stage.palette, stage.unit
    left, right = (rect(box.x + d, box.y + d * 0.6, box.width, box.height) for d in (-7 * u, 7 * u))
    return Fill(left, CYAN), Fill(right, RED), Fill(boxed(box), palette.surface)


def letter(stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> Lettered:
    """Headlines with the channels apart and a thin band of each line slipped."""
    if role != "headline" or not stands_out(stage, glyphs):
        return Lettered(glyphs)
    shift = size_of(glyphs) * 0.035
    split = (*copies(glyphs, CYAN, -shift), *copies(glyphs, RED, shift), *glyphs)
    return Lettered((*split, *(_slipped(run, shift * 1.6) for run in glyphs)), ("chromatic",))


def _slipped(run: Glyphs, by: float) -> Group:
    """A low band of one line, drawn again a little to the side."""
    top = max(run.ys) - run.size * 0.24
    band = rect(min(run.xs) - run.size, top, max(run.xs) - min(run.xs) + 3 * run.size, run.size * 0.07)
    return Group((run,), clip=band, transform=(1.0, 0.0, 0.0, 1.0, by, 0.0))


STYLE = Style(
    name="Glitch Art",
    moods=("futuristic", "mysterious", "bold", "serious"),
    displays=(("Archivo Black", 400), ("Anton", 400), ("Space Grotesk", 700)),
    texts=(("Space Mono", 400), ("JetBrains Mono", 400)),
    case="upper",
    arrangements=("full-bleed", "big-type", "split", "hero-top", "hero-bottom", "mark-above", "mark-left"),
    tune=tune,
    ground=ground,
    picture=picture,
    finish=finish,
    panel=panel,
    letter=letter,
    scale=1.1,
)
