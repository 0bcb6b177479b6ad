"""One picture as measurements look at it: its pixels, the text in it, and what its prompt asked for.

Each part is worked out when it is first needed, and once: twelve measurements of a picture cost one reading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image

from salon.errors import BadValue, MissingExtra
from salon.models.ocr import Reading, TextLine
from salon.models.saliency import saliency
from salon.render.brief import Brief
from salon.render.brief_text import LABELS, read_brief
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
_SMALL = 256
"""Longer side of the picture that colors are counted in."""


@dataclass(frozen=True)
class Seen:
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
        flat = self.pixels.reshape(-1, 3)
        return bool((flat.max(axis=0).astype(int) - flat.min(axis=0) <= _PLAIN).all())

    @cached_property
    def reading(self) -> Reading:
        """The text in the picture."""
        return self.read()

    @property
    def lines(self) -> tuple[TextLine, ...]:
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
        found = {role: text for role, text in texts.items() if text}
        return {role: text for role, text in found.items() if any(mark + _flat(text) in quoted for mark in "“\"«‘'")}

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


def _flat(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


_BYTES = np.arange(256) / 255
LINEAR = np.where(_BYTES <= 0.04045, _BYTES / 12.92, ((_BYTES + 0.055) / 1.055) ** 2.4)
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
