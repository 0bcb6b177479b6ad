"""How a picture looks, without words: a network's features beside colors, edges and strokes counted by rule.

A network trained on photographs cares for things and little for setting: these parts say how a page is set. Each is the
root of a histogram's shares, so a row has length 1, and distances are those of Hellinger.

    image     EfficientNet-Lite2's 1,280 features, as in `embedded_encoder`
    colors    how much of each of 8 x 8 x 8 colors, the picture reduced to 96 x 96
    edges     where edges run which way: 8 x 8 places, 8 directions, weighed by strength, at 256 x 256
    strokes   how many points of which edge strength and direction: 5 x 8, at 512, 256 and 128 pixels

No part lies in the space of the texts, so heads over this encoder do not read the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from salon.errors import BadValue
from salon.models.embedded_encoder import EmbeddedEncoder
from salon.models.encoder import EncoderPart, Vectors

NAME = "effnet-lite2+look"
VERSION = 1
"""Of the rules below; a change of any of them makes old vectors strangers to new ones."""
PLACES, DIRECTIONS = 8, 8
SIDES = (512, 256, 128)
STRENGTHS = (8, 24, 64, 128)
"""Bounds between the classes of edges, in levels of gray over two pixels."""
WIDTHS = {
    "colors": 8**3,
    "edges": PLACES**2 * DIRECTIONS,
    "strokes": len(SIDES) * (len(STRENGTHS) + 1) * DIRECTIONS,
}
Floats = NDArray[np.float32]


class LookEncoder:
    """EfficientNet-Lite2 and three kinds of counts for pictures, MiniLM for texts."""

    name = NAME
    licence = "Apache-2.0 (EfficientNet-Lite2), Apache-2.0 (MiniLM; packaged under MIT)"

    def __init__(self) -> None:
        self._embedded = EmbeddedEncoder()
        counted = (EncoderPart(name, width, False, f"{name}/{VERSION} by rule") for name, width in WIDTHS.items())
        self.parts = (next(part for part in self._embedded.parts if part.name == "image"), *counted)
        self.text_width, self.text_signature = self._embedded.text_width, self._embedded.text_signature
        self.signature = "; ".join([self.text_signature, *(part.signature for part in self.parts)])

    def __reduce__(self) -> Any:
        """As it is named: another process loads the network itself."""
        return type(self), ()

    def pictures(self, images: Sequence[Image.Image], part: str) -> Vectors:
        """(pictures, width) float32: one part."""
        if part == "image":
            return self._embedded.pictures(images, part)
        if part not in _COUNTED:
            known = ", ".join(one.name for one in self.parts)
            raise BadValue(f"a part of {self.name} is needed", found=repr(part), remedy=known)
        return np.array([_COUNTED[part](image) for image in images], np.float32).reshape(len(images), WIDTHS[part])

    def texts(self, texts: Sequence[str]) -> Vectors:
        """(texts, 384) float32, as of the embedded encoder."""
        return self._embedded.texts(texts)


def colors(image: Image.Image) -> Floats:
    """(512,) roots of the shares of colors."""
    levels = np.asarray(image.resize((96, 96), Image.Resampling.BOX)).reshape(-1, 3).astype(np.intp) // 32
    return _roots(np.bincount(levels @ np.array([64, 8, 1]), minlength=512))


def edges(image: Image.Image) -> Floats:
    """(512,) roots of the shares of edge strength, by place and direction."""
    strength, direction = _edges(image, 256)
    at = np.arange(len(strength)) * PLACES // len(strength)
    cell = (at[:, None] * PLACES + at[None, :]) * DIRECTIONS + direction
    return _roots(np.bincount(cell.ravel(), weights=strength.ravel(), minlength=PLACES**2 * DIRECTIONS))


def strokes(image: Image.Image) -> Floats:
    """(120,) roots of the shares of points, by size of the picture, strength and direction of the edge."""
    counts = []
    for side in SIDES:
        strength, direction = _edges(image, side)
        kind = np.digitize(strength, STRENGTHS) * DIRECTIONS + direction
        counts.append(np.bincount(kind.ravel(), minlength=(len(STRENGTHS) + 1) * DIRECTIONS))
    return _roots(np.concatenate(counts))


def _edges(image: Image.Image, side: int) -> tuple[Floats, NDArray[np.intp]]:
    """Strength and direction (of the half circle, in eighths) of the change of gray at each inner point."""
    gray = np.asarray(image.convert("L").resize((side, side), Image.Resampling.BOX), np.float32)
    across, down = gray[1:-1, 2:] - gray[1:-1, :-2], gray[2:, 1:-1] - gray[:-2, 1:-1]
    turn = np.arctan2(down, across) % np.pi / np.pi
    return np.hypot(across, down), (turn * DIRECTIONS).astype(np.intp) % DIRECTIONS


def _roots(counts: NDArray[Any]) -> Floats:
    return np.sqrt(counts / max(float(counts.sum()), 1e-12)).astype(np.float32)


_COUNTED = {"colors": colors, "edges": edges, "strokes": strokes}
