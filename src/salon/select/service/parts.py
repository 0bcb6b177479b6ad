"""What a scoring model is made of: scorers of pictures, and trained models (`trained`).

A part takes pictures that are decoded already, each with its prompt, and gives a number or the reason why there is none
for each of its criteria.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from scipy.special import expit

from salon.errors import BadValue
from salon.judge.scorers.picture import PictureScorer, Result, Scored, Shown, Unscored
from salon.models.encoder import Vectors
from salon.study.noun import Noun
from salon.study.prompt import Prompt
from salon.study.scorer import ScorerCard


class ServedCriterion(Noun):
    """One number that a scoring model gives."""

    criterion: str
    """Id of the criterion; the scorer's name where it was made for none, or where two scorers speak of one."""
    scorer: str
    card: ScorerCard
    signature: str
    scale: str | None = None
    """Numbers with the same words here may be added as they stand."""
    flag: bool = False
    """Of a model's flag head: says what to hold back, not what is better."""


@dataclass(frozen=True)
class Opened:
    """A decoded picture and what it was made for."""

    image: Any
    sha256: str
    prompt: Prompt | None
    width: int = 0
    height: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Looked:
    """What a model says of one picture with its prompt."""

    results: Mapping[str, Result]
    """By criterion."""
    vectors: Mapping[str, Mapping[str, Vectors]] = field(default_factory=dict, repr=False)
    """Of models of heads, by the model's name: one row for each part of the picture."""
    picture: Opened | None = None
    """Without its pixels."""


class Part(Protocol):
    """A scorer or a trained model inside a scoring model."""

    criteria: tuple[ServedCriterion, ...]

    def look(self, opened: Sequence[Opened]) -> list[Looked]:
        """Numbers for each picture; those of others do not depend on it."""
        ...

    def chance(self, criterion: str, a: Looked, b: Looked, prompt: Prompt | None) -> float | str:
        """The chance that the first picture is preferred, or why there is none."""
        ...


def text_for(card: ScorerCard, prompt: Prompt | None) -> str | Unscored:
    """What a scorer reads of a prompt, or why it cannot."""
    if card.reads == "image":
        return ""
    if prompt is None:
        return Unscored("no prompt was sent, and the scorer reads one")
    try:
        return prompt.view(card.view)
    except BadValue as error:
        return Unscored(f"{error.needed}: {error.found}")


class ScorerPart:
    """Any scorer of pictures."""

    def __init__(self, scorer: PictureScorer) -> None:
        self.scorer = scorer
        signature = str(scorer.signature)
        id = scorer.card.criterion or scorer.name
        served = ServedCriterion(criterion=id, scorer=scorer.name, card=scorer.card, signature=signature)
        self.criteria: tuple[ServedCriterion, ...] = (served,)

    def look(self, opened: Sequence[Opened]) -> list[Looked]:
        """Numbers for each picture."""
        texts = [text_for(self.scorer.card, one.prompt) for one in opened]
        shown = [
            Shown(one.image, one.prompt, text, Path(one.sha256), one.sha256)
            for one, text in zip(opened, texts)
            if isinstance(text, str)
        ]
        found = iter(self.scorer.look(shown))
        id = self.criteria[0].criterion
        return [Looked({id: next(found) if isinstance(text, str) else text}) for text in texts]

    def chance(self, criterion: str, a: Looked, b: Looked, prompt: Prompt | None) -> float | str:
        """The logistic function of the difference, for scorers whose numbers are logits."""
        card = self.scorer.card
        if not card.is_logit:
            return f"{self.scorer.name} gives numbers whose differences are no log-odds"
        left, right = a.results[criterion], b.results[criterion]
        if not isinstance(left, Scored) or not isinstance(right, Scored):
            return "a picture has no value"
        return float(expit((left.value - right.value) * (1 if card.higher_is_better else -1)))
