"""Judges on the points of a suite: who answers which, one entry at a time, and what is made of their answers.

An answer that was given but cannot be read (a refusal, a text without a verdict, a picture the judge cannot open) is
*unread*, and counts as a failure. A question that got no answer because of an outage is left out: it is open, the entry
is provisional, and the next run asks again. Answers in the call store are never bought twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.bench.entry import ANSWERS, Entry
from salon.bench.suite import Suite
from salon.errors import BadValue, UnknownReference, shorten
from salon.judge.folder import judge_folder, judge_names, read_record, read_verdicts
from salon.judge.plan import JudgePlan, plan_run
from salon.judge.run import JudgeRun, Watch, run_plan
from salon.judge.settings import JudgeSettings
from salon.judge.unread import UnreadLimits
from salon.judge.vlm import Vlm
from salon.study import Criterion, Item, Study, builtin_criterion
from salon.study.point import Point, points_for, settled_point

SETTINGS = JudgeSettings(protocol="checklist")
ASKED = Criterion(
    id="points",
    name="What was asked for",
    rubric="A statement about a thing that is not in the picture is false. Left and right are as the viewer sees them.",
)
"""The criterion of points that belong to none: what every judge is told before the point."""
LASTING = ("refused", "too-long", "broken-image")
"""Kinds of no reply that asking again would not change; all others are outages."""
LAYOUTS = "layouts"
"""Folder of the records that built-in generators leave; the oracle reads them."""
_LONGEST = 400
_WHY = ("why", "reason", "reasoning", "explanation")


@dataclass(frozen=True)
class Judge:
    """How a judge is opened: for the study in a folder and the points it will be asked, while the block lasts."""

    open: Callable[[Study, Path, Sequence[Point]], AbstractContextManager[Vlm]]
    paid: bool = False
    """Whether its answers are bought: then a plan looks up which of them are in its store."""


def any_study(vlm: Vlm) -> Judge:
    """A judge that is open already and asks nothing about the study."""
    return Judge(lambda study, folder, points: nullcontext(vlm))


# -- who is asked what -------------------------------------------------------------------------------------------------


def suite_roles(suite: Suite) -> dict[str, list[Point]]:
    """Every judge of the suite's routes with the points it answers; last the oracle, with all that have a rule."""
    names = dict.fromkeys(name for route in suite.routes for name in route.judges)
    found = {name: points_for(name, suite.points, suite.routes) for name in names}
    if suite.card.oracle is not None:
        found.setdefault(suite.card.oracle, [point for point in suite.points if point.rule is not None])
    return {name: points for name, points in found.items() if points}


def is_asked(role: str, suite: Suite, folder: Path) -> bool:
    """Whether a role has anything to say about the entry: an oracle needs the records of how pictures were made."""
    return role != suite.card.oracle or (folder / LAYOUTS).is_dir()


def entry_study(suite: Suite, entry: Entry, points: Sequence[Point] = ()) -> Study:
    """An entry's pictures as a study, with the suite's prompts and the criteria of the points."""
    ids = dict.fromkeys(point.criterion or ASKED.id for point in points)
    prompts = [one.prompt for one in suite.prompts]
    items = [
        Item(id=one.item, prompt=one.prompt, generator=entry.name, image=one.image)
        for one in entry.pictures
        if one.image is not None
    ]
    return Study.build(entry.name, [_criterion(id) for id in ids], tables={"prompts": prompts, "items": items})


def _criterion(id: str) -> Criterion:
    if id == ASKED.id:
        return ASKED
    try:
        return builtin_criterion(id)
    except UnknownReference:
        return Criterion(id=id)


def plan_role(study: Study, folder: Path, points: Sequence[Point]) -> JudgePlan | None:
    """Every question to one judge about an entry; None where there is nothing to ask about."""
    prompts = {item.prompt for item in study.nouns("items")}
    mine = [_owned(point) for point in points if (point.prompt is None and prompts) or point.prompt in prompts]
    return plan_run(study, folder, SETTINGS, points=mine, looks=False) if mine else None


def _owned(point: Point) -> Point:
    return point if point.criterion else point.model_copy(update={"criterion": ASKED.id})


# -- asking ------------------------------------------------------------------------------------------------------------


def judge_entry(
    suite: Suite,
    entry: Entry,
    folder: Path,
    role: str,
    judge: Judge,
    watch: Watch | None = None,
    *,
    check: Callable[[Vlm], None] = lambda vlm: None,
    unread: UnreadLimits | None = None,
) -> JudgeRun | None:
    """Ask one judge everything it is to say about an entry, and leave ENTRY/judges/ROLE; None where that is nothing.

    `check` may refuse the judge before it is asked. What it answered before is found in its store, not asked again.
    """
    points = suite_roles(suite)[role]
    study = entry_study(suite, entry, points)
    plan = plan_role(study, folder, points)
    if plan is None:
        return None
    with judge.open(study, folder, points) as vlm:
        if vlm.name != role:
            raise BadValue("a judge is named as its role in the routes", found=repr(vlm.name), where=f"role {role!r}")
        check(vlm)
        return run_plan(plan, vlm, watch, overwrite=True, unread=unread)


def check_same_judge(role: str, vlm: Vlm, others: Mapping[str, Path]) -> None:
    """One judge has a role for all entries of a board, else their numbers could not be compared."""
    for name, folder in others.items():
        home = judge_folder(folder, role)
        if home.name not in judge_names(folder):
            continue
        before = read_record(home).vlm
        if before != str(vlm.signature):
            raise BadValue(
                f"one judge answers as {role!r} for all entries of a board",
                found=f"{vlm.signature}; the entry {name!r} was judged by {before}",
                remedy="name the judge that answered before, or start another board",
            )


# -- answers -----------------------------------------------------------------------------------------------------------


def role_answers(folder: Path, role: str, entry: Entry, points: Sequence[Point]) -> pa.Table:
    """What ENTRY/judges/ROLE says of the entry's pictures, as rows of answers.parquet."""
    items = {picture.item: picture.prompt for picture in entry.pictures if picture.image is not None}
    asked = {(point.prompt, point.id) for point in points}
    said: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in _verdicts(folder, role):
        item, point = row["a"], row["point"]
        if item in items and ((items[item], point) in asked or (None, point) in asked):
            said.setdefault((item, point), []).append(row)
    rows = [
        {"item": item, "point": point, "judge": role, "said": told, "why": _why(samples, told)}
        for (item, point), samples in said.items()
        if (told := _said(samples)) is not None
    ]
    return pa.Table.from_pylist(rows, ANSWERS)


def _verdicts(folder: Path, role: str) -> Iterator[dict[str, Any]]:
    table = read_verdicts(judge_folder(folder, role))
    columns = ("a", "point", "value", "unparsed", "failed", "text")
    return iter(table.select(columns).to_pylist())


def _said(samples: Sequence[dict[str, Any]]) -> str | None:
    """pass, fail or unread; None while an outage leaves it open."""
    if any(row["failed"] is not None and row["failed"] not in LASTING for row in samples):
        return None
    settled = settled_point([row["value"] for row in samples])
    return "unread" if settled is None else "pass" if settled else "fail"


def _why(samples: Sequence[dict[str, Any]], told: str) -> str:
    """The judge's reason where it gave one; of an answer that cannot be read, what is wrong with it."""
    first = samples[0]
    text = first["text"] or ""
    if told == "unread":
        problem = first["failed"] or first["unparsed"] or "no majority"
        return shorten(f"{problem}: {text}" if text else problem, _LONGEST)
    return shorten(_stated(text), _LONGEST)


def _stated(text: str) -> str:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(found, dict):
        return ""
    return next((str(found[key]) for key in _WHY if found.get(key)), "")
