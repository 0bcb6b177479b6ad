"""Why a number of an entry is not what it was: everything that decides it, compared prompt by prompt.

Only roots are named. Where the picture is another one, other answers and scores are what follows from it; where a point
is asked in other words or of other judges, so are the answers to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from salon.bench.entry import AxisResult, Entry, EntryPicture, EntryResult, PictureResult
from salon.bench.suite import CAPABILITY, EPS, OVERALL, PreferenceReference, ReferencePoint, Suite
from salon.stats.result import Estimate
from salon.study.answers import Point, Route, find_route
from salon.study.nouns import Noun

Cause = Literal[
    "picture", "answers", "scores", "prompt", "prompts", "points", "routes", "scorer", "reference", "rule", "unknown"
]
_SHOWN = 12


class ChangeReason(Noun):
    """One thing that differs."""

    cause: Cause
    told: str
    """One sentence."""


@dataclass(frozen=True)
class BoardSide:
    """One of the two that are compared."""

    label: str
    suite: Suite
    entries: Mapping[str, Entry]
    results: Mapping[str, EntryResult]


# -- suites ------------------------------------------------------------------------------------------------------------


def suite_reasons(one: Suite, other: Suite) -> list[ChangeReason]:
    """What differs between two suites, a sentence each; nothing for suites with the same hash."""
    return [
        *_prompt_lists(one, other),
        *_point_lists(one, other),
        *_tags(one, other),
        *([ChangeReason(cause="routes", told="other routes of judges")] if one.routes != other.routes else []),
        *axis_reasons(CAPABILITY, one, other),
        *(reason for column in _columns(one, other) for reason in axis_reasons(column, one, other)),
        *_references(one, other),
        *_reported(one, other),
    ]


def axis_reasons(axis: str, one: Suite, other: Suite) -> list[ChangeReason]:
    """What differs between two suites in how every prompt counts for an axis: Capability, or a column of EPS."""
    return [*_rules(axis, one, other), *(_scorers(axis, one, other) if axis != CAPABILITY else ())]


def _rules(axis: str, one: Suite, other: Suite) -> Iterator[ChangeReason]:
    metric = CAPABILITY if axis == CAPABILITY else EPS
    versions = [suite.card.metrics.get(metric) for suite in (one, other)]
    if versions[0] != versions[1]:
        yield ChangeReason(cause="rule", told=f"{metric} is computed by version {versions[1]}, before by {versions[0]}")
    if axis == CAPABILITY and one.card.passes != other.card.passes:
        yield ChangeReason(
            cause="rule", told=f"a picture passes by {other.card.passes!r}, before by {one.card.passes!r}"
        )
    if axis != CAPABILITY and one.card.integrate != other.card.integrate:
        now = "integrates" if other.card.integrate else "does not integrate"
        yield ChangeReason(cause="rule", told=f"EPS now {now} over the scorer's sigma")


def _scorers(column: str, one: Suite, other: Suite) -> Iterator[ChangeReason]:
    before, after = _reference(one, column), _reference(other, column)
    if before and after and before.signature != after.signature:
        yield ChangeReason(
            cause="scorer", told=f"{column}: another scorer: {before.signature} became {after.signature}"
        )


def _references(one: Suite, other: Suite) -> Iterator[ChangeReason]:
    for column in _columns(one, other):
        before, after = _reference(one, column), _reference(other, column)
        if (before is None) != (after is None):
            yield ChangeReason(
                cause="reference", told=f"{column}: the reference {'is new' if after else 'was taken away'}"
            )
        elif before and after:
            values = {point.prompt: point for point in before.points}
            moved = sum(values.get(point.prompt) != point for point in after.points)
            if moved:
                yield ChangeReason(cause="reference", told=f"{column}: another reference for {moved:,} prompts")


def _reported(one: Suite, other: Suite) -> Iterator[ChangeReason]:
    """Settings that move no prompt, but intervals or Overall."""
    for name in ("weights", "interval", "level", "draws", "seed"):
        before, after = getattr(one.card, name), getattr(other.card, name)
        if before != after:
            yield ChangeReason(cause="rule", told=f"{name}: {before} became {after}")


def _prompt_lists(one: Suite, other: Suite) -> Iterator[ChangeReason]:
    before, after = ({prompt.prompt.id: prompt for prompt in suite.prompts} for suite in (one, other))
    for ids, what in ((after.keys() - before.keys(), "new"), (before.keys() - after.keys(), "gone")):
        if ids:
            yield ChangeReason(cause="prompts", told=f"{len(ids):,} prompts are {what}: {_listed(ids)}")
    changed = [id for id in before.keys() & after.keys() if before[id] != after[id]]
    if changed:
        yield ChangeReason(cause="prompt", told=f"{len(changed):,} prompts read otherwise: {_listed(changed)}")


def _point_lists(one: Suite, other: Suite) -> Iterator[ChangeReason]:
    before, after = ({(point.prompt, point.id): point for point in suite.points} for suite in (one, other))
    for keys, what in (
        (after.keys() - before.keys(), "new"),
        (before.keys() - after.keys(), "gone"),
        ([key for key in before.keys() & after.keys() if before[key] != after[key]], "changed"),
    ):
        if keys:
            yield ChangeReason(
                cause="points", told=f"{len(keys):,} points are {what}: {_listed(key[1] for key in keys)}"
            )


def _tags(one: Suite, other: Suite) -> Iterator[ChangeReason]:
    before, after = ({tag.id: tag for tag in suite.tags} for suite in (one, other))
    changed = [id for id in before.keys() | after.keys() if before.get(id) != after.get(id)]
    if changed:
        yield ChangeReason(cause="prompts", told=f"{len(changed):,} tags differ: {_listed(changed)}")


# -- prompts -----------------------------------------------------------------------------------------------------------


def prompt_reasons(axis: str, entry: str, prompt: str, one: BoardSide, other: BoardSide) -> list[ChangeReason]:
    """Why the entry's value of a prompt may differ on an axis: what is particular to this prompt."""
    seen = _PromptSide(entry, prompt, one), _PromptSide(entry, prompt, other)
    found = [*_words(*seen), *_pictures(*seen)]
    if axis == CAPABILITY:
        return [*found, *_points(*seen), *_routes(*seen), *_answers(*seen)]
    return [*found, *_eligible(*seen), *_reference_moved(axis, *seen), *_scores(axis, *seen)]


class _PromptSide:
    """One prompt of one entry on one side."""

    def __init__(self, entry: str, prompt: str, side: BoardSide) -> None:
        self.suite, self.id = side.suite, prompt
        self.prompt = next((one for one in side.suite.prompts if one.prompt.id == prompt), None)
        self.points: dict[str, Point] = {one.id: one for one in side.suite.points if one.prompt in (None, prompt)}
        self.pictures: dict[int, EntryPicture] = {
            one.seed: one for one in side.entries[entry].pictures if one.prompt == prompt
        }
        result = next((one for one in side.results[entry].prompts if one.prompt == prompt), None)
        self.results: dict[int, PictureResult] = {one.seed: one for one in (result.pictures if result else ())}

    def route(self, point: str) -> Route:
        return find_route(self.points[point], self.suite.routes)

    def reference(self, column: str) -> ReferencePoint | None:
        found = _reference(self.suite, column)
        return next((one for one in found.points if one.prompt == self.id), None) if found else None


def _words(one: _PromptSide, other: _PromptSide) -> Iterator[ChangeReason]:
    if one.prompt != other.prompt:
        yield ChangeReason(cause="prompt", told="the prompt reads otherwise, or has another tag")


def _pictures(one: _PromptSide, other: _PromptSide) -> Iterator[ChangeReason]:
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
        yield ChangeReason(cause="picture", told=told)


def _points(one: _PromptSide, other: _PromptSide) -> Iterator[ChangeReason]:
    for id in sorted(one.points.keys() | other.points.keys()):
        before, after = one.points.get(id), other.points.get(id)
        if before != after:
            what = "is gone" if after is None else "is new" if before is None else "is asked otherwise"
            yield ChangeReason(cause="points", told=f"the point {id} {what}")


def _routes(one: _PromptSide, other: _PromptSide) -> Iterator[ChangeReason]:
    for id in sorted(one.points.keys() & other.points.keys()):
        before, after = one.route(id), other.route(id)
        if (before.judges, before.rule) != (after.judges, after.rule):
            told = f"the point {id} goes to {_way(after)}, before to {_way(before)}"
            yield ChangeReason(cause="routes", told=told)


def _answers(one: _PromptSide, other: _PromptSide) -> Iterator[ChangeReason]:
    """Answers that changed although the picture, the point and its route did not."""
    for seed in _same_pictures(one, other):
        before, after = one.results[seed].said, other.results[seed].said
        for point in sorted(before.keys() | after.keys()):
            if one.points.get(point) != other.points.get(point) or point not in one.points:
                continue
            for judge in one.route(point).judges:
                said = [side.get(point, {}).get(judge, "open") for side in (before, after)]
                if said[0] != said[1] and judge in other.route(point).judges:
                    yield ChangeReason(
                        cause="answers", told=f"{judge} on {point}, seed {seed}: {said[0]} became {said[1]}"
                    )


def _eligible(one: _PromptSide, other: _PromptSide) -> Iterator[ChangeReason]:
    counts = [seen.prompt is not None and seen.suite.tag_of(seen.id).eps for seen in (one, other)]
    if counts[0] != counts[1]:
        yield ChangeReason(cause="prompts", told=f"EPS {'counts' if counts[1] else 'no longer counts'} here")


def _reference_moved(column: str, one: _PromptSide, other: _PromptSide) -> Iterator[ChangeReason]:
    before, after = one.reference(column), other.reference(column)
    if before != after and before and after:
        yield ChangeReason(cause="reference", told=f"the reference moved from {before.value:.4f} to {after.value:.4f}")


def _scores(column: str, one: _PromptSide, other: _PromptSide) -> Iterator[ChangeReason]:
    for seed in _same_pictures(one, other):
        before, after = (
            (seen.results[seed].logits.get(column), seen.results[seed].sigmas.get(column)) for seen in (one, other)
        )
        if before != after:
            told = f"seed {seed}: the score {_number(before[0])} became {_number(after[0])}"
            yield ChangeReason(cause="scores", told=told)


def _same_pictures(one: _PromptSide, other: _PromptSide) -> list[int]:
    seeds = one.results.keys() & other.results.keys()
    return sorted(seed for seed in seeds if _hash(one, seed) == _hash(other, seed))


def _hash(seen: _PromptSide, seed: int) -> str | None:
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


# --------------------------------------------------------------------------------------------------
# Two boards, or two versions of one: what moved on each axis, by how much, and why.
#
# The change of a mean splits into its prompts without a rest: prompt p adds v'(p) / n' - v(p) / n, where v is its value
# and n the number of prompts that count, before and after. Each share goes to what differs for that prompt; where
# several
# things do, they share it.
# --------------------------------------------------------------------------------------------------

FORMAT: Final = "salon.diff/1"
_SAME = 1e-12
What = Literal["identical", "unmoved", "moved", "added", "removed"]


class PromptMove(Noun):
    """What a prompt did to an axis."""

    prompt: str
    before: float | None = Field(description="Its value from 0 to 1; null where it did not count.")
    after: float | None
    moved: float = Field(description="What it added to the axis, in points of 100.")
    reasons: tuple[ChangeReason, ...]

    @property
    def causes(self) -> str:
        """The kinds of its reasons, as one word or several."""
        return " + ".join(dict.fromkeys(reason.cause for reason in self.reasons)) or "unknown"


class AxisMove(Noun):
    """One axis of one entry."""

    axis: str = Field(description="capability, the id of a column of EPS, or overall.")
    before: Estimate | None
    after: Estimate | None
    change: float | None = Field(description="After minus before; null where one of them is not known.")
    by_cause: dict[str, float] = Field(description="The change by what caused it; the parts sum to it.")
    prompts: tuple[PromptMove, ...] = Field(description="Those that moved, the largest first.")


class EntryDiff(Noun):
    """One entry on both sides."""

    entry: str
    what: What = Field(
        description="identical: the same bytes; unmoved: the same numbers and intervals, made from other data."
    )
    before: str | None = Field(description="complete, provisional, retracted or without a result; null: not there.")
    after: str | None
    retracted: str | None = Field(default=None, description="Why it was taken back since.")
    axes: tuple[AxisMove, ...] = ()


class BoardDiff(Noun):
    """Everything that differs between two boards."""

    format: Literal["salon.diff/1"] = FORMAT
    before: str
    after: str
    suites: tuple[str, str] = Field(description="Hashes of the two suites.")
    suite: tuple[ChangeReason, ...] = Field(description="What differs between them; empty for the same suite.")
    entries: tuple[EntryDiff, ...]

    def named(self, what: What) -> list[str]:
        """The entries that this can be said of."""
        return [entry.entry for entry in self.entries if entry.what == what]


def board_diff(one: BoardSide, other: BoardSide) -> BoardDiff:
    """`other` as seen from `one`, entry by entry."""
    names = dict.fromkeys([*one.entries, *other.entries])
    return BoardDiff(
        before=one.label,
        after=other.label,
        suites=(one.suite.hash, other.suite.hash),
        suite=tuple(suite_reasons(one.suite, other.suite)) if one.suite.hash != other.suite.hash else (),
        entries=tuple(_entry(name, one, other) for name in names),
    )


def _entry(name: str, one: BoardSide, other: BoardSide) -> EntryDiff:
    before, after = _standing(name, one), _standing(name, other)
    taken_back = other.entries[name].retracted if name in other.entries and before != after else None
    told = {"entry": name, "before": before, "after": after, "retracted": taken_back.reason if taken_back else None}
    if before is None or after is None:
        return EntryDiff(**told, what="added" if before is None else "removed")
    axes = _axes(name, one, other) if name in one.results and name in other.results else ()
    return EntryDiff(**told, what=_what(name, axes, one, other), axes=axes)


def _standing(name: str, side: BoardSide) -> str | None:
    if name not in side.entries:
        return None
    if side.entries[name].retracted:
        return "retracted"
    return side.results[name].status if name in side.results else "without a result"


def _what(name: str, axes: tuple[AxisMove, ...], one: BoardSide, other: BoardSide) -> What:
    before, after = one.results.get(name), other.results.get(name)
    if before is None or after is None:
        return "identical" if before is after else "moved"
    if before.model_dump_json() == after.model_dump_json():
        return "identical"
    still = all(axis.before == axis.after and not axis.prompts for axis in axes)
    return "unmoved" if still else "moved"


# -- axes --------------------------------------------------------------------------------------------------------------


def _axes(name: str, one: BoardSide, other: BoardSide) -> tuple[AxisMove, ...]:
    before, after = one.results[name], other.results[name]
    columns = list(dict.fromkeys([*before.eps, *after.eps]))
    parts = [_axis(axis, name, one, other) for axis in (CAPABILITY, *columns)]
    overall = _overall(before, after, parts, one, other)
    return (*parts, *([overall] if overall else []))


def _axis(axis: str, name: str, one: BoardSide, other: BoardSide) -> AxisMove:
    results = one.results[name], other.results[name]
    was, now = (_figure(result.capability if axis == CAPABILITY else result.eps.get(axis)) for result in results)
    before, after = (_values(axis, result) for result in results)
    if not before or not after:  # a column that only one side has: nothing to split
        return _move(axis, was, now, ())
    everywhere = tuple(axis_reasons(axis, one.suite, other.suite))

    def why(prompt: str) -> tuple[ChangeReason, ...]:
        particular = prompt_reasons(axis, name, prompt, one, other)
        return (*everywhere, *particular)

    return _move(axis, was, now, _prompt_moves(before, after, why))


def _values(axis: str, result: EntryResult) -> dict[str, float]:
    if axis == CAPABILITY:
        return {prompt.prompt: prompt.passed for prompt in result.prompts}
    return {prompt.prompt: prompt.eps[axis] for prompt in result.prompts if axis in prompt.eps}


def _prompt_moves(
    before: Mapping[str, float], after: Mapping[str, float], why: Callable[[str], tuple[ChangeReason, ...]]
) -> tuple[PromptMove, ...]:
    moves = []
    for prompt in dict.fromkeys([*before, *after]):
        was, now = before.get(prompt), after.get(prompt)
        moved = 100 * ((0.0 if now is None else now / len(after)) - (0.0 if was is None else was / len(before)))
        if abs(moved) > _SAME or was != now:
            moves.append(
                PromptMove(prompt=prompt, before=was, after=now, moved=moved, reasons=_told(was, now, prompt, why))
            )
    return tuple(sorted(moves, key=lambda move: (-abs(move.moved), move.prompt)))


def _told(
    was: float | None, now: float | None, prompt: str, why: Callable[[str], tuple[ChangeReason, ...]]
) -> tuple[ChangeReason, ...]:
    if was is None or now is None:
        return (
            ChangeReason(cause="prompts", told=f"the prompt {'is new here' if was is None else 'counts no longer'}"),
        )
    if was == now:
        return (ChangeReason(cause="prompts", told="another number of prompts count"),)
    return why(prompt) or (ChangeReason(cause="unknown", told="nothing that is recorded differs: salon bench verify"),)


def _move(axis: str, before: Estimate | None, after: Estimate | None, prompts: tuple[PromptMove, ...]) -> AxisMove:
    by_cause: dict[str, float] = defaultdict(float)
    for move in prompts:
        by_cause[move.causes] += move.moved
    change = after.value - before.value if before and after else None
    return AxisMove(axis=axis, before=before, after=after, change=change, by_cause=dict(by_cause), prompts=prompts)


def _overall(
    before: EntryResult, after: EntryResult, parts: list[AxisMove], one: BoardSide, other: BoardSide
) -> AxisMove | None:
    """Overall is a weighed sum: its parts are those of the axes in it, and what other weights do."""
    if before.overall is None and after.overall is None:
        return None
    move = _move(OVERALL, _figure(before.overall), _figure(after.overall), ())
    if move.change is None:
        return move
    by_cause: dict[str, float] = defaultdict(float)
    for part in parts:
        weight = _weight(part.axis, other)
        for cause, share in part.by_cause.items() if weight else ():
            by_cause[cause] += weight * share
    rest = move.change - sum(by_cause.values())
    if one.suite.card.weights != other.suite.card.weights and abs(rest) > _SAME:
        by_cause["rule"] += rest
    return move.model_copy(update={"by_cause": dict(by_cause)})


def _weight(axis: str, side: BoardSide) -> float:
    """What an axis weighs in Overall; columns of EPS beside the headline weigh nothing."""
    weights = side.suite.card.weights
    total = sum(weights.values())
    headline = {rule.id for rule in side.suite.card.preferences if rule.headline}
    key = CAPABILITY if axis == CAPABILITY else "eps" if axis in headline else None
    return weights.get(key, 0.0) / total if key else 0.0


def _figure(axis: AxisResult | None) -> Estimate | None:
    return axis.figure if axis else None
