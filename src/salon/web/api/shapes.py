"""What the API says, as the schema shows it. Items have no ids here, only places and code-names."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from salon.collect.assign import Finished, Rest
from salon.collect.studio.steps import Needs, RaterProgress, ShownTask, Step
from salon.study import Criterion
from salon.web.images import Images


class Shape(BaseModel):
    """One JSON object; nothing but what is named here."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Me(Shape):
    """Whom the session stands for."""

    role: Literal["rater", "owner", "adjudicator"]
    rater: str | None
    csrf: str = Field(description="Send it as X-CSRF-Token with every POST; empty for a bearer token.")


class Level(Shape):
    """One value of a scale."""

    value: float
    label: str | None


class Asked(Shape):
    """A criterion on the screen."""

    id: str
    name: str
    question: str | None
    rubric: str | None
    levels: list[Level]


class Picture(Shape):
    """One place on the screen, left to right or top to bottom."""

    code_name: str
    thumbnail: str | None
    screen: str | None
    full: str | None


class TaskShape(Shape):
    """A question to answer."""

    step: Literal["task"] = "task"
    id: int
    stage: Literal["prompt", "question"] = Field(description="prompt: read first, pictures follow.")
    kind: str
    prompt: str | None
    criteria: list[Asked]
    pictures: list[Picture] = Field(description="Empty while the prompt is read.")
    points: list[str] = Field(description="checklist: points to answer.")
    grid: tuple[int, int] = Field(description="regions: rows and columns.")
    instructed: float | None = Field(None, description="Attention check: the place or value to answer.")
    ties: bool
    both_bad: bool
    rationale: Literal["none", "optional", "required"]
    prompt_left: float = Field(description="Seconds left of the prompt's countdown.")
    ready_left: float = Field(description='Seconds until "ready" is accepted.')
    wait: float = Field(description="Seconds until an answer is accepted.")
    done: int
    total: int
    can_undo: bool


class RestShape(Shape):
    """Come back later."""

    step: Literal["rest"] = "rest"
    until: int = Field(description="Milliseconds since 1970.")


class FinishedShape(Shape):
    """Nothing more to ask."""

    step: Literal["finished"] = "finished"
    reason: str
    completion_code: str | None = None


class NeedsShape(Shape):
    """Something to do first, on the studio's pages."""

    step: Literal["needs"] = "needs"
    what: Literal["consent", "screener", "profile", "guidelines"]
    seconds_left: float
    again: bool


StepShape = Annotated[TaskShape | RestShape | FinishedShape | NeedsShape, Field(discriminator="step")]


class SavedShape(Shape):
    """An answer that is on the disk."""

    saved: int = Field(description="Judgments saved.")
    repeated: bool = Field(description="True when the same key had saved them before.")
    next: StepShape = Field(description="What comes next, as /api/next would say.")


class RaterShape(Shape):
    """How far one rater is."""

    rater: str
    cohort: str | None
    status: str
    answered: int
    total: int
    judgments: dict[str, int]
    last_at: int | None
    hours: float


class InvitationShape(Shape):
    """A new link; it is told only now."""

    rater: str
    link: str


class AuditShape(Shape):
    """One line of the audit."""

    number: int
    at: int
    who: str
    what: str
    detail: dict[str, JsonValue]


def step_shape(step: Step, *, rater: str, images: Images, code: str | None) -> StepShape:
    """What comes next, as JSON may tell it."""
    if isinstance(step, ShownTask):
        return _task(step, rater, images)
    if isinstance(step, Rest):
        return RestShape(until=step.until)
    if isinstance(step, Needs):
        return NeedsShape(what=step.what, seconds_left=step.seconds_left, again=step.again)
    done = isinstance(step, Finished) and step.reason in ("done", "enough answers")
    return FinishedShape(reason=step.reason, completion_code=code if done else None)


def rater_shape(progress: RaterProgress) -> RaterShape:
    """How far a rater is."""
    return RaterShape(**vars(progress))


def _task(task: ShownTask, rater: str, images: Images) -> TaskShape:
    screen, phase = task.shown.screen(), task.phase
    return TaskShape(
        id=task.id,
        stage=task.stage,
        kind=screen["kind"],
        prompt=task.prompt,
        criteria=[_asked(criterion, screen["kind"]) for criterion in task.criteria],
        pictures=[] if task.stage == "prompt" else _pictures(task, rater, images),
        points=screen["points"],
        grid=screen["grid"],
        instructed=screen.get("instructed"),
        ties=bool(phase and phase.ties),
        both_bad=bool(phase and phase.both_bad),
        rationale=phase.rationale if phase else "none",
        prompt_left=task.prompt_left,
        ready_left=task.ready_left,
        wait=task.wait,
        done=task.done,
        total=task.total,
        can_undo=task.can_undo,
    )


def _asked(criterion: Criterion, kind: str) -> Asked:
    scale = criterion.scale
    levels = scale.levels if scale else ()
    labels = scale.labels if scale and scale.labels else [None] * len(levels)
    question = criterion.rate_question if kind in ("rate", "flag") else criterion.question
    return Asked(
        id=criterion.id,
        name=criterion.title,
        question=question,
        rubric=criterion.rubric,
        levels=[Level(value=value, label=label) for value, label in zip(levels, labels)],
    )


def _pictures(task: ShownTask, rater: str, images: Images) -> list[Picture]:
    return [
        Picture(
            code_name=name,
            thumbnail=images.rater_address(item, "thumbnail", rater=rater, task=task.id),
            screen=images.rater_address(item, "screen", rater=rater, task=task.id),
            full=images.rater_address(item, "full", rater=rater, task=task.id),
        )
        for item, name in zip(task.shown.order, task.shown.code_names)
    ]
