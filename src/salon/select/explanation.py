"""Why a picture has the score it has: what is exact, and what is only near it.

    contributions      total = sum_d w_d s_d (x_d - c_d) / u_d (`weights`): the terms are the explanation, exactly
    a pair             total_a - total_b = sum_d (term_a - term_b): the same for a difference
    neighbours         judged pictures nearest by the model's own vectors; distance = mean over the parts of a
                       picture's vectors of 1 - cosine; the picture itself and copies of it are left out
    measurements       numbers by rule, and where each stands among the study's: the share of items below it, half of
                       those equal to it counted

Contributions are what the total is made of. Neighbours and measurements are not: they say what the model, or a rule,
sees in pictures like this one. They are no causes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from salon.errors import BadValue, TooFew
from salon.select.weights import Blend
from salon.stats import Estimate
from salon.study import Format, Noun, Signature

Floats = NDArray[np.float64]
COPY = 1e-6
"""Distance below which two pictures are the same one saved twice."""
NOT_CAUSES = (
    "Contributions are exact: they sum to the total. Neighbours and measurements are no causes. They say what stands "
    "near this picture; the model may have looked at something else."
)


class Contribution(Noun):
    """What one criterion adds to the total."""

    criterion: str = Field(description="Id of the criterion.")
    scorer: str = Field(default="", description="Name of the scorer.")
    value: float | None = Field(description="As the scorer gave it; null where it gave none.")
    sigma: float | None = Field(None, title="sd", description="Its standard deviation, where the scorer states one.")
    interval: tuple[float, float] | None = Field(None, description="value -+ 1.96 sigma.")
    share: float = Field(title="Weight", description="Weight; all sum to 1.")
    higher_is_better: bool = Field(default=True, title="Better", description="False where the lowest is best.")
    center: float = Field(0.0, description="What the value is measured from.")
    unit: float = Field(1.0, description="What it is measured in.")
    adds: float | None = Field(description="share x direction x (value - center) / unit.")
    unscored: str | None = Field(default=None, description="Why there is no value; null where there is one.")


class RaterOpinion(Noun):
    """What raters said of one item under one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    kind: str = Field(description="won: share of comparisons; rated: mean rating.")
    figure: Estimate = Field(description="What they said, with its interval.")
    raters: int = Field(description="How many.")


class Neighbor(Noun):
    """A judged picture near this one."""

    item: str = Field(description="Id of the item.")
    image: str | None = Field(default=None, description="Its path inside the study folder.")
    prompt: str | None = Field(default=None, description="Id of its prompt.")
    same_prompt: bool = Field(default=False, description="Whether it was made for the same prompt.")
    distance: float = Field(description="Between the two vectors of the model.")
    said: tuple[RaterOpinion, ...] = Field(default=(), description="What raters said of it, by criterion.")
    """What raters said of it."""
    scores: dict[str, float] = Field(default_factory=dict, description="What the model says of it, by criterion.")
    total: float | None = Field(None, description="Its total under the same weights.")


class PictureMeasurement(Noun):
    """A number by rule, and where it stands among the study's."""

    name: str = Field(title="Measurement", description="Name of the measurement.")
    tells: str = Field(description="What it measures, in a sentence.")
    value: float | None = Field(description="Null where it could not be measured.")
    unmeasured: str | None = Field(None, description="Why there is no value.")
    below: Annotated[float | None, Format("percent")] = Field(
        None, title="Study below", description="Share of the study's items below it, half of the equal ones counted."
    )
    n: int = Field(0, title="Study's items", description="Items of the study with this measurement.")
    missing: int = Field(0, description="Items of the study without it: left out.")
    quartiles: Annotated[tuple[float, float, float] | None, Format("text")] = Field(
        None, title="Study's quartiles", description="Of the study."
    )


class Occlusion(Noun):
    """What the total loses when one place of a grid is covered."""

    grid: int = Field(ge=1, description="Places along each side of the picture.")
    drops: tuple[tuple[float | None, ...], ...] = Field(
        description="By row and column: the total less that of the covered picture; null where that has none."
    )

    @property
    def largest(self) -> tuple[int, int, float] | None:
        """Row and column (from 1) where covering costs most, and how much; None where it costs nowhere."""
        places = [
            (drop, r, c) for r, row in enumerate(self.drops, 1) for c, drop in enumerate(row, 1) if drop is not None
        ]
        drop, row, column = max(places, key=lambda place: place[0], default=(0.0, 0, 0))
        return (row, column, drop) if drop > 0 else None


class PictureExplanation(Noun):
    """One picture, explained."""

    picture: str = Field(description="The picture's file name.")
    sha256: str = Field(default="", description="Of its bytes.")
    total: float | None = Field(description="The sum of what criteria add; null where one that counts has no value.")
    sd: float | None = Field(default=None, description="Its standard deviation, where scorers state one.")
    contributions: tuple[Contribution, ...] = Field(description="One for each criterion.")
    neighbours: tuple[Neighbor, ...] = Field(
        default=(), description="Judged pictures that the model sees near it, nearest first."
    )
    measurements: tuple[PictureMeasurement, ...] = Field(default=(), description="What can be measured by rule.")
    occlusion: Occlusion | None = Field(
        default=None, description="What covering one place after the other does; null where it was not asked for."
    )


class ScoreDifference(Noun):
    """Why the first picture stands above the second, or below it."""

    total: float | None = Field(description="By how much.")
    adds: dict[str, float] = Field(description="By criterion, the largest first; they sum to the total.")
    told: str = Field(description="The same in a sentence.")


class Explanation(Noun):
    """One picture or two, explained."""

    pictures: tuple[PictureExplanation, ...] = Field(description="One, or two that are compared.")
    difference: ScoreDifference | None = Field(
        default=None, description="Why the first stands above the second; null for one picture."
    )
    scale: str = Field(description="What totals are measured in, in words.")
    model: str = Field(default="", description="The model whose vectors say what is near.")
    study: str | None = Field(default=None, description="The study whose pictures and answers stand beside.")
    simulated: bool = Field(False, description="True when no person gave the study's answers.")
    caution: str = Field(default=NOT_CAUSES, description="How to read neighbours and measurements.")
    notes: tuple[str, ...] = Field(default=(), description="What else must be known.")
    signature: Signature = Field(description="What reproduces the explanation.")


# -- contributions -----------------------------------------------------------------------------------------------------


def contributions(
    blend: Blend,
    values: Sequence[float | None],
    sigmas: Sequence[float | None],
    *,
    scorers: Sequence[str] = (),
    reasons: Mapping[str, str] | None = None,
) -> tuple[Contribution, ...]:
    """What each criterion adds, in the order of the blend. Criteria without weight add 0."""
    row = np.array([[math.nan if value is None else value for value in values]], np.float64)
    adds = blend.contributions(row)[0]
    parts = []
    for d, (term, value, sigma) in enumerate(zip(blend.terms, values, sigmas, strict=True)):
        value = None if value is None or not math.isfinite(value) else value
        parts.append(
            Contribution(
                criterion=term.criterion, scorer=scorers[d] if scorers else "", value=value,
                sigma=None if value is None else sigma, share=term.share,
                higher_is_better=term.sign > 0, center=term.center,
                interval=None if value is None or sigma is None else (value - 1.96 * sigma, value + 1.96 * sigma),
                unit=term.unit, adds=float(adds[d]) if math.isfinite(adds[d]) else None,
                unscored=None if value is not None else (reasons or {}).get(term.criterion, "no value"),
            )
        )  # fmt: skip
    return tuple(parts)


def total_of(parts: Sequence[Contribution]) -> float | None:
    """The total: the sum of what criteria add; None where one that counts has no value."""
    adds = [part.adds for part in parts if part.share > 0]
    return None if any(part is None for part in adds) else math.fsum(part for part in adds if part is not None)


def spread_of(blend: Blend, parts: Sequence[Contribution]) -> float | None:
    """Standard deviation of the total, where every criterion that counts states one."""
    if any(part.sigma is None for part in parts if part.share > 0):
        return None
    sds = np.array([[0.0 if part.sigma is None else part.sigma for part in parts]])
    return float(blend.spreads(sds)[0])


def compare_contributions(a: Sequence[Contribution], b: Sequence[Contribution]) -> ScoreDifference:
    """Why a stands above b: what each criterion adds to one less what it adds to the other."""
    if [part.criterion for part in a] != [part.criterion for part in b]:
        raise BadValue("two pictures under the same criteria are needed", found="other criteria")
    totals = total_of(a), total_of(b)
    if totals[0] is None or totals[1] is None:
        lacking = [part.criterion for part in (*a, *b) if part.share > 0 and part.adds is None]
        return ScoreDifference(total=None, adds={}, told=f"no total: {', '.join(dict.fromkeys(lacking))} gave no value")
    adds = {x.criterion: (x.adds or 0.0) - (y.adds or 0.0) for x, y in zip(a, b) if x.share > 0}
    order = sorted(adds, key=lambda id: -abs(adds[id]))
    total = math.fsum(adds.values())
    text = "both have the same total"
    if total != 0:
        above = "first" if total > 0 else "second"
        for_, against = ([id for id in order if sign * adds[id] * total > 0] for sign in (1, -1))
        text = f"the {above} stands above by {abs(total):.3g}, most by {for_[0]} ({abs(adds[for_[0]]):.3g})"
        text += f"; against it speaks {against[0]} ({abs(adds[against[0]]):.3g})" if against else ""
    return ScoreDifference(total=total, adds={id: adds[id] for id in order}, told=text)


# -- what is near ------------------------------------------------------------------------------------------------------


def distances(query: Mapping[str, ArrayLike], among: Mapping[str, ArrayLike]) -> Floats:
    """(n,) mean over the parts of 1 - cosine between one picture's vectors and those of n others.

    A part whose vector is zero (nothing to see) is at distance 1 from all others, and 0 from another zero.
    """
    if set(query) != set(among) or not query:
        raise BadValue("the same parts of vectors are needed", found=f"{sorted(query)} and {sorted(among)}")
    apart = [_apart(np.asarray(query[part]), np.asarray(among[part])) for part in query]
    return np.asarray(np.mean(apart, axis=0))


def _apart(vector: NDArray[np.float64], rows: NDArray[np.float64]) -> Floats:
    vector, rows = vector.astype(np.float64), rows.astype(np.float64)
    if rows.ndim != 2 or vector.shape != rows.shape[1:]:
        raise BadValue("vectors of one width are needed", found=f"{vector.shape} and {rows.shape}")
    lengths, own = np.linalg.norm(rows, axis=1), float(np.linalg.norm(vector))
    empty = lengths == 0
    if own == 0:
        return np.where(empty, 0.0, 1.0)
    cosine = rows @ vector / (np.where(empty, 1.0, lengths) * own)
    return np.where(empty, 1.0, np.clip(1 - cosine, 0.0, 2.0))


def nearest(apart: Floats, k: int, *, copies: Sequence[bool] | None = None) -> list[int]:
    """Places of the k nearest, nearest first; copies of the picture (given, or nearer than `COPY`) are left out."""
    if k < 0:
        raise BadValue("a number of neighbours from 0 up is needed", found=k)
    same = np.asarray(apart) < COPY
    if copies is not None:
        same |= np.asarray(copies, bool)
    order = np.argsort(apart, kind="stable")
    return [int(place) for place in order if not same[place]][:k]


def rank_among(value: float, reference_values: ArrayLike) -> tuple[float, tuple[float, float, float]]:
    """Share of the others below a value, half of the equal ones counted; and the others' quartiles."""
    values = np.asarray(reference_values, np.float64)
    if not len(values):
        raise TooFew("values to stand among are needed", found=0)
    if not (math.isfinite(value) and np.isfinite(values).all()):
        raise BadValue("finite values are needed", found=value)
    below = float((values < value).mean() + (values == value).mean() / 2)
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return below, (float(low), float(middle), float(high))
