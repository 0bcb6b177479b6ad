"""What more data would bring: heads trained on growing parts of the training prompts, all on the same test pairs.

Prompts join in an order drawn by hash, so a larger part holds every smaller one, and the same seed gives the same parts
on every machine. At each part heads are trained once for every seed; the accuracy of a part is the mean over seeds, its
interval draws the test prompts again, and the standard deviation over seeds stands beside it. A curve that still rises
at its end asks for more prompts; a flat one for better features or more raters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from salon.errors import BadValue, TooFew
from salon.evaluate.pairs.evaluate_ceilings import Tops, ceiling_figures
from salon.evaluate.pairs.evaluate_data import Contestant, Floats, Trial
from salon.evaluate.pairs.evaluate_figures import hits, own_rng
from salon.evaluate.pairs.evaluate_results import CurvePoint, LearningCurve
from salon.evaluate.pairs.evaluate_settings import CurveSettings, EvaluateSettings
from salon.stats.judge_accuracy import match_rate

Fit = Callable[[frozenset[str], int], Floats]
"""Log-odds of the trial's pairs by heads trained on these prompts with this seed; TooFew where they do not suffice."""


def learning_curve(
    model: str,
    trial: Trial,
    prompts: dict[str, int],
    fit: Fit,
    settings: EvaluateSettings,
    curve: CurveSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda step: None,
) -> LearningCurve:
    """The curve of one model; `prompts` are the training prompts, each with the number of its pairs."""
    curve = curve or CurveSettings()
    points: list[CurvePoint] = []
    spoken = np.zeros(len(trial), bool)
    for share in sorted(set(curve.curve_shares)):
        taken = nested(list(prompts), share, settings.seed)
        progress(f"learning curve, {len(taken):,} prompts")
        if found := _trained(fit, taken, curve.curve_seeds):
            points.append(_point(share, len(taken), sum(prompts[name] for name in taken), found, trial, settings))
            spoken = found[0].speaks
    if not points:
        raise TooFew(
            "a learning curve needs a part of the prompts that heads can be trained on",
            found=f"{len(prompts):,} training prompts",
            remedy="larger --curve-shares, or more prompts",
        )
    top = Tops(trial, settings)(np.unique(trial.criterion[spoken]).tolist())
    return LearningCurve(model=model, points=tuple(points), ceiling=ceiling_figures(top))


def nested(prompts: Sequence[str], share: float, seed: int) -> frozenset[str]:
    """The first of the prompts in an order drawn by hash; at least one."""
    if not 0 < share <= 1:
        raise BadValue("a share of the prompts above 0 and up to 1 is needed", found=share, remedy="--curve-shares 0.5")

    def place(name: str) -> bytes:
        return hashlib.sha256(f"curve\0{seed}\0{name}".encode("utf-8", "surrogatepass")).digest()

    return frozenset(sorted(prompts, key=place)[: max(1, round(share * len(prompts)))])


def _trained(fit: Fit, prompts: frozenset[str], seeds: int) -> list[Contestant]:
    """One contestant for each seed; none where the prompts do not suffice to train on."""
    try:
        margins = [fit(prompts, seed) for seed in range(seeds)]
    except TooFew:
        return []
    return [Contestant(f"seed {seed}", "heads", margin, ~np.isnan(margin)) for seed, margin in enumerate(margins)]


def _point(
    share: float, prompts: int, pairs: int, found: Sequence[Contestant], trial: Trial, given: EvaluateSettings
) -> CurvePoint:
    points = np.stack([hits(trial, one) for one in found])
    groups = trial.group[trial.decided & found[0].speaks]
    rng = own_rng(given, "curve", f"{share:g}")
    accuracy = match_rate(points.mean(axis=0), groups, draws=given.draws, rng=rng, level=given.level)
    each = points.mean(axis=1)
    return CurvePoint(
        share=share,
        prompts=prompts,
        pairs=pairs,
        accuracy=accuracy,
        sd=float(each.std(ddof=1)) if len(each) > 1 else None,
        seeds=len(each),
    )
