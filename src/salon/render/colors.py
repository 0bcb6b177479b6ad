"""Colors: names, OKLab arithmetic, contrast.

Colors are "#rrggbb". Lightness L (0..1), chroma C (0..0.4) and hue h (degrees) are OKLCH, where equal steps look
equal. Contrast is that of WCAG 2: (lighter + 0.05) / (darker + 0.05) of relative luminances, from 1 to 21.
"""

from __future__ import annotations

import difflib
import math
import re
from functools import lru_cache

from salon.errors import BadValue

NAMES: dict[str, str] = {
    "white": "#ffffff", "snow": "#f7f8fa", "ivory": "#fbf6e6", "cream": "#f6ead2", "beige": "#e6d8bf",
    "sand": "#dcc59b", "silver": "#c3c8cf", "gray": "#868c94", "slate": "#51606f", "charcoal": "#2f343b",
    "black": "#121214", "ink": "#1a1f2e", "midnight": "#141a3a", "navy": "#1b2a5c", "indigo": "#3a2f8f",
    "cobalt": "#1f4ed0", "blue": "#2563d9", "azure": "#2f95f0", "sky": "#8cc7ee", "ice": "#dcecf5",
    "cyan": "#1cc4dc", "turquoise": "#2bbcb0", "teal": "#0f7173", "petrol": "#124a58", "aqua": "#8fe0da",
    "mint": "#b5e6cd", "emerald": "#0f9d6b", "green": "#2c9a47", "forest": "#1f4d36", "olive": "#76783a",
    "moss": "#586b3c", "sage": "#a9b99a", "lime": "#b4de34", "yellow": "#ffd426", "lemon": "#faea6b",
    "mustard": "#d6a01f", "gold": "#c99a3b", "amber": "#f5a524", "apricot": "#f8b583", "peach": "#fbcdb1",
    "orange": "#f27a1a", "tangerine": "#ff9140", "rust": "#b04a21", "terracotta": "#c8643f", "copper": "#b06a3e",
    "brown": "#6c4328", "coffee": "#4a3226", "chocolate": "#3a241c", "coral": "#ff7460", "salmon": "#f59a88",
    "red": "#dc2f2f", "scarlet": "#ee3b24", "crimson": "#b3173a", "burgundy": "#6a1b30", "maroon": "#571a22",
    "rose": "#e58aa0", "pink": "#f4a3c2", "blush": "#f7d6d6", "fuchsia": "#e0218a", "magenta": "#d4159f",
    "plum": "#66305f", "purple": "#6f35b5", "violet": "#8450e0", "lavender": "#c5b6ee", "lilac": "#d7bfe6",
}  # fmt: skip
"""Everyday names, in one reading of each."""

_HEX = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{6})")


def parse_color(word: str) -> str:
    """'#rrggbb' for a name or a hexadecimal color (#rgb too); BadValue with the nearest names otherwise."""
    text = word.strip().lower()
    name = text.replace("grey", "gray").replace(" ", "")
    if name in NAMES:
        return NAMES[name]
    if _HEX.fullmatch(text):
        return text if len(text) == 7 else "#" + "".join(2 * digit for digit in text[1:])
    near = difflib.get_close_matches(name, NAMES, n=3, cutoff=0.5)
    raise BadValue(
        "a color is a name or #rrggbb",
        found=repr(word),
        remedy=f"nearest names: {', '.join(near)}" if near else f"names are {', '.join(sorted(NAMES))}",
    )


@lru_cache(maxsize=4096)
def to_rgb(color: str) -> tuple[int, int, int]:
    """Red, green and blue in 0..255."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def to_hex(red: float, green: float, blue: float) -> str:
    """'#rrggbb' of values in 0..255, rounded and clipped."""
    return "#" + "".join(f"{min(255, max(0, round(value))):02x}" for value in (red, green, blue))


@lru_cache(maxsize=4096)
def luminance(color: str) -> float:
    """WCAG relative luminance: 0 black, 1 white."""
    red, green, blue = (_linear(value / 255) for value in to_rgb(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    """WCAG 2 contrast ratio of two colors, 1 to 21."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@lru_cache(maxsize=4096)
def oklab(color: str) -> tuple[float, float, float]:
    """OKLab coordinates (L, a, b)."""
    r, g, b = (_linear(value / 255) for value in to_rgb(color))
    l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
    )


def oklch(color: str) -> tuple[float, float, float]:
    """Lightness 0..1, chroma, and hue in degrees (0 for grays)."""
    lightness, a, b = oklab(color)
    chroma = math.hypot(a, b)
    return lightness, chroma, math.degrees(math.atan2(b, a)) % 360 if chroma > 1e-4 else 0.0


@lru_cache(maxsize=4096)
def from_oklch(lightness: float, chroma: float, hue: float) -> str:
    """The nearest color a screen can show: chroma gives way, lightness and hue stay."""
    lightness = min(1.0, max(0.0, lightness))
    low, high = 0.0, max(0.0, chroma)
    if _shown(_linear_rgb(lightness, high, hue)):
        low = high
    for _ in range(14 if low < high else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if _shown(_linear_rgb(lightness, middle, hue)) else (low, middle)
    return to_hex(*(255 * _gamma(value) for value in _linear_rgb(lightness, low, hue)))


def difference(a: str, b: str) -> float:
    """Distance in OKLab: 0.02 is just seen, 0.1 plain, 1 black against white."""
    return math.dist(oklab(a), oklab(b))


@lru_cache(maxsize=4096)
def mix(a: str, b: str, t: float) -> str:
    """The color a share `t` of the way from `a` to `b`, straight through OKLab."""
    lightness, green_red, blue_yellow = (x + t * (y - x) for x, y in zip(oklab(a), oklab(b)))
    return from_oklch(
        lightness, math.hypot(green_red, blue_yellow), math.degrees(math.atan2(blue_yellow, green_red)) % 360
    )


def readable_on(color: str, *candidates: str, least: float = 4.5) -> str:
    """The first of `candidates` with contrast of at least `least` on `color`.

    When none has it, the first is moved towards the black or white that contrasts more until it has, and where
    even those fall short (`least` above 4.58 on a middle tone) that black or white is given.
    """
    for candidate in candidates:
        if contrast(candidate, color) >= least:
            return candidate
    end = max("#000000", "#ffffff", key=lambda extreme: contrast(extreme, color))
    start = candidates[0] if candidates else end
    steps = (mix(start, end, step / 20) for step in range(1, 21))
    return next((shade for shade in steps if contrast(shade, color) >= least), end)


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _gamma(value: float) -> float:
    value = min(1.0, max(0.0, value))
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


def _linear_rgb(lightness: float, chroma: float, hue: float) -> tuple[float, float, float]:
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    )


def _shown(rgb: tuple[float, float, float]) -> bool:
    return all(-1e-4 <= value <= 1 + 1e-4 for value in rgb)
