"""A fit without some of its comparisons, by one Newton step.

With the scores q fitted to all comparisons, let g and H be the slope and the information of the comparisons that
stay, at q. The fit to those alone is near

    q + H^-1 g

which is what one Newton iteration from q gives. Used where a fit is repeated with a cluster of comparisons left out:
it is finite even where the rest alone identifies nothing (an item that only ever lost among them), and the step's
squares summed over clusters are the jackknife's variance up to terms of higher order (the one-step or infinitesimal
jackknife; Cain & Lange 1984). Items without any comparison left keep their scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from salon.stats.pair_counts import PairCounts
from salon.stats.pair_fit import PairFit, Pull, information, penalty
from salon.stats.pair_models import has_tie, model_code

Floats = NDArray[np.float64]

_LIGHTLY = 1e-7  # of the comparisons of an item: far below any information, far above rounding


def newton_step(fit: PairFit, counts: PairCounts, *, pull: Pull | None = None) -> Floats:
    """Scores (items,) after one Newton step from `fit` on other `counts`, and other rating anchors where given."""
    code, t = model_code(fit.model, fit.tie)
    q = fit.scores
    ridge, goal = penalty(counts.items, fit.prior, fit.pull if pull is None else pull)
    met = np.zeros(counts.items, dtype=np.bool_)
    met[counts.i] = met[counts.j] = True
    hold = np.where(met, _LIGHTLY * counts.comparisons / counts.items, 1.0)  # no slope at q, so no step of its own
    free = ridge == 0
    ridge, goal = np.where(free, hold, ridge), np.where(free, hold * q, goal)
    matrix, gradient = information(counts, code, t, q, ridge)
    gradient[: len(q)] += goal - ridge * q
    step = matrix.solve(gradient if has_tie(code) else gradient[: len(q)])
    return q + step[: len(q)]
