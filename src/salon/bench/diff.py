"""Compare two boards, or two versions of one: what moved on each axis, by how much, and why.

The change of a mean splits exactly into its prompts: prompt p adds v'(p) / n' - v(p) / n, where v is its value and n
the number of prompts that count, before and after. Each share goes to what differs for that prompt. If several things
differ, they share it.

Only root causes are named. If the picture changed, new answers and scores follow from it; if a point has other words or
other judges, so do the answers to it.
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
_MOST_LISTED = 12


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


def suite_reasons(before: Suite, after: Suite) -> list[ChangeReason]:
    """What differs between two suites, a sentence each; nothing for suites with the same hash."""
    return [
        *_prompt_lists(before, after),
        *_point_lists(before, after),
        *_tags(before, after),
        *([ChangeReason(cause="routes", told="other routes of judges")] if before.routes != after.routes else []),
        *axis_reasons(CAPABILITY, before, after),
        *(reason for column in _columns(before, after) for reason in axis_reasons(column, before, after)),
        *_references(before, after),
        *_reported(before, after),
    ]


def axis_reasons(axis: str, before: Suite, after: Suite) -> list[ChangeReason]:
    """What differs between two suites in how every prompt counts for an axis: Capability, or a column of EPS."""
    return [*_rules(axis, before, after), *(_scorers(axis, before, after) if axis != CAPABILITY else ())]


def _rules(axis: str, before: Suite, after: Suite) -> Iterator[ChangeReason]:
    metric = CAPABILITY if axis == CAPABILITY else EPS
    versions = [suite.card.metrics.get(metric) for suite in (before, after)]
    if versions[0] != versions[1]:
        yield ChangeReason(cause="rule", told=f"{metric} is computed by version {versions[1]}, before by {versions[0]}")
    if axis == CAPABILITY and before.card.passes != after.card.passes:
        yield ChangeReason(
            cause="rule", told=f"a picture passes by {after.card.passes!r}, before by {before.card.passes!r}"
        )
    if axis != CAPABILITY and before.card.integrate != after.card.integrate:
        now = "integrates" if after.card.integrate else "does not integrate"
        yield ChangeReason(cause="rule", told=f"EPS now {now} over the scorer's sigma")


def _scorers(column: str, old_suite: Suite, new_suite: Suite) -> Iterator[ChangeReason]:
    before, after = _reference(old_suite, column), _reference(new_suite, column)
    if before and after and before.signature != after.signature:
        yield ChangeReason(
            cause="scorer", told=f"{column}: another scorer: {before.signature} became {after.signature}"
        )


def _references(old_suite: Suite, new_suite: Suite) -> Iterator[ChangeReason]:
    for column in _columns(old_suite, new_suite):
        before, after = _reference(old_suite, column), _reference(new_suite, column)
        if (before is None) != (after is None):
            yield ChangeReason(
                cause="reference", told=f"{column}: the reference {'is new' if after else 'was taken away'}"
            )
        elif before and after:
            values = {point.prompt: point for point in before.points}
            moved = sum(values.get(point.prompt) != point for point in after.points)
            if moved:
                yield ChangeReason(cause="reference", told=f"{column}: another reference for {moved:,} prompts")


def _reported(old_suite: Suite, new_suite: Suite) -> Iterator[ChangeReason]:
    """Settings that move no prompt, but intervals or Overall."""
    for name in ("weights", "interval", "level", "draws", "seed"):
        before, after = getattr(old_suite.card, name), getattr(new_suite.card, name)
        if before != after:
            yield ChangeReason(cause="rule", told=f"{name}: {before} became {after}")


def _prompt_lists(old_suite: Suite, new_suite: Suite) -> Iterator[ChangeReason]:
    before, after = ({prompt.prompt.id: prompt for prompt in suite.prompts} for suite in (old_suite, new_suite))
    for ids, what in ((after.keys() - before.keys(), "new"), (before.keys() - after.keys(), "gone")):
        if ids:
            yield ChangeReason(cause="prompts", told=f"{len(ids):,} prompts are {what}: {_listed(ids)}")
    changed = [id for id in before.keys() & after.keys() if before[id] != after[id]]
    if changed:
        yield ChangeReason(cause="prompt", told=f"{len(changed):,} prompts read otherwise: {_listed(changed)}")


def _point_lists(old_suite: Suite, new_suite: Suite) -> Iterator[ChangeReason]:
    before, after = ({(point.prompt, point.id): point for point in suite.points} for suite in (old_suite, new_suite))
    for keys, what in (
        (after.keys() - before.keys(), "new"),
        (before.keys() - after.keys(), "gone"),
        ([key for key in before.keys() & after.keys() if before[key] != after[key]], "changed"),
    ):
        if keys:
            yield ChangeReason(
                cause="points", told=f"{len(keys):,} points are {what}: {_listed(key[1] for key in keys)}"
            )


def _tags(old_suite: Suite, new_suite: Suite) -> Iterator[ChangeReason]:
    before, after = ({tag.id: tag for tag in suite.tags} for suite in (old_suite, new_suite))
    changed = [id for id in before.keys() | after.keys() if before.get(id) != after.get(id)]
    if changed:
        yield ChangeReason(cause="prompts", told=f"{len(changed):,} tags differ: {_listed(changed)}")


# -- prompts -----------------------------------------------------------------------------------------------------------


def prompt_reasons(axis: str, entry: str, prompt: str, before: BoardSide, after: BoardSide) -> list[ChangeReason]:
    """Why the entry's value of a prompt may differ on an axis: what is particular to this prompt."""
    sides = _PromptSide(entry, prompt, before), _PromptSide(entry, prompt, after)
    reasons = [*_words(*sides), *_pictures(*sides)]
    if axis == CAPABILITY:
        return [*reasons, *_points(*sides), *_routes(*sides), *_answers(*sides)]
    return [*reasons, *_eligible(*sides), *_reference_moved(axis, *sides), *_scores(axis, *sides)]


class _PromptSide:
    """One prompt of one entry on one side."""

    def __init__(self, entry: str, prompt: str, side: BoardSide) -> None:
        self.suite, self.id = side.suite, prompt
        self.prompt = next((candidate for candidate in side.suite.prompts if candidate.prompt.id == prompt), None)
        self.points: dict[str, Point] = {
            candidate.id: candidate for candidate in side.suite.points if candidate.prompt in (None, prompt)
        }
        self.pictures: dict[int, EntryPicture] = {
            candidate.seed: candidate for candidate in side.entries[entry].pictures if candidate.prompt == prompt
        }
        result = next((candidate for candidate in side.results[entry].prompts if candidate.prompt == prompt), None)
        self.results: dict[int, PictureResult] = {
            candidate.seed: candidate for candidate in (result.pictures if result else ())
        }

    def route(self, point: str) -> Route:
        return find_route(self.points[point], self.suite.routes)

    def reference(self, column: str) -> ReferencePoint | None:
        column_reference = _reference(self.suite, column)
        return (
            next(
                (reference_point for reference_point in column_reference.points if reference_point.prompt == self.id),
                None,
            )
            if column_reference
            else None
        )


def _words(before: _PromptSide, after: _PromptSide) -> Iterator[ChangeReason]:
    if before.prompt != after.prompt:
        yield ChangeReason(cause="prompt", told="the prompt reads otherwise, or has another tag")


def _pictures(old_side: _PromptSide, new_side: _PromptSide) -> Iterator[ChangeReason]:
    for seed in sorted(old_side.pictures.keys() | new_side.pictures.keys()):
        before, after = _hash(old_side, seed), _hash(new_side, seed)
        if before == after:
            continue
        if after is None:
            missing = new_side.pictures.get(seed)
            message = f"the picture of seed {seed} is missing: {missing.missing if missing else 'not asked for'}"
        elif before is None:
            message = f"the picture of seed {seed} is there now ({after[:_MOST_LISTED]})"
        else:
            message = f"another picture of seed {seed}: {before[:_MOST_LISTED]} became {after[:_MOST_LISTED]}"
        yield ChangeReason(cause="picture", told=message)


def _points(old_side: _PromptSide, new_side: _PromptSide) -> Iterator[ChangeReason]:
    for id in sorted(old_side.points.keys() | new_side.points.keys()):
        before, after = old_side.points.get(id), new_side.points.get(id)
        if before != after:
            what = "is gone" if after is None else "is new" if before is None else "is asked otherwise"
            yield ChangeReason(cause="points", told=f"the point {id} {what}")


def _routes(old_side: _PromptSide, new_side: _PromptSide) -> Iterator[ChangeReason]:
    for id in sorted(old_side.points.keys() & new_side.points.keys()):
        before, after = old_side.route(id), new_side.route(id)
        if (before.judges, before.rule) != (after.judges, after.rule):
            message = f"the point {id} goes to {_way(after)}, before to {_way(before)}"
            yield ChangeReason(cause="routes", told=message)


def _answers(old_side: _PromptSide, new_side: _PromptSide) -> Iterator[ChangeReason]:
    """Answers that changed although the picture, the point and its route did not."""
    for seed in _same_pictures(old_side, new_side):
        before, after = old_side.results[seed].said, new_side.results[seed].said
        for point in sorted(before.keys() | after.keys()):
            if old_side.points.get(point) != new_side.points.get(point) or point not in old_side.points:
                continue
            for judge in old_side.route(point).judges:
                replies = [side.get(point, {}).get(judge, "open") for side in (before, after)]
                if replies[0] != replies[1] and judge in new_side.route(point).judges:
                    yield ChangeReason(
                        cause="answers", told=f"{judge} on {point}, seed {seed}: {replies[0]} became {replies[1]}"
                    )


def _eligible(before: _PromptSide, after: _PromptSide) -> Iterator[ChangeReason]:
    counts = [side.prompt is not None and side.suite.tag_of(side.id).eps for side in (before, after)]
    if counts[0] != counts[1]:
        yield ChangeReason(cause="prompts", told=f"EPS {'counts' if counts[1] else 'no longer counts'} here")


def _reference_moved(column: str, old_side: _PromptSide, new_side: _PromptSide) -> Iterator[ChangeReason]:
    before, after = old_side.reference(column), new_side.reference(column)
    if before != after and before and after:
        yield ChangeReason(cause="reference", told=f"the reference moved from {before.value:.4f} to {after.value:.4f}")


def _scores(column: str, old_side: _PromptSide, new_side: _PromptSide) -> Iterator[ChangeReason]:
    for seed in _same_pictures(old_side, new_side):
        before, after = (
            (side.results[seed].logits.get(column), side.results[seed].sigmas.get(column))
            for side in (old_side, new_side)
        )
        if before != after:
            message = f"seed {seed}: the score {_number(before[0])} became {_number(after[0])}"
            yield ChangeReason(cause="scores", told=message)


def _same_pictures(before: _PromptSide, after: _PromptSide) -> list[int]:
    seeds = before.results.keys() & after.results.keys()
    return sorted(seed for seed in seeds if _hash(before, seed) == _hash(after, seed))


def _hash(side: _PromptSide, seed: int) -> str | None:
    picture = side.pictures.get(seed)
    return picture.sha256 if picture else None


def _reference(suite: Suite, column: str) -> PreferenceReference | None:
    return (
        next((candidate for candidate in suite.reference.preferences if candidate.id == column), None)
        if suite.reference
        else None
    )


def _columns(before: Suite, after: Suite) -> list[str]:
    return list(dict.fromkeys(rule.id for suite in (before, after) for rule in suite.card.preferences))


def _way(route: Route) -> str:
    return f"{', '.join(route.judges)} ({route.rule})"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:_MOST_LISTED]) + (
        f" and {len(ordered) - _MOST_LISTED:,} more" if len(ordered) > _MOST_LISTED else ""
    )


# -- boards ------------------------------------------------------------------------------------------------------------

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


def board_diff(before: BoardSide, after: BoardSide) -> BoardDiff:
    """`other` as seen from `one`, entry by entry."""
    names = dict.fromkeys([*before.entries, *after.entries])
    return BoardDiff(
        before=before.label,
        after=after.label,
        suites=(before.suite.hash, after.suite.hash),
        suite=tuple(suite_reasons(before.suite, after.suite)) if before.suite.hash != after.suite.hash else (),
        entries=tuple(_entry(name, before, after) for name in names),
    )


def _entry(name: str, old_board: BoardSide, new_board: BoardSide) -> EntryDiff:
    before, after = _standing(name, old_board), _standing(name, new_board)
    taken_back = new_board.entries[name].retracted if name in new_board.entries and before != after else None
    fields = {"entry": name, "before": before, "after": after, "retracted": taken_back.reason if taken_back else None}
    if before is None or after is None:
        return EntryDiff(**fields, what="added" if before is None else "removed")
    axes = _axes(name, old_board, new_board) if name in old_board.results and name in new_board.results else ()
    return EntryDiff(**fields, what=_what(name, axes, old_board, new_board), axes=axes)


def _standing(name: str, side: BoardSide) -> str | None:
    if name not in side.entries:
        return None
    if side.entries[name].retracted:
        return "retracted"
    return side.results[name].status if name in side.results else "without a result"


def _what(name: str, axes: tuple[AxisMove, ...], old_board: BoardSide, new_board: BoardSide) -> What:
    before, after = old_board.results.get(name), new_board.results.get(name)
    if before is None or after is None:
        return "identical" if before is after else "moved"
    if before.model_dump_json() == after.model_dump_json():
        return "identical"
    still = all(axis.before == axis.after and not axis.prompts for axis in axes)
    return "unmoved" if still else "moved"


# -- axes --------------------------------------------------------------------------------------------------------------


def _axes(name: str, old_board: BoardSide, new_board: BoardSide) -> tuple[AxisMove, ...]:
    before, after = old_board.results[name], new_board.results[name]
    columns = list(dict.fromkeys([*before.eps, *after.eps]))
    parts = [_axis(axis, name, old_board, new_board) for axis in (CAPABILITY, *columns)]
    overall = _overall(before, after, parts, old_board, new_board)
    return (*parts, *([overall] if overall else []))


def _axis(axis: str, name: str, old_board: BoardSide, new_board: BoardSide) -> AxisMove:
    results = old_board.results[name], new_board.results[name]
    was, now = (_figure(result.capability if axis == CAPABILITY else result.eps.get(axis)) for result in results)
    before, after = (_values(axis, result) for result in results)
    if not before or not after:  # a column that only one side has: nothing to split
        return _move(axis, was, now, ())
    everywhere = tuple(axis_reasons(axis, old_board.suite, new_board.suite))

    def why(prompt: str) -> tuple[ChangeReason, ...]:
        particular = prompt_reasons(axis, name, prompt, old_board, new_board)
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
    before: EntryResult, after: EntryResult, parts: list[AxisMove], old_board: BoardSide, new_board: BoardSide
) -> AxisMove | None:
    """Overall is a weighed sum: its parts are those of the axes in it, and what other weights do."""
    if before.overall is None and after.overall is None:
        return None
    move = _move(OVERALL, _figure(before.overall), _figure(after.overall), ())
    if move.change is None:
        return move
    by_cause: dict[str, float] = defaultdict(float)
    for part in parts:
        weight = _weight(part.axis, new_board)
        for cause, share in part.by_cause.items() if weight else ():
            by_cause[cause] += weight * share
    rest = move.change - sum(by_cause.values())
    if old_board.suite.card.weights != new_board.suite.card.weights and abs(rest) > _SAME:
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
