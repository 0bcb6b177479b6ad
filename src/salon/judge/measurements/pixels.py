"""A picture as measurements see it, and what its pixels tell: contrast of text, colors of the brief, balance.

Each part of a `PictureView` is computed when it is first needed, and once: ten measurements cost one reading of text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image

from salon.errors import BadValue, MissingExtra
from salon.models import Reading, ReadingLine, saliency
from salon.render import LABELS, Brief, oklab, parse_color, read_brief
from salon.study import Prompt

try:
    import cv2
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

SHORTEST = 8
"""Pixels that the shorter side of a picture has at least."""
MOST_STRETCHED = 20
"""How many times as long as its shorter side a picture may be."""
EXTREME = f"the picture has a side under {SHORTEST} pixels, or one over {MOST_STRETCHED} times the other"
_PLAIN = 2
"""Steps of 255 within which all pixels of a plain picture are: no eye tells them apart."""
_GLANCE = 32
"""Every so many pixels one is looked at first: few pictures are plain, and most show it there."""
_SMALL = 256
"""Longer side of the picture that colors are counted in."""


@dataclass(frozen=True)
class PictureView:
    """A picture, its prompt, and how to read it."""

    image: Image.Image
    prompt: Prompt | None
    read: Callable[[], Reading]

    @cached_property
    def pixels(self) -> np.ndarray:
        """(height, width, RGB), 0 to 255."""
        return np.asarray(self.image)

    @property
    def is_extreme(self) -> bool:
        """Whether it is too small or too stretched to be measured: no reader of text and no map of the eye takes it."""
        short, long = sorted(self.image.size)
        return short < SHORTEST or long > MOST_STRETCHED * short

    @cached_property
    def is_plain(self) -> bool:
        """Whether it is all of one color, as a picture is that was wholly transparent."""
        return _is_plain(self.pixels[::_GLANCE, ::_GLANCE]) and _is_plain(self.pixels)

    @cached_property
    def reading(self) -> Reading:
        """The text in the picture."""
        return self.read()

    @property
    def lines(self) -> tuple[ReadingLine, ...]:
        """Its lines of text."""
        return self.reading.lines

    @cached_property
    def brief(self) -> Brief | None:
        """What the prompt asks for; None without a prompt, or with one that cannot be read as a brief."""
        if self.prompt is None:
            return None
        try:
            return read_brief(self.prompt)
        except BadValue:
            return None

    @cached_property
    def asked(self) -> dict[str, str]:
        """Texts that the prompt quotes, by role: a headline that was made up for want of one is not asked for."""
        if self.brief is None or self.prompt is None:
            return {}
        quoted = " ".join(self.prompt.view().replace("\\", "").split())
        texts = {role: getattr(self.brief, role) for role in LABELS}
        present = {role: text for role, text in texts.items() if text}
        return {
            role: text
            for role, text in present.items()
            if any(mark + " ".join(text.replace("\\", "").split()) in quoted for mark in "“\"«‘'")
        }

    @cached_property
    def pull(self) -> np.ndarray:
        """How much each place draws the eye, on a small map."""
        return saliency(self.image)

    @cached_property
    def colors(self) -> np.ndarray:
        """OKLab colors (n, 3) of the picture made small."""
        scale = min(1.0, _SMALL / max(self.image.size))
        size = tuple(max(1, round(side * scale)) for side in self.image.size)
        return oklab_of(cv2.resize(self.pixels, size, interpolation=cv2.INTER_AREA).reshape(-1, 3))


def _is_plain(pixels: np.ndarray) -> bool:
    return all(int(pixels[..., band].max()) - int(pixels[..., band].min()) <= _PLAIN for band in range(3))


_BYTE_VALUES = np.arange(256) / 255
LINEAR = np.where(_BYTE_VALUES <= 0.04045, _BYTE_VALUES / 12.92, ((_BYTE_VALUES + 0.055) / 1.055) ** 2.4)
"""Linear light of a byte of sRGB."""
_TO_CONES = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929],
     [0.2119034982, 0.6806995451, 0.1073969566],
     [0.0883024619, 0.2817188376, 0.6299787005]]
)  # fmt: skip
_TO_LAB = np.array(
    [[0.2104542553, 0.7936177850, -0.0040720468],
     [1.9779984951, -2.4285922050, 0.4505937099],
     [0.0259040371, 0.7827717662, -0.8086757660]]
)  # fmt: skip


def oklab_of(rgb: np.ndarray) -> np.ndarray:
    """OKLab (L, a, b) of bytes (n, 3), as `render.colors.oklab` has it for one color."""
    values: np.ndarray = np.cbrt(LINEAR[rgb] @ _TO_CONES.T) @ _TO_LAB.T
    return values


# -- contrast ----------------------------------------------------------------------------------------------------------

_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])
_FLARE = 0.05
"""What WCAG adds to both luminances."""
_QUARTER = 0.25


def text_contrast(view: PictureView) -> float | None:
    """WCAG contrast, 1 to 21, that three quarters of the text have at least, weighed by letters.

    1 where texts were asked for and none could be found: what a reader of lines cannot see at all has no contrast.
    None where no text is found and none was asked for.
    """
    if not view.lines:
        return 1.0 if view.asked else None
    boxes = [
        view.pixels[max(0, int(line.top)) : int(line.bottom) + 1, max(0, int(line.left)) : int(line.right) + 1]
        for line in view.lines
    ]
    values = np.array([split_contrast(box.reshape(-1, 3)) for box in boxes])
    letters = np.array([max(1, len(line.text)) for line in view.lines], float)
    order = np.argsort(values)
    reached = np.cumsum(letters[order]) / letters.sum()
    return float(values[order][np.searchsorted(reached, _QUARTER)])


def split_contrast(pixels: np.ndarray) -> float:
    """WCAG contrast of the light and the dark among pixels (n, 3); 1 where all are alike.

    They are split in two where the variance between the parts is largest (Otsu 1979, on log luminance). Of the light
    part the upper quartile is taken, of the dark one the lower: the rest holds the soft edges of the letters.
    """
    levels = np.sort(np.log(LINEAR[pixels] @ _WEIGHTS + _FLARE))
    if len(levels) < 2:
        return 1.0
    n, sums = len(levels), np.cumsum(levels)
    k = np.arange(1, n)
    apart = (sums[-1] - sums[:-1]) / (n - k) - sums[:-1] / k
    at = int(k[np.argmax(k * (n - k) * apart**2)])
    return float(np.exp(np.quantile(levels[at:], 0.75) - np.quantile(levels[:at], 0.25)))


# -- colors ------------------------------------------------------------------------------------------------------------

_LEADS = 0.3
"""Share of the picture that is expected to have the color named first."""
_GRAY = 0.04
"""Chroma below which a color has no hue to be got wrong."""


def palette_match(view: PictureView) -> float | None:
    """1 less how far the picture's colors are from those the brief names, in two parts.

    The dominant color: the mean OKLab distance of three tenths of the picture, those nearest to it, from the color
    named first. All colors: the angle of hue from each pixel to the nearest color named, as a share of half a turn,
    weighed by the pixel's chroma. None where the brief names no colors, or only grays.
    """
    if view.brief is None or not view.brief.palette:
        return None
    palette = np.array([oklab(parse_color(word)) for word in view.brief.palette])
    colored = palette[np.hypot(palette[:, 1], palette[:, 2]) > _GRAY]
    if not len(colored):
        return None
    away = np.sqrt(((view.colors - palette[0]) ** 2) @ np.ones(3))
    leading = max(1, int(_LEADS * len(away)))
    weights = np.maximum(np.hypot(view.colors[:, 1], view.colors[:, 2]) - _GRAY, 0)
    hue_gap = 0.0
    if weights.any():
        hued, weights = view.colors[weights > 0], weights[weights > 0]
        hues, nearest = np.arctan2(hued[:, 2], hued[:, 1]), np.full(len(hued), np.pi)
        for named_hue in np.arctan2(colored[:, 2], colored[:, 1]):
            turned = np.abs(hues - named_hue)
            np.minimum(nearest, np.minimum(turned, 2 * np.pi - turned), out=nearest)
        hue_gap = float(np.average(nearest, weights=weights) / np.pi)
    return float(1 - np.partition(away, leading - 1)[:leading].mean() - hue_gap)


# -- balance -----------------------------------------------------------------------------------------------------------


def balance(view: PictureView) -> float | None:
    """1 where the centre of the saliency map is on the middle axis, 0 where it is at the left or right edge.

    Only left against right: posters are heavy at the top or the bottom on purpose. None where nothing draws the eye:
    the map of a plain picture shows only where the network itself is uneven.
    """
    if view.is_plain:
        return None
    pull = view.pull.sum(axis=0)
    pull = pull - pull.min()
    if not pull.any():
        return None
    centre = np.average((np.arange(len(pull)) + 0.5) / len(pull), weights=pull)
    return float(1 - 2 * abs(centre - 0.5))
