"""A trained preference model as a scorer: one for each criterion that it knows.

The model reads what it was trained on: the picture, and the parts of the prompt that its card names. Scores of two
pictures of one prompt may be compared; what their distance means is said by the card (`is_logit`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue
from salon.judge.scorers.picture import PictureScorer, Result, Scored, Shown, Unscored
from salon.models.embeddings import encode_pictures, encode_texts
from salon.models.preference import CARD, Criterionwise, ModelCard, PreferenceModel
from salon.models.preference import Scored as Given
from salon.models.preference_model import HeadsModel, load_model, read_card
from salon.models.weights import fingerprint
from salon.store.pictures import read_picture
from salon.study.scorer import ScorerCard
from salon.study.signature import Signature

MARK = "@"
"""Between the folder of a model and the criterion, in the name of a scorer."""
_ASIDE = ("README.md", "guard.parquet", "run")
"""What stands in a model's folder and changes no number."""


def trained_scorer(
    folder: Path, criterion: str | None = None, *, device: str | None = None, batch: int = 8
) -> PictureScorer:
    """The scorer that the model in `folder` is for `criterion`, which may be left out where it knows only one."""
    model, weights = opened(folder, device)
    known = known_criterion(model.card, criterion, where=str(folder))
    card = ScorerCard(
        reads="image and prompt", view=known.view, higher_is_better=known.higher_is_better,
        is_logit=model.card.is_logit and known.id != model.card.flag, licence=model.card.licence,
        source=str(model.card.signature),
        measures=f"{known.name}, as {_raters(model.card)} of {model.card.study} judged it.", criterion=known.id,
    )  # fmt: skip
    settings = {"model": model.card.name, "criterion": known.id, "backbone": model.card.backbone_name}
    signature = Signature(method=f"trained-{model.card.kind}", data=weights, settings=settings)

    def look(shown: Sequence[Shown]) -> list[Result]:
        return [_result(one) for one in scores_of(model, shown, known.id)]

    return PictureScorer(scores_name(model.card, known.id), card, signature, look, batch=batch)


def scorer_names(folder: Path, criteria: Sequence[str] = ()) -> list[str]:
    """How `salon score` names the scorers of a model: one for each criterion, or for those given."""
    card = read_card(folder)
    chosen = criteria or [one.id for one in known_criteria(card)]
    ids = [known_criterion(card, one, where=str(folder)).id for one in chosen]
    return [f"model:{folder}{MARK}{id}" for id in dict.fromkeys(ids)]


def scores_name(card: ModelCard, criterion: str) -> str:
    """What the scores of a model are called: its name, and the criterion where it knows several."""
    plain = "".join("-" if letter in "/\\:\0" else letter for letter in f"{card.name}{MARK}{criterion}")
    return plain if len(known_criteria(card)) > 1 else plain.rpartition(MARK)[0]


def is_model(folder: Path) -> bool:
    """Whether `folder` holds a trained model."""
    return (folder / CARD).is_file()


def known_criteria(card: ModelCard) -> tuple[Criterionwise, ...]:
    """All that a model has a number for; of a flag head's criterion, the log-odds of being flagged."""
    if card.flag is None or card.flag in {one.id for one in card.criteria}:
        return card.criteria
    return (*card.criteria, Criterionwise(id=card.flag, name=card.flag, higher_is_better=False))


def known_criterion(card: ModelCard, criterion: str | None, *, where: str) -> Criterionwise:
    """What the model knows about `criterion`; BadValue where it knows nothing, or where one has to be named."""
    known = {one.id: one for one in known_criteria(card)}
    if criterion is None and len(known) == 1:
        return next(iter(known.values()))
    if criterion not in known:
        raise BadValue(
            f"a criterion that the model {card.name!r} was trained on is needed",
            found="none named" if criterion is None else repr(criterion),
            where=where,
            remedy="one of " + ", ".join(known),
        )
    return known[criterion]


def opened(folder: Path, device: str | None) -> tuple[PreferenceModel, str]:
    """The model and the fingerprint of what its numbers hang on; several criteria of one model share it."""
    read_card(folder)  # says what is wrong with a folder that is no model's
    return _opened(folder.resolve(), device, model_fingerprint(folder))


def model_fingerprint(folder: Path) -> str:
    """Twelve hex digits over card, weights and backbone; logs and texts about the model do not count."""
    parts = [f"{path.name} {fingerprint(path)}" for path in sorted(folder.iterdir()) if path.name not in _ASIDE]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


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
    if not math.isfinite(given.value):
        return Unscored("the model gave no finite number")
    return Scored(float(given.value), None if given.sigma is None else float(given.sigma))


def _raters(card: ModelCard) -> str:
    return "simulated raters" if card.simulated else "the raters"
