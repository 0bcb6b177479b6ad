"""Compare two boards, or two versions of one: what moved on each axis, by how much, and why.

The change of a mean splits exactly into its prompts: prompt p adds v'(p) / n' - v(p) / n, where v is its value and n
the number of prompts that count, before and after. Each share goes to what differs for that prompt. If several things
differ, they share it.

Only root causes are named. If the picture changed, new answers and scores follow from it; if a point has other words or
other judges, so do the answers to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from salon.bench.entry import AxisResult, Entry, EntryResult, PictureResult
from salon.bench.suite import CAPABILITY, EPS, OVERALL, PreferenceReference, ReferencePoint, Suite
from salon.stats import Estimate
from salon.study import Noun, Route, find_route

Cause = Literal[
    "picture", "answers", "scores", "prompt", "prompts", "points", "routes", "scorer", "reference", "rule", "unknown"
]
_MOST_LISTED = _HASH_DIGITS = 12


class ChangeReason(Noun):
    """One thing that differs."""

    cause: Cause = Field(description="What kind of thing differs.")
    told: str = Field(description="What differs, in one sentence.")
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
    columns = list(dict.fromkeys(rule.id for suite in (before, after) for rule in suite.card.preferences))
    return [
        *_part_changes(before, after),
        *([ChangeReason(cause="routes", told="other routes of judges")] if before.routes != after.routes else []),
        *(reason for axis in (CAPABILITY, *columns) for reason in axis_reasons(axis, before, after)),
        *_reference_changes(columns, before, after),
        *(
            ChangeReason(cause="rule", told=f"{name}: {getattr(before.card, name)} became {getattr(after.card, name)}")
            for name in (
                "weights",
                "interval",
                "level",
                "draws",
                "seed",
            )  # they move no prompt, but intervals or Overall
            if getattr(before.card, name) != getattr(after.card, name)
        ),
    ]


def axis_reasons(axis: str, before: Suite, after: Suite) -> list[ChangeReason]:
    """What differs between two suites in how every prompt counts for an axis: Capability, or a column of EPS."""
    reasons = []
    metric = CAPABILITY if axis == CAPABILITY else EPS
    old, new = (suite.card.metrics.get(metric) for suite in (before, after))
    if old != new:
        reasons.append(ChangeReason(cause="rule", told=f"{metric} is computed by version {new}, before by {old}"))
    if axis == CAPABILITY:
        if before.card.passes != after.card.passes:
            message = f"a picture passes by {after.card.passes!r}, before by {before.card.passes!r}"
            reasons.append(ChangeReason(cause="rule", told=message))
        return reasons
    if before.card.integrate != after.card.integrate:
        now = "integrates" if after.card.integrate else "does not integrate"
        reasons.append(ChangeReason(cause="rule", told=f"EPS now {now} over the scorer's sigma"))
    was, now_reference = _reference(before, axis), _reference(after, axis)
    if was and now_reference and was.signature != now_reference.signature:
        message = f"{axis}: another scorer: {was.signature} became {now_reference.signature}"
        reasons.append(ChangeReason(cause="scorer", told=message))
    return reasons


def _part_changes(old_suite: Suite, new_suite: Suite) -> Iterator[ChangeReason]:
    """Prompts, points and tags that are new, gone or changed."""
    prompts, new_prompts = ({prompt.id: prompt for prompt in suite.prompts} for suite in (old_suite, new_suite))
    points, new_points = ({(p.prompt, p.id): p for p in suite.points} for suite in (old_suite, new_suite))
    tags, new_tags = ({tag.id: tag for tag in suite.tags} for suite in (old_suite, new_suite))
    for ids, what in ((new_prompts.keys() - prompts.keys(), "new"), (prompts.keys() - new_prompts.keys(), "gone")):
        if ids:
            yield ChangeReason(cause="prompts", told=f"{len(ids):,} prompts are {what}: {_listed(ids)}")
    if changed := [id for id in prompts.keys() & new_prompts.keys() if prompts[id] != new_prompts[id]]:
        yield ChangeReason(cause="prompt", told=f"{len(changed):,} prompts read otherwise: {_listed(changed)}")
    for keys, what in (
        (new_points.keys() - points.keys(), "new"),
        (points.keys() - new_points.keys(), "gone"),
        ([key for key in points.keys() & new_points.keys() if points[key] != new_points[key]], "changed"),
    ):
        if keys:
            listed = _listed(key[1] for key in keys)
            yield ChangeReason(cause="points", told=f"{len(keys):,} points are {what}: {listed}")
    if changed := [id for id in tags.keys() | new_tags.keys() if tags.get(id) != new_tags.get(id)]:
        yield ChangeReason(cause="prompts", told=f"{len(changed):,} tags differ: {_listed(changed)}")


def _reference_changes(columns: Iterable[str], old_suite: Suite, new_suite: Suite) -> Iterator[ChangeReason]:
    for column in columns:
        before, after = _reference(old_suite, column), _reference(new_suite, column)
        if (before is None) != (after is None):
            what = "is new" if after else "was taken away"
            yield ChangeReason(cause="reference", told=f"{column}: the reference {what}")
        elif before and after:
            values = {point.prompt: point for point in before.points}
            moved = sum(values.get(point.prompt) != point for point in after.points)
            if moved:
                yield ChangeReason(cause="reference", told=f"{column}: another reference for {moved:,} prompts")


# -- prompts -----------------------------------------------------------------------------------------------------------


def prompt_reasons(axis: str, entry: str, prompt: str, before: BoardSide, after: BoardSide) -> list[ChangeReason]:
    """Why the entry's value of a prompt may differ on an axis: what is particular to this prompt."""
    sides = _PromptSide(entry, prompt, before), _PromptSide(entry, prompt, after)
    axis_changes = _capability_changes(*sides) if axis == CAPABILITY else _eps_changes(axis, *sides)
    return [*_picture_changes(*sides), *axis_changes]


class _PromptSide:
    """One prompt of one entry on one side."""

    def __init__(self, entry: str, prompt: str, side: BoardSide) -> None:
        self.suite, self.id = side.suite, prompt
        self.prompt = next((other for other in side.suite.prompts if other.id == prompt), None)
        self.points = {point.id: point for point in side.suite.points if point.prompt in (None, prompt)}
        self.pictures = {picture.seed: picture for picture in side.entries[entry].pictures if picture.prompt == prompt}
        result = next((result for result in side.results[entry].prompts if result.prompt == prompt), None)
        self.results: dict[int, PictureResult] = {
            picture.seed: picture for picture in (result.pictures if result else ())
        }

    def route(self, point: str) -> Route:
        return find_route(self.points[point], self.suite.routes)

    def reference(self, column: str) -> ReferencePoint | None:
        points = reference.points if (reference := _reference(self.suite, column)) else ()
        return next((point for point in points if point.prompt == self.id), None)

    def hash(self, seed: int) -> str | None:
        picture = self.pictures.get(seed)
        return picture.sha256 if picture else None


def _picture_changes(old_side: _PromptSide, new_side: _PromptSide) -> Iterator[ChangeReason]:
    if old_side.prompt != new_side.prompt:
        yield ChangeReason(cause="prompt", told="the prompt reads otherwise, or has another tag")
    for seed in sorted(old_side.pictures.keys() | new_side.pictures.keys()):
        before, after = old_side.hash(seed), new_side.hash(seed)
        if before == after:
            continue
        if after is None:
            missing = new_side.pictures.get(seed)
            message = f"the picture of seed {seed} is missing: {missing.missing if missing else 'not asked for'}"
        elif before is None:
            message = f"the picture of seed {seed} is there now ({after[:_HASH_DIGITS]})"
        else:
            message = f"another picture of seed {seed}: {before[:_HASH_DIGITS]} became {after[:_HASH_DIGITS]}"
        yield ChangeReason(cause="picture", told=message)


def _capability_changes(old_side: _PromptSide, new_side: _PromptSide) -> Iterator[ChangeReason]:
    """Points, their routes, and answers that changed although the picture, the point and its route did not."""
    for id in sorted(old_side.points.keys() | new_side.points.keys()):
        before, after = old_side.points.get(id), new_side.points.get(id)
        if before != after:
            what = "is gone" if after is None else "is new" if before is None else "is asked otherwise"
            yield ChangeReason(cause="points", told=f"the point {id} {what}")
    for id in sorted(old_side.points.keys() & new_side.points.keys()):
        old, new = old_side.route(id), new_side.route(id)
        if (old.judges, old.rule) != (new.judges, new.rule):
            ways = [f"{', '.join(route.judges)} ({route.rule})" for route in (new, old)]
            yield ChangeReason(cause="routes", told=f"the point {id} goes to {ways[0]}, before to {ways[1]}")
    for seed in _same_pictures(old_side, new_side):
        said, said_now = old_side.results[seed].said, new_side.results[seed].said
        for point in sorted(said.keys() | said_now.keys()):
            if old_side.points.get(point) != new_side.points.get(point) or point not in old_side.points:
                continue
            for judge in old_side.route(point).judges:
                was, now = (replies.get(point, {}).get(judge, "open") for replies in (said, said_now))
                if was != now and judge in new_side.route(point).judges:
                    yield ChangeReason(cause="answers", told=f"{judge} on {point}, seed {seed}: {was} became {now}")


def _eps_changes(column: str, old_side: _PromptSide, new_side: _PromptSide) -> Iterator[ChangeReason]:
    """Whether EPS counts here, the reference, and the scores of pictures that did not change."""
    was, now = (side.prompt is not None and side.suite.tag_of(side.id).eps for side in (old_side, new_side))
    if was != now:
        yield ChangeReason(cause="prompts", told=f"EPS {'counts' if now else 'no longer counts'} here")
    before, after = old_side.reference(column), new_side.reference(column)
    if before != after and before and after:
        yield ChangeReason(cause="reference", told=f"the reference moved from {before.value:.4f} to {after.value:.4f}")
    for seed in _same_pictures(old_side, new_side):
        results = old_side.results[seed], new_side.results[seed]
        old, new = ((result.logits.get(column), result.sigmas.get(column)) for result in results)
        if old != new:
            scores = ["none" if logit is None else f"{logit:.4f}" for logit, _ in (old, new)]
            yield ChangeReason(cause="scores", told=f"seed {seed}: the score {scores[0]} became {scores[1]}")


def _same_pictures(before: _PromptSide, after: _PromptSide) -> list[int]:
    seeds = before.results.keys() & after.results.keys()
    return sorted(seed for seed in seeds if before.hash(seed) == after.hash(seed))


def _reference(suite: Suite, column: str) -> PreferenceReference | None:
    columns = suite.reference.preferences if suite.reference else ()
    return next((reference for reference in columns if reference.id == column), None)


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - _MOST_LISTED:,} more" if len(ordered) > _MOST_LISTED else ""
    return ", ".join(ordered[:_MOST_LISTED]) + more


# -- boards ------------------------------------------------------------------------------------------------------------

FORMAT: Final = "salon.diff/1"
_SAME = 1e-12
What = Literal["identical", "unmoved", "moved", "added", "removed"]


class PromptMove(Noun):
    """What a prompt did to an axis."""

    prompt: str = Field(description="Id of the prompt.")
    before: float | None = Field(description="Its value from 0 to 1; null where it did not count.")
    after: float | None = Field(description="The same on the second board.")
    moved: float = Field(description="What it added to the axis, in points of 100.")
    reasons: tuple[ChangeReason, ...] = Field(description="What differs there.")

    @property
    def causes(self) -> str:
        """The kinds of its reasons, as one word or several."""
        return " + ".join(dict.fromkeys(reason.cause for reason in self.reasons)) or "unknown"


class AxisMove(Noun):
    """One axis of one entry."""

    axis: str = Field(description="capability, the id of a column of EPS, or overall.")
    before: Estimate | None = Field(description="The value on the first board; null where there is none.")
    after: Estimate | None = Field(description="The value on the second.")
    change: float | None = Field(description="After minus before; null where one of them is not known.")
    by_cause: dict[str, float] = Field(description="The change by what caused it; the parts sum to it.")
    prompts: tuple[PromptMove, ...] = Field(description="Those that moved, the largest first.")


class EntryDiff(Noun):
    """One entry on both sides."""

    entry: str = Field(description="Name of the entry.")
    what: What = Field(
        description="identical: the same bytes; unmoved: the same numbers and intervals, made from other data."
    )
    before: str | None = Field(description="complete, provisional, retracted or without a result; null: not there.")
    after: str | None = Field(description="The same on the second board.")
    retracted: str | None = Field(default=None, description="Why it was taken back since.")
    axes: tuple[AxisMove, ...] = Field(default=(), description="Axes that moved.")


class BoardDiff(Noun):
    """Everything that differs between two boards."""

    format: Literal["salon.diff/1"] = Field(default=FORMAT, description="Name and version of this form.")
    before: str = Field(description="The first board.")
    after: str = Field(description="The second one.")
    suites: tuple[str, str] = Field(description="Hashes of the two suites.")
    suite: tuple[ChangeReason, ...] = Field(description="What differs between them; empty for the same suite.")
    entries: tuple[EntryDiff, ...] = Field(description="Every entry of either.")

    def named(self, what: What) -> list[str]:
        """The entries that this can be said of."""
        return [entry.entry for entry in self.entries if entry.what == what]


def board_diff(before: BoardSide, after: BoardSide) -> BoardDiff:
    """What changed from `before` to `after`, entry by entry."""
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
    everywhere = axis_reasons(axis, old_board.suite, new_board.suite)
    moves = []
    for prompt in dict.fromkeys([*before, *after]):
        old, new = before.get(prompt), after.get(prompt)
        moved = 100 * ((0.0 if new is None else new / len(after)) - (0.0 if old is None else old / len(before)))
        if abs(moved) <= _SAME and old == new:
            continue
        if old is None or new is None:
            what = "is new here" if old is None else "counts no longer"
            reasons = [ChangeReason(cause="prompts", told=f"the prompt {what}")]
        elif old == new:
            reasons = [ChangeReason(cause="prompts", told="another number of prompts count")]
        else:
            unknown = ChangeReason(cause="unknown", told="nothing that is recorded differs: salon bench verify")
            reasons = [*everywhere, *prompt_reasons(axis, name, prompt, old_board, new_board)] or [unknown]
        moves.append(PromptMove(prompt=prompt, before=old, after=new, moved=moved, reasons=tuple(reasons)))
    return _move(axis, was, now, tuple(sorted(moves, key=lambda move: (-abs(move.moved), move.prompt))))


def _values(axis: str, result: EntryResult) -> dict[str, float]:
    if axis == CAPABILITY:
        return {prompt.prompt: prompt.passed for prompt in result.prompts}
    return {prompt.prompt: prompt.eps[axis] for prompt in result.prompts if axis in prompt.eps}


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
