"""Does the picture show what the prompt says? Answered offline by three small networks, and named after them.

There is no network with pictures and texts in one space inside any package, so this is a composite, and never called
CLIP. Two numbers are added:

    seen   the picture's ImageNet classes, as the mean of their names' MiniLM vectors weighed by their chances (ConSE,
           Norouzi et al. 2014), against the prompt's MiniLM vector, both less the mean of all class names
    read   the text in the picture against the prompt, both as MiniLM vectors
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from salon.judge.scorers.rules import cached_reading
from salon.judge.scoring import PictureScore, PictureScorer, ScoreResult, ScorerInput, TextInput, prompt_parts
from salon.models import (
    EFFNET,
    MINILM,
    READER,
    ResultCache,
    class_chances,
    content_vectors,
    embed_texts,
    sentence_vectors,
)
from salon.study import ScorerCard, Signature

COMPOSITE = "effnet-lite2+minilm+ocr"
TEXT_MATCH = "minilm+ocr"
SEEN_WEIGHT = 0.5
"""Share of what is seen; the rest is what is read."""
_LICENCE = "Apache-2.0 (EfficientNet-Lite2, RapidOCR), Apache-2.0 (MiniLM; packaged under MIT)"


def composite(cache: ResultCache | None = None, *, text: TextInput = "full", batch: int = 8) -> PictureScorer:
    """The mean of `seen` and `read`, from -1 to 1; a picture without text has 0 for what is read."""
    card = ScorerCard(
        reads="image and prompt", view=prompt_parts(text), low=-1, high=1, licence=_LICENCE,
        transform="0.5 cos(seen, prompt) + 0.5 cos(read, prompt)",
        measures="Whether things and words in the picture are near to the prompt in meaning.",
        source="docs/methods/scorers.md",
    )  # fmt: skip
    settings = {"image": EFFNET, "text": MINILM, "ocr": READER, "view": "+".join(card.view) or "all"}
    signature = Signature(method=COMPOSITE, settings=settings)
    memory = cache or ResultCache()

    def look(inputs: Sequence[ScorerInput]) -> list[ScoreResult]:
        texts = [picture.text for picture in inputs]
        seen_cosines = seen_alike([picture.image for picture in inputs], texts)
        read = read_alike([cached_reading(picture, memory).text for picture in inputs], texts)
        return [
            PictureScore(float(SEEN_WEIGHT * a + (1 - SEEN_WEIGHT) * b))
            for a, b in zip(seen_cosines, read, strict=True)
        ]

    return PictureScorer(COMPOSITE, card, signature, look, batch=batch)


def text_match(cache: ResultCache | None = None, *, text: TextInput = "full", batch: int = 8) -> PictureScorer:
    """How near the text in the picture is to the prompt in meaning, from -1 to 1; 0 where there is no text."""
    card = ScorerCard(
        reads="image and prompt", view=prompt_parts(text), low=-1, high=1, licence=_LICENCE,
        transform="cos(read, prompt)", source="docs/methods/scorers.md",
        measures="Whether the words in the picture are near to the prompt in meaning.",
    )  # fmt: skip
    settings = {"text": MINILM, "ocr": READER, "view": "+".join(card.view) or "all"}
    memory = cache or ResultCache()

    def look(inputs: Sequence[ScorerInput]) -> list[ScoreResult]:
        read = read_alike(
            [cached_reading(picture, memory).text for picture in inputs], [picture.text for picture in inputs]
        )
        return [PictureScore(float(value)) for value in read]

    return PictureScorer(TEXT_MATCH, card, Signature(method=TEXT_MATCH, settings=settings), look, batch=batch)


def seen_alike(images: Sequence[Image.Image], texts: Sequence[str]) -> np.ndarray:
    """Cosine of each picture's classes with its text, both less the mean of all class names."""
    return _cosines(content_vectors(class_chances(images)), sentence_vectors(texts))


def read_alike(read: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    """Cosine of the words read with each text; 0 where none were."""
    there = np.array([bool(words.strip()) for words in read])
    return np.where(there, _cosines(embed_texts([words or " " for words in read]), embed_texts(texts)), 0.0)


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    values: np.ndarray = (a * b).sum(axis=1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-12)
    return values
