"""Score public files with responses in them: one report for one contestant."""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from salon.bench.posters.answers_numbers import BoxAnswer
from salon.bench.posters.files import JudgeCard, PosterFile, find_picture
from salon.bench.posters.item_scores import (
    NO_PICTURE,
    ItemScore,
    ReadAnswer,
    UnreadAnswer,
    field_texts,
    point_verdicts,
    score_item,
    with_oracle,
)
from salon.bench.posters.metrics import (
    MetricDraws,
    difficulty_curves,
    draw_metrics,
    draw_weights,
    figure_of,
    group_results,
    metric_result,
    ocr_gap,
    overall_figure,
)
from salon.bench.posters.results import (
    PointCase,
    PointKind,
    PosterCase,
    PosterReport,
    TaskResult,
    WrongAnswer,
)
from salon.bench.posters.settings import PosterScoreSettings
from salon.bench.posters.tasks import PosterTask
from salon.stats import SHARE, exact_bound
from salon.study import Setting, Signature

POLICIES = (
    "An item without an answer, or whose answer cannot be read, is worth nothing and stays in the denominator.",
    "A box without its place taken is worth an IoU and an area ratio of 0 and a center bias of √2; a rating not given "
    "counts as the worst it could have been.",
    "A verdict that a judge owes counts as no, and as yes in what is told “at best”: the task is provisional until "
    "it is given.",
    "Intervals draw the items of each task again; tasks are drawn independently.",
    "Chance is what an answer gets that is given without looking. Public files are not balanced: the best fixed answer "
    "is shown beside it.",
)
_MISSING = "missing"


def score_files(
    files: Sequence[PosterFile],
    settings: PosterScoreSettings,
    *,
    contestant: str = "",
    pictures: Path | None = None,
    judges: Sequence[JudgeCard] = (),
) -> PosterReport:
    """The report on the responses (and judges' answers) in these files; `pictures` is the folder of their pictures."""
    scored = {file.task.name: score_items(file, settings, pictures) for file in files}
    draws = {file.task.name: draw_metrics(file.task, scored[file.task.name], settings) for file in files}
    data = hashlib.sha256()
    for file in sorted(files, key=lambda poster_file: poster_file.task.name):
        data.update(hashlib.sha256(file.text.encode("utf-8", "surrogatepass")).digest())
    options: dict[str, Setting] = {"boxes": settings.boxes, "level": settings.level, "draws": settings.draws}
    if settings.shown_pixels is not None:
        options["shown_pixels"] = settings.shown_pixels
    signature = Signature(method="poster-tasks", data=data.hexdigest()[:12], settings=options, seed=settings.seed)
    return PosterReport(
        contestant=contestant,
        settings=settings,
        tasks=tuple(_task(file, scored[file.task.name], draws[file.task.name], settings, pictures) for file in files),
        groups=tuple(group_results(draws, settings.level)),
        overall=overall_figure(draws, settings.level),
        gap=ocr_gap(draws, settings.level),
        curves=tuple(c for file in files for c in difficulty_curves(file.task, scored[file.task.name], settings)),
        judges=tuple(judges),
        policies=POLICIES,
        signature=signature,
    )


def score_items(file: PosterFile, settings: PosterScoreSettings, pictures: Path | None) -> list[ItemScore]:
    """What every answer of a file is worth; `pictures` is the folder that generated posters stand in."""
    return [
        score_item(
            item,
            settings.boxes,
            shown_pixels=settings.shown_pixels,
            picture=None if pictures is None else find_picture(pictures, item.path) is not None,
        )
        for item in file.items
    ]


def _task(
    file: PosterFile,
    scored: Sequence[ItemScore],
    draws: Sequence[MetricDraws],
    settings: PosterScoreSettings,
    pictures: Path | None,
) -> TaskResult:
    reasons = Counter(score.answer.reason for score in scored if isinstance(score.answer, UnreadAnswer))
    missing = reasons.pop(_MISSING, 0) + reasons.pop(NO_PICTURE.reason, 0)
    lost = None if pictures is None else sum(find_picture(pictures, item.path) is None for item in file.items)
    beside = oracle_file(file)
    oracle_scores = [] if beside is None else score_items(beside, settings, pictures)
    whole = bool(oracle_scores) and not any(part.owed for part in oracle_scores)
    oracle = {part.metric.id: part.value for part in draw_metrics(file.task, oracle_scores, settings)} if whole else {}
    metrics = (metric_result(part, settings) for part in draws)
    task_metrics = tuple(part.model_copy(update={"oracle": oracle.get(part.id)}) for part in metrics)
    return TaskResult(
        task=file.task.name,
        title=file.task.title,
        group=file.task.group,
        side=file.task.side,
        items=len(scored),
        missing=missing,
        unread=dict(sorted(reasons.items())),
        bad_boxes=sum(score.bad_boxes for score in scored),
        owed=sum(score.owed for score in scored),
        no_picture=lost,
        metrics=task_metrics,
        failures=tuple(worst_answers(file.task, scored)),
        points=tuple(point_kinds(file, scored, settings)),
        posters=tuple(poster_cases(file, scored)),
    )


# -- the worst answers of a task ---------------------------------------------------------------------------------------

MOST_WRONG = 6
"""Failures kept of each task."""
_LONGEST_ANSWER = 240


def worst_answers(task: PosterTask, scored: Sequence[ItemScore]) -> list[WrongAnswer]:
    """The worst answers of a task."""
    wrong = sorted(
        (score for score in scored if item_worth(task, score) < 1),
        key=lambda score: (
            (
                0
                if isinstance(score.answer, ReadAnswer)
                else 2
                if score.answer.reason in ("missing", "no picture")
                else 1
            ),
            item_worth(task, score),
        ),
    )
    return [describe_answer(task, score) for score in wrong[:MOST_WRONG]]


def item_worth(task: PosterTask, score: ItemScore) -> float:
    """What an answer is worth by the first metric, 1 for a perfect one."""
    metric = task.metrics[0]
    worth = score.worth.get(metric.id)
    if task.answer == "rating":
        return 0.0 if worth is None else 1 - abs(worth - score.item.truth) / 10
    if worth is None:
        return 0.0
    return 1 - worth if metric.better == "low" else worth


def describe_answer(task: PosterTask, score: ItemScore) -> WrongAnswer:
    """An answer in words: wanted, said, read."""
    response = (score.item.response or "") if task.side == "understanding" else " ".join(score.item.judge or ())
    return WrongAnswer(
        number=score.item.number,
        name=score.item.name,
        path=score.item.path,
        wanted=_shorten(_words(score.item.truth)),
        said=_shorten(" ".join(response[:2000].split())),
        read=_shorten(score.answer.reason if isinstance(score.answer, UnreadAnswer) else _words(score.answer.value)),
        worth=item_worth(task, score),
    )


def _words(value: Any) -> str:
    """A truth or an answer in words."""
    if isinstance(value, BoxAnswer):
        return " · ".join("no box" if box is None else _words(box) for box in value.boxes[:4])
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, frozenset):
        return ", ".join(str(part) for part in sorted(value))
    if isinstance(value, tuple) and value and all(isinstance(part, float) for part in value):
        return " ".join(f"{part:.2f}" for part in value)
    if isinstance(value, tuple | list):
        return " · ".join(_words(part) for part in value if part is not None)
    return "" if value is None else str(value)


# -- generated posters: which kinds of points are met, and what single posters lack ------------------------------------

MOST_POSTERS = 12
"""Posters of each task that are kept for the gallery."""
_LONGEST_POINT, _LONGEST_PROMPT = 160, 600


def point_kinds(file: PosterFile, scored: Sequence[ItemScore], settings: PosterScoreSettings) -> list[PointKind]:
    """Each kind of point with the share that is met; none for tasks without points."""
    if file.task.side != "generation" or file.task.answer != "points":
        return []
    posters = [_points_of_poster(file, score) for score in scored]
    rng = np.random.default_rng([settings.seed, zlib.crc32(file.task.name.encode())])
    weights = draw_weights([None] * len(posters), settings.draws, rng)
    kinds = dict.fromkeys(point.kind for points in posters for point in points)
    return [_point_kind(kind, posters, weights, settings.level) for kind in kinds]


def _points_of_poster(file: PosterFile, score: ItemScore) -> list[PointCase]:
    """The points of a poster; a missing poster meets none."""
    points = point_verdicts(file, score.item)
    return (
        points
        if score.answer != NO_PICTURE
        else [point.model_copy(update={"holds": False, "oracle": None}) for point in points]
    )


def _point_kind(kind: str, posters: Sequence[Sequence[PointCase]], weights: np.ndarray, level: float) -> PointKind:
    asking = [i for i, points in enumerate(posters) if any(point.kind == kind for point in points)]
    chosen = [[point for point in posters[i] if point.kind == kind] for i in asking]
    met = np.array([sum(point.holds is True for point in points) for points in chosen], dtype=float)
    counts = np.array([len(points) for points in chosen], dtype=float)
    flat = [point for points in chosen for point in points]
    w = weights[:, asking]
    totals = w @ counts
    draws = (w @ met)[totals > 0] / totals[totals > 0]
    share = float(met.sum() / counts.sum())
    oracle_verdicts = [point.oracle for point in flat if point.oracle is not None]
    has_verdict = any(point.holds is not None for point in flat)
    both = [point for point in flat if point.holds is not None and point.oracle is not None]
    return PointKind(
        kind=kind,
        points=len(flat),
        met=figure_of(
            share,
            draws,
            len(asking),
            level,
            exact_bound(len(asking), level, at_high=share == 1) if share in (0.0, 1.0) else None,
            SHARE,
        )
        if has_verdict
        else None,
        owed=sum(point.holds is None for point in flat),
        oracle=sum(oracle_verdicts) / len(oracle_verdicts) if oracle_verdicts else None,
        agree=sum(point.holds == point.oracle for point in both),
        both=len(both),
    )


def poster_cases(file: PosterFile, scored: Sequence[ItemScore]) -> list[PosterCase]:
    """Single posters, the worst first; those that are not there last."""
    if file.task.side != "generation":
        return []
    metric = file.task.metrics[0].id
    order = sorted(scored, key=lambda score: (score.answer == NO_PICTURE, score.worth[metric]))
    cases = []
    for score in order[:MOST_POSTERS]:
        worth = score.worth[metric]
        item = score.item
        points = _points_of_poster(file, score) if file.task.answer == "points" else []
        cases.append(
            PosterCase(
                number=item.number,
                name=_shorten(item.name, _LONGEST_POINT),
                path=item.path,
                prompt=_shorten(item.prompt, _LONGEST_PROMPT),
                worth=worth,
                there=score.answer != NO_PICTURE,
                wanted=item.truth if file.task.answer == "label" else "",
                said="" if points else _shorten(" ".join(item.judge or ()), _LONGEST_POINT),
                oracle="" if points else _shorten(" ".join(field_texts(file, item, "oracle", 1)), _LONGEST_POINT),
                points=tuple(
                    point.model_copy(
                        update={
                            "text": _shorten(point.text, _LONGEST_POINT),
                            "why": _shorten(point.why, _LONGEST_POINT),
                        }
                    )
                    for point in points
                ),
            )
        )
    return cases


def _shorten(text: str, most: int = _LONGEST_ANSWER) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def oracle_file(file: PosterFile) -> PosterFile | None:
    """The file as the oracle would have judged it, for posters; None where it was not asked."""
    return with_oracle(file) if file.task.side == "generation" else None
