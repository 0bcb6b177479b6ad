"""The route that holds pictures back: gates made by `salon select gate`, each with its promise."""

from __future__ import annotations

from fastapi import APIRouter, Request

from salon.calls.scores_shapes import GateAnswer, GatedPicture
from salon.errors import BadValue, UnknownReference
from salon.select.gate import Gate
from salon.select.service.model import ScoringModel
from salon.select.service.parts import ServedCriterion
from salon.web.scoring import answers
from salon.web.scoring.intake import take
from salon.web.scoring.openapi import REFUSALS, body
from salon.web.scoring.shapes import GateIn
from salon.web.scoring.tokens import ScoreCaller

router = APIRouter(prefix="/v1", responses=REFUSALS)


@router.post("/gate", response_model=GateAnswer, openapi_extra=body(GateIn))
async def gate(request: Request, caller: ScoreCaller) -> GateAnswer:
    """Which pictures pass a gate, and which are held back; a picture without a score is held."""
    sent, taken = await take(request, GateIn)
    name, found = _named(sent.gate, request.app.state.gates)
    fitting(found, request.app.state.service.active.model)  # before anything is looked at
    answered = await answers.look(request, caller, sent, taken)
    line = fitting(found, answered.model)
    values = [answers.number(looked, line.criterion) for looked in answered.looked]
    gated = found.decide([str(place) for place in range(len(values))], values)
    passed = tuple(place for place, one in enumerate(gated) if not one.held)
    facts = {"gate": name, "threshold": found.threshold, "passed": ",".join(map(str, passed))}
    decision = await answers.record(request, caller, "gate", answered, taken, [line], facts=facts)
    return GateAnswer(
        model=answered.model.order.name, version=answered.model.version, decision=decision, gate=name,
        criterion=line.criterion, threshold=found.threshold, holds=found.holds, promise=found.promise, passed=passed,
        images=tuple(
            GatedPicture(index=place, name=taken.names[place], sha256=taken.asked[place].sha256, held=one.held,
                         value=one.value, why=one.why)
            for place, one in enumerate(gated)
        ),
        missing=found.missing, hash=found.hash, signature=str(found.signature),
    )  # fmt: skip


def _named(name: str | None, gates: dict[str, Gate]) -> tuple[str, Gate]:
    if name is None and len(gates) == 1:
        name = next(iter(gates))
    if name is None or name not in gates:
        known = ", ".join(gates) or "this service has none: --gate FILE names one"
        raise UnknownReference("the name of a gate is needed", found=repr(name), where="gate", remedy=known)
    return name, gates[name]


def fitting(gate: Gate, model: ScoringModel) -> ServedCriterion:
    """The criterion that a gate was made for: by the scorer's signature, for another one's numbers promise nothing."""
    for one in model.criteria:
        if one.signature == gate.column.signature:
            return one
    raise BadValue(
        "the scorer that the gate was made with is needed", found=f"none of version {model.version} has its signature",
        where=gate.column.signature, remedy="serve that scorer, or make the gate again with salon select gate",
    )  # fmt: skip
