"""What the intervals of Capability, EPS and Overall, and ranks, cover; writes docs/methods/axes-table.md.

python -m prove.axes [studies]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri

from prove._page import table, wrapped
from salon.bench.result import shared_covariance
from salon.stats import bootstrap_interval, normal_points, rank_intervals, score_interval
from salon.stats.intervals import expanded_quantile

Floats = NDArray[np.float64]
Bounds = tuple[Floats, Floats]
OUT = Path(__file__).parents[1] / "docs/methods/axes-table.md"
SEED, STUDIES, DRAWS = 2026, 1_500, 1_000
PROMPTS, IMAGES = (12, 24, 55, 192), (1, 4)
MEANS = (0.05, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99)
ALIKE = 0.4
"""Share of the variance of PASS that lies between prompts."""
BETWEEN, WITHIN = 1.5, 0.7
"""Standard deviations of logits less the reference, between prompts and between pictures of one."""
COUNTED = 55 / 64
"""Share of prompts that EPS counts, as in ImageBench."""

HEAD = """
{studies:,} simulated entries for each figure, 95% intervals. *coverage*: share of intervals that hold the true mean
over endlessly many prompts; at 95% its standard error is {error:.1f} points. Behind it the mean width, in points of the
axis. Nothing here was made by a generator or judged by anybody. Formulas: [axes](axes.md).
"""
CAPABILITY = f"""
Every prompt has its own chance to pass, beta-distributed around the mean so that two pictures of a prompt correlate
by {ALIKE}; a picture passes or not.
"""
EPS = f"""
The logit of a picture less the reference is normal, with standard deviation {BETWEEN} between prompts and {WITHIN}
between pictures of one prompt, around the level that gives the mean.
"""
OVERALL = """
Half Capability, half EPS over 55 of 64 prompts; how hard a prompt is lowers both. One picture a prompt.
"""
RANKS = """
Entries of equal or evenly spaced true Capability, who share what is hard about prompts. *nothing false*: share of
boards on which no entry stands above one that is as good or better, so that every true rank lies in its interval; 95%
wanted, more is caution. *told apart*: share of the unequal pairs that are.
"""
READING = (
    """
    **score** (the default) holds 92.5% or more from 12 prompts on, in all cells but two: a Capability of 99 from 12
    prompts of one picture, where a single failure excludes 99, and from 192 prompts of four, where 99 is mostly made by
    a few prompts that always fail. With 12 prompts, and near 0 and 100, it is longer than it need be.""",
    """
    **bootstrap** (by name) draws prompts again and takes expanded percentiles, with the score interval where all draws
    are alike. For PASS/FAIL of one picture that does; EPS near 5 or 95, and shares of several pictures, are skewed,
    and few prompts do not hold the tail. **percentiles** are plain ones without that refuge, what "bootstrap over
    prompts" usually means: of 24 prompts and a true Capability of 99, four entries in five pass everything, and their
    interval has no width.""",
    """
    **BCa** repairs part of the skew, not the ends. **bootstrap-t** repairs the skew of EPS best, and of PASS/FAIL
    makes intervals that reach from one end to the other. Neither is offered.""",
    """
    **pictures** takes every picture for a prompt of its own (Wilson's interval): with four pictures a prompt it is too
    short by a third and holds 80%.""",
    """
    Prompts are drawn here one by one. ImageBench has three under each of 64 tags: whoever takes the tags as given may
    read the intervals as long, since what differs between tags counts as chance.""",
)


# -- entries ---------------------------------------------------------------------------------------------------------


def capability(mean: float, prompts: int, images: int, studies: int, rng: np.random.Generator) -> Floats:
    """(studies, prompts, images) of PASS."""
    weight = (1 - ALIKE) / ALIKE
    chance = rng.beta(mean * weight, (1 - mean) * weight, (studies, prompts, 1))
    return (rng.random((studies, prompts, images)) < chance).astype(float)


def eps(mean: float, prompts: int, images: int, studies: int, rng: np.random.Generator) -> Floats:
    """(studies, prompts, images) of chances against the reference."""
    logit = level(mean) + BETWEEN * rng.standard_normal((studies, prompts, 1))
    return expit(logit + WITHIN * rng.standard_normal((studies, prompts, images)))


@cache
def level(mean: float) -> float:
    """The mean logit that gives a mean chance."""
    x, log_w = normal_points()
    spread = np.hypot(BETWEEN, WITHIN)
    return float(brentq(lambda at: float(np.exp(log_w) @ expit(at + spread * x)) - mean, -20, 20))


# -- intervals of many entries at once -------------------------------------------------------------------------------


def score(x: Floats, rng: np.random.Generator) -> Bounds:
    """Salon's own, entry by entry."""
    made = [score_interval(values) for values in x.mean(axis=2)]
    return np.array([one.low for one in made]), np.array([one.high for one in made])


def pictures(x: Floats, rng: np.random.Generator) -> Bounds:
    """Wilson's, with every picture as an answer of its own."""
    n, m, z = x.shape[1] * x.shape[2], x.mean(axis=(1, 2)), ndtri(0.975)
    half = z * np.sqrt(m * (1 - m) / n + z**2 / (4 * n**2))
    return (m + z**2 / (2 * n) - half) / (1 + z**2 / n), (m + z**2 / (2 * n) + half) / (1 + z**2 / n)


def percentiles(x: Floats, rng: np.random.Generator, q: float = float(ndtri(0.975))) -> Bounds:
    """Percentiles of means of prompts drawn again, where a normal law has -+ q; all entries share the draws."""
    drawn = x.mean(axis=2) @ _weights(x.shape[1], rng)
    low, high = np.quantile(drawn, ndtr([-q, q]), axis=1, method="inverted_cdf")
    return low, high


def bootstrap(x: Floats, rng: np.random.Generator) -> Bounds:
    """Expanded percentiles, with the score interval where all draws are alike."""
    low, high = percentiles(x, rng, expanded_quantile(x.shape[1], 0.95))
    alike = high - low < 1e-12
    low[alike], high[alike] = score(x[alike], rng)
    return low, high


def bca(x: Floats, rng: np.random.Generator) -> Bounds:
    """Percentiles moved by bias and acceleration."""
    values = x.mean(axis=2)
    mean, drawn = values.mean(axis=1, keepdims=True), np.sort(values @ _weights(x.shape[1], rng), axis=1)
    below = (drawn < mean - 1e-12).mean(axis=1) + (np.abs(drawn - mean) <= 1e-12).mean(axis=1) / 2
    bias = ndtri(np.clip(below, 0.5 / DRAWS, 1 - 0.5 / DRAWS))
    away = values - mean
    spread = (away**2).sum(axis=1)
    bend = (away**3).sum(axis=1) / (6 * np.where(spread > 0, spread, 1) ** 1.5)
    ends = []
    for tail in (0.025, 0.975):
        z = bias + ndtri(tail)
        place = (ndtr(bias + z / (1 - bend * z)) * DRAWS).astype(int)
        ends.append(drawn[np.arange(len(x)), np.clip(place, 0, DRAWS - 1)])
    return ends[0], ends[1]


def bootstrap_t(x: Floats, rng: np.random.Generator) -> Bounds:
    """Percentiles of the studentised mean."""
    values, weights = x.mean(axis=2), _weights(x.shape[1], rng)
    mean, drawn = values.mean(axis=1, keepdims=True), values @ weights
    error = np.sqrt(np.maximum(values**2 @ weights - drawn**2, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.clip(np.nan_to_num((drawn - mean) / error, nan=0.0), -100, 100)
    low, high = np.quantile(t, [0.025, 0.975], axis=1)
    own = values.std(axis=1)
    return np.clip(mean[:, 0] - high * own, 0, 1), np.clip(mean[:, 0] - low * own, 0, 1)


def _weights(prompts: int, rng: np.random.Generator) -> Floats:
    return rng.multinomial(prompts, np.full(prompts, 1 / prompts), size=DRAWS).T / prompts


METHODS: dict[str, Callable[[Floats, np.random.Generator], Bounds]] = {
    "score": score,
    "bootstrap": bootstrap,
    "percentiles": percentiles,
    "BCa": bca,
    "bootstrap-t": bootstrap_t,
    "pictures": pictures,
}


# -- tables ----------------------------------------------------------------------------------------------------------


def axis_rows(draw: Callable[..., Floats], images: int, studies: int) -> Iterator[list[str]]:
    """One row for each number of prompts and method."""
    for prompts in PROMPTS:
        left_out = ("pictures", "percentiles") if draw is eps else ("pictures",) * (images == 1)
        cells: dict[str, list[str]] = {name: [] for name in METHODS if name not in left_out}
        for mean in MEANS:
            rng = np.random.default_rng([SEED, prompts, images, int(100 * mean)])
            x = draw(mean, prompts, images, studies, rng)
            for name in cells:
                cells[name].append(_cell(*METHODS[name](x, rng), mean))
        yield from ([str(prompts), name, *row] for name, row in cells.items())
        print(draw.__name__, images, prompts, flush=True)


def overall_rows(studies: int) -> Iterator[list[str]]:
    """Overall by both intervals of Salon."""
    for prompts in (24, 55, 192):
        counts = (np.arange(prompts) < round(COUNTED * prompts)).astype(float)
        weights = np.column_stack([np.ones(prompts), counts])
        found: dict[str, list[str]] = {"score": [], "bootstrap": []}
        for at, likes in OVERALLS:
            rng = np.random.default_rng([SEED, prompts, int(100 * at)])
            bounds: dict[str, list[tuple[float, float]]] = {name: [] for name in found}
            for _ in range(studies):
                values = _hard_prompts(at, likes, prompts, rng)
                made = score_interval(values, weights, [0.5, 0.5])
                bounds["score"].append((made.low, made.high))
                made = bootstrap_interval(values, weights, [0.5, 0.5], draws=DRAWS, rng=rng)
                bounds["bootstrap"].append((made.low, made.high))
            for name, ends in bounds.items():
                found[name].append(_cell(*np.array(ends).T, (at + likes) / 2))
        yield from ([str(prompts), name, *row] for name, row in found.items())
        print("overall", prompts, flush=True)


OVERALLS = ((0.2, 0.3), (0.5, 0.5), (0.8, 0.65), (0.95, 0.8), (0.99, 0.9))


def _hard_prompts(passes: float, likes: float, prompts: int, rng: np.random.Generator) -> Floats:
    """(prompts, 2): PASS and the chance against the reference, both lower on hard prompts."""
    hard = rng.standard_normal(prompts)
    own = np.sqrt(0.6) * hard + np.sqrt(0.4) * rng.standard_normal(prompts)
    spread = np.hypot(BETWEEN, WITHIN)
    return np.column_stack(
        [own < ndtri(passes), expit(level(likes) - spread * (0.6 * hard + 0.8 * rng.standard_normal(prompts)))]
    )


def rank_rows(studies: int) -> Iterator[list[str]]:
    """Boards of entries who share what is hard."""
    for prompts, entries in ((24, 5), (24, 20), (192, 5), (192, 32)):
        for low, high in ((0.7, 0.7), (0.99, 0.99), (0.6, 0.9)):
            truth = np.linspace(low, high, entries)
            rng = np.random.default_rng([SEED, prompts, entries, int(100 * high)])
            right, told = zip(*(_board(truth, prompts, rng) for _ in range(studies)), strict=True)
            apart = f"{np.mean(told):.0%}" if high > low else ""
            yield [str(prompts), str(entries), f"{100 * low:g} to {100 * high:g}", f"{np.mean(right):.1%}", apart]
        print("ranks", prompts, entries, flush=True)


def _board(truth: Floats, prompts: int, rng: np.random.Generator) -> tuple[bool, float]:
    """Whether no difference is false, and the share of true ones that are told."""
    hard = rng.standard_normal((prompts, 1))
    noise = rng.standard_normal((prompts, len(truth)))
    x = (np.sqrt(0.5) * hard + np.sqrt(0.5) * noise < ndtri(truth)).astype(float)
    covariance = shared_covariance([(1.0, x, np.ones_like(x))])
    made = rank_intervals(x.mean(axis=0), covariance, df=prompts - 1, rng=rng, draws=1_000)
    unequal = truth[:, None] > truth[None, :]
    told = float(made.better[unequal].mean()) if unequal.any() else 0.0
    return not made.better[~unequal].any(), told


def _cell(low: Floats, high: Floats, mean: float) -> str:
    """Coverage and mean width; rounding does not exclude."""
    held = np.mean((low <= mean + 1e-12) & (mean <= high + 1e-12))
    return f"{100 * held:.1f} ({100 * np.mean(high - low):.1f})"


def main(studies: int) -> None:
    see = f"Written by `make prove ONLY=axes` (seed {SEED}); see [axes](axes.md)."
    error = 100 * np.sqrt(0.95 * 0.05 / studies)
    parts = [
        f"# What the intervals of a board cover\n\n{see}\n",
        wrapped(HEAD.format(studies=studies, error=error)) + "\n",
    ]
    parts += ["## In short\n", *(wrapped(words) + "\n" for words in READING)]
    head = ["prompts", "interval", *(f"true {100 * mean:g}" for mean in MEANS)]
    for title, words, draw in (("Capability", CAPABILITY, capability), ("EPS", EPS, eps)):
        parts.append(f"## {title}\n\n{wrapped(words)}\n")
        for images in IMAGES:
            pictured = "One picture" if images == 1 else f"{images} pictures"
            parts += [f"{pictured} a prompt:\n", table(head, list(axis_rows(draw, images, studies)))]
    head = ["prompts", "interval", *(f"{100 * a:g} and {100 * b:g}" for a, b in OVERALLS)]
    parts += [f"## Overall\n\n{wrapped(OVERALL)}\n", table(head, list(overall_rows(studies // 2)))]
    head = ["prompts", "entries", "true Capability", "nothing false", "told apart"]
    parts += [f"## Ranks\n\n{wrapped(RANKS)}\n", table(head, list(rank_rows(studies // 2)))]
    OUT.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {OUT.name}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
