"""Other tools on the same comparisons. Each function converts the arrays and returns what the clock will time.

All scores come back on the logit scale (Elo: points), in the order of the items' numbers.

FastChat is not a package one can install beside the others; its two formulas are written out here: Elo as a loop over
rows, and Bradley-Terry as weighted logistic regression on the distinct rows (L-BFGS-B, 100 steps, gradient 1e-6) and,
as it was first published, by scikit-learn on all rows (here sparse, or it would not fit).
arena-rank asks for numpy 2.3.3 exactly, so it runs only in an environment of its own (see the README beside this file).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import choix
import evalica
import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from benchmarks._pairs import Drawn, Peer, Run

Method = Callable[..., Any]
WINNERS = np.array([evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw], dtype=object)
CODES = WINNERS.astype(int)


def _evalica(method: Method, *, form: str, log: bool = True) -> Callable[[Drawn], Run]:
    """One of its methods, called as documented with strings or integers; or, faster, with bare codes of its outcomes
    and its index made beforehand.
    """

    def prepare(drawn: Drawn) -> Run:
        won = (CODES if form == "indexed" else WINNERS)[drawn.outcome].tolist()
        a, b = drawn.names if form == "strings" else (drawn.a, drawn.b)
        known = {"index": pd.RangeIndex(drawn.items)} if form == "indexed" else {}

        def run() -> np.ndarray:
            scores = method(a, b, won, **known).scores.sort_index().to_numpy()
            return np.log(scores) if log else scores

        return run

    return prepare


def _winners_first(drawn: Drawn) -> list[tuple[int, int]]:
    won = np.where(drawn.outcome == 0, drawn.a, drawn.b)
    return list(zip(won.tolist(), (drawn.a + drawn.b - won).tolist()))


def _choix_ilsr(drawn: Drawn) -> Run:
    data = _winners_first(drawn)
    return lambda: choix.ilsr_pairwise(drawn.items, data)


def _choix_mm(drawn: Drawn) -> Run:
    data = _winners_first(drawn)
    return lambda: choix.mm_pairwise(drawn.items, data)


def fastchat_rows(drawn: Drawn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct (a, b, points of a) and how often each occurs."""
    schedule = np.column_stack([drawn.a, drawn.b, np.array([2, 0, 1], dtype=np.int32)[drawn.outcome]])
    rows, often = np.unique(schedule, axis=0, return_counts=True)
    return rows[:, :2], rows[:, 2] / 2.0, often.astype(float)


def fastchat_fit(pairs: np.ndarray, points: np.ndarray, often: np.ndarray, items: int) -> np.ndarray:
    """Its Bradley-Terry: L-BFGS-B on ratings in units of ln 10; returned in logits."""
    alpha = math.log(10.0)

    def loss_and_slope(q: np.ndarray) -> tuple[float, np.ndarray]:
        d = alpha * (q[pairs[:, 0]] - q[pairs[:, 1]])
        loss = -(often * (points * log_expit(d) + (1 - points) * log_expit(-d))).sum()
        slope = alpha * often * (expit(d) - points)
        return loss, np.bincount(pairs[:, 0], slope, items) - np.bincount(pairs[:, 1], slope, items)

    options = {"maxiter": 100, "gtol": 1e-6}
    return alpha * minimize(loss_and_slope, np.zeros(items), jac=True, method="L-BFGS-B", options=options).x


def _fastchat_bt(drawn: Drawn) -> Run:
    return lambda: fastchat_fit(*fastchat_rows(drawn), drawn.items)


def _fastchat_sklearn(drawn: Drawn) -> Run:
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    def run() -> np.ndarray:
        rows = len(drawn.a)
        column = np.stack([drawn.a, drawn.b], axis=1).reshape(-1)
        value = np.tile([math.log(10.0), -math.log(10.0)], rows)
        table = csr_array((value, column, np.arange(0, 2 * rows + 1, 2)), shape=(rows, drawn.items))
        model = LogisticRegression(fit_intercept=False, C=np.inf, tol=1e-6, max_iter=100)
        return math.log(10.0) * model.fit(table, drawn.outcome == 0).coef_[0]

    return run


def _fastchat_elo(drawn: Drawn) -> Run:
    points = np.array([1.0, 0.0, 0.5])[drawn.outcome]
    pairs = np.column_stack([drawn.a, drawn.b])

    def run() -> np.ndarray:
        q = np.full(drawn.items, 1000.0)
        for (i, j), o in zip(pairs, points):
            change = 4.0 * (o - 1.0 / (1.0 + math.exp(math.log(10.0) / 400.0 * (q[j] - q[i]))))
            q[i] += change
            q[j] -= change
        return q

    return run


def _crowd_kit(drawn: Drawn) -> Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from crowdkit.aggregation import BradleyTerry
    frame = pd.DataFrame({"left": drawn.a, "right": drawn.b, "label": np.where(drawn.outcome == 0, drawn.a, drawn.b)})
    return lambda: np.log(BradleyTerry(n_iter=100).fit_predict(frame).sort_index().to_numpy())


def _arena_rank(drawn: Drawn) -> Run:
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    words = np.array(["model_a", "model_b", "tie"], dtype=object)[drawn.outcome]
    frame = pd.DataFrame({"model_a": drawn.a, "model_b": drawn.b, "winner": words})

    def run() -> np.ndarray:
        data = PairDataset.from_pandas(frame)
        model = BradleyTerry(n_competitors=len(data.competitors))
        model.fit(data)
        scores = np.empty(drawn.items)
        scores[np.asarray(data.competitors)] = np.asarray(model.params["ratings"])
        return scores

    return run


def _evalicas(method: Method, items: int = 1_000, *, log: bool = True) -> list[Peer]:
    return [
        Peer(f"evalica.{method.__name__} ({form})", _evalica(method, form=form, log=log), items=items)
        for form in ("integers", "strings", "indexed")
    ]


BRADLEY_TERRY = [
    *_evalicas(evalica.bradley_terry),
    Peer("FastChat's formula (distinct rows, L-BFGS-B)", _fastchat_bt, why="more than a minute"),
    Peer("FastChat's first formula (all rows, scikit-learn)", _fastchat_sklearn, items=100_000),
    Peer("choix.ilsr_pairwise", _choix_ilsr),
    Peer("choix.mm_pairwise", _choix_mm, 10_000, why="more than a minute: many passes in Python"),
    Peer("crowd-kit BradleyTerry", _crowd_kit),
    Peer("arena-rank (fit without its intervals)", _arena_rank),
]
DAVIDSON = _evalicas(evalica.newman)
ELO = [*_evalicas(evalica.elo, 100_000, log=False), Peer("FastChat's loop", _fastchat_elo, items=100_000)]
