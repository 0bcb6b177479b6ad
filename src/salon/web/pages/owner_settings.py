"""The owner's page of settings: studio.toml as it is, the plain things as a form, mistakes told in place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, RedirectResponse, Response

from salon.collect.language import languages
from salon.collect.settings import StudioSettings
from salon.collect.studio.change import changed, current_text, with_values
from salon.collect.studio.studio import Studio
from salon.errors import BadValue, SalonError
from salon.web.auth import OwnerSession, Session, studio_of
from salon.web.images import study_images
from salon.web.pages.owner import owner_page
from salon.web.pages.owner_form import Fields, files_of, text_of
from salon.web.settings import read_secret

router = APIRouter(include_in_schema=False)

MOST_TEXT = 500_000
"""Characters of a studio.toml, and of each text in the form."""
NUMBERS = {
    "times.guidelines": "Guidelines",
    "times.prompt": "Prompt alone",
    "times.ready_after": "Before “I’m ready”",
    "times.compare": "Two or more pictures",
    "times.rate": "One picture",
    "break_minutes": "Minutes until a break is suggested",
}
"""Fields of the form that hold numbers, by TOML key."""
TEXTS = ("language", "consent.version", "consent.text", "guidelines", "completion_code")


@router.get("/owner/settings")
def settings(session: OwnerSession, request: Request, saved: bool = False) -> HTMLResponse:
    """How the studio works."""
    return _page(session, request, current_text(studio_of(request)), saved=saved)


@router.post("/owner/settings")
async def change(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """A new studio.toml, typed or uploaded."""
    files = files_of(fields, "file")
    text = _decoded(await files[0].read()) if files else text_of(fields, "text", most=MOST_TEXT)
    return await run_in_threadpool(_tried, session, request, fields, text.replace("\r\n", "\n"))


@router.post("/owner/settings/plain")
def change_plain(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """The plain things, set in the studio.toml there is."""
    before = current_text(studio_of(request))
    try:
        text = with_values(before, _values(fields, studio_of(request).settings))
    except SalonError as error:
        return _page(session, request, before, wrong=error, fields=fields)
    return _tried(session, request, fields, text)


def _tried(session: Session, request: Request, fields: FormData, text: str) -> Response:
    """The page anew with what is wrong, or the studio changed."""
    studio = studio_of(request)
    try:
        if text_of(fields, "seen") != _mark(current_text(studio)):
            raise BadValue(
                "the newest studio.toml is needed to change it",
                found="an older one: it was changed meanwhile",
                remedy="compare with what stands there now, and save again",
            )
        request.app.state.studio = changed(studio, text)
    except SalonError as error:
        return _page(session, request, text, wrong=error, fields=fields)
    request.app.state.images = study_images(request.app.state.studio, read_secret(request.app.state.settings.folder))
    return RedirectResponse("/owner/settings?saved=true", 303)


def _values(fields: FormData, before: StudioSettings) -> dict[str, Any]:
    values: dict[str, Any] = {name: _number(fields, name) for name in NUMBERS}
    values |= {name: text_of(fields, name, most=MOST_TEXT).replace("\r\n", "\n").strip() for name in TEXTS}
    values["completion_code"] = values["completion_code"] or None
    same_version = values["consent.version"] == before.consent.version
    if same_version and values["consent.text"] != before.consent.text.strip() and before.consent.text:
        raise BadValue(
            "consent.version: a new text needs a new version, so that raters agree to it",
            found=f"version {before.consent.version!r} with another text",
        )
    return values


def _number(fields: FormData, name: str) -> float:
    text = text_of(fields, name, most=20).strip()
    try:
        return float(text)
    except ValueError:
        raise BadValue(f"{name}: a number is needed", found=repr(text)) from None


def _decoded(data: bytes) -> str:
    text = data[: MOST_TEXT + 1].decode("utf-8", "replace")
    if len(text) > MOST_TEXT or "\x00" in text:
        raise BadValue("a studio.toml is needed", found="a file that is too long, or no text")
    return text


# -- the page -------------------------------------------------------------------------------------------------


def _page(
    session: Session,
    request: Request,
    text: str,
    *,
    wrong: SalonError | None = None,
    fields: FormData | None = None,
    saved: bool = False,
) -> HTMLResponse:
    studio = studio_of(request)
    now = studio.settings.model_dump(mode="json")
    typed = {name: str(value) for name, value in fields.items()} if fields else {}
    return owner_page(
        "settings",
        session,
        request,
        422 if wrong else 200,
        text=text,
        seen=_mark(current_text(studio)),
        wrong=wrong,
        saved=saved and wrong is None,
        numbers=[(name, label, typed.get(name, f"{_at(now, name):g}")) for name, label in NUMBERS.items()],
        texts={name: typed.get(name, _at(now, name) or "") for name in TEXTS},
        languages=languages(),
        agreed=_agreed(studio),
        keys=list(_keys(StudioSettings)),
    )


def _at(record: dict[str, Any], name: str) -> Any:
    for part in name.split("."):
        record = record[part]
    return record


def _agreed(studio: Studio) -> dict[str, int]:
    """Raters who agreed to each version of the consent text."""
    found: dict[str, int] = {}
    for rater in studio.database.raters():
        for version in studio.database.consents(rater.id) if rater.cohort in studio.plan.runs else ():
            found[version] = found.get(version, 0) + 1
    return found


def _keys(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Every key of studio.toml: its name, what it means, and what stands there when it is left out."""
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        default = (
            "needed" if field.is_required() else "" if inner else f"{field.get_default(call_default_factory=True)}"
        )
        yield f"{path}{name}", field.description or "", default
        if inner is not None:
            yield from _keys(inner, f"{path}{name}.")


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model behind a key: itself, one of several, or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(part) for part in getattr(annotation, "__args__", ()))
    return next((one for one in found if one is not None), None)


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
