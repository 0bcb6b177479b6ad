"""A one-pass scorer as a scorer: one for each criterion that it knows, all of them from one greedy answer.

What it said of the last pictures is remembered, so the second criterion costs nothing. The VLM is in memory once, and
leaves with the last scorer made of it. An answer that cannot be read, or leaves its scale, gives no number: the reason
stands in its place.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from weakref import WeakValueDictionary

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

UNREAD = "the answer gives no score"
NO_REPLY = "no reply"
"""How the problem of a question begins that a server left open."""
_MOST_ANSWERS = 1 << 16
"""Answers remembered, some 30 MB: a service that runs for a year is asked about more pictures than memory holds."""
_IN_MEMORY: WeakValueDictionary[tuple[Path, str | None, str], Reader] = WeakValueDictionary()


def one_pass_scorer(
    folder: Path, criterion: str | None = None, *, device: str | None = None, batch: int = 8
) -> PictureScorer:
    """The scorer that the model in `folder` is for `criterion`, which may be left out where it knows only one."""
    reader = opened(folder, device)
    known = known_criterion(reader.card, criterion, where=str(folder))
    place = reader.form.ids.index(known.id)

    def look(shown: Sequence[Shown]) -> list[Result]:
        return [result_of(answer, place) for answer in reader.answers(shown)]

    signature = Signature(
        method="one-pass", data=reader.weights, settings={"model": reader.card.name, "criterion": known.id}
    )
    return PictureScorer(scores_name(reader.card, known.id), _card(reader.card, known), signature, look, batch=batch)


class Answers:
    """What a VLM said to one question about pictures, remembered."""

    def __init__(self, form: OnePass, *, show_prompt: bool) -> None:
        self.form, self.show_prompt = form, show_prompt
        self.passes = 0
        """Pictures that were looked at."""
        self.unread = ""
        """The first answer that could not be read, to be quoted."""
        self._known: OrderedDict[bytes, OnePassAnswer] = OrderedDict()
        self._turn = threading.Lock()  # two models of a service may share one VLM, each on a thread of its own

    def answers(self, shown: Sequence[Shown]) -> list[OnePassAnswer]:
        """What it says of pictures; each is looked at once under one question."""
        keys = [self._key(one) for one in shown]
        with self._turn:
            told = {key: self._known[key] for key in keys if key in self._known}
            fresh = {key: one for key, one in zip(keys, shown) if key not in told}
            if fresh:
                said = self._said(list(fresh.values()))
                told |= {key: self._read(text) for key, text in zip(fresh, said)}
                self.passes += len(fresh)
            self._remember(told)
        return [told[key] for key in keys]

    def _said(self, shown: Sequence[Shown]) -> list[str | OnePassAnswer]:
        """The text about each picture, or why there is none."""
        raise NotImplementedError

    def _read(self, said: str | OnePassAnswer) -> OnePassAnswer:
        if isinstance(said, OnePassAnswer):
            return said
        read = self.form.read(said)
        self.unread = self.unread or ("" if read.scores else said)
        return read

    def _remember(self, told: dict[bytes, OnePassAnswer]) -> None:
        """What was asked for now is the last to be forgotten."""
        for key, answer in told.items():
            if not (answer.problem or "").startswith(NO_REPLY):  # asked again when it is wanted again
                self._known[key] = answer
                self._known.move_to_end(key)
        while len(self._known) > _MOST_ANSWERS:
            self._known.popitem(last=False)

    def question(self, one: Shown) -> str:
        """The text that goes with a picture."""
        return self.form.question(one.text if self.show_prompt else None)

    def _key(self, one: Shown) -> bytes:
        return hashlib.sha256(f"{one.sha256} {self.question(one)}".encode()).digest()


class FolderAnswers(Answers):
    """Those of a VLM in this process, greedy."""

    def __init__(
        self, folder: Path, device: str | None, form: OnePass, *, show_prompt: bool, pixels: int, max_tokens: int
    ) -> None:
        super().__init__(form, show_prompt=show_prompt)
        self.pixels, self.max_tokens = pixels, max_tokens
        self._folder, self._device = folder, device or "auto"

    @cached_property
    def vlm(self) -> LoadedVlm:
        """Loaded when the first picture comes, so that several are in memory one after the other."""
        return LoadedVlm(self._folder, device=self._device)

    def _said(self, shown: Sequence[Shown]) -> list[str | OnePassAnswer]:
        asked = [(within(one.image, self.pixels), self.question(one)) for one in shown]
        try:
            return list(
                greedy_answers(self.vlm, len(asked), lambda n: asked[n], max_tokens=self.max_tokens, batch=len(asked))
            )
        except TooLong as error:
            left = [number for number in range(len(shown)) if number not in error.rows]
            told: list[str | OnePassAnswer] = [OnePassAnswer(None, "too long")] * len(shown)
            for number, text in zip(left, self._said([shown[number] for number in left]) if left else []):
                told[number] = text
            return told


class Reader(FolderAnswers):
    """A loaded one-pass scorer, asked as its card says."""

    def __init__(self, folder: Path, device: str | None, weights: str) -> None:
        card = read_one_pass_card(folder)
        self.card, self.weights = card, weights
        form = OnePass.parse(card.asked, where=str(folder / CARD))
        super().__init__(
            folder, device, form, show_prompt=card.show_prompt, pixels=card.pixels, max_tokens=card.max_tokens
        )


def opened(folder: Path, device: str | None = None) -> Reader:
    """The scorer in a folder; all its criteria share it."""
    read_one_pass_card(folder)  # says what is wrong with a folder that holds none
    return _opened(folder.resolve(), device, model_fingerprint(folder))


@lru_cache(maxsize=1)  # the last one stays, for whoever makes a scorer, uses it and makes the next
def _opened(folder: Path, device: str | None, weights: str) -> Reader:
    asked = folder, device, weights
    found = _IN_MEMORY.get(asked)
    if found is None:
        found = _IN_MEMORY[asked] = Reader(folder, device, weights)
    return found


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


def result_of(answer: OnePassAnswer, place: int) -> Result:
    """The score under the criterion at `place`, or why there is none."""
    if answer.scores is None:
        return Unscored(f"{UNREAD}: {answer.problem}")
    return Scored(answer.scores[place])
