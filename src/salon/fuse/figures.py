"""From scored groups to the figures, policies and warnings of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from salon.errors import StatsError
from salon.fuse.fits import is_plugin_fit, load_fit
from salon.fuse.groups import Floats, FuseGroup
from salon.fuse.results import (
    ANCHORED,
    PAIRED,
    RATED,
    AnchorFigure,
    Cluster,
    CurveFigures,
    FuseSettings,
    GraphFigures,
    GroupFigures,
    PairResidual,
    RaterFit,
    ScoreRow,
)
from salon.fuse.scores import FEWEST_MODERATED, MANY_CLUSTERS, ScoredGroup
from salon.stats import (
    CrowdPrior,
    GraphShape,
    PairCounts,
    RaterResiduals,
    Sigmoid,
    counts_connectivity,
    counts_dominance,
    goodness_of_fit,
    pair_residuals,
    pair_rows,
    rater_residuals,
)
from salon.study import Study, describe_model_raters

WORST = 10
"""Pairs listed for each group."""
MOST_WALKED = 2_000
"""Path lengths are found for groups up to this many items."""
MOST_TESTED = 20_000
"""Pairs of a group up to which the fit is tested; simulating the law of more takes too long."""
MOST_ALIKE = 50
"""Runs of items that cannot be told apart, listed for each group."""


def score_rows(scored: ScoredGroup, by: str) -> list[ScoreRow]:
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
            low=_finite_or_none(scored.low[i]),
            high=_finite_or_none(scored.high[i]),
            error=_finite_or_none(scored.error[i]),
            latent=float(scored.fit.latent[i]),
            latent_error=_finite_or_none(scored.latent_error[i]),
            n=int(counts[i]),
            rank=int(ranks.rank[i]) if ranks is not None else int(places[i]),
            rank_low=None if ranks is None else int(ranks.low[i]),
            rank_high=None if ranks is None else int(ranks.high[i]),
            tier=None if ranks is None else int(ranks.tier[i]),
            rating_anchor=i in anchors,
        )

    return [row(int(i)) for i in order]


def _finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def group_figures(scored: ScoredGroup, settings: FuseSettings) -> GroupFigures:
    """What went into a group and how its fit went."""
    group, fit = scored.group, scored.fit
    counts = group.pair_counts if len(group.compared) else None
    worst, p = _explain_pairs(scored, counts, settings)
    runs = () if scored.ranks is None else scored.ranks.groups[:MOST_ALIKE]
    graph = None
    if counts is not None:
        health, order = counts_connectivity(counts, paths=group.items <= MOST_WALKED), counts_dominance(counts)
        graph = GraphFigures(
            **{field.name: getattr(health, field.name) for field in fields(GraphShape)},
            compared=group.items - len(order.uncompared),
            undefeated=tuple(group.members[i] for i in order.undefeated),
            winless=tuple(group.members[i] for i in order.winless),
        )
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
        graph=graph,
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


# -- what the fit explains -------------------------------------------------------------------------------------------


def _explain_pairs(
    scored: ScoredGroup, counts: PairCounts | None, settings: FuseSettings
) -> tuple[tuple[PairResidual, ...], float | None]:
    """The pairs that the fit explains worst, and whether the model fits."""
    p = scored.chances
    if counts is None or p is None:
        return (), None
    residuals = pair_residuals(counts.wins, counts.losses, counts.ties, *p)
    size = np.where(np.isfinite(residuals.z), np.abs(residuals.z), -1.0)
    size = np.round(size, 9)  # pairs that go equally far stand in their order, whatever the last digit
    near = np.flatnonzero(size >= np.partition(size, -WORST)[-WORST]) if len(size) > WORST else np.arange(len(size))
    worst = [int(pair) for pair in near[np.argsort(-size[near], kind="stable")][:WORST] if size[pair] > 0]
    members = scored.group.members
    rows = tuple(
        PairResidual(
            first=members[counts.i[pair]],
            second=members[counts.j[pair]],
            n=float(residuals.n[pair]),
            observed=float(residuals.observed[pair]),
            expected=float(residuals.expected[pair]),
            z=float(residuals.z[pair]),
        )
        for pair in worst
    )
    return rows, _fit_p(scored, counts, p, settings)


def _fit_p(
    scored: ScoredGroup, counts: PairCounts, p: tuple[Floats, Floats, Floats], settings: FuseSettings
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


def rater_figures(study: Study, scored: Sequence[ScoredGroup]) -> list[RaterFit]:
    """How each rater's comparisons go with the fit, over all groups, and what the method learned of the rater."""
    learned: dict[int, dict[str, list[float]]] = {}
    for group in scored:
        for rater, facts in group.fit.raters.items():
            for name, value in facts.items():
                learned.setdefault(rater, {}).setdefault(name, []).append(value)
    labels = study.ids("raters").to_pylist()
    size = len(labels)
    answers = np.zeros(size, np.int64)
    for group in scored:
        for part in group.group.by_kind.values():
            answers += np.bincount(part.rater, minlength=size)
    residuals = _residuals(scored, size)
    figures = []
    for rater in np.flatnonzero(answers).tolist():
        facts = {name: float(np.mean(values)) for name, values in learned.get(rater, {}).items()}
        own = {
            name: None if residuals is None else _finite_or_none(getattr(residuals, name)[rater])
            for name in ("agreement", "expected_agreement", "z")
        }
        figures.append(RaterFit(rater=labels[rater], answers=int(answers[rater]), **own, **facts))
    return figures


def _residuals(scored: Sequence[ScoredGroup], raters: int) -> RaterResiduals | None:
    """All answers of all groups against the chances of their pairs; None where no model gives chances."""
    answers, chances, pairs = [], [], 0
    for group in scored:
        c, p = group.group.compared, group.chances
        if p is None:
            continue
        counts = group.group.pair_counts
        turned = (c.outcome < 2) & (c.b < c.a)
        answers.append((c.rater, pairs + pair_rows(counts, c.a, c.b), c.outcome ^ turned))
        chances.append(p)
        pairs += len(counts.i)
    if not answers:
        return None
    who, which, outcome = (_join(part) for part in zip(*answers))
    win, tie, loss = (_join(part) for part in zip(*chances))
    return rater_residuals(who, which, outcome, win, tie, loss, raters)


def _join(parts: Sequence[np.ndarray]) -> np.ndarray:
    """One array; of a single group, its own."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


# -- rating anchors and curves ---------------------------------------------------------------------------------------


def anchor_figures(scored: Sequence[ScoredGroup]) -> list[AnchorFigure]:
    """Every rating anchor with its place on the curve."""
    figures = []
    for scored_group in scored:
        if scored_group.anchors is None:
            continue
        for place, item in enumerate(scored_group.anchors.items.tolist()):
            figures.append(
                AnchorFigure(
                    item=scored_group.group.members[item],
                    criterion=scored_group.group.criterion,
                    group=scored_group.group.label,
                    level=float(scored_group.anchors.levels[place]),
                    target=float(scored_group.anchors.targets[place]),
                    spread=float(scored_group.anchors.sds[place]),
                    latent=float(scored_group.fit.latent[item]),
                    fitted=float(scored_group.value[item]),
                )
            )
    return figures


def curve_figures(scored: Sequence[ScoredGroup], settings: FuseSettings) -> list[CurveFigures]:
    """One curve for all groups, or one for each."""
    curved = [(scored_group.group, scored_group.curve) for scored_group in scored if scored_group.curve is not None]
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


# -- policies and warnings ---------------------------------------------------------------------------------------------

MANY_ENDS = 0.95
"""A rater who takes one side at least this often among twenty decided answers or more answers the side."""
FEW_ANSWERS = 20
FEW_CLUSTERS = 20
MOST_LISTED = 10
TIE_POLICIES: dict[str, str] = {
    **dict.fromkeys((*PAIRED, "elo", "anchored-elo", "crowd"), "Ties: half a win for each; errors allow for it."),
    **dict.fromkeys(
        ("davidson", "rao-kupper", "anchored-davidson"),
        "Ties: an outcome with a parameter of its own, fitted with the scores.",
    ),
    "plackett-luce": "Ties in a ranking: the average over the strict orders that agree with it; of two items half a "
    "win each.",
}
INTERVAL_POLICIES: dict[Cluster, str] = {
    "answer": "Intervals: what new answers of the same raters on the same questions would change.",
    "rater": "Intervals: what other raters of the same kind would change.",
    "prompt": "Intervals: what other prompts of the same kind would change, with these raters.",
    "both": "Intervals: what other raters and other prompts of the same kind would change (two-way clustering: "
    "raters + prompts - cells, never below either; t with few clusters).",
}


def policies(
    study: Study, groups: Sequence[FuseGroup], method: str, settings: FuseSettings, cluster: Cluster
) -> tuple[str, ...]:
    """One sentence for each rule that decided about answers."""
    skipped = study.comparisons.skipped + study.rankings.skipped + study.ratings.skipped
    sentences = [f"Missing answers: each fit uses the answers there are; {skipped:,} skipped ones are left out."]
    sentences.append(TIE_POLICIES.get(method, ""))
    both_bad = sum(group.both_bad for group in groups)
    if both_bad:
        fate = "left out: it orders nothing" if settings.both_bad == "exclude" else "taken as a tie, as asked"
        sentences.append(f"'Both bad': {both_bad:,} answers, {fate}.")
    sentences.append(INTERVAL_POLICIES[cluster])
    if cluster != "answer" and (method not in RATED or cluster != "rater"):
        sentences.append(
            f"Errors: with fewer than {MANY_CLUSTERS} {_plural(cluster)} and at least {FEWEST_MODERATED} items in a "
            "group, each item's variance borrows from the others (moderated variances)."
        )
    repeats = sum(group.repeats for group in groups)
    if repeats:
        sentences.append(f"Repeated answers: {repeats:,} left out; they measure a rater, not the items.")
    same = sum(group.same for group in groups)
    if same:
        sentences.append(f"Generators met themselves in {same:,} answers: left out.")
    single = sum(group.single for group in groups)
    if single:
        sentences.append(f"Rankings of a single item: {single:,} left out; they order nothing.")
    if method == "crowd":
        prior = CrowdPrior() if settings.prior is None else CrowdPrior(scores=settings.prior)
        sentences.append(
            f"Priors: latent scores are normal with standard deviation {prior.scores:g}; a rater's reliability is "
            f"Beta({prior.right:g}, {prior.wrong:g}), the pull to the left Cauchy of scale {prior.bias:g}."
        )
    elif settings.prior is not None and method not in ("elo", "anchored-elo", *RATED):
        sentences.append(
            f"Prior: latent scores are normal with standard deviation {settings.prior:g} around the group's level."
        )
    if is_plugin_fit(method):
        sentences.append(f"Scores are by the plugin {load_fit(method).name} ({load_fit(method).origin}).")
    if method in ANCHORED:
        sentences.append(
            "Rating anchors: at each of three middle levels the items whose ratings agree best; a level without any is "
            "listed, and the curve then rests on the others."
        )
    return tuple(words for words in sentences if words)


def _plural(cluster: Cluster) -> str:
    return "raters or prompts" if cluster == "both" else f"{cluster}s"


def warnings(
    study: Study,
    scored: Sequence[ScoredGroup],
    left_out: Sequence[str],
    method: str,
    settings: FuseSettings,
    cluster: Cluster,
) -> tuple[str, ...]:
    """What a reader should know before trusting the numbers."""
    sentences = ["simulated study: no person gave these answers"] if study.simulated else []
    sentences += describe_model_raters(study.models)
    sentences += list(left_out[:MOST_LISTED])
    if len(left_out) > MOST_LISTED:
        sentences.append(f"{len(left_out) - MOST_LISTED} more groups or items are not scored")
    if study.design.adaptive:
        sentences.append(
            "the design is adaptive: which pairs were asked depends on the answers, so intervals are approximate"
        )
    fewest = min((group.df for group in scored if np.isfinite(group.df)), default=np.inf)
    if fewest < FEW_CLUSTERS - 1:
        sentences.append(
            f"errors rest on as few as {fewest:.0f} degrees of freedom: intervals are wide because "
            f"{_plural(cluster)} are few"
        )
    sentences += _raters_as_given(study, scored, settings, cluster)
    sentences += _unknown(scored)
    sentences += _missing_levels(scored)
    sentences += _one_sided(study, scored)
    if method in ("elo", "anchored-elo"):
        sentences += _elo_driven_apart(scored)
    if method in ("elo", "anchored-elo") and settings.shuffles == 1:
        sentences.append("Elo depends on the order of the answers: one seeded run; --shuffles 20 averages several")
    return tuple(sentences)


def _raters_as_given(
    study: Study, scored: Sequence[ScoredGroup], settings: FuseSettings, cluster: Cluster
) -> list[str]:
    """Leaderboards whose raters cannot stand for others: one or two of them, or a crowd without names."""
    if settings.by != "generator" or cluster != "prompt" or settings.cluster != "auto":
        return []
    raters = np.unique(np.concatenate([group.group.raters for group in scored]))
    if study.crowds[raters].any():
        return ["raters without names: intervals are over prompts alone, and do not say what other raters would change"]
    who = "one rater" if len(raters) == 1 else f"{len(raters)} raters"
    return [f"{who}: intervals are over prompts alone, and do not say what other raters would change"]


def _unknown(scored: Sequence[ScoredGroup]) -> list[str]:
    """Scores that stand without an interval, and why."""
    bare = [group for group in scored if np.isnan(group.error).any()]
    if not bare:
        return []
    items = sum(int(np.isnan(group.error).sum()) for group in bare)
    why = "; ".join(sorted({group.errors for group in bare})[:MOST_LISTED])
    first = f"{bare[0].group.where}{f' and {len(bare) - 1:,} more groups' if len(bare) > 1 else ''}"
    return [f"{first}: {items:,} scores without an interval ({why})"]


def _missing_levels(scored: Sequence[ScoredGroup]) -> list[str]:
    short = [
        (scored_group.group.where, scored_group.anchors.missing_levels)
        for scored_group in scored
        if scored_group.anchors is not None and len(scored_group.anchors.missing_levels)
    ]
    if not short:
        return []
    listed = "; ".join(
        f"{where}: {', '.join(f'{level:g}' for level in levels)}" for where, levels in short[:MOST_LISTED]
    )
    return [f"rating levels without a rating anchor, so the curve rests on the others there: {listed}"]


def _elo_driven_apart(scored: Sequence[ScoredGroup]) -> list[str]:
    """Groups in which some items only win: Elo moves them on with every pass, which its errors do not see."""
    apart = [
        scored_group.group for scored_group in scored if not counts_dominance(scored_group.group.pair_counts).identified
    ]
    if not apart:
        return []
    more = f" and {len(apart) - 1:,} more groups" if len(apart) > 1 else ""
    return [
        f"{apart[0].where}{more}: some items only won, only lost or never met the others, so Elo moves them apart with "
        "every pass and their intervals are too short (--method davidson --prior 3 says how far apart they may be)"
    ]


def _one_sided(study: Study, scored: Sequence[ScoredGroup]) -> list[str]:
    """Raters who take one side whatever stands there."""
    rater = np.concatenate([scored_group.group.compared.rater for scored_group in scored])
    outcome = np.concatenate([scored_group.group.compared.outcome for scored_group in scored])
    left = np.concatenate([scored_group.group.compared.left for scored_group in scored])
    decided = (left < 2) & (outcome < 2)
    if not decided.any():
        return []
    size = int(rater.max()) + 1
    count = np.bincount(rater[decided], minlength=size)
    took = np.bincount(rater[decided], (outcome == left)[decided], minlength=size)
    with np.errstate(invalid="ignore"):
        share = took / count
    sentences = []
    for side, part in (("left", share), ("right", 1 - share)):
        who = np.flatnonzero((count >= FEW_ANSWERS) & (part >= MANY_ENDS))
        if len(who):
            names = ", ".join(repr(study.label("raters", r)) for r in who[:MOST_LISTED])
            sentences.append(
                f"always answers {side}: {names}; such answers carry no preference (--method crowd models the side)"
            )
    return sentences
