"""Hours and pay."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given, strategies as st

from salon.collect.settings import Pay
from salon.collect.studio.owner_side import payment, worked_ms
from salon.store import RaterVisit

MINUTE = 60_000


def test_by_hand() -> None:
    """90 minutes at 90 an hour, 120 answers at 0.05, 20 for finishing: 135 + 6 + 20."""
    visits = [RaterVisit("r", 0, 60 * MINUTE), RaterVisit("r", 100 * MINUTE, 130 * MINUTE)]
    pay = Pay(per_hour=90, per_answer=0.05, flat=20)
    assert payment(visits, 120, finished=True, pay=pay).amount == Decimal("161.00")
    unfinished = payment(visits, 120, finished=False, pay=pay)
    assert (unfinished.amount, unfinished.hours, unfinished.currency) == (Decimal("141.00"), 1.5, "USD")
    assert payment([], 0, finished=False, pay=Pay()).amount == 0


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=8))
def test_two_devices_at_once_count_once(spans: list[tuple[int, int]]) -> None:
    """By definition: minutes covered by at least one visit."""
    covered = {minute for start, length in spans for minute in range(start, start + length)}
    assert worked_ms(RaterVisit("r", start, start + length) for start, length in spans) == len(covered)
