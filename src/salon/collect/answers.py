"""From the answer on a screen to the study's judgments, and whether a known answer was hit.

Regions become a checklist of cells ("1,1" is the top left), true where marked. Key points in free text become a
checklist of the lines written, all true: both are kept and read like any other judgment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from salon.collect.question import Given, Question, Shown
from salon.collect.settings_phase import Phase
from salon.errors import BadValue
from salon.study import Checklist, Choice, Comparison, Criterion, Judgment, Ranking, Rating

MOST_LINES, LONGEST_LINE = 100, 2000


@dataclass(frozen=True)
class Moments:
    """When a screen was shown and answered, in milliseconds since 1970 by the server's clock."""

    started: int
    answered: int

    @property
    def seconds(self) -> float:
        """Time on the screen; 0 where a clock was set back."""
        return max(self.answered - self.started, 0) / 1000

    @property
    def at(self) -> str:
        """When it was answered, ISO 8601 in UTC."""
        return datetime.fromtimestamp(self.answered / 1000, UTC).isoformat(timespec="milliseconds")


def to_judgments(
    shown: Shown,
    given: Given,
    *,
    rater: str,
    moments: Moments,
    criteria: Mapping[str, Criterion],
    phase: Phase | None = None,
) -> list[Judgment]:
    """One judgment for each criterion on the screen, or BadValue naming the criterion and what was expected.

    `phase` says which answers are allowed; without one (the qualification) ties and rationales are not.
    """
    question = shown.question
    _check_criteria(question, given)
    facts: dict[str, Any] = {
        "rater": rater,
        "repeat": int(question.why == "repeat"),
        "rationale": _rationale(given, phase),
        "confidence": given.confidence,
        "seconds": moments.seconds,
        "at": moments.at,
        "skipped": given.skipped,
    }
    make = _MAKERS[question.kind]
    made = []
    for criterion in question.criteria:
        answer = None if given.skipped else given.answers[criterion]
        made.append(make(_Asked(shown, criteria.get(criterion), phase, criterion, facts), answer))
    return made


def is_right(shown: Shown, given: Given) -> bool | None:
    """Whether a known answer was hit on every criterion; None for questions without one. Skipped is not right."""
    q = shown.question
    if q.expected_item is None and q.expected_value is None:
        return None
    if given.skipped:
        return False
    return all(_hits(shown, given.answers.get(criterion)) for criterion in q.expected_for or q.criteria)


def _hits(shown: Shown, answer: Any) -> bool:
    q = shown.question
    if q.expected_value is not None:
        return _is_number(answer) and abs(answer - q.expected_value) <= q.expected_within + 1e-9
    place = shown.place(str(q.expected_item))
    if q.kind == "compare":
        return bool(answer == ("left", "right")[place])
    return bool(answer == place if q.kind == "choose" else answer and answer[0] == [place])


def _check_criteria(question: Question, given: Given) -> None:
    if given.skipped:
        if given.answers:
            raise _bad("an answer or a reason to skip is needed, not both", list(given.answers))
        return
    answered = {criterion for criterion, answer in given.answers.items() if answer is not None}
    if answered != set(question.criteria):
        raise _bad(f"one answer for each of {', '.join(question.criteria)} is needed", list(given.answers))


def _rationale(given: Given, phase: Phase | None) -> str | None:
    wanted = "none" if phase is None else phase.rationale
    text = (given.rationale or "").strip() or None
    if wanted == "required" and text is None and not given.skipped:
        raise _bad("a reason is needed in the box", "nothing")
    if wanted == "none" and text is not None:
        raise _bad("this screen has no box for a reason", text)
    return text


@dataclass(frozen=True)
class _Asked:
    """One criterion of a screen."""

    shown: Shown
    criterion: Criterion | None
    phase: Phase | None
    id: str
    facts: dict[str, Any]

    @property
    def item(self) -> str:
        return self.shown.question.items[0]

    def bad(self, needed: str, found: object) -> BadValue:
        return _bad(f"{self.id}: {needed}", found)


def _compare(asked: _Asked, answer: Any) -> Comparison:
    a, b = asked.shown.question.items
    left = "a" if asked.shown.order[0] == a else "b"
    right = "b" if left == "a" else "a"
    outcomes = {"left": left, "right": right}
    if asked.phase is not None and asked.phase.ties:
        outcomes["tie"] = "tie"
    if asked.phase is not None and asked.phase.both_bad:
        outcomes["both_bad"] = "both_bad"
    if answer is not None and (not isinstance(answer, str) or answer not in outcomes):
        raise asked.bad(f"one of {', '.join(outcomes)} is needed", answer)
    outcome = None if answer is None else outcomes[answer]
    return Comparison(criterion=asked.id, a=a, b=b, left=left, outcome=outcome, **asked.facts)


def _rank(asked: _Asked, answer: Any) -> Ranking:
    if answer is None:
        return Ranking(criterion=asked.id, items=(), ranks=(), **asked.facts)
    tiers = answer if isinstance(answer, list) else []
    places = [place for tier in tiers if isinstance(tier, list) for place in tier]
    if sorted(map(repr, places)) != sorted(map(repr, range(len(asked.shown.order)))) or not all(tiers):
        raise asked.bad("every place of the screen once, in lists from best to worst, is needed", answer)
    if len(places) > len(tiers) and not (asked.phase and asked.phase.ties):
        raise asked.bad("a strict order is needed, without ties", answer)
    ranks, above = [], 0
    for tier in tiers:
        ranks += [above + 1] * len(tier)
        above += len(tier)
    items = tuple(asked.shown.item(place) for place in places)
    return Ranking(criterion=asked.id, items=items, ranks=tuple(ranks), **asked.facts)


def _rate(asked: _Asked, answer: Any) -> Rating:
    if answer is not None:
        if not _is_number(answer):
            raise asked.bad("a number is needed", answer)
        _check_scale(asked, float(answer))
    return Rating(criterion=asked.id, item=asked.item, value=answer, **asked.facts)


def _check_scale(asked: _Asked, value: float) -> None:
    scale = None if asked.criterion is None else asked.criterion.scale
    if scale is None:
        return
    if not scale.low <= value <= scale.high:
        raise asked.bad(f"a value from {scale.low:g} to {scale.high:g} is needed", value)
    if scale.levels and min(abs(value - level) for level in scale.levels) > 1e-6:
        raise asked.bad(f"one of {', '.join(f'{level:g}' for level in scale.levels)} is needed", value)


def _choose(asked: _Asked, answer: Any) -> Choice:
    items = asked.shown.order
    if answer is not None and (type(answer) is not int or not 0 <= answer < len(items)):
        raise asked.bad(f"a place from 0 to {len(items) - 1} is needed", answer)
    chosen = None if answer is None else items[answer]
    return Choice(criterion=asked.id, items=items, chosen=chosen, **asked.facts)


def _checklist(asked: _Asked, answer: Any) -> Checklist:
    points = asked.shown.question.points
    if answer is None:
        return _points(asked, (), ())
    fits = isinstance(answer, list) and len(answer) == len(points)
    if not fits or not all(one is None or type(one) is bool for one in answer):
        raise asked.bad(f"true, false or null for each of {len(points)} points is needed", answer)
    return _points(asked, points, tuple(answer))


def _regions(asked: _Asked, answer: Any) -> Checklist:
    rows, columns = asked.shown.question.grid
    if answer is None:
        return _points(asked, (), ())
    if not isinstance(answer, list) or not all(type(one) is int and 0 <= one < rows * columns for one in answer):
        raise asked.bad(f"numbers of cells from 0 to {rows * columns - 1} are needed", answer)
    cells = tuple(f"{row + 1},{column + 1}" for row in range(rows) for column in range(columns))
    return _points(asked, cells, tuple(cell in answer for cell in range(len(cells))))


def _text(asked: _Asked, answer: Any) -> Checklist:
    if answer is None:
        return _points(asked, (), ())
    lines = [line.strip() for line in answer.splitlines()] if isinstance(answer, str) else []
    points = tuple(dict.fromkeys(line for line in lines if line))
    if not points or len(points) > MOST_LINES or max(map(len, points)) > LONGEST_LINE:
        raise asked.bad(f"1 to {MOST_LINES} lines of at most {LONGEST_LINE:,} characters are needed", answer)
    return _points(asked, points, (True,) * len(points))


def _points(asked: _Asked, points: tuple[str, ...], answers: tuple[bool | None, ...]) -> Checklist:
    return Checklist(criterion=asked.id, item=asked.item, points=points, answers=answers, **asked.facts)


_MAKERS: dict[str, Callable[[_Asked, Any], Judgment]] = {
    "compare": _compare,
    "rank": _rank,
    "rate": _rate,
    "flag": _rate,
    "choose": _choose,
    "checklist": _checklist,
    "regions": _regions,
    "text": _text,
}


def _is_number(answer: Any) -> bool:
    return isinstance(answer, int | float) and not isinstance(answer, bool) and abs(answer) < 1e300


def _bad(needed: str, found: object) -> BadValue:
    return BadValue(needed, found=found, where="the answer", remedy="answer again; nothing was saved")
