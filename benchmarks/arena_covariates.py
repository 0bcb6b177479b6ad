"""Scores with covariates ('style control'): processor seconds of one core, from comparisons to scores and effects.

Three covariates that go with the scores, answers of 500 prompts. At each size:

1. The fit (`fit_covariates`). Peers: scikit-learn's LogisticRegression without a penalty, as public arenas adjust for
   style, and statsmodels' Logit, both on the table of +1 and -1 for generators beside the covariates, made before the
   clock starts. Limit: one pass over the answers and their covariates (a bincount and z'z).
2. The same with errors clustered by prompts; the peer is statsmodels with the same errors.
3. Growth: ten times the answers against ten times the seconds.

`apart` is the largest distance between our scores or effects and a peer's, in logits. `python -m
benchmarks.arena_covariates 1e5` stops at a hundred thousand answers.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from statsmodels.discrete.discrete_model import Logit

from benchmarks._pairs import best_of
from salon.stats import covariate_errors, fit_covariates

SIZES = ((10_000, 20), (100_000, 50), (1_000_000, 50))
BETA, PROMPTS = np.array([0.5, -0.3, 0.2]), 500


@dataclass(frozen=True)
class Drawn:
    """Answers about generators of planted scores; better ones have more of the covariates."""

    a: np.ndarray
    b: np.ndarray
    outcome: np.ndarray
    z: np.ndarray
    prompt: np.ndarray
    items: int

    def table(self) -> np.ndarray:
        """What a logistic regression needs; the first generator is held at 0."""
        rows = np.arange(len(self.a))
        made = np.zeros((len(self.a), self.items + len(BETA)))
        made[rows, self.a] += 1
        made[rows, self.b] -= 1
        made[:, self.items :] = self.z
        return made[:, 1:]


def drawn(answers: int, items: int) -> Drawn:
    """The answers of one size."""
    rng = np.random.default_rng(7)
    q = rng.uniform(-1, 1, items)
    a = rng.integers(0, items, answers)
    b = (a + rng.integers(1, items, answers)) % items
    z = rng.normal(size=(answers, len(BETA))) + 0.5 * (q[a] - q[b])[:, None]
    wins = 1 / (1 + np.exp(-(q[a] - q[b] + z @ BETA)))
    outcome = (rng.random(answers) > wins).astype(np.int64)
    return Drawn(a, b, outcome, z, rng.integers(0, PROMPTS, answers), items)


def apart(ours: object, peer: np.ndarray) -> float:
    """The largest distance, scores against the first generator's."""
    own = np.append(ours.scores[1:] - ours.scores[0], ours.beta)
    return float(np.abs(own - peer).max())


def told(name: str, ours: float, peer_name: str, peer: float, limit: float, **more: object) -> None:
    """One line."""
    line = {"name": f"arena_covariates: {name}", "ours": round(ours, 5), "peer_name": peer_name, "peer": round(peer, 5)}
    print(json.dumps({**line, "ratio": round(peer / ours, 1), "limit": round(limit, 5), "unit": "s", **more}))


def race(one: Drawn) -> float:
    """The lines of one size; seconds of our fit."""
    size = f"{len(one.a):,} answers, {one.items} generators"
    answers = one.a, one.b, one.outcome, one.z
    fit, ours = best_of(lambda: fit_covariates(*answers, one.items))
    _, errors = best_of(lambda: covariate_errors(fit, *answers, cluster=one.prompt))
    _, limit = best_of(lambda: (np.bincount(one.a, one.outcome, one.items), one.z.T @ one.z))
    table = one.table()
    won = one.outcome == 0
    plain = LogisticRegression(C=np.inf, fit_intercept=False, max_iter=1_000)
    model, scikit = best_of(lambda: plain.fit(table, won))
    told(
        f"{size}: fit", ours, "scikit-learn LogisticRegression", scikit, limit,
        apart=apart(fit, model.coef_[0]), iterations=fit.convergence.iterations,
    )  # fmt: skip
    clusters = {"cov_type": "cluster", "cov_kwds": {"groups": one.prompt}}
    made, logit = best_of(lambda: Logit(won, table).fit(disp=0, **clusters))
    told(
        f"{size}: fit and clustered errors", ours + errors, "statsmodels Logit", logit, limit,
        apart=apart(fit, made.params),
    )  # fmt: skip
    return ours


def main(most: float) -> None:
    """All sizes up to `most` answers, then the growth between the last two."""
    warnings.simplefilter("ignore")
    race_small = drawn(1_000, 5)
    fit = fit_covariates(race_small.a, race_small.b, race_small.outcome, race_small.z, 5)  # compile
    covariate_errors(fit, race_small.a, race_small.b, race_small.outcome, race_small.z, cluster=race_small.prompt)
    took = {answers: race(drawn(answers, items)) for answers, items in SIZES if answers <= most}
    (few, before), (many, after) = list(took.items())[-2:]
    told(f"growth {few:,} to {many:,}", after, "as many times the seconds", before * many / few, before * many / few)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e7)
