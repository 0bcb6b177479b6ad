"""Do methods agree? Anchored and plain Elo and Davidson on the same comparisons, rating anchors and scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from salon.fuse.anchored import Fused, anchored
from salon.fuse.groups import Floats, Group
from salon.fuse.results import CompareFigures, GapRow, MethodPair
from salon.fuse.settings import FuseSettings, Method
from salon.stats.method_agreement import MethodAgreement, method_agreement

GAPS: tuple[tuple[str, float], ...] = (
    ("group", 1200.0),
    ("group", 900.0),
    ("group", 700.0),
    ("group", 500.0),
    ("pooled", 350.0),
    ("pooled", 400.0),
    ("pooled", 450.0),
)
"""The rows of PPaint's Table 14."""
KS_LEVEL = 0.05
ELO: Method = "anchored-elo"
DAVIDSON: Method = "anchored-davidson"


def compare_methods(groups: Sequence[Group], settings: FuseSettings, progress: Callable[[str], None]) -> CompareFigures:
    """The cross-method table and the ablation of the gap between rating levels."""
    made: dict[str, list[Floats]] = {}
    for method, pulled in ((ELO, True), (DAVIDSON, True), (DAVIDSON, False), (ELO, False)):
        name = method if pulled else method.removeprefix("anchored-")
        progress(f"comparing: {name}")
        made[name] = values(anchored(groups, method, settings, None, pulled=pulled))
    by_group = [_agreement(x, y, settings) for x, y in zip(made[ELO], made[DAVIDSON])]
    gaps = []
    for calibration, gap in GAPS:
        progress(f"gap {gap:g}")
        gaps.append(_gap_row(groups, settings, calibration, gap))
    return CompareFigures(
        pairs=tuple(
            _mean(first, second, [_agreement(x, y, settings) for x, y in zip(made[first], made[second])])
            for first, second in combinations(made, 2)
        ),
        by_group=tuple(_mean(ELO, DAVIDSON, [one]) for one in by_group),
        group_names=tuple((group.criterion, group.label) for group in groups),
        gaps=tuple(gaps),
        tie_margin=settings.tie_margin,
    )


def values(fused: Fused) -> list[Floats]:
    """The calibrated scores of every group."""
    return [curve.apply(fit.latent) for curve, fit in zip(fused.curves, fused.fits)]


def _gap_row(groups: Sequence[Group], settings: FuseSettings, calibration: str, gap: float) -> GapRow:
    changed = settings.model_copy(update={"calibration": calibration, "gap": gap})
    elo = values(anchored(groups, ELO, changed, None))
    davidson = values(anchored(groups, DAVIDSON, changed, None))
    agreement = _mean(ELO, DAVIDSON, [_agreement(x, y, settings) for x, y in zip(elo, davidson)])
    return GapRow(calibration=calibration, gap=gap, agreement=agreement)


def _agreement(x: Floats, y: Floats, settings: FuseSettings) -> MethodAgreement:
    return method_agreement(x, y, tie_margin=settings.tie_margin)


def _mean(first: str, second: str, found: Sequence[MethodAgreement]) -> MethodPair:
    """Averages over groups; correlations over the groups that have one."""
    srcc = [one.srcc for one in found if one.srcc is not None]
    plcc = [one.plcc for one in found if one.plcc is not None]
    return MethodPair(
        first=first,
        second=second,
        srcc=float(np.mean(srcc)) if srcc else None,
        plcc=float(np.mean(plcc)) if plcc else None,
        mae=float(np.mean([one.mae for one in found])),
        decisions=float(np.mean([one.decisions for one in found])),
        ks_pass=sum(one.ks_p > KS_LEVEL for one in found),
        groups=len(found),
        srcc_low=min(srcc) if srcc else None,
    )
