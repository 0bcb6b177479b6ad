"""Two boards, or two versions of one: what moved on each axis, by how much, and why.

The change of a mean splits into its prompts without a rest: prompt p adds v'(p) / n' - v(p) / n, where v is its value
and n the number of prompts that count, before and after. Each share goes to what differs for that prompt; where several
things do, they share it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final, Literal

from pydantic import Field

from salon.bench.diff_reasons import Reason, Side, axis_reasons, prompt_reasons, suite_reasons
from salon.bench.results import AxisResult, EntryResult
from salon.bench.suite import CAPABILITY, OVERALL
from salon.stats.result import Estimate
from salon.study.noun import Noun

FORMAT: Final = "salon.diff/1"
_SAME = 1e-12
What = Literal["identical", "unmoved", "moved", "added", "removed"]


class PromptMove(Noun):
    """What a prompt did to an axis."""

    prompt: str
    before: float | None = Field(description="Its value from 0 to 1; null where it did not count.")
    after: float | None
    moved: float = Field(description="What it added to the axis, in points of 100.")
    reasons: tuple[Reason, ...]

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
    suite: tuple[Reason, ...] = Field(description="What differs between them; empty for the same suite.")
    entries: tuple[EntryDiff, ...]

    def named(self, what: What) -> list[str]:
        """The entries that this can be said of."""
        return [entry.entry for entry in self.entries if entry.what == what]


def board_diff(one: Side, other: Side) -> BoardDiff:
    """`other` as seen from `one`, entry by entry."""
    names = dict.fromkeys([*one.entries, *other.entries])
    return BoardDiff(
        before=one.label,
        after=other.label,
        suites=(one.suite.hash, other.suite.hash),
        suite=tuple(suite_reasons(one.suite, other.suite)) if one.suite.hash != other.suite.hash else (),
        entries=tuple(_entry(name, one, other) for name in names),
    )


def _entry(name: str, one: Side, other: Side) -> EntryDiff:
    before, after = _standing(name, one), _standing(name, other)
    taken_back = other.entries[name].retracted if name in other.entries and before != after else None
    told = {"entry": name, "before": before, "after": after, "retracted": taken_back.reason if taken_back else None}
    if before is None or after is None:
        return EntryDiff(**told, what="added" if before is None else "removed")
    axes = _axes(name, one, other) if name in one.results and name in other.results else ()
    return EntryDiff(**told, what=_what(name, axes, one, other), axes=axes)


def _standing(name: str, side: Side) -> str | None:
    if name not in side.entries:
        return None
    if side.entries[name].retracted:
        return "retracted"
    return side.results[name].status if name in side.results else "without a result"


def _what(name: str, axes: tuple[AxisMove, ...], one: Side, other: Side) -> What:
    before, after = one.results.get(name), other.results.get(name)
    if before is None or after is None:
        return "identical" if before is after else "moved"
    if before.model_dump_json() == after.model_dump_json():
        return "identical"
    still = all(axis.before == axis.after and not axis.prompts for axis in axes)
    return "unmoved" if still else "moved"


# -- axes --------------------------------------------------------------------------------------------------------------


def _axes(name: str, one: Side, other: Side) -> tuple[AxisMove, ...]:
    before, after = one.results[name], other.results[name]
    columns = list(dict.fromkeys([*before.eps, *after.eps]))
    parts = [_axis(axis, name, one, other) for axis in (CAPABILITY, *columns)]
    overall = _overall(before, after, parts, one, other)
    return (*parts, *([overall] if overall else []))


def _axis(axis: str, name: str, one: Side, other: Side) -> AxisMove:
    results = one.results[name], other.results[name]
    was, now = (_figure(result.capability if axis == CAPABILITY else result.eps.get(axis)) for result in results)
    before, after = (_values(axis, result) for result in results)
    if not before or not after:  # a column that only one side has: nothing to split
        return _move(axis, was, now, ())
    everywhere = tuple(axis_reasons(axis, one.suite, other.suite))

    def why(prompt: str) -> tuple[Reason, ...]:
        particular = prompt_reasons(axis, name, prompt, one, other)
        return (*everywhere, *particular)

    return _move(axis, was, now, _prompt_moves(before, after, why))


def _values(axis: str, result: EntryResult) -> dict[str, float]:
    if axis == CAPABILITY:
        return {prompt.prompt: prompt.passed for prompt in result.prompts}
    return {prompt.prompt: prompt.eps[axis] for prompt in result.prompts if axis in prompt.eps}


def _prompt_moves(
    before: Mapping[str, float], after: Mapping[str, float], why: Callable[[str], tuple[Reason, ...]]
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
    was: float | None, now: float | None, prompt: str, why: Callable[[str], tuple[Reason, ...]]
) -> tuple[Reason, ...]:
    if was is None or now is None:
        return (Reason(cause="prompts", told=f"the prompt {'is new here' if was is None else 'counts no longer'}"),)
    if was == now:
        return (Reason(cause="prompts", told="another number of prompts count"),)
    return why(prompt) or (Reason(cause="unknown", told="nothing that is recorded differs: salon bench verify"),)


def _move(axis: str, before: Estimate | None, after: Estimate | None, prompts: tuple[PromptMove, ...]) -> AxisMove:
    by_cause: dict[str, float] = defaultdict(float)
    for move in prompts:
        by_cause[move.causes] += move.moved
    change = after.value - before.value if before and after else None
    return AxisMove(axis=axis, before=before, after=after, change=change, by_cause=dict(by_cause), prompts=prompts)


def _overall(before: EntryResult, after: EntryResult, parts: list[AxisMove], one: Side, other: Side) -> AxisMove | None:
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


def _weight(axis: str, side: Side) -> float:
    """What an axis weighs in Overall; columns of EPS beside the headline weigh nothing."""
    weights = side.suite.card.weights
    total = sum(weights.values())
    headline = {rule.id for rule in side.suite.card.preferences if rule.headline}
    key = CAPABILITY if axis == CAPABILITY else "eps" if axis in headline else None
    return weights.get(key, 0.0) / total if key else 0.0


def _figure(axis: AxisResult | None) -> Estimate | None:
    return axis.figure if axis else None
