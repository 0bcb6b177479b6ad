"""What a client has done so far: counts, tokens and money."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from salon.calls.answer import Answer


@dataclass
class Account:
    """Of one client; `CallStore.totals` tells of all."""

    asked: int = 0
    """Calls that came to an end, one way or the other."""
    from_store: int = 0
    """Of these, answered without sending anything."""
    sent: int = 0
    """Requests, retries included."""
    refused: int = 0
    lost: int = 0
    """Requests that ended without an answer and may have been charged."""
    unusable: int = 0
    """Answers bought that could not be used."""
    unusable_cost: Decimal = Decimal(0)
    tokens_in: int = 0
    tokens_out: int = 0
    cost: Decimal = Decimal(0)
    """Of answers, usable or not. Requests without an answer are in the budget, not here."""

    def bought(self, answer: Answer, cost: Decimal | None) -> None:
        """Book an answer that was paid for."""
        self.tokens_in += answer.tokens_in or 0
        self.tokens_out += answer.tokens_out or 0
        self.cost += cost or 0

    def wasted(self, cost: Decimal | None) -> None:
        """Book an answer, already bought, as of no use."""
        self.unusable += 1
        self.unusable_cost += cost or 0
