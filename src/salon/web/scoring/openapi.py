"""The schema of the service: bodies as JSON or as a form, with examples, and the one shape of every refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from salon.calls.scores_shapes import ServiceError
from salon.web.scoring import shapes

_BODIES = (shapes.ScoreIn, shapes.CompareIn, shapes.PickIn, shapes.GateIn, shapes.ExplainIn)
_PLACE = "#/components/schemas/{model}"
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


def body(shape: type[BaseModel], **example: Any) -> dict[str, Any]:
    """`openapi_extra` of a route that takes pictures."""
    fields = {
        "images": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "prompt": {"type": "string"},
        "request": {"type": "string", "description": "The other fields of the JSON body, as JSON."},
    }
    schema = {"$ref": _PLACE.format(model=shape.__name__)}
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


def described(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """`app.openapi`, with the bodies that routes read themselves."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            _, made = models_json_schema([(one, "validation") for one in _BODIES], ref_template=_PLACE)
            schema["components"]["schemas"] |= made.get("$defs", {})
            schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            if not app.state.settings.no_token:
                schema["security"] = [{"token": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    return openapi
