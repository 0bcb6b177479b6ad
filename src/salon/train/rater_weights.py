"""How much each rater's answers count: by agreement with the others, or by a reliability that is learned along.

Agreement. Rater r answered n_r training pairs on which the others have a majority, h_r of them as that majority:

    q_r = (h_r + 1) / (n_r + 2)          one answer either way is added, so that few answers say little
    w_r = max(0, 2 q_r - 1)              nothing for a rater who agrees no more often than a coin

and weights are divided by their mean over rows. Only training pairs are read: agreement over a whole study, as `salon
check` prints it, has seen the answers that a model is tested against.

Learned. Rater r reports what the model sees with probability eta_r, and the opposite otherwise:

    P(r says a) = eta_r s(z) + (1 - eta_r) s(-z),    eta_r ~ Beta(right, wrong)

as in crowd Bradley-Terry (`stats.crowd`), with the head's log-odds z in the place of a difference of scores.
"""

from __future__ import annotations

import math
from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import MissingExtra

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

RIGHT, WRONG = 9.0, 1.0
"""The prior of eta: as if each rater had been seen right nine times in ten."""


def agreement_weights(votes: pa.Table) -> dict[str, float]:
    """w of every rater, from the training rows of a table of votes."""
    rows = votes.filter(pc.equal(votes.column("split").cast(pa.string()), "train"))
    names = ("criterion", "item_a", "item_b", "rater", "label")
    tally: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for criterion, a, b, rater, label in zip(*(rows.column(name).to_pylist() for name in names)):
        tally[criterion, a, b][rater] = label
    hits, n = defaultdict(int), defaultdict(int)
    for said in tally.values():
        lead = sum(_sign(label) for label in said.values())
        for rater, label in said.items():
            others = lead - _sign(label)
            if others and _sign(label):
                n[rater] += 1
                hits[rater] += (others > 0) == (_sign(label) > 0)
    raters = rows.column("rater").unique().to_pylist()
    return {rater: max(0.0, 2 * (hits[rater] + 1) / (n[rater] + 2) - 1) for rater in raters}


def _sign(label: str) -> int:
    return {"a": 1, "b": -1}.get(label, 0)


class Reliability(nn.Module):
    """eta of every rater, learned along with the heads and left behind when they are used."""

    def __init__(self, raters: int) -> None:
        super().__init__()
        self.u = nn.Parameter(torch.full((raters,), math.log(RIGHT / WRONG)))

    @property
    def eta(self) -> Tensor:
        """(raters,)"""
        return torch.sigmoid(self.u)

    def log_loss(self, logits: Tensor, share: Tensor, rater: Tensor) -> Tensor:
        """(n,) minus the log-likelihood of each answer; a tie is half an answer each way."""
        right, wrong = F.logsigmoid(self.u[rater]), F.logsigmoid(-self.u[rater])
        for_a, for_b = F.logsigmoid(logits), F.logsigmoid(-logits)
        says_a = torch.logaddexp(right + for_a, wrong + for_b)
        says_b = torch.logaddexp(right + for_b, wrong + for_a)
        return -(share * says_a + (1 - share) * says_b)

    def log_prior(self) -> Tensor:
        """The log-density of all eta in u, up to a constant."""
        return (RIGHT * F.logsigmoid(self.u) + WRONG * F.logsigmoid(-self.u)).sum()
