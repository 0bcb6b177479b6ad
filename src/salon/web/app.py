"""The studio as a web application, and the check of its configuration before people are let in."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.responses import JSONResponse

from salon.collect import FILE, Studio, database_file, describe_questions, first_plan, study_to_collect, workloads
from salon.errors import SalonError
from salon.generate import ReadySettings, check_ready
from salon.store import Database, NoStudy, Unavailable, open_database, open_study
from salon.web import api_owner, api_rater, auth, errors, images, rendering
from salon.web.auth import SessionAuth, check_csrf
from salon.web.errors import log
from salon.web.guard import RequestGuard
from salon.web.images import show_studio
from salon.web.limits import SharedLimits, make_buckets
from salon.web.pages import adjudicator, owner, owner_forms, owner_panel, panel, rater
from salon.web.settings import PRIVATE, WebSettings, check_web_settings, is_loopback, read_password, read_secret

_ROUTED = (api_rater, rater, images, auth, panel, api_owner, owner, owner_forms, owner_panel, adjudicator, rendering)
"""Modules with routes. They are tried in this order, so the most frequent requests come first."""


def create_app(studio: Studio, settings: WebSettings) -> FastAPI:
    """The application of one studio. Only /api has a schema; whoever opened the studio's database closes it."""
    check_web_settings(settings)
    app = FastAPI(
        title="Salon studio",
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        dependencies=[Depends(check_csrf)],
    )
    app.state.settings, app.state.secret = settings, (secret := read_secret(settings.folder))
    show_studio(app, studio)
    buckets = make_buckets if studio.database.sqlite else SharedLimits(studio.database, secret).make_buckets
    password = read_password(settings.folder)
    app.state.auth = SessionAuth(studio.database, settings, secret=secret, password=password, make_buckets=buckets)
    app.state.panel_entry = panel.PanelEntry(settings, secret, buckets)
    app.state.readiness = Readiness(studio.database)
    errors.install_error_handlers(app)
    for module in _ROUTED:
        app.include_router(module.router)
    app.include_router(_plain)
    app.mount("/static", rendering.StaticAssets())
    app.add_middleware(RequestGuard, settings=settings, may_upload=app.state.auth.may_upload, make_buckets=buckets)
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


# -- configuration check --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConfigCheck:
    """One thing that was looked at."""

    name: str
    ok: bool
    words: str


def check_config(settings: WebSettings, db: str | None, *, progress: Callable[[str], None]) -> list[ConfigCheck]:
    """The study, its studio.toml, the database, the pictures, the address and the private files, in this order."""
    folder = settings.folder
    return [
        _run_check("study", lambda: _check_study(folder)),
        _run_check(FILE, lambda: _check_studio_toml(folder)),
        _run_check("database", lambda: _check_database(db or database_file(folder), folder)),
        _check_pictures(folder, progress),
        _check_address(settings),
        _run_check("private files", lambda: _check_private_files(folder)),
    ]


def _run_check(name: str, look: Callable[[], str]) -> ConfigCheck:
    try:
        return ConfigCheck(name, True, look())
    except SalonError as error:
        return ConfigCheck(name, False, " · ".join(part.strip() for part in error.message().splitlines()))


def _check_study(folder: Path) -> str:
    study = open_study(folder)
    counts = study.counts
    return f"{study.name}: {counts.get('prompts', 0):,} prompts, {counts.get('items', 0):,} items"


def _check_studio_toml(folder: Path) -> str:
    there = (folder / FILE).exists()
    settings, plan = first_plan(folder)
    lines = describe_questions(folder, settings, study_to_collect(folder).criteria)
    notes = () if there else ("will be written at the first start",)
    return "; ".join([*lines, *map(str, workloads(plan)), *notes])


def _check_database(url: str | Path, folder: Path) -> str:
    try:
        with open_database(url) as database:
            database.check_whole()
            with suppress(NoStudy):
                study = database.read_study()
                ids = {item.id for item in study.nouns("items")}
                fresh = sum(item.id not in ids for item in open_study(folder).nouns("items"))
                newer_items = (
                    f" · {fresh:,} newer items of the folder are not shown: collect them as a study of their own"
                    if fresh
                    else ""
                )
                return f"{database.name} at revision {study.revision}{newer_items}"
            return f"{database.name}, empty"
    except Unavailable as error:
        if error.found != "no such file":
            raise
        return "will be made at the first start"


def _check_pictures(folder: Path, progress: Callable[[str], None]) -> ConfigCheck:
    try:
        report = check_ready(folder, ReadySettings(partial=True), progress=progress)
    except SalonError as error:
        return ConfigCheck("pictures", False, error.needed)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.kinds())
    return ConfigCheck("pictures", report.ready, kinds or f"all {report.items:,} decode")


def _check_address(settings: WebSettings) -> ConfigCheck:
    if settings.https or is_loopback(urlsplit(settings.address).hostname or ""):
        return ConfigCheck("address", True, settings.address)
    return ConfigCheck(
        "address", False, f"{settings.address} · others come without https: anyone on the way reads their links"
    )


def _check_private_files(folder: Path) -> str:
    if not (folder / PRIVATE / "secret").exists():
        return "will be made at the first start"
    read_secret(folder)
    return "mode 0600; " + ("a password is set" if read_password(folder) else "no password: the owner comes by link")
