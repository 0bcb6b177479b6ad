"""A trained preference model as a judge: asked about pairs in both orders, under the same protocol as every other.

It reads the picture and the parts of the prompt it was trained on, not the words of the question. Its answer is the
sign of its log-odds, and the chances of A and B are theirs. Where they are exactly even it says TIE, or, if that is not
on the menu, names the first picture in both orders, which the protocol reads as a tie.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from salon.errors import BadFile, BadValue
from salon.judge.scorers.of_model import known_criterion
from salon.judge.scorers.trained import logits_of, opened
from salon.judge.vlm import Conversation, NoReply, Reply
from salon.models.kept import Kept
from salon.store.pictures import read_picture
from salon.study import Study
from salon.study.signature import Signature

_AT_ONCE = 64
"""Questions looked at together."""


class _Asked(NamedTuple):
    """A question about a pair on one criterion."""

    first: Path
    second: Path
    text: str
    criterion: str


class TrainedJudge:
    """The model in `folder`, asked about the items of `study`."""

    def __init__(
        self, name: str, folder: Path, study: Study, *, device: str | None = None, kept: Kept | None = None
    ) -> None:
        self.name, self._folder = name, folder
        self._model, weights = opened(folder, device)
        card = self._model.card
        settings = {"model": card.name, "backbone": card.backbone_name}
        self.signature = Signature(method=f"trained-{card.kind}", data=weights, settings=settings)
        prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
        self._prompts = {item.id: prompts.get(item.prompt or "") for item in study.nouns("items")}
        self._kept = kept or Kept()
        self._broken, self._sha = cache(_broken), cache(_sha)

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, answer), some at a time."""
        rest = enumerate(conversations)
        while part := list(islice(rest, _AT_ONCE)):
            failed = {index: why for index, one in part if (why := self._failed(one)) is not None}
            yield from failed.items()
            yield from self._answers([pair for pair in part if pair[0] not in failed])

    def _answers(self, part: Sequence[tuple[int, Conversation]]) -> Iterator[tuple[int, Reply]]:
        asked = [[self._asked(one, criterion) for criterion in one.about] for _, one in part]
        known = self._logits([question for some in asked for question in some])
        for (index, one), questions in zip(part, asked):
            logits = [known[question] for question in questions]
            yield index, _reply(one, [logit for logit, _ in logits], stored=all(stored for _, stored in logits))

    def _asked(self, one: Conversation, criterion: str) -> _Asked:
        if len(one.sights) != 2 or not one.options:
            raise BadValue(
                "a trained model compares two pictures",
                found="a question about one picture",
                remedy="--protocol compare; salon score STUDY --model gives the numbers of single pictures",
            )
        known = known_criterion(self._model.card, criterion, where=str(self._folder))
        first, second = (self._prompts[sight.item] for sight in one.sights)
        text = first.view(known.view) if first is not None and first == second else ""
        return _Asked(one.sights[0].path, one.sights[1].path, text, known.id)

    def _logits(self, asked: Sequence[_Asked]) -> dict[_Asked, tuple[float, bool]]:
        """The log-odds of the first picture, and whether they were known from an earlier run."""
        keys = {one: self._key(one) for one in asked}
        there = self._kept.many(set(keys.values()))
        found = {one: (float(there[key]), True) for one, key in keys.items() if key in there}
        for criterion in dict.fromkeys(one.criterion for one in keys):
            fresh = [one for one in keys if one.criterion == criterion and one not in found]
            if fresh:
                first, second, texts, _ = zip(*fresh)
                logits = logits_of(self._model, first, second, texts, criterion)
                found |= {one: (float(logit), False) for one, logit in zip(fresh, logits, strict=True)}
                self._kept.keep({keys[one]: float(x) for one, x in zip(fresh, logits) if np.isfinite(x)})
        return found

    def _key(self, one: _Asked) -> str:
        told = json.dumps([self._sha(one.first), self._sha(one.second), one.text, one.criterion])
        return f"{self.signature}|pair|{hashlib.sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()}"

    def _failed(self, one: Conversation) -> NoReply | None:
        why = next((why for sight in one.sights if (why := self._broken(sight.path)) is not None), None)
        return None if why is None else NoReply(kind="broken-image", reason=why)


def _reply(one: Conversation, logits: Sequence[float], *, stored: bool) -> Reply:
    verdicts = [_verdict(logit, one.options) for logit in logits]
    if len(one.about) > 1:
        return Reply(text=json.dumps(dict(zip(one.about, verdicts, strict=True))), model="trained", stored=stored)
    chances = {"A": -float(np.logaddexp(0, -logits[0])), "B": -float(np.logaddexp(0, logits[0]))}
    return Reply(text=json.dumps({"verdict": verdicts[0]}), chances=chances, model="trained", stored=stored)


def _verdict(logit: float, options: Sequence[str]) -> str:
    if logit == 0 and "TIE" in options:
        return "TIE"
    return "A" if logit >= 0 else "B"


def _broken(path: Path) -> str | None:
    try:
        read_picture(path)
    except BadFile as error:
        return f"{error.needed}: {error.found}"
    return None


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
