"""Replies that cannot be read: how many a run puts up with, and what becomes of them.

A judge that answers in the wrong form would be counted as one that says no to everything. So a run ends as soon as its
share of unreadable answers is sure to be above `most_unread`: nothing of it is written, the replies stay in the store
as evidence, and the error quotes one of them. A stored reply that could not be read is put aside and its question asked
again by the next run, unless `keep_unread`.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol, runtime_checkable

from pydantic import Field

from salon.calls.errors import CallsStopped
from salon.errors import shorten
from salon.judge.messages import KEY
from salon.judge.record import Verdict
from salon.judge.settings import JudgeSettings
from salon.judge.vlm import Conversation
from salon.study.noun import Noun

_QUOTED = 200
"""Characters of a reply that are quoted."""


class UnreadLimits(Noun):
    """What a run does about replies that cannot be read."""

    most_unread: float = Field(
        0.1, ge=0, le=1, description="Stop and write nothing above this share of unreadable answers; 1: never stop."
    )
    keep_unread: bool = Field(False, description="Do not ask again for stored replies that could not be read.")


class TooManyUnread(CallsStopped):
    """More answers cannot be read than the run puts up with."""

    exit_code = 1


@runtime_checkable
class PutsAside(Protocol):
    """A VLM that stores its replies and can put one aside, so that its question is asked again."""

    def put_aside(self, conversation: Conversation, why: str) -> None:
        """Keep the stored reply as evidence, no longer as an answer."""
        ...


class UnreadCount:
    """The unreadable answers of a run that is to give `wanted` verdicts."""

    def __init__(self, judge: str, settings: JudgeSettings, wanted: int, limits: UnreadLimits) -> None:
        self.judge, self.settings, self.wanted, self.limits = judge, settings, wanted, limits
        self._reasons: Counter[str] = Counter()
        self._example = ""

    def add(self, verdicts: list[Verdict]) -> None:
        """Count the verdicts of one reply; TooManyUnread when the share is sure to be above the limit."""
        for verdict in verdicts:
            if verdict.unparsed is not None and verdict.failed in (None, "refused"):
                self._reasons[verdict.failed or verdict.unparsed] += 1
                self._example = self._example or verdict.text or ""
        if self._reasons.total() > self.limits.most_unread * self.wanted:
            raise self._error()

    def _error(self) -> TooManyUnread:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self._reasons.most_common())
        return TooManyUnread(
            f"at most {self.limits.most_unread:.0%} of the {self.wanted:,} answers of {self.judge} may be unreadable; "
            "the run was stopped and nothing of it was written",
            found=f"{self._reasons.total():,} unreadable so far ({reasons}), the first: "
            f"{shorten(repr(self._example), _QUOTED)}",
            where=f"expected {expected_form(self.settings)}",
            remedy="correct the endpoint, the model or its chat template and run again, which asks anew for what could "
            "not be read; --most-unread 1 keeps such a judge as it is",
        )


def expected_form(settings: JudgeSettings) -> str:
    """What a reply must hold to be read."""
    key = KEY[settings.protocol]
    value = " or ".join(f'"{option}"' for option in settings.options) or "a number of the scale"
    if settings.together:
        return f"one JSON object with {value} under the id of each criterion"
    return f'{{"{key}": {value}}}, or a last line with nothing else'


def expects_unread(method: str) -> bool:
    """Whether a VLM of this method (of its signature) is a simulation, whose unreadable answers are asked for."""
    return method.startswith("simulated")
