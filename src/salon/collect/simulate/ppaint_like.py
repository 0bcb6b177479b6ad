"""A matched study in the shape of PPaint: the same simulated experts compare and rate the same paintings.

Three categories of 50 items under five criteria, five raters each; 612 of the 1,225 pairs of a category, the same for
all its raters and criteria. The law stands in ppaint_law.py, its numbers in ppaint_like.toml, fixed beforehand by
prove/fit_ppaint.py from published figures of agreement and scale use, never from a result of fusion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.collect.simulate.panel import Planted, numbered, references
from salon.collect.simulate.ppaint_law import (
    CRITERIA,
    Floats,
    PpaintSettings,
    Profiles,
    draw_comparisons,
    draw_latent,
    draw_pairs,
    draw_ratings,
    expected_ratings,
    plan,
    profiles,
    score,
    tiers,
)
from salon.study import Cohort, Design, Study, builtin_criterion
from salon.study.views import LEFTS, OUTCOMES

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
class _Drawn:
    """The parts that study and truth share."""

    settings: PpaintSettings
    profile: Profiles
    q: Floats
    seen: Floats
    rngs: tuple[np.random.Generator, ...]
    """For design, comparisons, ratings and repeats."""


def ppaint_like_study(seed: int | None = None, **changes: Any) -> Study:
    """The study. `changes` are fields of PpaintSettings (categories, items, pairs, raters, spread, taste, ...)."""
    drawn = _draw(seed, changes)
    s = drawn.settings
    categories, items, raters = _ids(s)
    criteria = [builtin_criterion(f"ppaint/{name}") for name in CRITERIA]
    labels = {"criterion": pa.array([one.id for one in criteria]), "rater": raters, "item": items}
    return Study.build(
        plan()["name"],
        criteria,
        tables={
            "items": pa.table(
                {
                    "id": items,
                    "category": references(np.repeat(np.arange(s.categories), s.items), pa.array(categories)),
                    "tier": references(np.tile(tiers(s), s.categories), pa.array(TIERS)),
                }
            ),
            "raters": pa.table({"id": raters, "cohort": np.repeat(categories, s.raters)}),
            "comparisons": _comparisons(drawn, labels),
            "ratings": _ratings(drawn, labels),
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
    drawn = _draw(seed, changes)
    s = drawn.settings
    categories, items, _ = _ids(s)
    panel = drawn.seen.mean(axis=1)
    offset, gain = (value[..., None, None] for value in (drawn.profile.offset, drawn.profile.gain))
    rated = expected_ratings(drawn.seen, offset, gain, steepness=s.steepness, noise=s.rating_noise).mean(axis=1)
    flat = {"latent": drawn.q, "panel_latent": panel, "panel_rating": rated}
    flat |= {"score": score(s, drawn.q), "panel_score": score(s, panel)}
    return PpaintTruth(
        items=tuple(items.to_pylist()),
        criteria=tuple(f"ppaint/{name}" for name in CRITERIA),
        category=tuple(np.repeat(categories, s.items).tolist()),
        **{name: value.reshape(-1, len(CRITERIA)) for name, value in flat.items()},
    )


def ppaint_like_planted(seed: int | None = None, **changes: Any) -> tuple[Planted, ...]:
    """The truth in a line for each criterion; tau is that of two raters' tastes, (2/pi) asin of their correlation."""
    s = _settings(seed, changes)
    tau = 2 / np.pi * np.arcsin(s.spread**2 / (s.spread**2 + s.taste**2))
    truth = f"values of spread {s.spread:.3g}, each rater's own taste of spread {s.taste:.3g} (logits)"
    if s.levels:
        truth += f"; categories from +{s.levels:g} down to -{s.levels:g}"
    mean = "; the mean of the other four"
    return tuple(
        Planted(f"ppaint/{name}", "thurstone", s.taste, float(tau), truth + mean * (name == "overall"))
        for name in CRITERIA
    )


def _settings(seed: int | None, changes: dict[str, Any]) -> PpaintSettings:
    return PpaintSettings.parse(changes if seed is None else {"seed": seed, **changes}, where="ppaint_like_study")


def _draw(seed: int | None, changes: dict[str, Any]) -> _Drawn:
    s = _settings(seed, changes)
    latent, *rngs = np.random.default_rng(s.seed).spawn(5)
    q, u = draw_latent(s, latent)
    return _Drawn(s, profiles(s), q, q[:, None] + u, tuple(rngs))


def _ids(s: PpaintSettings) -> tuple[list[str], pa.Array, pa.Array]:
    categories = [*NAMES, *(f"category-{number + 1}" for number in range(len(NAMES), s.categories))][: s.categories]
    items, raters = (
        pa.concat_arrays([numbered(f"{name}-{stem}", count) for name in categories])
        for stem, count in (("", s.items), ("r", s.raters))
    )
    return categories, items, raters


# -- tables ------------------------------------------------------------------------------------------------------


def _comparisons(drawn: _Drawn, labels: dict[str, pa.Array]) -> pa.Table:
    s = drawn.settings
    design, answers, _, again = drawn.rngs
    pairs = draw_pairs(s, design)
    whole = pairs + s.items * np.arange(s.categories)[:, None, None]

    def table(rng: np.random.Generator, asked: NDArray[np.bool_], repeat: int) -> pa.Table:
        outcome = draw_comparisons(drawn.seen, pairs, drawn.profile, rng)
        columns = {
            "a": references(_chosen(whole[:, None, :, 0, None], asked), labels["item"]),
            "b": references(_chosen(whole[:, None, :, 1, None], asked), labels["item"]),
            "outcome": references(_chosen(outcome, asked), pa.array(OUTCOMES[:3])),
            "left": references(np.zeros(int(asked.sum()), np.int32), pa.array(LEFTS[:1])),
        }
        return _by(s, asked, labels, columns, repeat)

    shape = s.categories, s.raters, s.compared, len(CRITERIA)
    twice = _some(shape, REPEATED_PAIRS, again)
    return pa.concat_tables([table(answers, np.ones(shape, bool), 0), table(again, twice, 1)])


def _ratings(drawn: _Drawn, labels: dict[str, pa.Array]) -> pa.Table:
    s = drawn.settings
    answers, again = drawn.rngs[2:]
    item = np.arange(s.categories * s.items).reshape(s.categories, 1, s.items, 1)

    def table(rng: np.random.Generator, asked: NDArray[np.bool_], repeat: int) -> pa.Table:
        value = draw_ratings(s, drawn.seen, drawn.profile, rng)
        columns = {"item": references(_chosen(item, asked), labels["item"]), "value": pa.array(_chosen(value, asked))}
        return _by(s, asked, labels, columns, repeat)

    shape = drawn.seen.shape
    twice = _some(shape, REPEATED_ITEMS, again)
    return pa.concat_tables([table(answers, np.ones(shape, bool), 0), table(again, twice, 1)])


def _by(
    s: PpaintSettings, asked: NDArray[np.bool_], labels: dict[str, pa.Array], columns: dict[str, pa.Array], repeat: int
) -> pa.Table:
    """`columns` with who answered which criterion."""
    rater = np.arange(s.categories * s.raters).reshape(s.categories, s.raters, 1, 1)
    criterion = np.arange(len(CRITERIA))[None, None, None]
    return pa.table(
        {
            "criterion": references(_chosen(criterion, asked), labels["criterion"]),
            "rater": references(_chosen(rater, asked), labels["rater"]),
            **columns,
            "repeat": pa.array(np.full(int(asked.sum()), repeat, np.int16)),
        }
    )


def _chosen(values: NDArray[Any], asked: NDArray[np.bool_]) -> NDArray[Any]:
    """Values where asked, category by category and within it criterion by criterion."""
    whole = np.broadcast_to(values, asked.shape)
    return np.moveaxis(whole, 3, 1)[np.moveaxis(asked, 3, 1)]


def _some(shape: tuple[int, ...], count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which questions each rater is asked again, under all criteria: `count` of them, or all where there are fewer."""
    place = np.argsort(rng.random(shape[:3]), axis=2)
    return np.broadcast_to((place < count)[..., None], shape)
