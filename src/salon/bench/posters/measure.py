"""Judges of posters that need no model: pixels, and the record of how a poster was drawn.

Pixels answer the key points that have a rule they know (is the text readable, is the color there, does it stand where
it should), and nothing else: other points, styles and lettering stay owed, for a VLM. Their verdicts go into `judge`,
with what was found into `why`.

The record (`layout`) is an oracle: it knows what was set, not what can be seen, and only drawn posters have one. Its
answers go into `oracle` and `oracle_why`. They are shown beside a score and never enter it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from salon.bench.posters.files import PosterFile, find_picture, home_of, write_back
from salon.bench.posters.item import PosterItem
from salon.bench.posters.oracle import DRAWN_ONLY, layout_attributes, layout_picture
from salon.bench.posters.points import rules_of, said_of
from salon.bench.posters.run_card import note_judge
from salon.engine.processes import over_processes
from salon.errors import BadFile
from salon.judge.layout_judge import by_layout
from salon.judge.measuring_judge import Look
from salon.judge.pixel_judge import look_at_pixels
from salon.judge.pixel_rules import VERSION, Finding, Rule, read_rule
from salon.models.kept import kept_file
from salon.models.ocr import READER
from salon.render.layout import Layout
from salon.store.pictures import read_bytes
from salon.study.noun import Noun
from salon.study.signature import Signature

Way = Literal["pixels", "layout"]
FIELDS: dict[Way, tuple[str, str]] = {"pixels": ("judge", "why"), "layout": ("oracle", "oracle_why")}
"""Where a verdict goes, and what was found."""
Watch = Callable[[int, int], None]


class MeasuredReport(Noun):
    """What a measurement of posters did."""

    judge: Way = Field(description="What was looked at.")
    answered: int = Field(description="Verdicts given now.")
    kept: int = Field(description="Verdicts that were there already.")
    not_asked: int = Field(description="Verdicts that it cannot give: they stay owed.")
    no_reply: dict[str, int] = Field(description="Posters that could not be looked at, by reason.")
    nothing_to_judge: int = Field(description="Items whose poster is not there.")


class _Owed(NamedTuple):
    """A poster with points that can be measured and have no verdict yet."""

    item: PosterItem
    place: Path
    points: tuple[int, ...]
    rules: tuple[Rule | None, ...]
    """As a measurement reads them; None for the kinds that only the record answers, and for tasks without points."""


class _Job(NamedTuple):
    way: Way
    place: Path
    kind: str
    rules: tuple[Any, ...]


def measure_files(
    files: Sequence[PosterFile],
    way: Way,
    *,
    pictures: Path,
    workers: int | None = 1,
    watch: Watch = lambda done, wanted: None,
) -> MeasuredReport:
    """Fill in what can be measured in these files, each written back to where it was read from."""
    counts: Counter[str] = Counter()
    no_reply: Counter[str] = Counter()
    made = [file for file in files if file.task.side == "generation"]
    owed = [(file, list(_owed(file, way, pictures, counts))) for file in made]
    total, done = sum(len(some) for _, some in owed), 0
    for file, some in owed:
        said = {one.item.number: _said(file, one.item, way) for one in some}
        jobs = [_Job(way, one.place, file.task.answer, tuple(_raw(file, one))) for one in some]
        try:
            for index, found in over_processes(_measured, jobs, processes=workers):
                done += 1
                watch(done, total)
                if isinstance(found, BadFile):
                    no_reply["broken picture" if way == "pixels" else "no record of its drawing"] += 1
                elif isinstance(found, Exception):
                    raise found
                else:
                    counts["answered"] += len(found)
                    _fill(said[some[index].item.number], some[index].points, found)
        finally:  # whatever ended it, what was found is kept
            verdict, why = FIELDS[way]
            news = {number: {verdict: texts, why: whys} for number, (texts, whys) in said.items() if any(texts)}
            write_back(file, news)
    if made and way == "pixels":  # an oracle is no judge
        method = Signature(method="pixels", settings={"rules": VERSION, "reader": READER})
        note_judge(home_of(made[0].path), way, str(method), counts["answered"])
    return MeasuredReport(
        judge=way,
        answered=counts["answered"],
        kept=counts["kept"],
        not_asked=counts["not asked"],
        no_reply=dict(sorted(no_reply.items())),
        nothing_to_judge=counts["nothing"],
    )


def _owed(file: PosterFile, way: Way, pictures: Path, counts: Counter[str]) -> Iterator[_Owed]:
    for item in file.items:
        place = find_picture(pictures, item.path)
        if place is None:
            counts["nothing"] += 1
            continue
        rules = rules_of(file, item) if file.task.answer == "points" else (None,)
        texts = said_of(file, item, FIELDS[way][0], len(rules))
        counts["kept"] += sum(bool(text) for text in texts)
        open_points = [point for point, text in enumerate(texts) if not text]
        can = [point for point in open_points if _can(way, file.task.answer, rules[point])]
        counts["not asked"] += len(open_points) - len(can)
        if can:
            yield _Owed(item, place, tuple(can), tuple(_checked(file, item, rules[point]) for point in can))


def _can(way: Way, answer: str, rule: Any) -> bool:
    """Whether a way of measuring has an answer to this point."""
    if answer != "points":
        return way == "layout"
    return rule is not None and (way == "layout" or rule["kind"] not in DRAWN_ONLY)


def _checked(file: PosterFile, item: PosterItem, rule: Any) -> Rule | None:
    if rule is None or rule["kind"] in DRAWN_ONLY:
        return None
    return read_rule(rule, where=f"{file.path}, record {item.number + 1}, rules")


def _raw(file: PosterFile, one: _Owed) -> Iterator[Any]:
    rules = rules_of(file, one.item) if file.task.answer == "points" else (None,)
    for point, rule in zip(one.points, one.rules):
        yield rules[point] if rule is None else rule


def _said(file: PosterFile, item: PosterItem, way: Way) -> tuple[list[str], list[str]]:
    n = len(item.truth) if file.task.answer == "points" else 1
    verdict, why = FIELDS[way]
    return said_of(file, item, verdict, n), said_of(file, item, why, n)


def _fill(said: tuple[list[str], list[str]], points: Sequence[int], found: Sequence[tuple[str, str]]) -> None:
    for point, (verdict, why) in zip(points, found, strict=True):
        said[0][point], said[1][point] = verdict, why


# -- looking, in a process of its own --------------------------------------------------------------------------------


def _measured(job: _Job) -> list[tuple[str, str]]:
    """Verdict and reason for each rule."""
    if job.way == "pixels":
        return [_told(one) for one in look_at_pixels(Look(job.place, job.rules, kept_file()))]
    layout = _layout(job.place)
    if job.kind == "label":
        return [(layout.style, f"drawn by {layout.house}")]
    if job.kind == "attributes":
        return [(", ".join(layout_attributes(layout)), "from the faces that were set")]
    return [_told(layout_picture(rule, layout) if isinstance(rule, dict) else by_layout(rule, layout))
            for rule in job.rules]  # fmt: skip


def _told(finding: Finding) -> tuple[str, str]:
    return ("Yes" if finding.holds else "No"), finding.why


def _layout(picture: Path) -> Layout:
    """The record beside a drawn poster: layouts/NAME.json for images/NAME.png."""
    parts = list(picture.parts)
    if "images" not in parts:
        raise BadFile("the record of a drawn poster is needed", found="none", where=str(picture))
    at = len(parts) - 1 - parts[::-1].index("images")
    place = Path(*parts[:at], "layouts", *parts[at + 1 :]).with_suffix(".json")
    try:
        return Layout.parse(json.loads(read_bytes(place)), where=str(place))
    except ValueError as error:
        raise BadFile("the record of a poster, as JSON, is needed", found=error, where=str(place)) from None
