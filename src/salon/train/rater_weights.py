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
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import MissingExtra
from salon.train.name_hashes import hash_names

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

RIGHT, WRONG = 9.0, 1.0
"""The prior of eta: as if each rater had been seen right nine times in ten."""


def agreement_weights(tables: Iterable[pa.Table]) -> dict[str, float]:
    """w of every rater, from the training rows of tables of votes: of each rater the last answer to a pair.

    In memory are 13 bytes a vote, and as many again while they are sorted.
    """
    raters: dict[str, int] = {}
    pairs, places, signs = ([np.empty(0, kind)] for kind in (np.uint64, np.int32, np.int8))
    for table in tables:
        rows = table.filter(pc.equal(table.column("split").cast(pa.string()), "train"))
        named = [rows.column(name).cast(pa.string()) for name in ("criterion", "item_a", "item_b")]
        pairs.append(hash_names(pc.binary_join_element_wise(*named, "\x1f")))
        names = rows.column("rater").to_pylist()
        places.append(np.array([raters.setdefault(name, len(raters)) for name in names], np.int32))
        signs.append(np.array([_sign(label) for label in rows.column("label").to_pylist()], np.int8))
    pair, rater, sign = (np.concatenate(parts) for parts in (pairs, places, signs))
    order = np.lexsort((rater, pair))  # stable: of one rater's answers to a pair the last stays last
    pair, rater, sign = pair[order], rater[order], sign[order]
    last = np.append((pair[1:] != pair[:-1]) | (rater[1:] != rater[:-1]), True)[: len(pair)]
    pair, rater, sign = pair[last], rater[last], sign[last].astype(np.int64)
    number = np.cumsum(np.append(False, pair[1:] != pair[:-1])[: len(pair)])
    others = np.bincount(number, sign)[number] - sign if len(number) else sign
    counts = (others != 0) & (sign != 0)
    n = np.bincount(rater[counts], minlength=len(raters))
    hits = np.bincount(rater[counts & (np.sign(others) == sign)], minlength=len(raters))
    weights = np.maximum(0.0, 2 * (hits + 1) / (n + 2) - 1)
    return dict(zip(raters, weights.tolist()))


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
