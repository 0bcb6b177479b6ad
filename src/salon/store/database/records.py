"""What the database takes and gives back, as plain frozen records. Times are milliseconds since 1970.

A study is validated whole when it is read; one wrong answer would spoil every reading after it. So each answer is
checked against the study's criteria, items and groups (`AnswerFrame`) before it is written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from salon.errors import BadValue, UnknownReference, WrongPrompt
from salon.store.database.connection import NotYours
from salon.study import JUDGMENTS, KINDS, Checklist, Choice, Comparison, Criterion, Judgment, Ranking, Rating

if TYPE_CHECKING:
    from salon.store.database.tallies import QuestionHold

KIND_OF = {KINDS[kind].noun: kind for kind in JUDGMENTS}
MOST_CHARACTERS = 1_000_000
"""The longest record a rater may send."""


@dataclass(frozen=True)
class RaterTask:
    """One question put to one rater, and how far it has come."""

    id: int
    rater: str
    position: int
    phase: str
    about: str
    """What is asked, in words of the program's own: the same for everyone who is asked it, once for each rater."""
    question: dict[str, Any]
    screen: dict[str, Any]
    """What stood where: sides, order, code-names."""
    created_at: int
    ready_at: int | None = None
    answered_at: int | None = None


@dataclass(frozen=True)
class NewTask:
    """A question that is to be put to a rater; see `RaterTask`."""

    position: int
    about: str
    question: dict[str, Any]
    screen: dict[str, Any]
    phase: str = "main"
    at: int = 0
    """When, in milliseconds since 1970."""
    reservation: QuestionHold | None = None
    """What must hold for its question; None where anybody may be asked."""


@dataclass(frozen=True)
class OtherAnswer:
    """Something a rater gave that is no judgment of the study: a text, regions, a screener's answers."""

    kind: str
    record: dict[str, Any]
    criterion: str | None = None
    prompt: str | None = None


@dataclass(frozen=True)
class SavedSubmission:
    """A submission that is on the disk."""

    ids: tuple[int, ...]
    repeated: bool
    """True when the same key had been saved before, and nothing was written now."""
    following: RaterTask | None = None
    """The task that was put to the rater with it; None when none was wanted, or another has its place."""


@dataclass(frozen=True)
class StoredAnswer:
    """One stored answer with its circumstances."""

    id: int
    task: int | None
    rater: str
    kind: str
    criterion: str | None
    prompt: str | None
    record: dict[str, Any]
    counted: bool
    started_at: int | None
    answered_at: int | None
    interface: str | None
    client: str | None
    undone: bool


@dataclass(frozen=True)
class LinkHolder:
    """Whom a link stands for."""

    link: int
    role: str
    rater: str | None = None
    status: str | None = None


@dataclass(frozen=True)
class AccessLink:
    """A link without its token, which only its holder knows."""

    number: int
    role: str
    rater: str | None
    created_at: int
    expires_at: int | None
    revoked_at: int | None


@dataclass(frozen=True)
class StoredRater:
    """A rater as the studio knows one."""

    number: int
    """What the audit calls the rater: it tells nothing once the rater is erased."""
    id: str
    kind: str
    cohort: str | None
    status: str
    created_at: int
    turn: int = 0
    """Grows with every change of the rater's tasks."""


@dataclass(frozen=True)
class RaterVisit:
    """A stretch of time in which a rater was at work."""

    rater: str
    started_at: int
    last_seen_at: int


@dataclass(frozen=True)
class JudgmentCount:
    """How many judgments of one criterion a rater gave in one phase."""

    rater: str
    cohort: str | None
    status: str
    phase: str | None
    """None for judgments that came with the study."""
    criterion: str | None
    judgments: int
    last_at: int | None


@dataclass(frozen=True)
class QuestionCount:
    """How often a question was answered, and how often it lies open before a rater."""

    about: str
    answered: int
    open: int


@dataclass(frozen=True)
class AuditLine:
    """Who did what, and when."""

    number: int
    at: int
    who: str
    what: str
    detail: dict[str, Any]


def as_json(value: Any, *, where: str) -> str:
    """`value` as compact JSON text; BadValue for what JSON or UTF-8 cannot hold, or what is too long."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadValue("a record that can be written as JSON is needed", found=error, where=where) from None
    if len(text) > MOST_CHARACTERS:
        raise BadValue(f"a record may have at most {MOST_CHARACTERS:,} characters", found=f"{len(text):,}", where=where)
    return text


def check_text(text: str, *, where: str, most: int = 1000) -> str:
    """`text` if it can stand in a column: not blank, no NUL (PostgreSQL has none), valid UTF-8, not too long."""
    try:
        good = bool(text.strip()) and len(text) <= most and "\x00" not in text and bool(text.encode())
    except UnicodeEncodeError:
        good = False
    if not good:
        raise BadValue(f"a text of 1 to {most:,} characters without NUL is needed", found=ascii(text), where=where)
    return text


def judgment_payload(judgment: Judgment) -> str:
    """A judgment as one line of JSON, what is not said left out."""
    return judgment.model_dump_json(exclude_defaults=True)


# -- which answers are accepted ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerFrame:
    """What judgments may name: criteria, and items with their prompt and the group they are compared within."""

    criteria: dict[str, Criterion]
    prompts: dict[str, str | None]
    groups: dict[str, str | None]
    within: str

    def row(self, answer: Judgment | OtherAnswer, rater: str) -> dict[str, Any]:
        """The columns of one answer of `rater`, or the error that says why it cannot be taken."""
        if isinstance(answer, OtherAnswer):
            return self._other(answer)
        if answer.rater != rater:
            raise NotYours("a judgment of your own is needed", found="one in another rater's name")
        self._check_criterion(answer.criterion)
        items = judged_items(answer)
        self._check_items(items, together=not isinstance(answer, Rating | Checklist))
        if isinstance(answer, Rating) and answer.value is not None:
            _check_scale(self.criteria[answer.criterion], answer.value)
        return {
            "kind": KIND_OF[type(answer)],
            "criterion": answer.criterion,
            "prompt": self.prompts[items[0]] if items else None,
            "payload": judgment_payload(answer),
        }

    def _other(self, answer: OtherAnswer) -> dict[str, Any]:
        if answer.kind in KIND_OF.values():
            raise BadValue("judgments are given as nouns of the study", found=f"a record of kind {answer.kind!r}")
        if answer.criterion is not None:
            self._check_criterion(answer.criterion)
        return {
            "kind": check_text(answer.kind, where="kind", most=40),
            "criterion": answer.criterion,
            "prompt": None if answer.prompt is None else check_text(answer.prompt, where="prompt"),
            "payload": as_json(answer.record, where=f"an answer of kind {answer.kind!r}"),
        }

    def _check_criterion(self, id: str) -> None:
        if id not in self.criteria:
            raise UnknownReference(
                "a criterion of the study is needed", found=repr(id), remedy="one of " + ", ".join(self.criteria)
            )

    def _check_items(self, items: Sequence[str], *, together: bool) -> None:
        for item in items:
            if item not in self.groups:
                raise UnknownReference("an item of the study is needed", found=repr(item))
        groups = {self.groups[item] for item in items}
        if together and (len(groups) > 1 or (None in groups and self.within != "all")):
            raise WrongPrompt(f"items are compared within one {self.within}", found=", ".join(map(repr, items)))


def judged_items(judgment: Judgment) -> tuple[str, ...]:
    """The items a judgment is about."""
    if isinstance(judgment, Comparison):
        return judgment.a, judgment.b
    if isinstance(judgment, Rating | Checklist):
        return (judgment.item,)
    assert isinstance(judgment, Ranking | Choice)
    return judgment.items


def _check_scale(criterion: Criterion, value: float) -> None:
    scale = criterion.scale
    if scale is None:
        return
    steps = 0.0 if scale.step is None else (value - scale.low) / scale.step
    if not scale.low <= value <= scale.high or abs(steps - round(steps)) > 1e-6:
        raise BadValue(
            f"ratings of {criterion.id!r} lie between {scale.low:g} and {scale.high:g}"
            + ("" if scale.step is None else f" in steps of {scale.step:g}"),
            found=f"{value:g}",
        )
