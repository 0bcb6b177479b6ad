"""Predicted scores against targets: arrays in, the report of `salon distill evaluate` out.

Correlations are means over cells (a criterion on the items of one group), as PPaint's tables are. Errors, means and
spreads are over all items and criteria together. Intervals draw prompts (items without a shared prompt) anew, all
scorers together; see `score_evaluation_draws`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from salon.evaluate.results import (
    Checkpoint,
    CheckpointChoice,
    Histogram,
    OverBase,
    PartDifference,
    RaterLevel,
    ScoreAgreement,
    ScoreEvaluationSettings,
    ScorePart,
    ScorerDifference,
    ScorerFigures,
    TargetFigures,
)
from salon.evaluate.score_cells import (
    CORRELATIONS,
    Floats,
    Prediction,
    ScoreCells,
    ScoreDraws,
    ScoreFrame,
    Target,
    make_cells,
    pool_cells,
)
from salon.stats.intervals import BOTH_SIDES, UNBOUNDED, Ends, interval
from salon.stats.result import Estimate
from salon.study import Signature

BINS = 16
WIDE = 2.0
"""Spread over the target's above which predictions are stretched."""
MISSING_WORDS = {
    "worst": "Missing predictions: in correlations they get the numbers that make SRCC lowest, in MAE and RMSE the "
    "largest error of the scale; means and spreads are of the predictions there are. So leaving out a hard item never "
    "improves MAE, RMSE or an SRCC above 0; PLCC and KRCC are of the same numbers. SRCC over scored items alone stands "
    "beside it.",
    "scored": "Missing predictions: left out of every figure. Leaving out a hard item can raise a correlation: look at "
    "the coverage.",
}
COMMON = (
    "Correlations are means over groups and criteria, each counting alike; groups with fewer than 3 items or with one "
    "target value have none. Where all predictions of a group are equal its correlation counts 0.",
    "MAE and RMSE only where a scorer is on the target's scale: its card names the same ends or, without a card, all "
    "its numbers lie inside.",
)


def target_figures(
    frame: ScoreFrame,
    target: Target,
    predicted: Sequence[Prediction],
    draws: ScoreDraws,
    settings: ScoreEvaluationSettings,
    rater_level: RaterLevel | None = None,
) -> TargetFigures:
    """Every scorer against one target, and every two of them against each other."""
    cells = {one.name: make_cells(frame, target, one, draws, settings.missing) for one in predicted}
    made = [_scorer(frame, target, one, cells[one.name], settings) for one in predicted]
    bases = {one.name: one for one in predicted if one.group == "base"}
    made.sort(key=lambda one: -(one.overall.srcc.value if one.overall.srcc else -2))
    return TargetFigures(
        name=target.name,
        low=target.low,
        high=target.high,
        items=int(np.isfinite(target.values).any(axis=1).sum()),
        rater_level=rater_level,
        scorers=tuple(made),
        differences=tuple(_differences(frame, [one.name for one in made], cells, settings)),
        over_base=tuple(
            _over_base(frame, target, one, bases[one.base], (cells[one.name], cells[one.base]), settings)
            for one in predicted
            if one.base in bases and _common(cells[one.name], cells[one.base]).any()
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
    found = [target_figures(frame, target, [one], draws, settings).scorers[0].overall.srcc for one in candidates]
    best = max(range(len(found)), key=lambda n: (-2.0 if (one := found[n]) is None else one.value, -n))
    return CheckpointChoice(
        chosen=candidates[best].name,
        target=target.name,
        items=int(np.isfinite(target.values).any(axis=1).sum()),
        candidates=tuple(Checkpoint(name=one.name, srcc=srcc) for one, srcc in zip(candidates, found)),
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
        others = np.where(own & (count > 1), (total - np.nan_to_num(values)) / np.maximum(count - 1, 1), np.nan)
        if not np.isfinite(others).any():
            continue
        speaks = np.asarray(np.isfinite(others).any(axis=0))
        cells = make_cells(frame, Target("others", others), Prediction("rater", values, speaks), draws, "scored")
        parts += [(cells.correlations[:, n, :2], cells.weights[:, n]) for n in range(len(cells.criterion))]
        units += cells.units
    if not parts:
        return None
    held, w = np.stack([c for c, _ in parts], axis=1), np.stack([w for _, w in parts], axis=1)[:, :, None]
    there = ~np.isnan(held) * w
    with np.errstate(invalid="ignore"):
        mean = (np.nan_to_num(held) * w).sum(axis=1) / there.sum(axis=1)
    count = len(np.unique(np.concatenate(units)))
    srcc, plcc = (_figure(mean[:, n], count, frame, settings, BOTH_SIDES) for n in range(2))
    return RaterLevel(srcc=srcc, plcc=plcc, raters=len(ratings), groups=len(parts))


# -- one scorer --------------------------------------------------------------------------------------------------------


def _scorer(
    frame: ScoreFrame, target: Target, one: Prediction, cells: ScoreCells, settings: ScoreEvaluationSettings
) -> ScorerFigures:
    same = one.is_on(target)
    overall = _score_agreement(frame, cells, np.ones(len(cells.criterion), bool), settings, same=same)
    kind, words = _scale_words(overall, settings, same=same)
    return ScorerFigures(
        name=one.name,
        overall=overall,
        categories=tuple(_parts(frame, cells, settings, same=same)),
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
        histogram=_histogram(target, one) if same else None,
        signature=one.signature,
        group=one.group,
        labels=one.labels,
    )


def _parts(frame: ScoreFrame, cells: ScoreCells, settings: ScoreEvaluationSettings, *, same: bool) -> list[ScorePart]:
    """Category by category."""
    return [
        ScorePart(id=name, name=name, agreed=_score_agreement(frame, cells, chosen, settings, same=same))
        for name, chosen in _categories(frame, cells)
    ]


def _categories(frame: ScoreFrame, cells: ScoreCells) -> list[tuple[str, NDArray[np.bool_]]]:
    """The cells of each category, where groups of items lie in one category each."""
    if len(frame.categories) < 2 or frame.within == "all":
        return []
    of_group = np.full(len(frame.groups), -1)
    of_group[frame.group] = frame.category
    found = [(name, of_group[cells.group] == number) for number, name in enumerate(frame.categories)]
    return [(name, chosen) for name, chosen in found if chosen.any()]


def _score_agreement(
    frame: ScoreFrame, cells: ScoreCells, chosen: NDArray[np.bool_], settings: ScoreEvaluationSettings, *, same: bool
) -> ScoreAgreement:
    count = cells.count(chosen)
    found = {
        name: _figure(values, count, frame, settings, BOTH_SIDES if name in CORRELATIONS else UNBOUNDED)
        for name, values in pool_cells(cells, chosen).items()
    }
    if not same:
        found |= dict.fromkeys(("mae", "rmse", "shift", "spread"))
    defined = ~np.isnan(cells.correlations[0, :, 0]) & chosen
    alone = cells.scored_srcc[chosen & ~np.isnan(cells.scored_srcc)]
    return ScoreAgreement(
        **found,
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
        return Estimate(
            value=float(values[0]), low=None, high=None, n=n, unit=unit, level=settings.level, method="no interval"
        )
    drawn, folds = values[1 : 1 + settings.draws], values[1 + settings.draws :]
    usable = folds if len(folds) and np.isfinite(folds).all() else None
    made = interval(float(values[0]), drawn, n=n, unit=unit, level=settings.level, folds=usable, within=within)
    return made


def _scale_words(overall: ScoreAgreement, settings: ScoreEvaluationSettings, *, same: bool) -> tuple[str, str]:
    """What became of the scale, as a kind and as a sentence."""
    if overall.mean is None or overall.sd is None or overall.target_sd is None:
        return "none", "it gave no numbers to compare"
    if not same or overall.spread is None or overall.shift is None:
        return "own scale", "its numbers are on a scale of their own: only its order can be compared"
    spread, away = overall.spread.value, overall.shift.value / overall.target_sd.value
    told = (
        f"predictions have a mean of {overall.mean.value:.2f} and a spread of {overall.sd.value:.2f}, "
        f"the target {overall.target_mean.value:.2f} and {overall.target_sd.value:.2f}"
    )
    narrow, shifted = spread < settings.narrow, abs(away) > settings.shifted
    if narrow and shifted:
        return "collapsed and shifted", f"collapsed to a narrow band {_side(away)} the target's mean: {told}"
    if narrow:
        return "collapsed", f"collapsed to a narrow band: {told}"
    if shifted:
        return "shifted", f"shifted {_side(away)} the target: {told}"
    if spread > WIDE:
        return "stretched", f"stretched beyond the target: {told}"
    return "keeps", f"keeps the target's level and spread: {told}"


def _side(away: float) -> str:
    return "above" if away > 0 else "below"


def _histogram(target: Target, one: Prediction) -> Histogram | None:
    if target.low is None or target.high is None:
        return None
    edges = np.linspace(target.low, target.high, BINS + 1)
    used = np.isfinite(target.values) & one.speaks[None, :]
    said = one.values[used & np.isfinite(one.values)]
    counts = [np.histogram(np.clip(v, target.low, target.high), edges)[0] for v in (target.values[used], said)]
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
    made = []
    for first, second in combinations(names, 2):
        a, b = cells[first], cells[second]
        if not (np.array_equal(a.criterion, b.criterion) and np.array_equal(a.group, b.group)):
            continue
        everything = np.ones(len(a.criterion), bool)
        one, other = pool_cells(a, everything), pool_cells(b, everything)
        count = a.count(everything)
        srcc = _figure(one["srcc"] - other["srcc"], count, frame, settings)
        if srcc is None:
            continue
        apart = srcc.low is not None and srcc.high is not None and not srcc.low <= 0 <= srcc.high
        mae = _figure(one["mae"] - other["mae"], count, frame, settings)
        made.append(ScorerDifference(first=first, second=second, srcc=srcc, mae=mae, apart=apart))
    return made


def _over_base(
    frame: ScoreFrame, target: Target, one: Prediction, base: Prediction, cells: tuple[ScoreCells, ScoreCells],
    settings: ScoreEvaluationSettings,
) -> OverBase:  # fmt: skip
    """A trained scorer less its base, over the cells that both have."""
    own, other = cells
    shared = _common(own, other)
    same = one.is_on(target) and base.is_on(target)

    def less(name: str, chosen: NDArray[np.bool_]) -> Estimate | None:
        wanted = set(zip(own.criterion[chosen].tolist(), own.group[chosen].tolist()))
        matching = np.array([pair in wanted for pair in zip(other.criterion.tolist(), other.group.tolist())])
        return _figure(
            pool_cells(own, chosen)[name] - pool_cells(other, matching)[name], own.count(chosen), frame, settings
        )

    def parts(named: Sequence[tuple[str, str, NDArray[np.bool_]]]) -> tuple[PartDifference, ...]:
        return tuple(
            PartDifference(id=id, name=name, srcc=less("srcc", chosen & shared), plcc=less("plcc", chosen & shared))
            for id, name, chosen in named
            if (chosen & shared).any()
        )

    srcc = less("srcc", shared)
    return OverBase(
        scorer=one.name, base=base.name, srcc=srcc, plcc=less("plcc", shared),
        mae=less("mae", shared) if same else None, rmse=less("rmse", shared) if same else None,
        mean=less("mean", shared) if same else None,
        apart=srcc is not None and srcc.low is not None and srcc.high is not None and not srcc.low <= 0 <= srcc.high,
        categories=parts([(name, name, chosen) for name, chosen in _categories(frame, own)]),
        criteria=parts([(id, name, own.criterion == c) for c, (id, name) in enumerate(frame.criteria)]),
    )  # fmt: skip


def _common(own: ScoreCells, other: ScoreCells) -> NDArray[np.bool_]:
    """Which of a scorer's cells another has too."""
    there = set(zip(other.criterion.tolist(), other.group.tolist()))
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
    told = {
        "targets": ",".join(f"{one.name}@{_digest(one.values)}" for one in targets),
        "scorers": ",".join(f"{one.name}@{_digest(one.values)}" for one in predicted),
        "within": frame.within,
        "missing": settings.missing,
        "draws": settings.draws,
        "level": settings.level,
    }
    return Signature(method="distill evaluate", data=data, revision=revision, settings=told, seed=settings.seed)


def _digest(values: Floats) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:12]
