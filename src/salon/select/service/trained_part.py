"""A trained model inside a scoring model: all its criteria share one look at a picture."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.special import expit

from salon.judge import (
    PictureScore,
    ScoreResult,
    finite_score,
    known_criterion,
    scores_name,
    served_card,
    trained_signature,
)
from salon.models import HeadsModel, RewardModel, Vectors, known_criteria, load_model, model_fingerprint, picture_parts
from salon.select.service.model import DecodedPicture, ModelAnswer, ServedCriterion, scorer_text
from salon.study import Prompt

_MOST_TEXTS = 2048
"""Prompts whose vectors are remembered."""


class TrainedPart:
    """All criteria of a trained model, or those wanted."""

    def __init__(self, folder: Path, *, device: str | None = None, criteria: Sequence[str] = ()) -> None:
        self.model = load_model(folder, device=device)
        card, weights = self.model.card, model_fingerprint(folder)
        self.name = card.name
        scale = f"logits of {card.name} {weights}" if card.is_logit else None
        chosen = [known_criterion(card, id, where=str(folder)) for id in criteria] or known_criteria(card)
        self.criteria = tuple(
            ServedCriterion(
                criterion=entry.id,
                scorer=scores_name(card, entry.id),
                card=served_card(card, entry),
                signature=str(trained_signature(card, entry.id, weights)),
                scale=None if entry.id == card.flag else scale,
                flag=entry.id == card.flag,
            )
            for entry in chosen
        )
        self._texts: OrderedDict[str, Vectors] = OrderedDict()

    def look(self, opened: Sequence[DecodedPicture]) -> list[ModelAnswer]:
        """Numbers for each picture: one look for all criteria where the model is of heads."""
        if isinstance(self.model, HeadsModel):
            return self._heads(self.model, opened)
        results_by_picture: list[dict[str, ScoreResult]] = [{} for _ in opened]
        for criterion in self.criteria:
            for place, result in enumerate(self._reward(criterion, opened)):
                results_by_picture[place][criterion.criterion] = result
        return [ModelAnswer(results) for results in results_by_picture]

    def _reward(self, criterion: ServedCriterion, opened: Sequence[DecodedPicture]) -> list[ScoreResult]:
        texts = [scorer_text(criterion.card, picture.prompt) for picture in opened]
        able = [place for place, text in enumerate(texts) if isinstance(text, str)]
        images = [opened[place].image for place in able]
        values = iter(
            self.model.scores(images, [str(texts[place]) for place in able], criterion.criterion) if able else ()
        )
        return [finite_score(*next(values)) if isinstance(text, str) else text for text in texts]

    def _heads(self, model: HeadsModel, opened: Sequence[DecodedPicture]) -> list[ModelAnswer]:
        parts = [part.name for part in model.network.shape.parts]
        rows = picture_parts(model.encoder, [entry.image for entry in opened], parts)
        results_by_picture: list[dict[str, ScoreResult]] = [{} for _ in opened]
        for entry in self.criteria:
            texts = [scorer_text(entry.card, picture.prompt) for picture in opened]
            able = [place for place, text in enumerate(texts) if isinstance(text, str)]
            prompts = [str(texts[place]) for place in able]
            values = self._head(model, entry.criterion, {part: rows[part][able] for part in parts}, prompts)
            for place, text in enumerate(texts):
                results_by_picture[place][entry.criterion] = (
                    finite_score(next(values)) if isinstance(text, str) else text
                )
        vectors = [{self.name: {part: rows[part][place] for part in parts}} for place in range(len(opened))]
        return [ModelAnswer(results, picture_vectors) for results, picture_vectors in zip(results_by_picture, vectors)]

    def _head(
        self, model: HeadsModel, criterion: str, rows: Mapping[str, Vectors], texts: Sequence[str]
    ) -> Iterator[float]:
        if not texts:
            return iter(())
        return iter(model.vector_scores(rows, self._words(model, texts, criterion), criterion).tolist())

    def _words(self, model: HeadsModel, texts: Sequence[str], criterion: str) -> Vectors:
        """The vectors of texts; those asked for lately are remembered."""
        conditioned = model.conditioned(texts, criterion)
        new = [text for text in dict.fromkeys(conditioned) if text not in self._texts]
        if new:
            self._texts.update(zip(new, model.encoder.texts(new)))
        rows = np.stack([self._texts[text] for text in conditioned])
        while len(self._texts) > _MOST_TEXTS:
            self._texts.popitem(last=False)
        return rows

    def chance(self, criterion: str, a: ModelAnswer, b: ModelAnswer, prompt: Prompt | None) -> float | str:
        """By the model itself: heads read both pictures, in both orders; a reward model follows its law."""
        entry = next(line for line in self.criteria if line.criterion == criterion)
        if not entry.card.is_logit:
            return f"{entry.scorer} gives numbers whose differences are no log-odds"
        left, right = a.results[criterion], b.results[criterion]
        if not isinstance(left, PictureScore) or not isinstance(right, PictureScore):
            return "a picture has no value"
        if isinstance(self.model, HeadsModel):
            return self._between(self.model, criterion, a, b, str(scorer_text(entry.card, prompt)))
        if isinstance(self.model, RewardModel):
            qualities = [(np.array([entry.value]), np.array([entry.sigma], float)) for entry in (left, right)]
            logit = self.model.logits_between(qualities[0], qualities[1])
            return float(expit(logit[0]))
        return float(expit(left.value - right.value))

    def _between(self, model: HeadsModel, criterion: str, a: ModelAnswer, b: ModelAnswer, text: str) -> float:
        """Pairwise heads may favor a place: the mean of both orders favors none."""
        first, second = ({part: row[None] for part, row in answer.vectors[self.name].items()} for answer in (a, b))
        words = self._words(model, [text], criterion)
        there = model.vector_logits(first, second, words, criterion)[0]
        back = model.vector_logits(second, first, words, criterion)[0]
        return float(expit((there - back) / 2))
