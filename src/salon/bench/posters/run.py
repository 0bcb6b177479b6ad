"""Have a contestant answer the public files; know before what it would cost, and after what it did cost.

    OUT/und_task/NAME.json      the files with responses in them, as PosterIQ's runner leaves them
    OUT/run.json                who answered

Answers are saved as they come: the same command continues where it was stopped, and asks again what got no answer. A
reply that the token limit cut off is not an answer. `forecast_named` says what a run would ask and cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from salon.bench.posters import contestants, pixel_contestant
from salon.bench.posters.files import PosterFile, RunCard, claim_folder, find_picture, open_run_file
from salon.bench.posters.item import PosterItem
from salon.bench.posters.settings import MAX_TOKENS, Convention
from salon.calls import BudgetSpent
from salon.engine import map_processes
from salon.errors import BadFile, BadValue
from salon.judge import (
    Conversation,
    Decoding,
    JudgeSpec,
    OpenAIChat,
    Reply,
    Sight,
    Vlm,
    calls_file,
    check_budget,
    open_judge,
)
from salon.store import read_picture
from salon.study import Noun, Study


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
        tokens_out = sum(conversation.decoding.max_tokens for conversation in conversations)
        return TaskForecast(
            task=file.task.name, items=len(file.items), answered=answered, stored=0, no_picture=no_picture,
            calls=len(conversations), tokens_in=0, tokens_out=tokens_out, cost=None,
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
    costs = [Decimal(str(task.cost)) for task in tasks if task.cost is not None]
    cost = sum(costs, Decimal(0)) if isinstance(vlm, OpenAIChat) and len(costs) == len(tasks) else None
    return RunForecast(
        contestant=vlm.name,
        tasks=tuple(tasks),
        calls=calls,
        left=left,
        cost=None if cost is None else float(cost),
        currency=vlm.service.prices.currency if isinstance(vlm, OpenAIChat) else "",
        warning=check_budget(budget, cost, calls) or "",
    )


def total_spend(vlm: Vlm) -> Spend | None:
    """What a VLM has spent so far; None if it is not asked over a network."""
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


# -- runs --------------------------------------------------------------------------------------------------------------

_ADDED, _SAME = ("response", "judge"), ("task", "name", "path", "prompt")
SAVED_EVERY = 25
"""Answers after which a file is written again."""
CUT_OFF = "cut off"
Questions = Sequence[tuple[PosterItem, Path]]
"""Items with their pictures."""
Responses = Iterator[tuple[int, str | None, str]]
"""(index, response or None, why there is none), in the order they come."""
Watch = Callable[[int, int], None]


class RunReport(Noun):
    """What a run did."""

    contestant: str = Field(description="Who answered.")
    asked: int = Field(description="Items of the tasks it was asked.")
    kept: int = Field(description="Answers that were there already.")
    answered: int = Field(description="Answers given now.")
    not_asked: dict[str, int] = Field(description="Items of tasks it has no answer to, by task.")
    failed: dict[str, int] = Field(description="Items without an answer, by reason: worth nothing when scored.")
    files: tuple[str, ...] = Field(description="Files that were written.")
    output: str = Field(description="Their folder.")
    left: int = Field(0, description="Items left for another run by the limit, or by a budget that was spent.")
    stopped: str = Field("", description="Why the run ended early; empty where it did not.")
    spend: Spend | None = Field(None, description="What it cost; null where nothing was asked over a network.")


def run_blind(
    files: Sequence[PosterFile], name: contestants.Name, out: Path, *, seed: int = 0, boxes: Convention = "share"
) -> RunReport:
    """A contestant that needs no pictures, over all files."""
    claim_folder(out, RunCard(contestant=name, signature=f"{name}|seed:{seed}", boxes=boxes))
    for file in files:
        contestants.fill_responses(file, name, seed=seed, boxes=boxes).write(out / file.task.place)
    items = sum(len(file.items) for file in files)
    places = tuple(file.task.place for file in files)
    return RunReport(
        contestant=name, asked=items, kept=0, answered=items, not_asked={}, failed={}, files=places, output=str(out)
    )


def run_engine(
    files: Sequence[PosterFile],
    name: contestants.EngineName,
    pictures: Path,
    out: Path,
    *,
    boxes: Convention = "share",
    workers: int | None = 1,
    watch: Watch = lambda completed, total: None,
) -> RunReport:
    """An OCR engine, over the files whose questions it has an answer to."""
    card = RunCard(contestant=name, signature=contestants.engine_signature(name), boxes=boxes)

    def answer(questions: Questions) -> Responses:
        readings = map_processes(contestants.READERS[name], (path for _, path in questions), processes=workers)
        for index, lines in readings:
            if isinstance(lines, Exception):
                yield index, None, "broken picture" if isinstance(lines, BadFile) else type(lines).__name__
            else:
                yield index, contestants.engine_response(questions[index][0], lines, boxes), ""

    return _run(files, card, pictures, out, answer, contestants.can_answer, watch)


def run_measured(
    files: Sequence[PosterFile],
    pictures: Path,
    out: Path,
    *,
    boxes: Convention = "share",
    workers: int | None = 1,
    watch: Watch = lambda completed, total: None,
) -> RunReport:
    """Rules about pixels, over the files they have a rule for; they get the prompt and the picture, as a VLM does."""
    card = RunCard(contestant=pixel_contestant.NAME, signature=pixel_contestant.SIGNATURE, boxes=boxes)

    def answer(questions: Questions) -> Responses:
        inputs = ((item.task.name, item.prompt, path, boxes) for item, path in questions)
        for index, response in map_processes(_measure_answer, inputs, processes=workers):
            if isinstance(response, Exception):
                yield index, None, "broken picture" if isinstance(response, BadFile) else type(response).__name__
            else:
                yield index, response, "no rule for it" if response is None else ""

    return _run(files, card, pictures, out, answer, lambda item: pixel_contestant.can_measure(item.task.name), watch)


def _measure_answer(question: tuple[str, str, Path, Convention]) -> str | None:
    task, prompt, path, boxes = question
    return pixel_contestant.measured_answer(task, prompt, np.asarray(read_picture(path).image), boxes)


def run_vlm(
    files: Sequence[PosterFile],
    vlm: Vlm,
    pictures: Path,
    out: Path,
    *,
    boxes: Convention = "share",
    max_tokens: int = MAX_TOKENS,
    limit: int | None = None,
    shown_pixels: int | None = None,
    picture_first: bool = False,
    watch: Watch = lambda completed, total: None,
) -> RunReport:
    """Any VLM, over all questions about posters, asked in the files' own words; `limit` items at the most.

    The question stands before the picture, as in the released runner, unless `picture_first`. `shown_pixels` is what
    pictures are made smaller to when they are sent.
    """
    card = RunCard(
        contestant=vlm.name, signature=str(vlm.signature), boxes=boxes, shown_pixels=shown_pixels,
        picture_first=picture_first,
    )  # fmt: skip
    answer = partial(_ask, vlm, Decoding(max_tokens=max_tokens), picture_first)
    report = _run(files, card, pictures, out, answer, _is_asked, watch, limit=limit, is_answered=_has_words)
    return report.model_copy(update={"spend": total_spend(vlm)})


def run_named(
    files: Sequence[PosterFile],
    options: JudgeSpec,
    pictures: Path,
    out: Path,
    *,
    max_tokens: int = MAX_TOKENS,
    limit: int | None = None,
    picture_first: bool = False,
    **settings: Any,
) -> RunReport:
    """The VLM that the command line names. A budget that is not enough for one question is refused before."""
    shown_pixels = (
        options.pixels if options.looks and options.picture_url is None else None
    )  # a server that fetches decides itself
    with _open_vlm(options, out) as vlm:
        if options.budget is not None:
            _forecast(files, vlm, options, pictures, out, max_tokens, limit, picture_first)
        return run_vlm(
            files, vlm, pictures, out, max_tokens=max_tokens, limit=limit, shown_pixels=shown_pixels,
            picture_first=picture_first, **settings,
        )  # fmt: skip


def forecast_named(
    files: Sequence[PosterFile],
    options: JudgeSpec,
    pictures: Path,
    out: Path,
    *,
    max_tokens: int = MAX_TOKENS,
    limit: int | None = None,
    picture_first: bool = False,
) -> RunForecast:
    """What `run_named` would ask, and what that costs at the most. Nothing is sent, and no file is left behind."""
    store = calls_file(options, out)
    is_new = not store.exists()
    try:
        with _open_vlm(options, out) as vlm:
            return _forecast(files, vlm, options, pictures, out, max_tokens, limit, picture_first)
    finally:
        if is_new:
            store.unlink(missing_ok=True)


@contextmanager
def _open_vlm(options: JudgeSpec, out: Path) -> Iterator[Vlm]:
    if not (options.looks or options.script is not None):
        raise BadValue(
            "a VLM that can be shown a poster and asked anything is needed", found=options.judge,
            remedy="--model NAME --endpoint URL, --transformers FOLDER or --script FILE",
        )  # fmt: skip
    with open_judge(options, Study("posters", ()), out) as vlm:
        yield vlm


def _is_asked(item: PosterItem) -> bool:
    return item.task.side == "understanding"


def _has_words(item: PosterItem) -> bool:
    """Whether a model has answered. An empty answer may have been cut off; the store knows if it was not."""
    return bool(item.response and item.response.strip())


def _ask(vlm: Vlm, decoding: Decoding, picture_first: bool, questions: Questions) -> Responses:
    for index, reply in vlm.reply(_conversation(item, path, decoding, picture_first) for item, path in questions):
        if not isinstance(reply, Reply):
            yield index, None, reply.kind
        elif reply.cut:
            yield index, None, CUT_OFF
        else:
            yield index, reply.text, ""


def _conversation(item: PosterItem, path: Path, decoding: Decoding, picture_first: bool) -> Conversation:
    sight = Sight(item=item.name, path=path)
    parts = (sight, item.prompt) if picture_first else (item.prompt, sight)
    return Conversation(parts=parts, decoding=decoding)


def _forecast(
    files: Sequence[PosterFile],
    vlm: Vlm,
    options: JudgeSpec,
    pictures: Path,
    out: Path,
    max_tokens: int,
    limit: int | None,
    picture_first: bool,
) -> RunForecast:
    started = _open_run_files([file for file in files if _is_asked(file.items[0])], out)
    todo = [_open_items(file, pictures, _has_words) for file in started]
    shares = _shares([len(questions) for questions, _ in todo], limit)
    decoding = Decoding(max_tokens=max_tokens)
    tasks = [
        task_forecast(
            file,
            vlm,
            [_conversation(item, path, decoding, picture_first) for item, path in questions[:share]],
            len(questions),
            unseen,
        )
        for file, (questions, unseen), share in zip(started, todo, shares)
    ]
    return run_forecast(
        vlm, tasks, left=sum(len(questions) for questions, _ in todo) - sum(shares), budget=options.budget
    )


# -- asking, saving, going on ----------------------------------------------------------------------------------------


def _run(
    files: Sequence[PosterFile],
    card: RunCard,
    pictures: Path,
    out: Path,
    answer: Callable[[Questions], Responses],
    can_answer: Callable[[PosterItem], bool],
    watch: Watch,
    *,
    limit: int | None = None,
    is_answered: Callable[[PosterItem], bool] = lambda item: item.response is not None,
) -> RunReport:
    claim_folder(out, card)
    answerable = [file for file in files if can_answer(file.items[0])]
    skipped = {file.task.name: len(file.items) for file in files if file not in answerable}
    started = _open_run_files(answerable, out)
    total = sum(len(file.items) for file in answerable)
    answered_before = sum(is_answered(item) for file in started for item in file.items)
    failed: Counter[str] = Counter()
    answered = completed = 0
    stopped = ""
    todo = [_open_items(file, pictures, is_answered) for file in started]
    shares = _shares([len(items) for items, _ in todo], limit)
    try:
        for file, (items, unseen), share in zip(started, todo, shares):
            if unseen:
                failed["no picture"] += unseen
                completed += unseen
            for news in _answers(file, items[:share], answer, failed, out / file.task.place):
                answered += news
                completed += 1
                watch(answered_before + completed, total)
    except BudgetSpent as error:  # what was answered is saved
        stopped = str(error)
    return RunReport(
        contestant=card.contestant,
        asked=total,
        kept=answered_before,
        answered=answered,
        not_asked=skipped,
        failed=dict(sorted(failed.items())),
        files=tuple(file.task.place for file in answerable),
        output=str(out),
        left=total - answered_before - answered - failed.total(),
        stopped=stopped,
    )


def _open_run_files(files: Sequence[PosterFile], out: Path) -> list[PosterFile]:
    return [open_run_file(file, out / file.task.place, added=_ADDED, same=_SAME) for file in files]


def _open_items(
    file: PosterFile, pictures: Path, is_answered: Callable[[PosterItem], bool]
) -> tuple[list[tuple[PosterItem, Path]], int]:
    """Items that have no answer, with their pictures; and how many have no picture either."""
    open_items = [(item, find_picture(pictures, item.path)) for item in file.items if not is_answered(item)]
    with_picture = [(item, path) for item, path in open_items if path is not None]
    return with_picture, len(open_items) - len(with_picture)


def _shares(counts: Sequence[int], limit: int | None) -> list[int]:
    """How many of each file are asked: all, or up to the limit, evenly, so that a short run says something of all."""
    if limit is None or limit >= sum(counts):
        return list(counts)
    shares = [0] * len(counts)
    for turn in range(max(counts, default=0)):
        for at, count in enumerate(counts):
            if turn < count and sum(shares) < limit:
                shares[at] += 1
    return shares


def _answers(
    file: PosterFile, questions: Questions, answer: Callable[[Questions], Responses], failed: Counter[str], place: Path
) -> Iterator[bool]:
    """Ask these items, saving as it goes; True for each answer, False for each item that got none."""
    news: dict[int, dict[str, Any]] = {}
    try:
        for index, response, why in answer(questions):
            if response is None:
                failed[why] += 1
            else:
                news[questions[index][0].number] = {"response": response}
                if len(news) % SAVED_EVERY == 0:
                    file.edited(news).write(place)
            yield response is not None
    finally:
        file.edited(news).write(place)
