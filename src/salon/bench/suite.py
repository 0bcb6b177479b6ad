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

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from pydantic import Field

from salon.errors import BadValue, UnknownReference
from salon.study import Noun, Point, Prompt, Route, ScorerCard, find_route, normalize_text

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

    @property
    def id(self) -> str:
        """Id of the prompt."""
        return self.prompt.id


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
        return frozenset(prompt.id for prompt in self.prompts if prompt.private)

    @cached_property
    def closed(self) -> frozenset[str]:
        """Ids of the private prompts whose text is not at hand: nothing can be generated for them here."""
        return frozenset(prompt.id for prompt in self.prompts if prompt.private and not prompt.prompt.view())

    def tag_of(self, prompt: str) -> Tag:
        """The tag of a prompt."""
        return self._tag_of[prompt]

    @cached_property
    def _tag_of(self) -> dict[str, Tag]:
        tags = {tag.id: tag for tag in self.tags}
        return {prompt.id: tags[prompt.tag] for prompt in self.prompts}


# -- checks: do the parts of a suite fit each other? Every fault is counted --------------------------------------------

ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]|_(?!_)){0,79}")
"""Ids of prompts are names of files in bundles: PROMPT__SEED.png."""
DIGEST = re.compile(r"[0-9a-f]{64}")
SIZE = re.compile(r"([1-9]\d{1,3})x([1-9]\d{1,3})")
_MOST_LISTED = 3


@dataclass(frozen=True)
class SuiteFault:
    """One kind of fault, and where it is."""

    needed: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {len(self.places) - _MOST_LISTED:,} more" if len(self.places) > _MOST_LISTED else ""
        return f"{self.needed}: {len(self.places):,} found ({', '.join(self.places[:_MOST_LISTED])}{more})"


def check_suite(suite: Suite, *, where: str) -> None:
    """BadValue with every fault of the suite, counted."""
    faults = suite_faults(suite)
    if faults:
        more = f" (1 of {len(faults)} faults; salon bench verify lists all)" if len(faults) > 1 else ""
        raise BadValue(
            faults[0].needed + more,
            found=f"{len(faults[0].places):,}: {', '.join(faults[0].places)}",
            where=where,
            remedy="docs/methods/suites.md says what a suite must hold",
        )


def suite_faults(suite: Suite) -> list[SuiteFault]:
    """Everything that does not fit; empty for a good suite."""
    parts = (_prompt_faults, _tag_faults, _point_faults, _route_faults, _card_faults, _reference_faults)
    checks = [(needed, tuple(places)) for part in parts for needed, places in part(suite)]
    return [SuiteFault(needed, places) for needed, places in checks if places]


FaultChecks = Iterator[tuple[str, Iterable[str]]]


def _prompt_faults(suite: Suite) -> FaultChecks:
    prompts = [suite_prompt.prompt for suite_prompt in suite.prompts]
    yield "a suite has at least one prompt", () if prompts else ("no prompt",)
    yield "every prompt has an id of its own", _twice(prompt.id.casefold() for prompt in prompts)
    bad = [repr(prompt.id) for prompt in prompts if not ID.fullmatch(prompt.id)]
    yield "ids of prompts are names of files: letters, digits, hyphens, dots, single underscores", bad
    by_text: dict[str, list[str]] = defaultdict(list)
    for prompt in suite.prompts:
        if text := normalize_text(prompt.prompt.view()):
            by_text[text].append(prompt.id)
    same_texts = [" = ".join(ids) for ids in by_text.values() if len(ids) > 1]
    yield "every prompt stands once, whatever its id", same_texts
    empty = [
        suite_prompt.id
        for suite_prompt in suite.prompts
        if not suite_prompt.private and not suite_prompt.prompt.view().strip()
    ]
    yield "every prompt has a text", empty
    private = [
        suite_prompt.id
        for suite_prompt in suite.prompts
        if suite_prompt.private and not DIGEST.fullmatch(suite_prompt.digest or "")
    ]
    yield "every private prompt has the digest of its text, 64 hex digits", private
    public = [suite_prompt.id for suite_prompt in suite.prompts if suite_prompt.digest and not suite_prompt.private]
    yield "only private prompts have a digest", public


def _tag_faults(suite: Suite) -> FaultChecks:
    ids = {tag.id for tag in suite.tags}
    used = {prompt.tag for prompt in suite.prompts}
    yield "every tag has an id of its own", _twice(tag.id for tag in suite.tags)
    unknown = [f"{prompt.id}: {prompt.tag!r}" for prompt in suite.prompts if prompt.tag not in ids]
    yield "every prompt has a tag of tags.toml", unknown
    yield "every tag has prompts", [tag.id for tag in suite.tags if tag.id not in used]
    clash = sorted(ids & {tag.group for tag in suite.tags if tag.group != tag.id})
    yield "a tag and a group are not called the same", clash


def _point_faults(suite: Suite) -> FaultChecks:
    prompt_ids = {prompt.id for prompt in suite.prompts}
    prompts_with_points = {point.prompt for point in suite.points}
    yield "every point has an id of its own", _twice(point.id for point in suite.points)
    strangers = [f"{point.id}: {point.prompt!r}" for point in suite.points if point.prompt not in {None, *prompt_ids}]
    yield "every point is about a prompt of the suite", strangers
    bare = (
        []
        if None in prompts_with_points
        else [prompt.id for prompt in suite.prompts if prompt.id not in prompts_with_points]
    )
    yield "every prompt has a point", bare


def _route_faults(suite: Suite) -> FaultChecks:
    yield "every point has a route", sorted({_no_route(point, suite) for point in suite.points} - {""})
    yield "every tag has one route", _twice(route.tag for route in suite.routes)
    yield "a route names each judge once", [route.tag for route in suite.routes if _twice(route.judges)]
    oracle_routes = [route.tag for route in suite.routes if suite.card.oracle in route.judges]
    yield "an oracle knows how pictures were made, so it answers beside the board and on no route", oracle_routes


def _no_route(point: Point, suite: Suite) -> str:
    try:
        find_route(point, suite.routes)
    except UnknownReference:
        return f"tag {point.tag!r}"
    return ""


def _card_faults(suite: Suite) -> FaultChecks:
    card = suite.card
    summary = ", ".join(f"{name} {weight:g}" for name, weight in card.weights.items())
    wrong = card.weights.keys() != {CAPABILITY, EPS} or min(card.weights.values()) < 0
    wrong = wrong or not math.isclose(sum(card.weights.values()), 1, abs_tol=1e-9)
    yield "weights of capability and eps are at least 0 and sum to 1", (summary or "none",) if wrong else ()
    yield "a size is WIDTHxHEIGHT", () if card.size is None or SIZE.fullmatch(card.size) else (card.size,)
    ids = [rule.id for rule in card.preferences]
    yield "every EPS column has an id of its own", _twice(ids)
    heads = [rule.id for rule in card.preferences if rule.headline]
    yield "one EPS column is the headline", heads or ["none"] if ids and len(heads) != 1 else ()
    nowhere = ids and suite.tags and not any(tag.eps for tag in suite.tags)
    yield "EPS counts for some tag", ids if nowhere else ()
    outdated = [f"{name} {version}" for name, version in card.metrics.items() if METRICS.get(name) != version]
    summary = ", ".join(f"{name} {version}" for name, version in METRICS.items())
    yield f"axes are computed as this Salon does: {summary}", outdated + sorted(METRICS.keys() - card.metrics.keys())


def _reference_faults(suite: Suite) -> FaultChecks:
    reference = suite.reference
    if reference is None:
        return
    expected = suite.hashes.get("prompts.jsonl", reference.prompts)
    mismatch = f"made for {reference.prompts[:16]}, the prompts are {expected[:16]}"
    yield "the reference is for these prompts", () if reference.prompts == expected else (mismatch,)
    yield "the reference has a field of entries", () if reference.field else ("an empty field",)
    yield "every entry of the field stands once", _twice(column.name for column in reference.field)
    columns = [column.id for column in reference.preferences]
    rules = [rule.id for rule in suite.card.preferences]
    yield "the reference has every EPS column once", sorted(set(columns) ^ set(rules)) + _twice(columns)
    eps = {tag.id for tag in suite.tags if tag.eps}
    required = Counter(suite_prompt.id for suite_prompt in suite.prompts if suite_prompt.tag in eps)
    uncovered = []
    for column in reference.preferences:
        has = Counter(point.prompt for point in column.points)
        uncovered += [f"{column.id}: {prompt}" for prompt in sorted((required - has) + (has - required))]
    yield "the reference covers the prompts that count for EPS", uncovered
    broken = [
        f"{column.id}: {point.prompt}"
        for column in reference.preferences
        for point in column.points
        if abs(point.value) > FARTHEST or not 0 <= (point.sigma or 0.0) <= FARTHEST
    ]
    yield f"logits and sigmas of the reference are at most {FARTHEST:g}, and no sigma is below 0", broken
    loose = [column.id for column in reference.preferences if not column.card.is_logit]
    yield "the reference's scorer declares logits", loose


def _twice(names: Iterable[str]) -> list[str]:
    return [f"{name} x{count}" for name, count in Counter(names).items() if count > 1]
