"""Rating one item: a number for each criterion on the study's scale."""

from __future__ import annotations

from collections.abc import Sequence

from salon.errors import BadValue
from salon.judge.pairs import limited
from salon.judge.question import Question
from salon.judge.settings import JudgeSettings
from salon.study import Criterion, Study


def point_questions(study: Study, criteria: Sequence[str], settings: JudgeSettings) -> list[Question]:
    """One question for each item and criterion (or all criteria at once), still without its sample."""
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    chosen = sorted(item for (item,) in limited(((item,) for item in prompts), settings.limit))
    asked = [tuple(criteria)] if settings.together else [(id,) for id in criteria]
    return [
        Question(protocol="rate", criteria=names, prompt=prompts[item], a=item) for names in asked for item in chosen
    ]


def check_scale(criterion: Criterion) -> None:
    """Raise BadValue unless items can be rated under this criterion."""
    if criterion.scale is None:
        raise BadValue(
            f"rating needs a scale for {criterion.id!r}",
            found="a criterion without one",
            remedy="add [criteria.scale] with low and high to study.toml, or compare items instead",
        )


def as_rated(criterion: Criterion) -> Criterion:
    """The criterion with the scale the judge was given: every number between its ends, unless levels have no distances.

    People tick one of five boxes; a judge may say 3.4.
    """
    scale = criterion.scale
    if scale is None or scale.kind == "ordinal":
        return criterion
    return criterion.model_copy(update={"scale": scale.model_copy(update={"step": None, "labels": ()})})


def settled_value(values: Sequence[float | None]) -> float | None:
    """What several samples say together: their mean, where more than half of them could be read."""
    read = [value for value in values if value is not None]
    return sum(read) / len(read) if 2 * len(read) > len(values) else None
