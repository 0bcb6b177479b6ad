"""How each rater used the two protocols: level and ends of the scale, sides and ties, distance to the consensus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from salon.check.protocol_groups import Floats, Matched
from salon.check.results import ProtocolRater
from salon.stats import stability
from salon.study import Study

LEFT_A, LEFT_B = 0, 1
A, B, TIE = 0, 1, 2


def protocol_raters(study: Study, groups: Sequence[Matched]) -> tuple[ProtocolRater, ...]:
    """One row for each rater of a matched group, in the study's order."""
    criteria = sorted({one.criterion for one in groups})
    near = _near(groups)
    return tuple(
        ProtocolRater(
            rater=study.label("raters", rater),
            **_rating_habits(study, rater, criteria),
            **_comparing_habits(study, rater, criteria),
            displacement=tuple(near[rater][:, 0].tolist()),
            to_consensus=tuple(near[rater][:, 1].tolist()),
        )
        for rater in sorted(near)
    )


def _near(groups: Sequence[Matched]) -> dict[int, Floats]:
    """For each rater (2, 2): protocol by rank distance and Spearman to the consensus, mean over groups."""
    found: dict[int, list[Floats]] = {}
    for one in groups:
        both = np.array([stability.to_consensus(scores) for scores in (one.elo, one.ratings)])
        for place, rater in enumerate(one.raters.tolist()):
            found.setdefault(rater, []).append(both[:, :, place])
    return {rater: np.mean(values, axis=0) for rater, values in found.items()}


def _rating_habits(study: Study, rater: int, criteria: Sequence[int]) -> dict[str, float | None]:
    view = study.ratings
    rows = np.flatnonzero((view.rater == rater) & (view.repeat == 0) & np.isin(view.criterion, criteria))
    scales = {None if (scale := study.criteria[n].scale) is None else (scale.low, scale.high) for n in criteria}
    if len(scales) > 1:
        return {"mean_rating": None, "extreme_share": None}
    ends = scales.pop()
    value = view.value[rows]
    extreme = None if ends is None else float(np.isin(value, ends).mean())
    return {"mean_rating": float(value.mean()), "extreme_share": extreme}


def _comparing_habits(study: Study, rater: int, criteria: Sequence[int]) -> dict[str, float | None]:
    view = study.comparisons
    rows = np.flatnonzero((view.rater == rater) & (view.repeat == 0) & np.isin(view.criterion, criteria))
    outcome, left = view.outcome[rows], view.left[rows]
    decided = np.isin(outcome, (A, B)) & np.isin(left, (LEFT_A, LEFT_B))
    won = (outcome == left)[decided]
    return {"left_rate": float(won.mean()) if len(won) else None, "tie_rate": float((outcome == TIE).mean())}
