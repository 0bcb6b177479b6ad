"""Settings of `salon distill label`, and the exact number of calls they make, known before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from salon.errors import BadValue, TooFew
from salon.evaluate import Source
from salon.models import ROLES
from salon.study import Criterion, Noun, Study

if TYPE_CHECKING:
    from salon.fuse import BridgeSettings

LOW, HIGH = 1.0, 5.0
"""The scale where criteria have none of their own."""


class DistillLabelSettings(Noun):
    """How `salon distill label` asks and scores."""

    source: Source = Field(
        "bridge",
        description="bridge: a pool, and sparse placements on its scale; majority: votes on sampled pairs; pointwise: "
        "one question for each item; elo: all pairs.",
    )
    max_calls: int | None = Field(
        None,
        ge=1,
        description="The most calls. bridge: as many opponents as they allow, then a smaller pool; majority: votes on "
        "each pair; pointwise: answers for each item; elo: pairs  [default: the papers' budgets]",
    )
    pool: int = Field(50, ge=2, le=2000, description="bridge: items compared with each other exhaustively (N).")
    opponents: int = Field(10, ge=1, le=2000, description="bridge: pool items that every other item meets (K).")
    both_orders: bool = Field(False, description="bridge, elo: ask every pair twice, each item shown first once.")
    adaptive: bool = Field(False, description="bridge: opponents chosen by what their answers are expected to tell.")
    batch: int = Field(1, ge=1, le=100, description="With --adaptive: opponents asked at once for every item.")
    target_sd: float | None = Field(
        None, gt=0, description="With --adaptive: no more questions about an item this certain, in logits."
    )
    method: Literal["davidson", "bradley-terry", "elo"] | None = Field(
        None, description="bridge, elo: how comparisons become scores  [default: davidson; elo with --source elo]"
    )
    partners: int = Field(1, ge=1, le=1000, description="majority: pairs for each item.")
    votes: int = Field(32, ge=1, le=1000, description="majority: answers for each pair, half of them in each order.")
    answers: int = Field(1, ge=1, le=1000, description="pointwise: answers for each item; their mean is its value.")
    low: float | None = Field(None, description="Lower end of the scale  [default: that of the criteria, else 1]")
    high: float | None = Field(None, description="Upper end of the scale  [default: that of the criteria, else 5]")
    steepness: float = Field(6.0, gt=0, le=50, description="Logits that the range from worst to best item covers.")
    criterion: tuple[str, ...] = Field((), description="Only the criterion with this id (repeatable).")
    category: str | None = Field(None, description="Only items of this category.")
    across: bool = Field(
        False, description="Compare items of different prompts or categories too, so that all share one scale."
    )
    broken: Literal["refuse", "leave-out"] = Field(
        "refuse", description="What to do about pictures that cannot be read: refuse, or leave their items out."
    )
    temperature: float | None = Field(
        None,
        ge=0,
        le=10,
        description="0: the likeliest words, the same every time  [default: 0 where a question is asked once, else 1]",
    )
    max_tokens: int | None = Field(None, ge=1, le=1_000_000, description="The longest answer  [default: 2048]")
    role: str | None = Field(
        None,
        description=f"First line of every question: a sentence, or one of {' and '.join(ROLES)} by name  [default: "
        "design for a single picture, none for a pair]",
    )
    cohort: str | None = Field(None, description="Show the prompt as this cohort saw it.")
    seed: int = Field(42, ge=0, lt=2**31, description="Seed of the pool, opponents, partners and orders.")

    @field_validator("role")
    @classmethod
    def _role_by_name(cls, role: str | None) -> str | None:
        from salon.models import role_sentence

        return None if role is None else role_sentence(role)

    @model_validator(mode="after")
    def _is_possible(self) -> DistillLabelSettings:
        from salon.fuse import BridgeSettings

        if self.source == "bridge":
            BridgeSettings(pool=self.pool, opponents=self.opponents)
        if self.temperature == 0 and self._repeats:
            raise BadValue(
                "answers to one question asked several times need a temperature above 0",
                found="temperature 0",
                remedy="leave --temperature out, or ask every question once",
            )
        return self

    @property
    def _repeats(self) -> bool:
        """Whether a question is asked more than once in the same order."""
        return (self.source == "majority" and self.votes > 2) or (self.source == "pointwise" and self.answers > 1)

    @property
    def orders(self) -> int:
        """Calls for one pair of a bridge."""
        return 2 if self.both_orders else 1

    def criteria(self, study: Study) -> tuple[Criterion, ...]:
        """Those named, or all; no items are compared by a flag unless it is named."""
        if self.source == "pointwise" and not self.criterion:
            return study.criteria
        numbers = study.ranking_criteria(self.criterion) or range(len(study.criteria))
        return tuple(study.criteria[number] for number in numbers)

    def scale(self, study: Study) -> tuple[float, float]:
        """The scale of the labels: given, or that of all criteria asked, or 1 to 5."""
        criteria = self.criteria(study)
        scales = {(criterion.scale.low, criterion.scale.high) for criterion in criteria if criterion.scale is not None}
        own = scales.pop() if len(scales) == 1 else (LOW, HIGH)
        low, high = own[0] if self.low is None else self.low, own[1] if self.high is None else self.high
        if not low < high:
            raise BadValue("--low must lie below --high", found=f"{low:g} and {high:g}")
        return low, high


@dataclass(frozen=True)
class LabelBudget:
    """The plan in numbers for n items: what is asked, and how many calls that makes."""

    items: int
    calls: int
    """Exact where nothing stops early: at most so many with --adaptive."""
    pool: int = 0
    opponents: int = 0
    pairs: int = 0
    """majority, elo: pairs asked."""
    each: int = 1
    """majority: votes on a pair; pointwise: answers for an item; bridge and elo: orders."""

    def words(self) -> str:
        """The sum, in words."""
        if self.pool:
            placed = self.items - self.pool
            sum_ = f"{self.pool * (self.pool - 1) // 2:,} pool pairs + {placed:,} items x {self.opponents} opponents"
            return f"({sum_}) x {self.each} orders" if self.each > 1 else sum_
        if self.pairs:
            return f"{self.pairs:,} pairs x {self.each}"
        return f"{self.items:,} items x {self.each}"


def plan_budget(items: int, settings: DistillLabelSettings) -> LabelBudget:
    """What `settings` ask about so many items; BadValue where --max-calls is too few for anything."""
    from salon.fuse import BridgeSettings, planned_calls

    if items < 2:
        raise TooFew("labels need at least 2 items that may be compared", found=items)
    most, orders, all_pairs = settings.max_calls, settings.orders, items * (items - 1) // 2
    if settings.source == "bridge":
        pool, opponents = min(settings.pool, items), min(settings.opponents, settings.pool, items)
        if most is not None:
            while pool > 2 and pool * (pool - 1) // 2 + (items - pool) > most // orders:
                pool -= 1
            left = most // orders - pool * (pool - 1) // 2
            if left < items - pool:
                raise _too_few(settings, (items - 1) * orders, "a pool of 2 and one opponent for every other item")
            opponents = min(pool, left // (items - pool)) if items > pool else 1
        opponents = min(opponents, pool)
        calls = planned_calls(items, BridgeSettings(pool=pool, opponents=opponents)) * orders
        return LabelBudget(items, calls, pool=pool, opponents=opponents, each=orders)
    if settings.source == "majority":
        pairs, votes = min(items * settings.partners, all_pairs), settings.votes
        if most is not None:
            pairs = min(pairs, most)
            votes = most // pairs
        return LabelBudget(items, pairs * votes, pairs=pairs, each=votes)
    if settings.source == "pointwise":
        each = settings.answers if most is None else most // items
        if each < 1:
            raise _too_few(settings, items, "one question for every item")
        return LabelBudget(items, items * each, each=each)
    pairs = all_pairs if most is None else min(all_pairs, most // orders)
    if pairs < items - 1:
        raise _too_few(settings, (items - 1) * orders, "pairs that join all items")
    return LabelBudget(items, pairs * orders, pairs=pairs, each=orders)


def bridge_settings(settings: DistillLabelSettings, budget: LabelBudget, low: float, high: float) -> BridgeSettings:
    """The bridge that a budget allows."""
    from salon.fuse import BridgeSettings

    return BridgeSettings(
        pool=max(budget.pool, 2),
        opponents=max(budget.opponents, 1),
        both_orders=settings.both_orders,
        adaptive=settings.adaptive,
        batch=settings.batch,
        target_sd=settings.target_sd,
        method=settings.method or ("elo" if settings.source == "elo" else "davidson"),
        low=low,
        high=high,
        steepness=settings.steepness,
        seed=settings.seed,
    )


def _too_few(settings: DistillLabelSettings, least: int, what: str) -> BadValue:
    return BadValue(
        f"--max-calls must be at least {least:,}: {what}",
        found=settings.max_calls,
        remedy="raise it, or label fewer items with --category",
    )
