"""Least times, kept by the server.

Only the server's own clock decides: when it sent the screen, when it heard "I'm ready", when the answer came in. Where
that clock was set back to before the screen was sent, nobody knows how long it was looked at, and nobody is held up:
else one hour back would lock every open screen for an hour.
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
    return _wait(shown_at, answered_at, least_seconds(kind, times), start)


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


def _wait(shown: int, end: int, least: float, start: int | None = None) -> TooFast | None:
    """How long is left of `least` seconds, which begin at `start`, or as soon as the screen is shown."""
    left = round(least * 1000) - (end - (shown if start is None else start))
    if least <= 0 or left <= 0 or end < shown:
        return None
    return TooFast(min(left / 1000, least))
