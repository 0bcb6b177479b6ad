"""Why a number of an entry is not what it was: everything that decides it, compared prompt by prompt.

Only roots are named. Where the picture is another one, other answers and scores are what follows from it; where a point
is asked in other words or of other judges, so are the answers to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from salon.bench.entry import Entry, Pictured
from salon.bench.results import EntryResult, PictureResult
from salon.bench.suite import CAPABILITY, EPS, PreferenceReference, ReferencePoint, Suite
from salon.study.noun import Noun
from salon.study.point import Point, Route, route_of

Cause = Literal[
    "picture", "answers", "scores", "prompt", "prompts", "points", "routes", "scorer", "reference", "rule", "unknown"
]
_SHOWN = 12


class Reason(Noun):
    """One thing that differs."""

    cause: Cause
    told: str
    """One sentence."""


@dataclass(frozen=True)
class Side:
    """One of the two that are compared."""

    label: str
    suite: Suite
    entries: Mapping[str, Entry]
    results: Mapping[str, EntryResult]


# -- suites ------------------------------------------------------------------------------------------------------------


def suite_reasons(one: Suite, other: Suite) -> list[Reason]:
    """What differs between two suites, a sentence each; nothing for suites with the same hash."""
    return [
        *_prompt_lists(one, other),
        *_point_lists(one, other),
        *_tags(one, other),
        *([Reason(cause="routes", told="other routes of judges")] if one.routes != other.routes else []),
        *axis_reasons(CAPABILITY, one, other),
        *(reason for column in _columns(one, other) for reason in axis_reasons(column, one, other)),
        *_references(one, other),
        *_reported(one, other),
    ]


def axis_reasons(axis: str, one: Suite, other: Suite) -> list[Reason]:
    """What differs between two suites in how every prompt counts for an axis: Capability, or a column of EPS."""
    return [*_rules(axis, one, other), *(_scorers(axis, one, other) if axis != CAPABILITY else ())]


def _rules(axis: str, one: Suite, other: Suite) -> Iterator[Reason]:
    metric = CAPABILITY if axis == CAPABILITY else EPS
    versions = [suite.card.metrics.get(metric) for suite in (one, other)]
    if versions[0] != versions[1]:
        yield Reason(cause="rule", told=f"{metric} is computed by version {versions[1]}, before by {versions[0]}")
    if axis == CAPABILITY and one.card.passes != other.card.passes:
        yield Reason(cause="rule", told=f"a picture passes by {other.card.passes!r}, before by {one.card.passes!r}")
    if axis != CAPABILITY and one.card.integrate != other.card.integrate:
        now = "integrates" if other.card.integrate else "does not integrate"
        yield Reason(cause="rule", told=f"EPS now {now} over the scorer's sigma")


def _scorers(column: str, one: Suite, other: Suite) -> Iterator[Reason]:
    before, after = _reference(one, column), _reference(other, column)
    if before and after and before.signature != after.signature:
        yield Reason(cause="scorer", told=f"{column}: another scorer: {before.signature} became {after.signature}")


def _references(one: Suite, other: Suite) -> Iterator[Reason]:
    for column in _columns(one, other):
        before, after = _reference(one, column), _reference(other, column)
        if (before is None) != (after is None):
            yield Reason(cause="reference", told=f"{column}: the reference {'is new' if after else 'was taken away'}")
        elif before and after:
            values = {point.prompt: point for point in before.points}
            moved = sum(values.get(point.prompt) != point for point in after.points)
            if moved:
                yield Reason(cause="reference", told=f"{column}: another reference for {moved:,} prompts")


def _reported(one: Suite, other: Suite) -> Iterator[Reason]:
    """Settings that move no prompt, but intervals or Overall."""
    for name in ("weights", "interval", "level", "draws", "seed"):
        before, after = getattr(one.card, name), getattr(other.card, name)
        if before != after:
            yield Reason(cause="rule", told=f"{name}: {before} became {after}")


def _prompt_lists(one: Suite, other: Suite) -> Iterator[Reason]:
    before, after = ({prompt.prompt.id: prompt for prompt in suite.prompts} for suite in (one, other))
    for ids, what in ((after.keys() - before.keys(), "new"), (before.keys() - after.keys(), "gone")):
        if ids:
            yield Reason(cause="prompts", told=f"{len(ids):,} prompts are {what}: {_listed(ids)}")
    changed = [id for id in before.keys() & after.keys() if before[id] != after[id]]
    if changed:
        yield Reason(cause="prompt", told=f"{len(changed):,} prompts read otherwise: {_listed(changed)}")


def _point_lists(one: Suite, other: Suite) -> Iterator[Reason]:
    before, after = ({(point.prompt, point.id): point for point in suite.points} for suite in (one, other))
    for keys, what in (
        (after.keys() - before.keys(), "new"),
        (before.keys() - after.keys(), "gone"),
        ([key for key in before.keys() & after.keys() if before[key] != after[key]], "changed"),
    ):
        if keys:
            yield Reason(cause="points", told=f"{len(keys):,} points are {what}: {_listed(key[1] for key in keys)}")


def _tags(one: Suite, other: Suite) -> Iterator[Reason]:
    before, after = ({tag.id: tag for tag in suite.tags} for suite in (one, other))
    changed = [id for id in before.keys() | after.keys() if before.get(id) != after.get(id)]
    if changed:
        yield Reason(cause="prompts", told=f"{len(changed):,} tags differ: {_listed(changed)}")


# -- prompts -----------------------------------------------------------------------------------------------------------


def prompt_reasons(axis: str, entry: str, prompt: str, one: Side, other: Side) -> list[Reason]:
    """Why the entry's value of a prompt may differ on an axis: what is particular to this prompt."""
    seen = _Seen(entry, prompt, one), _Seen(entry, prompt, other)
    found = [*_words(*seen), *_pictures(*seen)]
    if axis == CAPABILITY:
        return [*found, *_points(*seen), *_routes(*seen), *_answers(*seen)]
    return [*found, *_eligible(*seen), *_reference_moved(axis, *seen), *_scores(axis, *seen)]


class _Seen:
    """One prompt of one entry on one side."""

    def __init__(self, entry: str, prompt: str, side: Side) -> None:
        self.suite, self.id = side.suite, prompt
        self.prompt = next((one for one in side.suite.prompts if one.prompt.id == prompt), None)
        self.points: dict[str, Point] = {one.id: one for one in side.suite.points if one.prompt in (None, prompt)}
        self.pictures: dict[int, Pictured] = {
            one.seed: one for one in side.entries[entry].pictures if one.prompt == prompt
        }
        result = next((one for one in side.results[entry].prompts if one.prompt == prompt), None)
        self.results: dict[int, PictureResult] = {one.seed: one for one in (result.pictures if result else ())}

    def route(self, point: str) -> Route:
        return route_of(self.points[point], self.suite.routes)

    def reference(self, column: str) -> ReferencePoint | None:
        found = _reference(self.suite, column)
        return next((one for one in found.points if one.prompt == self.id), None) if found else None


def _words(one: _Seen, other: _Seen) -> Iterator[Reason]:
    if one.prompt != other.prompt:
        yield Reason(cause="prompt", told="the prompt reads otherwise, or has another tag")


def _pictures(one: _Seen, other: _Seen) -> Iterator[Reason]:
    for seed in sorted(one.pictures.keys() | other.pictures.keys()):
        before, after = _hash(one, seed), _hash(other, seed)
        if before == after:
            continue
        if after is None:
            missing = other.pictures.get(seed)
            told = f"the picture of seed {seed} is missing: {missing.missing if missing else 'not asked for'}"
        elif before is None:
            told = f"the picture of seed {seed} is there now ({after[:_SHOWN]})"
        else:
            told = f"another picture of seed {seed}: {before[:_SHOWN]} became {after[:_SHOWN]}"
        yield Reason(cause="picture", told=told)


def _points(one: _Seen, other: _Seen) -> Iterator[Reason]:
    for id in sorted(one.points.keys() | other.points.keys()):
        before, after = one.points.get(id), other.points.get(id)
        if before != after:
            what = "is gone" if after is None else "is new" if before is None else "is asked otherwise"
            yield Reason(cause="points", told=f"the point {id} {what}")


def _routes(one: _Seen, other: _Seen) -> Iterator[Reason]:
    for id in sorted(one.points.keys() & other.points.keys()):
        before, after = one.route(id), other.route(id)
        if (before.judges, before.rule) != (after.judges, after.rule):
            told = f"the point {id} goes to {_way(after)}, before to {_way(before)}"
            yield Reason(cause="routes", told=told)


def _answers(one: _Seen, other: _Seen) -> Iterator[Reason]:
    """Answers that changed although the picture, the point and its route did not."""
    for seed in _same_pictures(one, other):
        before, after = one.results[seed].said, other.results[seed].said
        for point in sorted(before.keys() | after.keys()):
            if one.points.get(point) != other.points.get(point) or point not in one.points:
                continue
            for judge in one.route(point).judges:
                said = [side.get(point, {}).get(judge, "open") for side in (before, after)]
                if said[0] != said[1] and judge in other.route(point).judges:
                    yield Reason(cause="answers", told=f"{judge} on {point}, seed {seed}: {said[0]} became {said[1]}")


def _eligible(one: _Seen, other: _Seen) -> Iterator[Reason]:
    counts = [seen.prompt is not None and seen.suite.tag_of(seen.id).eps for seen in (one, other)]
    if counts[0] != counts[1]:
        yield Reason(cause="prompts", told=f"EPS {'counts' if counts[1] else 'no longer counts'} here")


def _reference_moved(column: str, one: _Seen, other: _Seen) -> Iterator[Reason]:
    before, after = one.reference(column), other.reference(column)
    if before != after and before and after:
        yield Reason(cause="reference", told=f"the reference moved from {before.value:.4f} to {after.value:.4f}")


def _scores(column: str, one: _Seen, other: _Seen) -> Iterator[Reason]:
    for seed in _same_pictures(one, other):
        before, after = (
            (seen.results[seed].logits.get(column), seen.results[seed].sigmas.get(column)) for seen in (one, other)
        )
        if before != after:
            told = f"seed {seed}: the score {_number(before[0])} became {_number(after[0])}"
            yield Reason(cause="scores", told=told)


def _same_pictures(one: _Seen, other: _Seen) -> list[int]:
    seeds = one.results.keys() & other.results.keys()
    return sorted(seed for seed in seeds if _hash(one, seed) == _hash(other, seed))


def _hash(seen: _Seen, seed: int) -> str | None:
    picture = seen.pictures.get(seed)
    return picture.sha256 if picture else None


def _reference(suite: Suite, column: str) -> PreferenceReference | None:
    return next((one for one in suite.reference.preferences if one.id == column), None) if suite.reference else None


def _columns(one: Suite, other: Suite) -> list[str]:
    return list(dict.fromkeys(rule.id for suite in (one, other) for rule in suite.card.preferences))


def _way(route: Route) -> str:
    return f"{', '.join(route.judges)} ({route.rule})"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _listed(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else "")
