"""The encoder that works offline: a composite of small networks from packages, named after them.

No package holds a network with pictures and texts in one space, so each picture has several parts:

    image   EfficientNet-Lite2's 1,280 features; they stand for themselves
    seen    what the picture shows, in the space of the texts: the names of its ImageNet classes (ConSE)
    read    what is written in it, in the space of the texts: the words that OCR found; only under the name with +ocr

Texts are MiniLM's vectors. Everything in their space is taken less the mean of all class names, then brought to
length 1, so the product of a text and `seen` is the cosine that the scorer of the same name uses.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

from salon.errors import BadValue
from salon.models import effnet, minilm
from salon.models.conse import MOST, seen_vectors, sentence_vectors
from salon.models.effnet import EFFNET, EFFNET_HASH, SIDE, features_and_chances
from salon.models.encoder import EncoderPart, Vectors, text_rows
from salon.models.kept import Kept
from salon.models.minilm import MINILM, MINILM_HASH

VERSION = 1
"""Of the formulas below; a change of any of them makes old vectors strangers to new ones."""
_IMAGE = f"{EFFNET} sha256:{EFFNET_HASH} {SIDE}px"
_TEXT = f"{MINILM} sha256:{MINILM_HASH}"
_PARTS = (
    EncoderPart("image", effnet.WIDTH, False, f"image/{VERSION} {_IMAGE}"),
    EncoderPart("seen", minilm.WIDTH, True, f"seen/{VERSION} {_IMAGE} in {_TEXT} by ConSE of {MOST}"),
)
TEXT_SIGNATURE = f"text/{VERSION} {_TEXT}"


class EmbeddedEncoder:
    """EfficientNet-Lite2 for pictures, MiniLM for texts, and OCR between them where it is wanted."""

    text_width = minilm.WIDTH
    text_signature = TEXT_SIGNATURE
    licence = "Apache-2.0 (EfficientNet-Lite2, RapidOCR), Apache-2.0 (MiniLM; packaged under MIT)"

    def __init__(self, *, ocr: bool = False, kept: Kept | None = None) -> None:
        self.name = "effnet-lite2+minilm+ocr" if ocr else "effnet-lite2+minilm"
        # whoever does not read saves the second that it takes to load OCR
        self._reader: Any = importlib.import_module("salon.models.ocr") if ocr else None
        self.parts = _PARTS if self._reader is None else (*_PARTS, _read_part(self._reader.READER))
        self.signature = "; ".join([TEXT_SIGNATURE, *(part.signature for part in self.parts)])
        self._kept = kept

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
        known = [part.name for part in self.parts]
        if unknown := [part for part in parts if part not in known]:
            raise BadValue(f"a part of {self.name} is needed", found=repr(unknown[0]), remedy=", ".join(known))
        found = {}
        if "image" in parts or "seen" in parts:
            features, chances = features_and_chances(images)
            found["image"] = _unit(features)
            if "seen" in parts:  # whoever does not want it need not know the names of a thousand classes
                found["seen"] = _unit(seen_vectors(chances))
        if "read" in parts:
            found["read"] = self.texts(self._words(images, hashes))
        return {part: found[part] for part in parts}

    def texts(self, texts: Sequence[str]) -> Vectors:
        """(texts, 384) float32; a row of zeros for a text without a word."""
        return text_rows(texts, self.text_width, lambda some: _unit(sentence_vectors(some)))

    def _words(self, images: Sequence[Image.Image], hashes: Sequence[str] | None) -> list[str]:
        if hashes is None:
            return [self._reader.read_text(np.asarray(image)).text for image in images]
        self._kept = self._kept or Kept()
        read = self._reader.remembered_reading
        return [read(image, sha, self._kept).text for image, sha in zip(images, hashes, strict=True)]


def _read_part(reader: str) -> EncoderPart:
    return EncoderPart("read", minilm.WIDTH, True, f"read/{VERSION} {reader} in {_TEXT}")


def _unit(rows: np.ndarray) -> Vectors:
    result: Vectors = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).astype(
        np.float32, copy=False
    )
    return result
