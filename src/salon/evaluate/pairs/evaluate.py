"""What models are worth: every contestant on every study, one report for all of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from salon.errors import TooFew
from salon.evaluate.pairs.evaluate_ceilings import Tops
from salon.evaluate.pairs.evaluate_data import Contestant, Trial
from salon.evaluate.pairs.evaluate_figures import (
    accuracies,
    buckets,
    calibration,
    criterion_reached,
    generator_order,
    hits,
    order_flips,
    own_rng,
    tau,
)
from salon.evaluate.pairs.evaluate_results import (
    UNGUARDED,
    ContestantFigures,
    EvaluateReport,
    LeakFigures,
    LearningCurve,
    PairedFigures,
    SeedSpread,
    StudyFigures,
)
from salon.evaluate.pairs.evaluate_settings import EvaluateSettings
from salon.evaluate.pairs.evaluate_words import policies, study_warnings
from salon.stats.paired import paired_difference
from salon.stats.signal_tests import holm
from salon.study import Signature

Entered = tuple[Trial, Sequence[Contestant]]
_SEED = "seed"


def evaluate(
    entered: Sequence[Entered],
    settings: EvaluateSettings | None = None,
    *,
    learning_curve: LearningCurve | None = None,
    notes: Sequence[str] = (),
    progress: Callable[[str], None] = lambda name: None,
) -> EvaluateReport:
    """The report about contestants on one study or several; names of contestants tell them apart within a study."""
    settings = settings or EvaluateSettings()
    studies = tuple(study_figures(trial, contestants, settings, progress) for trial, contestants in entered)
    signature = _signature(entered, settings)
    leaking = any(_leaks(one) for _, contestants in entered for one in contestants)
    return EvaluateReport(
        signature=signature,
        signature_line=str(signature),
        level=settings.level,
        leaking=leaking,
        studies=studies,
        seeds=seed_spreads(entered[0][1], studies[0]),
        learning_curve=learning_curve,
        policies=policies(studies, notes),
    )


def study_figures(
    trial: Trial,
    contestants: Sequence[Contestant],
    settings: EvaluateSettings,
    progress: Callable[[str], None] = lambda name: None,
) -> StudyFigures:
    """All contestants on one study, the most accurate first."""
    useful = [one for one in contestants if (trial.decided & one.speaks).any()]
    if not useful:
        raise TooFew(
            "a pair with a majority that a model or scorer speaks about is needed",
            found=f"{int(trial.decided.sum()):,} pairs with a majority of {len(trial):,}",
            where=f"study {trial.study!r}, criteria {', '.join(id for id, _ in trial.criteria)}",
            remedy="evaluate on the criteria that the model was trained on",
        )
    tops = Tops(trial, settings)
    made = []
    for one in useful:
        progress(one.name)
        made.append(_figures(trial, one, tops))
    made.sort(key=lambda one: (-one.overall.accuracy.value, one.name))
    order = {one.name: place for place, one in enumerate(made)}
    ranked = sorted(useful, key=lambda one: order[one.name])
    return StudyFigures(
        study=trial.study,
        simulated=trial.simulated,
        data=trial.data,
        split=trial.split,
        prompts=len(np.unique(trial.group)),
        pairs=len(trial),
        tied=int((~trial.decided).sum()),
        votes=int(trial.votes.sum()),
        contestants=tuple(made),
        comparisons=compared(trial, ranked, settings),
        warnings=study_warnings(trial, contestants, made),
    )


def _figures(trial: Trial, one: Contestant, tops: Tops) -> ContestantFigures:
    given, rng = tops.settings, own_rng(tops.settings, one.name)
    overall, each = accuracies(trial, one, tops, rng)
    every = np.ones(len(trial), bool)
    spoken = [number for number, part in enumerate(each) if part is not None]
    return ContestantFigures(
        name=one.name,
        kind=one.kind,
        form=one.form,
        signature=one.signature,
        overall=overall,
        buckets=buckets(trial, one, every, tops(spoken), given, rng),
        tau=tau(trial, one, every, given, rng),
        criteria=tuple(
            criterion_reached(trial, one, number, part, tops, rng)
            for number, part in enumerate(each)
            if part is not None
        ),
        calibration=calibration(trial, one, given, rng),
        generators=generator_order(trial, one, given, rng),
        order_flips=order_flips(trial, one, given, rng),
        leak=_leak_figures(one),
        unscored=dict(one.unscored),
    )


def _leak_figures(one: Contestant) -> LeakFigures | None:
    if one.kind in UNGUARDED:
        return None
    found = one.leaks
    if found is None:
        words = "no leak guard" if not one.guarded else ""
        return LeakFigures(guarded=one.guarded, pictures=0, near=0, texts=0, words=words)
    return LeakFigures(
        guarded=True, pictures=len(found.pictures), near=len(found.near), texts=len(found.texts), words=found.words
    )


def _leaks(one: Contestant) -> bool:
    """Trained on what it is tested on, or nobody knows."""
    return one.kind not in UNGUARDED and (bool(one.leaks) or not one.guarded)


# -- between contestants -----------------------------------------------------------------------------------------------


def compared(trial: Trial, ranked: Sequence[Contestant], settings: EvaluateSettings) -> tuple[PairedFigures, ...]:
    """Every two contestants on the pairs both speak about, the one named first being the more accurate overall."""
    points = {one.name: _points(trial, one) for one in ranked}
    tests = []
    for first, second in combinations([one.name for one in ranked], 2):
        rows = ~np.isnan(points[first]) & ~np.isnan(points[second])
        if rows.any():
            rng = own_rng(settings, first, second)
            found = paired_difference(
                points[first][rows], points[second][rows], trial.group[rows],
                draws=settings.draws, rng=rng, level=settings.level,
            )  # fmt: skip
            tests.append((first, second, found))
    adjusted = holm([found.p for _, _, found in tests]).tolist()
    return tuple(
        PairedFigures(
            first=first, second=second, difference=found.difference, p=found.p, p_holm=p_holm, law=found.law,
            pairs=found.questions, first_only=found.first_only, second_only=found.second_only,
        )
        for (first, second, found), p_holm in zip(tests, adjusted)
    )  # fmt: skip


def _points(trial: Trial, one: Contestant) -> np.ndarray:
    """1, 0 or 1/2 for each pair with a majority that it speaks about; NaN elsewhere."""
    points = np.full(len(trial), np.nan)
    points[trial.decided & one.speaks] = hits(trial, one)
    return points


def seed_spreads(contestants: Sequence[Contestant], study: StudyFigures) -> tuple[SeedSpread, ...]:
    """Models whose settings differ in their seed alone, two or more of a kind."""
    reached = {one.name: one.overall.accuracy.value for one in study.contestants}
    alike: dict[str, list[str]] = {}
    for one in contestants:
        if one.name in reached and _SEED in one.settings:
            alike.setdefault(_without_seed(one.settings), []).append(one.name)
    return tuple(_spread(names, [reached[name] for name in names]) for names in alike.values() if len(names) > 1)


def _without_seed(settings: Mapping[str, object]) -> str:
    return json.dumps({key: value for key, value in settings.items() if key != _SEED}, sort_keys=True, default=str)


def _spread(names: Sequence[str], values: Sequence[float]) -> SeedSpread:
    x = np.array(values)
    return SeedSpread(
        names=tuple(names),
        mean=float(x.mean()),
        sd=float(x.std(ddof=1)),
        low=float(x.min()),
        high=float(x.max()),
        n=len(x),
    )


def _signature(entered: Sequence[Entered], settings: EvaluateSettings) -> Signature:
    digest = hashlib.sha256()
    for trial, contestants in entered:
        digest.update(f"{trial.data}\0{trial.split}\0".encode())
        for one in sorted(contestants, key=lambda one: one.name):
            digest.update(f"{one.name}\0{one.signature}\0".encode("utf-8", "surrogatepass"))
            digest.update(np.ascontiguousarray(one.margin).tobytes())
    return Signature(
        method="evaluate",
        data=entered[0][0].data[:12],
        settings={**settings.model_dump(exclude={"seed"}), "contestants": digest.hexdigest()[:12]},
        seed=settings.seed,
    )
