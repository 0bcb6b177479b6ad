"""What a run over poster tasks would cost, and what it did cost."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from pydantic import Field

from salon.bench.posters.files import PosterFile
from salon.judge.named import check_budget
from salon.judge.openai_chat import OpenAIChat
from salon.judge.vlm import Conversation, Vlm
from salon.study.noun import Noun


class Spend(Noun):
    """What the calls of a run came to."""

    requests: int = Field(description="Requests sent now, those sent again included.")
    from_store: int = Field(description="Answers that were bought before: they cost nothing now.")
    asked_again: int = Field(description="Requests with more tokens, because a reply was cut off.")
    lost: int = Field(description="Requests that ended without an answer and may have been charged.")
    tokens_in: int = Field(description="Tokens read, of the answers bought now.")
    tokens_out: int = Field(description="Tokens written.")
    cost: float | None = Field(description="What they cost; null without a price.")
    cost_in_all: float | None = Field(description="What all answers in the store have cost, over all runs.")
    currency: str = Field(description="Currency of the price list.")


class TaskForecast(Noun):
    """What one task would take."""

    task: str = Field(description="Name of the task.")
    items: int = Field(description="Items of the file.")
    answered: int = Field(description="Of these, answered in the folder already.")
    stored: int = Field(description="Of the others, answered in the store of calls: they cost nothing.")
    no_picture: int = Field(description="Of the others, without a picture: they are not asked.")
    calls: int = Field(description="Questions that would be sent.")
    tokens_in: int = Field(description="Most tokens read.")
    tokens_out: int = Field(description="Most tokens written.")
    cost: float | None = Field(description="The most they cost; null without a price.")


class RunForecast(Noun):
    """What a run would take. Nothing was sent and nothing written."""

    contestant: str = Field(description="Who would be asked.")
    tasks: tuple[TaskForecast, ...] = Field(description="By task.")
    calls: int = Field(description="Questions that would be sent, in all.")
    left: int = Field(description="Questions left for another run by the limit.")
    cost: float | None = Field(
        description="The most they cost, if no reply is cut off; null without a price: retries of failed requests "
        "cost nothing, replies asked again with more tokens do."
    )
    currency: str = Field(description="Currency of the price list.")
    warning: str = Field("", description="What to know about the budget.")


def task_forecast(
    file: PosterFile, vlm: Vlm, conversations: Sequence[Conversation], still_open: int, no_picture: int
) -> TaskForecast:
    """What these questions about a file would take; `still_open` items have no answer, `no_picture` cannot be asked."""
    answered = len(file.items) - still_open - no_picture
    if not isinstance(vlm, OpenAIChat):
        written = sum(one.decoding.max_tokens for one in conversations)
        return TaskForecast(
            task=file.task.name, items=len(file.items), answered=answered, stored=0, no_picture=no_picture,
            calls=len(conversations), tokens_in=0, tokens_out=written, cost=None,
        )  # fmt: skip
    cast = vlm.forecast(conversations)
    return TaskForecast(
        task=file.task.name,
        items=len(file.items),
        answered=answered,
        stored=cast.stored,
        no_picture=no_picture + cast.broken,
        calls=cast.questions - cast.stored - cast.broken,
        tokens_in=cast.tokens_in,
        tokens_out=cast.tokens_out,
        cost=None if cast.cost is None else float(cast.cost),
    )


def run_forecast(vlm: Vlm, tasks: Sequence[TaskForecast], *, left: int, budget: float | None) -> RunForecast:
    """All tasks together; BadValue where the budget is not enough for one question."""
    calls = sum(task.calls for task in tasks)
    known = [Decimal(str(task.cost)) for task in tasks if task.cost is not None]
    cost = sum(known, Decimal(0)) if isinstance(vlm, OpenAIChat) and len(known) == len(tasks) else None
    return RunForecast(
        contestant=vlm.name,
        tasks=tuple(tasks),
        calls=calls,
        left=left,
        cost=None if cost is None else float(cost),
        currency=vlm.service.prices.currency if isinstance(vlm, OpenAIChat) else "",
        warning=check_budget(budget, cost, calls) or "",
    )


def spend_of(vlm: Vlm) -> Spend | None:
    """What a VLM has spent so far; None for one that is not asked over a network."""
    if not isinstance(vlm, OpenAIChat):
        return None
    account, prices = vlm.account, vlm.service.prices
    priced = vlm.endpoint.model in prices.models
    return Spend(
        requests=account.sent,
        from_store=account.from_store,
        asked_again=vlm.asked_again,
        lost=account.lost,
        tokens_in=account.tokens_in,
        tokens_out=account.tokens_out,
        cost=float(account.cost) if priced else None,
        cost_in_all=vlm.store.totals().cost if priced else None,
        currency=prices.currency,
    )
