"""Encoders by the names that users write, each loaded only when it is asked for."""

from __future__ import annotations

import importlib

from salon.errors import BadValue
from salon.models.encoder import Encoder

DEFAULT = "effnet-lite2+minilm"
LOOK = "effnet-lite2+look"
_OCR = "+ocr"
_FOLDERS = {
    "clip": "clip_encoder:ClipEncoder",
    "siglip": "clip_encoder:ClipEncoder",
    "qwen-vl": "vlm_encoder:VlmEncoder",
}
NAMES = (DEFAULT, DEFAULT + _OCR, LOOK, *(f"{kind}:FOLDER" for kind in _FOLDERS))


def encoder_named(text: str = DEFAULT, *, device: str | None = None, batch: int = 8, ocr: bool = False) -> Encoder:
    """The encoder that `text` names, one of NAMES.

    `ocr` adds to the embedded one what is written in the pictures, as does +ocr at the end of its name. Networks of a
    folder run on `device`, the best there is when left out, and take `batch` pictures at once; the embedded ones are
    small and run on the CPU, one picture a core.
    """
    encoder: Encoder
    if text in (DEFAULT, DEFAULT + _OCR):
        encoder = _class("embedded_encoder:EmbeddedEncoder")(ocr=ocr or text.endswith(_OCR))
        return encoder
    if text == LOOK and not ocr:
        encoder = _class("look_encoder:LookEncoder")()
        return encoder
    kind, _, folder = text.partition(":")
    if kind not in _FOLDERS or not folder:
        raise BadValue("the name of an encoder is needed", found=repr(text), remedy=", ".join(NAMES))
    if ocr:
        raise BadValue("only the embedded encoder reads with OCR", found=f"{text} with ocr", remedy=DEFAULT + _OCR)
    encoder = _class(_FOLDERS[kind])(text, folder, device=device, batch=batch)
    return encoder


def _class(place: str) -> type:
    module, name = place.split(":")
    result: type = getattr(importlib.import_module(f"salon.models.{module}"), name)
    return result
