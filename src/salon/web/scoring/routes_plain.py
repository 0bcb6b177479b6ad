"""Is the service alive, is it ready, and what are its figures?"""

from __future__ import annotations

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

from salon.select.service.service import ScoringService
from salon.web.scoring.tokens import MetricsCaller

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def alive() -> JSONResponse:
    """The process answers."""
    return JSONResponse({"ok": True})


@router.get("/readyz")
async def ready(request: Request) -> JSONResponse:
    """There is a model, and its queue moves; 503 otherwise. `changed` counts files that are not what was loaded."""
    service: ScoringService = request.app.state.service
    told = {"ready": service.ready, "version": service.active.version, "changed": len(service.changed_files())}
    return JSONResponse(told, 200 if service.ready else 503)


@router.get("/metrics")
async def metrics(request: Request, caller: MetricsCaller) -> Response:
    """Figures for Prometheus."""
    return Response(request.app.state.meter.text(), media_type=CONTENT_TYPE_LATEST)
