"""Active choice of pairs: seconds for a batch after some answers, and comparisons until the order is found.

Speed: fit, covariance, gains and tree of `salon.stats.adaptive_design` with 50, 200 and 1,000 items that met
10 others each.
The peer, at 50 items, is a plain loop as in ASAP: for every pair and both answers the posterior is fitted afresh, and
its divergence from the present one averaged (own code in numpy; ASAP itself reports 58 s). Larger sizes have no peer.
The limit is what a batch may take. Processor time, one core.

Learning: mean rank correlation (SRCC) with the truth over simulated studies (50 items, scores with a standard deviation
of 1.7 and of 3.9 logits) against the number of comparisons, for active, random and balanced pairs. The line's unit is
the number of comparisons until a mean SRCC of .95 and .98; its peer is the balanced design, its limit random pairs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np
from scipy.special import expit
from scipy.stats import spearmanr

from salon.stats import PairCounts, balanced_pairs, count_pairs, pair_posterior, prior_posterior
from salon.stats.adaptive_design import next_pairs, pair_gains

PRIOR, STUDIES, ITEMS = 3.0, 12, 50
GOALS = {1.7: 0.95, 3.9: 0.98}
"""SRCC to reach, by the spread of the true scores."""
LIMITS = {50: 0.05, 200: None, 1000: 2.0}


def answers(truth: np.ndarray, pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """0 where the first wins, else 1."""
    return (rng.random(len(pairs)) > expit(truth[pairs[:, 0]] - truth[pairs[:, 1]])).astype(np.int64)


def counted(pairs: np.ndarray, lost: np.ndarray, items: int) -> PairCounts:
    return count_pairs(pairs[:, 0], pairs[:, 1], lost, items)


# -- speed -----------------------------------------------------------------------------------------------------------


def batch(counts: PairCounts, rng: np.random.Generator) -> np.ndarray:
    """One batch from scratch, as a study that collects answers would ask for it."""
    return next_pairs(pair_posterior(counts, prior=PRIOR), rng=rng)


def loop_gains(counts: PairCounts) -> np.ndarray:
    """The peer: expected divergence of the posterior for every pair, each posterior fitted on its own."""
    n = counts.items
    wins = np.zeros((n, n))
    wins[counts.i, counts.j], wins[counts.j, counts.i] = counts.wins, counts.losses
    mean, precision = laplace(wins, np.zeros(n))
    log_now, gains = np.linalg.slogdet(precision)[1], np.zeros((n, n))
    spread = np.linalg.inv(precision)
    for i in range(n):
        for j in range(i + 1, n):
            m, v = mean[i] - mean[j], spread[i, i] + spread[j, j] - 2 * spread[i, j]
            chance = expit(m / np.sqrt(1 + np.pi * v / 8))
            for p, (a, b) in ((chance, (i, j)), (1 - chance, (j, i))):
                wins[a, b] += 1
                moved, sharper = laplace(wins, mean)
                wins[a, b] -= 1
                step = moved - mean
                trace = np.trace(np.linalg.solve(sharper, precision))
                gains[i, j] += p * 0.5 * (trace - n + step @ precision @ step + np.linalg.slogdet(sharper)[1] - log_now)
    return gains


def laplace(wins: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mode and precision of Bradley-Terry under the prior, by Newton's method from `q`."""
    for _ in range(50):
        p = expit(q[:, None] - q[None, :])
        slope = (wins * p.T - wins.T * p).sum(axis=1) - q / PRIOR**2
        edge = (wins + wins.T) * p * (1 - p)
        precision = np.diag(edge.sum(axis=1) + PRIOR**-2) - edge
        step = np.linalg.solve(precision, slope)
        q = q + step
        if np.abs(step).max() < 1e-6:
            break
    return q, precision


def seconds_of(function: Callable[[], object], repeats: int) -> float:
    """The fewest seconds of processor time of some runs."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        taken.append(time.process_time() - start)
    return min(taken)


def agreement(counts: PairCounts) -> float:
    """Correlation of our gains with the peer's over all pairs."""
    known, upper = pair_posterior(counts, prior=PRIOR), np.triu_indices(counts.items, 1)
    ours = pair_gains(known.scores, known.covariance)[upper]
    return round(float(np.corrcoef(ours, loop_gains(counts)[upper])[0, 1]), 4)


def speed(items: int) -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(0, 1.7, items)
    pairs = balanced_pairs(items, 5 * items, rng=rng)
    counts = counted(pairs, answers(truth, pairs, rng), items)
    batch(counts, rng)  # compile
    ours = seconds_of(lambda: batch(counts, rng), 5)
    peer = seconds_of(lambda: loop_gains(counts), 1) if items == ITEMS else None
    alike = agreement(counts) if items == ITEMS else None
    line = {
        "name": f"active_pairs_{items}",
        "ours": round(ours, 4),
        "peer_name": "a posterior for every pair and answer, as ASAP does (own loop)",
        "peer": None if peer is None else round(peer, 2),
        "ratio": None if peer is None else round(peer / ours, 1),
        "limit": LIMITS[items],
        "unit": "s",
        "limit_name": "seconds a batch of n - 1 pairs may take",
        "gains_plcc": alike,
    }
    print(json.dumps(line), flush=True)


# -- learning --------------------------------------------------------------------------------------------------------


def curve(how: str, spread: float, seed: int, rounds: int) -> list[float]:
    """SRCC with the truth after each round of n - 1 comparisons."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, spread, ITEMS)
    known, pairs, lost, found = prior_posterior(ITEMS), np.empty((0, 2), np.int64), np.empty(0, np.int64), []
    for number in range(1, rounds + 1):
        if how == "active":
            fresh = next_pairs(known, rng=rng)
        elif how == "random":
            fresh = np.array([rng.choice(ITEMS, 2, replace=False) for _ in range(ITEMS - 1)])
        else:  # a new balanced design of the same size: designs of other sizes are not its beginnings
            pairs, lost = np.empty((0, 2), np.int64), np.empty(0, np.int64)
            fresh = balanced_pairs(ITEMS, number * (ITEMS - 1), rng=rng)
        pairs, lost = np.concatenate([pairs, fresh]), np.concatenate([lost, answers(truth, fresh, rng)])
        known = pair_posterior(counted(pairs, lost, ITEMS), prior=PRIOR)
        found.append(float(spearmanr(known.scores, truth).statistic))
    return found


def comparisons_until(goal: float, mean: np.ndarray) -> float | None:
    """Comparisons where the mean curve crosses the goal, between rounds by interpolation."""
    above = np.flatnonzero(mean >= goal)
    if not len(above):
        return None
    k = above[0]
    share = 1.0 if k == 0 else (goal - mean[k - 1]) / (mean[k] - mean[k - 1])
    return float((k + share) * (ITEMS - 1))


def learning(spread: float, rounds: int = 20) -> None:
    means = {
        how: np.mean([curve(how, spread, seed, rounds) for seed in range(STUDIES)], axis=0)
        for how in ("active", "random", "balanced")
    }
    needed = {how: comparisons_until(GOALS[spread], mean) for how, mean in means.items()}
    ours, peer = needed["active"], needed["balanced"]
    line = {
        "name": f"active_pairs_curve_{spread:g}",
        "ours": ours and round(ours),
        "peer_name": "balanced design",
        "peer": peer and round(peer),
        "ratio": round(peer / ours, 2) if ours and peer else None,
        "limit": needed["random"] and round(needed["random"]),
        "unit": f"comparisons until a mean SRCC of {GOALS[spread]} ({STUDIES} studies of {ITEMS} items)",
        "limit_name": "random pairs",
        "comparisons": [k * (ITEMS - 1) for k in range(1, rounds + 1)],
        "curves": {how: [round(float(x), 4) for x in mean] for how, mean in means.items()},
    }
    print(json.dumps(line), flush=True)


def main() -> None:
    for items in LIMITS:
        speed(items)
    for spread in GOALS:
        learning(spread)


if __name__ == "__main__":
    main()
