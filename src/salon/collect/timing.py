"""Least times, kept by the server.

Only the server's own clock decides: when it sent the screen, when it heard "I'm ready", when the answer came in. A
clock that was set back never locks a rater out for longer than the least time itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from salon.collect.settings import Times
from salon.collect.settings_phase import TOGETHER, Kind


@dataclass(frozen=True)
class TooFast:
    """The answer came too early; it is not saved."""

    seconds_left: float


def least_seconds(kind: Kind, times: Times) -> float:
    """Least seconds on a screen of this kind."""
    return times.compare if kind in TOGETHER else times.rate


def check_time(
    kind: Kind, *, shown_at: int, ready_at: int | None, answered_at: int, prompt_first: bool, times: Times
) -> TooFast | None:
    """None when the answer may be saved. All moments in milliseconds by the server's clock.

    With a prompt screen first, time counts from "I'm ready" or from the end of the countdown, whichever came earlier.
    """
    start = shown_at
    if prompt_first:
        counted = shown_at + round(times.prompt * 1000)
        start = counted if ready_at is None else min(max(ready_at, shown_at), counted)
    return _wait(start, answered_at, least_seconds(kind, times))


def check_pair(*, shown_at: int, answered_at: int, times: Times) -> TooFast | None:
    """None when a further pair of a ranking may be answered; it came up when the pair before was answered."""
    return _wait(shown_at, answered_at, times.compare)


def check_ready(*, shown_at: int, ready_at: int, times: Times) -> TooFast | None:
    """None when "I'm ready" may be accepted; the end of the countdown always is."""
    return _wait(shown_at, ready_at, min(times.ready_after, times.prompt))


def check_guidelines(*, shown_at: int, left_at: int, times: Times) -> TooFast | None:
    """None when the guidelines page may be left."""
    return _wait(shown_at, left_at, times.guidelines)


def break_due(worked_ms: int, break_minutes: float) -> bool:
    """Should a break be suggested after so much work without one?"""
    return worked_ms >= break_minutes * 60_000


def _wait(start: int, end: int, least: float) -> TooFast | None:
    left = round(least * 1000) - (end - start)
    if least <= 0 or left <= 0:
        return None
    return TooFast(min(left / 1000, least) if end >= start else least)
