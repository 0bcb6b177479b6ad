"""What a one-pass scorer learns from, and how far it has come: looks at the validation items, and the state to keep.

A look asks for greedy scores of the validation items and compares them with the labels.

SRCC      Mean over criteria of Spearman's correlation with the labels' values. An unreadable answer counts as the mean
          of the readable ones: it earns nothing, and leaving it out would reward silence. Scores that are all equal
          have the correlation 0. With labels of pairs alone: the share of pairs in the right order less the share in
          the wrong one.
interval  Resamples prompts (items, where no prompt has several), the same draws for every look. So the standard error
          of a difference between two looks comes from draws of that difference.
choice    The latest look whose SRCC is within one standard error of the highest. The highest of several noisy numbers
          is partly luck; among looks that the items cannot distinguish, the one that has trained longest is better on
          average (prove/distill_choice.py). Only one state has to be stored: a look replaces it when it is made.
          It needs LEAST_ITEMS items of LEAST_PROMPTS prompts; with fewer the last state is kept.
verdict   Whether the kept state reads, has a spread and is above chance: a lower bound of its SRCC is above 0, at 95%
          for all looks together (Bonferroni).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from salon.errors import BadValue, TooFew, UnknownReference
from salon.evaluate import PseudoScores
from salon.stats import BOTH_SIDES, Estimate, agreement_draws, interval
from salon.store import fit_within, read_picture, whole_file
from salon.study import Noun
from salon.train.distill_settings import Read, vote_shares


@dataclass(frozen=True)
class QuestionForm:
    """How items are asked about and how answers are read: given from outside, training knows no wording."""

    question: Callable[[str], str]
    """The text that goes with the picture of an item."""
    read: Read
    random_answer: Callable[[np.random.Generator], str]
    """An answer in the right form with scores drawn at random."""
    think: bool = False


@dataclass(frozen=True)
class OnePassData:
    """Labels, pictures and questions, split."""

    labels: PseudoScores
    pictures: Mapping[str, Path]
    asking: QuestionForm
    train: tuple[str, ...]
    validation: tuple[str, ...] = ()
    pixels: int = 1024 * 1024
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The prompt of each item that has one: items of one prompt are no independent evidence."""

    def __post_init__(self) -> None:
        labeled = set(self.labels.items)
        for item in (*self.train, *self.validation):
            if item not in labeled or item not in self.pictures:
                what = "label" if item not in labeled else "picture"
                raise UnknownReference(f"every item to learn from needs a {what}", found=repr(item))
        both = set(self.train) & set(self.validation)
        if both:
            raise BadValue("an item is trained on or validated on, not both", found=sorted(both)[0])

    def picture(self, item: str) -> Image.Image:
        """An item's picture, within the budget of pixels."""
        return self._read(item)

    @cached_property
    def _read(self) -> Callable[[str], Image.Image]:
        return lru_cache(256)(lambda item: fit_within(read_picture(self.pictures[item]).image, self.pixels))

    def order(self, images: int, steps: int, seed: int) -> list[str]:
        """The items of all steps one after the other: every item once before any comes again, then anew.

        Each round is in a random order. With labels of pairs it is a random walk along them: two items drawn from
        thousands were hardly ever compared, and without a partner in its step an answer has no rank reward.
        """
        if len(self.train) < images:
            raise TooFew(
                f"a step of {images} images needs as many to train on",
                found=f"{len(self.train)} items with labels and pictures on the training side",
                remedy=f"--images {max(2, len(self.train))}" if len(self.train) > 1 else "label more items",
            )
        rounds = -(-images * steps // len(self.train))
        orders = [self._round(np.random.default_rng([seed, number])) for number in range(rounds)]
        return [item for order in orders for item in order][: images * steps]

    def _round(self, rng: np.random.Generator) -> list[str]:
        mixed = [self.train[place] for place in rng.permutation(len(self.train))]
        return mixed if self.labels.pairs is None else walk_pairs(mixed, self._neighbors, rng)

    @cached_property
    def _neighbors(self) -> dict[str, list[str]]:
        """With which other training items each was compared."""
        items, own = self.labels.items, set(self.train)
        near: dict[str, set[str]] = {item: set() for item in self.train}
        pairs = self.labels.pairs
        for a, b in () if pairs is None else zip(pairs.a.tolist(), pairs.b.tolist()):
            if items[a] in own and items[b] in own:
                near[items[a]].add(items[b])
                near[items[b]].add(items[a])
        return {item: sorted(neighbors) for item, neighbors in near.items()}

    def rows(self, batch: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
        """What TRL reads of items: their chat, their picture, their id."""
        items = list(batch["item"])
        return {
            "item": items,
            "prompt": [[{"role": "user", "content": self.asking.question(item)}] for item in items],
            "images": [[self.picture(item)] for item in items],
        }


def walk_pairs(items: Sequence[str], near: Mapping[str, Sequence[str]], rng: np.random.Generator) -> list[str]:
    """All items once, each next to one it was compared with where there is one left: depth first, by chance."""
    visited: dict[str, None] = {}
    for start in items:
        waiting = [start]
        while waiting:
            item = waiting.pop()
            if item not in visited:
                visited[item] = None
                open_ = [neighbor for neighbor in near[item] if neighbor not in visited]
                waiting += [open_[place] for place in rng.permutation(len(open_))]
    return list(visited)


# -- looks at the validation items -------------------------------------------------------------------------------------

Floats = NDArray[np.float64]
BEST, STEP, LOOKS = "best", "step.txt", "looks.json"
LEAST_ITEMS, LEAST_PROMPTS = 30, 5
"""Fewer validation items say too little to choose a state by."""
DRAWS, LEVEL = 1000, 0.95
LEAST_READ = 0.5
"""A scorer that leaves more pictures than this without a number is broken."""

Outcome = Literal["learned", "fell back", "unknown", "chance", "constant", "unreadable"]
BROKEN = frozenset[Outcome]({"chance", "constant", "unreadable"})


class ValidationLook(Noun):
    """Greedy one-pass scores of the validation items against their labels."""

    step: int = Field(description="Steps trained before; 0: the model as it began.")
    srcc: float = Field(description="Mean over criteria of Spearman's correlation with the labels.")
    low: float | None = Field(description="Lower end of its interval at 95%, over other prompts; none without spread.")
    high: float | None = Field(description="Upper end.")
    by_criterion: dict[str, float] = Field(description="SRCC by criterion.")
    images: int = Field(description="Validation items that were asked about.")
    read: int = Field(description="Answers with scores on their scale.")
    mean: float | None = Field(description="Mean of the scores that were read.")
    sd: float | None = Field(description="Standard deviation between items, mean over criteria.")
    levels: int = Field(description="Different scores, of the criterion with the most; 1: all items got the same.")
    reward: float | None = Field(description="Mean reward of the steps since the look before.")

    def figures(self) -> dict[str, float | None]:
        """For logs."""
        read = self.read / max(1, self.images)
        return {"srcc": self.srcc, "low": self.low, "high": self.high, "read": read, "mean": self.mean, "sd": self.sd}

    @property
    def fault(self) -> str | None:
        """What makes this state useless, whatever its labels are."""
        if self.read < LEAST_READ * self.images:
            return f"{self.images - self.read:,} of {self.images:,} answers could not be read"
        if self.levels <= 1 < self.images:
            return f"all {self.images:,} validation items got the same score"
        return None


class TrainingVerdict(Noun):
    """Whether the policy learned."""

    outcome: Outcome = Field(description="learned; fell back: it was lost later; unknown: too few items; or why not.")
    words: str = Field(description="The same in words.")

    @property
    def is_broken(self) -> bool:
        """Whether the kept state is not worth publishing."""
        return self.outcome in BROKEN


@dataclass(frozen=True)
class _LookAnswers:
    """The answers of a look: what is stored of it."""

    step: int
    reward: float | None
    scores: Floats
    """(items, criteria); NaN where an answer could not be read."""


class ValidationCurve:
    """All looks of a run, and which state is kept."""

    def __init__(self, data: OnePassData, items: Sequence[str], *, choose: Literal["best", "last"] = "best") -> None:
        self.data, self.items, self.seconds = data, tuple(items), 0.0
        units = [data.prompts.get(item, item) for item in items]
        names, self._unit = np.unique(np.array(units, str), return_inverse=True)
        self.units, self.unit = len(names), "item" if len(names) == len(items) else "prompt"
        self.chooses = choose == "best" and not self.too_few
        self.looks: list[ValidationLook] = []
        self.kept: int | None = None
        """The step whose weights are stored; None before the first, and where the last state is kept."""
        self._answers: list[_LookAnswers] = []
        self._draws: list[Floats] = []
        self._lost = 0
        rng = np.random.default_rng(0)  # the same items for every look and every run
        counts = rng.multinomial(self.units, np.full(self.units, 1 / self.units), size=DRAWS) if items else np.empty(0)
        self._weights = np.vstack([np.ones(len(items)), counts[:, self._unit]]) if items else np.empty((0, 0))

    @property
    def too_few(self) -> str | None:
        """Why no state can be chosen by these items."""
        if not self.items:
            return "there are no validation items"
        if len(self.items) >= LEAST_ITEMS and self.units >= LEAST_PROMPTS:
            return None
        size = f"{len(self.items):,} validation item{'s' * (len(self.items) != 1)}"
        size += f" of {self.units:,} prompt{'s' * (self.units != 1)}" if self.unit == "prompt" else ""
        return f"{size}, and at least {LEAST_ITEMS} of {LEAST_PROMPTS} prompts are needed to choose a state by"

    def add(self, step: int, answers: Sequence[str], reward: float | None) -> bool:
        """Note the answers about the items after `step`; True where this state is the one to keep from now on."""
        read = [self.data.asking.read(text).scores for text in answers]
        empty = (np.nan,) * len(self.data.labels.criteria)
        scores = np.array([answer_scores or empty for answer_scores in read], float).reshape(len(answers), len(empty))
        if any(look.step == step for look in self.looks):  # its weights are stored: a run that goes on repeats steps
            return False
        self._append(_LookAnswers(step, reward, scores))
        if step and self.chooses and self._is_near_best(len(self.looks) - 1):
            self.kept = step
            return True
        return False

    def at(self, step: int | None) -> ValidationLook | None:
        """The look after `step`."""
        return next((look for look in self.looks if look.step == step), None)

    def verdict(self, step: int) -> TrainingVerdict:
        """What the looks say about the state of `step`, which is kept."""
        look, last = self.at(step), self.looks[-1] if self.looks else None
        if look is None or last is None:
            return TrainingVerdict(
                outcome="unknown", words=f"Nothing shows whether the policy learned: {self.too_few}."
            )
        if look.fault is not None:
            return TrainingVerdict(
                outcome=("constant" if look.read >= LEAST_READ * look.images else "unreadable"),
                words=self._collapse_words(look, look.fault),
            )
        if self.too_few is not None:
            return TrainingVerdict(
                outcome="unknown", words=f"Nothing shows whether the policy learned: {self.too_few}."
            )
        number = len([trained_look for trained_look in self.looks if trained_look.step])
        low = self._interval(self.looks.index(look), 1 - 2 * (1 - LEVEL) / max(1, number)).low
        if look.srcc <= 0 or (low is not None and low <= 0):
            among = f", among {number} looks" if number > 1 and self.chooses else ""
            words = f"SRCC {_between(look)} on {look.images:,} validation items is not above chance{among}"
            return TrainingVerdict(outcome="chance", words=f"The policy did not learn: {words}.")
        fault = last.fault or (
            None
            if (last.srcc > 0 and (last.low is None or last.low > 0))
            else f"SRCC {_between(last)} is not above chance"
        )
        if last is not look and fault is not None:
            fallback = f"The state of step {step:,} is kept, SRCC {_between(look)}."
            return TrainingVerdict(outcome="fell back", words=f"{self._collapse_words(last, fault)} {fallback}")
        words = f"SRCC {_between(look)} with the labels on {look.images:,} validation items"
        return TrainingVerdict(outcome="learned", words=f"The policy learned: {words}, at step {step:,}.")

    def gain(self, step: int) -> Estimate | None:
        """SRCC of the state of `step` less that of the model as it began."""
        look, before = self.at(step), self.at(0)
        if look is None or before is None or look is before or self.units < 2:
            return None
        differences = self._draws[self.looks.index(look)] - self._draws[self.looks.index(before)]
        return interval(look.srcc - before.srcc, differences, n=self.units, unit=self.unit, level=LEVEL)

    def notes(self, step: int) -> list[str]:
        """What else is to be known about the state of `step`, which is kept."""
        best = max((look for look in self.looks if look.step), key=lambda look: look.srcc, default=None)
        notes = []
        if self.chooses and best is not None and best.step != step:
            notes.append(
                f"step {step:,} is the latest within one standard error of the highest SRCC ({_between(best)} at step "
                f"{best.step:,})"
            )
        gain = self.gain(step)
        if gain is not None and self.too_few is None and (gain.low is None or gain.low <= 0):
            ends = "" if gain.low is None else f" [{gain.low:+.2f}, {gain.high:+.2f}]"
            notes.append(f"nothing shows that SRCC is above that of the model as it began: {gain.value:+.2f}{ends}")
        constant = self._constant_criteria(step)
        notes += [f"criteria under which all validation items got the same score: {', '.join(constant)}"] * bool(
            constant
        )
        return notes

    def save(self, run: Path) -> None:
        """Write what a run that goes on needs."""
        looks = [
            {
                "step": answers.step,
                "reward": answers.reward,
                "scores": ([[None if np.isnan(value) else float(value) for value in row] for row in answers.scores]),
            }
            for answers in self._answers
        ]
        record = {"seconds": self.seconds, "items": self.items, "looks": looks}
        with whole_file(run / LOOKS) as file:
            file.write(json.dumps(record).encode())

    def load(self, record: Mapping[str, Any] | None, step: int) -> None:
        """Take the looks up to `step`, from where a run goes on, and the one whose weights are stored."""
        if record is None:
            return
        self.seconds, stored = record["seconds"], record["stored"]
        for entry in record["looks"]:
            if entry["step"] <= step or entry["step"] == stored:
                self._append(_LookAnswers(entry["step"], entry["reward"], np.array(entry["scores"], float)))
        self.kept = stored if self.at(stored) and self.chooses else None
        self._lost = 0 if self.kept is not None else max((look.step for look in self.looks), default=0)

    def _append(self, answers: _LookAnswers) -> None:
        draws, by_criterion = self._srcc(answers.scores)
        readable = answers.scores[np.isfinite(answers.scores).all(1)]
        self._answers.append(answers)
        self._draws.append(draws[1:])
        self.looks.append(
            ValidationLook(
                step=answers.step, srcc=float(draws[0]), low=None, high=None, by_criterion=by_criterion,
                images=len(answers.scores), read=len(readable), mean=float(readable.mean()) if len(readable) else None,
                sd=float(readable.std(0).mean()) if len(readable) else None,
                levels=max((len(np.unique(column)) for column in readable.T), default=0), reward=answers.reward,
            )
        )  # fmt: skip
        ends = self._interval(-1, LEVEL)
        self.looks[-1] = self.looks[-1].model_copy(update={"low": ends.low, "high": ends.high})
        order = np.argsort([look.step for look in self.looks], kind="stable")
        self.looks, self._answers, self._draws = (
            [part[place] for place in order] for part in (self.looks, self._answers, self._draws)
        )

    def _interval(self, place: int, level: float) -> Estimate:
        value, draws = self.looks[place].srcc, self._draws[place]
        if self.units < 2:
            return Estimate(value, None, None, self.units, self.unit, level, f"no interval: one {self.unit}")
        return interval(value, draws, n=self.units, unit=self.unit, level=level, within=BOTH_SIDES)

    def _is_near_best(self, place: int) -> bool:
        """Whether this look is within one standard error of the best so far."""
        trained = [n for n, look in enumerate(self.looks) if look.step > self._lost]
        best = max(trained, key=lambda n: (self.looks[n].fault is None, self.looks[n].srcc, n))
        if self.looks[place].fault is not None and self.looks[best].fault is None:
            return False
        error = float((self._draws[best] - self._draws[place]).std())
        return self.looks[place].srcc >= self.looks[best].srcc - error

    def _srcc(self, scores: Floats) -> tuple[Floats, dict[str, float]]:
        """(1 + draws,) the mean over criteria, and each criterion's on the items as they are."""
        labels = self.data.labels
        by_criterion = {
            id: self._criterion(labels, scores[:, number], number) for number, id in enumerate(labels.criteria)
        }
        defined = {id: values for id, values in by_criterion.items() if values is not None}
        if not defined:
            return np.zeros(len(self._weights)), {}
        return np.mean(list(defined.values()), axis=0), {id: float(values[0]) for id, values in defined.items()}

    def _criterion(self, labels: PseudoScores, column: Floats, number: int) -> Floats | None:
        readable = np.isfinite(column)
        if not readable.any():
            return np.zeros(len(self._weights))
        column = np.where(readable, column, column[readable].mean()).round(9)  # the mean of equal scores is that score
        place = {item: at for at, item in enumerate(labels.items)}
        codes = np.array([place[item] for item in self.items])
        if labels.pairs is not None:
            return self._pairs_in_order(labels, dict(zip(codes.tolist(), range(len(codes)))), column, number)
        target = labels.values[codes, number]
        there = np.isfinite(target)
        if there.sum() < 2:
            return None
        draws = agreement_draws(column[there], target[there], self._weights[:, there])[:, 0]
        return np.nan_to_num(draws)

    def _pairs_in_order(
        self, labels: PseudoScores, at: Mapping[int, int], column: Floats, number: int
    ) -> Floats | None:
        assert labels.pairs is not None
        lead = vote_shares(labels.pairs, len(labels.criteria))[:, number] - 0.5
        rows = [
            (at[a], at[b], np.sign(lead[row]))
            for row, (a, b) in enumerate(zip(labels.pairs.a.tolist(), labels.pairs.b.tolist()))
            if a in at and b in at and np.isfinite(lead[row]) and lead[row] != 0
        ]
        if not rows:
            return None
        first, second, sign = (np.array(part) for part in zip(*rows))
        right = sign * np.sign(column[first] - column[second])
        weight = self._weights[:, first] * self._weights[:, second]
        total = weight.sum(1)
        return np.where(total > 0, weight @ right / np.where(total > 0, total, 1), 0.0)

    def _constant_criteria(self, step: int) -> list[str]:
        """Criteria under which all items got one score, where others have a spread."""
        look = self.at(step)
        if look is None or look.fault is not None or look.images < 2:
            return []
        scores = self._answers[self.looks.index(look)].scores
        columns = [column[np.isfinite(column)] for column in scores.T]
        return [id for id, column in zip(self.data.labels.criteria, columns) if np.ptp(column) == 0]

    def _collapse_words(self, look: ValidationLook, fault: str) -> str:
        sound = [earlier.step for earlier in self.looks if earlier.step < look.step and earlier.fault is None]
        if not sound:
            return f"The policy did not learn: at step {look.step:,} {fault}."
        return f"The policy collapsed after step {max(sound):,}: at step {look.step:,} {fault}."


def read_looks(run: Path) -> dict[str, Any] | None:
    """What `ValidationCurve.save` wrote, and the step whose weights are stored; None where there is nothing."""
    if not (run / LOOKS).is_file():
        return None
    record: dict[str, Any] = json.loads((run / LOOKS).read_text())
    return record | {"stored": int((run / BEST / STEP).read_text()) if (run / BEST / STEP).is_file() else None}


def _between(look: ValidationLook) -> str:
    ends = "" if look.low is None else f" [{look.low:.2f}, {look.high:.2f}]"
    return f"{look.srcc:.2f}{ends}"


def shown_looks(looks: Sequence[ValidationLook], best_step: int, most: int = 12) -> list[ValidationLook]:
    """At most about `most` looks for a table: the first, the last, the kept one, and others evenly between."""
    if len(looks) <= most:
        return list(looks)
    places = {round(place) for place in np.linspace(0, len(looks) - 1, most)}
    return [look for place, look in enumerate(looks) if place in places or look.step == best_step]


def look_cells(look: ValidationLook, best_step: int) -> tuple[str, ...]:
    """A look as a row of a table, under LOOK_COLUMNS."""
    name = "before" if look.step == 0 else f"{look.step:,}"
    mean, sd, reward = (("-" if value is None else f"{value:.2f}") for value in (look.mean, look.sd, look.reward))
    ends = "-" if look.low is None else f"{look.low:.2f} to {look.high:.2f}"
    read = f"{look.read:,} of {look.images:,}"
    return (
        name,
        f"{look.srcc:.3f}",
        ends,
        read,
        mean,
        sd,
        f"{look.levels:,}",
        reward,
        "kept" if look.step == best_step else "",
    )


LOOK_COLUMNS = ("step", "SRCC", "95%", "answers read", "mean score", "spread", "scores", "reward", "")
