"""A fit: the share of comparisons that an item wins, in logits."""

from __future__ import annotations

import numpy as np


class WinShare:
    """Half a win and half a loss are added to each item, so that nobody is infinitely good."""

    name = "win-share"
    reads = "comparisons"

    def fit(self, judgments, items):
        won = np.where(judgments.outcome == 2, 0.5, judgments.outcome == 0)
        wins = np.bincount(judgments.a, won, items) + np.bincount(judgments.b, 1 - won, items)
        met = np.bincount(judgments.a, minlength=items) + np.bincount(judgments.b, minlength=items)
        share = (wins + 0.5) / (met + 1)
        return np.log(share / (1 - share)), None
