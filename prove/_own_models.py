"""Panels of simulated raters who judge as a method supposes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from salon.fuse import ANCHORED, RATED, FuseGroup, GroupComparisons, GroupRankings, GroupRatings, Method
from salon.stats import pair_probabilities
from salon.study import Scale

Floats = NDArray[np.float64]
OFFSET, GAIN, RATING_NOISE = 0.4, 0.25, (0.4, 1.0)
TIES = {"davidson": 0.6, "rao-kupper": 1.5}
STRETCHED: tuple[Method, ...] = ("z-score", "offset-scale")
"""Simulated with raters who stretch the scale."""


@dataclass(frozen=True)
class Panel:
    """Raters, each with a taste and habits of their own, and what they see, (raters, items)."""

    seen: Floats
    offset: Floats
    gain: Floats
    noise: Floats
    """Of ratings."""
    reliability: Floats
    lean: Floats


def draw_panel(q: Floats, raters: int, taste: float, rng: np.random.Generator) -> Panel:
    """Raters whose tastes spread around q."""
    return Panel(
        seen=q + taste * rng.standard_normal((raters, len(q))),
        offset=OFFSET * rng.standard_normal(raters),
        gain=np.exp(GAIN * rng.standard_normal(raters)),
        noise=rng.uniform(*RATING_NOISE, raters),
        reliability=rng.uniform(0.75, 1.0, raters),
        lean=rng.normal(0, 0.5, raters),
    )


def answered(method: Method, panel: Panel, rng: np.random.Generator) -> FuseGroup:
    """A group judged by the panel as the method supposes."""
    if method in RATED:
        return _group(panel, rated=_ratings(method, panel, rng))
    if method == "plackett-luce":
        return _group(panel, ranked=_rankings(panel, rng))
    if method in ANCHORED:
        steep = steepness(method)
        score = 1 + 4 * expit(steep * panel.seen) + 0.3 * rng.standard_normal(panel.seen.shape)
        rated = _rated(np.clip(score, 1, 5))
        model = "davidson" if method == "anchored-davidson" else "bradley-terry"
        return _group(panel, compared=_comparisons(model, panel, rng), rated=rated)
    return _group(panel, compared=_comparisons(method, panel, rng))


def steepness(method: Method) -> float:
    """Rating levels a logit, as the targets suppose: 1, or with Elo's gap of 400 points 1 / ln 10."""
    return float(1 / np.log(10)) if method == "anchored-elo" else 1.0


def _comparisons(method: str, panel: Panel, rng: np.random.Generator) -> GroupComparisons:
    """Every rater on every pair, sides by lot."""
    raters, items = panel.seen.shape
    first, second = np.triu_indices(items, 1)
    swap = rng.random((raters, len(first))) < 0.5
    a, b = np.where(swap, second, first), np.where(swap, first, second)
    d = np.take_along_axis(panel.seen, a, 1) - np.take_along_axis(panel.seen, b, 1)
    left = rng.integers(0, 2, d.shape)
    win, tie = _law(method, d, 1 - 2 * left, panel)
    u = rng.random(d.shape)
    outcome = np.where(u < win, 0, np.where(u < win + tie, 2, 1))
    who = np.broadcast_to(np.arange(raters)[:, None], d.shape)
    return _compared(*(x.ravel() for x in (a, b, outcome, who, left)))


def _law(method: str, d: Floats, side: Floats, panel: Panel) -> tuple[Floats, Floats]:
    """P(a is better) and P(tie)."""
    if method != "crowd":
        win, tie, _ = pair_probabilities("bradley-terry" if method == "elo" else method, d, TIES.get(method))
        return win, tie
    right, lean = panel.reliability[:, None], panel.lean[:, None] * side
    return right * expit(d + lean) + (1 - right) * expit(-d + lean), np.zeros_like(d)


def _rankings(panel: Panel, rng: np.random.Generator) -> GroupRankings:
    """Five rankings of six items by each rater."""
    raters, items = panel.seen.shape
    who = np.repeat(np.arange(raters), 5)
    shown = np.argsort(rng.random((len(who), items)), axis=1)[:, :6]
    heard = panel.seen[who[:, None], shown] + rng.gumbel(size=shown.shape)
    order = np.take_along_axis(shown, np.argsort(-heard, axis=1), 1)
    places = np.tile(np.arange(6), len(who))
    offsets = 6 * np.arange(len(who) + 1)
    return GroupRankings(offsets, *(x.astype(np.int32) for x in (order.ravel(), places, who, np.zeros_like(who))))


def _ratings(method: Method, panel: Panel, rng: np.random.Generator) -> GroupRatings:
    """y = 3 + offset + gain q + noise e: all noises alike for the mean, no gains but for z-scores and offset-scale."""
    noise = np.full_like(panel.noise, np.mean(RATING_NOISE)) if method == "mean" else panel.noise
    gain = panel.gain if method in STRETCHED else np.ones_like(panel.gain)
    e = noise[:, None] * rng.standard_normal(panel.seen.shape)
    return _rated(3 + panel.offset[:, None] + gain[:, None] * panel.seen + e)


def _rated(value: Floats) -> GroupRatings:
    rater, item = (x.astype(np.int32) for x in np.indices(value.shape).reshape(2, -1))
    return GroupRatings(item, value.ravel(), rater, np.zeros_like(item))


def _compared(*columns: NDArray[np.int64]) -> GroupComparisons:
    a, b, outcome, rater, left = columns
    rows = np.arange(len(a), dtype=np.int32)
    codes = [x.astype(np.int32) for x in (a, b, rater)]
    return GroupComparisons(codes[0], codes[1], outcome.astype(np.int8), codes[2], left.astype(np.int8), 0 * rows, rows)


def _group(
    panel: Panel,
    *,
    compared: GroupComparisons | None = None,
    ranked: GroupRankings | None = None,
    rated: GroupRatings | None = None,
) -> FuseGroup:
    """A group of these judgments, without any of the other kinds."""
    raters, items = panel.seen.shape
    none, no_values = np.zeros(0, np.int32), np.zeros(0)
    compared = _compared(*(np.zeros((5, 0), np.int64))) if compared is None else compared
    return FuseGroup(
        criterion="planted",
        label="simulated",
        members=tuple(map(str, range(items))),
        scale=Scale(low=1, high=5) if len(compared) else Scale(low=-20, high=20),
        compared=compared,
        ranked=GroupRankings(np.zeros(1, np.int64), none, none, none, none) if ranked is None else ranked,
        rated=GroupRatings(none, no_values, none, none) if rated is None else rated,
        both_bad=0,
        repeats=0,
        asked=len(compared),
        same=0,
        rater_labels=tuple(map(str, range(raters))),
    )
