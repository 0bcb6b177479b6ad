"""Have a contestant answer the public files, and have a judge say what its answers cover.

    OUT/und_task/NAME.json      the files with responses in them, as PosterIQ's runner leaves them
    OUT/run.json                who answered

Answers are saved as they come: the same command goes on where it was stopped, and asks again what got no answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from salon.bench.posters import contestants, engines, measured
from salon.bench.posters.answers_boxes import Convention
from salon.bench.posters.files import PosterFile, find_picture, started_at
from salon.bench.posters.item import PosterItem
from salon.bench.posters.run_card import RunCard, claim
from salon.engine.processes import over_processes
from salon.errors import BadFile, BadValue
from salon.judge.named import Named, named_vlm
from salon.judge.vlm import Conversation, Decoding, Reply, Sight, Vlm
from salon.store.pictures import read_picture
from salon.study import Study
from salon.study.noun import Noun

_ADDED, _SAME = ("response", "judge"), ("task", "name", "path", "prompt")
SAVED_EVERY = 25
"""Answers after which a file is written again."""
Answered = Iterator[tuple[int, str | None, str]]
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


def run_blind(
    files: Sequence[PosterFile], name: contestants.Name, out: Path, *, seed: int = 0, boxes: Convention = "share"
) -> RunReport:
    """A contestant that needs no pictures, over all files."""
    claim(out, RunCard(contestant=name, signature=f"{name}|seed:{seed}", boxes=boxes))
    for file in files:
        contestants.fill_in(file, name, seed=seed, boxes=boxes).write(out / file.task.place)
    items = sum(len(file.items) for file in files)
    places = tuple(file.task.place for file in files)
    return RunReport(
        contestant=name, asked=items, kept=0, answered=items, not_asked={}, failed={}, files=places, output=str(out)
    )


def run_engine(
    files: Sequence[PosterFile],
    name: engines.EngineName,
    pictures: Path,
    out: Path,
    *,
    boxes: Convention = "share",
    workers: int | None = 1,
    watch: Watch = lambda done, wanted: None,
) -> RunReport:
    """An OCR engine, over the files whose questions it has an answer to."""
    card = RunCard(contestant=name, signature=engines.engine_signature(name), boxes=boxes)

    def answer(asked: Sequence[tuple[PosterItem, Path]]) -> Answered:
        seen = over_processes(engines.READERS[name], (path for _, path in asked), processes=workers)
        for index, lines in seen:
            if isinstance(lines, Exception):
                yield index, None, "broken picture" if isinstance(lines, BadFile) else type(lines).__name__
            else:
                yield index, engines.engine_response(asked[index][0], lines, boxes), ""

    return _run(files, card, pictures, out, answer, engines.can_answer, watch)


def run_measured(
    files: Sequence[PosterFile],
    pictures: Path,
    out: Path,
    *,
    boxes: Convention = "share",
    workers: int | None = 1,
    watch: Watch = lambda done, wanted: None,
) -> RunReport:
    """Rules about pixels, over the files they have a rule for; they get the prompt and the picture, as a VLM does."""
    card = RunCard(contestant=measured.NAME, signature=measured.SIGNATURE, boxes=boxes)

    def answer(asked: Sequence[tuple[PosterItem, Path]]) -> Answered:
        shown = ((item.task.name, item.prompt, path, boxes) for item, path in asked)
        for index, said in over_processes(_measured, shown, processes=workers):
            if isinstance(said, Exception):
                yield index, None, "broken picture" if isinstance(said, BadFile) else type(said).__name__
            else:
                yield index, said, "no rule for it" if said is None else ""

    return _run(files, card, pictures, out, answer, lambda item: measured.can_measure(item.task.name), watch)


def _measured(shown: tuple[str, str, Path, Convention]) -> str | None:
    task, prompt, path, boxes = shown
    return measured.measured_answer(task, prompt, np.asarray(read_picture(path).image), boxes)


def run_vlm(
    files: Sequence[PosterFile],
    vlm: Vlm,
    pictures: Path,
    out: Path,
    *,
    boxes: Convention = "share",
    max_tokens: int = 1024,
    watch: Watch = lambda done, wanted: None,
) -> RunReport:
    """Any VLM, over all questions about posters, asked in the files' own words."""
    card = RunCard(contestant=vlm.name, signature=str(vlm.signature), boxes=boxes)
    decoding = Decoding(max_tokens=max_tokens)
    answer = partial(_ask, vlm, decoding)
    return _run(files, card, pictures, out, answer, lambda item: item.task.side == "understanding", watch)


def run_named(files: Sequence[PosterFile], named: Named, pictures: Path, out: Path, **settings: Any) -> RunReport:
    """The VLM that the command line names."""
    if not (named.looks or named.script is not None):
        raise BadValue(
            "a VLM that can be shown a poster and asked anything is needed", found=named.judge,
            remedy="--model NAME --endpoint URL, --transformers FOLDER or --script FILE",
        )  # fmt: skip
    with named_vlm(named, Study("posters", ()), out) as vlm:
        return run_vlm(files, vlm, pictures, out, **settings)


def _ask(vlm: Vlm, decoding: Decoding, asked: Sequence[tuple[PosterItem, Path]]) -> Answered:
    conversations = (
        Conversation(parts=(Sight(item=item.name, path=path), item.prompt), decoding=decoding) for item, path in asked
    )
    for index, reply in vlm.reply(conversations):
        if isinstance(reply, Reply):
            yield index, reply.text, ""
        else:
            yield index, None, reply.kind


# -- asking, saving, going on ----------------------------------------------------------------------------------------


def _run(
    files: Sequence[PosterFile],
    card: RunCard,
    pictures: Path,
    out: Path,
    answer: Callable[[Sequence[tuple[PosterItem, Path]]], Answered],
    can_answer: Callable[[PosterItem], bool],
    watch: Watch,
) -> RunReport:
    claim(out, card)
    asked = [file for file in files if can_answer(file.items[0])]
    skipped = {file.task.name: len(file.items) for file in files if file not in asked}
    wanted = sum(len(file.items) for file in asked)
    failed: Counter[str] = Counter()
    kept = given = done = 0
    for file in asked:
        started = started_at(file, out / file.task.place, added=_ADDED, same=_SAME)
        kept += sum(item.response is not None for item in started.items)
        for news in _answers(started, pictures, answer, failed, out / file.task.place):
            given += news
            done += 1
            watch(kept + done, wanted)
    return RunReport(
        contestant=card.contestant,
        asked=wanted,
        kept=kept,
        answered=given,
        not_asked=skipped,
        failed=dict(sorted(failed.items())),
        files=tuple(file.task.place for file in asked),
        output=str(out),
    )


def _answers(
    file: PosterFile,
    pictures: Path,
    answer: Callable[[Sequence[tuple[PosterItem, Path]]], Answered],
    failed: Counter[str],
    place: Path,
) -> Iterator[bool]:
    """Ask what has no answer, saving as it goes; True for each answer, False for each item that got none."""
    open_items = [(item, find_picture(pictures, item.path)) for item in file.items if item.response is None]
    asked = [(item, path) for item, path in open_items if path is not None]
    for _ in range(len(open_items) - len(asked)):
        failed["no picture"] += 1
        yield False
    news: dict[int, dict[str, Any]] = {}
    try:
        for index, response, why in answer(asked):
            if response is None:
                failed[why] += 1
            else:
                news[asked[index][0].number] = {"response": response}
                if len(news) % SAVED_EVERY == 0:
                    file.edited(news).write(place)
            yield response is not None
    finally:
        file.edited(news).write(place)
