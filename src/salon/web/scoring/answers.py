"""Answers of the scoring service: from model results to JSON, the decision log, and the OpenAPI schema of bodies."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from salon.calls import CriterionInfo, PictureScores, ScoringAnswer, ServedScore, ServiceError
from salon.errors import UnknownReference
from salon.judge import MissingScore, PictureScore, ScoreResult
from salon.select import (
    Blend,
    Decision,
    ModelAnswer,
    ScorerColumn,
    ScoreReference,
    ScoringModel,
    ServedCriterion,
    ServiceAnswer,
    blend_columns,
    read_weights,
)
from salon.web.scoring import requests as shapes
from salon.web.scoring.access import ServiceCaller
from salon.web.scoring.requests import ExplainIn, LookIn, PickIn, RequestPictures

_Z_95 = 1.959964
"""Standard deviations on each side of 95% of a normal law."""


def json_response(answer: ScoringAnswer) -> Response:
    """An answer as JSON, written once: the framework would validate it a second time."""
    return Response(answer.model_dump_json(), media_type="application/json")


async def ask_model(request: Request, caller: ServiceCaller, body: LookIn, uploads: RequestPictures) -> ServiceAnswer:
    """What the active model says of the pictures of a request."""
    criteria = select_criteria(
        request.app.state.service.active.model, body.criteria
    )  # what cannot be answered costs no look
    if isinstance(body, PickIn | ExplainIn):
        blend_criteria(body, criteria, request.app.state.reference)
    answered: ServiceAnswer = await request.app.state.service.ask(
        uploads.pictures, caller=caller.name, seconds=body.seconds
    )
    return answered


def select_criteria(model: ScoringModel, names: Sequence[str] | None) -> list[ServedCriterion]:
    """The criteria that were asked for; all of them when none are named."""
    by_id = {criterion.criterion: criterion for criterion in model.criteria}
    for name in names or ():
        if name not in by_id:
            near = difflib.get_close_matches(name, by_id, n=1, cutoff=0.4)
            remedy = (f"did you mean {near[0]}? " if near else "") + "there are " + ", ".join(by_id)
            raise UnknownReference("a criterion that is served is needed", found=repr(name), remedy=remedy)
    return [criterion for id, criterion in by_id.items() if not names or id in names]


def blend_criteria(
    body: PickIn | ExplainIn, criteria: Sequence[ServedCriterion], reference: ScoreReference | None
) -> Blend:
    """How criteria become one number: as weighed, or all alike but flags, which say what to hold back."""
    columns = [
        ScorerColumn(criterion=criterion.criterion, scorer=criterion.scorer, signature=criterion.signature,
                    higher_is_better=criterion.card.higher_is_better, scale=criterion.scale)
        for criterion in criteria
    ]  # fmt: skip
    alike = dict.fromkeys([criterion.criterion for criterion in criteria if not criterion.flag], 1.0) or None
    weights = read_weights(
        alike if body.weights is None else body.weights, [criterion.criterion for criterion in criteria]
    )
    return blend_columns(columns, weights, reference=None if body.equal_scales else reference, equal=body.equal_scales)


def criterion_info(criterion: ServedCriterion) -> CriterionInfo:
    """What a caller has to know of a criterion."""
    card = criterion.card
    return CriterionInfo(
        criterion=criterion.criterion, scorer=criterion.scorer, measures=card.measures, reads=card.reads,
        licence=card.licence, higher_is_better=card.higher_is_better, is_logit=card.is_logit, low=card.low,
        high=card.high, scale=criterion.scale, flag=criterion.flag, signature=criterion.signature,
    )  # fmt: skip


def picture_scores(
    answered: ServiceAnswer, uploads: RequestPictures, criteria: Sequence[ServedCriterion]
) -> tuple[PictureScores, ...]:
    """The numbers of each picture."""
    return tuple(
        _picture(place, name, looked, criteria)
        for place, (looked, name) in enumerate(zip(answered.looked, uploads.names))
    )


def _picture(place: int, name: str | None, looked: ModelAnswer, criteria: Sequence[ServedCriterion]) -> PictureScores:
    picture = looked.picture
    assert picture is not None, "the model names the picture it saw"
    return PictureScores(
        index=place, name=name, sha256=picture.sha256, width=picture.width, height=picture.height, notes=picture.notes,
        scores={criterion.criterion: as_score(looked.results[criterion.criterion]) for criterion in criteria},
    )  # fmt: skip


def as_score(result: ScoreResult) -> ServedScore:
    """A result as the answer shows it."""
    if isinstance(result, MissingScore):
        return ServedScore(value=None, unscored=result.reason)
    value, sigma = result
    around = None if sigma is None else (value - _Z_95 * sigma, value + _Z_95 * sigma)
    return ServedScore(value=value, sigma=sigma, interval=around)


def score_value(looked: ModelAnswer, criterion: str) -> float | None:
    """The value under a criterion, or None."""
    result = looked.results[criterion]
    return result.value if isinstance(result, PictureScore) else None


def score_sigma(looked: ModelAnswer, criterion: str) -> float | None:
    """The sigma under a criterion, or None."""
    result = looked.results[criterion]
    return result.sigma if isinstance(result, PictureScore) else None


async def record_decision(
    request: Request, caller: ServiceCaller, endpoint: str, answered: ServiceAnswer, uploads: RequestPictures,
    criteria: Sequence[ServedCriterion], **more: object,
) -> str | None:  # fmt: skip
    """Log a decision before it is sent. Returns its id, or None without a log."""
    decisions = request.app.state.decisions
    if decisions is None:
        return None
    ids = [item.criterion for item in criteria]
    decision = Decision(
        endpoint=endpoint, owner=caller.name, model=f"{answered.model.order.name}@{answered.model.version}",
        pictures=tuple(item.sha256 for item in uploads.pictures),
        prompt=None if uploads.prompt is None else uploads.prompt.view(),
        values={id: tuple(score_value(item, id) for item in answered.looked) for id in ids},
        sigmas={id: tuple(score_sigma(item, id) for item in answered.looked) for id in ids
                if any(score_sigma(item, id) is not None for item in answered.looked)},
        **more,
    )  # fmt: skip
    id: str = await run_in_threadpool(decisions.record, decision)
    return id


# -- schema ---------------------------------------------------------------------------------------------------------

_BODIES = (shapes.ScoreIn, shapes.CompareIn, shapes.PickIn, shapes.GateIn, shapes.ExplainIn)
_SCHEMA_REF = "#/components/schemas/{model}"
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFElEQVR4nGOsqKhgwAaYsIoOWgkAHYcBeHFoDCsAAAAASUVORK5CYII="
"""A gray square of eight pixels, as PNG."""
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ServiceError, "description": description}
    for status, description in {
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
    value = {"images": images, "prompt": "A poster for a jazz night", **example}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": schema, "examples": {"two pictures": {"value": value}}},
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
            _, definitions = models_json_schema([(model, "validation") for model in _BODIES], ref_template=_SCHEMA_REF)
            schema["components"]["schemas"] |= definitions.get("$defs", {})
            schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            if not app.state.settings.no_token:
                schema["security"] = [{"token": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    return openapi
