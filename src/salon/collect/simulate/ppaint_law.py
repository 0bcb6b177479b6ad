"""What the simulated experts of the PPaint-like study see, and how they answer.

Item i has a latent value q_id under criterion d, in units of the noise of one comparison. Items were screened into
three tiers of equal size, z_i = 1, 0, -1 (high, medium, low), and q_id = spread (sqrt(shared) sqrt(3/2) z_i +
sqrt(1 - shared) e_id), e normal: two criteria correlate by `shared`, and what they share is the tier. `levels` lifts
and lowers whole categories, under all criteria; no comparison shows it, as pairs stay within a category. Rater r sees
q_rid = q_id + u_rid: u is a taste of their own, normal with standard deviation `taste`, the same whatever they are
asked; two criteria's tastes correlate by `shared` too. The fifth criterion, overall quality, is the mean of the other
four at their spread.

* compare: y = q_rid - q_rjd + side_r + e, e logistic; left is better when y > threshold_r, right when
  y < -threshold_r, else a tie. Without the side this is the law of Rao and Kupper with theta = exp(threshold).
* rate: s = 1 + 4 logistic(steepness (q_rid + e')), e' normal with standard deviation `rating_noise`; the answer is
  3 + offset_r + gain_r (s - 3), rounded and kept within 1 to 5.

Numbers come from ppaint_like.toml, which prove/fit_ppaint.py writes.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy.special import expit, logit
from scipy.stats import norm

from salon.errors import BadValue
from salon.stats.budget import balanced_pairs
from salon.study.noun import Noun

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVELS = np.array([1.5, 2.5, 3.5, 4.5])
"""Where one level of the 1-5 scale ends and the next begins."""
CRITERIA = ("technique", "coloration", "composition", "conception", "overall")


@cache
def plan() -> dict[str, Any]:
    """The settings that were fixed beforehand."""
    return tomllib.loads((resources.files("salon.collect.simulate") / "ppaint_like.toml").read_text(encoding="utf-8"))


def _fitted(
    name: str, description: str, *, ge: float | None = None, gt: float | None = None, le: float | None = None
) -> Any:
    return Field(default_factory=lambda: plan()["law"][name], description=description, ge=ge, gt=gt, le=le)


class PpaintSettings(Noun):
    """Size and law of the study; what is not named keeps the value fixed beforehand."""

    seed: int = Field(default_factory=lambda: plan()["seed"], ge=0)
    categories: int = Field(3, ge=1, le=1000)
    items: int = Field(50, ge=4, le=2000, description="Items of each category.")
    pairs: int | None = Field(None, description="Pairs compared in each category; None: half of all.")
    raters: int = Field(5, ge=1, le=1000, description="Raters of each category.")
    spread: float = _fitted("spread", "Standard deviation of q.", ge=0)
    taste: float = _fitted("taste", "Standard deviation of u.", ge=0)
    shared: float = _fitted("shared", "Correlation of any two of the first four criteria.", ge=0, le=1)
    steepness: float = _fitted("steepness", "Of the score 1 + 4 logistic(steepness q).", gt=0)
    rating_noise: float = _fitted("rating_noise", "Standard deviation of e'.", ge=0)
    levels: float = Field(
        0.0,
        ge=0,
        le=20,
        description="How far the mean of the best category lies above that of all, in logits; the others stand evenly "
        "below it. 0: all categories have one mean.",
    )
    ties: float = Field(1.0, ge=0, description="Times each rater's tie threshold.")
    sides: float = Field(1.0, ge=0, description="Times each rater's lean to the left.")
    scale_use: float = Field(1.0, ge=0, description="Times each rater's offset and log gain; 0: all use one scale.")

    @model_validator(mode="after")
    def _pairs_connect(self) -> PpaintSettings:
        everything = self.items * (self.items - 1) // 2
        if self.pairs is not None and not self.items - 1 <= self.pairs <= everything:
            needed = f"between {self.items - 1} and {everything} pairs for {self.items} items are needed"
            raise BadValue(needed, found=self.pairs, remedy="leave pairs out for half of all")
        return self

    @property
    def compared(self) -> int:
        """Pairs compared in each category."""
        return self.items * (self.items - 1) // 4 if self.pairs is None else self.pairs


@dataclass(frozen=True)
class Profiles:
    """How each rater answers, (categories, raters) each."""

    threshold: Floats
    side: Floats
    offset: Floats
    gain: Floats


def profiles(settings: PpaintSettings) -> Profiles:
    """The fifteen raters of the settings file in their order, over again where more are asked for."""
    shape = settings.categories, settings.raters
    rows = plan()["rater"]
    chosen = [rows[number % len(rows)] for number in range(shape[0] * shape[1])]
    columns = {name: np.array([row[name] for row in chosen]).reshape(shape) for name in Profiles.__annotations__}
    return Profiles(
        threshold=settings.ties * columns["threshold"],
        side=settings.sides * columns["side"],
        offset=settings.scale_use * columns["offset"],
        gain=columns["gain"] ** settings.scale_use,
    )


# -- latent values -----------------------------------------------------------------------------------------------


def tiers(settings: PpaintSettings) -> Ints:
    """(items,) 0 high, 1 medium, 2 low: thirds of every category, mixed through the list of items."""
    return np.arange(settings.items) % 3


def category_levels(settings: PpaintSettings) -> Floats:
    """(categories,) mean of q in each category: from `levels` down to -`levels`, evenly."""
    return settings.levels * np.linspace(1, -1, settings.categories) if settings.categories > 1 else np.zeros(1)


def draw_latent(settings: PpaintSettings, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """q (categories, items, criteria) and u (categories, raters, items, criteria)."""
    s = settings
    screened = np.broadcast_to(np.sqrt(1.5) * (1.0 - tiers(s)), (s.categories, s.items))
    q = s.spread * _criteria(screened, s.shared, rng) + category_levels(s)[:, None, None]
    u = s.taste * _criteria(rng.standard_normal((s.categories, s.raters, s.items)), s.shared, rng)
    return q, u


def _criteria(common: Floats, shared: float, rng: np.random.Generator) -> Floats:
    """Values (*shape, 5) of variance 1: four that share `common`, and their mean at the same variance."""
    four = np.sqrt(shared) * common[..., None] + np.sqrt(1 - shared) * rng.standard_normal((*common.shape, 4))
    overall = four.mean(axis=-1, keepdims=True) / np.sqrt((1 + 3 * shared) / 4)
    return np.concatenate([four, overall], axis=-1)


def score(settings: PpaintSettings, latent: Floats) -> Floats:
    """Latent values on the 1-5 scale."""
    values: Floats = 1 + 4 * expit(settings.steepness * latent)
    return values


# -- answers -----------------------------------------------------------------------------------------------------


def draw_pairs(settings: PpaintSettings, rng: np.random.Generator) -> Ints:
    """(categories, pairs, 2) left and right item: a balanced connected design, every item left in half its pairs."""
    return np.stack(
        [
            _sided(balanced_pairs(settings.items, settings.compared, rng=rng), settings.items, rng)
            for _ in range(settings.categories)
        ]
    )


def _sided(pairs: Ints, items: int, rng: np.random.Generator) -> Ints:
    """Pairs in random order; the item that stood left less often so far goes left."""
    lean = [0] * items
    made = []
    for a, b in rng.permuted(rng.permutation(pairs), axis=1).tolist():
        left, right = (a, b) if lean[a] <= lean[b] else (b, a)
        lean[left] += 1
        lean[right] -= 1
        made.append((left, right))
    return np.array(made)


def draw_comparisons(seen: Floats, pairs: Ints, profile: Profiles, rng: np.random.Generator) -> NDArray[np.int8]:
    """(categories, raters, pairs, criteria): 0 left is better, 1 right, 2 tie; `seen` = q + u of every rater."""
    left, right = (np.take_along_axis(seen, pairs[:, None, :, side, None], axis=2) for side in (0, 1))
    y = left - right + profile.side[..., None, None] + rng.logistic(size=left.shape)
    threshold = profile.threshold[..., None, None]
    return np.where(y > threshold, 0, np.where(y < -threshold, 1, 2)).astype(np.int8)


def draw_ratings(settings: PpaintSettings, seen: Floats, profile: Profiles, rng: np.random.Generator) -> Floats:
    """(categories, raters, items, criteria) whole numbers from 1 to 5."""
    s = score(settings, seen + settings.rating_noise * rng.standard_normal(seen.shape))
    offset, gain = (value[..., None, None] for value in (profile.offset, profile.gain))
    return np.clip(np.floor(3 + offset + gain * (s - 3) + 0.5), 1, 5)


def expected_ratings(seen: Floats, offset: Floats, gain: Floats, *, steepness: float, noise: float) -> Floats:
    """Mean answers of raters with this offset and gain, had they rated endlessly often: 1 + sum of P(above level)."""
    above = [norm.sf((cut(level, offset, gain, steepness) - seen) / noise) for level in LEVELS]
    return np.asarray(1 + np.sum(above, axis=0))


def cut(level: Floats | float, offset: Floats | float, gain: Floats | float, steepness: float) -> Floats:
    """The latent value at which an answer passes `level`; infinite where the rater's scale does not reach it."""
    share = (3 + (level - 3 - offset) / gain - 1) / 4
    return np.asarray(logit(np.clip(share, 0, 1)) / steepness)
