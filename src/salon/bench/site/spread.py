"""How an entry's prompts spread: the same mean may come from even work, or from triumphs and failures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from salon.bench.results import EntryResult
from salon.bench.site.material import Material, Shown
from salon.report import Figure, Section, charts

BINS = 20
FEWEST = 8
"""Prompts below which a distribution says nothing."""


def spread_sections(material: Material, one: Shown) -> Iterator[Section]:
    """The chances of an entry's prompts against the reference, over those of all published entries."""
    column = material.headline
    if column is None or one.result is None:
        return
    own = _chances(one.result, column)
    everybody = [chance for other in material.published for chance in _chances(other.result, column)]
    if len(own) < FEWEST or not everybody:
        return
    drawing = charts.histogram_over_null(
        (np.arange(BINS) + 0.5) * 100 / BINS,
        _counts(own),
        _counts(everybody) / len(everybody),
        title="Chances against the reference, prompt by prompt",
        x_label="chance to be preferred to the reference, %",
        medians=(float(np.median(own)), float(np.median(everybody))),
        keys=True,
        names=("this entry", "all entries"),
        decimals=1,
    )
    yield Section(
        "Prompt by prompt", [Figure(drawing)], "EPS is the mean of these chances. 50 is a picture at the reference."
    )


def _chances(result: EntryResult | None, column: str) -> list[float]:
    return [100 * prompt.eps[column] for prompt in (result.prompts if result else ()) if column in prompt.eps]


def _counts(chances: list[float]) -> np.ndarray:
    return np.histogram(chances, BINS, (0, 100))[0]
