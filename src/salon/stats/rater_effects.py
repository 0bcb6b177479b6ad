"""Ratings to scores when raters differ: in offset and consistency (SUREAL), or in offset, scale and consistency.

    rating_sureal        y_ri = q_i + b_r + v_r e_ri                           sum of b_r = 0
    rating_offset_scale  y_ri = m + b_r + g_r (q_i - m) + v_r e_ri,  m = mean(q), sum of b_r = 0, mean of g_r = 1

e_ri is standard normal. Scores are weighted means, a rater's weight being 1/v_r² (g_r/v_r² with scales):

    q_i = sum_r w_r (y_ri - b_r) / W_i,   W_i = sum_r w_r,   h_ri = w_r / W_i

SUREAL (ITU-T P.910 Annex E) alternates this with b_r = mean_i(y_ri - q_i) and v_r² = mean_i(residual²): the joint
maximum of the likelihood (`likelihood="joint"`, equal to the sureal package). That maximum has no bound: q = y_r - b_r
makes v_r = 0, and with few raters the iteration runs into it (9 of 10 simulated panels of five; then one rater alone
decides, and NotIdentified says which). The default, `likelihood="restricted"`, counts the degrees of freedom that the
scores took, v_r² = sum_i residual² / (c sum_i (1 - h_ri)), c = (N-I-R+1)/(N-I): for complete ratings exactly the
restricted likelihood (REML), for incomplete ones close to it.

Offset and scale: the likelihood of (b, g, v) with the scores integrated out under q ~ normal (one-factor analysis),
then q by weighted least squares given (b, g, v): the normal law serves the raters' parameters only, no score is shrunk.

Errors of score_i - mean(scores): those of weighted least squares with known weights, including the raters' offsets,
plus what estimating the weights costs: 4 sum_r h(1-h)/k_r of the variance (Meier 1953), k_r = sum_i (1-h_ri)²; with
scales, twice the delta-method variance from the observed information. Degrees of freedom 1 / sum_r h²/k_r.
The level: sd of b_r / sqrt(R), R - 1 degrees of freedom. SUREAL's own error 1/sqrt(W) from the joint fit is too small
(90% for 95% at 5 to 8 raters); Salon does not give it.

Assumptions: normal errors, a rater equally consistent over items, missing ratings not chosen by their value. Edges: at
least three raters; items and raters in one piece (else offsets of two islands cannot be told from their scores):
NotIdentified; v_r -> 0: NotIdentified naming the rater; no common order (mean loading 0): NotIdentified; the iteration
not settling: NotConverged. Rounded ratings, cut off at the ends of the scale, break the model mildly.

Source: Li, Bampis, Krasula, Janowski, Katsavounidis 2020 (alternating projection); ITU-T P.910 (2023) Annex E;
Patterson & Thompson 1971 (REML); Meier 1953; Lawley & Maxwell 1971 (factor analysis, weighted scores).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import NotConverged, NotIdentified, TooFew
from salon.stats.pair_fit import Convergence
from salon.stats.rating_models import MOST_PAIRED, RatingData, RatingFit, variances_of_differences, with_level

Floats = NDArray[np.float64]
Likelihood = Literal["restricted", "joint"]

_COLLAPSED = 1e-3  # an inconsistency below this share of the panel's is a rater the scores simply copy


def rating_sureal(
    item: ArrayLike,
    rater: ArrayLike,
    value: ArrayLike,
    items: int,
    raters: int,
    *,
    likelihood: Likelihood = "restricted",
    tolerance: float = 1e-10,
    max_iterations: int = 10_000,
) -> RatingFit:
    """Scores free of each rater's offset, each rater weighted by consistency."""
    data = _check_connected(item, rater, value, items, raters)
    q, b, v, record = _alternate(data, likelihood, tolerance, max_iterations)
    restricted = v if likelihood == "restricted" else _inconsistency(data, q, b, 1 / v**2, "restricted")
    return _sureal_fit(data, q + b.mean(), b - b.mean(), v, restricted, record)


def rating_offset_scale(
    item: ArrayLike, rater: ArrayLike, value: ArrayLike, items: int, raters: int, *, tolerance: float = 1e-5
) -> RatingFit:
    """Scores free of each rater's offset and scale, each rater weighted by consistency."""
    data = _check_connected(item, rater, value, items, raters)
    few = np.flatnonzero(data.by_rater() < 3)
    if len(few):
        raise TooFew("offset, scale and consistency need 3 ratings by every rater", found=f"fewer by rater {few[0]}")
    middle, unit = float(data.value.mean()), float(data.value.std())
    if unit == 0:
        raise NotIdentified("raters must tell items apart", found="one value for every rating", remedy="run check")
    factor = _Factor(replace(data, value=(data.value - middle) / unit))
    x, record = factor.fit(tolerance)
    level, spread, v = factor.parts(x)
    if abs(spread.mean()) < _COLLAPSED * np.abs(spread).max():
        raise NotIdentified("raters must share an order of the items", found="scales that cancel", remedy="run check")
    g, q = spread / spread.mean(), factor.scores(x)
    offset = level + g * (q.mean() - level.mean()) - q.mean()
    se, df, covariance = factor.errors(x)
    location = unit * float(offset.std(ddof=1) / np.sqrt(raters))
    absolute_se, absolute_df = with_level(unit * se, df, location, raters - 1)
    return RatingFit(
        scores=middle + unit * q,
        se=unit * se,
        df=df,
        location_se=location,
        location_df=raters - 1,
        absolute_se=absolute_se,
        absolute_df=absolute_df,
        n=data.by_item().astype(np.int64),
        method="offset and scale",
        errors="weighted least squares, plus twice the delta method for the raters' parameters",
        borrowed=np.ones(items, dtype=np.bool_),
        differences=None if covariance is None else unit**2 * variances_of_differences(covariance),
        offset=unit * offset,
        scale=g,
        inconsistency=unit * v,
        convergence=record,
    )


def _alternate(
    data: RatingData, likelihood: Likelihood, tolerance: float, max_iterations: int
) -> tuple[Floats, Floats, Floats, Convergence]:
    """Scores given offsets and weights, offsets given scores, weights given both, until the scores stand still."""
    unit, change = float(data.value.std()), np.inf
    q, w = data.by_item(data.value) / data.by_item(), np.ones(data.raters)
    b = _offsets(data, q)
    for iteration in range(1, max_iterations + 1):
        v = _inconsistency(data, q, b, w, likelihood)
        w, before = 1 / v**2, q
        q = data.by_item(w[data.rater] * (data.value - b[data.rater])) / data.by_item(w[data.rater])
        b = _offsets(data, q)
        change = float(np.abs(q - before).max()) / unit
        if change <= tolerance:
            return q, b, v, Convergence(f"alternating projection, {likelihood}", iteration, change, tolerance)
    raise NotConverged(
        f"offsets and consistencies did not settle in {max_iterations} rounds",
        found=f"change {change:.2g}, tolerance {tolerance:.2g}",
        remedy="allow more rounds, or fuse by the mean",
    )


def _offsets(data: RatingData, q: Floats) -> Floats:
    return data.by_rater(data.value - q[data.item]) / data.by_rater()


def _inconsistency(data: RatingData, q: Floats, b: Floats, w: Floats, likelihood: Likelihood) -> Floats:
    """v_r: the mean square of a rater's residuals, over all ratings or over what the scores left free."""
    squares = data.by_rater((data.value - q[data.item] - b[data.rater]) ** 2)
    count = data.by_rater()
    if likelihood == "restricted":
        share = w[data.rater] / data.by_item(w[data.rater])[data.item]
        left = len(data.value) - data.items
        count = data.by_rater(1 - share) * (left - data.raters + 1) / left
    v = np.sqrt(squares / count)
    _refuse_collapse(v, float(data.value.std()))
    return v


def _refuse_collapse(v: Floats, unit: float) -> None:
    """One rater whom the scores copy has weight without bound."""
    if v.min() <= _COLLAPSED * max(float(np.sqrt(np.mean(v**2))), 0.1 * unit):
        raise NotIdentified(
            "raters' consistencies must be told from the scores",
            found=f"the scores copy rater {int(v.argmin())}, whose inconsistency falls to 0",
            remedy="use the mean (--method mean), or ask more raters",
        )


def _sureal_fit(data: RatingData, q: Floats, b: Floats, v: Floats, corrected: Floats, record: Convergence) -> RatingFit:
    w = 1 / corrected**2
    total = data.by_item(w[data.rater])
    h = w[data.rater] / total[data.item]
    k = data.by_rater((1 - h) ** 2)
    covariance = _known_weight_covariance(data, w, h)
    dearer = 1 + 4 * data.by_item(h * (1 - h) / k[data.rater])
    se = np.sqrt(np.diag(covariance) * dearer) if covariance.ndim == 2 else np.sqrt(covariance * dearer)
    df = 1 / data.by_item(h**2 / k[data.rater])
    location = float(b.std(ddof=1) / np.sqrt(data.raters))
    absolute_se, absolute_df = with_level(se, df, location, data.raters - 1)
    return RatingFit(
        scores=q,
        se=se,
        df=df,
        location_se=location,
        location_df=data.raters - 1,
        absolute_se=absolute_se,
        absolute_df=absolute_df,
        n=data.by_item().astype(np.int64),
        method="sureal",
        errors="weighted least squares with Meier's correction for estimated weights",
        borrowed=np.ones(data.items, dtype=np.bool_),
        differences=variances_of_differences(covariance * np.sqrt(np.outer(dearer, dearer)))
        if covariance.ndim == 2
        else None,
        offset=b,
        inconsistency=v,
        convergence=record,
    )


def _known_weight_covariance(data: RatingData, w: Floats, h: Floats) -> Floats:
    """Covariance of q - mean(q) by least squares on items and raters with known weights w_r; above MOST_PAIRED items
    its diagonal alone.

    With P = 1 - 1/I: P diag(1/W) P + G S^- G', G = P H and S = diag(sum_i w_r) - H' diag(W) H the information on
    offsets that the scores leave. With complete ratings G = 0. Costs items x raters² and items².
    """
    from scipy.sparse import csr_array

    total = data.by_item(w[data.rater])
    whole = data.items <= MOST_PAIRED
    variance = _centred_weights(total) if whole else (1 - 2 / data.items) / total + (1 / total).sum() / data.items**2
    if data.complete:
        return variance
    H = csr_array((h, (data.item, data.rater)), shape=(data.items, data.raters))
    S = np.diag(data.by_rater(w[data.rater])) - (H.T @ (H * total[:, None])).toarray()
    G = H.toarray() - H.mean(axis=0)
    inverse = np.linalg.pinv(S, hermitian=True)
    return np.asarray(variance + (G @ inverse @ G.T if whole else np.einsum("ir,rs,is->i", G, inverse, G)))


def _centred_weights(total: Floats) -> Floats:
    """P diag(1/total) P, P = 1 - 1/I."""
    own = 1 / total
    return np.asarray(np.diag(own) - (own[:, None] + own[None, :] - own.mean()) / len(own))


def _check_connected(item: ArrayLike, rater: ArrayLike, value: ArrayLike, items: int, raters: int) -> RatingData:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    data = RatingData.of(item, rater, value, items, raters)
    data.require_all()
    if raters < 3:
        raise TooFew("telling raters' consistencies apart needs at least 3 raters", found=raters, remedy="use the mean")
    if items < 3 or len(data.value) - items - raters < 1:
        raise TooFew(
            "rater effects need 3 items and more ratings than items and raters together",
            found=f"{len(data.value)} ratings of {items} items by {raters} raters",
            remedy="use the mean",
        )
    edges = coo_array((np.ones(len(data.value)), (data.item, items + data.rater)), shape=(items + raters,) * 2)
    islands, labels = connected_components(edges, directed=False)
    if islands > 1:
        apart = np.flatnonzero(labels[:items] != labels[0])
        raise NotIdentified(
            "items and raters must hang together for offsets to be told from scores",
            found=f"{islands} islands; item {int(apart[0])} shares no chain of raters with item 0",
            remedy="let some raters rate items of both, or fuse each island by itself",
        )
    return data


@dataclass(frozen=True, slots=True)
class _Factor:
    """The one-factor likelihood of y_ri = level_r + spread_r t_i + v_r e_ri, t_i ~ N(0, 1).

    Parameters x = (level, spread, log v), each (raters,); the ratings have mean 0 and sd 1.
    """

    data: RatingData

    def parts(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        level, spread, log_v = np.split(x, 3)
        return level, spread, np.exp(log_v)

    def minus_log_likelihood(self, x: Floats) -> tuple[float, Floats]:
        """Per rating, but for a constant, and its gradient (Fisher's identity: the expected complete-data slope)."""
        data, (level, spread, v) = self.data, self.parts(x)
        r, weight = data.rater, 1 / v**2
        rest = data.value - level[r]
        precision = 1 + data.by_item((spread**2 * weight)[r])
        t = data.by_item((spread * weight)[r] * rest) / precision
        fit = data.by_item(weight[r] * rest**2) - t**2 * precision + np.log(precision)
        value = 0.5 * fit.sum() + data.by_rater() @ np.log(v)
        e, var = rest - spread[r] * t[data.item], (1 / precision)[data.item]
        slope_level = weight * data.by_rater(e)
        slope_spread = weight * data.by_rater(e * t[data.item] - spread[r] * var)
        slope_log_v = weight * data.by_rater(e**2 + spread[r] ** 2 * var) - data.by_rater()
        n = len(data.value)
        return float(value) / n, -np.concatenate([slope_level, slope_spread, slope_log_v]) / n

    def fit(self, tolerance: float) -> tuple[Floats, Convergence]:
        from scipy.optimize import minimize

        data = self.data
        level = data.by_rater(data.value) / data.by_rater()
        start = np.concatenate([level, np.full(data.raters, 0.7), np.full(data.raters, np.log(0.7))])
        bounds = [(None, None)] * (2 * data.raters) + [(np.log(0.05 * _COLLAPSED), None)] * data.raters
        options = {"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 0.1 * tolerance, "maxcor": 30}
        optimum = minimize(
            self.minus_log_likelihood, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        x = np.asarray(optimum.x, dtype=np.float64)
        _refuse_collapse(self.parts(x)[2], 1.0)
        gradient = float(np.abs(self.minus_log_likelihood(x)[1]).max())
        if gradient > tolerance:
            raise NotConverged(
                "the raters' offsets and scales did not settle", found=f"slope {gradient:.2g}", remedy="use sureal"
            )
        return x, Convergence("one-factor likelihood, L-BFGS", int(optimum.nit), gradient, tolerance)

    def scores(self, x: Floats) -> Floats:
        """q by weighted least squares, in the gauge mean(g) = 1, mean(b) = 0."""
        data, (level, spread, v) = self.data, self.parts(x)
        r, weight = data.rater, spread / v**2
        t = data.by_item(weight[r] * (data.value - level[r])) / data.by_item((weight * spread)[r])
        return np.asarray(spread.mean() * t + level.mean())

    def errors(self, x: Floats) -> tuple[Floats, Floats, Floats | None]:
        """Error of q_i - mean(q), its degrees of freedom, and the covariance (None above MOST_PAIRED items)."""
        data, (_, spread, v) = self.data, self.parts(x)
        used = data.by_rater()
        w = (spread / spread.mean()) ** 2 / (v**2 * used / (used - 2))  # offset and scale took two of each rater's
        total = data.by_item(w[data.rater])
        h = w[data.rater] / total[data.item]
        k = data.by_rater((1 - h) ** 2)
        variance = (1 - 2 / data.items) / total + (1 / total).sum() / data.items**2
        moves = _slopes(self.scores, x)
        moves -= moves.mean(axis=0)
        information = len(data.value) * _slopes(lambda z: self.minus_log_likelihood(z)[1], x)
        try:
            root = np.linalg.cholesky((information + information.T) / 2)
        except np.linalg.LinAlgError:
            raise NotIdentified(
                "the raters' scales must be told apart", found="a likelihood flat in one direction", remedy="use sureal"
            ) from None
        estimated = np.linalg.solve(root, moves.T)
        se, df = np.sqrt(variance + 2 * (estimated**2).sum(axis=0)), 1 / data.by_item(h**2 / k[data.rater])
        if data.items > MOST_PAIRED:
            return se, df, None
        return se, df, np.asarray(_centred_weights(total) + 2 * estimated.T @ estimated)


def _slopes(f: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Derivative of a vector function by central differences, one column for each parameter."""
    step = 1e-5
    columns = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    return np.stack(columns, axis=1)
