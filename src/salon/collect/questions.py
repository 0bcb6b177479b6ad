"""Questions, screens, answers and the judgments they become; least times; rankings by pairs; the interface's sentences.

A `RaterQuestion` knows items by id. A `RaterScreen` fixes where each item stands and under which code-name;
`RaterScreen.screen` is all that a browser gets, and it names no item, no generator and no reason for asking. A
`RawAnswer` speaks of places on the screen only, and `to_judgments` turns it back into the study's nouns. Regions become
a checklist of cells ("1,1" is the top left), true where marked. Key points in free text become a checklist of the
lines, all true.

Least times. Only the server's clock decides: when it sent the screen, when it heard "I'm ready", when the answer came.
If that clock was set back to before the screen was sent, the time on the screen is unknown and the answer is accepted:
otherwise one hour back would lock every open screen for an hour.

Merge ranking. Items are inserted one after the other into the order so far, by halves: at most 5 questions for 4 items
(6 would be all pairs), 8 for 5 and, in general, the sum of ceil(log2(k)) for k = 2 ... p. Answers cannot contradict
each other, so no intransitive triple can be seen: the study's design is `merge_ranking`. "Equally good" puts an item
into the rank of the other, where ties are allowed.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib import resources
from typing import Any, Literal, Self

from pydantic import Field, JsonValue, model_validator

from salon.collect.settings import SEVERAL_ITEMS, Phase, ScreenKind, Times
from salon.errors import BadValue, UnknownReference
from salon.study import Checklist, Choice, Comparison, Criterion, Judgment, Noun, Part, Ranking, Rating, Skipped

Why = Literal["ordinary", "repeat", "gold", "attention", "qualification"]

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Code-names are consonants: they spell nothing and suggest no order."""


class RaterQuestion(Noun):
    """What one rater is asked on one screen."""

    kind: ScreenKind
    cohort: str
    phase: str
    """Id of the phase; "" in the qualification."""
    criteria: tuple[str, ...] = Field(min_length=1)
    items: tuple[str, ...] = Field(min_length=1)
    prompt: str | None = None
    view: tuple[Part, ...] = ()
    why: Why = "ordinary"
    repeat_of: int | None = None
    """Position of the same question when it was asked first."""
    points: tuple[str, ...] = ()
    grid: tuple[int, int] = (3, 3)
    expected_item: str | None = None
    """Gold and attention: the item that must be picked."""
    expected_value: float | None = None
    expected_within: float = 0.0
    expected_for: tuple[str, ...] = ()
    """The criteria whose answer is known; none named: all on the screen."""

    @model_validator(mode="after")
    def _has_items_to_show(self) -> Self:
        several = self.kind in SEVERAL_ITEMS
        if len(set(self.items)) != len(self.items) or (len(self.items) > 1) != several:
            raise ValueError(f"{self.kind} shows {'several different items' if several else 'one item'}")
        if self.kind == "compare" and len(self.items) != 2:
            raise ValueError("compare shows two items")
        if self.expected_item is not None and self.expected_item not in self.items:
            raise ValueError("the item expected must be on the screen")
        return self

    @property
    def counts(self) -> bool:
        """Whether its answer is part of the study; gold, attention and qualification only tell about the rater."""
        return self.why in ("ordinary", "repeat")

    @cached_property
    def key(self) -> str:
        """The same for all raters who are asked the same: cohort, phase, criteria and items, whatever their order."""
        return question_key(self.cohort, self.phase, self.criteria, self.items)


class RaterScreen(Noun):
    """A question on a screen."""

    question: RaterQuestion
    order: tuple[str, ...]
    """Items by place: left to right, or top to bottom."""
    code_names: tuple[str, ...]
    """One for each place; new ones on every screen, so that a repeat is not recognised by its name."""

    @model_validator(mode="after")
    def _shows_the_question(self) -> Self:
        if sorted(self.order) != sorted(self.question.items) or len(self.code_names) != len(self.order):
            raise ValueError("a screen shows the question's items, each under one code-name")
        return self

    def place(self, item: str) -> int:
        """Where `item` stands, counted from 0."""
        return self.order.index(item)

    def item(self, place: int) -> str:
        """The item at `place`."""
        if not 0 <= place < len(self.order):
            raise BadValue(f"a place from 0 to {len(self.order) - 1} is needed", found=place, where="the answer")
        return self.order[place]

    def screen(self) -> dict[str, Any]:
        """What a browser may know. An attention check says which answer to give; gold looks like any question."""
        q = self.question
        record: dict[str, Any] = {
            "kind": q.kind,
            "criteria": list(q.criteria),
            "code_names": list(self.code_names),
            "points": list(q.points),
            "grid": list(q.grid),
        }
        if q.why == "attention":
            record["instructed"] = q.expected_value if q.expected_item is None else self.place(q.expected_item)
        return record


class RawAnswer(Noun):
    """A raw answer: by criterion, in terms of places on the screen. Or a reason why there is none.

    compare: "left", "right", "tie" or "both_bad". rank: lists of places, best first, a list for each rank.
    rate and flag: a number. choose: a place. checklist: true, false or null for each point.
    regions: numbers of the marked cells, row by row from 0. text: lines, one key point each.
    """

    answers: dict[str, JsonValue] = Field(default_factory=dict)
    skipped: Skipped | None = None
    rationale: str | None = Field(None, max_length=10_000)
    confidence: float | None = Field(None, ge=0, le=1)


def question_key(cohort: str, phase: str, criteria: tuple[str, ...], items: tuple[str, ...]) -> str:
    """16 hex digits; see `RaterQuestion.key`."""
    parts = [cohort, phase, list(criteria), sorted(items)]
    return hashlib.blake2b(json.dumps(parts, ensure_ascii=False).encode(), digest_size=8).hexdigest()


def code_names(places: int, *parts: object) -> tuple[str, ...]:
    """Different names of three letters that depend on `parts` and tell nothing about them."""
    names: list[str] = []
    draw = 0
    while len(names) < places:
        digest = hashlib.blake2b(json.dumps([*map(str, parts), draw]).encode(), digest_size=3).digest()
        name = "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest)
        if name not in names:
            names.append(name)
        draw += 1
    return tuple(names)


# -- from answers to judgments -----------------------------------------------------------------------------------------

MOST_LINES, LONGEST_LINE = 100, 2000


@dataclass(frozen=True)
class ScreenTimes:
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
    screen: RaterScreen,
    raw_answer: RawAnswer,
    *,
    rater: str,
    moments: ScreenTimes,
    criteria: Mapping[str, Criterion],
    phase: Phase | None = None,
) -> list[Judgment]:
    """One judgment for each criterion on the screen, or BadValue naming the criterion and what was expected.

    `phase` says which answers are allowed; without one (the qualification) ties and rationales are not.
    """
    question = screen.question
    _check_criteria(question, raw_answer)
    facts: dict[str, Any] = {
        "rater": rater,
        "repeat": int(question.why == "repeat"),
        "rationale": _rationale(raw_answer, phase),
        "confidence": raw_answer.confidence,
        "seconds": moments.seconds,
        "at": moments.at,
        "skipped": raw_answer.skipped,
    }
    make = _MAKERS[question.kind]
    judgments = []
    for criterion in question.criteria:
        answer = None if raw_answer.skipped else raw_answer.answers[criterion]
        judgments.append(make(_CriterionQuestion(screen, criteria.get(criterion), phase, criterion, facts), answer))
    return judgments


def is_right(screen: RaterScreen, raw_answer: RawAnswer) -> bool | None:
    """Whether a known answer was hit on every criterion; None for questions without one. Skipped is not right."""
    q = screen.question
    if q.expected_item is None and q.expected_value is None:
        return None
    if raw_answer.skipped:
        return False
    return all(_hits(screen, raw_answer.answers.get(criterion)) for criterion in q.expected_for or q.criteria)


def _hits(screen: RaterScreen, answer: Any) -> bool:
    q = screen.question
    if q.expected_value is not None:
        return _is_number(answer) and abs(answer - q.expected_value) <= q.expected_within + 1e-9
    place = screen.place(str(q.expected_item))
    if q.kind == "compare":
        return bool(answer == ("left", "right")[place])
    return bool(answer == place if q.kind == "choose" else answer and answer[0] == [place])


def _check_criteria(question: RaterQuestion, raw_answer: RawAnswer) -> None:
    if raw_answer.skipped:
        if raw_answer.answers:
            raise _bad_answer("an answer or a reason to skip is needed, not both", list(raw_answer.answers))
        return
    answered = {criterion for criterion, answer in raw_answer.answers.items() if answer is not None}
    if answered != set(question.criteria):
        raise _bad_answer(f"one answer for each of {', '.join(question.criteria)} is needed", list(raw_answer.answers))


def _rationale(raw_answer: RawAnswer, phase: Phase | None) -> str | None:
    rule = "none" if phase is None else phase.rationale
    text = (raw_answer.rationale or "").strip() or None
    if rule == "required" and text is None and not raw_answer.skipped:
        raise _bad_answer("a reason is needed in the box", "nothing")
    if rule == "none" and text is not None:
        raise _bad_answer("this screen has no box for a reason", text)
    return text


@dataclass(frozen=True)
class _CriterionQuestion:
    """One criterion of a screen."""

    screen: RaterScreen
    criterion: Criterion | None
    phase: Phase | None
    id: str
    facts: dict[str, Any]

    @property
    def item(self) -> str:
        return self.screen.question.items[0]

    def bad(self, needed: str, value: object) -> BadValue:
        return _bad_answer(f"{self.id}: {needed}", value)


def _to_comparison(question: _CriterionQuestion, answer: Any) -> Comparison:
    a, b = question.screen.question.items
    left = "a" if question.screen.order[0] == a else "b"
    right = "b" if left == "a" else "a"
    outcomes = {"left": left, "right": right}
    if question.phase is not None and question.phase.ties:
        outcomes["tie"] = "tie"
    if question.phase is not None and question.phase.both_bad:
        outcomes["both_bad"] = "both_bad"
    if answer is not None and (not isinstance(answer, str) or answer not in outcomes):
        raise question.bad(f"one of {', '.join(outcomes)} is needed", answer)
    outcome = None if answer is None else outcomes[answer]
    return Comparison(criterion=question.id, a=a, b=b, left=left, outcome=outcome, **question.facts)


def _to_ranking(question: _CriterionQuestion, answer: Any) -> Ranking:
    if answer is None:
        return Ranking(criterion=question.id, items=(), ranks=(), **question.facts)
    tiers = answer if isinstance(answer, list) else []
    places = [place for tier in tiers if isinstance(tier, list) for place in tier]
    if sorted(map(repr, places)) != sorted(map(repr, range(len(question.screen.order)))) or not all(tiers):
        raise question.bad("every place of the screen once, in lists from best to worst, is needed", answer)
    if len(places) > len(tiers) and not (question.phase and question.phase.ties):
        raise question.bad("a strict order is needed, without ties", answer)
    ranks, above = [], 0
    for tier in tiers:
        ranks += [above + 1] * len(tier)
        above += len(tier)
    items = tuple(question.screen.item(place) for place in places)
    return Ranking(criterion=question.id, items=items, ranks=tuple(ranks), **question.facts)


def _to_rating(question: _CriterionQuestion, answer: Any) -> Rating:
    if answer is not None:
        if not _is_number(answer):
            raise question.bad("a number is needed", answer)
        scale = None if question.criterion is None else question.criterion.scale
        if scale is not None and not scale.low <= answer <= scale.high:
            raise question.bad(f"a value from {scale.low:g} to {scale.high:g} is needed", float(answer))
        if scale is not None and scale.levels and min(abs(answer - level) for level in scale.levels) > 1e-6:
            raise question.bad(f"one of {', '.join(f'{level:g}' for level in scale.levels)} is needed", float(answer))
    return Rating(criterion=question.id, item=question.item, value=answer, **question.facts)


def _to_choice(question: _CriterionQuestion, answer: Any) -> Choice:
    items = question.screen.order
    if answer is not None and (type(answer) is not int or not 0 <= answer < len(items)):
        raise question.bad(f"a place from 0 to {len(items) - 1} is needed", answer)
    chosen = None if answer is None else items[answer]
    return Choice(criterion=question.id, items=items, chosen=chosen, **question.facts)


def _to_checklist(question: _CriterionQuestion, answer: Any) -> Checklist:
    points = question.screen.question.points
    if answer is None:
        return _make_checklist(question, (), ())
    fits = isinstance(answer, list) and len(answer) == len(points)
    if not fits or not all(point is None or type(point) is bool for point in answer):
        raise question.bad(f"true, false or null for each of {len(points)} points is needed", answer)
    return _make_checklist(question, points, tuple(answer))


def _regions_to_checklist(question: _CriterionQuestion, answer: Any) -> Checklist:
    rows, columns = question.screen.question.grid
    if answer is None:
        return _make_checklist(question, (), ())
    if not isinstance(answer, list) or not all(
        type(number) is int and 0 <= number < rows * columns for number in answer
    ):
        raise question.bad(f"numbers of cells from 0 to {rows * columns - 1} are needed", answer)
    cells = tuple(f"{row + 1},{column + 1}" for row in range(rows) for column in range(columns))
    return _make_checklist(question, cells, tuple(cell in answer for cell in range(len(cells))))


def _text_to_checklist(question: _CriterionQuestion, answer: Any) -> Checklist:
    if answer is None:
        return _make_checklist(question, (), ())
    lines = [line.strip() for line in answer.splitlines()] if isinstance(answer, str) else []
    points = tuple(dict.fromkeys(line for line in lines if line))
    if not points or len(points) > MOST_LINES or max(map(len, points)) > LONGEST_LINE:
        raise question.bad(f"1 to {MOST_LINES} lines of at most {LONGEST_LINE:,} characters are needed", answer)
    return _make_checklist(question, points, (True,) * len(points))


def _make_checklist(
    question: _CriterionQuestion, points: tuple[str, ...], answers: tuple[bool | None, ...]
) -> Checklist:
    return Checklist(criterion=question.id, item=question.item, points=points, answers=answers, **question.facts)


_MAKERS: dict[str, Callable[[_CriterionQuestion, Any], Judgment]] = {
    "compare": _to_comparison,
    "rank": _to_ranking,
    "rate": _to_rating,
    "flag": _to_rating,
    "choose": _to_choice,
    "checklist": _to_checklist,
    "regions": _regions_to_checklist,
    "text": _text_to_checklist,
}


def _is_number(answer: Any) -> bool:
    return isinstance(answer, int | float) and not isinstance(answer, bool) and abs(answer) < 1e300


def _bad_answer(needed: str, value: object) -> BadValue:
    return BadValue(needed, found=value, where="the answer", remedy="answer again; nothing was saved")


# -- least times -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RemainingWait:
    """The answer came too early; it is not saved."""

    seconds_left: float


def least_seconds(kind: ScreenKind, times: Times) -> float:
    """Least seconds on a screen of this kind."""
    return times.compare if kind in SEVERAL_ITEMS else times.rate


def check_time(
    kind: ScreenKind, *, shown_at: int, ready_at: int | None, answered_at: int, prompt_first: bool, times: Times
) -> RemainingWait | None:
    """None when the answer may be saved. All moments in milliseconds by the server's clock.

    With a prompt screen first, time counts from "I'm ready" or from the end of the countdown, whichever came earlier.
    """
    start = shown_at
    if prompt_first:
        countdown_end = shown_at + round(times.prompt * 1000)
        start = countdown_end if ready_at is None else min(max(ready_at, shown_at), countdown_end)
    return _remaining_wait(shown_at, answered_at, least_seconds(kind, times), start)


def check_pair(*, shown_at: int, answered_at: int, times: Times) -> RemainingWait | None:
    """None when a further pair of a ranking may be answered; it came up when the pair before was answered."""
    return _remaining_wait(shown_at, answered_at, times.compare)


def check_ready(*, shown_at: int, ready_at: int, times: Times) -> RemainingWait | None:
    """None when "I'm ready" may be accepted; the end of the countdown always is."""
    return _remaining_wait(shown_at, ready_at, min(times.ready_after, times.prompt))


def check_guidelines(*, shown_at: int, left_at: int, times: Times) -> RemainingWait | None:
    """None when the guidelines page may be left."""
    return _remaining_wait(shown_at, left_at, times.guidelines)


def break_due(worked_ms: int, break_minutes: float) -> bool:
    """Should a break be suggested after so much work without one?"""
    return worked_ms >= break_minutes * 60_000


def _remaining_wait(shown_at: int, end: int, least: float, start: int | None = None) -> RemainingWait | None:
    """How long is left of `least` seconds, which begin at `start`, or as soon as the screen is shown."""
    left = round(least * 1000) - (end - (shown_at if start is None else start))
    if least <= 0 or left <= 0 or end < shown_at:
        return None
    return RemainingWait(min(left / 1000, least))


# -- rankings by pairs -------------------------------------------------------------------------------------------------

PairAnswer = Literal["first", "second", "tie"]


@dataclass(frozen=True)
class NextPair:
    """Which two places to ask about."""

    first: int
    second: int


@dataclass(frozen=True)
class MergedOrder:
    """The order found: places by rank, best first."""

    tiers: tuple[tuple[int, ...], ...]


def most_questions(items: int) -> int:
    """Questions that are enough for any order of `items` items."""
    return sum(math.ceil(math.log2(k)) for k in range(2, items + 1))


def next_merge_step(items: int, answers: Sequence[PairAnswer]) -> NextPair | MergedOrder:
    """What to ask after `answers`, or the order they settle. Places are 0 ... items - 1, as on the screen."""
    pending = iter(answers)
    tiers: list[list[int]] = [[0]] if items else []
    for place in range(1, items):
        low, high = 0, len(tiers)
        while low < high:
            middle = (low + high) // 2
            pair = NextPair(place, tiers[middle][0])
            answer = next(pending, None)
            if answer is None:
                return pair
            if answer == "tie":
                tiers[middle].append(place)
                break
            low, high = (low, middle) if answer == "first" else (middle + 1, high)
        else:
            tiers.insert(low, [place])
    if next(pending, None) is not None:
        raise BadValue(
            "no more answers than questions are needed", found=f"{len(answers)} answers", where="the ranking"
        )
    return MergedOrder(tuple(map(tuple, tiers)))


# -- sentences of the interface ----------------------------------------------------------------------------------------

_FOLDER = "words"
_ONE_ITEM = ("rate", "flag", "checklist", "regions", "text")
"""Protocols that show one item."""


class Sentences:
    """Sentences of one language: `Words("de")("compare.left")`."""

    def __init__(self, language: str) -> None:
        if language not in languages():
            raise UnknownReference(
                "a language of the interface is needed",
                found=repr(language),
                where="language",
                remedy="one of " + ", ".join(languages()),
            )
        self.language = language
        self._sentences = sentences(language)

    def __call__(self, key: str, **values: object) -> str:
        """The sentence `key` with its placeholders filled in."""
        if key not in self._sentences:
            raise UnknownReference("a key of the interface's sentences is needed", found=repr(key))
        return self._sentences[key].format(**values)


def criterion_question(criterion: Criterion, protocol: str, words: Sentences) -> str:
    """What raters are asked about a criterion: its own question, or the general one of the protocol."""
    own = criterion.rate_question if protocol in _ONE_ITEM else criterion.question
    return own or words(f"{protocol}.{'drag' if protocol == 'rank' else 'which'}")


@cache
def languages() -> tuple[str, ...]:
    """Languages there are sentences for."""
    files = resources.files("salon.collect").joinpath(_FOLDER).iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


@cache
def sentences(language: str) -> dict[str, str]:
    """All sentences of a language by dotted key."""
    text = resources.files("salon.collect").joinpath(_FOLDER, f"{language}.toml").read_text(encoding="utf-8")
    return {f"{part}.{key}": words for part, texts in tomllib.loads(text).items() for key, words in texts.items()}
