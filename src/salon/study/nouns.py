"""The nouns of a study: prompts, items, raters, criteria, designs, judgments, signatures and scores.

Every noun is frozen, refuses unknown fields, and is validated when it is made.
"""

from __future__ import annotations

import math
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from salon.errors import BadValue, UnknownReference

NumberKind = Literal["text", "number", "count", "percent", "exact", "estimate", "p", "duration", "badge"]


@dataclass(frozen=True)
class Format:
    """How a field is shown: `share: Annotated[float, Format("percent", 1)] = Field(title=...)`."""

    kind: NumberKind
    decimals: int | None = None


class Noun(BaseModel):
    """A frozen record. Unknown fields and wrong types are refused with Salon's own error."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_max_length=1_000_000, allow_inf_nan=False)

    @classmethod
    def parse(cls, record: dict[str, Any], *, where: str | None = None) -> Self:
        """`record` as this noun, or BadValue naming the field, what was found and where."""
        try:
            return cls.model_validate(record)
        except ValidationError as error:
            raise bad_value(error, noun=cls.__name__, where=where) from None

    def record(self) -> dict[str, Any]:
        """The noun as plain JSON types, fields that are None left out."""
        return self.model_dump(mode="json", exclude_none=True)


def bad_value(error: ValidationError, *, noun: str, where: str | None) -> BadValue:
    """pydantic's errors as one of Salon's: the first is named, the rest are counted."""
    faults = error.errors(include_url=False)
    first = faults[0]
    field = ".".join(str(part) for part in first["loc"]) or noun
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return BadValue(
        f"{noun}.{field}: {first['msg']}{more}",
        found=repr(first.get("input")),
        where=where,
        remedy="see docs/data.md for a literal example of every record",
    )


# -- prompts -----------------------------------------------------------------------------------------------------------

Part = Literal["intent", "description", "aesthetics"]
PARTS: tuple[Part, ...] = get_args(Part)


class Prompt(Noun):
    """The text or brief given to a generator: one `text`, or the parts that views are built from."""

    id: str = Field(description="Id of the prompt.")
    text: str | None = Field(default=None, description="Its words; null where it has parts.")
    intent: str | None = Field(default=None, description="What it is for.")
    description: str | None = Field(default=None, description="What is to be seen.")
    aesthetics: str | None = Field(default=None, description="How it is to look.")
    category: str | None = Field(default=None, description="Its category.")

    @model_validator(mode="after")
    def _id_is_not_blank(self) -> Prompt:
        if not self.id.strip():
            raise ValueError("a prompt needs an id that is not blank")
        return self

    def view(self, parts: tuple[Part, ...] = ()) -> str:
        """The exact text shown to a rater who sees `parts` (all of them, or `text`, when none are named).

        Parts are joined by one blank line in the fixed order intent, description, aesthetics, so the same
        prompt and view always give the same bytes, for people and for judges.
        """
        chosen = [part for part in PARTS if part in parts] if parts else list(PARTS)
        texts = [value for part in chosen if (value := getattr(self, part))]
        if parts:
            if len(texts) < len(chosen):
                missing = [part for part in chosen if not getattr(self, part)]
                raise BadValue(
                    f"the view {'+'.join(chosen)} needs these parts of the prompt",
                    found=f"no {', '.join(missing)}",
                    where=f"prompt {self.id!r}",
                    remedy="add the parts or choose another view",
                )
            return "\n\n".join(texts)
        return self.text if self.text is not None else "\n\n".join(texts)


def normalize_text(text: str) -> str:
    """A prompt's text as it is known again elsewhere: NFKC, case folded, white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


# -- items -------------------------------------------------------------------------------------------------------------

Tier = Literal["high", "medium", "low"]
ItemSource = Literal["generated", "photograph"]


class Item(Noun):
    """One image made for one prompt. Only the id is required: sushi have no image, paintings no prompt."""

    id: str = Field(min_length=1)
    prompt: str | None = None
    generator: str | None = None
    image: str | None = None
    """Path inside the study folder, or the content hash of a stored image."""
    category: str | None = None
    tier: Tier | None = None
    """Weak quality tier, where experts gave one."""
    source: ItemSource | None = None


# -- raters ------------------------------------------------------------------------------------------------------------

ProtocolName = Literal["compare", "rank", "rate", "flag", "checklist", "choose"]
RaterKind = Literal["person", "model", "crowd"]


class Rater(Noun):
    """A person or a model: both answer with the same judgments. Or a crowd: people the source cannot tell apart."""

    id: str = Field(min_length=1)
    kind: RaterKind = "person"
    """A crowd may answer a question many times, and no per-rater figure is ever made of it."""
    cohort: str | None = None


class Cohort(Noun):
    """Raters who answered under one protocol, seeing one view of the prompt."""

    id: str = Field(min_length=1)
    protocol: ProtocolName | None = None
    view: tuple[Part, ...] = ()
    note: str | None = None


def describe_model_raters(models: NDArray[np.bool_]) -> list[str]:
    """What a report must say where some of its raters, or all, are models."""
    if not models.any():
        return []
    if models.all():
        return [f"all {len(models)} raters are models: no person gave these answers"]
    return [
        f"{int(models.sum())} of {len(models)} raters are models, whose answers count here as those of people do: "
        "salon judge report tells them apart"
    ]


# -- criteria ----------------------------------------------------------------------------------------------------------


class Scale(Noun):
    """The numbers a rating may take."""

    kind: Literal["interval", "ordinal"] = "interval"
    low: float
    high: float
    step: float | None = None
    """Distance between levels; None when any value between low and high is allowed."""
    labels: tuple[str, ...] = ()
    higher_is_better: bool = True

    @model_validator(mode="after")
    def _levels_make_sense(self) -> Scale:
        if not self.low < self.high:
            raise ValueError(f"a scale needs low < high, found {self.low} and {self.high}")
        if self.step is not None and self.step <= 0:
            raise ValueError(f"a scale's step must be positive, found {self.step}")
        if self.labels and len(self.labels) != len(self.levels):
            raise ValueError(f"{len(self.levels)} levels need as many labels, found {len(self.labels)}")
        return self

    @property
    def levels(self) -> tuple[float, ...]:
        """Every allowed value, or () on a continuous scale."""
        if self.step is None:
            return ()
        count = math.floor((self.high - self.low) / self.step + 1e-9) + 1
        return tuple(self.low + i * self.step for i in range(count))


MOST_FLAG_LEVELS = 10
"""A scale on which more is worse is that of a flag up to this many levels, unless the criterion says what it is."""


class Criterion(Noun):
    """One quality: what it is called, what raters are asked, how a close call is decided."""

    id: str = Field(min_length=1)
    name: str | None = None
    family: str | None = None
    question: str | None = None
    rate_question: str | None = None
    rubric: str | None = None
    paraphrases: tuple[str, ...] = ()
    view: tuple[Part, ...] = ()
    """Parts of the prompt that matter for this criterion; a cohort's own view goes first."""
    scale: Scale | None = None
    kind: Literal["ranking", "flag"] | None = None
    """Whether its answers order items or flag faults; None: by the scale, see `is_flag`."""

    @property
    def is_flag(self) -> bool:
        """Does it flag faults? Said by `kind`, else by the scale: a few levels, more is worse."""
        if self.kind is not None or self.scale is None:
            return self.kind == "flag"
        return not self.scale.higher_is_better and 2 <= len(self.scale.levels) <= MOST_FLAG_LEVELS

    @model_validator(mode="after")
    def _flags_have_levels(self) -> Criterion:
        if self.kind == "flag" and (self.scale is None or len(self.scale.levels) < 2 or self.scale.higher_is_better):
            raise ValueError("a flag needs a scale with a step, and higher_is_better = false")
        return self

    @property
    def title(self) -> str:
        """The name to print."""
        return self.name or self.id


@cache
def builtin_criteria() -> dict[str, Criterion]:
    """The criteria of the papers Salon builds on, in Salon's own words, by id."""
    text = resources.files("salon.study").joinpath("criteria.toml").read_text(encoding="utf-8")
    criteria = [Criterion.parse(record, where="criteria.toml") for record in tomllib.loads(text)["criterion"]]
    return {criterion.id: criterion for criterion in criteria}


def builtin_criterion(id: str) -> Criterion:
    """The built-in criterion `id`, or UnknownReference listing those there are."""
    criteria = builtin_criteria()
    if id not in criteria:
        raise UnknownReference(
            "the id of a built-in criterion is needed",
            found=repr(id),
            remedy="one of " + ", ".join(criteria),
        )
    return criteria[id]


def matching_criteria(pattern: str) -> list[Criterion]:
    """One built-in criterion, or all whose id starts with what stands before "..."; UnknownReference for none."""
    if not pattern.endswith("..."):
        return [builtin_criterion(pattern)]
    start = pattern.removesuffix("...")
    family = [criterion for id, criterion in builtin_criteria().items() if id.startswith(start)]
    return family or [builtin_criterion(pattern)]


# -- designs -----------------------------------------------------------------------------------------------------------


class Design(Noun):
    """How questions and raters were chosen. Fixed-R nulls assume that no answer influenced the questions."""

    kind: Literal["complete", "fraction", "adaptive", "merge_ranking", "unknown"] = "unknown"
    """complete: every rater sees every pair or ranks every item of a prompt. fraction: a fixed subset.
    adaptive: later questions depend on earlier answers. merge_ranking: each rater's order was found by
    asking only the pairs a merge sort needs. unknown: the source does not say."""
    stop: Literal["fixed", "until_confidence"] = "fixed"
    """Whether the number of answers was set beforehand or grew until the result looked certain."""
    fraction: float | None = Field(default=None, gt=0, le=1)
    order_randomized: bool | None = None
    note: str | None = None

    @property
    def adaptive(self) -> bool:
        """True when answers influenced which questions were asked, or how many."""
        return self.kind == "adaptive" or self.stop == "until_confidence"

    @property
    def transitive_by_construction(self) -> bool:
        """True when a rater's answers cannot be intransitive whatever the rater thinks."""
        return self.kind == "merge_ranking"


# -- judgments ---------------------------------------------------------------------------------------------------------

Outcome = Literal["a", "b", "tie", "both_bad"]
Left = Literal["a", "b", "unknown"]
Skipped = Literal["broken image", "cannot judge"]


class Judgment(Noun):
    """What all answers share. A skipped judgment has a reason and no answer."""

    criterion: str
    rater: str
    repeat: int = Field(default=0, ge=0, le=32_000)
    """0 for the first time a rater meets a question, 1 for its planted repeat, and so on."""
    rationale: str | None = None
    confidence: float | None = None
    seconds: float | None = Field(default=None, ge=0)
    at: str | None = None
    """When it was given, ISO 8601."""
    skipped: Skipped | None = None


class Comparison(Judgment):
    """Which of two items is better."""

    a: str
    b: str
    outcome: Outcome | None = None
    left: Left = "unknown"
    """Which item was shown on the left. Position bias is only ever computed where this is known."""

    @model_validator(mode="after")
    def _is_an_answer(self) -> Comparison:
        if self.a == self.b:
            raise ValueError("a comparison needs two different items")
        if (self.outcome is None) == (self.skipped is None):
            raise ValueError("a comparison has either an outcome or a reason why it was skipped")
        return self


class Ranking(Judgment):
    """An order of items, best first; equal ranks are ties. Items left out were not ranked."""

    items: tuple[str, ...]
    ranks: tuple[int, ...]
    """1 = best; one per item, never decreasing, equal for ties."""

    @model_validator(mode="after")
    def _is_an_order(self) -> Ranking:
        if len(self.items) != len(self.ranks):
            raise ValueError("a ranking needs one rank for each item")
        if len(set(self.items)) != len(self.items):
            raise ValueError("a ranking names an item twice")
        if any(later < earlier for earlier, later in zip(self.ranks, self.ranks[1:])):
            raise ValueError("a ranking lists items best first: ranks may not decrease")
        if any(rank < 1 for rank in self.ranks):
            raise ValueError("ranks start at 1 (best)")
        if (not self.items) == (self.skipped is None):
            raise ValueError("a ranking has either items or a reason why it was skipped")
        return self

    @property
    def strict(self) -> bool:
        """True when no two items share a rank."""
        return len(set(self.ranks)) == len(self.ranks)


class Rating(Judgment):
    """A number for one item on the criterion's scale. A flag is a rating on an ordinal scale."""

    item: str
    value: float | None = None

    @model_validator(mode="after")
    def _is_an_answer(self) -> Rating:
        if (self.value is None) == (self.skipped is None):
            raise ValueError("a rating has either a value or a reason why it was skipped")
        return self


class Checklist(Judgment):
    """Yes or no to each of several named points about one item; None where a point was not answered."""

    item: str
    points: tuple[str, ...]
    answers: tuple[bool | None, ...]

    @model_validator(mode="after")
    def _is_an_answer(self) -> Checklist:
        if len(self.points) != len(self.answers):
            raise ValueError("a checklist needs one answer (or null) for each point")
        if len(set(self.points)) != len(self.points):
            raise ValueError("a checklist names a point twice")
        if (not self.points) == (self.skipped is None):
            raise ValueError("a checklist has either points or a reason why it was skipped")
        return self


class Choice(Judgment):
    """The best one of n items."""

    items: tuple[str, ...]
    chosen: str | None = None

    @model_validator(mode="after")
    def _is_an_answer(self) -> Choice:
        if len(set(self.items)) != len(self.items) or len(self.items) < 2:
            raise ValueError("a choice needs at least two different items")
        if (self.chosen is None) == (self.skipped is None):
            raise ValueError("a choice has either a chosen item or a reason why it was skipped")
        if self.chosen is not None and self.chosen not in self.items:
            raise ValueError("the chosen item must be one of those shown")
        return self


# -- signatures --------------------------------------------------------------------------------------------------------

Setting = str | int | float | bool | None


def salon_version() -> str:
    """The installed version of Salon."""
    try:
        return version("salon")
    except PackageNotFoundError:  # pragma: no cover - running from an unpacked source tree
        return "unknown"


class Signature(Noun):
    """Printed with every number; the same signature means the same number."""

    method: str = Field(description="What was computed.")
    data: str | None = Field(default=None, description="First twelve hex digits of the content hash of the study.")
    """First twelve hex digits of the content hash of the study or file; all 64 of the SHA-256 of weights."""
    revision: int | None = Field(default=None, description="Revision of the study.")
    settings: dict[str, Setting] = Field(default_factory=dict, description="Every setting in force.")
    seed: int | None = Field(default=None, description="Seed of everything drawn by chance.")
    version: str = Field(default_factory=salon_version, description="Version of Salon.")

    def __str__(self) -> str:
        parts = [self.method]
        if self.data is not None:
            parts.append(f"data:{self.data}" + ("" if self.revision is None else f"@r{self.revision}"))
        parts += [f"{key}:{_plain(value)}" for key, value in sorted(self.settings.items())]
        if self.seed is not None:
            parts.append(f"seed:{self.seed}")
        return "|".join([*parts, f"salon:{self.version}"])


def _plain(value: Setting) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


# -- scores ------------------------------------------------------------------------------------------------------------


class Score(Noun):
    """One value for one item or generator under one criterion."""

    of: str
    criterion: str
    group: str | None = None
    """The prompt, category or study whose items share one scale with it."""
    value: float
    error: float | None = None
    """Standard error; None where the data do not allow one."""
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """How many judgments it rests on."""


class Scores(Noun):
    """Scores on one scale, with the line that reproduces them."""

    scale: str
    """Named in words: 'logit', 'elo', '1-5'."""
    by: Literal["item", "generator"] = "item"
    values: tuple[Score, ...]
    signature: Signature

    @model_validator(mode="after")
    def _each_once(self) -> Scores:
        keys = [(score.of, score.criterion, score.group) for score in self.values]
        if len(set(keys)) != len(keys):
            raise ValueError("scores hold one value for each item (or generator), criterion and group")
        return self
