"""The routes that look at pictures: score, compare, pick, gate, explain; and feedback and drift."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Request
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import Field, StrictInt, StrictStr
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from salon.calls import (
    CompareAnswer,
    CriterionComparison,
    GateAnswer,
    GatedPicture,
    PickAnswer,
    PickStanding,
    ScoreAnswer,
    ScoringAnswer,
)
from salon.errors import BadValue, UnknownReference
from salon.judge import MissingScore
from salon.select import (
    NOT_CAUSES,
    Blend,
    DeadlineExceeded,
    DecisionLog,
    DriftMonitor,
    DriftReport,
    Feedback,
    Gate,
    MeasuringWorker,
    Neighborhood,
    PickSettings,
    PictureExplanation,
    PictureMeasurement,
    ScoreDifference,
    ScoringModel,
    ServedCriterion,
    ServiceAnswer,
    WatchedLog,
    compare_contributions,
    contributions,
    pick,
    spread_of,
    total_of,
)
from salon.study import Noun
from salon.web.errors import NoSuchPage
from salon.web.scoring import answers
from salon.web.scoring.access import MetricsCaller, ScoreCaller
from salon.web.scoring.answers import REFUSALS, picture_body
from salon.web.scoring.requests import (
    CompareIn,
    ExplainIn,
    GateIn,
    Name,
    PickIn,
    RequestModel,
    RequestPictures,
    ScoreIn,
    read_request,
)

router = APIRouter(prefix="/v1", responses=REFUSALS)


@router.post("/score", response_model=ScoreAnswer, openapi_extra=picture_body(ScoreIn))
async def score(request: Request, caller: ScoreCaller) -> Response:
    """The number of each picture under each criterion, with its spread where the scorer states one."""
    body, uploads = await read_request(request, ScoreIn)
    answered = await answers.ask_model(request, caller, body, uploads)
    criteria = answers.select_criteria(answered.model, body.criteria)
    answer = ScoreAnswer(
        model=answered.model.order.name,
        version=answered.model.version,
        decision=await answers.record_decision(request, caller, "score", answered, uploads, criteria),
        images=answers.picture_scores(answered, uploads, criteria),
        criteria=tuple(answers.criterion_info(criterion) for criterion in criteria),
    )
    return answers.json_response(answer)


# -- two pictures ------------------------------------------------------------------------------------------------------


@router.post("/compare", response_model=CompareAnswer, openapi_extra=picture_body(CompareIn))
async def compare(request: Request, caller: ScoreCaller) -> Response:
    """The chance that the first of two pictures is preferred, under each criterion whose scorer can say."""
    body, uploads = await read_request(request, CompareIn, least=2, most=2)
    answered = await answers.ask_model(request, caller, body, uploads)
    criteria = answers.select_criteria(answered.model, body.criteria)
    own = answered.model.thread, lambda: [_compare_criterion(criterion, answered, uploads) for criterion in criteria]
    compared = tuple(await asyncio.get_running_loop().run_in_executor(*own))
    facts = {f"chance {criterion.criterion}": criterion.chance for criterion in compared}
    answer = CompareAnswer(
        model=answered.model.order.name,
        version=answered.model.version,
        decision=await answers.record_decision(request, caller, "compare", answered, uploads, criteria, facts=facts),
        images=answers.picture_scores(answered, uploads, criteria),
        criteria=compared,
    )
    return answers.json_response(answer)


def _compare_criterion(
    criterion: ServedCriterion, answered: ServiceAnswer, uploads: RequestPictures
) -> CriterionComparison:
    first, second = answered.looked
    values = [answers.score_value(looked, criterion.criterion) for looked in (first, second)]
    chance = answered.model.chance(criterion.criterion, first, second, uploads.prompt)
    difference = None if values[0] is None or values[1] is None else values[0] - values[1]
    return CriterionComparison(
        criterion=criterion.criterion,
        chance=chance if isinstance(chance, float) else None,
        cannot=chance if isinstance(chance, str) else None,
        difference=difference,
        better=_better(difference, chance, criterion.card.higher_is_better),
        signature=criterion.signature,
    )


def _better(difference: float | None, chance: float | str, higher: bool) -> str | None:
    """By the chance where there is one: a head that compares may not go by the difference of two numbers."""
    if isinstance(chance, float):
        return "equal" if chance == 0.5 else "first" if chance > 0.5 else "second"
    if difference is None:
        return None
    return "equal" if difference == 0 else "first" if (difference > 0) == higher else "second"


# -- the best of several -----------------------------------------------------------------------------------------------


@router.post("/pick", response_model=PickAnswer, openapi_extra=picture_body(PickIn, weights=None))
async def pick_best(request: Request, caller: ScoreCaller) -> Response:
    """The best of several pictures: weights, ties declared, and none where none is good enough."""
    body, uploads = await read_request(request, PickIn)
    answered = await answers.ask_model(request, caller, body, uploads)
    criteria = answers.select_criteria(answered.model, body.criteria)
    ids = [criterion.criterion for criterion in criteria]
    values = [[answers.score_value(looked, id) for id in ids] for looked in answered.looked]
    sds = [[answers.score_sigma(looked, id) for id in ids] for looked in answered.looked]
    settings = PickSettings(k=body.k, least=body.least, level=body.level)
    blend = answers.blend_criteria(body, criteria, request.app.state.reference)
    picked = pick(np.array(values, float), np.array(sds, float), blend, settings=settings)
    tied = tuple(standing.index for standing in picked.standings if standing.tied)
    decision = await answers.record_decision(
        request, caller, "pick", answered, uploads, criteria, chosen=picked.index, ties=tied, why=picked.why,
        weights=picked.weights, facts={"outcome": picked.outcome, "least": body.least, "k": body.k},
    )  # fmt: skip
    answer = PickAnswer(
        model=answered.model.order.name, version=answered.model.version, decision=decision, chosen=picked.index,
        outcome=picked.outcome, why=picked.why, tied=tied, margin=picked.margin, unscored=picked.unscored,
        weights=picked.weights, scale=picked.scale, standings=tuple(
        PickStanding(**standing.model_dump(exclude={"item"}), name=uploads.names[standing.index])
        for standing in picked.standings
    ), notes=picked.notes,
        images=answers.picture_scores(answered, uploads, criteria), missing=picked.missing,
        signature=str(picked.signature),
    )  # fmt: skip
    return answers.json_response(answer)


# -- gates ----------------------------------------------------------------------------------------------------------


@router.post("/gate", response_model=GateAnswer, openapi_extra=picture_body(GateIn))
async def gate(request: Request, caller: ScoreCaller) -> GateAnswer:
    """Which pictures pass a gate, and which are held back; a picture without a score is held."""
    body, uploads = await read_request(request, GateIn)
    name, chosen_gate = _find_gate(body.gate, request.app.state.gates)
    gate_criterion(chosen_gate, request.app.state.service.active.model)  # before anything is looked at
    answered = await answers.ask_model(request, caller, body, uploads)
    line = gate_criterion(chosen_gate, answered.model)
    values = [answers.score_value(looked, line.criterion) for looked in answered.looked]
    gated = chosen_gate.decide([str(place) for place in range(len(values))], values)
    passed = tuple(place for place, row in enumerate(gated) if not row.held)
    facts = {"gate": name, "threshold": chosen_gate.threshold, "passed": ",".join(map(str, passed))}
    decision = await answers.record_decision(request, caller, "gate", answered, uploads, [line], facts=facts)
    return GateAnswer(
        model=answered.model.order.name, version=answered.model.version, decision=decision, gate=name,
        criterion=line.criterion, threshold=chosen_gate.threshold, holds=chosen_gate.holds,
        promise=chosen_gate.promise, passed=passed,
        images=tuple(
            GatedPicture(index=place, name=uploads.names[place], sha256=uploads.pictures[place].sha256, held=row.held,
                         value=row.value, why=row.why)
            for place, row in enumerate(gated)
        ),
        missing=chosen_gate.missing, hash=chosen_gate.hash, signature=str(chosen_gate.signature),
    )  # fmt: skip


def _find_gate(name: str | None, gates: dict[str, Gate]) -> tuple[str, Gate]:
    if name is None and len(gates) == 1:
        name = next(iter(gates))
    if name is None or name not in gates:
        names = ", ".join(gates) or "this service has none: --gate FILE names one"
        raise UnknownReference("the name of a gate is needed", found=repr(name), where="gate", remedy=names)
    return name, gates[name]


def gate_criterion(gate: Gate, model: ScoringModel) -> ServedCriterion:
    """The criterion that a gate was made for: by the scorer's signature, for another one's numbers promise nothing."""
    for criterion in model.criteria:
        if criterion.signature == gate.column.signature:
            return criterion
    raise BadValue(
        "the scorer that the gate was made with is needed", found=f"none of version {model.version} has its signature",
        where=gate.column.signature, remedy="serve that scorer, or make the gate again with salon select gate",
    )  # fmt: skip


# -- explanations ---------------------------------------------------------------------------------------------------


class ExplainAnswer(ScoringAnswer):
    """Answer of /v1/explain."""

    pictures: tuple[PictureExplanation, ...]
    difference: ScoreDifference | None = Field(description="Of two pictures: first less second.")
    scale: str
    caution: str = NOT_CAUSES
    notes: tuple[str, ...] = ()


@router.post("/explain", response_model=ExplainAnswer, openapi_extra=picture_body(ExplainIn))
async def explain(request: Request, caller: ScoreCaller) -> ExplainAnswer:
    """What each criterion adds to the total, exactly; judged pictures that the model sees near, and measurements."""
    body, uploads = await read_request(request, ExplainIn, most=2)
    answered = await answers.ask_model(request, caller, body, uploads)
    criteria = answers.select_criteria(answered.model, body.criteria)
    criteria_blend = answers.blend_criteria(body, criteria, request.app.state.reference)
    near: Neighborhood | None = getattr(request.app.state, "neighbourhood", None)
    measured = await _measure(request, body, uploads)
    explained, notes = await asyncio.to_thread(
        _explain_pictures, answered, uploads, criteria, criteria_blend, near, body.neighbours, measured
    )
    apart = compare_contributions(*(picture.contributions for picture in explained)) if len(explained) == 2 else None
    shares = {id: share for id, share in criteria_blend.shares.items() if share > 0}
    return ExplainAnswer(
        model=answered.model.order.name,
        version=answered.model.version,
        decision=await answers.record_decision(request, caller, "explain", answered, uploads, criteria, weights=shares),
        pictures=explained,
        difference=apart,
        scale=criteria_blend.scale,
        notes=notes,
    )


async def _measure(
    request: Request, body: ExplainIn, uploads: RequestPictures
) -> list[tuple[list[PictureMeasurement], list[str]]]:
    """Measurements of each picture and notes, none where they were not asked for; TooLate."""
    if not body.measure:
        return [([], [])] * len(uploads.pictures)
    measuring: MeasuringWorker = request.app.state.measuring
    longest = request.app.state.service.settings.deadline
    seconds, loop = min(body.seconds or longest, longest), asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds):
            return [
                await loop.run_in_executor(measuring.thread, measuring.measured, picture)
                for picture in uploads.pictures
            ]
    except TimeoutError:
        raise DeadlineExceeded(seconds) from None


def _explain_pictures(
    answered: ServiceAnswer,
    uploads: RequestPictures,
    criteria: Sequence[ServedCriterion],
    criteria_blend: Blend,
    near: Neighborhood | None,
    k: int,
    measured: Sequence[tuple[list[PictureMeasurement], list[str]]],
) -> tuple[tuple[PictureExplanation, ...], tuple[str, ...]]:
    explanations, notes = [], []
    for place, looked in enumerate(answered.looked):
        results = {id: looked.results[id] for id in criteria_blend.criteria}
        parts = contributions(
            criteria_blend,
            [answers.score_value(looked, id) for id in results],
            [answers.score_sigma(looked, id) for id in results],
            scorers=[value.scorer for value in criteria],
            reasons={id: value.reason for id, value in results.items() if isinstance(value, MissingScore)},
        )
        neighbours, note = (
            ((), "") if near is None or not k else near.nearest(looked, uploads.pictures[place].sha256, k)
        )
        notes += [note, *measured[place][1]]
        explanations.append(
            PictureExplanation(
                picture=uploads.names[place] or f"picture {place}", sha256=uploads.pictures[place].sha256,
                total=total_of(parts), sd=spread_of(criteria_blend, parts), contributions=parts, neighbours=neighbours,
                measurements=tuple(measured[place][0]),
            )
        )  # fmt: skip
    return tuple(explanations), tuple(dict.fromkeys(filter(None, notes)))


# -- feedback and drift ---------------------------------------------------------------------------------------------


class FeedbackIn(RequestModel):
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
async def feedback(body: FeedbackIn, request: Request, caller: ScoreCaller) -> FeedbackAnswer:
    """Keep what a person chose among the pictures of a decision of yours: a judgment, once."""
    log = _log(request)
    judgment = Feedback(**body.model_dump())
    entry, new = await run_in_threadpool(log.feedback, judgment, owner=caller.name)
    decision = await run_in_threadpool(log.find, body.decision, caller.name)
    agrees = None if decision.chosen is None else decision.pictures[decision.chosen] == entry.chosen
    return FeedbackAnswer(id=entry.id or "", new=new, decision=entry.decision, chosen=str(entry.chosen), agrees=agrees)


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
        gauges = {
            "distance": "Kolmogorov-Smirnov distance of the last window from the reference.",
            "p": "Exact p value of the last window.",
            "psi": "Population stability index of the last window.",
            "shift": "Shift of the mean, in standard deviations of the reference.",
        }
        for name, words in gauges.items():
            family = GaugeMetricFamily(f"salon_scoring_drift_{name}", words, labels=["criterion"])
            for criterion in report.criteria:
                if (value := getattr(criterion, name)) is not None:
                    family.add_metric([criterion.criterion], value)
            yield family
        agreement = report.agreement.last or report.agreement.overall
        if agreement is not None:
            words = "Share of later choices that fell on the service's pick, last window."
            yield GaugeMetricFamily("salon_scoring_agreement", words, agreement.value)
