"""A one-pass scorer as a scorer: one for each criterion that it knows, all of them from one greedy answer.

What it said of a picture is remembered while the process lives, so the second criterion costs nothing. An answer that
cannot be read, or leaves its scale, gives no number: the reason stands in its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from salon.judge.one_pass import OnePass, OnePassAnswer
from salon.judge.scorers.of_model import known_criterion, scores_name
from salon.judge.scorers.picture import PictureScorer, Result, Scored, Shown, Unscored
from salon.models.one_pass import CARD, OnePassCard, greedy_answers, read_one_pass_card
from salon.models.preference import Criterionwise
from salon.models.vlm import LoadedVlm, TooLong
from salon.models.weights import model_fingerprint
from salon.store.pictures import within
from salon.study.scorer import ScorerCard
from salon.study.signature import Signature


def one_pass_scorer(
    folder: Path, criterion: str | None = None, *, device: str | None = None, batch: int = 8
) -> PictureScorer:
    """The scorer that the model in `folder` is for `criterion`, which may be left out where it knows only one."""
    reader = opened(folder, device)
    known = known_criterion(reader.card, criterion, where=str(folder))
    place = reader.form.ids.index(known.id)

    def look(shown: Sequence[Shown]) -> list[Result]:
        return [_result(answer, place) for answer in reader.answers(shown)]

    signature = Signature(
        method="one-pass", data=reader.weights, settings={"model": reader.card.name, "criterion": known.id}
    )
    return PictureScorer(scores_name(reader.card, known.id), _card(reader.card, known), signature, look, batch=batch)


class Reader:
    """A loaded one-pass scorer that remembers what it said."""

    def __init__(self, folder: Path, device: str | None, weights: str) -> None:
        self.card, self.weights = read_one_pass_card(folder), weights
        self.form = OnePass.parse(self.card.asked, where=str(folder / CARD))
        self.vlm = LoadedVlm(folder, device=device or "auto")
        self.passes = 0
        """Pictures that were looked at."""
        self._known: dict[str, OnePassAnswer] = {}

    def answers(self, shown: Sequence[Shown]) -> list[OnePassAnswer]:
        """What it says of pictures; each is looked at once under one question."""
        keys = [self._key(one) for one in shown]
        fresh = {key: one for key, one in zip(keys, shown) if key not in self._known}
        new = list(fresh.values())
        if new:
            for key, text in zip(fresh, self._said(new)):
                self._known[key] = OnePassAnswer(None, "too long") if text is None else self.form.read(text)
            self.passes += len(new)
        return [self._known[key] for key in keys]

    def _said(self, shown: Sequence[Shown]) -> list[str | None]:
        asked = [(within(one.image, self.card.pixels), self._question(one)) for one in shown]
        try:
            return list(
                greedy_answers(
                    self.vlm, len(asked), lambda n: asked[n], max_tokens=self.card.max_tokens, batch=len(asked)
                )
            )
        except TooLong as error:
            left = [number for number in range(len(shown)) if number not in error.rows]
            told: list[str | None] = [None] * len(shown)
            for number, text in zip(left, self._said([shown[number] for number in left]) if left else []):
                told[number] = text
            return told

    def _question(self, one: Shown) -> str:
        return self.form.question(one.text if self.card.show_prompt else None)

    def _key(self, one: Shown) -> str:
        return f"{one.sha256} {hashlib.sha256(self._question(one).encode()).hexdigest()}"


def opened(folder: Path, device: str | None = None) -> Reader:
    """The scorer in a folder; all its criteria share it."""
    read_one_pass_card(folder)  # says what is wrong with a folder that holds none
    return _opened(folder.resolve(), device, model_fingerprint(folder))


@cache
def _opened(folder: Path, device: str | None, weights: str) -> Reader:
    return Reader(folder, device, weights)


def _card(card: OnePassCard, known: Criterionwise) -> ScorerCard:
    source = "simulated answers" if card.simulated else f"the answers of {card.labels.get('judge') or 'a VLM'}"
    return ScorerCard(
        reads="image and prompt" if card.show_prompt else "image",
        higher_is_better=known.higher_is_better,
        low=card.labels.get("low"),
        high=card.labels.get("high"),
        source=str(card.signature),
        measures=f"{known.name}, distilled from {source} about {card.study}.",
        criterion=known.id,
    )


def _result(answer: OnePassAnswer, place: int) -> Result:
    if answer.scores is None:
        return Unscored(f"the answer gives no score: {answer.problem}")
    return Scored(answer.scores[place])
