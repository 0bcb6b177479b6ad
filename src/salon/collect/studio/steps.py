"""What a studio says back: whom a link stands for, what comes next for a rater, how far everyone is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from salon.collect.assign import Finished, Rest
from salon.collect.merge_ranking import PairAnswer
from salon.collect.question import Shown
from salon.collect.settings_phase import Phase
from salon.errors import InputError
from salon.study import Criterion


@dataclass(frozen=True)
class Person:
    """Whom a link stands for."""

    role: Literal["rater", "owner", "adjudicator"]
    rater: str | None
    link: int
    """Number of the link, by which it can be revoked."""


@dataclass(frozen=True)
class Needs:
    """Something a rater must do before the first question."""

    what: Literal["consent", "screener", "profile", "guidelines"]
    seconds_left: float = 0.0
    """guidelines: how long the rater still has to stay."""
    again: bool = False
    """consent: the rater agreed to an older version."""


@dataclass(frozen=True)
class Trial:
    """Where a rater stands in the qualification."""

    attempt: int
    """1 for the first."""
    before: int | None
    """Right answers of the attempt before."""


@dataclass(frozen=True)
class ShownTask:
    """One screen for one rater, with all that its page tells."""

    id: int
    position: int
    shown: Shown
    stage: Literal["prompt", "question"]
    """prompt: the prompt alone, until its countdown ends or the rater is ready."""
    prompt: str | None
    """The prompt as this rater may see it."""
    criteria: tuple[Criterion, ...]
    phase: Phase | None
    """None in the qualification."""
    prompt_left: float
    """Seconds left of the countdown."""
    ready_left: float
    """Seconds until "I'm ready" is accepted."""
    wait: float
    """Seconds until an answer is accepted; on the prompt screen, counted from its end."""
    done: int
    total: int
    """Questions this rater will probably get, planted ones included."""
    can_undo: bool
    worked_minutes: int | None
    """Minutes of work without a break, when it is time to suggest one."""
    trial: Trial | None
    pairs: tuple[PairAnswer, ...] = ()
    """Ranking pair by pair: the pairs answered so far, on whatever device."""


Step = ShownTask | Rest | Finished | Needs


@dataclass(frozen=True)
class Invitation:
    """A new rater, or a rater's new link."""

    rater: str
    token: str


@dataclass(frozen=True)
class RaterProgress:
    """How far one rater is."""

    rater: str
    cohort: str | None
    status: str
    answered: int
    total: int
    """Questions the rater will probably get."""
    judgments: dict[str, int]
    """By criterion."""
    last_at: int | None
    """When the last answer came, in milliseconds."""
    hours: float


class TooEarly(InputError):
    """Something came before the least time was over; nothing was saved."""

    def __init__(self, seconds_left: float) -> None:
        self.seconds_left = seconds_left
        super().__init__(
            "a little more time on this screen is needed",
            found=f"{seconds_left:.1f} s too early",
            remedy="look a little longer; nothing was saved",
        )
