"""Hours and pay. Salon counts, it does not pay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from salon.collect.settings import Pay

_CENT = Decimal("0.01")


@dataclass(frozen=True)
class Visit:
    """A stretch of time in which a rater's browser was heard, in milliseconds."""

    started: int
    last_seen: int


@dataclass(frozen=True)
class Payment:
    """What a rater has earned so far."""

    hours: float
    answers: int
    amount: Decimal
    """Rounded once, to the cent."""
    currency: str


def worked_ms(visits: Iterable[Visit]) -> int:
    """Time covered by the visits; two devices at once count once."""
    total, until = 0, None
    for visit in sorted(visits, key=lambda visit: visit.started):
        start = visit.started if until is None else max(visit.started, until)
        total += max(visit.last_seen - start, 0)
        until = visit.last_seen if until is None else max(until, visit.last_seen)
    return total


def payment(visits: Sequence[Visit], answers: int, *, finished: bool, pay: Pay) -> Payment:
    """Hours x rate + answers x price + the sum for finishing, whichever of them the studio pays."""
    worked = worked_ms(visits)
    amount = _money(pay.per_hour) * worked / 3_600_000 + _money(pay.per_answer) * answers
    amount += _money(pay.flat) if finished else 0
    return Payment(worked / 3_600_000, answers, amount.quantize(_CENT, ROUND_HALF_UP), pay.currency)


def _money(value: float | None) -> Decimal:
    return Decimal(str(value or 0))
