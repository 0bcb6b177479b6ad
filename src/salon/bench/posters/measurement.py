"""Judges of posters that need no model: pixels, and the record of how a poster was drawn.

Pixels answer the key points that have a rule they know (is the text readable, is the color there, does it stand where
it should), and nothing else. Other points, styles and lettering stay owed, for a VLM. The verdicts go into `judge`, and
what was found into `why`.

The record (`layout`) is an oracle: it knows what was set, not what can be seen, and only drawn posters have one. Its
answers go into `oracle` and `oracle_why`. They are shown beside a score and never enter it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from salon.bench.posters.files import PosterFile, find_picture, picture_root, record_judge, write_back
from salon.bench.posters.item import PosterItem
from salon.bench.posters.item_scores import field_texts, point_rules
from salon.bench.posters.tasks import ATTRIBUTES
from salon.engine import map_processes
from salon.errors import BadFile
from salon.judge import RULES_VERSION, Rule, RuleFinding, RuleTask, answer_from_layout, look_at_pixels, read_rule
from salon.models import READER, cache_file
from salon.render import FAMILIES, Family, Layout, Lettering
from salon.store import read_bytes
from salon.study import Noun, Signature

Way = Literal["pixels", "layout"]
FIELDS: dict[Way, tuple[str, str]] = {"pixels": ("judge", "why"), "layout": ("oracle", "oracle_why")}
"""Where a verdict goes, and what was found."""
Watch = Callable[[int, int], None]


class MeasurementReport(Noun):
    """What a measurement of posters did."""

    judge: Way = Field(description="What was looked at.")
    answered: int = Field(description="Verdicts given now.")
    kept: int = Field(description="Verdicts that were there already.")
    not_asked: int = Field(description="Verdicts that it cannot give: they stay owed.")
    no_reply: dict[str, int] = Field(description="Posters that could not be looked at, by reason.")
    nothing_to_judge: int = Field(description="Items whose poster is not there.")


class _OpenPoints(NamedTuple):
    """A poster with points that can be measured and have no verdict yet."""

    item: PosterItem
    place: Path
    points: tuple[int, ...]
    rules: tuple[Rule | None, ...]
    """As a measurement reads them; None for the kinds that only the record answers, and for tasks without points."""


class _MeasurementJob(NamedTuple):
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
    watch: Watch = lambda completed, total: None,
) -> MeasurementReport:
    """Fill in what can be measured in these files, each written back to where it was read from."""
    counts: Counter[str] = Counter()
    no_reply: Counter[str] = Counter()
    generated = [file for file in files if file.task.side == "generation"]
    owed = [(file, list(_open_posters(file, way, pictures, counts))) for file in generated]
    total, completed = sum(len(some) for _, some in owed), 0
    for file, some in owed:
        texts_by_item = {open_poster.item.number: _recorded_texts(file, open_poster.item, way) for open_poster in some}
        jobs = [
            _MeasurementJob(way, open_poster.place, file.task.answer, tuple(_raw(file, open_poster)))
            for open_poster in some
        ]
        try:
            for index, verdicts in map_processes(_measure, jobs, processes=workers):
                completed += 1
                watch(completed, total)
                if isinstance(verdicts, BadFile):
                    no_reply["broken picture" if way == "pixels" else "no record of its drawing"] += 1
                elif isinstance(verdicts, Exception):
                    raise verdicts
                else:
                    counts["answered"] += len(verdicts)
                    texts, whys = texts_by_item[some[index].item.number]
                    for point, (word, reason) in zip(some[index].points, verdicts, strict=True):
                        texts[point], whys[point] = word, reason
        finally:  # whatever ended it, what was found is kept
            verdict, why = FIELDS[way]
            news = {
                number: {verdict: texts, why: whys} for number, (texts, whys) in texts_by_item.items() if any(texts)
            }
            write_back(file, news)
    if generated and way == "pixels":  # an oracle is no judge
        method = Signature(method="pixels", settings={"rules": RULES_VERSION, "reader": READER})
        record_judge(picture_root(generated[0].path), way, str(method), counts["answered"])
    return MeasurementReport(
        judge=way,
        answered=counts["answered"],
        kept=counts["kept"],
        not_asked=counts["not asked"],
        no_reply=dict(sorted(no_reply.items())),
        nothing_to_judge=counts["nothing"],
    )


def _open_posters(file: PosterFile, way: Way, pictures: Path, counts: Counter[str]) -> Iterator[_OpenPoints]:
    for item in file.items:
        place = find_picture(pictures, item.path)
        if place is None:
            counts["nothing"] += 1
            continue
        rules = point_rules(file, item) if file.task.answer == "points" else (None,)
        texts = field_texts(file, item, FIELDS[way][0], len(rules))
        counts["kept"] += sum(bool(text) for text in texts)
        open_points = [point for point, text in enumerate(texts) if not text]
        can = [point for point in open_points if _can(way, file.task.answer, rules[point])]
        counts["not asked"] += len(open_points) - len(can)
        if can:
            yield _OpenPoints(item, place, tuple(can), tuple(_parsed_rule(file, item, rules[point]) for point in can))


def _can(way: Way, answer: str, rule: Any) -> bool:
    """Whether a way of measuring has an answer to this point."""
    if answer != "points":
        return way == "layout"
    return rule is not None and (way == "layout" or rule["kind"] not in DRAWN_ONLY)


def _parsed_rule(file: PosterFile, item: PosterItem, rule: Any) -> Rule | None:
    if rule is None or rule["kind"] in DRAWN_ONLY:
        return None
    return read_rule(rule, where=f"{file.path}, record {item.number + 1}, rules")


def _raw(file: PosterFile, open_poster: _OpenPoints) -> Iterator[Any]:
    rules = point_rules(file, open_poster.item) if file.task.answer == "points" else (None,)
    for point, rule in zip(open_poster.points, open_poster.rules):
        yield rules[point] if rule is None else rule


def _recorded_texts(file: PosterFile, item: PosterItem, way: Way) -> tuple[list[str], list[str]]:
    n = len(item.truth) if file.task.answer == "points" else 1
    verdict, why = FIELDS[way]
    return field_texts(file, item, verdict, n), field_texts(file, item, why, n)


# -- looking, in a process of its own --------------------------------------------------------------------------------


def _measure(job: _MeasurementJob) -> list[tuple[str, str]]:
    """Verdict and reason for each rule."""
    if job.way == "pixels":
        return [
            _verdict_and_reason(finding) for finding in look_at_pixels(RuleTask(job.place, job.rules, cache_file()))
        ]
    layout = _layout(job.place)
    if job.kind == "label":
        return [(layout.style, f"drawn by {layout.house}")]
    if job.kind == "attributes":
        return [(", ".join(layout_attributes(layout)), "from the faces that were set")]
    findings = [
        layout_picture(rule, layout) if isinstance(rule, dict) else answer_from_layout(rule, layout)
        for rule in job.rules
    ]
    return [_verdict_and_reason(finding) for finding in findings]


def _verdict_and_reason(finding: RuleFinding) -> tuple[str, str]:
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


# -- what only the record of a drawing says: the motif, how the lettering looks ----------------------------------------

DRAWN_ONLY = ("picture",)
"""Kinds of rules that only the record answers: which motif a picture shows is beyond a measurement of pixels."""
THIN = 200
"""The heaviest weight that counts as thin."""


def layout_picture(rule: Mapping[str, Any], layout: Layout) -> RuleFinding:
    """Whether the motif of `rule` was drawn."""
    recipes = [element.recipe or "" for element in layout.of_role("picture")]
    return RuleFinding(
        any(recipe.startswith(f"{rule.get('of')} in ") for recipe in recipes), ", ".join(recipes) or "no picture"
    )


def layout_attributes(layout: Layout) -> list[str]:
    """The attributes of the vocabulary that the faces settle; the other 29 a record does not know."""
    letterings = [element.lettering for element in layout.elements if element.lettering is not None]
    attributes = {
        name
        for lettering in letterings
        for name, has in _ATTRIBUTES.items()
        if has(lettering, FAMILIES[lettering.face.family])
    }
    return [name for name in ATTRIBUTES if name in attributes]


_ATTRIBUTES: dict[str, Callable[[Lettering, Family], bool]] = {
    "capitals": lambda lettering, family: family.caps or lettering.text.isupper(),
    "cursive": lambda lettering, family: family.kind == "script",
    "display": lambda lettering, family: family.kind == "display",
    "italic": lambda lettering, family: lettering.face.italic,
    "monospace": lambda lettering, family: family.kind == "mono",
    "serif": lambda lettering, family: family.serif or family.kind in ("serif", "slab"),
    "thin": lambda lettering, family: (family.looks or lettering.face.weight) <= THIN,
    "wide": lambda lettering, family: family.width == "wide",
}
