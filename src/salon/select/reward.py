"""A reward: pictures and prompts in, one number each out, higher being better.

    reward = Reward({"taste/mood": mood, "words": words}, weights={"taste/mood": 3, "words": 1}, reference=frozen)
    reward(pictures, prompts)          [0.31, None, -1.2]
    reward.judged(pictures, prompts)   the same with what each criterion added, for logs

Of a picture with scores x_d under the criteria d, of weights w_d (see `weights`) and frozen levels m_d, s_d:

    r = sum_d (w_d / sum w) clip(sign_d (x_d - m_d) / s_d)

Nothing in it depends on the other pictures of a call: no statistics of a batch, no running mean. Scorers are asked
about one picture at a time unless told otherwise, since networks round differently in company.
So the same picture with the same prompt has bit for bit the same reward, however pictures are dealt to processes.

A picture without a score under a criterion that counts has no reward: None, with the reason. Weights are not shared out
among the rest, since that would be another reward. A criterion of weight 0 is reported and decides nothing.

Calls may come from several threads; scorers are asked by one at a time. What a scorer raises is raised here, with a
note whose it is.
"""

from __future__ import annotations

import hashlib
import math
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue
from salon.select.reference import ScoreReference
from salon.select.reward_pictures import each_picture, picture_item
from salon.select.weights import Blend, blend, read_weights, score_column
from salon.study import Item, Prompt, Scorer, Signature
from salon.study.scorer import ScorerCard

Text = str | Prompt | None
"""A prompt as callers have it."""
_AT_ONCE = 64
"""Pictures that lie as files at the same time."""


@dataclass(frozen=True)
class Judged:
    """Rewards of one call, with what they are made of; every list has one entry for each picture."""

    rewards: list[float | None]
    parts: dict[str, list[float | None]]
    """By criterion, what it added to the reward: its share times its clipped score in units of the reference."""
    scores: dict[str, list[float | None]]
    """By criterion, the scorer's own number."""
    reasons: list[str | None]
    """Why there is no reward."""

    @property
    def missing(self) -> int:
        """Pictures without a reward."""
        return sum(value is None for value in self.rewards)


class Reward:
    """One reward of one or several criteria; `scorers` by criterion, any that follow `salon.study.Scorer`."""

    def __init__(
        self,
        scorers: Scorer | Mapping[str, Scorer],
        *,
        weights: str | Mapping[str, float] | None = None,
        reference: ScoreReference | None = None,
        clip: float | None = None,
        equal: bool = False,
        alone: bool = True,
        name: str = "salon",
    ) -> None:
        """`clip` bounds each criterion's score, in standard deviations of the reference; `equal` declares that all
        criteria are on one scale and are added as they stand. Several criteria need one of a reference or `equal`.
        `alone` asks scorers about one picture at a time; without it networks look at many together."""
        self.scorers = dict(scorers) if isinstance(scorers, Mapping) else {criterion_of(scorers): scorers}
        if not self.scorers:
            raise BadValue("at least one scorer is needed for a reward", found="none")
        self.columns = [score_column(scorer, id) for id, scorer in self.scorers.items()]
        self.blend: Blend = blend(
            self.columns, read_weights(weights, list(self.scorers)), reference=reference, equal=equal
        )
        self.clip = _clip(clip, reference)
        self.name = self.__name__ = name
        self.alone, self._lock = alone, threading.Lock()
        self.signature = self._signature()

    def __call__(self, pictures: Any, prompts: Sequence[Text] | None = None) -> list[float | None]:
        """One number for each picture, None where it could not be scored."""
        return self.judged(pictures, prompts).rewards

    def judged(self, pictures: Any, prompts: Sequence[Text] | None = None) -> Judged:
        """Rewards with what each criterion added, and why a picture has none."""
        given = each_picture(pictures)
        texts = _prompts(prompts, len(given))
        values = np.full((len(given), len(self.scorers)), np.nan)
        reasons: list[str | None] = [None] * len(given)
        for start in range(0, len(given), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            values[part], reasons[part] = self._scored(given[part], texts[part], start)
        parts = self._parts(values)
        totals = [math.fsum(row) for row in parts]  # the same sum whatever the order of the criteria
        rewards = [None if math.isnan(total) else total for total in totals]
        told = [None if r is not None else (why or "a scorer gave no number") for r, why in zip(rewards, reasons)]
        return Judged(rewards, _by(self.scorers, parts), _by(self.scorers, values), told)

    def _scored(
        self, pictures: list[Any], prompts: list[Prompt | None], start: int
    ) -> tuple[NDArray[np.float64], list[str | None]]:
        """(pictures, criteria) the scorers' own numbers, NaN where there is none, and why."""
        values = np.full((len(pictures), len(self.scorers)), np.nan)
        reasons: list[str | None] = [None] * len(pictures)
        with tempfile.TemporaryDirectory(prefix="salon-") as folder:
            found = [picture_item(one, Path(folder) / str(n), start + n) for n, one in enumerate(pictures)]
            able = [n for n, one in enumerate(found) if isinstance(one, Item)]
            items, texts = [found[n] for n in able], [prompts[n] for n in able]
            for column, (id, scorer) in enumerate(self.scorers.items() if able else ()):
                for n, (value, why) in zip(able, self._asked(id, scorer, items, texts), strict=True):
                    values[n, column] = math.nan if value is None else value
                    if why is not None and self.blend.terms[column].share > 0:
                        reasons[n] = reasons[n] or f"{id}: {why}"
        for n, one in enumerate(found):
            reasons[n] = one if isinstance(one, str) else reasons[n]
        return values, reasons

    def _asked(
        self, id: str, scorer: Scorer, items: list[Any], prompts: list[Prompt | None]
    ) -> list[tuple[float | None, str | None]]:
        """Number and, where there is none, the reason, as far as the scorer gives one."""
        try:
            with self._lock:
                found = _looked(scorer, items, prompts, 1 if self.alone else len(items))
        except Exception as error:  # as it was raised, and with whose it is: nothing is scored in its place
            error.add_note(f"raised by the scorer {scorer.name!r} of {id!r}, asked about {len(items)} pictures")
            raise
        if len(found) != len(items):
            raise BadValue(
                "a scorer gives one number for each picture",
                found=f"{len(found)} for {len(items)}",
                where=f"scorer {scorer.name!r} of {id!r}",
            )
        return [_read(one) for one in found]

    def _parts(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(pictures, criteria) what each criterion adds; NaN where one that counts has no number."""
        added = self.blend.contributions(values)
        if self.clip is not None:
            most = self.clip * np.array([term.share for term in self.blend.terms])
            added = np.clip(added, -most, most)
        return added

    def _signature(self) -> Signature:
        told = "\n".join(f"{id} {scorer.signature}" for id, scorer in self.scorers.items())
        settings: dict[str, Any] = {
            "weights": ",".join(f"{id}={share:g}" for id, share in self.blend.shares.items()),
            "scorers": hashlib.sha256(told.encode()).hexdigest()[:12],
            "reference": self.blend.reference,
            "clip": self.clip,
            "alone": self.alone,
        }
        return Signature(method="reward", settings=settings)


def _looked(scorer: Scorer, items: list[Any], prompts: list[Prompt | None], together: int) -> list[Any]:
    """What a scorer says, asked about `together` items at a time; with reasons where it gives them."""
    ask = getattr(scorer, "results", None) or scorer.score
    starts = range(0, len(items), together)
    return [one for n in starts for one in ask(items[n : n + together], prompts[n : n + together])]


def text_prompt(text: str) -> Prompt:
    """A prompt of which only the text is known: it is all of it, and the client's sentence too."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Prompt(id=digest, text=text, intent=text)


def criterion_of(scorer: Scorer) -> str:
    """What a scorer's numbers are called where several are weighed: its criterion, or its own name."""
    return getattr(scorer, "card", ScorerCard()).criterion or scorer.name


def _clip(clip: float | None, reference: ScoreReference | None) -> float | None:
    if clip is None:
        return None
    if reference is None:
        raise BadValue(
            "clipping is in standard deviations of a reference", found=f"clip {clip:g} and no reference",
            remedy="make one with salon select reference",
        )  # fmt: skip
    if not (math.isfinite(clip) and clip > 0):
        raise BadValue("clipping needs a number above 0", found=clip)
    return float(clip)


def _prompts(prompts: Sequence[Text] | None, count: int) -> list[Prompt | None]:
    if prompts is None:
        return [None] * count
    if isinstance(prompts, str) or len(prompts) != count:
        found = "one text" if isinstance(prompts, str) else f"{len(prompts)} prompts for {count} pictures"
        raise BadValue("one prompt for each picture is needed", found=found, remedy="a list of the same length")
    return [_prompt(one, number) for number, one in enumerate(prompts)]


def _prompt(one: Any, number: int) -> Prompt | None:
    if one is None or isinstance(one, Prompt):
        return one
    if not isinstance(one, str):
        raise BadValue(
            "a prompt is a text, a salon.Prompt or None", found=type(one).__name__, where=f"prompt {number}",
            remedy="the adapters take texts out of conversations",
        )  # fmt: skip
    return text_prompt(one)


def _read(found: Any) -> tuple[float | None, str | None]:
    """What a scorer said of one picture: a number, a result with value or reason, or nothing."""
    reason = getattr(found, "reason", None)
    value = None if reason is not None else getattr(found, "value", found)
    if value is None:
        return None, reason or "the scorer gave no number"
    if not math.isfinite(value):
        return None, f"the scorer gave {value}"
    return float(value), None


def _by(criteria: Mapping[str, Scorer], table: NDArray[np.float64]) -> dict[str, list[float | None]]:
    return {
        id: [None if math.isnan(value) else value for value in column] for id, column in zip(criteria, table.T.tolist())
    }
