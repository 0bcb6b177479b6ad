"""The routes that look at pictures: score, compare, pick."""

from __future__ import annotations

import asyncio

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import Response

from salon.calls.scores_shapes import CompareAnswer, Compared, PickAnswer, PickStanding, ScoreAnswer
from salon.select.pick import Pick, PickSettings, pick
from salon.select.reference import ScoreReference
from salon.select.service.parts import ServedCriterion
from salon.select.service.service import Answered
from salon.web.scoring import answers
from salon.web.scoring.intake import Taken, take
from salon.web.scoring.openapi import REFUSALS, body
from salon.web.scoring.shapes import CompareIn, PickIn, ScoreIn
from salon.web.scoring.tokens import ScoreCaller

router = APIRouter(prefix="/v1", responses=REFUSALS)


@router.post("/score", response_model=ScoreAnswer, openapi_extra=body(ScoreIn))
async def score(request: Request, caller: ScoreCaller) -> Response:
    """The number of each picture under each criterion, with its spread where the scorer states one."""
    sent, taken = await take(request, ScoreIn)
    answered = await answers.look(request, caller, sent, taken)
    criteria = answers.chosen(answered.model, sent.criteria)
    answer = ScoreAnswer(
        model=answered.model.order.name,
        version=answered.model.version,
        decision=await answers.record(request, caller, "score", answered, taken, criteria),
        images=answers.pictures(answered, taken, criteria),
        criteria=tuple(answers.info(one) for one in criteria),
    )
    return answers.told(answer)


# -- two pictures ------------------------------------------------------------------------------------------------------


@router.post("/compare", response_model=CompareAnswer, openapi_extra=body(CompareIn))
async def compare(request: Request, caller: ScoreCaller) -> Response:
    """The chance that the first of two pictures is preferred, under each criterion whose scorer can say."""
    sent, taken = await take(request, CompareIn, least=2, most=2)
    answered = await answers.look(request, caller, sent, taken)
    criteria = answers.chosen(answered.model, sent.criteria)
    own = answered.model.thread, lambda: [_compared(one, answered, taken) for one in criteria]
    compared = tuple(await asyncio.get_running_loop().run_in_executor(*own))
    facts = {f"chance {one.criterion}": one.chance for one in compared}
    answer = CompareAnswer(
        model=answered.model.order.name,
        version=answered.model.version,
        decision=await answers.record(request, caller, "compare", answered, taken, criteria, facts=facts),
        images=answers.pictures(answered, taken, criteria),
        criteria=compared,
    )
    return answers.told(answer)


def _compared(one: ServedCriterion, answered: Answered, taken: Taken) -> Compared:
    first, second = answered.looked
    values = [answers.number(looked, one.criterion) for looked in (first, second)]
    found = answered.model.chance(one.criterion, first, second, taken.prompt)
    difference = None if values[0] is None or values[1] is None else values[0] - values[1]
    return Compared(
        criterion=one.criterion,
        chance=found if isinstance(found, float) else None,
        cannot=found if isinstance(found, str) else None,
        difference=difference,
        better=_better(difference, found, one.card.higher_is_better),
        signature=one.signature,
    )


def _better(difference: float | None, chance: float | str, higher: bool) -> str | None:
    """By the chance where there is one: a head that compares may not go by the difference of two numbers."""
    if isinstance(chance, float):
        return "equal" if chance == 0.5 else "first" if chance > 0.5 else "second"
    if difference is None:
        return None
    return "equal" if difference == 0 else "first" if (difference > 0) == higher else "second"


# -- the best of several -----------------------------------------------------------------------------------------------


@router.post("/pick", response_model=PickAnswer, openapi_extra=body(PickIn, weights=None))
async def pick_best(request: Request, caller: ScoreCaller) -> Response:
    """The best of several pictures: weights, ties declared, and none where none is good enough."""
    sent, taken = await take(request, PickIn)
    answered = await answers.look(request, caller, sent, taken)
    criteria = answers.chosen(answered.model, sent.criteria)
    found = _picked(sent, answered, criteria, request.app.state.reference)
    tied = tuple(one.index for one in found.standings if one.tied)
    decision = await answers.record(
        request, caller, "pick", answered, taken, criteria, chosen=found.index, ties=tied, why=found.why,
        weights=found.weights, facts={"outcome": found.outcome, "least": sent.least, "k": sent.k},
    )  # fmt: skip
    answer = PickAnswer(
        model=answered.model.order.name, version=answered.model.version, decision=decision, chosen=found.index,
        outcome=found.outcome, why=found.why, tied=tied, margin=found.margin, unscored=found.unscored,
        weights=found.weights, scale=found.scale, standings=_standings(found, taken), notes=found.notes,
        images=answers.pictures(answered, taken, criteria), missing=found.missing, signature=str(found.signature),
    )  # fmt: skip
    return answers.told(answer)


def _picked(
    sent: PickIn, answered: Answered, criteria: list[ServedCriterion], reference: ScoreReference | None
) -> Pick:
    ids = [one.criterion for one in criteria]
    values = [[answers.number(looked, id) for id in ids] for looked in answered.looked]
    sds = [[answers.spread(looked, id) for id in ids] for looked in answered.looked]
    settings = PickSettings(k=sent.k, least=sent.least, level=sent.level)
    blend = answers.blended(sent, criteria, reference)
    return pick(np.array(values, float), np.array(sds, float), blend, settings=settings)


def _standings(found: Pick, taken: Taken) -> tuple[PickStanding, ...]:
    return tuple(
        PickStanding(**one.model_dump(exclude={"item"}), name=taken.names[one.index]) for one in found.standings
    )
