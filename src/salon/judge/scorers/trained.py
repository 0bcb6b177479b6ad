"""A trained preference model as a scorer: one for each criterion that it knows.

The model reads what it was trained on: the picture, and the parts of the prompt that its card names. Scores of two
pictures of one prompt may be compared; what their distance means is said by the card (`is_logit`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from salon.judge.scorers.of_model import known_criterion, scores_name
from salon.judge.scorers.picture import PictureScorer, Result, Scored, Shown, Unscored
from salon.models.embeddings import encode_pictures, encode_texts
from salon.models.preference import Criterionwise, ModelCard, PreferenceModel, read_card
from salon.models.preference import Scored as Given
from salon.models.preference_model import HeadsModel, load_model
from salon.models.weights import model_fingerprint
from salon.store.pictures import read_picture
from salon.study.scorer import ScorerCard
from salon.study.signature import Setting, Signature


def trained_scorer(
    folder: Path, criterion: str | None = None, *, device: str | None = None, batch: int = 8
) -> PictureScorer:
    """The scorer that the model in `folder` is for `criterion`, which may be left out where it knows only one."""
    model, weights = opened(folder, device)
    known = known_criterion(model.card, criterion, where=str(folder))
    card = served_card(model.card, known)
    signature = trained_signature(model.card, known.id, weights)

    def look(shown: Sequence[Shown]) -> list[Result]:
        return [_result(one) for one in scores_of(model, shown, known.id)]

    return PictureScorer(scores_name(model.card, known.id), card, signature, look, batch=batch)


def served_card(card: ModelCard, known: Criterionwise) -> ScorerCard:
    """What one has to know before using a model's numbers for one criterion."""
    return ScorerCard(
        reads="image and prompt", view=known.view, higher_is_better=known.higher_is_better,
        is_logit=card.is_logit and known.id != card.flag, licence=card.licence, source=str(card.signature),
        measures=f"{known.name}, as {_raters(card)} of {card.study} judged it.", criterion=known.id,
    )  # fmt: skip


def trained_signature(card: ModelCard, criterion: str, weights: str) -> Signature:
    """Which model, criterion and weights made a number."""
    settings: dict[str, Setting] = {"model": card.name, "criterion": criterion, "backbone": card.backbone_name}
    if card.kind == "reward":
        settings["positions"] = card.positions
    return Signature(method=f"trained-{card.kind}", data=weights, settings=settings)


def opened(folder: Path, device: str | None) -> tuple[PreferenceModel, str]:
    """The model and the fingerprint of what its numbers hang on; several criteria of one model share it."""
    read_card(folder)  # says what is wrong with a folder that is no model's
    return _opened(folder.resolve(), device, model_fingerprint(folder))


@cache
def _opened(folder: Path, device: str | None, weights: str) -> tuple[PreferenceModel, str]:
    return load_model(folder, device=device), weights


# -- what a model says -------------------------------------------------------------------------------------------------


def scores_of(model: PreferenceModel, shown: Sequence[Shown], criterion: str) -> list[Given]:
    """One number for each picture. Heads take vectors from the cache: all criteria share them, and so do later runs."""
    texts = [one.text for one in shown]
    if not isinstance(model, HeadsModel):
        return model.scores([one.image for one in shown], texts, criterion)
    pictures = _vectors(model, [one.path for one in shown])
    found = model.vector_scores(pictures, _words(model, texts, criterion), criterion)
    return [Given(float(value)) for value in found]


def logits_of(
    model: PreferenceModel, a: Sequence[Path], b: Sequence[Path], texts: Sequence[str], criterion: str
) -> NDArray[np.float64]:
    """Log-odds that the first picture of each pair is preferred, as they stand (a, b)."""
    if not isinstance(model, HeadsModel):
        images = {path: read_picture(path).image for path in {*a, *b}}
        return model.pair_logits([images[one] for one in a], [images[one] for one in b], texts, criterion)
    both = _vectors(model, [*a, *b])
    first, second = ({part: rows[half] for part, rows in both.items()} for half in (slice(len(a)), slice(len(a), None)))
    return model.vector_logits(first, second, _words(model, texts, criterion), criterion)


def _vectors(model: HeadsModel, paths: Sequence[Path]) -> dict[str, NDArray[np.float32]]:
    return encode_pictures(model.encoder, paths, parts=[part.name for part in model.network.shape.parts])


def _words(model: HeadsModel, texts: Sequence[str], criterion: str) -> NDArray[np.float32]:
    return encode_texts(model.encoder, model.conditioned(texts, criterion))


def _result(given: Given) -> Result:
    """A network may overflow on a strange picture; what is not a number is none."""
    if not math.isfinite(given.value) or not math.isfinite(given.sigma or 0.0):
        return Unscored("the model gave no finite number")
    return Scored(float(given.value), None if given.sigma is None else float(given.sigma))


def _raters(card: ModelCard) -> str:
    return "simulated raters" if card.simulated else "the raters"
