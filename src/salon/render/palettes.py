"""Palettes: parts for the colors a brief names, harmonic company where it names too few, inks that can be read.

The first color asked for is the dominant one: it becomes the ground, or, now and then when paper or night is also
asked for, the main color of the picture. Colors asked for are used exactly as asked. To several colors only shades of
them are added; to a single one, others at hue distances that suit the mood: neighbours for calm moods, opposites for
bold ones, thirds for playful ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.brief import Mood
from salon.render.colors import contrast, difference, from_oklch, mix, oklch, parse_color, readable_on
from salon.render.plan import Palette

BY_MOOD: dict[Mood, tuple[tuple[str, ...], ...]] = {
    "calm": (("ice", "teal", "sand", "sky"), ("cream", "sage", "terracotta", "forest"),
             ("lavender", "indigo", "ivory", "plum"), ("petrol", "aqua", "cream", "peach")),
    "joyful": (("yellow", "scarlet", "azure", "ivory"), ("coral", "yellow", "navy", "cream"),
               ("sky", "tangerine", "white", "cobalt"), ("mint", "fuchsia", "yellow", "forest")),
    "bold": (("scarlet", "black", "ivory", "amber"), ("cobalt", "yellow", "white", "scarlet"),
             ("black", "lime", "white", "violet"), ("tangerine", "midnight", "cream", "crimson")),
    "elegant": (("ivory", "forest", "gold", "charcoal"), ("midnight", "gold", "cream", "slate"),
                ("burgundy", "blush", "gold", "cream"), ("beige", "coffee", "copper", "ivory")),
    "playful": (("pink", "cobalt", "yellow", "white"), ("violet", "lemon", "coral", "ivory"),
                ("aqua", "scarlet", "yellow", "indigo"), ("lemon", "fuchsia", "turquoise", "indigo")),
    "serious": (("snow", "navy", "crimson", "slate"), ("charcoal", "silver", "amber", "snow"),
                ("navy", "ice", "coral", "slate"), ("beige", "ink", "rust", "slate")),
    "nostalgic": (("cream", "rust", "mustard", "petrol"), ("mustard", "chocolate", "cream", "terracotta"),
                  ("petrol", "apricot", "cream", "rust"), ("peach", "maroon", "teal", "ivory")),
    "mysterious": (("midnight", "violet", "lemon", "plum"), ("black", "emerald", "gold", "petrol"),
                   ("plum", "rose", "ivory", "midnight"), ("ink", "turquoise", "lilac", "indigo")),
    "warm": (("peach", "terracotta", "burgundy", "cream"), ("terracotta", "cream", "mustard", "chocolate"),
             ("cream", "orange", "crimson", "coffee"), ("amber", "maroon", "ivory", "rust")),
    "futuristic": (("midnight", "cyan", "magenta", "ice"), ("snow", "violet", "lime", "ink"),
                   ("black", "azure", "aqua", "violet"), ("indigo", "fuchsia", "cyan", "lavender")),
}  # fmt: skip
"""Palettes a house falls back on when the brief names no colors: the ground first."""

TURNS: dict[Mood, tuple[float, ...]] = {
    "calm": (30, -30, 60), "joyful": (120, -120, 60), "bold": (180, 30, -30), "elegant": (40, 180, -30),
    "playful": (120, -120, 180), "serious": (180, 15, -15), "nostalgic": (35, 160, -35), "mysterious": (150, -40, 40),
    "warm": (30, -30, 150), "futuristic": (150, -150, 60),
}  # fmt: skip
"""Hue distances of the colors that are added, in degrees of OKLCH."""

HUES: dict[Mood, float] = {
    "calm": 220, "joyful": 95, "bold": 28, "elegant": 85, "playful": 350, "serious": 262, "nostalgic": 60,
    "mysterious": 290, "warm": 45, "futuristic": 200,
}  # fmt: skip
"""Where to start when every color asked for is a gray."""

APART = 0.16
"""Least OKLab distance of picture colors from the ground: less would drown."""


def harmonise(requested: tuple[str, ...], mood: Mood, rng: np.random.Generator) -> Palette:
    """A palette from the colors `requested` (names or #rrggbb, dominant first), completed to suit `mood`."""
    colors = [parse_color(word) for word in requested]
    if not colors:
        choices = BY_MOOD[mood]
        colors = [parse_color(word) for word in choices[rng.integers(len(choices))]]
    colors = list(dict.fromkeys(colors))
    swap = rng.random() < 0.25
    ground, rest = colors[0], colors[1:]
    plain = next((color for color in rest if _plain(color) and difference(color, ground) >= APART), None)
    main = None
    if requested and plain and not _plain(ground) and swap:
        main, ground, rest = ground, plain, [color for color in colors if color != plain]
    palette = _assign(ground, rest, mood, main)
    ink = _ink(palette.ground, colors)
    soft = mix(ink, palette.ground, 0.22)
    return replace(
        palette,
        ink=ink,
        ink_soft=soft if contrast(soft, palette.ground) >= 4.5 else ink,
        on_surface=_ink(palette.surface, colors),
        on_accent=_ink(palette.accent, [palette.ground, *colors]),
    )


def rechecked(palette: Palette) -> Palette:
    """The palette with every ink that cannot be read on its ground, surface or accent repaired."""
    ink = readable_on(palette.ground, palette.ink, least=4.5)
    return replace(
        palette,
        ink=ink,
        ink_soft=readable_on(palette.ground, palette.ink_soft, ink),
        on_surface=readable_on(palette.surface, palette.on_surface),
        on_accent=readable_on(palette.accent, palette.on_accent),
    )


def _assign(ground: str, rest: list[str], mood: Mood, main: str | None) -> Palette:
    """The picture's colors: those asked for that stand out from the ground, the strongest but `main` as accent."""
    visible = [color for color in rest if difference(color, ground) >= APART]
    company = _shades([*visible, ground]) if rest else _company([ground], mood)
    chosen = list(visible)
    for color in company:
        if len(chosen) >= 3:
            break
        if difference(color, ground) >= APART and all(
            difference(color, chosen_color) >= APART / 2 for chosen_color in chosen
        ):
            chosen.append(color)
    while len(chosen) < 3:
        # A shade of the ground's own hue, lighter or darker, whichever there is room for.
        lightness, chroma, hue = oklch(ground)
        step = (0.25 + 0.2 * len(chosen)) * (1 if lightness < 0.55 else -1)
        chosen.append(from_oklch(max(0.2, lightness + step), max(chroma, 0.04), hue))
    pool = chosen[: max(3, len(visible))]
    able = [color for color in visible if color != main] or [color for color in pool if color != main]
    accent = max(able, key=lambda color: oklch(color)[1] + 0.35 * difference(color, ground))
    primary, secondary = [color for color in pool if color != accent][:2]
    surface = _surface(ground, pool, accent)
    return Palette(ground, surface, primary, secondary, accent, ground, ground, ground, ground)


def _surface(ground: str, pool: list[str], accent: str) -> str:
    """A calm color for panels: one asked for when it is plain, else paper or a deeper ground."""
    for color in pool:
        if color != accent and _plain(color):
            return color
    lightness, chroma, hue = oklch(ground)
    if lightness > 0.9 and chroma < 0.06:
        return from_oklch(0.985, min(chroma, 0.015), hue)
    if lightness < 0.4:
        return from_oklch(lightness + 0.09, chroma, hue)
    return from_oklch(0.965, min(chroma, 0.025), hue)


def _company(colors: list[str], mood: Mood) -> list[str]:
    """Colors at the mood's hue distances, a little lighter or darker than the ground so that they part from it."""
    chromatic = [oklch(color) for color in colors if oklch(color)[1] > 0.05]
    hue, chroma = (chromatic[0][2], chromatic[0][1]) if chromatic else (HUES[mood], 0.13)
    soft = {"calm": 0.75, "elegant": 0.65, "serious": 0.7, "nostalgic": 0.8}.get(mood, 1.0)
    chroma = min(0.21, max(0.09, chroma)) * soft
    ground = oklch(colors[0])[0]
    lights = (0.8, 0.68, 0.88) if ground < 0.5 else (0.4, 0.92, 0.32) if ground < 0.76 else (0.52, 0.62, 0.38)
    company = []
    for light, turn in zip(lights, TURNS[mood]):
        turned = (hue + turn) % 360
        if light < 0.72 and 65 < turned < 130:  # dark yellows look like mud: brown-red or green instead
            turned = 48 if turned < 100 else 150
        company.append(from_oklch(light, chroma, turned))
    return company


def _shades(colors: list[str]) -> list[str]:
    """Lighter and darker shades of colors asked for, the strongest first: company that brings no hue of its own."""
    strongest = sorted(colors, key=lambda color: -oklch(color)[1])
    steps = ((color, step) for step in (0.2, -0.2, 0.32, -0.32) for color in strongest)
    moved = [(oklch(color), step) for color, step in steps]
    return [
        from_oklch(lightness + step, 0.9 * chroma, hue)
        for (lightness, chroma, hue), step in moved
        if 0.12 < lightness + step < 0.95
    ]


def _ink(on: str, requested: list[str]) -> str:
    """A color asked for where it reads at 7, else near-black or near-white with a breath of the ground's hue."""
    hue = oklch(on)[2]
    dark, light = from_oklch(0.2, 0.03, hue), from_oklch(0.975, 0.012, hue)
    plain = [color for color in requested if contrast(color, on) >= 7 and (_plain(color) or oklch(color)[0] < 0.45)]
    best = max(dark, light, key=lambda color: contrast(color, on))
    return readable_on(on, *plain, best, least=7 if contrast(best, on) >= 7 else 4.5)


def _plain(color: str) -> bool:
    """Paper or night: nearly white or nearly black, so that anything stands on it."""
    lightness, chroma, _ = oklch(color)
    return (lightness > 0.9 and chroma < 0.06) or (lightness < 0.3 and chroma < 0.1)
