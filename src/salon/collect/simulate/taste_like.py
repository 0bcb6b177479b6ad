"""A study in the shape of TASTE: simulated designers with its agreement.

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

from salon.collect.simulate.panel import (
    PanelComparisons,
    PlantedTruth,
    SimulatedPanel,
    SimulatedRatings,
    StudyIds,
    comparisons_table,
    item_ids,
    items_table,
    panel_comparisons,
    rankings_table,
    ratings_table,
)
from salon.stats import RankingLaw, expected_tau, ratings_from_utilities
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
    cohorts = list(plan["cohort"])
    if controls:
        names = [f"control-{'ABCDE'[number]}" for number in range(plan["control"][0]["raters"])]
        note = "raters for criteria without a shared order"
        cohorts.append({"id": CONTROLS, "raters": names, "view": [], "planted": note})
    # One stream for each part and criterion, so that the controls change nothing in the nine criteria.
    parts = np.random.default_rng(plan["seed"] if seed is None else seed).spawn(5)
    text, blind, order, side, flag = (part.spawn(len(laws)) for part in parts)
    each = plan["prompts"]
    names = [law["id"].removeprefix("taste/").replace("/", "-") for law in laws]
    prompts = [[f"{name}-{number + 1:02}" for number in range(each)] for name in names]
    raters = [rater for cohort in cohorts for rater in cohort["raters"]]
    criteria = [_criterion(law) for law in laws] + [builtin_criterion(plan["flag"][0]["id"])]
    prompt_ids = pa.array([id for ids in prompts for id in ids])
    items = item_ids(prompt_ids, plan["items"])
    labels = StudyIds(pa.array([criterion.id for criterion in criteria]), pa.array(raters), items)
    panels = [_panel(number, law, cohorts, raters, plan, order[number]) for number, law in enumerate(laws)]
    rows = [(rater, cohort["id"]) for cohort in cohorts for rater in cohort["raters"]]
    raters_table = pa.table({"id": [rater for rater, _ in rows], "cohort": [cohort for _, cohort in rows]})
    compared = [_comparisons_and_repeats(panel, labels, rng) for panel, rng in zip(panels, side)]
    ids = [law["id"] for law in plan["criterion"]]
    flags = [
        _flag_ratings(kind, panels[ids.index(kind["on"])], len(laws), rng) for kind, rng in zip(plan["flag"], flag)
    ]
    return Study.build(
        plan["name"],
        criteria,
        tables={
            "prompts": pa.concat_tables([draw_briefs(ids, rng=rng) for ids, rng in zip(prompts, text)]),
            "items": items_table(prompt_ids, items, _blind(panels, blind), GENERATORS),
            "raters": raters_table,
            "rankings": rankings_table(panels, labels),
            "comparisons": pa.concat_tables([*(first for first, _ in compared), *(again for _, again in compared)]),
            "ratings": ratings_table(flags, labels),
        },
        cohorts=tuple(Cohort(id=c["id"], protocol="compare", view=c["view"], note=c["planted"]) for c in cohorts),
        design=Design(kind="complete", order_randomized=True, note="all pairs of a prompt by every rater of a cohort"),
        simulated=True,
        note=_NOTE,
    )


def taste_like_truth(controls: bool = False) -> tuple[PlantedTruth, ...]:
    """What is planted in each criterion of the study; flags have no tau and are left out."""
    plan = _plan()
    truths = []
    for law in plan["criterion"] + (plan["control"] if controls else []):
        pattern = next((c["pattern"] for c in plan["cohort"] if c["id"] == law.get("cohort")), ())
        tau = expected_tau(_law(law, pattern), 5, plan["items"])
        truths.append(PlantedTruth(law["id"], law["law"], law.get("noise"), tau, law["planted"]))
    return tuple(truths)


@cache
def _plan() -> dict[str, Any]:
    return tomllib.loads((resources.files("salon.collect.simulate") / "taste_like.toml").read_text(encoding="utf-8"))


def _criterion(law: dict[str, Any]) -> Criterion:
    if "cohort" in law:
        return builtin_criterion(law["id"])
    return Criterion(id=law["id"], name=law["id"].replace("/", ": ").capitalize(), rubric=law["planted"])


def _blind(panels: Sequence[SimulatedPanel], rngs: Sequence[np.random.Generator]) -> NDArray[np.int32]:
    """The generator of every item, in random order within a prompt: an item's id does not give it away."""
    rows = [np.tile(np.arange(p.shape[2], dtype=np.int32), (p.shape[0], 1)) for p in panels]
    return np.concatenate([rng.permuted(row, axis=1).ravel() for row, rng in zip(rows, rngs)])


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
) -> SimulatedPanel:
    cohort = next(cohort for cohort in cohorts if cohort["id"] == law.get("cohort", CONTROLS))
    who = np.array([raters.index(rater) for rater in cohort["raters"]], np.int32)
    if law.get("redraw"):
        rng = rng.spawn(law["redraw"])[-1]
    ranks = _law(law, cohort.get("pattern", ())).draw(plan["prompts"], len(who), plan["items"], rng=rng)
    return SimulatedPanel(number, who, number * plan["prompts"] * plan["items"], ranks)


def _comparisons_and_repeats(
    panel: SimulatedPanel, labels: StudyIds, rng: np.random.Generator
) -> tuple[pa.Table, pa.Table]:
    """All comparisons of one criterion, and those of them that every rater met a second time."""
    side = panel_comparisons(panel, rng=rng)
    first = comparisons_table([panel], [side], labels, [_seconds(panel, rng)])
    rows: NDArray[np.int64] = np.arange(side.outcome.size).reshape(side.outcome.shape)
    chosen = [rng.choice(rows[:, rater].ravel(), REPEATS, replace=False) for rater in range(rows.shape[1])]
    repeated_rows = np.sort(chosen, axis=1).ravel()
    turned = rng.random(side.outcome.shape) >= STEADY
    left = rng.integers(0, 2, side.left.shape, dtype=np.int8)
    repeats = PanelComparisons(left, np.where(turned, 1 - side.outcome, side.outcome).astype(np.int8))
    again = comparisons_table([panel], [repeats], labels, [_seconds(panel, rng)]).take(repeated_rows)
    zero, second = (pa.array(np.full(len(table), repeat, np.int16)) for repeat, table in enumerate((first, again)))
    return first.append_column("repeat", zero), again.append_column("repeat", second)


def _seconds(panel: SimulatedPanel, rng: np.random.Generator) -> NDArray[np.float64]:
    """Log-normal about each rater's own pace, a third longer for neighbours in the rater's order."""
    first, second = np.triu_indices(panel.shape[2], 1)
    near = np.abs(panel.ranks[..., first] - panel.ranks[..., second]) == 1
    pace = np.geomspace(*SECONDS, panel.shape[1])[:, None]
    values: NDArray[np.float64] = np.round(pace * np.where(near, 4 / 3, 1.0) * rng.lognormal(0.0, 0.5, near.shape), 1)
    return values


# -- flags -------------------------------------------------------------------------------------------------------


def _flag_ratings(
    flag: dict[str, Any], panel: SimulatedPanel, criterion: int, rng: np.random.Generator
) -> SimulatedRatings:
    prompts, raters, items = panel.shape
    settings = {"offset": flag["offset"], "scale": flag["stretch"], "noise": flag["noise"]}
    utilities = rng.standard_normal(prompts * items)
    values = ratings_from_utilities(utilities, raters, flag["thresholds"], **settings, rng=rng)
    return SimulatedRatings(criterion, panel.raters, panel.first_item, values)


# -- design briefs -----------------------------------------------------------------------------------------------------

SUBJECTS: dict[str, tuple[tuple[str, str], ...]] = {
    "poster": (
        ("a jazz evening in a disused tram depot", "Late Tram"),
        ("a travelling exhibition of night photography", "After Nine"),
        ("the autumn season of a puppet theatre", "Strings Attached"),
        ("a public lecture on tides and moons", "The Long Pull"),
        ("a weekend of short documentaries", "Small Hours Film Days"),
        ("a city marathon along the canals", "Forty-Two Bridges"),
    ),
    "flyer": (
        ("a neighbourhood flea market", "Second Sunday"),
        ("the opening of a climbing hall", "Hold On"),
        ("a repair café in the town library", "Mend It Here"),
        ("free swimming lessons for adults", "Never Too Late"),
        ("a seed swap in spring", "Sow and Tell"),
        ("an open rehearsal of a brass band", "Come and Blow"),
    ),
    "logo": (
        ("a two-person bicycle workshop", "Spoke & Sons"),
        ("a bakery that only sells rye", "Rugbrood"),
        ("a studio for restoring globes", "Meridian"),
        ("a small press for travel poetry", "Fareway"),
        ("a ferry line between three islands", "Tern"),
        ("a school of sign painting", "Broad Brush"),
    ),
    "social post": (
        ("a plant shop's winter sale", "Leaf Through January"),
        ("a podcast about forgotten inventions", "Patent Pending"),
        ("a reminder to vote in a student council", "Two Minutes, One Cross"),
        ("a ceramics class with places left", "Four Wheels Free"),
        ("a new flavour of iced tea", "Quince, Since You Ask"),
        ("a museum's late opening", "Open Past Dark"),
    ),
    "book cover": (
        ("a crime novel set in a lighthouse", "The Keeper's Ledger"),
        ("a history of weather maps", "Isobars"),
        ("a cookbook of single-pot suppers", "One Lid"),
        ("an essay on walking at night", "Unlit"),
        ("a children's story about a lost whale", "Bel Takes the Wrong Turn"),
        ("a field guide to city birds", "Gutter and Ledge"),
    ),
    "menu": (
        ("a noodle bar with eight seats", "Eight Bowls"),
        ("a summer kiosk by a lake", "Jetty"),
        ("a wine bar in a former pharmacy", "Dosage"),
        ("a canteen on a film set", "Reel Lunch"),
        ("a vegetarian diner open all night", "Greens Till Dawn"),
        ("a tea house in a botanical garden", "Under Glass"),
    ),
    "packaging label": (
        ("a dark honey from mountain heather", "Ridge"),
        ("a line of plain kitchen soaps", "Saturday Soap"),
        ("a small-batch tonic water", "Bitter Half"),
        ("a coffee roasted on a canal boat", "Slow Lock"),
        ("a chilli sauce in three strengths", "Murmur, Shout, Scream"),
        ("a bar of chocolate with sea salt", "Low Water"),
    ),
    "invitation": (
        ("the thirtieth birthday of a lighthouse keeper", "Thirty Flashes"),
        ("a retirement party for a conductor", "Last Downbeat"),
        ("a wedding in an orchard", "Under the Russets"),
        ("the launch of a wooden boat", "Off the Slip"),
        ("a housewarming on a fifth floor", "No Lift, Come Up"),
        ("an evening for a theatre's patrons", "House Lights"),
    ),
    "banner": (
        ("a regional science fair", "Show Your Working"),
        ("a farmers' market under a viaduct", "Arches Market"),
        ("the centenary of a football club", "A Hundred Saturdays"),
        ("a festival of street music", "Kerbside"),
        ("a campaign for wider pavements", "Room to Stroll"),
        ("a job day of a shipyard", "Learn to Weld"),
    ),
    "business card": (
        ("a piano tuner", "A. Quill, Pianos"),
        ("a landscape gardener", "North Slope Gardens"),
        ("a translator of patents", "Word for Word"),
        ("a mobile dog groomer", "Shear Delight"),
        ("an interior photographer", "Daylight Only"),
        ("a maker of paper models", "Score & Fold"),
    ),
}
LAYOUTS = (
    'The words "{headline}" fill the upper third in large letters',
    '"{headline}" runs up the left edge, turned a quarter',
    '"{headline}" stands small in the exact centre with wide empty margins',
    'The words "{headline}" sit at the bottom right, in two lines',
    'A thin frame holds "{headline}" at the top and the details at the foot',
    '"{headline}" is split by the picture, the first word above it, the rest below',
    'A broad diagonal band carries "{headline}" from corner to corner',
    'A three-column grid keeps "{headline}" in the middle column',
)
PICTURES = (
    "one object is drawn from the side and nothing else",
    "a crowd of small figures walks towards the right",
    "a close photograph, cropped hard, covers the lower half",
    "two hands enter from opposite sides",
    "a row of five simple shapes grows from left to right",
    "a window frame shows a landscape behind the words",
    "a single line draws the subject without lifting the pen",
    "a pattern of repeated tools covers the ground",
)
COLORS = (
    "deep blue ground, cream letters, one orange accent",
    "black on raw brown paper",
    "pale green and pink in flat fields, no gradients",
    "white ground with a single red shape",
    "mustard, petrol and off-white in equal parts",
    "grey photograph under a transparent yellow layer",
    "dark violet fading to night black, silver letters",
    "terracotta and sand, letters left unprinted",
)
MOODS = (
    "calm and confident",
    "playful, a little clumsy on purpose",
    "nocturnal and warm",
    "dry, precise, almost scientific",
    "nostalgic without irony",
    "loud and generous",
    "tender and quiet",
    "brisk, with a wink",
)
STYLES = (
    "like a two-colour riso print with visible grain",
    "in the manner of mid-century travel posters",
    "as clean as a transit map",
    "with the roughness of linocut",
    "like a page from an old field guide",
    "as a collage of torn paper",
    "with the flat geometry of children's blocks",
    "like a still from a film shot at dusk",
)
TYPES = (
    "heavy condensed capitals",
    "a sharp high-contrast serif",
    "rounded letters with open counters",
    "a typewriter face in one size only",
    "hand-painted script with uneven strokes",
    "a neutral grotesque, set tight",
    "slab letters spaced wide",
    "an italic that leans into the picture",
)


def draw_briefs(ids: list[str], *, rng: np.random.Generator) -> pa.Table:
    """A table of prompts, one for each id, with intent, description and aesthetics; kinds of work take turns."""
    count = len(ids)
    kinds = list(SUBJECTS)
    turns = [kinds[number % len(kinds)] for number in range(count)]
    rows = [_brief(kind, rng) for kind, _ in zip(turns, ids)]
    columns = {name: [row[name] for row in rows] for name in ("intent", "description", "aesthetics", "category")}
    return pa.table({"id": ids, **columns})


def _brief(kind: str, rng: np.random.Generator) -> dict[str, str]:
    def one(options: tuple[str, ...]) -> str:
        return options[rng.integers(len(options))]

    subject, headline = SUBJECTS[kind][rng.integers(len(SUBJECTS[kind]))]
    return {
        "category": kind,
        "intent": f"{'An' if kind[0] in 'aeiou' else 'A'} {kind} for {subject}.",
        "description": f"{one(LAYOUTS).format(headline=headline)}; {one(PICTURES)}. Colours: {one(COLORS)}.",
        "aesthetics": f"The mood is {one(MOODS)}, {one(STYLES)}. Lettering: {one(TYPES)}.",
    }
