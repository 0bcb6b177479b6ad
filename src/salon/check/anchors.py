"""A reference anchor: another data set's agreement, cut down to the same number of items and raters.

Each draw takes a panel of R raters and p items all of them judged, ranks the items again for each rater, and goes
through the same statistics as a study (`anchor_draws`). With several groups (prompts) the panel is drawn inside a group
and intervals come from groups drawn again. With a single group (ten sushi, one catalogue of films) every draw is a new
panel; panels share raters, and intervals come from raters left out one at a time (`stats.agreement.panel_means`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.check.anchor_draws import (
    AnchorDraws,
    AnchorGroup,
    draw_catalogue,
    draw_prompts,
    photographs,
    score_groups,
)
from salon.check.results import STATISTICS, AnchorFigures, Interval
from salon.check.settings import AnchorSettings
from salon.check.signal import percentile_interval, rank_scores
from salon.errors import StatsError, TooFew, UnknownReference
from salon.stats import cycles, cycles_possible, kendall_t, median_of_counts, p_max, panel_means, votes_rankings
from salon.study import Noun, Signature, Study

Figures = dict[str, NDArray[np.float64]]
RESAMPLES = 2000
HALF = 0.5
FEW_PANELS, FEW_PROMPTS, FEW_RATERS = 200, 10, 50
"""Fewer of these deserve a warning."""


class AnchorReport(Noun):
    """The JSON of `salon anchor --json`."""

    format: Literal["salon.anchor/1"] = Field(default="salon.anchor/1", description="Name and version of this form.")
    name: str = Field(description="The study's name, or what --name says.")
    items: int = Field(description="Items per draw (p).")
    raters: int = Field(description="Raters per draw (R).")
    draws: int = Field(description="Draws of R raters and p items that were made.")
    clusters: int = Field(description="How many of them the draws hold.")
    cluster: Literal["prompt", "rater"] = Field(
        description="What intervals are over: prompts drawn again; in one catalogue, raters left out in turn."
    )
    panels: int = Field(default=0, description="Different panels of raters behind the draws; 0 with prompts.")
    tried: int = Field(
        default=0, description="Panels (or sets of items) drawn until there were enough; prompts, where there are any."
    )
    median_T: float = Field(description="Median over draws of T, the mean Kendall tau between the raters of a draw.")
    mean_tau: float = Field(description="Mean over draws of T.")
    mean_pmax: float = Field(description="Mean share of the larger side over item pairs.")
    cycle_rate: float | None = Field(
        description="Share of draws whose majority order is intransitive; None where it cannot be."
    )
    intervals: dict[str, Interval] = Field(description="Interval of each of the four statistics, under its name.")
    level: float = Field(description="Confidence level of the intervals.")
    ties: Literal["random", "stable"] = Field(description="How ties became strict orders.")
    tie_rate: float = Field(description="Share of item pairs a rater left tied, before ties were broken.")
    tie_control: float = Field(
        description="Mean tau after each rater's values are shuffled: 0 unless the tie-break manufactures agreement."
    )
    left_out: int = Field(description="Of those, how many have too few raters who judged the same items.")
    policies: tuple[str, ...] = Field(description="What was done about ties and gaps.")
    warnings: tuple[str, ...] = Field(description="What a reader must know before using the numbers.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same as one line.")

    def figures(self, source: str) -> AnchorFigures:
        """What a check report shows of this anchor."""
        values = {name: getattr(self, name) for name in AnchorFigures.model_fields if name != "source"}
        return AnchorFigures(**values, source=source)


ANCHOR_STATISTICS = [name for name in STATISTICS if name in AnchorReport.model_fields]


def anchor(study: Study, settings: AnchorSettings) -> AnchorReport:
    """The four statistics of `study` at p items and R raters."""
    rng = np.random.default_rng(settings.seed)
    draws = _draw_groups(score_groups(study, _criterion(study, settings), settings), settings, rng)
    n, R, p = draws.scores.shape
    flat = draws.scores.reshape(n * R, p)
    ranks = rank_scores(flat, ties=settings.ties, rng=rng).reshape(n, R, p)
    votes = votes_rankings(ranks)
    cyclic = cycles(votes, R, p) if cycles_possible(p, R) else np.zeros(n)
    figures = {"T": kendall_t(votes, R), "p_max": p_max(votes, R).mean(axis=1), "cycle": cyclic.astype(float)}
    shuffled = rng.permuted(flat, axis=1)
    control = rank_scores(shuffled, ties=settings.ties, rng=rng).reshape(n, R, p)
    tie_control = float(kendall_t(votes_rankings(control), R).mean())
    signature = Signature(
        method="anchor",
        data=study.hash[:12],
        revision=study.revision,
        settings={
            k: ",".join(v) if isinstance(v, tuple) else v for k, v in settings if k != "seed" and v not in ((), None)
        },
        seed=settings.seed,
    )
    once = np.ones((1, int(draws.cluster.max()) + 1))
    values: dict[str, float | None] = {k: float(v[0]) for k, v in _statistics(figures, draws.cluster, once).items()}
    intervals = _intervals(figures, values, draws, settings, rng)
    if not cycles_possible(p, R):
        values["cycle_rate"], intervals["cycle_rate"] = None, Interval(low=None, high=None)
    clusters = len(np.unique(draws.cluster if draws.raters is None else draws.raters))
    tied = [float((draws.scores[:, :, i] == draws.scores[:, :, j]).mean()) for i in range(p) for j in range(i)]
    return AnchorReport(
        name=study.name,
        items=p,
        raters=R,
        draws=n,
        clusters=clusters,
        cluster="prompt" if draws.raters is None else "rater",
        panels=draws.panels,
        tried=draws.tried,
        **values,
        intervals=intervals,
        level=settings.level,
        ties=settings.ties,
        tie_rate=float(sum(tied) / (p * (p - 1) / 2)),
        tie_control=tie_control,
        left_out=draws.tried - draws.usable,
        policies=_policies(study, settings, draws),
        warnings=_warnings(settings, draws, clusters, tie_control, float(figures["T"].mean())),
        signature=signature,
        signature_line=str(signature),
    )


def _draw_groups(groups: list[AnchorGroup], settings: AnchorSettings, rng: np.random.Generator) -> AnchorDraws:
    shape = settings.draws, settings.raters, settings.items
    if len(groups) == 1:
        draws = draw_catalogue(groups[0].scores, *shape, settings.draw_by, rng)
    else:
        draws = draw_prompts([group.scores for group in groups], *shape, rng)
    if draws is None:
        raise TooFew(
            f"{settings.raters} raters who judged the same {settings.items} items are needed",
            found=f"no such panel in {len(groups)} groups",
            remedy="ask for fewer items or raters, or draw items first with --draw-by items",
        )
    return draws


def _criterion(study: Study, settings: AnchorSettings) -> int:
    ids = [criterion.id for criterion in study.criteria]
    if settings.criterion is None and len(ids) == 1:
        return 0
    if settings.criterion is None and len(ranking := study.ranking_criteria()) == 1:
        return ranking[0]  # the others are flags
    if settings.criterion not in ids:
        raise UnknownReference(
            "one criterion is needed",
            found="several criteria and no --criterion" if settings.criterion is None else repr(settings.criterion),
            remedy="--criterion with one of " + ", ".join(ids),
        )
    return ids.index(settings.criterion)


def _statistics(figures: Figures, cluster: NDArray[np.int64], weights: NDArray[np.float64]) -> Figures:
    """The four statistics for each row of cluster weights (rows, clusters)."""
    values, code = np.unique(figures["T"], return_inverse=True)
    clusters = weights.shape[1]
    table = np.bincount(cluster * len(values) + code, minlength=clusters * len(values)).reshape(clusters, -1)
    counts = weights @ table
    n = counts.sum(axis=1)
    sums = {name: weights @ np.bincount(cluster, weights=figures[name]) for name in ("p_max", "cycle")}
    return {
        "median_T": median_of_counts(values, counts),
        "mean_tau": counts @ values / n,
        "mean_pmax": sums["p_max"] / n,
        "cycle_rate": sums["cycle"] / n,
    }


def _intervals(
    figures: Figures,
    values: Mapping[str, float | None],
    draws: AnchorDraws,
    settings: AnchorSettings,
    rng: np.random.Generator,
) -> dict[str, Interval]:
    """Percentile intervals from whole prompts drawn again; in a catalogue, from raters left out one at a time."""
    if draws.raters is not None:
        return _rater_intervals(figures, draws.raters, settings)
    clusters = int(draws.cluster.max()) + 1
    weights = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=RESAMPLES).astype(float)
    again = _statistics(figures, draws.cluster, weights)
    return {
        name: percentile_interval(name, value, again[name], clusters, settings.level)
        for name in ANCHOR_STATISTICS
        if (value := values[name]) is not None
    }


def _rater_intervals(figures: Figures, raters: NDArray[np.int64], settings: AnchorSettings) -> dict[str, Interval]:
    """Means by the jackknife over raters; the median where the interval of the law of T leaves one half."""
    means = np.column_stack([figures[name] for name in ("T", "p_max", "cycle")])
    support = np.unique(figures["T"])
    below = figures["T"][:, None] <= support + 1e-9
    try:
        means_of_panels = panel_means(np.hstack([means, below]), raters)
    except StatsError:
        return dict.fromkeys(ANCHOR_STATISTICS, Interval(low=None, high=None))
    low, high = means_of_panels.interval(settings.level)
    ends = {"mean_tau": (-1.0, 1.0), "mean_pmax": (0.5, 1.0), "cycle_rate": (0.0, 1.0)}
    intervals = {
        name: Interval(low=float(max(low[place], least)), high=float(min(high[place], most)))
        for place, (name, (least, most)) in enumerate(ends.items())
    }
    if not figures["cycle"].any():  # no cycle was drawn: what as many panels without a common rater still allow
        bound = 1 - (1 - settings.level) ** (1 / (means_of_panels.raters // raters.shape[1]))
        intervals["cycle_rate"] = Interval(low=0.0, high=float(bound))
    reached = high[3:] >= HALF, low[3:] >= HALF
    median = (float(support[np.argmax(over)]) if over.any() else float(support[-1]) for over in reached)
    intervals["median_T"] = Interval(low=next(median), high=next(median))
    return {name: intervals[name] for name in ANCHOR_STATISTICS}


def _policies(study: Study, settings: AnchorSettings, draws: AnchorDraws) -> tuple[str, ...]:
    ties = (
        "ties broken at random, afresh in every draw"
        if settings.ties == "random"
        else "ties broken by item order, the same for every rater"
    )
    if not cycles_possible(settings.items, settings.raters):
        ties += f"; strict majorities of {settings.raters} raters on {settings.items} items cannot cycle"
    gaps = "a draw uses only raters who judged all its items"
    out = draws.tried - draws.usable
    if draws.raters is None:
        policies = [ties, f"{gaps}; {out:,} prompts gave no draw"]
    else:
        what = "panels" if settings.draw_by == "panels" else "sets of items"
        how = f"{gaps}; of {draws.tried:,} {what} drawn, {out:,} had too few of them and were drawn again"
        policies = [ties, how, "intervals are for other raters of the same items, raters left out one at a time"]
    if count := int(photographs(study).sum()):
        treated = "left out" if settings.photographs == "drop" else "kept"
        policies.append(f"photographs among generated pictures: {count:,} {treated}")
    return tuple(policies)


def _warnings(
    settings: AnchorSettings, draws: AnchorDraws, clusters: int, tie_control: float, mean_tau: float
) -> tuple[str, ...]:
    """A tie-break that makes agreement, and figures that rest on little."""
    warnings = []
    if settings.ties != "random":
        warnings.append(
            f"--ties stable breaks ties the same way for every rater, which manufactures agreement: with every rater's "
            f"values shuffled, so that no preference is left, mean tau is still {tie_control:+.3f} "
            f"(of {mean_tau:+.3f} reported)"
        )
    if draws.raters is None:
        if clusters < FEW_PROMPTS:
            warnings.append(f"only {clusters:,} prompts: their intervals, by prompts drawn again, are too narrow")
        return tuple(warnings)
    if draws.panels < FEW_PANELS:
        warnings.append(
            f"only {draws.panels:,} different panels of {settings.raters} raters could be drawn: figures are unsure"
        )
    if clusters < 2 * settings.raters:
        warnings.append(f"no intervals: {clusters:,} raters are too few for panels of {settings.raters}")
    elif clusters < FEW_RATERS:
        warnings.append(f"only {clusters:,} raters are in these panels: intervals are approximate")
    return tuple(warnings)
