"""A reference anchor: another data set's agreement, cut down to the same number of items and raters.

Each draw takes a panel of R raters and p items all of them judged, ranks the items again for each rater, and goes
through the same statistics as a study. With several groups (prompts) the panel is drawn inside a group and intervals
come from groups drawn again; with a single group (ten sushi, one catalogue of films) raters are dealt into disjoint
panels and intervals come from panels drawn again, since draws that share raters are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.check.answers import rank_scores
from salon.check.results import STATISTICS, AnchorFigures, Interval
from salon.check.signal import percentiles
from salon.errors import TooFew, UnknownReference
from salon.stats.signal import cycles, cycles_possible, kendall_t, median_of_counts, p_max, votes_rankings
from salon.study import Signature, Study
from salon.study.noun import Noun

Figures = dict[str, NDArray[np.float64]]
RESAMPLES = 2000
MAX_TRIES = 50
"""Panels that share too few items are drawn again this often before a group is given up."""


class AnchorSettings(Noun):
    """How `salon anchor` draws."""

    items: int = Field(4, ge=2, le=12, description="Items per draw (p).")
    raters: int = Field(5, ge=2, le=100, description="Raters per draw (R).")
    ties: Literal["random", "stable"] = Field(
        "random",
        description="How ties become strict orders: at random, afresh in every draw; or by item order, the same for "
        "every rater, which manufactures agreement (only to reproduce papers that did so).",
    )
    draws: int = Field(20_000, ge=100, le=2_000_000, description="Draws of R raters and p items.")
    top_items: int = Field(100, ge=2, description="In a catalogue without prompts, only the most judged items.")
    top_generators: int | None = Field(None, ge=2, description="Keep only this many generators, the best by mean rank.")
    drop: tuple[str, ...] = Field((), description="Leave out items of this generator or source (repeatable).")
    criterion: str | None = Field(None, description="Which criterion, when the file holds several.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")


class AnchorReport(Noun):
    """The JSON of `salon anchor --json`."""

    format: Literal["salon.anchor/1"] = "salon.anchor/1"
    name: str
    items: int
    raters: int
    draws: int
    clusters: int
    cluster: Literal["prompt", "panel"]
    median_T: float
    mean_tau: float
    mean_pmax: float
    cycle_rate: float | None = Field(
        description="Share of draws whose majority order is intransitive; None where it cannot be."
    )
    intervals: dict[str, Interval]
    level: float
    ties: Literal["random", "stable"]
    tie_rate: float = Field(description="Share of item pairs a rater left tied, before ties were broken.")
    tie_control: float = Field(
        description="Mean tau after each rater's values are shuffled: 0 unless the tie-break manufactures agreement."
    )
    left_out: int = Field(description="Groups or panels without enough raters who judged the same items.")
    policies: tuple[str, ...]
    warnings: tuple[str, ...]
    signature: Signature
    signature_line: str

    def figures(self, source: str) -> AnchorFigures:
        """What a check report shows of this anchor."""
        shown = {name: getattr(self, name) for name in AnchorFigures.model_fields if name != "source"}
        return AnchorFigures(**shown, source=source)


ANCHORED = [name for name in STATISTICS if name in AnchorReport.model_fields]


@dataclass(frozen=True)
class _Scores:
    """One group's answers: (raters, items), higher = better, NaN where a rater did not judge an item."""

    group: int
    scores: NDArray[np.float32]


def anchor(study: Study, settings: AnchorSettings) -> AnchorReport:
    """The four statistics of `study` at p items and R raters."""
    rng = np.random.default_rng(settings.seed)
    groups = _groups(study, _criterion(study, settings), settings)
    drawn, cluster, left_out = _draw(groups, settings, rng)
    n, R, p = drawn.shape
    ranks = rank_scores(drawn.reshape(n * R, p), ties=settings.ties, rng=rng).reshape(n, R, p)
    figures = _figures(ranks)
    once = np.ones((1, cluster.max() + 1))
    shuffled = rng.permuted(drawn.reshape(n * R, p), axis=1)
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
    values: dict[str, float | None] = {k: float(v[0]) for k, v in _statistics(figures, cluster, once).items()}
    intervals = _intervals(figures, values, cluster, settings, rng)
    if not cycles_possible(p, R):
        values["cycle_rate"], intervals["cycle_rate"] = None, Interval(low=None, high=None)
    return AnchorReport(
        name=study.name,
        items=p,
        raters=R,
        draws=n,
        clusters=len(np.unique(cluster)),
        cluster="panel" if len(groups) == 1 else "prompt",
        **values,
        intervals=intervals,
        level=settings.level,
        ties=settings.ties,
        tie_rate=_tie_rate(drawn),
        tie_control=tie_control,
        left_out=left_out,
        policies=_policies(settings, left_out),
        warnings=_warnings(settings, tie_control, float(figures["T"].mean())),
        signature=signature,
        signature_line=str(signature),
    )


def _criterion(study: Study, settings: AnchorSettings) -> int:
    ids = [criterion.id for criterion in study.criteria]
    if settings.criterion is None and len(ids) == 1:
        return 0
    if settings.criterion not in ids:
        raise UnknownReference(
            "one criterion is needed",
            found="several criteria and no --criterion" if settings.criterion is None else repr(settings.criterion),
            remedy="--criterion with one of " + ", ".join(ids),
        )
    return ids.index(settings.criterion)


def _groups(study: Study, criterion: int, settings: AnchorSettings) -> list[_Scores]:
    """Score matrices of every group, from whichever protocol the criterion has (rankings before ratings)."""
    group, rater, item, score = _entries(study, criterion)
    keep = ~np.isin(item, _dropped(study, settings)) & ~study.crowds[rater] & (group >= 0)
    group, rater, item, score = (column[keep] for column in (group, rater, item, score))
    if settings.top_generators is not None and len(group):
        keep = np.isin(item, _top_generators(study, item, group, rater, score, settings.top_generators))
        group, rater, item, score = (column[keep] for column in (group, rater, item, score))
    order = np.lexsort((item, rater, group))
    group, rater, item, score = (column[order] for column in (group, rater, item, score))
    starts = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1]))) if len(group) else np.zeros(0, int)
    made = []
    for start, end in zip(starts, np.append(starts[1:], len(group))):
        part = slice(start, end)
        made.append(_Scores(int(group[start]), _matrix(rater[part], item[part], score[part], settings)))
    return made


def _entries(study: Study, criterion: int) -> tuple[NDArray[np.int32], ...]:
    """group, rater, item and score (higher = better) of every judged item."""
    rankings = study.rankings
    rows = np.flatnonzero((rankings.criterion == criterion) & (rankings.repeat == 0))
    if len(rows):
        lengths = np.diff(rankings.offsets)
        chosen = np.repeat(np.isin(np.arange(len(rankings)), rows), lengths)
        row = np.repeat(np.arange(len(rankings)), lengths)[chosen]
        return rankings.group[row], rankings.rater[row], rankings.items[chosen], -rankings.ranks[chosen]
    ratings = study.ratings
    rows = np.flatnonzero((ratings.criterion == criterion) & (ratings.repeat == 0))
    scale = study.criteria[criterion].scale
    sign = -1 if scale is not None and not scale.higher_is_better else 1
    if len(rows):
        return ratings.group[rows], ratings.rater[rows], ratings.item[rows], sign * ratings.value[rows]
    raise TooFew(
        "an anchor needs rankings or ratings",
        found="only comparisons or other judgments",
        where=f"study {study.name!r}",
        remedy="run salon check on the study itself",
    )


def _matrix(
    rater: NDArray[np.int32], item: NDArray[np.int32], score: NDArray[np.float64], settings: AnchorSettings
) -> NDArray[np.float32]:
    raters, row = np.unique(rater, return_inverse=True)
    items, column, judged = np.unique(item, return_inverse=True, return_counts=True)
    most = np.argsort(-judged, kind="stable")[: settings.top_items]
    place = np.full(len(items), -1)
    place[np.sort(most)] = np.arange(len(most))  # item order is kept: `stable` breaks ties by it
    kept = place[column] >= 0
    matrix = np.full((len(raters), len(most)), np.nan, np.float32)
    matrix[row[kept], place[column[kept]]] = score[kept]
    return matrix


def _dropped(study: Study, settings: AnchorSettings) -> NDArray[np.int64]:
    """Items of the generators or sources to leave out."""
    if not settings.drop:
        return np.zeros(0, np.int64)
    table = study.table("items")
    hit = np.zeros(table.num_rows, bool)
    for name in ("generator", "source"):
        if name in table.column_names:
            hit |= np.isin(np.array(table.column(name).cast("string").to_pylist(), object), settings.drop)
    if not hit.any():
        raise UnknownReference("items to drop must exist", found=", ".join(settings.drop), where="generator or source")
    return np.flatnonzero(hit)


def _top_generators(study: Study, item, group, rater, score, most: int) -> NDArray[np.int64]:  # type: ignore[no-untyped-def]
    """Items of the `most` generators with the best mean rank within a rater's answer."""
    table = study.table("items")
    if "generator" not in table.column_names:
        raise UnknownReference("--top-generators needs items that name their generator", found="none do")
    column = table.column("generator").combine_chunks()
    code = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    order = np.lexsort((-score, rater, group))
    starts = np.concatenate(([True], (np.diff(group[order]) != 0) | (np.diff(rater[order]) != 0)))
    first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
    rank = np.arange(len(order)) - first
    of = code[item[order]]
    named = of >= 0
    counts = np.bincount(of[named], minlength=len(column.dictionary))
    mean = np.bincount(of[named], weights=rank[named], minlength=len(column.dictionary)) / np.maximum(counts, 1)
    mean[counts == 0] = np.inf
    return np.flatnonzero(np.isin(code, np.argsort(mean, kind="stable")[:most]))


def _draw(
    groups: list[_Scores], settings: AnchorSettings, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int64], int]:
    """Scores (n, R, p) of the draws, the cluster of each, and how many groups or panels could give none."""
    clusters = len(groups)
    if clusters == 1:
        made = _panels(groups[0].scores, settings, rng)
        clusters = len(groups[0].scores) // settings.raters
    else:
        # As in a check, a rater counts in a prompt when they judged all of it; catalogues too sparse for that fall
        # back on whatever items a panel shares.
        whole = [one.scores[np.isfinite(one.scores).all(axis=1)] for one in groups]
        fit = [scores for scores in whole if len(scores) >= settings.raters and scores.shape[1] >= settings.items]
        wanted = -(-settings.draws // max(len(fit), 1))
        made = [_within(scores, wanted, settings, rng) for scores in fit]
        if not made:
            wanted = -(-settings.draws // max(len(groups), 1))
            made = [_sharing(one.scores, wanted, settings, rng) for one in groups]
    made = [drawn for drawn in made if len(drawn)]
    if not made:
        raise TooFew(
            f"{settings.raters} raters who judged the same {settings.items} items are needed",
            found=f"no such panel in {len(groups)} groups",
            remedy="ask for fewer items or raters",
        )
    cluster = np.repeat(np.arange(len(made)), [len(drawn) for drawn in made])
    return np.concatenate(made), cluster, clusters - len(made)


def _within(
    scores: NDArray[np.float32], wanted: int, settings: AnchorSettings, rng: np.random.Generator
) -> NDArray[np.float32]:
    """`wanted` draws of R raters and p items from a matrix without gaps; items keep their order."""
    raters = rng.random((wanted, scores.shape[0])).argsort(axis=1)[:, : settings.raters]
    items = np.sort(rng.random((wanted, scores.shape[1])).argsort(axis=1)[:, : settings.items], axis=1)
    return scores[raters[:, :, None], items[:, None, :]]


def _sharing(
    scores: NDArray[np.float32], wanted: int, settings: AnchorSettings, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Up to `wanted` draws of R raters and p of the items they share."""
    made = []
    for _ in range(wanted * (len(scores) >= settings.raters)):
        for _ in range(MAX_TRIES):
            panel = scores[rng.permutation(len(scores))[: settings.raters]]
            shared = panel[:, np.isfinite(panel).all(axis=0)]
            if shared.shape[1] >= settings.items:
                made.append(_within(shared, 1, settings, rng)[0])
                break
        else:
            break
    return np.array(made, np.float32)


def _panels(
    scores: NDArray[np.float32], settings: AnchorSettings, rng: np.random.Generator
) -> list[NDArray[np.float32]]:
    """Raters of one group dealt once into disjoint panels, each giving the same number of draws from its items."""
    R = settings.raters
    dealt = rng.permutation(len(scores))[: len(scores) // R * R].reshape(-1, R)
    shared = [scores[panel][:, np.isfinite(scores[panel]).all(axis=0)] for panel in dealt]
    usable = [panel for panel in shared if panel.shape[1] >= settings.items]
    return [_within(panel, -(-settings.draws // len(usable)), settings, rng) for panel in usable]


def _figures(ranks: NDArray[np.int8]) -> Figures:
    """T, mean p_max and the cycle indicator of every draw."""
    _, R, p = ranks.shape
    k = votes_rankings(ranks)
    cyclic = cycles(k, R, p) if cycles_possible(p, R) else np.zeros(len(ranks))
    return {"T": kendall_t(k, R), "p_max": p_max(k, R).mean(axis=1), "cycle": cyclic.astype(float)}


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
    cluster: NDArray[np.int64],
    settings: AnchorSettings,
    rng: np.random.Generator,
) -> dict[str, Interval]:
    """Percentile intervals from whole clusters drawn again."""
    clusters = int(cluster.max()) + 1
    weights = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=RESAMPLES).astype(float)
    drawn = _statistics(figures, cluster, weights)
    return {
        name: percentiles(name, value, drawn[name], clusters, settings.level)
        for name in ANCHORED
        if (value := values[name]) is not None
    }


def _tie_rate(drawn: NDArray[np.float32]) -> float:
    p = drawn.shape[2]
    tied = sum(float((drawn[:, :, i] == drawn[:, :, j]).mean()) for i in range(p) for j in range(i))
    return tied / (p * (p - 1) / 2)


def _policies(settings: AnchorSettings, left_out: int) -> tuple[str, ...]:
    ties = (
        "ties broken at random, afresh in every draw"
        if settings.ties == "random"
        else "ties broken by item order, the same for every rater"
    )
    if not cycles_possible(settings.items, settings.raters):
        ties += f"; strict majorities of {settings.raters} raters on {settings.items} items cannot cycle"
    gaps = f"a draw uses only raters who judged all its items; {left_out:,} prompts or panels gave no draw"
    return (ties, gaps)


def _warnings(settings: AnchorSettings, control: float, tau: float) -> tuple[str, ...]:
    if settings.ties == "random":
        return ()
    return (
        f"--ties stable breaks ties the same way for every rater, which manufactures agreement: with every rater's "
        f"values shuffled, so that no preference is left, mean tau is still {control:+.3f} (of {tau:+.3f} reported)",
    )
