"""A study in the shape of TASTE: simulated designers with its agreement, and nothing hidden about it.

Its law and numbers stand in taste_like.toml, which prove/fit_simulator.py writes. What is added here carries no
signal: briefs, blind generators, sides and seconds of the comparisons, planted repeats.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.collect.simulate.briefs import briefs
from salon.collect.simulate.panel import (
    Labels,
    Panel,
    Planted,
    Rated,
    Sides,
    compared,
    comparisons_table,
    item_ids,
    items_table,
    rankings_table,
    ratings_table,
)
from salon.stats.laws import RankingLaw, expected_tau
from salon.stats.simulate import ratings_from_utilities
from salon.study import Cohort, Criterion, Design, Study, builtin_criterion

GENERATORS = ("Anvil", "Brocade", "Cinder", "Delft")
"""Made-up code-names. No generator is planted as better than another."""
REPEATS = 12
"""Comparisons of each rater and criterion that are asked a second time."""
STEADY = 0.85
"""Chance that a repeated comparison gets the same answer."""
SECONDS = (9.0, 24.0)
"""Median seconds of a cohort's first and last rater for a comparison."""
CONTROLS = "controls"

_NOTE = (
    "Simulated: no person gave these answers. The agreement of each criterion is planted to match a published study of "
    "designers; prompts, raters and generators are made up. See docs/guide/simulate.md."
)


def taste_like_study(seed: int | None = None, controls: bool = False) -> Study:
    """Nine criteria in two cohorts of five raters, 80 prompts of four items each, with flags and planted repeats.

    Every rater compared the six pairs of every prompt of a criterion; their ranking is stored beside the comparisons
    it comes from. `controls` adds a cohort of random raters and one of factions, to see what a check says of them.
    """
    plan = _plan()
    laws = plan["criterion"] + (plan["control"] if controls else [])
    cohorts = plan["cohort"] + ([_control_cohort(plan)] if controls else [])
    # One stream for each part and criterion, so that the controls change nothing in the nine criteria.
    parts = np.random.default_rng(plan["seed"] if seed is None else seed).spawn(5)
    text, blind, order, side, flag = (part.spawn(len(laws)) for part in parts)
    prompts = _prompt_ids(laws, plan["prompts"])
    raters = [rater for cohort in cohorts for rater in cohort["raters"]]
    criteria = [_criterion(law) for law in laws] + [builtin_criterion(plan["flag"][0]["id"])]
    prompt_ids = pa.array([id for ids in prompts for id in ids])
    items = item_ids(prompt_ids, plan["items"])
    labels = Labels(pa.array([criterion.id for criterion in criteria]), pa.array(raters), items)
    panels = [_panel(number, law, cohorts, raters, plan, order[number]) for number, law in enumerate(laws)]
    return Study.build(
        plan["name"],
        criteria,
        tables={
            "prompts": pa.concat_tables([briefs(ids, rng=rng) for ids, rng in zip(prompts, text)]),
            "items": items_table(prompt_ids, items, _blind(panels, blind), GENERATORS),
            "raters": _raters_table(cohorts),
            "rankings": rankings_table(panels, labels),
            "comparisons": _comparisons(panels, labels, side),
            "ratings": ratings_table(_flags(plan, panels, len(laws), flag), labels),
        },
        cohorts=tuple(Cohort(id=c["id"], protocol="compare", view=c["view"], note=c["planted"]) for c in cohorts),
        design=Design(kind="complete", order_randomized=True, note="all pairs of a prompt by every rater of a cohort"),
        simulated=True,
        note=_NOTE,
    )


def taste_like_truth(controls: bool = False) -> tuple[Planted, ...]:
    """What is planted in each criterion of the study; flags have no tau and are left out."""
    plan = _plan()
    found = []
    for law in plan["criterion"] + (plan["control"] if controls else []):
        pattern = next((c["pattern"] for c in plan["cohort"] if c["id"] == law.get("cohort")), ())
        tau = expected_tau(_law(law, pattern), 5, plan["items"])
        found.append(Planted(law["id"], law["law"], law.get("noise"), tau, law["planted"]))
    return tuple(found)


@cache
def _plan() -> dict[str, Any]:
    return tomllib.loads((resources.files("salon.collect.simulate") / "taste_like.toml").read_text(encoding="utf-8"))


def _control_cohort(plan: dict[str, Any]) -> dict[str, Any]:
    raters = [f"control-{'ABCDE'[number]}" for number in range(plan["control"][0]["raters"])]
    return {"id": CONTROLS, "raters": raters, "view": [], "planted": "raters for criteria without a shared order"}


def _criterion(law: dict[str, Any]) -> Criterion:
    if "cohort" in law:
        return builtin_criterion(law["id"])
    return Criterion(id=law["id"], name=law["id"].replace("/", ": ").capitalize(), rubric=law["planted"])


def _prompt_ids(laws: Sequence[dict[str, Any]], each: int) -> list[list[str]]:
    """mood-01, mood-02, ...: every criterion has prompts of its own."""
    names = [law["id"].removeprefix("taste/").replace("/", "-") for law in laws]
    return [[f"{name}-{number + 1:02}" for number in range(each)] for name in names]


def _blind(panels: Sequence[Panel], rngs: Sequence[np.random.Generator]) -> NDArray[np.int32]:
    """The generator of every item, in random order within a prompt: an item's id does not give it away."""
    rows = [np.tile(np.arange(p.shape[2], dtype=np.int32), (p.shape[0], 1)) for p in panels]
    return np.concatenate([rng.permuted(row, axis=1).ravel() for row, rng in zip(rows, rngs)])


def _raters_table(cohorts: Sequence[dict[str, Any]]) -> pa.Table:
    rows = [(rater, cohort["id"]) for cohort in cohorts for rater in cohort["raters"]]
    return pa.table({"id": [rater for rater, _ in rows], "cohort": [cohort for _, cohort in rows]})


# -- orders and comparisons --------------------------------------------------------------------------------------


def _law(law: dict[str, Any], pattern: Sequence[float] = ()) -> RankingLaw:
    shares = tuple(law.get("sizes", (0.5, 0.5)))
    return RankingLaw(law["law"], law.get("noise", 0.0), pattern=tuple(pattern), shares=shares)


def _panel(
    number: int,
    law: dict[str, Any],
    cohorts: Sequence[dict[str, Any]],
    raters: list[str],
    plan: dict[str, Any],
    rng: np.random.Generator,
) -> Panel:
    cohort = next(cohort for cohort in cohorts if cohort["id"] == law.get("cohort", CONTROLS))
    who = np.array([raters.index(rater) for rater in cohort["raters"]], np.int32)
    if law.get("redraw"):
        rng = rng.spawn(law["redraw"])[-1]
    ranks = _law(law, cohort.get("pattern", ())).draw(plan["prompts"], len(who), plan["items"], rng=rng)
    return Panel(number, who, number * plan["prompts"] * plan["items"], ranks)


def _comparisons(panels: Sequence[Panel], labels: Labels, rngs: Sequence[np.random.Generator]) -> pa.Table:
    """The comparisons behind the orders, and after them the planted repeats."""
    tables = [_asked_and_again(panel, labels, rng) for panel, rng in zip(panels, rngs)]
    return pa.concat_tables([*(first for first, _ in tables), *(again for _, again in tables)])


def _asked_and_again(panel: Panel, labels: Labels, rng: np.random.Generator) -> tuple[pa.Table, pa.Table]:
    """All comparisons of one criterion, and those of them that every rater met a second time."""
    side = compared(panel, rng=rng)
    first = comparisons_table([panel], [side], labels, [_seconds(panel, rng)])
    again = comparisons_table([panel], [_again(side, rng)], labels, [_seconds(panel, rng)]).take(_chosen(side, rng))
    zero, one = (pa.array(np.full(len(table), repeat, np.int16)) for repeat, table in enumerate((first, again)))
    return first.append_column("repeat", zero), again.append_column("repeat", one)


def _seconds(panel: Panel, rng: np.random.Generator) -> NDArray[np.float64]:
    """Log-normal about each rater's own pace, a third longer for neighbours in the rater's order."""
    one, other = np.triu_indices(panel.shape[2], 1)
    near = np.abs(panel.ranks[..., one] - panel.ranks[..., other]) == 1
    pace = np.geomspace(*SECONDS, panel.shape[1])[:, None]
    values: NDArray[np.float64] = np.round(pace * np.where(near, 4 / 3, 1.0) * rng.lognormal(0.0, 0.5, near.shape), 1)
    return values


def _again(side: Sides, rng: np.random.Generator) -> Sides:
    """The same questions a second time: sides drawn afresh, a share of the answers turned round."""
    turned = rng.random(side.outcome.shape) >= STEADY
    left = rng.integers(0, 2, side.left.shape, dtype=np.int8)
    return Sides(left, np.where(turned, 1 - side.outcome, side.outcome).astype(np.int8))


def _chosen(side: Sides, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows of a criterion's comparisons that are asked again: REPEATS of each rater."""
    rows: NDArray[np.int64] = np.arange(side.outcome.size).reshape(side.outcome.shape)
    drawn = [rng.choice(rows[:, rater].ravel(), REPEATS, replace=False) for rater in range(rows.shape[1])]
    return np.sort(drawn, axis=1).ravel()


# -- flags -------------------------------------------------------------------------------------------------------


def _flags(
    plan: dict[str, Any], panels: Sequence[Panel], criterion: int, rngs: Sequence[np.random.Generator]
) -> list[Rated]:
    """Hallucination flags on the items of the two preference criteria."""
    ids = [law["id"] for law in plan["criterion"]]
    return [_flagged(flag, panels[ids.index(flag["on"])], criterion, rng) for flag, rng in zip(plan["flag"], rngs)]


def _flagged(flag: dict[str, Any], panel: Panel, criterion: int, rng: np.random.Generator) -> Rated:
    prompts, raters, items = panel.shape
    settings = {"offset": flag["offset"], "scale": flag["stretch"], "noise": flag["noise"]}
    utilities = rng.standard_normal(prompts * items)
    values = ratings_from_utilities(utilities, raters, flag["thresholds"], **settings, rng=rng)
    return Rated(criterion, panel.raters, panel.first_item, values)
