"""Several contestants on the same items: their reports side by side, and how far each is behind the best.

Items are drawn again in the same way for everybody (same seed, task and number of items). So the distance of two
contestants has an interval of its own, from the difference on the same draws; it is narrower than their two separate
intervals suggest.

If a judge still owes verdicts on a contestant, its value is shown but not ranked. If contestants were judged by
different protocols, nobody is ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from pydantic import Field

from salon.bench.posters.compat import with_released
from salon.bench.posters.files import JudgeCard, PosterFile
from salon.bench.posters.item_scores import ItemScore
from salon.bench.posters.judge_protocol import JudgingRecord, judging_record, protocol_warnings, protocols_differ
from salon.bench.posters.metrics import FloatArray, MetricDraws, draw_metrics, figure_of
from salon.bench.posters.paper_tables import PosterPaperTable, chosen_names, owed_in, paper_tables, tasks_of
from salon.bench.posters.results import PosterReport
from salon.bench.posters.score import describe_answer, item_worth, score_files, score_items
from salon.bench.posters.settings import PosterScoreSettings
from salon.bench.posters.tasks import GENERATION, GROUPS, TASKS
from salon.errors import BadFile, BadValue
from salon.stats import Estimate
from salon.study import Noun

MOST = 4
"""Items shown of each task."""
_LONGEST = 400


class CaseAnswer(Noun):
    """What one contestant made of an item."""

    said: str = Field(description="The response, or the judge's words on a poster, shortened; empty where none.")
    read: str = Field(description="What was read of it, or why nothing was.")
    worth: float = Field(description="What it is worth by the task's first metric.")
    path: str = Field(description="Where the picture stands that it is about: of a generator, its own.")


class ComparisonCase(Noun):
    """One item and everybody's answer."""

    task: str = Field(description="Name of the task.")
    number: int = Field(description="Its place in the file, from 0.")
    name: str = Field(description="Its name.")
    path: str = Field(description="Where its picture stands.")
    prompt: str = Field(description="What was asked, shortened.")
    wanted: str = Field(description="The truth.")
    answers: tuple[CaseAnswer | None, ...] = Field(description="In the order of the contestants; null: not asked.")


def compared_cases(scored: Sequence[Mapping[str, Sequence[ItemScore]]]) -> tuple[ComparisonCase, ...]:
    """For each task the items on which contestants are farthest apart; among equals the worse ones first."""
    cases = []
    for task in TASKS:
        item_scores = [by_task.get(task.name) for by_task in scored]
        items = next((scores for scores in item_scores if scores is not None), None)
        if items is None:
            continue

        def distance(at: int, per_contestant: list[Sequence[ItemScore] | None] = item_scores) -> tuple[float, float]:
            worths = [item_worth(scores[at].item.task, scores[at]) for scores in per_contestant if scores is not None]
            return max(worths) - min(worths), -sum(worths)

        chosen = sorted(range(len(items)), key=distance, reverse=True)[:MOST]
        for at in chosen:
            answers = [None if scores is None else scores[at] for scores in item_scores]
            first = next(answer for answer in answers if answer is not None)
            item = first.item
            descriptions = [None if answer is None else describe_answer(item.task, answer) for answer in answers]
            prompt = " ".join(item.prompt.split())
            cases.append(
                ComparisonCase(
                    task=item.task.name,
                    number=item.number,
                    name=item.name,
                    path=item.path,
                    prompt=prompt if len(prompt) <= _LONGEST else prompt[: _LONGEST - 1] + "…",
                    wanted=describe_answer(item.task, first).wanted,
                    answers=tuple(
                        None
                        if answer is None
                        else CaseAnswer(said=answer.said, read=answer.read, worth=answer.worth, path=answer.path)
                        for answer in descriptions
                    ),
                )
            )
    return tuple(cases)


# -- all metrics and groups --------------------------------------------------------------------------------------------

FORMAT: Final = "salon.posters-compared/1"
OVERALL = "Overall"


class ComparisonValue(Noun):
    """What one contestant reaches."""

    figure: Estimate | None = Field(description="The value with its interval; null where it was not asked.")
    behind: Estimate | None = Field(description="How far behind the best, on the same draws; null for the best itself.")
    best: bool = Field(description="Whether no ranked value of the row is better; never where tasks differ.")
    owed: int = Field(0, description="Verdicts a judge owes on it: above 0, the value is not ranked.")
    other_protocol: bool = Field(False, description="Whether others of the row were judged by another protocol.")


class ComparisonRow(Noun):
    """One metric of one task, or the mean of a group, for everybody."""

    task: str = Field(description="Name of the task; empty for groups.")
    title: str = Field(description="Title of the task or the group.")
    metric: str = Field(description="Title of the metric; empty for groups.")
    better: Literal["high", "low"] = Field(description="Which way is better.")
    grouped: bool = Field(description="Whether it enters the mean of its group.")
    chance: float | None = Field(description="What answers get that are given without looking; null where unknown.")
    values: tuple[ComparisonValue, ...] = Field(description="In the order of the contestants.")


class ComparisonReport(Noun):
    """Everything about several contestants."""

    format: Literal["salon.posters-compared/1"] = Field(FORMAT, description="Version of this document.")
    contestants: tuple[str, ...] = Field(description="Their names, in the order of the columns.")
    judged: tuple[JudgingRecord, ...] = Field((), description="How each was judged, in the order of the contestants.")
    groups: tuple[ComparisonRow, ...] = Field(description="Means of groups, and overall where all were asked the same.")
    rows: tuple[ComparisonRow, ...] = Field(description="Every metric that some contestant was asked.")
    compat: Literal["released"] | None = Field(None, description="By which scoring the tables of the paper are.")
    tables: tuple[PosterPaperTable, ...] = Field(
        (), description="Tables 1 to 7 of the paper, as far as there are values."
    )
    cases: tuple[ComparisonCase, ...] = Field((), description="Items on which contestants differ most.")
    reports: tuple[PosterReport, ...] = Field(description="What `score` gives for each contestant.")
    policies: tuple[str, ...] = Field(description="How what is missing counts.")


POLICIES = (
    "A group's mean is compared only where everybody was asked the same tasks of it; elsewhere no mean is the best.",
    "A contestant is not ranked where a judge owes verdicts on it; run `salon bench posters judge` to have them given.",
    "Behind is the best value of the row less this one, on the same draws of the items; an interval that holds 0 does "
    "not tell the two apart.",
)


PUBLISHED = (
    "Rows marked as published are the paper's, by the released scoring on the public files; they are never ranked. "
    "Only answers to the public files, scored with --compat released, can be held against them."
)


@dataclass(frozen=True)
class PosterContestant:
    """One contestant's name, answered files and settings (each declares how it writes boxes)."""

    name: str
    files: Sequence[PosterFile]
    settings: PosterScoreSettings
    pictures: Path | None = None
    """A generator's folder: a poster that is not there is worth nothing."""
    judges: Sequence[JudgeCard] = ()
    """Who gave the verdicts in its files, and by which protocol."""


def compare_files(
    contestants: Sequence[PosterContestant], *, compat: Literal["released"] | None = None, published: Sequence[str] = ()
) -> ComparisonReport:
    """The reports of all contestants, the tables of the paper, and a row for every metric that some were asked.

    With `compat` the tables hold what the released scoring gives; rows and groups are always ours. `published` names
    models whose rows of the paper stand below. BadValue where two have one name, or no such model is published;
    BadFile where they answered different items of one task.
    """
    names = [contestant.name for contestant in contestants]
    if len(set(names)) < len(names):
        raise BadValue("contestants of different names are needed", found=", ".join(names), remedy="rename a folder")
    _check_items(contestants)
    reports = tuple(
        score_files(c.files, c.settings, contestant=c.name, pictures=c.pictures, judges=c.judges) for c in contestants
    )
    judging = tuple(judging_record(c.name, c.files, c.judges) for c in contestants)
    if compat:
        reports = tuple(with_released(report, c.files, c.pictures) for report, c in zip(reports, contestants))
    scored = [{file.task.name: score_items(file, c.settings, c.pictures) for file in c.files} for c in contestants]
    draws = [
        {file.task.name: draw_metrics(file.task, by_task[file.task.name], c.settings) for file in c.files}
        for by_task, c in zip(scored, contestants)
    ]
    level = contestants[0].settings.level
    owed = {report.contestant: sum(task.owed for task in report.tasks) for report in reports}
    owing = ", ".join(f"{name} ({n:,})" for name, n in owed.items() if n)
    provisional = [f"Provisional: a judge owes verdicts on {owing}; not ranked where they count."] if owing else []
    return ComparisonReport(
        contestants=tuple(names),
        judged=judging,
        groups=tuple(_groups(reports, draws, level, judging)),
        rows=tuple(_rows(reports, draws, level, judging)),
        compat=compat,
        tables=paper_tables(reports, chosen_names(published), judging),
        cases=compared_cases(scored),
        reports=reports,
        policies=(
            *provisional,
            *protocol_warnings(judging),
            *([PUBLISHED] if published else []),
            *POLICIES,
            *reports[0].policies,
        ),
    )


def _check_items(contestants: Sequence[PosterContestant]) -> None:
    items_by_task: dict[str, tuple[str, list[tuple[str, object]]]] = {}
    for contestant in contestants:
        for file in contestant.files:
            items = [(item.name, item.truth) for item in file.items]
            first, first_items = items_by_task.setdefault(file.task.name, (contestant.name, items))
            if items != first_items:
                raise BadFile(
                    f"the same items of {file.task.name} for everybody are needed",
                    found=f"others for {contestant.name} than for {first}",
                    where=str(file.path),
                )


ByTask = Mapping[str, Sequence[MetricDraws]]


def _rows(
    reports: Sequence[PosterReport],
    draws_by_contestant: Sequence[ByTask],
    level: float,
    judging: Sequence[JudgingRecord],
) -> list[ComparisonRow]:
    rows = []
    for task in TASKS:
        for at, metric in enumerate(task.metrics):
            metric_draws = [by_task[task.name][at] if task.name in by_task else None for by_task in draws_by_contestant]
            if not any(metric_draws):
                continue
            figures = []
            for report in reports:
                task_result = next((result for result in report.tasks if result.task == task.name), None)
                figures.append(
                    None
                    if task_result is None
                    else next(result.figure for result in task_result.metrics if result.id == metric.id)
                )
            draws = [
                None if draws_of_one is None or draws_of_one.value is None else draws_of_one.draws
                for draws_of_one in metric_draws
            ]
            owed = [owed_in(report, f"{task.name}.{metric.id}") for report in reports]
            values = _values(figures, draws, metric.better, level, owed, protocols_differ(judging, [task.name]))
            chance = next(draws_of_one.chance for draws_of_one in metric_draws if draws_of_one is not None)
            rows.append(
                ComparisonRow(task=task.name, title=task.title, metric=metric.title, better=metric.better,
                            grouped=metric.grouped, chance=chance, values=values)
            )  # fmt: skip
    return rows


def _groups(
    reports: Sequence[PosterReport],
    draws_by_contestant: Sequence[ByTask],
    level: float,
    judging: Sequence[JudgingRecord],
) -> list[ComparisonRow]:
    """Means of groups, then of everything; draws only where all were asked the same."""
    rows = []
    for name in (*GROUPS, GENERATION, OVERALL):
        figures = [
            report.overall
            if name == OVERALL
            else next((group.figure for group in report.groups if group.group == name), None)
            for report in reports
        ]
        if not any(figures):
            continue
        tasks = [{task for task in by_task if _in(task, name)} for by_task in draws_by_contestant]
        same = all(value == tasks[0] for value in tasks)
        draws = [_mean_draws(by_task, name) if same else None for by_task in draws_by_contestant]
        key = "overall" if name == OVERALL else f"group:{name}"
        owed = [owed_in(report, key) for report in reports]
        values = _values(figures, draws, "high", level, owed, protocols_differ(judging, tasks_of(key)))
        if not same:  # means over different tasks have no best
            values = tuple(value.model_copy(update={"best": False}) for value in values)
        rows.append(
            ComparisonRow(task="", title=name, metric="", better="high", grouped=True, chance=None, values=values)
        )
    return rows


def _in(task: str, group: str) -> bool:
    of = next(candidate.group for candidate in TASKS if candidate.name == task)
    return of in GROUPS if group == OVERALL else of == group


def _mean_draws(by_task: ByTask, group: str) -> FloatArray | None:
    """Draws of a group's mean; overall is the mean of the groups'."""
    if group == OVERALL:
        parts = [part for name in GROUPS if (part := _mean_draws(by_task, name)) is not None]
    else:
        members_of_group = [member for name, members in by_task.items() if _in(name, group) for member in members]
        parts = [member.draws for member in members_of_group if member.metric.grouped and member.value is not None]
    return np.mean(parts, axis=0) if parts else None


def _values(
    figures: Sequence[Estimate | None],
    draws: Sequence[FloatArray | None],
    better: str,
    level: float,
    owed: Sequence[int],
    other_protocol: bool,
) -> tuple[ComparisonValue, ...]:
    """Each value, with its distance to the best where draws tell it.

    What is owed verdicts is not ranked, and nothing is where verdicts are by different protocols.
    """
    sign = 1 if better == "high" else -1
    ranked = [None if n or other_protocol else candidate for candidate, n in zip(figures, owed)]
    top = max((sign * candidate.value for candidate in ranked if candidate is not None), default=0.0)
    leader = next(
        (i for i, candidate in enumerate(ranked) if candidate is not None and sign * candidate.value == top), None
    )

    def behind(at: int) -> Estimate | None:
        mine, best = draws[at], None if leader is None else draws[leader]
        figure = ranked[at]
        if figure is None or mine is None or best is None or at == leader:
            return None
        return figure_of(
            top - sign * figure.value, sign * (best - mine), figure.n, level, _edge(sign * (best - mine), at)
        )

    def _edge(apart: FloatArray, at: int) -> tuple[float, float] | None:
        """Where draws show no spread: from the nearest to the farthest ends of the two intervals."""
        mine, best = figures[at], None if leader is None else figures[leader]
        if np.ptp(apart) > 0 or mine is None or best is None:
            return None
        if mine.low is None or mine.high is None or best.low is None or best.high is None:
            return None
        ends = [sign * (best_end - own_end) for best_end in (best.low, best.high) for own_end in (mine.low, mine.high)]
        return min(ends), max(ends)

    return tuple(
        ComparisonValue(
            figure=candidate,
            behind=behind(at),
            best=ranked[at] is not None and candidate is not None and sign * candidate.value == top,
            owed=owed[at],
            other_protocol=other_protocol and candidate is not None,
        )
        for at, candidate in enumerate(figures)
    )


def is_apart(value: ComparisonValue) -> bool | None:
    """Whether a value differs significantly from the best of its row; None for the best, or if unknown."""
    if value.behind is None or value.behind.low is None:
        return None
    return value.behind.low > 0
