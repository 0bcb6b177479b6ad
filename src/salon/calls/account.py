"""What a client has done so far: counts, tokens, money and time."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np

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
    seconds: list[float] = field(default_factory=list, repr=False)
    """Of every answer bought, from sending it to its last byte."""

    def bought(self, answer: Answer, cost: Decimal | None) -> None:
        """Book an answer that was paid for."""
        self.tokens_in += answer.tokens_in or 0
        self.tokens_out += answer.tokens_out or 0
        self.cost += cost or 0
        self.seconds.append(answer.seconds)

    def wasted(self, cost: Decimal | None) -> None:
        """Book an answer, already bought, as of no use."""
        self.unusable += 1
        self.unusable_cost += cost or 0

    def latency(self, share: float = 0.5) -> float | None:
        """The time below which this share of answers came; None before the first."""
        return float(np.quantile(self.seconds, share)) if self.seconds else None
