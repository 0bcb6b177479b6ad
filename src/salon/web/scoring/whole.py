"""The whole service: its own routes, explanations, later choices, the drift watch and the page to try it."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from salon.flows.explain.served import Measuring, Neighbourhood
from salon.flows.scoring.drift import WatchedLog
from salon.flows.scoring.service import ScoringService
from salon.web.scoring import page, routes_explain, routes_feedback
from salon.web.scoring.app import create_scoring_app
from salon.web.scoring.settings import ScoringSettings

ROUTERS = (routes_explain.router, routes_feedback.router, page.router)


def whole_scoring_app(
    service: ScoringService,
    settings: ScoringSettings,
    *,
    decisions: WatchedLog | None = None,
    neighbourhood: Neighbourhood | None = None,
    **more: Any,
) -> FastAPI:
    """`create_scoring_app` with every room; `more` goes to it."""
    app = create_scoring_app(service, settings, decisions=decisions, routers=ROUTERS, **more)
    app.state.neighbourhood = neighbourhood
    app.state.measuring = Measuring(None if neighbourhood is None else neighbourhood.judged.folder)
    if decisions is not None:
        app.state.meter.registry.register(routes_feedback.DriftGauges(decisions.monitor))
    return app
