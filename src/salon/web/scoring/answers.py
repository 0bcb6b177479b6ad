"""From what a model saw to what is answered, and to the log of decisions."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from salon.calls.scores_schema import CriterionInfo, PictureScores, Score, ScoringAnswer, ServiceError
from salon.errors import UnknownReference
from salon.judge.scoring import MissingScore, PictureScore, ScoreResult
from salon.select.service.decisions import Decision
from salon.select.service.model import ModelAnswer, ScoringModel, ServedCriterion
from salon.select.service.service import ServiceAnswer
from salon.select.weights import Blend, ScorerColumn, ScoreReference, blend_columns, read_weights
from salon.web.scoring import requests as shapes
from salon.web.scoring.access import ServiceCaller
from salon.web.scoring.requests import ExplainIn, LookIn, PickIn, RequestPictures

_Z_95 = 1.959964
"""Standard deviations on each side of 95% of a normal law."""


def json_response(answer: ScoringAnswer) -> Response:
    """An answer as JSON, written once: the framework would validate it a second time."""
    return Response(answer.model_dump_json(), media_type="application/json")


async def ask_model(request: Request, caller: ServiceCaller, sent: LookIn, taken: RequestPictures) -> ServiceAnswer:
    """What the active model says of the pictures of a request."""
    criteria = select_criteria(
        request.app.state.service.active.model, sent.criteria
    )  # what cannot be answered costs no look
    if isinstance(sent, PickIn | ExplainIn):
        blend_criteria(sent, criteria, request.app.state.reference)
    found: ServiceAnswer = await request.app.state.service.ask(taken.asked, caller=caller.name, seconds=sent.seconds)
    return found


def select_criteria(model: ScoringModel, wanted: Sequence[str] | None) -> list[ServedCriterion]:
    """The criteria that were asked for; all of them when none are named."""
    known = {one.criterion: one for one in model.criteria}
    for name in wanted or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            remedy = (f"did you mean {near[0]}? " if near else "") + "there are " + ", ".join(known)
            raise UnknownReference("a criterion that is served is needed", found=repr(name), remedy=remedy)
    return [one for id, one in known.items() if not wanted or id in wanted]


def blend_criteria(
    sent: PickIn | ExplainIn, criteria: Sequence[ServedCriterion], reference: ScoreReference | None
) -> Blend:
    """How criteria become one number: as weighed, or all alike but flags, which say what to hold back."""
    columns = [
        ScorerColumn(criterion=one.criterion, scorer=one.scorer, signature=one.signature,
                    higher_is_better=one.card.higher_is_better, scale=one.scale)
        for one in criteria
    ]  # fmt: skip
    alike = dict.fromkeys([one.criterion for one in criteria if not one.flag], 1.0) or None
    weights = read_weights(alike if sent.weights is None else sent.weights, [one.criterion for one in criteria])
    return blend_columns(columns, weights, reference=None if sent.equal_scales else reference, equal=sent.equal_scales)


def criterion_info(one: ServedCriterion) -> CriterionInfo:
    """What a caller has to know of a criterion."""
    card = one.card
    return CriterionInfo(
        criterion=one.criterion, scorer=one.scorer, measures=card.measures, reads=card.reads, licence=card.licence,
        higher_is_better=card.higher_is_better, is_logit=card.is_logit, low=card.low, high=card.high, scale=one.scale,
        flag=one.flag, signature=one.signature,
    )  # fmt: skip


def picture_scores(
    answered: ServiceAnswer, taken: RequestPictures, criteria: Sequence[ServedCriterion]
) -> tuple[PictureScores, ...]:
    """The numbers of each picture."""
    return tuple(
        _picture(place, name, looked, criteria)
        for place, (looked, name) in enumerate(zip(answered.looked, taken.names))
    )


def _picture(place: int, name: str | None, looked: ModelAnswer, criteria: Sequence[ServedCriterion]) -> PictureScores:
    seen = looked.picture
    assert seen is not None, "the model names the picture it saw"
    return PictureScores(
        index=place, name=name, sha256=seen.sha256, width=seen.width, height=seen.height, notes=seen.notes,
        scores={one.criterion: as_score(looked.results[one.criterion]) for one in criteria},
    )  # fmt: skip


def as_score(result: ScoreResult) -> Score:
    """A result as it is told."""
    if isinstance(result, MissingScore):
        return Score(value=None, unscored=result.reason)
    value, sigma = result
    around = None if sigma is None else (value - _Z_95 * sigma, value + _Z_95 * sigma)
    return Score(value=value, sigma=sigma, interval=around)


def score_value(looked: ModelAnswer, criterion: str) -> float | None:
    """The value under a criterion, or None."""
    found = looked.results[criterion]
    return found.value if isinstance(found, PictureScore) else None


def score_sigma(looked: ModelAnswer, criterion: str) -> float | None:
    """The sigma under a criterion, or None."""
    found = looked.results[criterion]
    return found.sigma if isinstance(found, PictureScore) else None


async def record_decision(
    request: Request, caller: ServiceCaller, endpoint: str, answered: ServiceAnswer, taken: RequestPictures,
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
        values={id: tuple(score_value(one, id) for one in answered.looked) for id in ids},
        sigmas={id: tuple(score_sigma(one, id) for one in answered.looked) for id in ids
                if any(score_sigma(one, id) is not None for one in answered.looked)},
        **more,
    )  # fmt: skip
    id: str = await run_in_threadpool(decisions.record, decision)
    return id


# --------------------------------------------------------------------------------------------------
# The schema of the service: bodies as JSON or as a form, with examples, and the one shape of every refusal.
# --------------------------------------------------------------------------------------------------

_BODIES = (shapes.ScoreIn, shapes.CompareIn, shapes.PickIn, shapes.GateIn, shapes.ExplainIn)
_SCHEMA_REF = "#/components/schemas/{model}"
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFElEQVR4nGOsqKhgwAaYsIoOWgkAHYcBeHFoDCsAAAAASUVORK5CYII="
"""A gray square of eight pixels, as PNG."""
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ServiceError, "description": told}
    for status, told in {
        400: "The request cannot be read.",
        401: "No token, or none that is known.",
        403: "The token has not the scope, or a page of another site asked.",
        404: "Nothing of that name.",
        409: "Not now, or said otherwise before.",
        413: "Too many bytes, or too slow.",
        421: "Asked for under another name.",
        422: "What was sent does not fit: pictures, prompt, criteria, weights.",
        429: "Too many requests of one token or address; Retry-After says how long to wait.",
        500: "The service's own fault.",
        503: "Too much to do; Retry-After says how long to wait.",
        504: "No answer within the time.",
    }.items()
}
"""What every route may answer instead."""


def picture_body(shape: type[BaseModel], **example: Any) -> dict[str, Any]:
    """`openapi_extra` of a route that takes pictures."""
    fields = {
        "images": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "prompt": {"type": "string"},
        "request": {"type": "string", "description": "The other fields of the JSON body, as JSON."},
    }
    schema = {"$ref": _SCHEMA_REF.format(model=shape.__name__)}
    images = [{"base64": _PIXEL, "name": f"{name}.png"} for name in ("first", "second")]
    told = {"images": images, "prompt": "A poster for a jazz night", **example}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": schema, "examples": {"two pictures": {"value": told}}},
                "multipart/form-data": {"schema": {"type": "object", "properties": fields, "required": ["images"]}},
            },
        }
    }


def openapi_with_bodies(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """`app.openapi`, with the bodies that routes read themselves."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            _, made = models_json_schema([(one, "validation") for one in _BODIES], ref_template=_SCHEMA_REF)
            schema["components"]["schemas"] |= made.get("$defs", {})
            schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            if not app.state.settings.no_token:
                schema["security"] = [{"token": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    return openapi
