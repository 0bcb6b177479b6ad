"""A matched study in the shape of PPaint: the same simulated experts compare and rate the same paintings.

Three categories of 50 items under five criteria, five raters each; 612 of the 1,225 pairs of a category, the same for
all its raters and criteria. Its numbers stand in ppaint_like.toml, fixed beforehand by prove/fit_ppaint.py from
published figures of agreement and scale use, never from a result of fusion.

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
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy.special import expit, logit

from salon.collect.simulate.panel import PlantedTruth, number_ids
from salon.errors import BadValue
from salon.stats import balanced_pairs
from salon.study import LEFTS, OUTCOMES, Cohort, Design, Noun, Study, builtin_criterion, to_references

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVELS = np.array([1.5, 2.5, 3.5, 4.5])
"""Where one level of the 1-5 scale ends and the next begins."""
CRITERIA = ("technique", "coloration", "composition", "conception", "overall")


@cache
def ppaint_plan() -> dict[str, Any]:
    """The settings that were fixed beforehand."""
    return tomllib.loads((resources.files("salon.collect.simulate") / "ppaint_like.toml").read_text(encoding="utf-8"))


def _fitted_field(
    name: str, description: str, *, ge: float | None = None, gt: float | None = None, le: float | None = None
) -> Any:
    return Field(default_factory=lambda: ppaint_plan()["law"][name], description=description, ge=ge, gt=gt, le=le)


class PpaintSettings(Noun):
    """Size and law of the study; what is not named keeps the value fixed beforehand."""

    seed: int = Field(default_factory=lambda: ppaint_plan()["seed"], ge=0)
    categories: int = Field(3, ge=1, le=1000)
    items: int = Field(50, ge=4, le=2000, description="Items of each category.")
    pairs: int | None = Field(None, description="Pairs compared in each category; None: half of all.")
    raters: int = Field(5, ge=1, le=1000, description="Raters of each category.")
    spread: float = _fitted_field("spread", "Standard deviation of q.", ge=0)
    taste: float = _fitted_field("taste", "Standard deviation of u.", ge=0)
    shared: float = _fitted_field("shared", "Correlation of any two of the first four criteria.", ge=0, le=1)
    steepness: float = _fitted_field("steepness", "Of the score 1 + 4 logistic(steepness q).", gt=0)
    rating_noise: float = _fitted_field("rating_noise", "Standard deviation of e'.", ge=0)
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
    rows = ppaint_plan()["rater"]
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
            _balance_sides(balanced_pairs(settings.items, settings.compared, rng=rng), settings.items, rng)
            for _ in range(settings.categories)
        ]
    )


def _balance_sides(pairs: Ints, items: int, rng: np.random.Generator) -> Ints:
    """Pairs in random order; the item that stood left less often so far goes left."""
    lean = [0] * items
    sided = []
    for a, b in rng.permuted(rng.permutation(pairs), axis=1).tolist():
        left, right = (a, b) if lean[a] <= lean[b] else (b, a)
        lean[left] += 1
        lean[right] -= 1
        sided.append((left, right))
    return np.array(sided)


def draw_comparisons(perceived: Floats, pairs: Ints, profile: Profiles, rng: np.random.Generator) -> NDArray[np.int8]:
    """(categories, raters, pairs, criteria): 0 left is better, 1 right, 2 tie; `seen` = q + u of every rater."""
    left, right = (np.take_along_axis(perceived, pairs[:, None, :, side, None], axis=2) for side in (0, 1))
    y = left - right + profile.side[..., None, None] + rng.logistic(size=left.shape)
    threshold = profile.threshold[..., None, None]
    return np.where(y > threshold, 0, np.where(y < -threshold, 1, 2)).astype(np.int8)


def draw_ratings(settings: PpaintSettings, perceived: Floats, profile: Profiles, rng: np.random.Generator) -> Floats:
    """(categories, raters, items, criteria) whole numbers from 1 to 5."""
    s = score(settings, perceived + settings.rating_noise * rng.standard_normal(perceived.shape))
    offset, gain = (value[..., None, None] for value in (profile.offset, profile.gain))
    return np.clip(np.floor(3 + offset + gain * (s - 3) + 0.5), 1, 5)


def expected_ratings(perceived: Floats, offset: Floats, gain: Floats, *, steepness: float, noise: float) -> Floats:
    """Mean answers of raters with this offset and gain, had they rated endlessly often: 1 + sum of P(above level)."""
    from scipy.stats import norm

    above = [norm.sf((latent_cut(level, offset, gain, steepness) - perceived) / noise) for level in LEVELS]
    return np.asarray(1 + np.sum(above, axis=0))


def latent_cut(level: Floats | float, offset: Floats | float, gain: Floats | float, steepness: float) -> Floats:
    """The latent value at which an answer passes `level`; infinite where the rater's scale does not reach it."""
    share = (3 + (level - 3 - offset) / gain - 1) / 4
    return np.asarray(logit(np.clip(share, 0, 1)) / steepness)


# -- the study ---------------------------------------------------------------------------------------------------------

NAMES = ("flower-and-bird", "landscape", "figure")
TIERS = ("high", "medium", "low")
REPEATED_ITEMS, REPEATED_PAIRS = 10, 30
"""Of each rater, under all criteria."""

_NOTE = (
    "Simulated: no person gave these answers. Agreement, ties and scale use are planted to match published figures of "
    "a study of painting experts; items and raters are made up. See docs/guide/simulate.md. Settings: "
)


@dataclass(frozen=True)
class PpaintTruth:
    """What was planted, (items, criteria) each; items and criteria in the order of the study."""

    items: tuple[str, ...]
    criteria: tuple[str, ...]
    category: tuple[str, ...]
    """Of each item."""
    latent: Floats
    """The population's value q, in logits of one comparison. Intervals that draw raters anew aim at this."""
    panel_latent: Floats
    """q plus the mean taste of this category's own raters. Intervals with these raters fixed aim at this."""
    score: Floats
    """1 + 4 logistic(steepness q): the population's value on the rating scale. `steepness` was chosen so that this is,
    as nearly as a logistic curve can be, the mean rating of endlessly many raters like these."""
    panel_score: Floats
    """The same of `panel_latent`: this panel's taste on the population's scale."""
    panel_rating: Floats
    """The mean rating this panel would give, each of its raters asked endlessly often: this panel's taste on its own
    mean scale, with its offsets, gains, rounding and clipping. Means of ratings aim at this."""


@dataclass(frozen=True)
class _PpaintDraw:
    """The parts that study and truth share."""

    settings: PpaintSettings
    profile: Profiles
    q: Floats
    perceived: Floats
    rngs: tuple[np.random.Generator, ...]
    """For design, comparisons, ratings and repeats."""


def ppaint_like_study(seed: int | None = None, **changes: Any) -> Study:
    """The study. `changes` are fields of PpaintSettings (categories, items, pairs, raters, spread, taste, ...)."""
    draw = _draw(seed, changes)
    s = draw.settings
    categories, items, raters = _ids(s)
    criteria = [builtin_criterion(f"ppaint/{name}") for name in CRITERIA]
    labels = {"criterion": pa.array([criterion.id for criterion in criteria]), "rater": raters, "item": items}
    return Study.build(
        ppaint_plan()["name"],
        criteria,
        tables={
            "items": pa.table(
                {
                    "id": items,
                    "category": to_references(np.repeat(np.arange(s.categories), s.items), pa.array(categories)),
                    "tier": to_references(np.tile(tiers(s), s.categories), pa.array(TIERS)),
                }
            ),
            "raters": pa.table({"id": raters, "cohort": np.repeat(categories, s.raters)}),
            "comparisons": _comparisons(draw, labels),
            "ratings": _ratings(draw, labels),
        },
        cohorts=tuple(Cohort(id=name, note="rated every item, then compared pairs of them") for name in categories),
        compare_within="category",
        design=Design(
            kind="fraction",
            fraction=s.compared / (s.items * (s.items - 1) // 2),
            note="a balanced connected set of pairs, the same for all raters and criteria of a category",
        ),
        simulated=True,
        note=_NOTE + s.model_dump_json(),
    )


def ppaint_like_truth(seed: int | None = None, **changes: Any) -> PpaintTruth:
    """What is planted in `ppaint_like_study(seed, **changes)`."""
    draw = _draw(seed, changes)
    s = draw.settings
    categories, items, _ = _ids(s)
    panel = draw.perceived.mean(axis=1)
    offset, gain = (value[..., None, None] for value in (draw.profile.offset, draw.profile.gain))
    rated = expected_ratings(draw.perceived, offset, gain, steepness=s.steepness, noise=s.rating_noise).mean(axis=1)
    flat = {"latent": draw.q, "panel_latent": panel, "panel_rating": rated}
    flat |= {"score": score(s, draw.q), "panel_score": score(s, panel)}
    return PpaintTruth(
        items=tuple(items.to_pylist()),
        criteria=tuple(f"ppaint/{name}" for name in CRITERIA),
        category=tuple(np.repeat(categories, s.items).tolist()),
        **{name: value.reshape(-1, len(CRITERIA)) for name, value in flat.items()},
    )


def ppaint_like_planted(seed: int | None = None, **changes: Any) -> tuple[PlantedTruth, ...]:
    """The truth in a line for each criterion; tau is that of two raters' tastes, (2/pi) asin of their correlation."""
    s = _settings(seed, changes)
    tau = 2 / np.pi * np.arcsin(s.spread**2 / (s.spread**2 + s.taste**2))
    truth = f"values of spread {s.spread:.3g}, each rater's own taste of spread {s.taste:.3g} (logits)"
    if s.levels:
        truth += f"; categories from +{s.levels:g} down to -{s.levels:g}"
    mean = "; the mean of the other four"
    return tuple(
        PlantedTruth(f"ppaint/{name}", "thurstone", s.taste, float(tau), truth + mean * (name == "overall"))
        for name in CRITERIA
    )


def _settings(seed: int | None, changes: dict[str, Any]) -> PpaintSettings:
    return PpaintSettings.parse(changes if seed is None else {"seed": seed, **changes}, where="ppaint_like_study")


def _draw(seed: int | None, changes: dict[str, Any]) -> _PpaintDraw:
    s = _settings(seed, changes)
    latent, *rngs = np.random.default_rng(s.seed).spawn(5)
    q, u = draw_latent(s, latent)
    return _PpaintDraw(s, profiles(s), q, q[:, None] + u, tuple(rngs))


def _ids(s: PpaintSettings) -> tuple[list[str], pa.Array, pa.Array]:
    categories = [*NAMES, *(f"category-{number + 1}" for number in range(len(NAMES), s.categories))][: s.categories]
    items, raters = (
        pa.concat_arrays([number_ids(f"{name}-{stem}", count) for name in categories])
        for stem, count in (("", s.items), ("r", s.raters))
    )
    return categories, items, raters


# -- tables ------------------------------------------------------------------------------------------------------


def _comparisons(draw: _PpaintDraw, labels: dict[str, pa.Array]) -> pa.Table:
    s = draw.settings
    design, answers, _, again = draw.rngs
    pairs = draw_pairs(s, design)
    whole = pairs + s.items * np.arange(s.categories)[:, None, None]

    def table(rng: np.random.Generator, where: NDArray[np.bool_], repeat: int) -> pa.Table:
        outcome = draw_comparisons(draw.perceived, pairs, draw.profile, rng)
        columns = {
            "a": to_references(_where_asked(whole[:, None, :, 0, None], where), labels["item"]),
            "b": to_references(_where_asked(whole[:, None, :, 1, None], where), labels["item"]),
            "outcome": to_references(_where_asked(outcome, where), pa.array(OUTCOMES[:3])),
            "left": to_references(np.zeros(int(where.sum()), np.int32), pa.array(LEFTS[:1])),
        }
        return _by(s, where, labels, columns, repeat)

    shape = s.categories, s.raters, s.compared, len(CRITERIA)
    twice = _draw_repeats(shape, REPEATED_PAIRS, again)
    return pa.concat_tables([table(answers, np.ones(shape, bool), 0), table(again, twice, 1)])


def _ratings(draw: _PpaintDraw, labels: dict[str, pa.Array]) -> pa.Table:
    s = draw.settings
    answers, again = draw.rngs[2:]
    item = np.arange(s.categories * s.items).reshape(s.categories, 1, s.items, 1)

    def table(rng: np.random.Generator, where: NDArray[np.bool_], repeat: int) -> pa.Table:
        value = draw_ratings(s, draw.perceived, draw.profile, rng)
        columns = {
            "item": to_references(_where_asked(item, where), labels["item"]),
            "value": pa.array(_where_asked(value, where)),
        }
        return _by(s, where, labels, columns, repeat)

    shape = draw.perceived.shape
    twice = _draw_repeats(shape, REPEATED_ITEMS, again)
    return pa.concat_tables([table(answers, np.ones(shape, bool), 0), table(again, twice, 1)])


def _by(
    s: PpaintSettings, where: NDArray[np.bool_], labels: dict[str, pa.Array], columns: dict[str, pa.Array], repeat: int
) -> pa.Table:
    """`columns` with who answered which criterion."""
    rater = np.arange(s.categories * s.raters).reshape(s.categories, s.raters, 1, 1)
    criterion = np.arange(len(CRITERIA))[None, None, None]
    return pa.table(
        {
            "criterion": to_references(_where_asked(criterion, where), labels["criterion"]),
            "rater": to_references(_where_asked(rater, where), labels["rater"]),
            **columns,
            "repeat": pa.array(np.full(int(where.sum()), repeat, np.int16)),
        }
    )


def _where_asked(values: NDArray[Any], where: NDArray[np.bool_]) -> NDArray[Any]:
    """Values where asked, category by category and within it criterion by criterion."""
    whole = np.broadcast_to(values, where.shape)
    return np.moveaxis(whole, 3, 1)[np.moveaxis(where, 3, 1)]


def _draw_repeats(shape: tuple[int, ...], count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which questions each rater is asked again, under all criteria: `count` of them, or all where there are fewer."""
    place = np.argsort(rng.random(shape[:3]), axis=2)
    return np.broadcast_to((place < count)[..., None], shape)
