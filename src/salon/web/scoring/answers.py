"""From what a model saw to what is answered, and to the log of decisions."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from salon.calls.scores_shapes import Answer, CriterionInfo, PictureScores, Score
from salon.errors import UnknownReference
from salon.judge.scorers.picture import Result, Scored, Unscored
from salon.select.reference import ScoreReference
from salon.select.service.decisions import Decision
from salon.select.service.model import ScoringModel
from salon.select.service.parts import Looked, ServedCriterion
from salon.select.service.service import Answered
from salon.select.weights import Blend, ScoreColumn, blend, read_weights
from salon.web.scoring.intake import Taken
from salon.web.scoring.shapes import ExplainIn, LookIn, PickIn
from salon.web.scoring.tokens import Caller

_WIDE = 1.959964
"""Standard deviations on each side of 95% of a normal law."""


def told(answer: Answer) -> Response:
    """An answer as JSON, written once: the framework would validate it a second time."""
    return Response(answer.model_dump_json(), media_type="application/json")


async def look(request: Request, caller: Caller, sent: LookIn, taken: Taken) -> Answered:
    """What the active model says of the pictures of a request."""
    criteria = chosen(request.app.state.service.active.model, sent.criteria)  # what cannot be answered costs no look
    if isinstance(sent, PickIn | ExplainIn):
        blended(sent, criteria, request.app.state.reference)
    found: Answered = await request.app.state.service.ask(taken.asked, caller=caller.name, seconds=sent.seconds)
    return found


def chosen(model: ScoringModel, wanted: Sequence[str] | None) -> list[ServedCriterion]:
    """The criteria that were asked for; all of them when none are named."""
    known = {one.criterion: one for one in model.criteria}
    for name in wanted or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            remedy = (f"did you mean {near[0]}? " if near else "") + "there are " + ", ".join(known)
            raise UnknownReference("a criterion that is served is needed", found=repr(name), remedy=remedy)
    return [one for id, one in known.items() if not wanted or id in wanted]


def blended(sent: PickIn | ExplainIn, criteria: Sequence[ServedCriterion], reference: ScoreReference | None) -> Blend:
    """How criteria become one number: as weighed, or all alike but flags, which say what to hold back."""
    columns = [
        ScoreColumn(criterion=one.criterion, scorer=one.scorer, signature=one.signature,
                    higher_is_better=one.card.higher_is_better, scale=one.scale)
        for one in criteria
    ]  # fmt: skip
    alike = dict.fromkeys([one.criterion for one in criteria if not one.flag], 1.0) or None
    weights = read_weights(alike if sent.weights is None else sent.weights, [one.criterion for one in criteria])
    return blend(columns, weights, reference=None if sent.equal_scales else reference, equal=sent.equal_scales)


def info(one: ServedCriterion) -> CriterionInfo:
    """What a caller has to know of a criterion."""
    card = one.card
    return CriterionInfo(
        criterion=one.criterion, scorer=one.scorer, measures=card.measures, reads=card.reads, licence=card.licence,
        higher_is_better=card.higher_is_better, is_logit=card.is_logit, low=card.low, high=card.high, scale=one.scale,
        flag=one.flag, signature=one.signature,
    )  # fmt: skip


def pictures(answered: Answered, taken: Taken, criteria: Sequence[ServedCriterion]) -> tuple[PictureScores, ...]:
    """The numbers of each picture."""
    return tuple(
        _picture(place, name, looked, criteria)
        for place, (looked, name) in enumerate(zip(answered.looked, taken.names))
    )


def _picture(place: int, name: str | None, looked: Looked, criteria: Sequence[ServedCriterion]) -> PictureScores:
    seen = looked.picture
    assert seen is not None, "the model names the picture it saw"
    return PictureScores(
        index=place, name=name, sha256=seen.sha256, width=seen.width, height=seen.height, notes=seen.notes,
        scores={one.criterion: as_score(looked.results[one.criterion]) for one in criteria},
    )  # fmt: skip


def as_score(result: Result) -> Score:
    """A result as it is told."""
    if isinstance(result, Unscored):
        return Score(value=None, unscored=result.reason)
    value, sigma = result
    around = None if sigma is None else (value - _WIDE * sigma, value + _WIDE * sigma)
    return Score(value=value, sigma=sigma, interval=around)


def number(looked: Looked, criterion: str) -> float | None:
    """The value under a criterion, or None."""
    found = looked.results[criterion]
    return found.value if isinstance(found, Scored) else None


def spread(looked: Looked, criterion: str) -> float | None:
    """The sigma under a criterion, or None."""
    found = looked.results[criterion]
    return found.sigma if isinstance(found, Scored) else None


async def record(
    request: Request, caller: Caller, endpoint: str, answered: Answered, taken: Taken,
    criteria: Sequence[ServedCriterion], **more: object,
) -> str | None:  # fmt: skip
    """Log a decision before it is told; its id, or None without a log."""
    decisions = request.app.state.decisions
    if decisions is None:
        return None
    ids = [one.criterion for one in criteria]
    decision = Decision(
        endpoint=endpoint, owner=caller.name, model=f"{answered.model.order.name}@{answered.model.version}",
        pictures=tuple(one.sha256 for one in taken.asked),
        prompt=None if taken.prompt is None else taken.prompt.view(),
        values={id: tuple(number(one, id) for one in answered.looked) for id in ids},
        sigmas={id: tuple(spread(one, id) for one in answered.looked) for id in ids
                if any(spread(one, id) is not None for one in answered.looked)},
        **more,
    )  # fmt: skip
    id: str = await run_in_threadpool(decisions.record, decision)
    return id
