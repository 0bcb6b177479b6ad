"""Posters that a generator made, point by point: which kinds of points it meets, and what single posters lack.

Shares by kind draw posters again, not points: what one poster lacks is often lacking together. A poster that is not
there meets nothing. A verdict that is owed counts as no, and is counted.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from salon.bench.posters.files import PosterFile
from salon.bench.posters.metrics import draw_weights, figure_of
from salon.bench.posters.metrics_items import NO_PICTURE, Scored
from salon.bench.posters.points import PointVerdict, point_verdicts, said_of, with_oracle
from salon.bench.posters.results import PointCase, PointKind, PosterCase, ScoreSettings
from salon.stats.resample import SHARE, exact_bound

MOST = 12
"""Posters of each task that are kept for the gallery."""
_LONGEST, _LONGEST_PROMPT = 160, 600


def point_kinds(file: PosterFile, scored: Sequence[Scored], settings: ScoreSettings) -> list[PointKind]:
    """Each kind of point with the share that is met; none for tasks without points."""
    if file.task.side != "generation" or file.task.answer != "points":
        return []
    posters = [_shown(file, one) for one in scored]
    rng = np.random.default_rng([settings.seed, zlib.crc32(file.task.name.encode())])
    weights = draw_weights([None] * len(posters), settings.draws, rng)
    kinds = dict.fromkeys(point.kind for points in posters for point in points)
    return [_kind(kind, posters, weights, settings.level) for kind in kinds]


def _shown(file: PosterFile, one: Scored) -> list[PointVerdict]:
    """The points of a poster; none of one that is not there is met."""
    points = point_verdicts(file, one.item)
    return points if one.answer != NO_PICTURE else [point._replace(holds=False, oracle=None) for point in points]


def _kind(kind: str, posters: Sequence[Sequence[PointVerdict]], weights: np.ndarray, level: float) -> PointKind:
    asking = [i for i, points in enumerate(posters) if any(point.kind == kind for point in points)]
    chosen = [[point for point in posters[i] if point.kind == kind] for i in asking]
    met = np.array([sum(point.holds is True for point in points) for points in chosen], dtype=float)
    asked = np.array([len(points) for points in chosen], dtype=float)
    flat = [point for points in chosen for point in points]
    w = weights[:, asking]
    drawn = w @ asked
    draws = (w @ met)[drawn > 0] / drawn[drawn > 0]
    share = float(met.sum() / asked.sum())
    known = [point.oracle for point in flat if point.oracle is not None]
    judged = any(point.holds is not None for point in flat)
    both = [point for point in flat if point.holds is not None and point.oracle is not None]
    return PointKind(
        kind=kind,
        points=len(flat),
        met=figure_of(share, draws, len(asking), level, _edge(share, len(asking), level), SHARE) if judged else None,
        owed=sum(point.holds is None for point in flat),
        oracle=sum(known) / len(known) if known else None,
        agree=sum(point.holds == point.oracle for point in both),
        both=len(both),
    )


def _edge(share: float, n: int, level: float) -> tuple[float, float] | None:
    """The interval where all is met, or nothing: draws show no spread."""
    return exact_bound(n, level, at_high=share == 1) if share in (0.0, 1.0) else None


def poster_cases(file: PosterFile, scored: Sequence[Scored]) -> list[PosterCase]:
    """Single posters, the worst first; those that are not there last."""
    if file.task.side != "generation":
        return []
    metric = file.task.metrics[0].id
    order = sorted(scored, key=lambda one: (one.answer == NO_PICTURE, one.worth[metric]))
    return [_case(file, one, one.worth[metric]) for one in order[:MOST]]


def _case(file: PosterFile, one: Scored, worth: float) -> PosterCase:
    item = one.item
    points = _shown(file, one) if file.task.answer == "points" else []
    return PosterCase(
        number=item.number,
        name=_short(item.name, _LONGEST),
        path=item.path,
        prompt=_short(item.prompt, _LONGEST_PROMPT),
        worth=worth,
        there=one.answer != NO_PICTURE,
        wanted=item.truth if file.task.answer == "label" else "",
        said="" if points else _short(" ".join(item.judge or ()), _LONGEST),
        oracle="" if points else _short(" ".join(said_of(file, item, "oracle", 1)), _LONGEST),
        points=tuple(
            PointCase(text=_short(p.text, _LONGEST), kind=p.kind, holds=p.holds, why=_short(p.why, _LONGEST),
                      oracle=p.oracle)
            for p in points
        ),
    )  # fmt: skip


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def oracle_file(file: PosterFile) -> PosterFile | None:
    """The file as the oracle would have judged it, for posters; None where it was not asked."""
    return with_oracle(file) if file.task.side == "generation" else None
