"""A studio as a web application."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.responses import JSONResponse

from salon.collect.studio.studio import Studio
from salon.errors import SalonError
from salon.store.database import Database
from salon.web import auth, errors, images, look
from salon.web.api import owner as api_owner
from salon.web.api import rater as api_rater
from salon.web.auth import Doorkeeper, check_csrf
from salon.web.errors import log
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
    secret = read_secret(settings.folder)
    app.state.door = Doorkeeper(studio.database, settings, secret=secret, password=read_password(settings.folder))
    app.state.images = study_images(studio, secret)
    app.state.readiness = Readiness(studio.database)
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
    """Can an answer be saved? 503 while it cannot. The database is written to at most once a second."""
    readiness: Readiness = request.app.state.readiness
    reason = readiness.reason()
    return JSONResponse({"ok": reason is None}, 200 if reason is None else 503)


class Readiness:
    """Whether the database takes writes, looked at by writing to it and remembered for a second."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock, self._lock = database, clock, threading.Lock()
        self._checked_at, self._reason = -math.inf, ""

    def reason(self) -> str | None:
        """Why nothing can be saved; None when all is well."""
        with self._lock:
            if self._clock() - self._checked_at >= 1:
                self._reason = ""
                try:
                    self._database.check_writable()
                except SalonError as error:
                    self._reason = str(error)
                    log.error("nothing can be saved: %s", error)
                self._checked_at = self._clock()
            return self._reason or None
