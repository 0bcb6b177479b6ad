"""Words on a sheet: lines at an exact size, colors of a given contrast, painting, and grounds like photographs.

There are four kinds of surface (foliage, pebbles, marble, lights out of focus), drawn from a seed. Each has detail at
every scale, as photographs have: neighbouring pixels are alike, edges run everywhere, and light and dark lie within the
height of a letter. Rules about ink on a ground of one color fail on them; eyes do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from salon.render import (
    NAMES,
    Align,
    Box,
    Face,
    Fill,
    Layer,
    Mark,
    Paint,
    SetText,
    contrast,
    mix,
    rect,
    set_text,
    to_rgb,
)
from salon.render.paint.raster import paint

PAPERS = tuple(NAMES[name] for name in ("white", "snow", "ivory", "cream", "ice", "blush", "mint", "lemon"))
INKS = tuple(NAMES[name] for name in ("black", "ink", "charcoal", "navy", "petrol", "forest", "maroon", "indigo"))
GROUNDS = tuple(
    NAMES[name]
    for name in ("sand", "sky", "teal", "terracotta", "mustard", "plum", "slate", "moss", "coral", "navy", "cream",
                 "lavender", "crimson", "charcoal", "aqua", "peach")
)  # fmt: skip


def paint_marks(marks: Sequence[Mark], width: int, height: int, ground: Paint) -> np.ndarray:
    """The marks on a ground of one paint, as pixels."""
    return paint(
        [Layer("ground", (Fill(rect(0, 0, width, height), ground),)), Layer("marks", tuple(marks))], width, height
    )


def lines_at(
    lines: Sequence[str], face: Face, size: float, frame: Box, *, paint: Paint, align: Align = "left"
) -> SetText:
    """The lines as they are, at this size exactly, from the top of the frame."""
    return set_text(
        "\n".join(lines), face, frame, size=size, smallest=size, leading=1.3, align=align, paint=paint,
        max_lines=len(lines), balanced=False,
    )  # fmt: skip


def line_in(text: str, face: Face, frame: Box, *, paint: Paint, size: float, align: Align = "left") -> SetText:
    """One line in the middle of the frame's height, at `size` or as much smaller as its length needs."""
    return set_text(
        text, face, frame, size=size, smallest=8, leading=1.2, align=align, valign="middle", paint=paint, max_lines=1
    )


def ink_on(ground: str, target_contrast: float, hue: str) -> str:
    """A shade of `hue` with this contrast on the ground, or the black or white that comes nearest to it."""
    end = max(("#000000", "#ffffff"), key=lambda extreme: contrast(extreme, ground))
    start = hue if contrast(hue, ground) <= target_contrast else ground
    near, far = 0.0, 1.0
    for _ in range(16):
        middle = (near + far) / 2
        near, far = (middle, far) if contrast(mix(start, end, middle), ground) < target_contrast else (near, middle)
    return mix(start, end, far)


def label(text: str, x: float, y: float, size: float = 30, color: str = "#121214") -> tuple[Mark, ...]:
    """A letter that names a part of the picture, its upper left corner at (x, y)."""
    frame = Box(x=x, y=y, width=20 * size, height=1.5 * size)
    return lines_at([text], Face(family="Inter", weight=700), size, frame, paint=color).glyphs


# -- grounds that look like photographs --------------------------------------------------------------------------------

Pixels: TypeAlias = NDArray[np.float64]
TEXTURES = (0.0, 0.2, 0.4)
"""How much of a surface lies under what is to be looked at, not read: none, some, much."""
_COLORS = np.array([to_rgb(color) for color in NAMES.values()], dtype=float)


def photograph(width: int, height: int, kind: str, texture: float, rng: np.random.Generator) -> Pixels:
    """(height, width, 3) values of 0 to 255: `texture` 1 is the whole range of light, 0 the mean color alone."""
    surface = KINDS[kind](width, height, rng)
    mean = surface.mean(axis=(0, 1))
    light = 0.75 + 0.5 * _noise(width, height, 2, rng)  # one side of a photograph is darker than the other
    pixels: Pixels = np.clip(mean + texture * (surface * light[..., None] - mean), 0, 255)
    return pixels


def textured_ground(width: int, height: int, ground: str, texture: float, rng: np.random.Generator) -> Pixels:
    """A surface of any kind around one color, which is all there is at texture 0."""
    color = np.array(to_rgb(ground), dtype=float)
    if not texture:
        return np.broadcast_to(color, (height, width, 3)).copy()
    surface = photograph(width, height, list(KINDS)[int(rng.integers(len(KINDS)))], 1.0, rng)
    pixels: Pixels = np.clip(color + texture * (surface - surface.mean(axis=(0, 1))), 0, 255)
    return pixels


def paint_over(marks: Sequence[Mark], ground: Pixels) -> NDArray[np.uint8]:
    """The marks on a ground of many colors; where they let it through, it shines through."""
    height, width = ground.shape[:2]
    black, white = (paint_marks(marks, width, height, color).astype(float) for color in ("#000000", "#ffffff"))
    blended = black + (white - black) / 255 * ground
    pixels: NDArray[np.uint8] = np.clip(np.round(blended), 0, 255).astype(np.uint8)
    return pixels


def _noise(width: int, height: int, cells: float, rng: np.random.Generator) -> Pixels:
    """Smooth values of 0 to 1, with about `cells` hills across the width."""
    across = max(2, round(cells) + 2)
    down = max(2, round(cells * height / width) + 2)
    grid = Image.fromarray(rng.random((down, across)).astype(np.float32))
    return np.asarray(grid.resize((width, height), Image.Resampling.BICUBIC), dtype=float)


def _detail(width: int, height: int, cells: float, rng: np.random.Generator, octaves: int = 6) -> Pixels:
    """Hills on hills, each octave half as high and twice as fine as the one before; 0 to 1."""
    layers = [_noise(width, height, cells * 2**octave, rng) / 1.6**octave for octave in range(octaves)]
    total: Pixels = np.sum(layers, axis=0)
    detail: Pixels = (total - total.min()) / (total.max() - total.min())
    return detail


def _palette(rng: np.random.Generator, count: int) -> Pixels:
    """Different colors, dark to light."""
    chosen = _COLORS[rng.permutation(len(_COLORS))[:count]]
    return chosen[np.argsort(chosen @ (0.299, 0.587, 0.114))]


def _color_values(values: Pixels, palette: Pixels) -> Pixels:
    """Values of 0 to 1 as colors, mixed between neighbours of the palette."""
    places = np.linspace(0, 1, len(palette))
    return np.stack([np.interp(values, places, palette[:, band]) for band in range(3)], axis=-1)


def _marble(width: int, height: int, rng: np.random.Generator) -> Pixels:
    """Veins: waves whose course is bent by detail."""
    bend, fine = _detail(width, height, 3, rng), _detail(width, height, 24, rng)
    veins = 0.5 + 0.5 * np.sin(2 * np.pi * (6 * bend + 1.5 * fine))
    return _color_values(0.75 * veins + 0.25 * fine, _palette(rng, 5))


def _blobs(width: int, height: int, rng: np.random.Generator, sizes: tuple[float, float], count: int) -> Pixels:
    """Overlapping shaded ovals of many colors, the later over the earlier."""
    picture = _color_values(_detail(width, height, 10, rng), _palette(rng, 4))
    colors = _palette(rng, 6)
    for _ in range(count):
        radius = rng.uniform(*sizes)
        long, x, y, turned = (
            radius * rng.uniform(1, 2.6),
            rng.uniform(0, width),
            rng.uniform(0, height),
            rng.uniform(0, np.pi),
        )
        left, right = max(0, int(x - long)), min(width, int(x + long) + 1)
        top, bottom = max(0, int(y - long)), min(height, int(y + long) + 1)
        down, across = np.mgrid[top:bottom, left:right]
        u = ((across - x) * np.cos(turned) + (down - y) * np.sin(turned)) / long
        v = (-(across - x) * np.sin(turned) + (down - y) * np.cos(turned)) / radius
        inside = u * u + v * v < 1
        shade = 0.55 + 0.45 * np.clip(1 - u + 0.4 * v, 0, 2)
        color = colors[int(rng.integers(len(colors)))] * rng.uniform(0.7, 1.15)
        picture[top:bottom, left:right][inside] = (color * shade[..., None])[inside]
    grain = _detail(width, height, 60, rng, 3)[..., None]
    return picture * (0.7 + 0.6 * grain)


def _foliage(width: int, height: int, rng: np.random.Generator) -> Pixels:
    return _blobs(width, height, rng, (5, 16), 1400)


def _pebbles(width: int, height: int, rng: np.random.Generator) -> Pixels:
    return _blobs(width, height, rng, (14, 34), 500)


def _lights(width: int, height: int, rng: np.random.Generator) -> Pixels:
    """Discs of light over each other and over a coarse ground."""
    picture = _color_values(_detail(width, height, 8, rng), _palette(rng, 5))
    down, across = np.mgrid[0:height, 0:width]
    for color in _COLORS[rng.integers(len(_COLORS), size=70)]:
        x, y, radius = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(10, 60)
        top, bottom, left, right = (max(0, int(y - radius)), int(y + radius) + 1, max(0, int(x - radius)),
                                    int(x + radius) + 1)  # fmt: skip
        part = picture[top:bottom, left:right]
        inside = (across[top:bottom, left:right] - x) ** 2 + (down[top:bottom, left:right] - y) ** 2 < radius**2
        part[inside] = 0.45 * part[inside] + 0.55 * color
    return picture


KINDS: dict[str, Callable[[int, int, np.random.Generator], Pixels]] = {
    "foliage": _foliage,
    "pebbles": _pebbles,
    "marble": _marble,
    "lights": _lights,
}
"""A surface by its name."""
