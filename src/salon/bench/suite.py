"""What a benchmark is made of: prompts with tags, points to tick, routes of judges, rules, and a frozen reference.

SUITE/suite.toml          the card: name, version, licence, images a prompt, how axes are computed
SUITE/tags.toml           [[tag]] tables: id, group, name, whether preference counts there
SUITE/prompts.jsonl       one prompt a line, with its tag
SUITE/points.jsonl        one point a line: what must be so in a picture of its prompt
SUITE/routes.toml         which judges answer which points
SUITE/reference.json      scores of a field of entries, frozen; absent before `salon bench freeze`
SUITE/suite.lock          the hash of every file above, and of all together; absent before freezing
private.jsonl             texts of private prompts: kept by the suite's keeper elsewhere, never published
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from pydantic import Field

from salon.study.noun import Noun
from salon.study.point import Point, Route
from salon.study.prompt import Prompt
from salon.study.scorer import ScorerCard

FORMAT: Final = "salon.suite/1"
CAPABILITY, EPS, OVERALL = "capability", "eps", "overall"
METRICS: dict[str, int] = {CAPABILITY: 1, EPS: 1, OVERALL: 1}
"""Versions of how each axis is computed; raised when the same answers would give another number."""
FARTHEST = 1e9
"""No logit or sigma lies farther out: differences beyond it are a broken scorer's, and would overflow."""


class Tag(Noun):
    """A kind of task, under one of the taxonomy's groups."""

    id: str = Field(min_length=1)
    group: str = Field(min_length=1)
    name: str = Field(min_length=1)
    eps: bool = True
    """Whether preference is the right tool here; where not, its prompts count for Capability only."""
    why: str = ""
    """Why preference is not."""


class SuitePrompt(Noun):
    """A prompt of a suite. A private one whose text is not at hand has only its digest."""

    prompt: Prompt
    tag: str
    private: bool = False
    digest: str | None = None
    """Of a private prompt: SHA-256 of a salt, its text and its points, which shows later that they never changed."""


class PreferenceRule(Noun):
    """A scorer whose logits make one EPS column; the headline is the one that enters Overall."""

    id: str = Field(min_length=1)
    """Name of the column: 'eps', or 'eps-color-harmony'."""
    title: str = "EPS"
    criterion: str | None = None
    """What it speaks about, in the words of the scorer."""
    headline: bool = True


class SuiteCard(Noun):
    """Everything about a suite but its prompts."""

    format: Literal["salon.suite/1"] = FORMAT
    name: str = Field(min_length=1, pattern=r"^[a-z0-9][a-z0-9._-]*$")
    version: int = Field(default=1, ge=1)
    title: str
    about: str = ""
    licence: str = ""
    """Of prompts and points."""
    image_licences: tuple[str, ...] = ()
    """Licences that pictures of an entry may have; any that is stated where none are named."""
    images: int = Field(default=1, ge=1, le=1000)
    """Pictures of each prompt, with seeds first_seed, first_seed + 1, ..."""
    first_seed: int = Field(default=0, ge=0)
    size: str | None = None
    """Width x height every picture must have; None leaves it to the generator."""
    passes: Literal["all", "share"] = "all"
    """A picture passes when all its points hold (ImageBench), or counts with the share that does."""
    preferences: tuple[PreferenceRule, ...] = ()
    integrate: bool = False
    """EPS integrates over the scorer's sigma, instead of taking its mean for certain as ImageBench does."""
    weights: dict[str, float] = Field(default_factory=lambda: {CAPABILITY: 0.5, EPS: 0.5})
    """Of the axes in Overall."""
    level: float = Field(default=0.95, gt=0, lt=1)
    interval: Literal["score", "bootstrap"] = "score"
    """Score interval over prompts, which covers at its level also near 0 and 100, or the percentile bootstrap."""
    draws: int = Field(default=10_000, ge=100)
    seed: int = 0
    metrics: dict[str, int] = Field(default_factory=lambda: dict(METRICS))
    oracle: str | None = None
    """Name of a judge that knows how pictures were made: shown beside the board, never on it."""


class ReferencePoint(Noun):
    """What a prompt is measured against."""

    prompt: str
    value: float
    """The median of the field's logits; each entry counts with its mean over pictures."""
    sigma: float | None = None
    """The median of the field's sigmas, where the scorer states them."""
    n: int
    """Entries with a picture for it."""


class PreferenceReference(Noun):
    """The frozen reference of one EPS column."""

    id: str
    scorer: str
    """Name of the scorer."""
    signature: str
    """Its signature when the reference was frozen; scores under another one are refused."""
    card: ScorerCard
    points: tuple[ReferencePoint, ...]


class FieldEntry(Noun):
    """An entry of the baseline field: its name, and the hash of its pictures and scores."""

    name: str
    digest: str


class Reference(Noun):
    """Everything EPS is measured against, computed once."""

    format: Literal["salon.reference/1"] = "salon.reference/1"
    prompts: str
    """Hash of the prompts it was made for; another suite's reference is refused by it."""
    field: tuple[FieldEntry, ...]
    preferences: tuple[PreferenceReference, ...]
    note: str = ""
    """What the scorer is and was trained on, in one sentence, for the method page."""


@dataclass(frozen=True)
class Suite:
    """An opened suite; `hash` is that of all its frozen files together."""

    card: SuiteCard
    tags: tuple[Tag, ...]
    prompts: tuple[SuitePrompt, ...]
    points: tuple[Point, ...]
    routes: tuple[Route, ...]
    reference: Reference | None = None
    hash: str = ""
    hashes: dict[str, str] = field(default_factory=dict)
    """SHA-256 of every file, by its name."""
    frozen: bool = False

    @property
    def seeds(self) -> range:
        """Seeds of the pictures of every prompt."""
        return range(self.card.first_seed, self.card.first_seed + self.card.images)

    @cached_property
    def private(self) -> frozenset[str]:
        """Ids of the prompts whose texts and pictures are never published."""
        return frozenset(one.prompt.id for one in self.prompts if one.private)

    @cached_property
    def closed(self) -> frozenset[str]:
        """Ids of the private prompts whose text is not at hand: nothing can be generated for them here."""
        return frozenset(one.prompt.id for one in self.prompts if one.private and not one.prompt.view())

    def tag_of(self, prompt: str) -> Tag:
        """The tag of a prompt."""
        return self._tag_of[prompt]

    @cached_property
    def _tag_of(self) -> dict[str, Tag]:
        tags = {tag.id: tag for tag in self.tags}
        return {one.prompt.id: tags[one.tag] for one in self.prompts}
