"""Calls against accuracy of a group reward: active and random pairs, by a simulated judge of planted bias.

    PYTHONPATH=tests python -m benchmarks.group_reward [GROUPS]

Groups of 8 pictures with qualities from N(0, 2^2) logits. A judge answers by Bradley-Terry and, with the chance given as
bias, takes the picture shown first. Mean Kendall tau-b of scores and qualities, and how often the best picture is first.
"""

from __future__ import annotations

import sys

import numpy as np
from group_judges import BiasedJudge, group_pictures
from scipy.stats import kendalltau

from salon.select import group_reward

PAIRS = (8, 11, 14, 18, 22, 28)


def main(groups: int = 200) -> None:
    rng = np.random.default_rng(0)
    qualities = [np.round(rng.normal(0, 2, 8), 2) for _ in range(groups)]
    print("bias design pairs calls tau se best")
    for bias in (0.0, 0.3, 0.6):
        for design in ("active", "random"):
            for pairs in PAIRS:
                taus, best = [], []
                for number, quality in enumerate(qualities):
                    reward = group_reward(BiasedJudge(bias, seed=number), pairs=pairs, design=design)
                    scores = np.array(reward(group_pictures(quality, number), str(number)), float)
                    taus.append(np.nan_to_num(kendalltau(scores, quality).statistic))
                    best.append(scores.argmax() == quality.argmax())
                error = np.std(taus) / np.sqrt(groups)
                print(f"{bias:.1f} {design} {pairs} {2 * pairs} {np.mean(taus):.3f} {error:.3f} {np.mean(best):.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
