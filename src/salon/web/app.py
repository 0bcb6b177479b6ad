"""A studio as a web application."""

from __future__ import annotations

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.responses import JSONResponse

from salon.flows.studio.studio import Studio
from salon.web import auth, errors, images, look
from salon.web.api import owner as api_owner
from salon.web.api import rater as api_rater
from salon.web.auth import Doorkeeper, check_csrf
from salon.web.guard import Guard
from salon.web.images import study_images
from salon.web.pages import adjudicator, owner_data, owner_raters, owner_settings
from salon.web.pages import owner as owner_pages
from salon.web.pages import rater as rater_pages
from salon.web.settings import WebSettings, checked, read_password, read_secret

OWNERS = (owner_pages, owner_raters, owner_settings, owner_data, adjudicator)
"""Pages of the owner, and of those who settle disputes."""


def create_app(studio: Studio, settings: WebSettings) -> FastAPI:
    """The application of one studio. Only /api has a schema; whoever opened the studio's database closes it."""
    checked(settings)
    app = FastAPI(
        title="Salon studio",
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        dependencies=[Depends(check_csrf)],
    )
    app.state.studio, app.state.settings = studio, settings
    app.state.door = Doorkeeper(
        studio.database, settings, secret=read_secret(settings.folder), password=read_password(settings.folder)
    )
    app.state.images = study_images(studio)
    errors.install(app)
    for room in (api_rater, rater_pages, images, auth, api_owner, *OWNERS):  # routes are tried in turn: answers first
        app.include_router(room.router)
    app.include_router(_plain)
    app.include_router(look.router)
    app.mount("/static", look.Static())
    app.add_middleware(Guard, settings=settings, may_upload=app.state.door.may_upload)
    return app


_plain = APIRouter(include_in_schema=False)


@_plain.get("/healthz")
def health(request: Request) -> JSONResponse:
    """Does the studio answer, and its database?"""
    return JSONResponse({"ok": request.app.state.studio.database.has_study()})
