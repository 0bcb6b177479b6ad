"""What a scoring finds: the JSON of `salon bench posters score`, and what tables and pages print."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from salon.bench.posters.files import JudgeCard
from salon.bench.posters.settings import PosterScoreSettings
from salon.stats import Estimate
from salon.study import Format, Noun, Signature

FORMAT: Final = "salon.posters/1"
MaybeShare = Annotated[Estimate | None, Format("estimate", 3)]


class MetricResult(Noun):
    """One number of a task."""

    id: str = Field(description="Name of the metric within its task.")
    title: str = Field(title="Metric", description="Name of the metric in tables.")
    better: Literal["high", "low"] = Field(description="Which way is better.")
    k: int | None = Field(description="Options of a k-option score; null for other metrics.")
    grouped: bool = Field(description="Whether it enters the mean of its group.")
    figure: MaybeShare = Field(
        title="Value", description="The value with its interval; null where the items cannot give one."
    )
    why: str | None = Field(default=None, description="Why there is no value.")
    chance: float | None = Field(description="What answers get that are given without looking; null where unknown.")
    fixed: float | None = Field(
        default=None, title="Fixed answer", description="What the best single answer for every item gets."
    )
    at_best: float | None = Field(default=None, description="The value if all that a judge owes turned out well.")
    oracle: float | None = Field(
        default=None, description="What the record of how posters were drawn gives: beside the value, never in it."
    )
    released: float | None = Field(default=None, description="What the released scoring gives, where it was asked for.")
    released_n: int | None = Field(default=None, title="of", description="What the released scoring divides by.")
    released_crash: str | None = Field(
        default=None, description="The exception that the released scoring ends with, where it gives no number."
    )


class DifficultyPoint(Noun):
    """One stretch of a difficulty."""

    x: float = Field(description="Mean difficulty of its items.")
    figure: Estimate = Field(description="The metric there.")


class DifficultyCurve(Noun):
    """How a task's first metric depends on what makes its items hard."""

    task: str = Field(description="Name of the task.")
    title: str = Field(description="What tables call it.")
    difficulty: str = Field(description="What makes its items hard.")
    metric: str = Field(description="The metric that is drawn.")
    points: tuple[DifficultyPoint, ...] = Field(
        description="From easy to hard, or the other way round, as the number grows."
    )


class WrongAnswer(Noun):
    """An answer that was wrong, for the gallery."""

    number: int = Field(description="Its place in the file, from 0.")
    name: str = Field(description="Name of the item.")
    path: str = Field(description="Its picture.")
    wanted: str = Field(description="The truth.")
    said: str = Field(description="The response, shortened; empty where there is none.")
    read: str = Field(description="What was read of it, or why nothing was.")
    worth: float = Field(description="What the answer got, 0 to 1.")


class PointKind(Noun):
    """Key points of one kind, over the posters of a task."""

    kind: str = Field(
        title="Points about", description="Kind of the rule that measures it; eyes where only looking can tell."
    )
    points: int = Field(description="Points of this kind: the denominator.")
    met: MaybeShare = Field(
        description="Share that is met, posters drawn again for the interval; null where no verdict was given."
    )
    owed: int = Field(title="Verdicts owed", description="Verdicts a judge owes; they count as no.")
    oracle: float | None = Field(description="Share that is met by the record, of the points it can answer.")
    agree: Annotated[int, Format("text")] = Field(
        title="Oracle agrees", description="Points on which judge and record say the same."
    )
    both: int = Field(description="Points on which both say something.")


class PointCase(Noun):
    """One key point of one poster."""

    text: str = Field(description="The point.")
    kind: str = Field(description="Kind of the rule that measures it; eyes where only looking can tell.")
    holds: bool | None = Field(description="Null where the verdict is owed.")
    why: str = Field(description="What was found, where a measurement judged.")
    oracle: bool | None = Field(description="What the record says; null where it says nothing.")


class PosterCase(Noun):
    """One poster, for the gallery."""

    number: int = Field(description="Its place in the file, from 0.")
    name: str = Field(description="Its name in the file.")
    path: str = Field(description="Where its picture stands.")
    prompt: str = Field(description="What was asked for.")
    worth: float = Field(description="What it is worth by the task's first metric.")
    there: bool = Field(description="Whether the poster is there.")
    wanted: str = Field(description="The style asked for; empty in other tasks.")
    said: str = Field(description="What the judge said of style or lettering.")
    oracle: str = Field(description="What the record says of them.")
    points: tuple[PointCase, ...] = Field(description="Its key points with their verdicts.")


class TaskResult(Noun):
    """One file."""

    task: str = Field(description="Name of the task.")
    title: str = Field(description="What tables call it.")
    group: str = Field(description="Its group.")
    side: Literal["understanding", "generation"] = Field(description="Whether it asks about a poster or for one.")
    items: int = Field(description="Items of the file: the denominator of every number.")
    missing: int = Field(description="Items without an answer (or a poster): worth nothing.")
    unread: Annotated[dict[str, int], Format("count")] = Field(
        description="Answers that could not be read, by reason: worth nothing."
    )
    bad_boxes: int = Field(0, description="Boxes inverted, outside the picture or not numbers: their place is empty.")
    owed: int = Field(
        0, title="Verdicts owed", description="Verdicts a judge owes; they count as no, `at_best` as yes."
    )
    no_picture: int | None = Field(None, description="Pictures not found; null where no folder was given.")
    metrics: tuple[MetricResult, ...] = Field(description="Its numbers.")
    failures: tuple[WrongAnswer, ...] = Field(default=(), description="Some answers that were wrong.")
    points: tuple[PointKind, ...] = Field((), description="Key points of generated posters, by kind.")
    posters: tuple[PosterCase, ...] = Field((), description="Generated posters, the worst first.")


class PosterGroup(Noun):
    """The mean of a group's metrics."""

    group: str = Field(description="Name of the group.")
    figure: MaybeShare = Field(
        title="Mean", description="The mean with its interval; null where no metric has a value."
    )
    metrics: int = Field(description="Metrics averaged.")
    at_best: float | None = Field(None, description="The mean if all that a judge owes turned out well.")
    absent: Annotated[tuple[str, ...], Format("count")] = Field(
        title="Without", description="Metrics of the group that no file was given for."
    )
    released: float | None = Field(default=None, description="What the released scoring gives.")


class PosterReport(Noun):
    """Everything about one contestant."""

    format: Literal["salon.posters/1"] = Field(default=FORMAT, description="Name and version of this form.")
    contestant: str = Field(description="Who answered.")
    settings: PosterScoreSettings = Field(description="How responses were scored.")
    compat: Literal["released"] | None = Field(default=None, description="Whose scoring stands beside ours.")
    tasks: tuple[TaskResult, ...] = Field(description="One for each file.")
    groups: tuple[PosterGroup, ...] = Field(description="Means of groups, in the order of the published table.")
    overall: Estimate | None = Field(description="Mean of the groups that have a value; null for a single task.")
    overall_released: float | None = Field(default=None, description="What the released scoring gives.")
    gap: Estimate | None = Field(None, description="Word recall of simple OCR less that of hard OCR.")
    curves: tuple[DifficultyCurve, ...] = Field(default=(), description="How tasks depend on what makes items hard.")
    judges: tuple[JudgeCard, ...] = Field((), description="Who gave the verdicts that the score rests on.")
    notes: tuple[str, ...] = Field(default=(), description="What a reader should know, a sentence each.")
    policies: tuple[str, ...] = Field(description="How gaps were treated, a sentence each.")
    signature: Signature = Field(description="What reproduces these numbers.")
