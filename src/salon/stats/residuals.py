"""What a fit of comparisons explains worst: pairs, raters, and the whole.

A fit gives every pair (i, j) the chances p_win, p_tie, p_loss of an answer, seen from i. An answer scores 1, 1/2
or 0 with mean mu = p_win + p_tie/2 and variance v = p_win + p_tie/4 - mu^2.

Pairs. With n answers of total score S:   z = (S - n mu) / sqrt(n v).

Raters. An answer has log-likelihood l = log p_answer. Raters who met easy pairs have high l whatever they answered,
so l is compared with what the model expects on the *same* pairs:

    z_r = sum (l - E l) / sqrt(sum Var l),   E l = sum_o p_o log p_o,   Var l = sum_o p_o log^2 p_o - (E l)^2.

z_r far below 0: the rater answers against the fit more often than chance allows; far above 0: more predictable than
the fit, which happens to raters less noisy than the others. Beside it the share of decided answers that side with
the fit's favourite, and the share the model expects.

The whole. Pearson's X^2 = sum (O - E)^2 / E over pairs and outcomes. Its chi-square law needs expected counts
(Cochran: none below 1, four fifths at least 5); where they do not suffice, counts are drawn from the fitted chances
and X^2 is compared with theirs. Fitting has taken something from the observed X^2 and nothing from the drawn ones:
with N answers per pair about 1 - 1/N for each parameter (simulated for N = 1 to 5; nothing at N = 1, where X^2 hardly
moves), which is given back first. The level is then kept, on the safe side: 1 to 3% of true models fail at 5%.

Models without a tie probability (Bradley-Terry, Thurstone: ties as half wins) say nothing about ties. `spread_ties`
gives them the law with the same mean score whose ties are as frequent as those observed: p_tie = k 2 min(p, 1 - p).

Assumptions: answers independent given the fit. The chances are taken as known, so z of a pair with many of the
answers about its items is a little too small. Edges: a pair without answers, a rater without answers, and pairs on
which every answer is equally likely have no z (NaN). An answer the model gives no chance raises BadValue.

Source: Agresti, Categorical Data Analysis, 2013, chapters 1 and 11; Cochran 1954; for raters, the l_z person-fit
statistic of Drasgow, Levine & Williams 1985.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from salon.errors import BadValue, TooFew
from salon.stats.jit import compiled_above
from salon.stats.result import Test

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_AT_LEAST, _MOSTLY, _SHARE = 1.0, 5.0, 0.8  # Cochran's rule


@dataclass(frozen=True, slots=True)
class PairResiduals:
    """One entry per pair, seen from i."""

    n: Floats
    """(m,) answers, ties included."""
    observed: Floats
    """(m,) share of the score: (wins + ties/2) / n; NaN without answers."""
    expected: Floats
    """(m,) the same under the model."""
    z: Floats
    """(m,) standardised residual: positive where i does better than the fit says; NaN where undefined."""


@dataclass(frozen=True, slots=True)
class RaterResiduals:
    """One entry per rater."""

    n: Ints
    """(raters,) answers, ties included."""
    log_likelihood: Floats
    """(raters,) mean log-likelihood per answer; NaN without answers."""
    expected: Floats
    """(raters,) its expectation under the model, on the same pairs."""
    z: Floats
    """(raters,) standardised difference of the two; NaN where undefined."""
    agreement: Floats
    """(raters,) share of decided answers that side with the fit's favourite; NaN without any."""
    expected_agreement: Floats
    """(raters,) the same under the model."""
    decided: Ints
    """(raters,) decided answers on pairs that have a favourite."""


def pair_residuals(
    wins: ArrayLike, losses: ArrayLike, ties: ArrayLike, p_win: ArrayLike, p_tie: ArrayLike, p_loss: ArrayLike
) -> PairResiduals:
    """Observed against expected score of every pair; counts may be weighted. All arrays (m,)."""
    counts, p = _counts(wins, losses, ties), _chances(p_win, p_tie, p_loss)
    _same_pairs(counts, p)
    _check_possible(counts > 0, p)
    n = counts.sum(axis=0)
    mean = p[0] + p[1] / 2
    variance = np.maximum(p[0] + p[1] / 4 - mean**2, 0.0)
    score = counts[0] + counts[1] / 2
    return PairResiduals(n, _ratio(score, n), mean, _ratio(score - n * mean, np.sqrt(n * variance)))


def rater_residuals(
    rater: ArrayLike,
    pair: ArrayLike,
    outcome: ArrayLike,
    p_win: ArrayLike,
    p_tie: ArrayLike,
    p_loss: ArrayLike,
    raters: int,
) -> RaterResiduals:
    """How well the fit explains every rater.

    Answers (N,): who gave it (0..raters-1), on which pair (0..m-1), with which outcome seen from the pair's i
    (0 i is better, 1 j is better, 2 tie). Chances (m,), one per pair. Cost: O(N + m).
    """
    p = _chances(p_win, p_tie, p_loss)
    who, which, code = _answers(rater, pair, outcome, p.shape[1], raters)
    if p.min(initial=1.0) == 0:
        occurs = np.zeros(p.shape, bool)
        occurs[_ROW[code], which] = True
        _check_possible(occurs, p)
    facts = _pair_facts(p)
    n, total_log, due, spread, agree, expected_agree, decided = _rater_totals(who, which, code, facts, raters).T
    return RaterResiduals(
        n=n.astype(np.int64),
        log_likelihood=_ratio(total_log, n),
        expected=_ratio(due, n),
        z=_ratio(total_log - due, np.sqrt(spread)),
        agreement=_ratio(agree, decided),
        expected_agreement=_ratio(expected_agree, decided),
        decided=decided.astype(np.int64),
    )


def goodness_of_fit(
    wins: ArrayLike,
    losses: ArrayLike,
    ties: ArrayLike,
    p_win: ArrayLike,
    p_tie: ArrayLike,
    p_loss: ArrayLike,
    *,
    parameters: int,
    rng: np.random.Generator,
    draws: int = 999,
) -> Test:
    """Pearson's test of the whole fit; `parameters` is how many were fitted (n - 1 scores, and a tie parameter)."""
    counts, p = _counts(wins, losses, ties), _chances(p_win, p_tie, p_loss)
    _same_pairs(counts, p)
    _check_possible(counts > 0, p)
    if (counts != np.round(counts)).any():
        raise BadValue("goodness of fit needs plain counts", found="weighted ones", remedy="count every answer once")
    met = counts.sum(axis=0) > 0
    counts, p = counts[:, met], p[:, met]
    free = int(((p > 0).sum(axis=0) - 1).sum()) - parameters
    if free < 1:
        raise TooFew("goodness of fit needs more pairs than parameters", found=f"{free} degrees of freedom")
    x2 = _pearson(counts, p)
    due = (counts.sum(axis=0) * p)[p > 0]
    suffices = bool((due >= _AT_LEAST).all() and (due >= _MOSTLY).mean() >= _SHARE)
    value, law = (
        (float(chdtrc(free, x2)), f"chi-square, {free} degrees of freedom")
        if suffices
        else _simulated_p(x2, counts, p, parameters, rng, draws)
    )
    return Test("Pearson chi-square", x2, value, law, counts.shape[1], "pair")


def spread_ties(p_win: ArrayLike, ties: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """(p_win, p_tie, p_loss) with the mean score p of a model that counts ties as half wins, and with as many ties
    in all as were observed (at most those the means allow): p_tie = k 2 min(p, 1 - p), k the same for all pairs."""
    p = np.asarray(p_win, np.float64)
    room = 2 * np.minimum(p, 1 - p)
    possible = float(np.sum(np.asarray(n) * room))
    k = min(1.0, float(np.sum(ties)) / possible) if possible > 0 else 0.0
    tie = k * room
    return p - tie / 2, tie, 1 - p - tie / 2


# -- parts -----------------------------------------------------------------------------------------------------------


_FEW = 200_000  # elements that numpy adds in less time than it takes to load machine code
_EVEN = 1e-9  # chances nearer than this differ by what a fit leaves: the pair has no favourite
_ROW = np.array([0, 2, 1])
"""The row of each outcome (0 i is better, 1 j is better, 2 tie) in tables of P(win), P(tie), P(loss)."""


def _pair_facts(p: Floats) -> Floats:
    """(m, 7): log P of the outcomes 0, 1, 2; its mean and variance; the favourite (0, 1, or 2: none), its chance."""
    facts = np.empty((p.shape[1], 7))
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    mean = np.einsum("om,om->m", p, logs)
    variance = np.maximum(np.einsum("om,om,om->m", p, logs, logs) - mean**2, 0.0)
    variance[variance < 1e-12] = 0.0  # all answers equally likely, up to rounding
    facts[:, 0], facts[:, 1], facts[:, 2], facts[:, 3], facts[:, 4] = logs[0], logs[2], logs[1], mean, variance
    facts[:, 5] = np.where(np.abs(p[0] - p[2]) < _EVEN, 2, p[0] < p[2])
    facts[:, 6] = _ratio(np.maximum(p[0], p[2]), p[0] + p[2])
    return facts


def _rater_totals_arrays(who: Ints, which: Ints, outcome: Ints, facts: Floats, raters: int) -> Floats:
    own, favorite = facts[which], facts[which, 5]
    decided = (outcome < 2) & (favorite < 2)
    columns = [np.ones(len(who)), own[np.arange(len(who)), outcome], own[:, 3], own[:, 4]]
    columns += [decided & (outcome == favorite), np.where(decided, own[:, 6], 0.0), decided]
    return np.stack([np.bincount(who, column, raters) for column in columns], axis=1)


@compiled_above(_FEW, _rater_totals_arrays)
def _rater_totals(who: Ints, which: Ints, outcome: Ints, facts: Floats, raters: int) -> Floats:
    """(raters, 7): answers; sums of log P, its mean and variance; with the favourite, expected so, decided."""
    totals = np.zeros((raters, 7))
    for k in range(len(who)):
        rater, pair, answer = who[k], which[k], outcome[k]
        totals[rater, 0] += 1
        totals[rater, 1] += facts[pair, answer]
        totals[rater, 2] += facts[pair, 3]
        totals[rater, 3] += facts[pair, 4]
        if answer < 2 and facts[pair, 5] < 2:
            totals[rater, 4] += answer == facts[pair, 5]
            totals[rater, 5] += facts[pair, 6]
            totals[rater, 6] += 1
    return totals


def _pearson(counts: Floats, p: Floats) -> float:
    """X^2 of counts (3, m)."""
    due = counts.sum(axis=0) * p
    return float(_ratio((counts - due) ** 2, due, empty=0.0).sum())


def _simulated_p(
    x2: float, counts: Floats, p: Floats, parameters: int, rng: np.random.Generator, draws: int
) -> tuple[float, str]:
    n = counts.sum(axis=0).astype(np.int64)
    observed = x2 + parameters * (1 - len(n) / n.sum())
    above = sum(_pearson(rng.multinomial(n, p.T).T.astype(np.float64), p) >= observed for _ in range(draws))
    return (1 + above) / (1 + draws), f"{draws:,} draws from the fitted chances, {parameters} parameters allowed for"


def _ratio(top: NDArray[np.generic], bottom: NDArray[np.generic], empty: float = np.nan) -> Floats:
    """top / bottom, and `empty` where bottom is 0."""
    shape = np.broadcast_shapes(top.shape, bottom.shape)
    return np.asarray(np.divide(top, bottom, out=np.full(shape, empty), where=bottom != 0), np.float64)


# -- what may come in ------------------------------------------------------------------------------------------------


def _counts(wins: ArrayLike, losses: ArrayLike, ties: ArrayLike) -> Floats:
    """(3, m): wins, ties, losses."""
    counts = _rows(wins, ties, losses, "wins, ties and losses")
    if (counts < 0).any():
        raise BadValue("counts are 0 or more", found=counts.min())
    return counts


def _chances(p_win: ArrayLike, p_tie: ArrayLike, p_loss: ArrayLike) -> Floats:
    """(3, m): P(win), P(tie), P(loss)."""
    p = _rows(p_win, p_tie, p_loss, "chances of win, tie and loss")
    if p.min(initial=0.0) < 0 or np.abs(p.sum(axis=0) - 1).max(initial=0.0) > 1e-5:
        raise BadValue("chances of win, tie and loss lie in 0..1 and sum to 1", found=p.sum(axis=0).max(initial=0))
    return p


def _rows(first: ArrayLike, second: ArrayLike, third: ArrayLike, what: str) -> Floats:
    parts = [np.asarray(part, np.float64) for part in (first, second, third)]
    if parts[0].ndim != 1 or len({part.shape for part in parts}) > 1:
        raise BadValue(f"{what} must be equally long", found=[part.shape for part in parts])
    table = np.stack(parts)
    if not np.isfinite(table).all():
        raise BadValue(f"{what} must be finite numbers", found="NaN or infinity")
    return table


def _same_pairs(counts: Floats, p: Floats) -> None:
    if counts.shape != p.shape:
        raise BadValue("counts and chances must be of the same pairs", found=f"{counts.shape[1]} and {p.shape[1]}")


def _check_possible(occurs: Bools, p: Floats) -> None:
    impossible = occurs & (p == 0)
    if impossible.any():
        outcome, pair = np.argwhere(impossible)[0]
        raise BadValue(
            "the fit must give every answer a chance",
            found=f"{('a win', 'a tie', 'a loss')[outcome]} to which it gives none",
            where=f"pair {pair}",
            remedy="a model without ties: spread_ties first; a pair decided beyond doubt: fit with a prior",
        )


def _answers(rater: ArrayLike, pair: ArrayLike, outcome: ArrayLike, pairs: int, raters: int) -> tuple[Ints, Ints, Ints]:
    """Raters, pairs and outcomes, each in the range it is numbered in."""
    who, which, code = np.asarray(rater), np.asarray(pair), np.asarray(outcome)
    if not who.shape == which.shape == code.shape:
        raise BadValue("rater, pair and outcome must be equally long", found=[who.shape, which.shape, code.shape])
    for values, most, what in ((who, raters, "raters"), (which, pairs, "pairs"), (code, 3, "outcomes")):
        if values.size and (values.min() < 0 or values.max() >= most):
            raise BadValue(f"{what} are numbered 0 to {most - 1}", found=values[(values < 0) | (values >= most)][0])
    return who, which, code.astype(np.int64, copy=False)
