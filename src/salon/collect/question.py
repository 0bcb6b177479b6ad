"""A question, the screen it becomes, the answer given, and the judgments that follow.

A `Question` knows items by id. A `Shown` fixes who stands where and under which code-name; `Shown.screen` is all a
browser gets, and it names no item, no generator and no reason for asking. A `Given` speaks of places on the screen
only, and `answers.to_judgments` turns it back into the study's nouns.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import Field, JsonValue, model_validator

from salon.collect.settings_phase import TOGETHER, Kind
from salon.errors import BadValue
from salon.study.judgment import Skipped
from salon.study.noun import Noun
from salon.study.prompt import Part

Why = Literal["ordinary", "repeat", "gold", "attention", "qualification"]

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Code-names are consonants: they spell nothing and suggest no order."""


class Question(Noun):
    """What one rater is asked on one screen."""

    kind: Kind
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
        several = self.kind in TOGETHER
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


class Shown(Noun):
    """A question on a screen."""

    question: Question
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


class Given(Noun):
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
    """16 hex digits; see `Question.key`."""
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
