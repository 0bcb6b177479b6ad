"""A simulated panel that answers pairs by three designs; its law is the PPaint-like one, fixed beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import spearmanr

from salon.collect.design import balanced_fraction, balanced_sides, complete_pairs, next_adaptive_pair
from salon.collect.simulate.ppaint_like import PpaintSettings, draw_latent, profiles
from salon.stats import PairCounts, fit_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ITEMS, OVERALL = 50, 4
PAIRS = np.array(complete_pairs(ITEMS))
HALF = 612
PRIOR = 3.0
"""Of the estimator, the same for all designs."""


@dataclass(frozen=True)
class Panel:
    """Raters who see the same items, each with a taste of their own."""

    shared: Floats
    """(items,) the values all raters share."""
    seen: Floats
    """(raters, items) what each rater sees."""
    threshold: Floats
    side: Floats

    @property
    def raters(self) -> int:
        return len(self.seen)

    @cached_property
    def information(self) -> float:
        """Information of a balanced design's answer, as a share of the most an answer can carry."""
        chance = expit(self.seen[:, PAIRS[:, 0]] - self.seen[:, PAIRS[:, 1]])
        return float((4 * chance * (1 - chance)).mean())

    def answer(self, rater: int, left: int, right: int, rng: np.random.Generator) -> int:
        """0 left is better, 1 right, 2 tie: the law of `ppaint_law`."""
        y = self.seen[rater, left] - self.seen[rater, right] + self.side[rater] + rng.logistic()
        return 0 if y > self.threshold[rater] else 1 if y < -self.threshold[rater] else 2


def drawn_panel(raters: int, noise: float, seed: int) -> Panel:
    """Items and raters of study `seed`; `noise` times the noise of PPaint's raters."""
    rng = np.random.default_rng([seed, 1])
    q, u = draw_latent(PpaintSettings(categories=1, items=ITEMS, raters=raters), rng)
    fifteen = profiles(PpaintSettings())
    who = (5 * seed + np.arange(raters)) % fifteen.threshold.size
    shared, taste = q[0, :, OVERALL] / noise, u[0, :, :, OVERALL] / noise
    return Panel(shared, shared + taste, fifteen.threshold.ravel()[who], fifteen.side.ravel()[who])


def curve(design: str, panel: Panel, marks: Ints, seed: int) -> Floats:
    """(marks, 2) SRCC with what the panel sees on average, and with what all raters share."""
    rng = np.random.default_rng([seed, 2])
    votes, found = np.zeros((len(PAIRS), 3)), []
    among = _balanced(rng) if design == "balanced" else np.arange(len(PAIRS))
    asked = _adaptive(panel.raters, votes, rng) if design == "adaptive" else _drawn(panel.raters, among, rng)
    lefts = [_sides(among, rng) for _ in range(0, panel.raters, 2)]
    for number in range(1, int(marks[-1]) + 1):
        rater, pair = next(asked)
        first_left = lefts[rater // 2][pair] != bool(rater % 2)
        first, second = PAIRS[pair]
        said = panel.answer(rater, *((first, second) if first_left else (second, first)), rng)
        votes[pair, said if first_left or said == 2 else 1 - said] += 1
        if number in marks:
            scores = _scores(votes)
            found.append([spearmanr(scores, truth).statistic for truth in (panel.seen.mean(axis=0), panel.shared)])
    return np.array(found)


def _balanced(rng: np.random.Generator) -> Ints:
    number = {pair: place for place, pair in enumerate(map(tuple, PAIRS.tolist()))}
    return np.array([number[pair] for pair in balanced_fraction(ITEMS, HALF, rng=rng)])


def _sides(among: Ints, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Is the first item left, for the first of two raters? The second sees every pair the other way round."""
    lefts = np.zeros(len(PAIRS), bool)
    lefts[among] = balanced_sides([(str(a), str(b)) for a, b in PAIRS[among].tolist()], rng=rng)
    return lefts


def _drawn(raters: int, among: Ints, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Rater and pair of every answer; raters take turns, each with the pairs in an order of their own."""
    orders = [rng.permutation(among) for _ in range(raters)]
    for place in range(len(among)):
        for rater, order in enumerate(orders):
            yield rater, int(order[place])


def _adaptive(raters: int, votes: Floats, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """The same by the studio's rule; each rater has one question open while the others answer."""
    seen = np.zeros((raters, len(PAIRS)), bool)
    waiting: list[tuple[int, int]] = []
    while True:
        for rater in range(raters):
            pair = _next(rater, seen, votes, waiting, rng)
            seen[rater, pair] = True
            waiting.append((rater, pair))
            if len(waiting) == raters:
                yield waiting.pop(0)


def _next(
    rater: int, seen: NDArray[np.bool_], votes: Floats, waiting: list[tuple[int, int]], rng: np.random.Generator
) -> int:
    awaited = np.bincount([pair for _, pair in waiting], minlength=len(PAIRS)).astype(np.int64)
    own = np.bincount(PAIRS[seen[rater]].ravel(), minlength=ITEMS)
    everybody = np.bincount(PAIRS.ravel(), np.repeat(votes.sum(axis=1), 2), ITEMS)
    surplus = own - everybody / len(seen)
    pair = next_adaptive_pair(ITEMS, PAIRS, votes, awaited, ~seen[rater], surplus=surplus, rng=rng)
    assert pair is not None  # the budget is half of what there is
    return pair


def _scores(votes: Floats) -> Floats:
    met = votes.sum(axis=1) > 0
    return fit_pairs(PairCounts(ITEMS, *PAIRS[met].T, *votes[met].T), prior=PRIOR).scores
