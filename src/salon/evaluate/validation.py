"""How well heads do on the validation pairs, beside the ceiling of the same pairs.

Accuracy is against the majority of a pair's votes; pairs without a majority are left out, log-odds of exactly 0 count
half. The ceiling is the accuracy that one more rater of the same kind would reach (`stats.ceilings`, next_rater); it
takes two votes on a pair. Intervals draw whole prompts again; one prompt has none.

The best state was chosen on these very pairs, so the numbers lean upwards: they serve to choose between settings. What
a model is worth is said by `salon evaluate` on the test pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import StatsError
from salon.stats import SHARE, Estimate, bootstrap_totals, next_rater, vote_table
from salon.study import Noun

MISSING = "pairs without a majority are left out"
DRAWS = 1000


class HeadFigures(Noun):
    """One criterion on the validation pairs, or all of them together."""

    criterion: str | None = Field(description="Its id; none for all criteria together.")
    pairs: int = Field(description="Validation pairs with a majority.")
    accuracy: Estimate | None = Field(description="Against the majority; none where no pair has one.")
    ceiling: Estimate | None = Field(description="One more rater against the majority; none where it is not known.")
    loss: float | None = Field(description="Mean cross-entropy against the share of votes, all validation pairs.")
    missing: str = Field(description="What is done with pairs that cannot be counted.")


def hits(logits: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 where log-odds and majority agree, 0 where not, 1/2 for log-odds of 0, NaN where there is no majority."""
    agree = 0.5 + 0.5 * np.sign(logits) * np.sign(share - 0.5)
    return np.where(share == 0.5, np.nan, agree)


def validation_figures(
    pairs: pa.Table, logits: NDArray[np.float64], criteria: Sequence[str], *, rng: np.random.Generator
) -> tuple[HeadFigures, ...]:
    """All criteria together, then each. `pairs` are labels with one row for each of `logits`."""
    criterion_of = np.array(pairs.column("criterion").to_pylist(), object)
    everything = np.ones(len(logits), bool)
    parts = [(None, everything), *((criterion, criterion_of == criterion) for criterion in criteria)]
    return tuple(_figures(criterion, pairs.filter(pa.array(rows)), logits[rows], rng) for criterion, rows in parts)


def _figures(criterion: str | None, pairs: pa.Table, z: NDArray[np.float64], rng: np.random.Generator) -> HeadFigures:
    share = np.asarray(pairs.column("share"), float)
    right = hits(z, share)
    decided = ~np.isnan(right)
    prompts = np.unique(pairs.column("group").to_pylist(), return_inverse=True)[1][decided]
    accuracy = ceiling = None
    if decided.any():
        table = np.stack([np.bincount(prompts, weights=right[decided]), np.bincount(prompts)], axis=1)
        table = table[table[:, 1] > 0]
        accuracy = bootstrap_totals(lambda total: total[:, 0] / total[:, 1], table, draws=DRAWS, rng=rng, ends=SHARE)
    for_a, for_b = (np.asarray(pairs.column(name), np.int64)[decided] for name in ("for_a", "for_b"))
    try:
        votes = vote_table(for_a, for_a + for_b, prompts)
        ceiling = bootstrap_totals(
            lambda total: next_rater(votes, total), votes.counts, draws=DRAWS, rng=rng, ends=SHARE
        )
    except StatsError:
        pass  # fewer than two votes on every pair: nobody knows what one more rater would reach
    return HeadFigures(
        criterion=criterion,
        pairs=int(decided.sum()),
        accuracy=accuracy,
        ceiling=ceiling,
        loss=float(np.mean(np.logaddexp(0, z) - share * z)) if len(z) else None,
        missing=MISSING,
    )
