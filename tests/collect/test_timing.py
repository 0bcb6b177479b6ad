"""Least times by the server's clock."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from salon.collect.questions import RemainingWait, break_due, check_guidelines, check_pair, check_ready, check_time
from salon.collect.settings import Times

TIMES = Times(guidelines=10, prompt=20, compare=10, rate=5)


def wait(kind: str, answered: float, *, ready: float | None = None, prompt: bool = False, shown: float = 100):
    moments = {"shown_at": round(shown * 1000), "answered_at": round(answered * 1000)}
    at = None if ready is None else round(ready * 1000)
    return check_time(kind, ready_at=at, prompt_first=prompt, times=TIMES, **moments)


@pytest.mark.parametrize(
    ("kind", "answered", "ready", "prompt", "left"),
    [
        ("compare", 110, None, False, None),
        ("compare", 109.5, None, False, 0.5),
        ("rate", 105, None, False, None),
        ("rate", 104, None, False, 1.0),
        ("rank", 106, None, False, 4.0),
        ("compare", 112, 103, True, 1.0),  # ready after 3 s: from 103
        ("compare", 113, 103, True, None),
        ("compare", 125, None, True, 5.0),  # never ready: the countdown ends at 120
        ("compare", 130, 150, True, None),  # ready after the countdown counts from its end
        ("compare", 109, 50, True, 1.0),  # ready before it was shown: a forged or skewed moment
    ],
)
def test_least_times(kind: str, answered: float, ready: float | None, prompt: bool, left: float | None) -> None:
    assert wait(kind, answered, ready=ready, prompt=prompt) == (None if left is None else RemainingWait(left))


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_nobody_waits_longer_than_the_least_time(shown: float, answered: float) -> None:
    found = wait("compare", answered, shown=shown)
    assert found is None or 0 < found.seconds_left <= TIMES.compare
    assert (found is None) == (not 0 <= round(answered * 1000) - round(shown * 1000) < 10_000)


@pytest.mark.parametrize("back", [1, 3_600_000])
def test_a_clock_that_was_set_back_holds_nobody_up(back: int) -> None:
    slow = Times(prompt=20, ready_after=5, compare=10, rate=5, guidelines=10)
    assert check_pair(shown_at=back, answered_at=0, times=slow) is None
    assert check_ready(shown_at=back, ready_at=0, times=slow) is None
    assert check_guidelines(shown_at=back, left_at=0, times=slow) is None
    for prompt_first in (False, True):
        for ready in (None, back + 6_000):
            moments = {"shown_at": back, "ready_at": ready, "answered_at": 0}
            assert check_time("compare", **moments, prompt_first=prompt_first, times=slow) is None
    reading = {"shown_at": 0, "ready_at": None, "answered_at": 19_000}
    assert check_time("compare", **reading, prompt_first=True, times=slow) == RemainingWait(10.0), (
        "the prompt is not over"
    )


def test_the_guidelines_and_the_ready_button() -> None:
    assert check_guidelines(shown_at=0, left_at=4_000, times=TIMES) == RemainingWait(6.0)
    assert check_guidelines(shown_at=0, left_at=10_000, times=TIMES) is None
    assert check_ready(shown_at=0, ready_at=0, times=TIMES) is None
    assert check_ready(shown_at=0, ready_at=1_000, times=Times(ready_after=5)) == RemainingWait(4.0)


def test_a_break_is_suggested_after_the_time_set() -> None:
    assert not break_due(44 * 60_000, 45)
    assert break_due(45 * 60_000, 45)
