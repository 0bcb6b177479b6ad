"""What a simulated study is."""

from __future__ import annotations

from math import comb
from typing import Literal

from pydantic import Field, model_validator

from salon.errors import BadValue
from salon.stats import MAX_ITEMS, LawKind
from salon.study import Noun

Protocol = Literal["rankings", "comparisons", "ratings"]


USUAL_TAU = 0.15
"""Agreement planted when none is asked for: what designers reach on whole posters."""


MOST_ENTRIES = 500_000_000
"""Ranked, compared or rated items in one study; a little more than ten gigabytes."""


class SimulateSettings(Noun):
    """A simulated study: its size, its law, and what disturbs the answers."""

    model: LawKind = Field(
        "thurstone",
        description="Law of the orders raters have in mind: random (uniform), one shared order for each prompt "
        "(mallows, plackett_luce, thurstone), or one for each faction.",
    )
    prompts: int = Field(80, ge=1, description="Prompts.")
    items: int = Field(4, ge=2, le=MAX_ITEMS, description="Items of each prompt.")
    raters: int = Field(5, ge=2, description="Raters; each answers every prompt.")
    criteria: int = Field(1, ge=1, description="Criteria, each with a truth of its own, on the same prompts and items.")
    protocol: Protocol = Field("rankings", description="What raters are asked for.")
    tau: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Mean Kendall tau to plant between the raters of a prompt, careless ones included  "
        f"[default: {USUAL_TAU}, unless --parameter is given]",
    )
    parameter: float | None = Field(
        None,
        ge=0,
        description="Instead of --tau: mallows' theta, the noise of thurstone and factions, plackett_luce's spread.",
    )
    factions: tuple[int, ...] = Field(
        (), description="Raters in a faction, one number for each (repeatable)  [default: two halves]"
    )
    careless: int = Field(0, ge=0, description="How many raters, the last ones, answer at random.")
    position_bias: float = Field(
        0.0, ge=0, lt=1, description="Share of comparisons in which a rater takes the left item unseen."
    )
    tie_share: float = Field(0.0, ge=0, lt=1, description="Share of item pairs that a rater leaves tied.")
    levels: int = Field(5, ge=2, le=100, description="Levels of the rating scale, 1 to this.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")

    @model_validator(mode="after")
    def _fit_together(self) -> SimulateSettings:
        for wrong, needed, value, remedy in _conflicts(self):
            if wrong:
                raise BadValue(needed, found=value, remedy=remedy)
        return self


def _conflicts(s: SimulateSettings) -> list[tuple[bool, str, str, str]]:
    """Settings that contradict each other: is it so, what is needed, what was found, what to do."""
    rated = s.protocol == "ratings"
    sized = s.model == "uniform" and (s.tau is not None or s.parameter is not None)
    each = comb(s.items, 2) if s.protocol == "comparisons" else s.items
    entries = s.prompts * s.raters * s.criteria * each
    return [
        (sized, "random raters agree on nothing", "tau or parameter for model uniform", "choose another model"),
        (
            s.tau is not None and s.parameter is not None,
            "agreement is set by tau or by the law's parameter",
            "both",
            "leave one out",
        ),
        (
            bool(s.factions) and s.model != "factions",
            "only the model factions has factions",
            f"factions {s.factions} for model {s.model}",
            "add --model factions",
        ),
        (
            bool(s.factions) and (sum(s.factions) != s.raters or min(s.factions) < 1),
            f"factions of at least one rater that add up to {s.raters} raters are needed",
            f"{s.factions}",
            "name the size of every faction, or change --raters",
        ),
        (
            s.model != "uniform" and s.parameter is None and s.raters - s.careless < 2,
            "at least two attentive raters are needed to plant agreement",
            f"{s.careless} careless of {s.raters}",
            "lower --careless, or raise --raters",
        ),
        (s.careless > s.raters, f"at most {s.raters} raters can be careless", f"{s.careless}", "lower --careless"),
        (
            s.position_bias > 0 and s.protocol != "comparisons",
            "only comparisons have a left side",
            f"position bias for {s.protocol}",
            "add --protocol comparisons",
        ),
        (
            s.tie_share > 0 and rated,
            "ratings tie where they fall on the same level",
            "a tie share",
            "set --levels instead",
        ),
        (
            rated and s.model in ("mallows", "plackett_luce"),
            "ratings need a law of impressions: uniform, thurstone or factions",
            s.model,
            "choose another --model or --protocol",
        ),
        (
            entries > MOST_ENTRIES,
            f"at most {MOST_ENTRIES:,} answers about items fit in one study",
            f"{entries:,}",
            "ask for fewer prompts or raters, or simulate several studies",
        ),
    ]


TRUTH = "true-quality"
