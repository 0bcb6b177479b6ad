"""Score public files with responses in them: one report for one contestant."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from salon.bench.posters import groups
from salon.bench.posters.answers import Unread
from salon.bench.posters.difficulty import difficulty_curves
from salon.bench.posters.failures import failures
from salon.bench.posters.files import PosterFile, find_picture
from salon.bench.posters.made_posters import oracle_file, point_kinds, poster_cases
from salon.bench.posters.metrics import Drawn, drawn_metrics, metric_result
from salon.bench.posters.metrics_items import NO_PICTURE, Scored, score_item
from salon.bench.posters.results import MetricResult, PosterReport, ScoreSettings, TaskResult
from salon.bench.posters.run_card import JudgeCard
from salon.study.signature import Setting, Signature

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
    settings: ScoreSettings,
    *,
    contestant: str = "",
    pictures: Path | None = None,
    judges: Sequence[JudgeCard] = (),
) -> PosterReport:
    """The report on the responses (and judges' answers) in these files; `pictures` is the folder of their pictures."""
    scored = {one.task.name: _scored(one, settings, pictures) for one in files}
    drawn = {one.task.name: drawn_metrics(one.task, scored[one.task.name], settings) for one in files}
    return PosterReport(
        contestant=contestant,
        settings=settings,
        tasks=tuple(_task(one, scored[one.task.name], drawn[one.task.name], settings, pictures) for one in files),
        groups=tuple(groups.group_results(drawn, settings.level)),
        overall=groups.overall(drawn, settings.level),
        gap=groups.gap(drawn, settings.level),
        curves=tuple(c for one in files for c in difficulty_curves(one.task, scored[one.task.name], settings)),
        judges=tuple(judges),
        policies=POLICIES,
        signature=_signature(files, settings),
    )


def _scored(file: PosterFile, settings: ScoreSettings, pictures: Path | None) -> list[Scored]:
    there = None if pictures is None else {i.number: find_picture(pictures, i.path) is not None for i in file.items}
    return [
        score_item(
            item,
            settings.boxes,
            shown_pixels=settings.shown_pixels,
            picture=None if there is None else there[item.number],
        )
        for item in file.items
    ]


def _task(
    file: PosterFile, scored: Sequence[Scored], drawn: Sequence[Drawn], settings: ScoreSettings, pictures: Path | None
) -> TaskResult:
    reasons = Counter(one.answer.reason for one in scored if isinstance(one.answer, Unread))
    missing = reasons.pop(_MISSING, 0) + reasons.pop(NO_PICTURE.reason, 0)
    lost = None if pictures is None else sum(find_picture(pictures, item.path) is None for item in file.items)
    return TaskResult(
        task=file.task.name,
        title=file.task.title,
        group=file.task.group,
        side=file.task.side,
        items=len(scored),
        missing=missing,
        unread=dict(sorted(reasons.items())),
        bad_boxes=sum(one.bad_boxes for one in scored),
        owed=sum(one.owed for one in scored),
        no_picture=lost,
        metrics=_metrics(file, drawn, settings, pictures),
        failures=tuple(failures(file.task, scored)),
        points=tuple(point_kinds(file, scored, settings)),
        posters=tuple(poster_cases(file, scored)),
    )


def _metrics(
    file: PosterFile, drawn: Sequence[Drawn], settings: ScoreSettings, pictures: Path | None
) -> tuple[MetricResult, ...]:
    """The metrics, each with what the oracle would have given, where it could answer everything."""
    beside = oracle_file(file)
    told = [] if beside is None else _scored(beside, settings, pictures)
    whole = bool(told) and not any(one.owed for one in told)
    oracle = {one.metric.id: one.value for one in drawn_metrics(file.task, told, settings)} if whole else {}
    found = (metric_result(one, settings) for one in drawn)
    return tuple(one.model_copy(update={"oracle": oracle.get(one.id)}) for one in found)


def _signature(files: Sequence[PosterFile], settings: ScoreSettings) -> Signature:
    data = hashlib.sha256()
    for file in sorted(files, key=lambda one: one.task.name):
        data.update(hashlib.sha256(file.text.encode("utf-8", "surrogatepass")).digest())
    told: dict[str, Setting] = {"boxes": settings.boxes, "level": settings.level, "draws": settings.draws}
    if settings.shown_pixels is not None:
        told["shown_pixels"] = settings.shown_pixels
    return Signature(method="poster-tasks", data=data.hexdigest()[:12], settings=told, seed=settings.seed)
