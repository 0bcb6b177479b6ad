"""Encoders that work offline, made of small networks from packages.

`EmbeddedEncoder`. No package holds a network with pictures and texts in one space, so each picture has several parts:

    image   EfficientNet-Lite2's 1,280 features; they stand for themselves
    seen    what the picture shows, in the space of the texts: the names of its ImageNet classes (ConSE)
    read    what is written in it, in the space of the texts: the words that OCR found; only under the name with +ocr

Texts are MiniLM's vectors. Everything in their space has the mean of all class names subtracted and is scaled to length
1, so the product of a text and `seen` is the cosine that the scorer of the same name uses.

`LookEncoder` describes how a picture looks, without words: a network trained on photographs cares for things and little
for layout. Each counted part is the root of a histogram's shares, so a row has length 1, and distances are Hellinger's.

    image     EfficientNet-Lite2's 1,280 features
    colors    how much of each of 8 x 8 x 8 colors, the picture reduced to 96 x 96
    edges     where edges run which way: 8 x 8 places, 8 directions, weighted by strength, at 256 x 256
    strokes   how many points of which edge strength and direction: 5 x 8, at 512, 256 and 128 pixels

None of its parts lies in the space of the texts, so heads over it do not read the prompt.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from salon.errors import BadValue
from salon.models.cache import ResultCache
from salon.models.embedded_networks import (
    CLASSES_USED,
    EFFNET,
    EFFNET_HASH,
    EFFNET_SIDE,
    EFFNET_WIDTH,
    MINILM,
    MINILM_HASH,
    MINILM_WIDTH,
    content_vectors,
    features_and_chances,
    sentence_vectors,
)
from salon.models.encoders import EncoderPart, Vectors, text_rows

VERSION = 1
"""Of the formulas below; a change of any of them makes old vectors strangers to new ones."""
_IMAGE = f"{EFFNET} sha256:{EFFNET_HASH} {EFFNET_SIDE}px"
_TEXT = f"{MINILM} sha256:{MINILM_HASH}"
_PARTS = (
    EncoderPart("image", EFFNET_WIDTH, False, f"image/{VERSION} {_IMAGE}"),
    EncoderPart("seen", MINILM_WIDTH, True, f"seen/{VERSION} {_IMAGE} in {_TEXT} by ConSE of {CLASSES_USED}"),
)
TEXT_SIGNATURE = f"text/{VERSION} {_TEXT}"


class EmbeddedEncoder:
    """EfficientNet-Lite2 for pictures, MiniLM for texts, and OCR between them where it is wanted."""

    text_width = MINILM_WIDTH
    text_signature = TEXT_SIGNATURE
    licence = "Apache-2.0 (EfficientNet-Lite2, RapidOCR), Apache-2.0 (MiniLM; packaged under MIT)"

    def __init__(self, *, ocr: bool = False, cache: ResultCache | None = None) -> None:
        self.name = "effnet-lite2+minilm+ocr" if ocr else "effnet-lite2+minilm"
        # loading OCR takes a second
        self._reader: Any = importlib.import_module("salon.models.ocr") if ocr else None
        self.parts: tuple[EncoderPart, ...] = _PARTS
        if self._reader is not None:
            signature = f"read/{VERSION} {self._reader.READER} in {_TEXT}"
            self.parts = (*_PARTS, EncoderPart("read", MINILM_WIDTH, True, signature))
        self.signature = "; ".join([TEXT_SIGNATURE, *(part.signature for part in self.parts)])
        self._cache = cache

    def __reduce__(self) -> Any:
        """As settings alone: another process loads the networks itself."""
        return partial(type(self), ocr=self._reader is not None), ()

    def pictures(self, images: Sequence[Image.Image], part: str) -> Vectors:
        """(pictures, width) float32: one part."""
        return self.picture_parts(images, [part])[part]

    def picture_parts(
        self, images: Sequence[Image.Image], parts: Sequence[str], hashes: Sequence[str] | None = None
    ) -> dict[str, Vectors]:
        """Several parts for one pass of the network. Words read are remembered by the hash of the picture's bytes."""
        names = [part.name for part in self.parts]
        if unknown := [part for part in parts if part not in names]:
            raise BadValue(f"a part of {self.name} is needed", found=repr(unknown[0]), remedy=", ".join(names))
        vectors = {}
        if "image" in parts or "seen" in parts:
            features, chances = features_and_chances(images)
            vectors["image"] = _unit_rows(features)
            if "seen" in parts:  # needs the names of a thousand classes
                vectors["seen"] = _unit_rows(content_vectors(chances))
        if "read" in parts:
            vectors["read"] = self.texts(self._words(images, hashes))
        return {part: vectors[part] for part in parts}

    def texts(self, texts: Sequence[str]) -> Vectors:
        """(texts, 384) float32; a row of zeros for a text without a word."""
        return text_rows(texts, self.text_width, lambda some: _unit_rows(sentence_vectors(some)))

    def _words(self, images: Sequence[Image.Image], hashes: Sequence[str] | None) -> list[str]:
        if hashes is None:
            return [self._reader.read_text(np.asarray(image)).text for image in images]
        self._cache = self._cache or ResultCache()
        read = self._reader.remembered_reading
        return [read(image, sha, self._cache).text for image, sha in zip(images, hashes, strict=True)]


def _unit_rows(rows: np.ndarray) -> Vectors:
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    unit: Vectors = (rows / lengths).astype(np.float32, copy=False)
    return unit


# -- colors, edges and strokes -----------------------------------------------------------------------------------------

LOOK_NAME = "effnet-lite2+look"
LOOK_VERSION = 1
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

    name = LOOK_NAME
    licence = "Apache-2.0 (EfficientNet-Lite2), Apache-2.0 (MiniLM; packaged under MIT)"

    def __init__(self) -> None:
        self._embedded = EmbeddedEncoder()
        histograms = (
            EncoderPart(name, width, False, f"{name}/{LOOK_VERSION} by rule") for name, width in WIDTHS.items()
        )
        self.parts = (next(part for part in self._embedded.parts if part.name == "image"), *histograms)
        self.text_width, self.text_signature = self._embedded.text_width, self._embedded.text_signature
        self.signature = "; ".join([self.text_signature, *(part.signature for part in self.parts)])

    def __reduce__(self) -> Any:
        """As it is named: another process loads the network itself."""
        return type(self), ()

    def pictures(self, images: Sequence[Image.Image], part: str) -> Vectors:
        """(pictures, width) float32: one part."""
        if part == "image":
            return self._embedded.pictures(images, part)
        if part not in _COUNTS:
            names = ", ".join(known_part.name for known_part in self.parts)
            raise BadValue(f"a part of {self.name} is needed", found=repr(part), remedy=names)
        return np.array([_COUNTS[part](image) for image in images], np.float32).reshape(len(images), WIDTHS[part])

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


_COUNTS = {"colors": colors, "edges": edges, "strokes": strokes}
