"""Predicted scores against targets: arrays in, the figures of `salon distill evaluate` out.

A cell is one criterion on the items of one group (a category, a prompt, or all). Correlations are means over cells, as
PPaint's tables are. Errors, means and spreads are over all items and criteria together. Intervals draw prompts (items
without a shared prompt) anew. Every scorer sees the same draws, so the difference of two is a difference draw by draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue, TooFew
from salon.evaluate.results import (
    Checkpoint,
    CheckpointChoice,
    Histogram,
    Missing,
    OverBase,
    PartDifference,
    RaterLevel,
    ScoreAgreement,
    ScoreEvaluationSettings,
    ScorePart,
    ScorerDifference,
    ScorerFigures,
    ScorerGroup,
    TargetFigures,
)
from salon.stats import BOTH_SIDES, UNBOUNDED, Ends, Estimate, agreement_draws, interval, lowest_filling
from salon.study import CompareWithin, Signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_FOLDS = 500
"""Clusters up to which intervals are corrected for bias by leaving out each one; with more it is too small to see."""
LEAST = 3
"""Items of a cell that has a correlation."""
CORRELATIONS = ("srcc", "plcc", "krcc")
_ROUNDING = 1e-12
"""Of a variance, over the squared mean: sums of equal numbers differ by that much."""
_SUMS = ("abs", "square", "n", "x", "xx", "nx", "y", "yy", "ny")


@dataclass(frozen=True)
class ScoreFrame:
    """The items and criteria of an evaluation."""

    items: tuple[str, ...]
    criteria: tuple[tuple[str, str], ...]
    """(id, name)"""
    groups: tuple[str, ...]
    group: Ints
    """(items,) whose order is looked at together."""
    within: CompareWithin
    prompt: Ints
    """(items,) number of the prompt; items without one have a number of their own."""
    categories: tuple[str, ...]
    category: Ints
    """(items,)"""

    @property
    def by_prompt(self) -> bool:
        """Whether prompts are drawn anew: some prompt has several items."""
        return self.within == "prompt" or len(np.unique(self.prompt)) < len(self.items)


@dataclass(frozen=True)
class Target:
    """What predictions are held against."""

    name: str
    values: Floats
    """(items, criteria), NaN where there is none."""
    low: float | None = None
    high: float | None = None
    """Ends of the scale; None where it has none."""
    scale_of: Ints | None = None
    """(items,) items with the same number share a scale; None: all do."""


@dataclass(frozen=True)
class Prediction:
    """What a scorer says; higher is better."""

    name: str
    values: Floats
    """(items, criteria), NaN where it gave none or does not speak about the criterion."""
    speaks: NDArray[np.bool_]
    """(criteria,)"""
    low: float | None = None
    high: float | None = None
    """What its card says of its range."""
    is_logit: bool = False
    signature: str = ""
    group: ScorerGroup = "baseline"
    labels: str = ""
    """What a trained one was trained on."""
    base: str = ""
    """Name of the untrained VLM that it is held against; empty without one."""

    def is_on(self, target: Target) -> bool:
        """Whether its numbers are on the target's scale: its card says so, or without a card's word they lie inside."""
        if target.low is None or target.high is None or self.is_logit:
            return False
        if self.low is not None and self.high is not None:
            return (self.low, self.high) == (target.low, target.high)
        there = self.values[np.isfinite(self.values)]
        return bool(len(there) and (there >= target.low).all() and (there <= target.high).all())


@dataclass(frozen=True)
class ScoreDraws:
    """How often each item, and each cell, is in each draw: the data as they are, the draws, then folds without one
    cluster each.
    """

    items: Floats
    """(rows, items), or (1, items) where cells are drawn."""
    groups: Floats
    """(rows, groups), or (1, groups) where items are drawn."""


@dataclass(frozen=True)
class ScoreCells:
    """One scorer against one target, cell by cell."""

    criterion: Ints
    group: Ints
    correlations: Floats
    """(draws or 1, cells, 3); NaN where there is none."""
    sums: dict[str, Floats]
    """(draws or 1, cells) by name: what pooled figures are made of."""
    scored_srcc: Floats
    """(cells,) over items with a prediction."""
    wanted: Ints
    scored: Ints
    constant: NDArray[np.bool_]
    weights: Floats
    """(draws or 1, cells)"""
    units: tuple[Ints, ...]
    """(cells) numbers of the prompts (of items, where each has its own) that a cell rests on."""

    def count(self, chosen: NDArray[np.bool_]) -> int:
        """Prompts or items behind the chosen cells: what figures over them rest on."""
        return len(np.unique(np.concatenate([self.units[n] for n in np.flatnonzero(chosen)])))


def make_draws(frame: ScoreFrame, draws: int, seed: int) -> ScoreDraws:
    """Prompts (or items) drawn anew within each group of items; where groups are prompts, the groups themselves."""
    rng = np.random.default_rng([seed, 10])
    if frame.within == "prompt":
        count = len(frame.groups)
        counts = rng.multinomial(count, np.full(count, 1 / count), size=draws)
        rows = np.vstack([np.ones(count), counts, *([1 - np.eye(count)] if count <= MOST_FOLDS else [])])
        return ScoreDraws(np.ones((1, len(frame.items))), rows)
    weights = np.ones((1 + draws, len(frame.items)))
    for number in range(len(frame.groups)):
        own = np.flatnonzero(frame.group == number)
        _, cluster = np.unique(frame.prompt[own], return_inverse=True)
        count = int(cluster.max()) + 1
        weights[1:, own] = rng.multinomial(count, np.full(count, 1 / count), size=draws)[:, cluster]
    _, cluster = np.unique(frame.prompt, return_inverse=True)
    count = int(cluster.max()) + 1
    folds = [(np.arange(count)[:, None] != cluster).astype(float)] if count <= MOST_FOLDS else []
    return ScoreDraws(np.vstack([weights, *folds]), np.ones((1, len(frame.groups))))


def make_cells(
    frame: ScoreFrame, target: Target, predicted: Prediction, draws: ScoreDraws, missing: Missing
) -> ScoreCells:
    """What the scorer gives in every cell with a target; see `Cells`."""
    on_scale = predicted.is_on(target)
    ends = (target.low, target.high) if on_scale and target.low is not None and target.high is not None else None
    entries: list[tuple[int, int, _Cell, Ints]] = []
    for c in np.flatnonzero(predicted.speaks):
        for g in range(len(frame.groups)):
            own = np.flatnonzero((frame.group == g) & np.isfinite(target.values[:, c]))
            if len(own):
                if target.scale_of is not None and len(np.unique(target.scale_of[own])) > 1:
                    raise BadValue(
                        "items whose targets share a scale are needed"
                        + (" with --within all" if frame.within == "all" else f" within a {frame.within}"),
                        found=f"{target.name}: items that were never compared with each other",
                        remedy="--within prompt or category as the study compares, or a target on the rating scale",
                    )
                y, x = target.values[own, c], predicted.values[own, c]
                cell = _cell(x, y, draws.items[:, own], ends, missing)
                used = own[np.isfinite(x)] if missing == "scored" else own
                entries.append((int(c), g, cell, np.unique(frame.prompt[used])))
    if not entries:
        raise TooFew("items with a target that the scorer speaks about are needed", found="none", where=predicted.name)
    cells = [cell for _, _, cell, _ in entries]
    group = np.array([g for _, g, _, _ in entries])
    return ScoreCells(
        criterion=np.array([c for c, _, _, _ in entries]),
        group=group,
        correlations=np.stack([cell.correlations for cell in cells], axis=1),
        sums={name: np.stack([cell.sums[name] for cell in cells], axis=1) for name in _SUMS},
        scored_srcc=np.array([cell.scored_srcc for cell in cells]),
        wanted=np.array([cell.wanted for cell in cells]),
        scored=np.array([cell.scored for cell in cells]),
        constant=np.array([cell.constant for cell in cells]),
        weights=draws.groups[:, group],
        units=tuple(units for _, _, _, units in entries),
    )


class _Cell(NamedTuple):
    """One cell of `Cells`."""

    correlations: Floats
    sums: dict[str, Floats]
    scored_srcc: float
    wanted: int
    scored: int
    constant: bool


def _cell(x: Floats, y: Floats, w: Floats, ends: tuple[float, float] | None, missing: Missing) -> _Cell:
    there = np.isfinite(x)
    used = there if missing == "scored" else np.ones(len(x), bool)
    filled = lowest_filling(x, y) if missing == "worst" else np.where(there, x, 0.0)
    correlations = np.full((len(w), 3), np.nan)
    if used.sum() >= LEAST:
        correlations = agreement_draws(filled[used], y[used], w[:, used])[:, :3]
        spread = agreement_draws(y[used], y[used], w[:, used])[:, 0]  # 1 where the target varies, else NaN
        correlations = np.where(np.isnan(correlations) & ~np.isnan(spread)[:, None], 0.0, correlations)
    # distances; of a missing prediction the largest that the scale allows, or NaN where it is left out
    if ends is None:
        error = np.full(len(x), np.nan)
    else:
        worst = np.maximum(np.abs(y - ends[0]), np.abs(ends[1] - y)) if missing == "worst" else np.full(len(x), np.nan)
        error = np.where(np.isfinite(x), np.abs(x - y), worst)
    zero_filled = np.where(there, x, 0.0)
    has_error = np.isfinite(error)
    sums = {
        "abs": w[:, has_error] @ error[has_error],
        "square": w[:, has_error] @ error[has_error] ** 2,
        "n": w[:, has_error].sum(axis=1),
        "x": w @ zero_filled,
        "xx": w @ zero_filled**2,
        "nx": w @ there.astype(float),
        "y": w @ y,
        "yy": w @ y**2,
        "ny": w.sum(axis=1),
    }
    alone = agreement_draws(x[there], y[there], np.ones(there.sum()))[0, 0] if there.sum() >= LEAST else np.nan
    varies = len(np.unique(y)) > 1
    constant = bool(there.any() and varies and len(np.unique(x[there])) == 1)
    scored_srcc = 0.0 if constant and there.sum() >= LEAST else float(alone)
    return _Cell(correlations, sums, scored_srcc, len(x), int(there.sum()), constant)


def pool_cells(cells: ScoreCells, chosen: Sequence[bool] | NDArray[np.bool_]) -> dict[str, Floats]:
    """Every figure over the chosen cells, (rows,) each; NaN where it is not defined."""
    take = np.flatnonzero(np.asarray(chosen))
    w = cells.weights[:, take]
    figures: dict[str, Floats] = {}
    for number, name in enumerate(CORRELATIONS):
        correlations = cells.correlations[:, take, number]
        there = ~np.isnan(correlations) * w
        figures[name] = _over((np.nan_to_num(correlations) * w).sum(axis=1), there.sum(axis=1))
    s = {name: (part[:, take] * w).sum(axis=1) for name, part in cells.sums.items()}
    figures["mae"], figures["rmse"] = _over(s["abs"], s["n"]), np.sqrt(_over(s["square"], s["n"]))
    figures["mean"], figures["sd"] = _moments(s["x"], s["xx"], s["nx"])
    figures["target_mean"], figures["target_sd"] = _moments(s["y"], s["yy"], s["ny"])
    figures["spread"] = _over(figures["sd"], figures["target_sd"])
    figures["shift"] = figures["mean"] - figures["target_mean"]
    return figures


def _moments(total: Floats, square: Floats, n: Floats) -> tuple[Floats, Floats]:
    mean = _over(total, n)
    level = np.nan_to_num(mean) ** 2
    variance = _over(square - n * level, n - 1)
    return mean, np.sqrt(np.where(variance < _ROUNDING * (1 + level), 0.0, variance))


def _over(top: Floats, bottom: Floats) -> Floats:
    top, bottom = np.broadcast_arrays(top, bottom)
    values: Floats = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    return values


# -- figures -----------------------------------------------------------------------------------------------------------

BINS = 16
WIDE = 2.0
"""Spread over the target's above which predictions are stretched."""


def target_figures(
    frame: ScoreFrame,
    target: Target,
    predicted: Sequence[Prediction],
    draws: ScoreDraws,
    settings: ScoreEvaluationSettings,
    rater_level: RaterLevel | None = None,
) -> TargetFigures:
    """Every scorer against one target, and every two of them against each other."""
    cells = {own.name: make_cells(frame, target, own, draws, settings.missing) for own in predicted}
    scorers = [_scorer(frame, target, own, cells[own.name], settings) for own in predicted]
    bases = {own.name: own for own in predicted if own.group == "base"}
    scorers.sort(key=lambda scorer: -(scorer.overall.srcc.value if scorer.overall.srcc else -2))
    return TargetFigures(
        name=target.name,
        low=target.low,
        high=target.high,
        items=int(np.isfinite(target.values).any(axis=1).sum()),
        rater_level=rater_level,
        scorers=tuple(scorers),
        differences=tuple(_differences(frame, [scorer.name for scorer in scorers], cells, settings)),
        over_base=tuple(
            _over_base(frame, target, own, bases[own.base], (cells[own.name], cells[own.base]), settings)
            for own in predicted
            if own.base in bases and _common(cells[own.name], cells[own.base]).any()
        ),
    )


def choose(
    frame: ScoreFrame,
    target: Target,
    candidates: Sequence[Prediction],
    draws: ScoreDraws,
    settings: ScoreEvaluationSettings,
) -> CheckpointChoice:
    """The candidate with the highest SRCC on a validation target; the first of equals."""
    correlations = [
        target_figures(frame, target, [candidate], draws, settings).scorers[0].overall.srcc for candidate in candidates
    ]
    best = max(range(len(correlations)), key=lambda n: (-2.0 if (one := correlations[n]) is None else one.value, -n))
    return CheckpointChoice(
        chosen=candidates[best].name,
        target=target.name,
        items=int(np.isfinite(target.values).any(axis=1).sum()),
        candidates=tuple(
            Checkpoint(name=candidate.name, srcc=srcc) for candidate, srcc in zip(candidates, correlations)
        ),
    )


def rater_level(
    frame: ScoreFrame, ratings: Sequence[tuple[str, Floats]], draws: ScoreDraws, settings: ScoreEvaluationSettings
) -> RaterLevel | None:
    """Each rater's ratings (items, criteria) against the mean of the others' on the items both rated."""
    if len(ratings) < 2:
        return None
    stacked = np.stack([values for _, values in ratings])
    there = np.isfinite(stacked)
    total, count = np.nansum(stacked, axis=0), there.sum(axis=0)
    parts: list[tuple[Floats, Floats]] = []
    units: list[NDArray[np.int64]] = []
    for (_, values), own in zip(ratings, there):
        rest = np.where(own & (count > 1), (total - np.nan_to_num(values)) / np.maximum(count - 1, 1), np.nan)
        if not np.isfinite(rest).any():
            continue
        speaks = np.asarray(np.isfinite(rest).any(axis=0))
        cells = make_cells(frame, Target("others", rest), Prediction("rater", values, speaks), draws, "scored")
        parts += [(cells.correlations[:, n, :2], cells.weights[:, n]) for n in range(len(cells.criterion))]
        units += cells.units
    if not parts:
        return None
    correlations, w = np.stack([c for c, _ in parts], axis=1), np.stack([w for _, w in parts], axis=1)[:, :, None]
    there = ~np.isnan(correlations) * w
    with np.errstate(invalid="ignore"):
        mean = (np.nan_to_num(correlations) * w).sum(axis=1) / there.sum(axis=1)
    count = len(np.unique(np.concatenate(units)))
    srcc, plcc = (_figure(mean[:, n], count, frame, settings, BOTH_SIDES) for n in range(2))
    return RaterLevel(srcc=srcc, plcc=plcc, raters=len(ratings), groups=len(parts))


# -- one scorer --------------------------------------------------------------------------------------------------------


def _scorer(
    frame: ScoreFrame, target: Target, prediction: Prediction, cells: ScoreCells, settings: ScoreEvaluationSettings
) -> ScorerFigures:
    same = prediction.is_on(target)
    overall = _score_agreement(frame, cells, np.ones(len(cells.criterion), bool), settings, same=same)
    kind, words = _scale_words(overall, settings, same=same)
    return ScorerFigures(
        name=prediction.name,
        overall=overall,
        categories=tuple(
            ScorePart(id=name, name=name, agreed=_score_agreement(frame, cells, chosen, settings, same=same))
            for name, chosen in _categories(frame, cells)
        ),
        criteria=tuple(
            ScorePart(
                id=id, name=name, agreed=_score_agreement(frame, cells, cells.criterion == c, settings, same=same)
            )
            for c, (id, name) in enumerate(frame.criteria)
            if (cells.criterion == c).any()
        ),
        same_scale=same,
        scale=kind,
        words=words,
        histogram=_histogram(target, prediction) if same else None,
        signature=prediction.signature,
        group=prediction.group,
        labels=prediction.labels,
    )


def _categories(frame: ScoreFrame, cells: ScoreCells) -> list[tuple[str, NDArray[np.bool_]]]:
    """The cells of each category, where groups of items lie in one category each."""
    if len(frame.categories) < 2 or frame.within == "all":
        return []
    of_group = np.full(len(frame.groups), -1)
    of_group[frame.group] = frame.category
    parts = [(name, of_group[cells.group] == number) for number, name in enumerate(frame.categories)]
    return [(name, chosen) for name, chosen in parts if chosen.any()]


def _score_agreement(
    frame: ScoreFrame, cells: ScoreCells, chosen: NDArray[np.bool_], settings: ScoreEvaluationSettings, *, same: bool
) -> ScoreAgreement:
    count = cells.count(chosen)
    figures = {
        name: _figure(values, count, frame, settings, BOTH_SIDES if name in CORRELATIONS else UNBOUNDED)
        for name, values in pool_cells(cells, chosen).items()
    }
    if not same:
        figures |= dict.fromkeys(("mae", "rmse", "shift", "spread"))
    defined = ~np.isnan(cells.correlations[0, :, 0]) & chosen
    alone = cells.scored_srcc[chosen & ~np.isnan(cells.scored_srcc)]
    return ScoreAgreement(
        **figures,
        scored_srcc=float(alone.mean()) if len(alone) else None,
        wanted=int(cells.wanted[chosen].sum()),
        scored=int(cells.scored[chosen].sum()),
        groups=int(defined.sum()),
        constant=int(cells.constant[chosen].sum()),
        left_out=int((chosen & ~defined).sum()),
    )


def _figure(
    values: Floats, n: int, frame: ScoreFrame, settings: ScoreEvaluationSettings, within: Ends = UNBOUNDED
) -> Estimate | None:
    """The first value with the interval of the others, over n prompts or items; None where it is not defined."""
    if np.isnan(values[0]):
        return None
    unit = "prompt" if frame.by_prompt else "item"
    if len(values) == 1 or n < 2:
        return Estimate(float(values[0]), None, None, n, unit, settings.level, "no interval")
    draws, folds = values[1 : 1 + settings.draws], values[1 + settings.draws :]
    usable = folds if len(folds) and np.isfinite(folds).all() else None
    return interval(float(values[0]), draws, n=n, unit=unit, level=settings.level, folds=usable, within=within)


def _scale_words(overall: ScoreAgreement, settings: ScoreEvaluationSettings, *, same: bool) -> tuple[str, str]:
    """What became of the scale, as a kind and as a sentence."""
    if overall.mean is None or overall.sd is None or overall.target_sd is None:
        return "none", "it gave no numbers to compare"
    if not same or overall.spread is None or overall.shift is None:
        return "own scale", "its numbers are on a scale of their own: only its order can be compared"
    spread, away = overall.spread.value, overall.shift.value / overall.target_sd.value
    summary = (
        f"predictions have a mean of {overall.mean.value:.2f} and a spread of {overall.sd.value:.2f}, "
        f"the target {overall.target_mean.value:.2f} and {overall.target_sd.value:.2f}"
    )
    narrow, shifted = spread < settings.narrow, abs(away) > settings.shifted
    if narrow and shifted:
        return "collapsed and shifted", f"collapsed to a narrow band {_side(away)} the target's mean: {summary}"
    if narrow:
        return "collapsed", f"collapsed to a narrow band: {summary}"
    if shifted:
        return "shifted", f"shifted {_side(away)} the target: {summary}"
    if spread > WIDE:
        return "stretched", f"stretched beyond the target: {summary}"
    return "keeps", f"keeps the target's level and spread: {summary}"


def _side(away: float) -> str:
    return "above" if away > 0 else "below"


def _histogram(target: Target, prediction: Prediction) -> Histogram | None:
    if target.low is None or target.high is None:
        return None
    edges = np.linspace(target.low, target.high, BINS + 1)
    used = np.isfinite(target.values) & prediction.speaks[None, :]
    predictions = prediction.values[used & np.isfinite(prediction.values)]
    counts = [np.histogram(np.clip(v, target.low, target.high), edges)[0] for v in (target.values[used], predictions)]
    return Histogram(
        centers=tuple(((edges[:-1] + edges[1:]) / 2).tolist()),
        target=tuple(counts[0].tolist()),
        predicted=tuple(counts[1].tolist()),
    )


# -- two scorers -------------------------------------------------------------------------------------------------------


def _differences(
    frame: ScoreFrame, names: Sequence[str], cells: dict[str, ScoreCells], settings: ScoreEvaluationSettings
) -> list[ScorerDifference]:
    """Best first; only scorers with the same cells, so that nothing but the scorer differs."""
    differences = []
    for first, second in combinations(names, 2):
        a, b = cells[first], cells[second]
        if not (np.array_equal(a.criterion, b.criterion) and np.array_equal(a.group, b.group)):
            continue
        everything = np.ones(len(a.criterion), bool)
        first_figures, second_figures = pool_cells(a, everything), pool_cells(b, everything)
        count = a.count(everything)
        srcc = _figure(first_figures["srcc"] - second_figures["srcc"], count, frame, settings)
        if srcc is None:
            continue
        apart = srcc.low is not None and srcc.high is not None and not srcc.low <= 0 <= srcc.high
        mae = _figure(first_figures["mae"] - second_figures["mae"], count, frame, settings)
        differences.append(ScorerDifference(first=first, second=second, srcc=srcc, mae=mae, apart=apart))
    return differences


def _over_base(
    frame: ScoreFrame, target: Target, prediction: Prediction, base: Prediction, cells: tuple[ScoreCells, ScoreCells],
    settings: ScoreEvaluationSettings,
) -> OverBase:  # fmt: skip
    """A trained scorer less its base, over the cells that both have."""
    own, base_cells = cells
    shared = _common(own, base_cells)
    same = prediction.is_on(target) and base.is_on(target)

    def less(name: str, chosen: NDArray[np.bool_]) -> Estimate | None:
        own_pairs = set(zip(own.criterion[chosen].tolist(), own.group[chosen].tolist()))
        matching = np.array(
            [pair in own_pairs for pair in zip(base_cells.criterion.tolist(), base_cells.group.tolist())]
        )
        return _figure(
            pool_cells(own, chosen)[name] - pool_cells(base_cells, matching)[name], own.count(chosen), frame, settings
        )

    def parts(entries: Sequence[tuple[str, str, NDArray[np.bool_]]]) -> tuple[PartDifference, ...]:
        return tuple(
            PartDifference(id=id, name=name, srcc=less("srcc", chosen & shared), plcc=less("plcc", chosen & shared))
            for id, name, chosen in entries
            if (chosen & shared).any()
        )

    srcc = less("srcc", shared)
    return OverBase(
        scorer=prediction.name, base=base.name, srcc=srcc, plcc=less("plcc", shared),
        mae=less("mae", shared) if same else None, rmse=less("rmse", shared) if same else None,
        mean=less("mean", shared) if same else None,
        apart=srcc is not None and srcc.low is not None and srcc.high is not None and not srcc.low <= 0 <= srcc.high,
        categories=parts([(name, name, chosen) for name, chosen in _categories(frame, own)]),
        criteria=parts([(id, name, own.criterion == c) for c, (id, name) in enumerate(frame.criteria)]),
    )  # fmt: skip


def _common(own: ScoreCells, base_cells: ScoreCells) -> NDArray[np.bool_]:
    """Which of a scorer's cells another has too."""
    there = set(zip(base_cells.criterion.tolist(), base_cells.group.tolist()))
    return np.array([pair in there for pair in zip(own.criterion.tolist(), own.group.tolist())], bool)


def signature_of(
    data: str,
    revision: int | None,
    frame: ScoreFrame,
    targets: Sequence[Target],
    predicted: Sequence[Prediction],
    settings: ScoreEvaluationSettings,
) -> Signature:
    """What would have to be equal for the same numbers."""
    values = {
        "targets": ",".join(f"{item.name}@{_digest(item.values)}" for item in targets),
        "scorers": ",".join(f"{item.name}@{_digest(item.values)}" for item in predicted),
        "within": frame.within,
        "missing": settings.missing,
        "draws": settings.draws,
        "level": settings.level,
    }
    return Signature(method="distill evaluate", data=data, revision=revision, settings=values, seed=settings.seed)


def _digest(values: Floats) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:12]
