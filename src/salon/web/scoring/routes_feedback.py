"""What people said later, and whether the service drifts: POST /v1/feedback, GET /v1/drift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Request
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import Field, StrictInt, StrictStr
from starlette.concurrency import run_in_threadpool

from salon.select.service.decisions import DecisionLog, Feedback
from salon.select.service.drift import DriftMonitor, WatchedLog
from salon.select.service.drift_results import DriftReport
from salon.study.noun import Noun
from salon.web.errors import NoSuchPage
from salon.web.scoring.openapi import REFUSALS
from salon.web.scoring.shapes import Name, Sent
from salon.web.scoring.tokens import MetricsCaller, ScoreCaller

router = APIRouter(prefix="/v1", responses=REFUSALS)


class FeedbackIn(Sent):
    """A later choice of a person."""

    decision: Name = Field(description="Id of one of your decisions: `decision` in an answer.")
    chosen: Annotated[StrictInt | StrictStr, Field(description="Place of the picture, from 0; or its SHA-256.")]
    rater: Annotated[str, Field(min_length=1, max_length=200, description="Who chose; a name that means no person.")]
    criterion: Annotated[str, Field(min_length=1, max_length=200, description="What was asked.")]
    reason: Annotated[str, Field(max_length=10_000)] | None = None


class FeedbackAnswer(Noun):
    """What was kept."""

    id: str
    new: bool = Field(description="False when the same answer was kept before.")
    decision: str
    chosen: str = Field(description="SHA-256 of the picture.")
    agrees: bool | None = Field(description="Whether the service had chosen it; null where it had chosen none.")


@router.post("/feedback", response_model=FeedbackAnswer)
async def feedback(sent: FeedbackIn, request: Request, caller: ScoreCaller) -> FeedbackAnswer:
    """Keep what a person chose among the pictures of a decision of yours: a judgment, once."""
    log = _log(request)
    said = Feedback(**sent.model_dump())
    kept, new = await run_in_threadpool(log.feedback, said, owner=caller.name)
    decision = await run_in_threadpool(log.find, sent.decision, caller.name)
    agrees = None if decision.chosen is None else decision.pictures[decision.chosen] == kept.chosen
    return FeedbackAnswer(id=kept.id or "", new=new, decision=kept.decision, chosen=str(kept.chosen), agrees=agrees)


@router.get("/drift", response_model=DriftReport)
async def drift(request: Request, caller: MetricsCaller) -> DriftReport:
    """Have scores moved away from the reference, and do people still agree?"""
    log = _log(request)
    if not isinstance(log, WatchedLog):
        raise _no_log()
    return await run_in_threadpool(log.monitor.report)


def _log(request: Request) -> DecisionLog:
    log = request.app.state.decisions
    if not isinstance(log, DecisionLog):
        raise _no_log()
    return log


def _no_log() -> NoSuchPage:
    return NoSuchPage(
        "a service with a decision log is needed", found="one without", remedy="serve it with --log FOLDER"
    )


class DriftGauges(Collector):
    """The watch as figures for Prometheus."""

    def __init__(self, monitor: DriftMonitor) -> None:
        self.monitor = monitor

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment; a criterion without a whole window has none."""
        report = self.monitor.report()
        yield GaugeMetricFamily("salon_scoring_drift_alarm", "1 once the watch has alarmed.", int(report.alarm))
        told = {
            "distance": "Kolmogorov-Smirnov distance of the last window from the reference.",
            "p": "Exact p value of the last window.",
            "psi": "Population stability index of the last window.",
            "shift": "Shift of the mean, in standard deviations of the reference.",
        }
        for name, words in told.items():
            family = GaugeMetricFamily(f"salon_scoring_drift_{name}", words, labels=["criterion"])
            for one in report.criteria:
                if (value := getattr(one, name)) is not None:
                    family.add_metric([one.criterion], value)
            yield family
        agreement = report.agreement.last or report.agreement.overall
        if agreement is not None:
            words = "Share of later choices that fell on the service's pick, last window."
            yield GaugeMetricFamily("salon_scoring_agreement", words, agreement.value)
