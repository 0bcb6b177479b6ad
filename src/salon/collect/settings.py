"""Everything a studio can be told, described once: studio.toml, the admin page and the docs read it here.

A studio asks cohorts of raters. A cohort goes through phases in order; each phase has one protocol, its criteria, and
its own design, stop rule and checks. `read_settings` names the TOML key of every mistake.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from salon.collect.settings_phase import Phase
from salon.errors import BadFile, BadValue
from salon.study.noun import Noun
from salon.study.prompt import Part

FILE = "studio.toml"


class Cohort(Noun):
    """Raters who are invited together and asked the same."""

    id: str = Field(min_length=1, max_length=100, description="Name of the cohort, as in the study.")
    raters: int = Field(5, ge=1, le=100_000, description="Raters wanted; it sets the progress bar, nobody is refused.")
    view: tuple[Part, ...] = Field((), description="Parts of the prompt its raters see; none: what criteria ask for.")
    phases: tuple[Phase, ...] = Field(min_length=1, description="What its raters are asked, in this order.")
    note: str | None = Field(None, description="For the owner; raters never see it.")

    @model_validator(mode="after")
    def _phases_differ(self) -> Self:
        _refuse_repeats([phase.id for phase in self.phases], "two phases of one cohort have the id")
        if self.phases[0].rest_hours:
            raise ValueError("the first phase has nothing to rest from: rest_hours belongs to a later one")
        return self


class Gold(Noun):
    """A question whose answer is known. Its items are set aside: no ordinary question shows them."""

    protocol: Literal["compare", "rate", "flag", "choose"] = Field("compare", description="How it is asked.")
    criterion: str = Field(description="What it is asked about.")
    items: tuple[str, ...] = Field(min_length=1, description="Items on the screen.")
    better: str | None = Field(None, description="compare, choose: the item that must be picked.")
    value: float | None = Field(None, description="rate, flag: the right value.")
    within: float = Field(0.0, ge=0, description="rate, flag: how far off still counts as right.")

    @model_validator(mode="after")
    def _has_its_answer(self) -> Self:
        if self.protocol in ("rate", "flag"):
            if self.value is None or len(self.items) != 1:
                raise ValueError("gold to rate or flag needs one item and its value")
        elif self.better not in self.items or len(self.items) < 2 or len(set(self.items)) != len(self.items):
            raise ValueError("gold to compare or choose needs different items, and one of them as better")
        if self.protocol == "compare" and len(self.items) != 2:
            raise ValueError("gold to compare needs two items")
        return self


class Qualification(Noun):
    """A test before the first phase, made of gold."""

    questions: int = Field(20, ge=1, le=1000, description="Gold questions asked.")
    right: int = Field(16, ge=1, description="Right answers needed to enter.")
    attempts: int = Field(2, ge=1, le=10, description="How often a rater may try.")

    @model_validator(mode="after")
    def _can_be_passed(self) -> Self:
        if self.right > self.questions:
            raise ValueError(f"right ({self.right}) may not exceed questions ({self.questions})")
        return self


class Times(Noun):
    """Least seconds on a screen, enforced by the server; none unless the owner sets them."""

    guidelines: float = Field(0, ge=0, le=3600, description="On the guidelines page.")
    prompt: float = Field(20, ge=0, le=3600, description='Countdown on the prompt screen; "I\'m ready" ends it early.')
    ready_after: float = Field(0, ge=0, le=3600, description='"I\'m ready" is refused before this.')
    compare: float = Field(0, ge=0, le=3600, description="On two or more items: compare, rank, choose.")
    rate: float = Field(0, ge=0, le=3600, description="On one item: rate, flag, checklist, regions, text.")


class ScreenerQuestion(Noun):
    """One question of the eligibility screener."""

    id: str = Field(min_length=1, description="Name of the answer in the rater's profile.")
    text: str = Field(min_length=1, description="The question as shown.")
    options: tuple[str, ...] = Field(min_length=2, description="Answers to choose from.")
    accept: tuple[str, ...] = Field(min_length=1, description="Answers that let a rater in.")

    @model_validator(mode="after")
    def _accepts_what_it_offers(self) -> Self:
        unknown = [answer for answer in self.accept if answer not in self.options]
        if unknown:
            raise ValueError(f"accept names {unknown[0]!r}, which is not among the options")
        return self


class Consent(Noun):
    """What a rater agrees to."""

    version: str = Field("1", min_length=1, description="Raters agree again when it changes.")
    text: str = Field("", description="The text, in Markdown; empty: no consent page.")


class Reference(Noun):
    """One picture of the reference panel, from outside the study."""

    criterion: str = Field(description="The criterion it explains.")
    level: float = Field(description="The value it stands for.")
    image: str = Field(description="Path inside the study folder.")
    note: str = Field("", description="What to look at.")


class Pay(Noun):
    """How raters are paid; Salon counts, it does not pay."""

    per_hour: float | None = Field(None, ge=0, description="Money for an hour of work.")
    per_answer: float | None = Field(None, ge=0, description="Money for each answered question.")
    flat: float | None = Field(None, ge=0, description="Money for finishing.")
    currency: str = Field("USD", min_length=1, max_length=8, description="Printed behind the sum.")
    idle_minutes: float = Field(5, gt=0, le=120, description="A longer silence is a break and not paid.")


class StudioSettings(Noun):
    """How a studio works."""

    seed: int = Field(0, ge=0, lt=2**32, description="Decides every order, side and draw.")
    language: str = Field("en", pattern="^[a-z]{2}$", description="Language of the interface: en or de.")
    cohorts: tuple[Cohort, ...] = Field(min_length=1, description="Who is asked what.")
    gold: tuple[Gold, ...] = Field((), description="Questions with known answers.")
    qualification: Qualification | None = Field(None, description="Test before entry; absent: none.")
    times: Times = Field(Times(), description="Least seconds on a screen.")
    break_minutes: float = Field(45, gt=0, le=600, description="After so much work a break is suggested.")
    welcome: bool = Field(True, description="A first page that says what is asked, how much, and how long it takes.")
    guidelines: str = Field("", description="Guidelines page, in Markdown; empty: no page.")
    references: tuple[Reference, ...] = Field((), description="Reference panel.")
    screener: tuple[ScreenerQuestion, ...] = Field((), description="Who may take part.")
    profile: tuple[str, ...] = Field((), description="What raters are asked about themselves; kept apart from answers.")
    consent: Consent = Field(Consent(), description="What raters agree to.")
    pay: Pay = Field(Pay(), description="How raters are paid.")
    completion_code: str | None = Field(None, description="Shown at the end, for panels such as Prolific.")

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        _refuse_repeats([cohort.id for cohort in self.cohorts], "two cohorts have the id")
        _refuse_repeats([question.id for question in self.screener], "two screener questions have the id")
        asked = [phase for cohort in self.cohorts for phase in cohort.phases if phase.checks.gold]
        if asked and not self.gold:
            raise ValueError(f"phase {asked[0].id!r} plants gold, but there is no [[gold]]")
        if self.qualification and len(self.gold) < self.qualification.questions:
            raise ValueError(
                f"a qualification of {self.qualification.questions} questions needs as many [[gold]],"
                f" found {len(self.gold)}"
            )
        return self

    def cohort(self, id: str) -> Cohort:
        """The cohort `id`."""
        for cohort in self.cohorts:
            if cohort.id == id:
                return cohort
        raise BadValue("a cohort of the studio is needed", found=repr(id), remedy=f"one of {self.cohort_ids}")

    @property
    def cohort_ids(self) -> str:
        return ", ".join(cohort.id for cohort in self.cohorts)


def read_settings(text: str, *, where: str = FILE) -> StudioSettings:
    """The settings in a TOML `text`, or an error that names the key."""
    try:
        record = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError; so are numbers without end
        raise BadFile("a studio.toml that is TOML is needed", found=str(error), where=where) from None
    try:
        return StudioSettings.model_validate(record)
    except ValidationError as error:
        raise _bad_key(error, where) from None


def read_settings_file(path: Path) -> StudioSettings:
    """The settings in the file `path`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a readable studio.toml is needed", found=str(error), where=str(path)) from None
    return read_settings(text, where=str(path))


def _bad_key(error: ValidationError, where: str) -> BadValue:
    """The first fault by its TOML key, such as cohorts[0].phases[1].protocol; the others counted."""
    faults = error.errors(include_url=False)
    first = faults[0]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return BadValue(
        f"{key or 'the studio'}: {first['msg'].removeprefix('Value error, ')}{more}",
        found=None if isinstance(first.get("input"), dict) else repr(first.get("input")),
        where=where,
        remedy="docs/methods/collecting.md shows every key",
    )


def _refuse_repeats(ids: list[str], what: str) -> None:
    twice = [id for id, n in Counter(ids).items() if n > 1]
    if twice:
        raise ValueError(f"{what} {twice[0]!r}")
