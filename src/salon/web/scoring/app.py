"""A scoring service as a web application.

    app = create_scoring_app(service, settings, decisions=log)

What routes find in `request.app.state`: `service` (ScoringService), `settings` (ScoringSettings), `decisions` (has
`record(Decision) -> id`; None without a log), `auth`, `meter`, `reference`, `gates`, `neighbourhood` and `measuring`
(what explanations look at beside the picture). Pictures come in by `requests.read_request`,
callers by `access.ScoreCaller` and `access.AdminCaller`. Routes that answer about pictures call
`answers.record_decision`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from fastapi import FastAPI
from starlette.types import Scope

from salon.select import (
    Decision,
    Gate,
    MeasuringWorker,
    Neighborhood,
    ScoreReference,
    ScoringService,
    UnknownDecision,
    WatchedLog,
)
from salon.select.service import model
from salon.study import salon_version
from salon.web import errors, rendering
from salon.web.guard import HEADERS, RequestGuard
from salon.web.scoring import models, routes, status, trainers
from salon.web.scoring.access import RequestSlots, SlotRelease, TokenAuth, check_scoring_settings
from salon.web.scoring.answers import openapi_with_bodies
from salon.web.scoring.settings import ScoringSettings
from salon.web.scoring.status import Meter, MeterMiddleware

WITH_PICTURES = frozenset({"/v1/score", "/v1/compare", "/v1/pick", "/v1/gate", "/v1/explain"})
"""Routes that take pictures: a token is looked at, and a place taken, before their body is read."""
errors.STATUS.update({
    UnknownDecision: 404, model.UnknownVersion: 404, model.LoadRefused: 403, model.LoadInProgress: 409,
    model.LoadFailed: 422, model.QueueFull: 503, model.DeadlineExceeded: 504,
})  # fmt: skip
_ROUTERS = (routes.router, models.router, status.router, rendering.router)
_POLICY = {"Content-Security-Policy": HEADERS["Content-Security-Policy"] + "; img-src 'self' blob: data:"}


class Decisions(Protocol):
    """Where decisions are kept."""

    def record(self, decision: Decision) -> str:
        """Keep a decision; its id."""
        ...


def create_scoring_app(
    service: ScoringService,
    settings: ScoringSettings,
    *,
    decisions: Decisions | None = None,
    neighbourhood: Neighborhood | None = None,
    reference: ScoreReference | None = None,
    gates: Mapping[str, Gate] | None = None,
) -> FastAPI:
    """The application around an opened service."""
    check_scoring_settings(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    app = FastAPI(
        title="Salon scoring service", version=salon_version(), docs_url=None, redoc_url=None,
        openapi_url="/v1/openapi.json", lifespan=lifespan, description=__doc__,
    )  # fmt: skip
    places, meter = RequestSlots(settings), Meter()
    service.tell = meter.batch
    meter.watch(service, places)
    app.state.service, app.state.settings, app.state.decisions = service, settings, decisions
    app.state.auth, app.state.meter, app.state.reference = TokenAuth(settings), meter, reference
    app.state.error_forms, app.state.reward_jobs = trainers.error_forms(settings.speak), trainers.RewardJobs()
    if {"flow-grpo", "flow-factory"} & set(settings.speak):
        trainers.rewards_of(service.active.model, settings.reward_weights, reference).blend(trainers.ALL)
    app.state.gates, app.state.neighbourhood = dict(gates or {}), neighbourhood
    app.state.measuring = MeasuringWorker(None if neighbourhood is None else neighbourhood.judged.folder)
    if isinstance(decisions, WatchedLog):
        meter.registry.register(routes.DriftGauges(decisions.monitor))
    errors.install_error_handlers(app)
    routers = (*_ROUTERS, *trainers.trainer_routers(settings.speak))
    for router in routers:
        app.include_router(router)
    paths = frozenset(str(getattr(route, "path", "")) for router in routers for route in router.routes)
    app.mount("/static", rendering.StaticAssets())
    app.openapi = openapi_with_bodies(app)  # type: ignore[method-assign]  # as FastAPI documents it
    headers = dict(HEADERS) | _POLICY
    uploads = WITH_PICTURES | {trainers.UPLOAD_PATHS[protocol] for protocol in settings.speak}

    def may_upload(scope: Scope) -> bool:
        return (scope["path"] != "/" or scope["method"] == "POST") and places.enter(scope)  # GET / is the page to try

    app.add_middleware(RequestGuard, settings=settings, may_upload=may_upload, uploads=uploads, headers=headers)
    app.add_middleware(SlotRelease, places=places)
    app.add_middleware(MeterMiddleware, meter=meter, paths=paths)
    return app
