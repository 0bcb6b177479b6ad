"""Why a picture has its score, or stands above another: POST /v1/explain."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter, Request
from pydantic import Field

from salon.calls.scores_shapes import Answer
from salon.judge.scorers.picture import Unscored
from salon.select.explain import (
    NOT_CAUSES,
    Difference,
    Explained,
    Measured,
    contributions,
    difference,
    spread_of,
    total_of,
)
from salon.select.explain_served import Measuring, Neighbourhood
from salon.select.service.errors import TooLate
from salon.select.service.parts import ServedCriterion
from salon.select.service.service import Answered
from salon.select.weights import Blend
from salon.web.scoring import answers
from salon.web.scoring.intake import Taken, take
from salon.web.scoring.openapi import REFUSALS, body
from salon.web.scoring.shapes import ExplainIn
from salon.web.scoring.tokens import ScoreCaller

router = APIRouter(prefix="/v1", responses=REFUSALS)


class ExplainAnswer(Answer):
    """Answer of /v1/explain."""

    pictures: tuple[Explained, ...]
    difference: Difference | None = Field(description="Of two pictures: first less second.")
    scale: str
    caution: str = NOT_CAUSES
    notes: tuple[str, ...] = ()


@router.post("/explain", response_model=ExplainAnswer, openapi_extra=body(ExplainIn))
async def explain(request: Request, caller: ScoreCaller) -> ExplainAnswer:
    """What each criterion adds to the total, exactly; judged pictures that the model sees near, and measurements."""
    sent, taken = await take(request, ExplainIn, most=2)
    answered = await answers.look(request, caller, sent, taken)
    criteria = answers.chosen(answered.model, sent.criteria)
    made = answers.blended(sent, criteria, request.app.state.reference)
    near: Neighbourhood | None = getattr(request.app.state, "neighbourhood", None)
    measured = await _measured(request, sent, taken)
    explained, notes = await asyncio.to_thread(
        _explained, answered, taken, criteria, made, near, sent.neighbours, measured
    )
    apart = difference(*(one.contributions for one in explained)) if len(explained) == 2 else None
    shares = {id: share for id, share in made.shares.items() if share > 0}
    return ExplainAnswer(
        model=answered.model.order.name,
        version=answered.model.version,
        decision=await answers.record(request, caller, "explain", answered, taken, criteria, weights=shares),
        pictures=explained,
        difference=apart,
        scale=made.scale,
        notes=notes,
    )


async def _measured(request: Request, sent: ExplainIn, taken: Taken) -> list[tuple[list[Measured], list[str]]]:
    """Measurements of each picture and notes, none where they were not asked for; TooLate."""
    if not sent.measure:
        return [([], [])] * len(taken.asked)
    measuring: Measuring = request.app.state.measuring
    longest = request.app.state.service.settings.deadline
    seconds, loop = min(sent.seconds or longest, longest), asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds):
            return [await loop.run_in_executor(measuring.thread, measuring.measured, one) for one in taken.asked]
    except TimeoutError:
        raise TooLate(seconds) from None


def _explained(
    answered: Answered,
    taken: Taken,
    criteria: Sequence[ServedCriterion],
    made: Blend,
    near: Neighbourhood | None,
    k: int,
    measured: Sequence[tuple[list[Measured], list[str]]],
) -> tuple[tuple[Explained, ...], tuple[str, ...]]:
    found, notes = [], []
    for place, looked in enumerate(answered.looked):
        results = {id: looked.results[id] for id in made.criteria}
        parts = contributions(
            made, [answers.number(looked, id) for id in results], [answers.spread(looked, id) for id in results],
            scorers=[one.scorer for one in criteria],
            reasons={id: one.reason for id, one in results.items() if isinstance(one, Unscored)},
        )  # fmt: skip
        neighbours, note = ((), "") if near is None or not k else near.nearest(looked, taken.asked[place].sha256, k)
        notes += [note, *measured[place][1]]
        found.append(
            Explained(
                picture=taken.names[place] or f"picture {place}", sha256=taken.asked[place].sha256,
                total=total_of(parts), sd=spread_of(made, parts), contributions=parts, neighbours=neighbours,
                measurements=tuple(measured[place][0]),
            )
        )  # fmt: skip
    return tuple(found), tuple(dict.fromkeys(filter(None, notes)))
