"""The settings of a studio, described once: studio.toml, the admin page and the docs read them here.

A studio asks cohorts of raters. A cohort goes through phases in order; each phase has one protocol, its criteria, and
its own design, stop rule and checks. `read_settings` names the TOML key of every mistake.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, model_validator

from salon.errors import BadFile, BadValue
from salon.study import Noun, Part

ScreenKind = Literal["compare", "rank", "rate", "flag", "checklist", "choose", "regions", "text"]
"""How a screen asks. The first six are the study's protocols; regions and text are kept as checklists."""
SEVERAL_ITEMS: tuple[ScreenKind, ...] = ("compare", "rank", "choose")
"""Kinds that show several items at once."""
_PARAMETER = r"^[A-Za-z0-9_.-]{1,100}$"


class PairDesign(Noun):
    """Which pairs are compared."""

    kind: Literal["complete", "fraction", "adaptive"] = Field(
        "complete",
        description="complete: every pair. fraction: a connected, balanced part. adaptive: the most telling pair next.",
    )
    fraction: float = Field(0.5, gt=0, le=1, description="Share of all pairs; with adaptive, of all pairs' answers.")
    pairs: int | None = Field(None, ge=1, description="Pairs in each prompt or category, instead of a fraction.")

    def pairs_of(self, items: int) -> int:
        """How many of the pairs of `items` are in the design: enough to connect them, at most all."""
        everything = items * (items - 1) // 2
        if self.kind == "complete":
            return everything
        pairs = round(self.fraction * everything) if self.pairs is None else self.pairs
        return min(max(pairs, items - 1), everything)


class Stop(Noun):
    """When a question has enough answers."""

    kind: Literal["everyone", "fixed", "agreement"] = Field(
        "everyone",
        description="everyone: each rater of the cohort answers all. fixed: `raters_each` answer it. agreement: from "
        "`least` to `most` raters, until a share `agreement` of them agrees.",
    )
    raters_each: int = Field(5, ge=1, le=10_000, description="fixed: raters for each question.")
    least: int = Field(9, ge=1, le=10_000, description="agreement: raters before it may stop.")
    most: int = Field(19, ge=1, le=10_000, description="agreement: raters after which it stops anyway.")
    agreement: float = Field(0.9, gt=0.5, le=1, description="agreement: share of raters on one side.")

    @model_validator(mode="after")
    def _least_is_least(self) -> Self:
        if self.least > self.most:
            raise ValueError(f"least ({self.least}) may not exceed most ({self.most})")
        return self


class Checks(Noun):
    """Questions planted to see how raters work."""

    repeats: int | None = Field(
        None, ge=0, le=10_000, description="Questions asked twice  [default: 30, and 10 with one item]"
    )
    gap: int | None = Field(
        None,
        ge=0,
        le=10_000,
        description="Least questions between the two  [default: 10, and 5 with one item]",
    )
    gold: int = Field(0, ge=0, le=1000, description="Gold questions spread over the phase.")
    attention: int = Field(0, ge=0, le=1000, description="Screens that say which answer to give.")


class PromptSample(Noun):
    """Which prompts a phase is about."""

    number: int | None = Field(None, ge=1, description="Prompts drawn at random; absent: all.")
    shares: Literal["proportional", "equal"] = Field(
        "proportional", description="How categories share the draw: by their size, or all the same."
    )
    fresh: bool = Field(False, description="Draw only prompts that no earlier phase of the cohort drew.")


class Phase(Noun):
    """A stretch of questions under one protocol."""

    id: str = Field(min_length=1, max_length=100, description="Name of the phase.")
    protocol: ScreenKind = Field(description="How it asks.")
    criteria: tuple[str, ...] = Field(min_length=1, description="What it asks about, in this order.")
    together: bool = Field(False, description="All criteria on one screen, instead of one after the other.")
    view: tuple[Part, ...] | None = Field(None, description="Parts of the prompt shown; []: all. Absent: the cohort's.")
    rest_hours: float = Field(0, ge=0, le=24 * 365, description="Rest between the phase before and this one.")
    prompts: PromptSample = Field(PromptSample(), description="Which prompts.")
    design: PairDesign = Field(PairDesign(), description="compare: which pairs.")
    stop: Stop = Field(Stop(), description="When a question has enough answers.")
    questions_each: int | None = Field(None, ge=1, description="At most so many ordinary questions for one rater.")
    prompt_in_a_row: bool = Field(True, description="All questions about one prompt follow each other.")
    checks: Checks = Field(Checks(), description="Planted questions.")
    ties: bool = Field(True, description='compare, rank: "equally good" may be answered.')
    both_bad: bool = Field(False, description='compare: "both bad" may be answered; kept apart from ties.')
    rationale: Literal["none", "optional", "required"] = Field("none", description="A box for the reason.")
    ranking: Literal["merge", "drag"] = Field("merge", description="rank: pair by pair, or by dragging.")
    points: tuple[str, ...] = Field((), description="checklist: the points to answer yes or no.")
    grid: tuple[int, int] = Field((3, 3), description="regions: rows and columns of the grid.")

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.protocol == "checklist" and not self.points:
            raise ValueError("a checklist needs points")
        if len(set(self.points)) != len(self.points) or len(set(self.criteria)) != len(self.criteria):
            raise ValueError("each criterion and each point may stand once")
        if self.design.kind != "complete" and self.protocol != "compare":
            raise ValueError(f"only compare has a design of pairs, found protocol {self.protocol!r}")
        if self.stop.kind == "agreement" and self.protocol not in ("compare", "choose", "flag"):
            raise ValueError("stopping at an agreement needs compare, choose or flag")
        if self.design.kind == "adaptive" and self.stop.kind != "fixed":
            raise ValueError('an adaptive design needs stop.kind = "fixed": its budget is pairs x raters_each answers')
        if not all(1 <= side <= 20 for side in self.grid):
            raise ValueError("a grid has 1 to 20 rows and columns")
        return self

    @property
    def screens(self) -> tuple[tuple[str, ...], ...]:
        """The criteria on each screen: all at once, or one after the other."""
        return (self.criteria,) if self.together else tuple((criterion,) for criterion in self.criteria)

    @property
    def repeats(self) -> int:
        """Questions asked twice on each run through the phase."""
        default = 30 if self.protocol in SEVERAL_ITEMS else 10
        return default if self.checks.repeats is None else self.checks.repeats

    @property
    def gap(self) -> int:
        """Least questions between a question and its repeat."""
        default = 10 if self.protocol in SEVERAL_ITEMS else 5
        return default if self.checks.gap is None else self.checks.gap


# -- the studio --------------------------------------------------------------------------------------------------------

FILE = "studio.toml"


class CohortSettings(Noun):
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


class ReferencePicture(Noun):
    """One picture of the reference panel, from outside the study."""

    criterion: str = Field(description="The criterion it explains.")
    level: float = Field(description="The value it stands for.")
    image: str = Field(description="Path inside the study folder.")
    note: str = Field("", description="What to look at.")


class Bonus(Noun):
    """Money on top for good or long work."""

    measure: Literal["gold", "attention", "minutes", "answers"] = Field(
        "gold",
        description="gold: share of gold questions answered right. attention: share of attention checks passed. "
        "minutes: minutes of work. answers: questions answered.",
    )
    least: float = Field(0.9, ge=0, description="The measure must be at least this.")
    amount: float = Field(gt=0, description="Money for reaching it, once.")


class Pay(Noun):
    """How raters are paid; Salon counts, it does not pay."""

    per_hour: float | None = Field(None, ge=0, description="Money for an hour of work.")
    per_answer: float | None = Field(None, ge=0, description="Money for each answered question.")
    flat: float | None = Field(None, ge=0, description="Money for finishing.")
    currency: str = Field("USD", min_length=1, max_length=8, description="Printed behind the sum.")
    idle_minutes: float = Field(5, gt=0, le=120, description="A longer silence is a break and not paid.")
    bonus: tuple[Bonus, ...] = Field((), description="Money on top for those who finish, by rule; see salon payments.")


Outcome = Literal["done", "screened_out", "no_consent", "failed_checks", "over_quota", "timed_out"]
"""How a visit from a panel may end."""


class Ending(Noun):
    """With what a visitor is sent back to the panel."""

    code: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="Completion code; {personal} stands for a random word of each visitor. Absent: none, and the "
        "visitor is asked to return the participation.",
    )
    redirect: str | None = Field(
        None,
        max_length=1000,
        description="Where the visitor goes: an https address; {code}, {participant}, {study} and {session} are "
        "filled in. Absent: where the kind of panel sends visitors with a code.",
    )
    pay: float = Field(0, ge=0, description="Money for this outcome, in the list of payments.")

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        if self.redirect is not None:
            check_panel_address(self.redirect)
        return self


class Quota(Noun):
    """How many visitors may take part: all, those of one cohort, or those who gave one of some answers."""

    places: int = Field(ge=0, le=10_000_000, description="Visitors who are done or at work, at most.")
    cohort: str | None = Field(None, description="Only visitors of this cohort count. Absent: of every cohort.")
    question: str | None = Field(None, description="Only visitors count who answered this question of the screener ...")
    answers: tuple[str, ...] = Field((), description="... with one of these answers.")

    @model_validator(mode="after")
    def _question_has_answers(self) -> Self:
        if (self.question is None) != (not self.answers):
            raise ValueError("question and answers go together")
        return self


class PanelSettings(Noun):
    """Raters who come from a panel of others through one address, /panel, and are sent back with a code."""

    kind: Literal["prolific", "mturk", "cloudresearch", "other"] = Field(
        "prolific", description="Decides the names in the address, and where visitors are sent back to."
    )
    participant: str | None = Field(
        None,
        pattern=_PARAMETER,
        description="Name of the participant's id in the address. Absent: PROLIFIC_PID, workerId or participantId.",
    )
    study: str | None = Field(
        None,
        pattern=_PARAMETER,
        description="Name of the panel's id of this study. Absent: STUDY_ID, hitId or projectId.",
    )
    session: str | None = Field(
        None,
        pattern=_PARAMETER,
        description="Name of the id of this participation. Absent: SESSION_ID or assignmentId.",
    )
    id_pattern: str = Field(
        r"[A-Za-z0-9][A-Za-z0-9._~@-]{0,99}",
        max_length=200,
        description="What an id looks like, as a regular expression; others are refused.",
    )
    studies: tuple[str, ...] = Field((), description="The panel's ids of this study that are accepted; none: all.")
    submit_to: tuple[str, ...] = Field(
        ("https://www.mturk.com", "https://workersandbox.mturk.com"),
        description="mturk: sites that may show the entry page in a frame and to which assignments are submitted.",
    )
    cohorts: tuple[str, ...] = Field(
        (), description="Cohorts that visitors are put into, the emptiest first; none: all of the studio's."
    )
    quotas: tuple[Quota, ...] = Field((), description="How many visitors may take part.")
    missed_checks: int | None = Field(
        None, ge=1, description="A visitor who misses so many attention checks is sent away. Absent: nobody is."
    )
    minutes: float | None = Field(
        None,
        gt=0,
        description="From the first page to the last answer; later the visit has timed out, and its place is free "
        "again. Absent: no limit, and whoever began holds a place.",
    )
    at_once: bool = Field(False, description="Send visitors back without a click.")
    done: Ending = Field(Ending(), description="All questions are answered.")
    screened_out: Ending = Field(Ending(), description="Screener or qualification did not let the visitor in.")
    no_consent: Ending = Field(Ending(), description="The visitor did not agree, or withdrew.")
    failed_checks: Ending = Field(Ending(), description="Too many attention checks were missed.")
    over_quota: Ending = Field(Ending(), description="No place was free.")
    timed_out: Ending = Field(Ending(), description="The visit took too long.")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        try:
            re.compile(self.id_pattern)
        except re.error as error:
            raise ValueError(f"id_pattern is no regular expression: {error}") from None
        if self.kind == "other" and self.participant is None:
            raise ValueError('kind = "other" needs participant: the name of the id in the address')
        for site in self.submit_to:
            check_panel_address(site)
        for outcome in get_args(Outcome)[1:]:
            ending = self.ending(outcome)
            for part in ("code", "redirect"):
                if getattr(ending, part) and getattr(ending, part) == getattr(self.done, part):
                    if part == "redirect" and "{code}" in str(self.done.redirect):
                        continue
                    raise ValueError(f"{outcome} has the {part} of done: nobody could tell who is done")
        return self

    def ending(self, outcome: Outcome) -> Ending:
        """With what visitors of an outcome are sent back."""
        ending: Ending = getattr(self, outcome)
        return ending


def check_panel_address(address: str) -> None:
    """ValueError unless browsers may be sent to an address: https, or http on this machine, and no password in it."""
    try:
        parts = urlsplit(address)
        local = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1")
        good = (parts.scheme == "https" or local) and parts.hostname and parts.username is None
        parts.port  # noqa: B018  # raises for what is no port
    except ValueError:
        good = False
    if not good or re.search(r"[\s\\<>\"']", address):
        raise ValueError("an address that begins with https:// is needed")


class StudioSettings(Noun):
    """How a studio works."""

    seed: int = Field(0, ge=0, lt=2**32, description="Decides every order, side and draw.")
    language: str = Field("en", pattern="^[a-z]{2}$", description="Language of the interface: en or de.")
    cohorts: tuple[CohortSettings, ...] = Field(min_length=1, description="Who is asked what.")
    gold: tuple[Gold, ...] = Field((), description="Questions with known answers.")
    qualification: Qualification | None = Field(None, description="Test before entry; absent: none.")
    times: Times = Field(Times(), description="Least seconds on a screen.")
    break_minutes: float = Field(45, gt=0, le=600, description="After so much work a break is suggested.")
    welcome: bool = Field(True, description="A first page that says what is asked, how much, and how long it takes.")
    guidelines: str = Field("", description="Guidelines page, in Markdown; empty: no page.")
    references: tuple[ReferencePicture, ...] = Field((), description="Reference panel.")
    screener: tuple[ScreenerQuestion, ...] = Field((), description="Who may take part.")
    profile: tuple[str, ...] = Field((), description="What raters are asked about themselves; kept apart from answers.")
    consent: Consent = Field(Consent(), description="What raters agree to.")
    pay: Pay = Field(Pay(), description="How raters are paid.")
    completion_code: str | None = Field(None, description="Shown at the end, for panels such as Prolific.")
    panel: PanelSettings | None = Field(None, description="The way in for raters of a panel; absent: closed.")

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        _refuse_repeats([cohort.id for cohort in self.cohorts], "two cohorts have the id")
        _refuse_repeats([question.id for question in self.screener], "two screener questions have the id")
        gold_phases = [phase for cohort in self.cohorts for phase in cohort.phases if phase.checks.gold]
        if gold_phases and not self.gold:
            raise ValueError(f"phase {gold_phases[0].id!r} plants gold, but there is no [[gold]]")
        if self.qualification and len(self.gold) < self.qualification.questions:
            raise ValueError(
                f"a qualification of {self.qualification.questions} questions needs as many [[gold]],"
                f" found {len(self.gold)}"
            )
        if self.panel is not None:
            self._check_panel(self.panel)
        return self

    def _check_panel(self, panel: PanelSettings) -> None:
        """ValueError where the panel names what the studio does not have."""
        known = {cohort.id: cohort for cohort in self.cohorts}
        for name in (*panel.cohorts, *(quota.cohort for quota in panel.quotas if quota.cohort is not None)):
            if name not in known:
                raise ValueError(f"the panel names cohort {name!r}, found only {self.cohort_ids}")
        questions = {question.id: question.options for question in self.screener}
        for quota in panel.quotas:
            for answer in quota.answers:
                if answer not in questions.get(quota.question or "", ()):
                    raise ValueError(f"no question {quota.question!r} of the screener offers the answer {answer!r}")
        if panel.done.code is None and self.completion_code is not None:
            others = [panel.ending(outcome).code for outcome in get_args(Outcome)[1:]]
            if self.completion_code in others:
                raise ValueError("another outcome has the completion_code: nobody could tell who is done")
        rests = [phase.rest_hours for cohort in self.cohorts for phase in cohort.phases]
        if panel.minutes is not None and panel.minutes <= max(rests) * 60:
            raise ValueError("panel.minutes would be over before the rest of a phase is")

    def cohort(self, id: str) -> CohortSettings:
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
        faults = error.errors(include_url=False)
        first = faults[0]
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise BadValue(
            f"{key or 'the studio'}: {first['msg'].removeprefix('Value error, ')}{more}",
            found=None if isinstance(first.get("input"), dict) else repr(first.get("input")),
            where=where,
            remedy="docs/methods/collecting.md shows every key",
        ) from None


def read_settings_file(path: Path) -> StudioSettings:
    """The settings in the file `path`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a readable studio.toml is needed", found=str(error), where=str(path)) from None
    return read_settings(text, where=str(path))


def _refuse_repeats(ids: list[str], what: str) -> None:
    twice = [id for id, n in Counter(ids).items() if n > 1]
    if twice:
        raise ValueError(f"{what} {twice[0]!r}")
