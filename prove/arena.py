"""What the intervals of an arena cover: scores with covariates, effects, shares of duels; writes arena-table.md.

python -m prove.arena [studies]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from prove._page import table, wrapped
from salon.bench.arena import win_matrix
from salon.bench.arena_covariates import board_errors
from salon.stats import covariate_errors, fit_covariates, pair_probabilities, wilson

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
OUT = Path(__file__).parents[1] / "docs/methods/arena-table.md"
SEED, STUDIES, TRUTH = 2026, 600, 40_000
PROMPTS = (6, 12, 24, 96)
SCORES = np.array([0.8, 0.4, 0.0, -0.4, -0.8])
GOES, BETA, MOOD, NU, RATERS = 0.8, 0.5, 0.6, 0.4, 3
"""Ink that goes with the score, its effect, what a generator makes of one prompt, ties, answers to each pair."""
HEAD = """
{studies} simulated arenas for each figure, 95% intervals; standard error of a rate at 95% about {error:.1f} points with
one figure a study, less where a study has several. Five generators, {raters} answers to every pair on every prompt,
ties by Davidson's model. How well a generator does on one prompt is shared by all answers about it (standard deviation
{mood} logits), and better generators use more ink, which raters like ({beta} logits a standard deviation). The truth
is the same fit to {truth:,} prompts. Nobody was asked.
"""
READING = """
**prompts** (what a board prints from five prompts on) draws prompts anew and is nowhere below the error of independent
answers. **answers** takes every answer for itself: too short, because three raters who look at the same two pictures
are not three studies. *plain leader*: the best generator's score without the covariate, in points above what it
has with ink held equal: what the adjustment is for.
"""
DUELS = """
Shares of answers won, for all ten pairs. **prompts**: the win matrix, a score interval over prompts. **answers**:
Wilson's, every answer for itself.
"""


@dataclass(frozen=True)
class Arena:
    """Answers of one simulated study."""

    a: Ints
    b: Ints
    outcome: Ints
    z: Floats
    prompt: Ints

    @property
    def answers(self) -> tuple[Ints, Ints, Ints, Floats]:
        return self.a, self.b, self.outcome, self.z


def arena(prompts: int, rng: np.random.Generator) -> Arena:
    """Every pair on every prompt, by every rater."""
    n = len(SCORES)
    pairs = np.array(list(combinations(range(n), 2)))
    prompt = np.repeat(np.arange(prompts), len(pairs) * RATERS)
    a, b = np.tile(np.repeat(pairs, RATERS, axis=0), (prompts, 1)).T
    ink = GOES * SCORES + rng.standard_normal((prompts, n))
    made = SCORES + MOOD * rng.standard_normal((prompts, n)) + BETA * ink
    d = made[prompt, a] - made[prompt, b]
    win, _, loss = pair_probabilities("davidson", d, NU)
    u = rng.random(len(d))
    outcome = np.where(u < win, 0, np.where(u < win + loss, 1, 2))
    return Arena(a, b, outcome, (ink[prompt, a] - ink[prompt, b])[:, None], prompt)


def truth() -> tuple[Floats, Floats, Floats]:
    """Scores, effect and shares of duels that endlessly many prompts would give."""
    one = arena(TRUTH, np.random.default_rng([SEED, 0]))
    fit = fit_covariates(*one.answers, len(SCORES), "davidson")
    return fit.scores, fit.beta, np.array([share for share, _ in _shares(one)])


def _shares(one: Arena) -> Iterator[tuple[float, int]]:
    """Of every pair: share of answers won by the first, and answers."""
    points = np.where(one.outcome == 2, 0.5, one.outcome == 0)
    for pair in combinations(range(len(SCORES)), 2):
        rows = (one.a == pair[0]) & (one.b == pair[1])
        yield float(points[rows].mean()), int(rows.sum())


def score_rows(studies: int, scores: Floats, beta: Floats) -> Iterator[list[str]]:
    """Coverage of adjusted scores and of the effect, by prompts and by answers."""
    for prompts in PROMPTS:
        held: dict[str, list[Floats]] = {"prompts": [], "answers": []}
        plain = []
        for study in range(studies):
            one = arena(prompts, np.random.default_rng([SEED, prompts, study]))
            fit = fit_covariates(*one.answers, len(SCORES), "davidson")
            bare = fit_covariates(*one.answers[:3], one.z[:, :0], len(SCORES), "davidson")
            plain.append(bare.scores[0] - fit.scores[0])
            for name, errors in (
                ("prompts", board_errors(fit, one.answers, (one.prompt,))),
                ("answers", covariate_errors(fit, *one.answers)),
            ):
                t = stats.t.ppf(0.975, errors.scores.df)
                gaps = np.append(np.abs(fit.scores - scores), np.abs(fit.beta - beta))
                held[name].append(gaps <= t * np.append(errors.scores.se, errors.beta))
        for name, found in held.items():
            rates = 100 * np.mean(found, axis=0)
            lead = f"{400 / np.log(10) * np.mean(plain):+.0f}" if name == "prompts" else ""
            yield [str(prompts), name, f"{rates[:-1].mean():.1f}", f"{rates[-1]:.1f}", lead]
        print("scores", prompts, flush=True)


def duel_rows(studies: int, shares: Floats) -> Iterator[list[str]]:
    """Coverage of the shares of a win matrix."""
    names = [f"g{number}" for number in range(len(SCORES))]
    for prompts in PROMPTS:
        own, other, width = [], [], []
        for study in range(studies):
            one = arena(prompts, np.random.default_rng([SEED, prompts, study]))
            matrix = win_matrix(one.a, one.b, one.outcome, one.prompt, names, lambda *_: None)
            made = [duel.share for duel in matrix.duels]
            own.append([figure.low <= true <= figure.high for figure, true in zip(made, shares, strict=True)])
            width.append([figure.high - figure.low for figure in made])
            for (share, n), true in zip(_shares(one), shares, strict=True):
                bound = wilson(share * n, n)
                other.append(bound.low <= true <= bound.high)
        yield [str(prompts), f"{100 * np.mean(own):.1f}", f"{100 * np.mean(width):.0f}", f"{100 * np.mean(other):.1f}"]
        print("duels", prompts, flush=True)


def main(studies: int) -> None:
    scores, beta, shares = truth()
    see = f"Written by `make prove ONLY=arena` (seed {SEED}); see [arena](arena.md)."
    error = 100 * np.sqrt(0.95 * 0.05 / studies)
    head = HEAD.format(studies=studies, error=error, raters=RATERS, mood=MOOD, beta=BETA, truth=TRUTH)
    parts = [
        f"# What the intervals of an arena cover\n\n{see}\n",
        wrapped(head) + "\n",
        f"## Scores with a covariate\n\n{wrapped(READING)}\n",
        table(
            ["prompts", "errors over", "scores", "effect", "plain leader"],
            list(score_rows(studies, scores, beta)),
        ),
        f"## Duels\n\n{wrapped(DUELS)}\n",
        table(["prompts", "prompts hold", "width, points", "answers hold"], list(duel_rows(studies, shares))),
    ]
    OUT.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {OUT.name}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
