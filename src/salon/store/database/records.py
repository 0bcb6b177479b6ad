"""What the database gives back, as plain frozen records. Times are milliseconds since 1970."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from salon.errors import BadValue
from salon.study import Judgment
from salon.study.tables import JUDGMENTS, KINDS

KIND_OF = {KINDS[kind].noun: kind for kind in JUDGMENTS}
MOST_CHARACTERS = 1_000_000
"""The longest record a rater may send."""


@dataclass(frozen=True)
class Task:
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
    """A question that is to be put to a rater; see `Task`."""

    position: int
    about: str
    question: dict[str, Any]
    screen: dict[str, Any]
    phase: str = "main"
    at: int = 0
    """When, in milliseconds since 1970."""


@dataclass(frozen=True)
class Answer:
    """Something a rater gave that is no judgment of the study: a text, regions, a screener's answers."""

    kind: str
    record: dict[str, Any]
    criterion: str | None = None
    prompt: str | None = None


@dataclass(frozen=True)
class Saved:
    """A submission that is on the disk."""

    ids: tuple[int, ...]
    repeated: bool
    """True when the same key had been saved before, and nothing was written now."""
    following: Task | None = None
    """The task that was put to the rater with it; None when none was wanted, or another has its place."""


@dataclass(frozen=True)
class Given:
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
class Who:
    """Whom a link stands for."""

    link: int
    role: str
    rater: str | None = None
    status: str | None = None


@dataclass(frozen=True)
class Link:
    """A link without its token, which only its holder knows."""

    number: int
    role: str
    rater: str | None
    created_at: int
    expires_at: int | None
    revoked_at: int | None


@dataclass(frozen=True)
class RaterState:
    """A rater as the studio knows one."""

    number: int
    """What the audit calls the rater: it tells nothing once the rater is erased."""
    id: str
    kind: str
    cohort: str | None
    status: str
    created_at: int


@dataclass(frozen=True)
class Visit:
    """A stretch of time in which a rater was at work."""

    rater: str
    started_at: int
    last_seen_at: int


@dataclass(frozen=True)
class Progress:
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
class Asked:
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


def plain(text: str, *, where: str, most: int = 1000) -> str:
    """`text` if it can stand in a column: not blank, no NUL (PostgreSQL has none), valid UTF-8, not too long."""
    try:
        good = bool(text.strip()) and len(text) <= most and "\x00" not in text and bool(text.encode())
    except UnicodeEncodeError:
        good = False
    if not good:
        raise BadValue(f"a text of 1 to {most:,} characters without NUL is needed", found=ascii(text), where=where)
    return text


def payload_of(judgment: Judgment) -> str:
    """A judgment as one line of JSON, what is not said left out."""
    return judgment.model_dump_json(exclude_defaults=True)
