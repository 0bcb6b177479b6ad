"""The reward of one-pass answers: rank + format + range, the same however many processes share the answers.

    reward = rank_weight * R       R by stats.fidelity, over all images that are answered at one time
             - format_penalty      if the answer cannot be read, or lacks the thought that was asked for
             - range_penalty       if every criterion has its number and one of them is off its scale
             + absolute_weight * C C by stats.closeness: nearness to the labels themselves; not in the paper, default 0

The rank reward fixes an order and no scale; the absolute term fixes the scale, for labels that have values (methods,
pseudo-scores).

An answer that cannot be read, or leaves the scale, has no rank reward: nothing is drawn for it and nothing is cut to
fit, and it has no part in the mean and variance of its image. An image without a partner has no rank reward for any of
its answers; format and range still count. So an answer is worth 0 to `rank_weight` where it is read and on its scale,
and less than 0 else.

Answers are grouped by the id of their item and gathered from all processes before anything is compared. They are put in
one order first, so the numbers are the same to the last bit for 1, 2 or 4 processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import BadValue, UnknownReference
from salon.evaluate.pseudo_scores import PseudoPairs, PseudoScores
from salon.stats.closeness import closeness_rewards
from salon.stats.fidelity import TAU, Fidelity, Weighing, fidelity_rewards, targets_from_scores, targets_from_votes
from salon.study.noun import Noun

Floats = NDArray[np.float64]


class Answer(Protocol):
    """What the reader of answers gives back."""

    @property
    def scores(self) -> tuple[float, ...] | None:
        """A number for every criterion on its scale, or None."""

    @property
    def problem(self) -> str | None:
        """Why there are none."""

    @property
    def thought(self) -> bool:
        """Whether a closed thought came first."""

    @property
    def is_read(self) -> bool:
        """Whether the form was kept, on the scale or off it."""


Read = Callable[[str], Answer]


class Processes(Protocol):
    """The processes that share the answers of one step."""

    @property
    def number(self) -> int:
        """Which of them this is, from 0."""

    def gather(self, mine: Any) -> list[Any]:
        """What each of them has, in their order; the same list everywhere."""


@dataclass(frozen=True)
class Alone:
    """One process."""

    number: int = 0

    def gather(self, mine: Any) -> list[Any]:
        """Only its own."""
        return [mine]


class RewardTerms(Noun):
    """What an answer is worth."""

    rank_weight: float = Field(1.0, ge=0, description="Weight of the rank reward, itself between 0 and 1.")
    format_penalty: float = Field(
        1.0, ge=0, description="Taken off an answer that cannot be read or lacks its thought."
    )
    range_penalty: float = Field(0.5, ge=0, description="Taken off an answer with a number off its scale.")
    absolute_weight: float = Field(
        0.0,
        ge=0,
        description="Weight of nearness to the labels themselves, between 0 and 1: it fixes the scale. Not in the "
        "paper.",
    )
    weigh: Weighing = Field(
        "gap",
        description="Weight of a pair: by the gap of its labels (the paper), by how sure their errors make its order, "
        "or the same for all.",
    )
    tau: float = Field(TAU, gt=0, description="Gap of labels from which a pair counts fully, on their scale.")
    eps: float = Field(1e-6, gt=0, description="Added to the variances under the root.")
    ddof: int = Field(1, ge=0, le=1, description="Variance of G answers: divided by G - ddof.")


@dataclass(frozen=True)
class Rewarded:
    """The rewards of one process's answers, and figures over those of all processes."""

    rewards: Floats
    """(m,) of this process's answers, in their order."""
    rank: Floats
    """(m,) the rank reward alone; NaN where there is none."""
    answers: int
    """Answers of all processes."""
    images: int
    unread: int
    """Answers that cannot be read."""
    out_of_range: int
    thoughtless: int
    """Answers that were read, without the thought that was asked for."""
    unranked: int
    """Answers with scores whose image had no partner."""
    problems: dict[str, int] = field(default_factory=dict)
    """Answers without scores, by reason."""
    figures: dict[str, float] = field(default_factory=dict)
    """Means over all answers, for logs."""


class DistillReward:
    """Rewards for answers about items with labels. Call it with texts and the ids of their items."""

    def __init__(
        self,
        labels: PseudoScores,
        read: Read,
        terms: RewardTerms | None = None,
        *,
        think: bool = False,
        processes: Processes | None = None,
    ) -> None:
        self.labels, self.read, self.terms, self.think = labels, read, terms or RewardTerms(), think
        self.processes: Processes = processes or Alone()
        if self.terms.absolute_weight and not np.isfinite(labels.values).any():
            raise BadValue(
                "nearness to labels needs labels with values",
                found=f"labels by {labels.source}, without any",
                remedy="--absolute-weight 0, or labels by the bridge",
            )
        if self.terms.weigh == "posterior" and labels.pairs is None and not np.isfinite(labels.sd).any():
            raise BadValue(
                "weights by error need labels with their errors",
                found=f"labels by {labels.source}, without any",
                remedy="--weigh gap, or labels by the bridge",
            )

    def __call__(self, texts: Sequence[str], items: Sequence[str]) -> Rewarded:
        """The rewards of this process's answers; every process must call it, be it with no answers at all."""
        if len(texts) != len(items):
            raise BadValue("every answer needs its item", found=f"{len(texts)} answers, {len(items)} items")
        mine = [(self._code(item), *self._read(text)) for text, item in zip(texts, items)]
        everyone = self.processes.gather(mine)
        before = sum(len(part) for part in everyone[: self.processes.number])
        rows = [row for part in everyone for row in part]
        return self._rewarded(rows, slice(before, before + len(mine)))

    def targets(self, items: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """(n, n, D) p_gt and w among items, given by their place in the labels."""
        labels = self.labels
        if labels.pairs is not None:
            return targets_from_votes(labels.pairs.a, labels.pairs.b, self._shares, items)
        sd = labels.sd[items] if self.terms.weigh == "posterior" else None
        return targets_from_scores(labels.values[items], self.terms.tau, sd, weigh=self.terms.weigh)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {item: place for place, item in enumerate(self.labels.items)}

    @cached_property
    def _shares(self) -> Floats:
        return vote_shares(self.labels.pairs, len(self.labels.criteria)) if self.labels.pairs is not None else _NONE

    def _code(self, item: str) -> int:
        if item not in self._places:
            raise UnknownReference(
                "answers are rewarded for items with labels", found=repr(item), where=f"{len(self._places)} labels"
            )
        return self._places[item]

    def _read(self, text: str) -> tuple[tuple[float, ...] | None, str | None, bool, bool]:
        answer = self.read(text)
        return answer.scores, answer.problem, answer.is_read, answer.thought or not self.think

    def _rewarded(self, rows: list[tuple[Any, ...]], mine: slice) -> Rewarded:
        empty = (np.nan,) * len(self.labels.criteria)
        code = np.array([row[0] for row in rows], np.int64)
        scores = np.array([row[1] or empty for row in rows], float).reshape(len(rows), len(empty))
        found = self._ranked(code, scores)
        is_read, thought = (np.array([row[n] for row in rows], bool) for n in (3, 4))
        lost = np.isnan(scores).any(1)
        rank = np.where(np.isfinite(found.rank), found.rank, 0.0)
        total = (
            self.terms.rank_weight * rank
            - self.terms.format_penalty * ~(is_read & thought)
            - self.terms.range_penalty * (is_read & lost)
        )
        if self.terms.absolute_weight:
            near = closeness_rewards(scores, self.labels.values[code], low=self.labels.low, high=self.labels.high)
            total = total + self.terms.absolute_weight * np.where(np.isfinite(near), near, 0.0)
        return Rewarded(
            rewards=total[mine],
            rank=found.rank[mine],
            answers=len(rows),
            images=len(set(code.tolist())),
            unread=int((~is_read).sum()),
            out_of_range=int((is_read & lost).sum()),
            thoughtless=int((is_read & ~thought).sum()),
            unranked=int((np.isnan(found.rank) & ~lost).sum()),
            problems=dict(Counter(row[2] for row in rows if row[2] is not None)),
            figures=_figures(total, found, scores) if rows else {},
        )

    def _ranked(self, code: NDArray[np.int64], scores: Floats) -> Fidelity:
        """Eq. 4-8 over all answers, computed in an order that does not hang on who gave which."""
        items, image = np.unique(code, return_inverse=True)
        order = np.lexsort((*scores.T[::-1], image))
        wins, weights = self.targets(items)
        found = fidelity_rewards(scores[order], image[order], wins, weights, eps=self.terms.eps, ddof=self.terms.ddof)
        back = np.argsort(order)
        return Fidelity(found.rank[back], found.by_criterion[back], found.parsed[back], found.mean, found.variance)


_NONE: Floats = np.empty((0, 0))


def vote_shares(pairs: PseudoPairs, criteria: int) -> Floats:
    """(pairs, criteria) the share of a, NaN where a row is about another criterion."""
    shares = np.full((len(pairs), criteria), np.nan)
    shares[np.arange(len(pairs)), pairs.criterion] = pairs.p
    return shares


def _figures(total: Floats, found: Fidelity, scores: Floats) -> dict[str, float]:
    told = np.isfinite(found.rank)
    kept = scores[found.parsed]
    return {
        "reward": float(total.mean()),
        "rank": float(found.rank[told].mean()) if told.any() else float("nan"),
        "read": float(found.parsed.mean()),
        "score_mean": float(kept.mean()) if len(kept) else float("nan"),
        "score_sd": float(kept.std(0).mean()) if len(kept) else float("nan"),
        "answer_sd": float(np.sqrt(np.nanmean(found.variance))) if np.isfinite(found.variance).any() else float("nan"),
    }
