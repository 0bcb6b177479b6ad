"""Scored groups as the figures of a report: rows, graph health, residuals, raters, curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from salon.errors import StatsError
from salon.fuse.groups import Floats, Group
from salon.fuse.pair_fits import beats, pair_counts
from salon.fuse.results import (
    AnchorFigure,
    CurveFigures,
    GraphFigures,
    GroupFigures,
    PairResidual,
    RaterFigures,
    ScoreRow,
)
from salon.fuse.scored import GroupScores
from salon.fuse.settings import FuseSettings
from salon.stats.calibration import Sigmoid
from salon.stats.graph import connectivity
from salon.stats.pair_counts import PairCounts
from salon.stats.pair_models import TIE_MODELS, pair_probabilities
from salon.stats.residuals import RaterResiduals, goodness_of_fit, pair_residuals, rater_residuals, spread_ties
from salon.study import Study

WORST = 10
"""Pairs listed for each group."""
MOST_WALKED = 2_000
"""Path lengths are found for groups up to this many items."""
MOST_TESTED = 20_000
"""Pairs of a group up to which the fit is tested; simulating the law of more takes too long."""
SLIGHTEST = 1e-12
"""Chance of an answer that was given although the fit rules it out: Elo may drive two items apart without end."""
MOST_ALIKE = 50
"""Runs of items that cannot be told apart, listed for each group."""


def score_rows(scored: GroupScores, by: str) -> list[ScoreRow]:
    """The scores of a group, best first."""
    counts, ranks = scored.group.counts(), scored.ranks
    anchors = set() if scored.anchors is None else set(scored.anchors.items.tolist())
    better = scored.fit.latent
    order = np.lexsort((np.arange(len(better)), -better))
    places = 1 + np.searchsorted(-better[order], -better)  # equal scores share the better rank

    def row(i: int) -> ScoreRow:
        label = scored.group.members[i]
        return ScoreRow(
            item=label if by == "item" else None,
            generator=label if by == "generator" else None,
            criterion=scored.group.criterion,
            group=scored.group.label,
            value=float(scored.value[i]),
            low=_known(scored.low[i]),
            high=_known(scored.high[i]),
            error=_known(scored.error[i]),
            latent=float(scored.fit.latent[i]),
            latent_error=_known(scored.latent_error[i]),
            n=int(counts[i]),
            rank=int(ranks.rank[i]) if ranks is not None else int(places[i]),
            rank_low=None if ranks is None else int(ranks.low[i]),
            rank_high=None if ranks is None else int(ranks.high[i]),
            tier=None if ranks is None else int(ranks.tier[i]),
            rating_anchor=i in anchors,
        )

    return [row(int(i)) for i in order]


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def group_figures(scored: GroupScores, settings: FuseSettings) -> GroupFigures:
    """What went into a group and how its fit went."""
    group, fit = scored.group, scored.fit
    counts = pair_counts(group) if len(group.compared) else None
    worst, p = _explained(scored, counts, settings)
    runs = () if scored.ranks is None else scored.ranks.groups[:MOST_ALIKE]
    return GroupFigures(
        criterion=group.criterion,
        group=group.label,
        items=group.items,
        raters=len(group.raters),
        comparisons=len(group.compared),
        rankings=len(group.ranked),
        ratings=len(group.rated),
        ties=float(np.mean(group.compared.outcome == 2)) if len(group.compared) else None,
        both_bad=group.both_bad,
        repeats=group.repeats,
        graph=None if counts is None else _graph(group, counts),
        solver=fit.solver,
        iterations=fit.iterations,
        gradient=fit.gradient,
        log_likelihood=fit.log_likelihood,
        tie=fit.tie,
        tie_error=fit.tie_error,
        fit_p=p,
        worst_pairs=worst,
        rating_anchors=0 if scored.anchors is None else len(scored.anchors.items),
        missing_levels=() if scored.anchors is None else tuple(map(float, scored.anchors.missing_levels)),
        alike=tuple(tuple(group.members[i] for i in run) for run in runs if len(run) > 1),
        errors=scored.errors,
        df=scored.df if np.isfinite(scored.df) else None,
    )


def _graph(group: Group, counts: PairCounts) -> GraphFigures:
    pairs = np.stack([counts.i, counts.j], axis=1)
    found = connectivity(group.items, pairs, paths=group.items <= MOST_WALKED)
    order = beats(counts)
    return GraphFigures(
        items=group.items,
        compared=group.items - len(order.uncompared),
        edges=found.edges,
        fraction=found.fraction,
        components=found.components,
        degree_min=found.degree_min,
        degree_mean=found.degree_mean,
        degree_max=found.degree_max,
        diameter=found.diameter,
        mean_path=found.mean_path,
        undefeated=tuple(group.members[i] for i in order.undefeated),
        winless=tuple(group.members[i] for i in order.winless),
    )


# -- what the fit explains -------------------------------------------------------------------------------------------


def _chances(scored: GroupScores, counts: PairCounts) -> tuple[Floats, Floats, Floats] | None:
    """P(i wins), P(tie), P(j wins) of every pair; models without ties share out the ties there were."""
    fit = scored.fit
    if fit.model is None:
        return None
    d = (fit.latent[counts.i] - fit.latent[counts.j]) / fit.per_logit
    win, tie, loss = pair_probabilities(fit.model, d, fit.tie)
    if fit.model not in TIE_MODELS:
        win, tie, loss = spread_ties(win, counts.ties, counts.wins + counts.losses + counts.ties)
    given = np.stack([counts.wins, counts.ties, counts.losses]) > 0
    p = np.stack([win, tie, loss])
    p[given & (p == 0)] = SLIGHTEST
    win, tie, loss = p / p.sum(axis=0)
    return win, tie, loss


def _explained(
    scored: GroupScores, counts: PairCounts | None, settings: FuseSettings
) -> tuple[tuple[PairResidual, ...], float | None]:
    """The pairs that the fit explains worst, and whether the model fits."""
    p = None if counts is None else _chances(scored, counts)
    if counts is None or p is None:
        return (), None
    found = pair_residuals(counts.wins, counts.losses, counts.ties, *p)
    size = np.where(np.isfinite(found.z), np.abs(found.z), -1.0)
    worst = [int(pair) for pair in np.argsort(-size, kind="stable")[:WORST] if size[pair] > 0]
    members = scored.group.members
    rows = tuple(
        PairResidual(
            first=members[counts.i[pair]],
            second=members[counts.j[pair]],
            n=float(found.n[pair]),
            observed=float(found.observed[pair]),
            expected=float(found.expected[pair]),
            z=float(found.z[pair]),
        )
        for pair in worst
    )
    return rows, _fit_p(scored, counts, p, settings)


def _fit_p(
    scored: GroupScores, counts: PairCounts, p: tuple[Floats, Floats, Floats], settings: FuseSettings
) -> float | None:
    """Only for models that maximise a likelihood: a chi-square of Elo's or an anchored fit's residuals has no law."""
    if scored.fit.log_likelihood is None or scored.anchors is not None or settings.prior is not None:
        return None
    if len(counts.i) > MOST_TESTED:
        return None
    parameters = scored.group.items - 1 + (scored.fit.tie is not None)
    rng = np.random.default_rng([settings.seed, 4])
    try:
        test = goodness_of_fit(counts.wins, counts.losses, counts.ties, *p, parameters=parameters, rng=rng, draws=199)
    except StatsError:
        return None
    return float(test.p)


def rater_figures(study: Study, scored: Sequence[GroupScores]) -> list[RaterFigures]:
    """How each rater's comparisons go with the fit, over all groups, and what the method learned of the rater."""
    learned: dict[int, dict[str, list[float]]] = {}
    for one in scored:
        for rater, facts in one.fit.raters.items():
            for name, value in facts.items():
                learned.setdefault(rater, {}).setdefault(name, []).append(value)
    size = len(study.ids("raters"))
    answers = np.zeros(size, np.int64)
    for one in scored:
        for part in one.group.by_kind.values():
            answers += np.bincount(part.rater, minlength=size)
    found = _residuals(scored, size)
    return [
        _rater(study, int(rater), int(answers[rater]), found, learned.get(int(rater), {}))
        for rater in np.flatnonzero(answers)
    ]


def _residuals(scored: Sequence[GroupScores], raters: int) -> RaterResiduals | None:
    """All answers of all groups against the chances of their pairs; None where no model gives chances."""
    answers, chances, pairs = [], [], 0
    for one in scored:
        c, items = one.group.compared, one.group.items
        counts = pair_counts(one.group) if len(c) and one.fit.model is not None else None
        if counts is None:
            continue
        low, high = np.minimum(c.a, c.b).astype(np.int64), np.maximum(c.a, c.b)
        pair = pairs + np.searchsorted(counts.i * items + counts.j, low * items + high)
        turned = (c.outcome < 2) & (c.a != low)
        answers.append((c.rater, pair, np.where(turned, 1 - c.outcome, c.outcome)))
        chances.append(_chances(one, counts))
        pairs += len(counts.i)
    if not answers:
        return None
    who, which, outcome = (np.concatenate(part) for part in zip(*answers))
    win, tie, loss = (np.concatenate(part) for part in zip(*chances))
    return rater_residuals(who, which, outcome, win, tie, loss, raters)


def _rater(
    study: Study, rater: int, answers: int, found: RaterResiduals | None, learned: dict[str, list[float]]
) -> RaterFigures:
    def of(values: Floats) -> float | None:
        return _known(values[rater])

    facts = {name: float(np.mean(values)) for name, values in learned.items()}
    if found is None:
        return RaterFigures(
            rater=study.label("raters", rater),
            answers=answers,
            agreement=None,
            expected_agreement=None,
            z=None,
            **facts,
        )
    return RaterFigures(
        rater=study.label("raters", rater),
        answers=answers,
        agreement=of(found.agreement),
        expected_agreement=of(found.expected_agreement),
        z=of(found.z),
        **facts,
    )


# -- rating anchors and curves ---------------------------------------------------------------------------------------


def anchor_figures(scored: Sequence[GroupScores]) -> list[AnchorFigure]:
    """Every rating anchor with its place on the curve."""
    made = []
    for one in scored:
        if one.anchors is None:
            continue
        for place, item in enumerate(one.anchors.items.tolist()):
            made.append(
                AnchorFigure(
                    item=one.group.members[item],
                    criterion=one.group.criterion,
                    group=one.group.label,
                    level=float(one.anchors.levels[place]),
                    target=float(one.anchors.targets[place]),
                    spread=float(one.anchors.sds[place]),
                    latent=float(one.fit.latent[item]),
                    fitted=float(one.value[item]),
                )
            )
    return made


def curve_figures(scored: Sequence[GroupScores], settings: FuseSettings) -> list[CurveFigures]:
    """One curve for all groups, or one for each."""
    curved = [(one.group, one.curve) for one in scored if one.curve is not None]
    pooled = settings.calibration == "pooled"
    return [
        CurveFigures(
            group=None if pooled else group.label,
            criterion=None if pooled else group.criterion,
            a=curve.a,
            b=curve.b,
            a_error=_curve_error(curve, 0),
            b_error=_curve_error(curve, 1),
            residual=curve.residual or 0.0,
            anchors=curve.n,
        )
        for group, curve in (curved[:1] if pooled else curved)
    ]


def _curve_error(curve: Sigmoid, place: int) -> float | None:
    return None if curve.covariance is None else float(np.sqrt(curve.covariance[place, place]))
