"""Status of the scoring service: /healthz, /readyz, /metrics for Prometheus, and the page to try it at /.

The page is an empty frame: criteria, pictures and numbers come over the API with the token of the reader. So anybody
may read the frame.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salon.select import BatchFacts, ScoringService
from salon.web.rendering import render_page
from salon.web.scoring.access import MetricsCaller, RequestSlots

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_UNKNOWN_ROUTE = "other"


class Meter:
    """Counts and times; labels are routes, statuses and versions, never what was sent."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "salon_scoring_requests", "Requests answered.", ("route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "salon_scoring_request_seconds", "Seconds to answer.", ("route",), buckets=_SECONDS, registry=self.registry
        )
        self.sizes = Histogram(
            "salon_scoring_batch_pictures", "Pictures of a batch.", buckets=_SIZES, registry=self.registry
        )
        self.stages = Histogram(
            "salon_scoring_batch_seconds", "Seconds of a batch, by stage: waited, decode, score.", ("stage",),
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip

    def batch(self, facts: BatchFacts) -> None:
        """One batch is finished."""
        self.sizes.observe(facts.size)
        for stage in ("waited", "decode", "score"):
            self.stages.labels(stage).observe(getattr(facts, f"{stage}_seconds"))

    def watch(self, service: ScoringService, places: RequestSlots) -> None:
        """Read the figures that a service has at any moment, when they are asked for."""
        self.registry.register(_ServiceGauges(service, places))

    def text(self) -> bytes:
        """All figures as Prometheus reads them."""
        return generate_latest(self.registry)


class _ServiceGauges(Collector):
    def __init__(self, service: ScoringService, places: RequestSlots) -> None:
        self.service, self.places = service, places

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment."""
        yield GaugeMetricFamily("salon_scoring_queue_pictures", "Pictures that wait.", self.service.waiting)
        yield GaugeMetricFamily("salon_scoring_requests_under_way", "Requests with pictures.", self.places.taken)
        yield GaugeMetricFamily("salon_scoring_request_bytes_under_way", "Their bytes.", self.places.bytes)
        yield GaugeMetricFamily("salon_scoring_ready", "1 when the service is ready.", int(self.service.ready))
        changed = len(self.service.changed_files())
        yield GaugeMetricFamily("salon_scoring_changed_files", "Files of the active model that changed.", changed)
        hits = CounterMetricFamily("salon_scoring_cache_hits", "Pictures answered without a look.", labels=["version"])
        models = GaugeMetricFamily("salon_scoring_model", "1 for the active model.", labels=["name", "version"])
        active = self.service.active.version
        for loaded in self.service.versions:
            hits.add_metric([loaded.version], loaded.batcher.hits)
            models.add_metric([loaded.model.order.name, loaded.version], int(loaded.version == active))
        yield from (hits, models)
        yield from self._replicas()

    def _replicas(self) -> Iterator[Metric]:
        labels = ["version", "replica", "place"]
        ready = GaugeMetricFamily("salon_scoring_replica_ready", "1 when the replica takes batches.", labels=labels)
        busy = GaugeMetricFamily("salon_scoring_replica_batches", "Batches under way in it.", labels=labels)
        memory = GaugeMetricFamily("salon_scoring_replica_memory_bytes", "Memory that it holds.", labels=labels)
        deaths = CounterMetricFamily("salon_scoring_replica_deaths", "Times that it ended by itself.", labels=labels)
        pictures = CounterMetricFamily("salon_scoring_replica_pictures", "Pictures it answered.", labels=labels)
        for loaded in self.service.versions:
            for replica in loaded.batcher.looker.status():
                values = [loaded.version, str(replica.number), replica.place]
                ready.add_metric(values, int(replica.state == "ready"))
                busy.add_metric(values, replica.under_way)
                if replica.memory is not None:
                    memory.add_metric(values, replica.memory)
                deaths.add_metric(values, replica.deaths)
                pictures.add_metric(values, replica.answered)
        yield from (ready, busy, memory, deaths, pictures)


class MeterMiddleware:
    """Counts every answer under the route that gave it."""

    def __init__(self, app: ASGIApp, meter: Meter, paths: frozenset[str]) -> None:
        self.app, self.meter, self.known = app, meter, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 499

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            route = scope["path"] if scope["path"] in self.known else _UNKNOWN_ROUTE  # strangers' paths are one
            self.meter.requests.labels(route, status).inc()
            self.meter.seconds.labels(route).observe(time.perf_counter() - started)


# -- health and metrics ---------------------------------------------------------------------------------------------

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def alive() -> JSONResponse:
    """The process answers."""
    return JSONResponse({"ok": True})


@router.get("/readyz")
async def ready(request: Request) -> JSONResponse:
    """There is a model, and its queue moves; 503 otherwise. `changed` counts files that are not what was loaded.

    One replica that takes batches is enough."""
    service: ScoringService = request.app.state.service
    state = {"ready": service.ready, "version": service.active.version, "changed": len(service.changed_files())}
    if replicas := service.active.batcher.looker.status():
        state["replicas"] = len(replicas)
        state["replicas_ready"] = sum(replica.state == "ready" for replica in replicas)
        state["replica_deaths"] = sum(replica.deaths for replica in replicas)
    return JSONResponse(state, 200 if service.ready else 503)


@router.get("/metrics")
async def metrics(request: Request, caller: MetricsCaller) -> Response:
    """Figures for Prometheus."""
    return Response(request.app.state.meter.text(), media_type=CONTENT_TYPE_LATEST)


# -- the page to try it ---------------------------------------------------------------------------------------------


@router.get("/")
async def try_it(request: Request) -> HTMLResponse:
    """Drop pictures, weigh criteria, see scores and the pick."""
    settings = request.app.state.settings
    return render_page(
        "scoring/try.html",
        language="en",
        asks_token=not settings.no_token,
        keeps_log=request.app.state.decisions is not None,
        most_images=settings.most_images,
    )
