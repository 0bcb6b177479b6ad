"""The interface of networks that turn pictures and texts into vectors, and the encoders by name.

An encoder gives every text one vector, and every picture one vector for each of its *parts*. A part is `aligned` when
it lies in the space of the texts, so that products and differences of the two mean something (CLIP has one such part).
Other parts stand for themselves (EfficientNet's features know nothing of words).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from salon.errors import BadValue

Vectors = NDArray[np.float32]


class EncoderPart(NamedTuple):
    """One of the vectors of a picture."""

    name: str
    width: int
    aligned: bool
    """Whether it lies in the space of the texts; then its width is theirs."""
    signature: str = ""
    """All that this part alone depends on, where that is less than the encoder's: encoders may share a part."""


@runtime_checkable
class Encoder(Protocol):
    """Pictures and texts as rows of length 1 (a row of zeros where there is nothing to see or read)."""

    name: str
    signature: str
    """All that the vectors depend on: weights by hash, sizes, library versions that matter."""
    text_width: int
    parts: tuple[EncoderPart, ...]
    licence: str

    def pictures(self, images: Sequence[Image.Image], part: str) -> Vectors:
        """(pictures, width) float32: one part."""
        ...

    def texts(self, texts: Sequence[str]) -> Vectors:
        """(texts, text_width) float32."""
        ...


@runtime_checkable
class SharedEncoder(Protocol):
    """An encoder whose parts share work: asked for together they cost less."""

    def picture_parts(
        self, images: Sequence[Image.Image], parts: Sequence[str], hashes: Sequence[str] | None
    ) -> dict[str, Vectors]:
        """Several parts at once. `hashes` are those of the pictures' bytes, for what is remembered by them."""
        ...


def picture_parts(
    encoder: Encoder, images: Sequence[Image.Image], parts: Sequence[str], hashes: Sequence[str] | None = None
) -> dict[str, Vectors]:
    """(pictures, width) float32 for each of `parts`, in the cheapest way the encoder knows."""
    if isinstance(encoder, SharedEncoder):
        return encoder.picture_parts(images, parts, hashes)
    return {part: encoder.pictures(images, part) for part in parts}


def text_rows(texts: Sequence[str], width: int, encode: Callable[[list[str]], Vectors]) -> Vectors:
    """(texts, width) float32: `encode` for texts that have a word, zeros for those that have none."""
    rows = np.zeros((len(texts), width), np.float32)
    with_words = [row for row, text in enumerate(texts) if text.strip()]
    if with_words:
        rows[with_words] = encode([texts[row] for row in with_words])
    return rows


# -- encoders by name --------------------------------------------------------------------------------------------------

DEFAULT_ENCODER = "effnet-lite2+minilm"
LOOK_ENCODER = "effnet-lite2+look"
_OCR = "+ocr"
_FOLDERS = {
    "clip": "folder_encoders:ClipEncoder",
    "siglip": "folder_encoders:ClipEncoder",
    "qwen-vl": "folder_encoders:VlmEncoder",
}
ENCODER_NAMES = (DEFAULT_ENCODER, DEFAULT_ENCODER + _OCR, LOOK_ENCODER, *(f"{kind}:FOLDER" for kind in _FOLDERS))


def open_encoder(
    text: str = DEFAULT_ENCODER, *, device: str | None = None, batch: int = 8, ocr: bool = False
) -> Encoder:
    """The encoder that `text` names, one of NAMES.

    `ocr` adds to the embedded one what is written in the pictures, as does +ocr at the end of its name. Networks of a
    folder run on `device`, the best there is when left out, and take `batch` pictures at once; the embedded ones are
    small and run on the CPU, one picture a core.
    """
    encoder: Encoder
    if text in (DEFAULT_ENCODER, DEFAULT_ENCODER + _OCR):
        encoder = _load_class("embedded_encoder:EmbeddedEncoder")(ocr=ocr or text.endswith(_OCR))
        return encoder
    if text == LOOK_ENCODER and not ocr:
        encoder = _load_class("embedded_encoder:LookEncoder")()
        return encoder
    kind, _, folder = text.partition(":")
    if kind not in _FOLDERS or not folder:
        raise BadValue("the name of an encoder is needed", found=repr(text), remedy=", ".join(ENCODER_NAMES))
    if ocr:
        raise BadValue(
            "only the embedded encoder reads with OCR", found=f"{text} with ocr", remedy=DEFAULT_ENCODER + _OCR
        )
    encoder = _load_class(_FOLDERS[kind])(text, folder, device=device, batch=batch)
    return encoder


def _load_class(place: str) -> type:
    module, name = place.split(":")
    result: type = getattr(importlib.import_module(f"salon.models.{module}"), name)
    return result
