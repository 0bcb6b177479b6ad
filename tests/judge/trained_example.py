"""Trained models small enough to read: they look at mean colors, and at how long the text is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from salon.judge import trained_model as trained
from salon.models import (
    EncoderPart,
    HeadShape,
    ModelCard,
    ModelCriterion,
    PreferenceHeads,
    Vectors,
    preference_model,
    save_heads,
)
from salon.study import Signature

PART = EncoderPart("color", 3, False)


class Colors:
    """An encoder: the mean color of a picture, and the length of a text."""

    name = signature = "colors"
    text_width, parts, licence = 3, (PART,), "none"

    def __init__(self) -> None:
        self.looked = 0

    def pictures(self, images: Sequence[Image.Image], part: str) -> Vectors:
        self.looked += len(images)
        return np.array([np.asarray(image).mean(axis=(0, 1)) / 255 for image in images], np.float32)

    def texts(self, texts: Sequence[str]) -> Vectors:
        return np.array([[len(text), 0, 0] for text in texts], np.float32)


@pytest.fixture
def colors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Colors:
    """Every model's encoder, and a cache that knows nothing yet."""
    monkeypatch.setenv("SALON_CACHE", str(tmp_path / "cache"))
    encoder = Colors()
    monkeypatch.setattr(preference_model, "open_encoder", lambda name, **options: encoder)
    trained._load_cached.cache_clear()
    return encoder


def card_of(kind: str = "heads", *criteria: str, **facts: object) -> ModelCard:
    """A model's card."""
    known = tuple(ModelCriterion(id=id, name=id.title(), view=()) for id in criteria or ("c",))
    told = {"name": "tiny", "backbone": "colors", "backbone_name": "colors", "form": "scalar", "is_logit": True}
    told |= {"study": "s", "data": "0", "licence": "none", "signature": Signature(method="test", version="test")}
    return ModelCard(kind=kind, criteria=known, **(told | facts))


def save_model(folder: Path, *criteria: str, form: str = "scalar", flag: str | None = None) -> Path:
    """Heads that nobody trained."""
    torch.manual_seed(3)
    shape = HeadShape(form=form, parts=(PART,), text_width=3, criteria=criteria or ("c",), width=4, flag=flag)
    network = PreferenceHeads(shape)
    if form != "scalar":
        network.keep_references(torch.rand(2, 3))
    save_heads(folder, network, card_of("heads", *criteria, form=form, flag=flag), readme="tiny")
    return folder
