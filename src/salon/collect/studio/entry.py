"""What a rater does before the first question: the welcome page, consent, screener, profile, guidelines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from salon.collect.assign import Finished
from salon.collect.entry import is_eligible
from salon.collect.settings import StudioSettings
from salon.collect.studio.steps import Needs, TooEarly
from salon.collect.timing import TooFast, check_guidelines
from salon.errors import BadValue
from salon.store.database import Database
from salon.store.database.connected import now_ms

_LONGEST_ANSWER = 1000


class EntrySide:
    """The way in. What was done is kept with the rater's profile, apart from judgments, and erased with it."""

    database: Database
    settings: StudioSettings

    def is_new(self, rater: str) -> bool:
        """Whether a rater is to see the welcome page: invited, and not past it yet."""
        if not self.settings.welcome or self.database.rater(rater).status != "invited":
            return False
        return "welcomed" not in self._entry(rater)

    def welcome(self, rater: str, *, now: int | None = None) -> None:
        """The rater has seen the welcome page."""
        self._keep(rater, welcomed=now_ms() if now is None else now)

    def consent(self, rater: str, version: str, *, now: int | None = None) -> None:
        """The rater agrees to the consent text they saw; BadValue when it has changed meanwhile."""
        if version != self.settings.consent.version:
            raise BadValue("the newest version of the text is needed", found=repr(version), remedy="read it again")
        self.database.consent(rater, version, at=now)

    def screener(self, rater: str, answers: Mapping[str, str]) -> bool:
        """Keep the answers to the screener; whether they let the rater in.

        They cannot be changed afterwards. What the owner added or reworded since is answered beside what stands.
        """
        before = self._entry(rater).get("screener", {})
        kept = {question.id: answers.get(question.id, "") for question in self.settings.screener}
        kept |= {one.id: before[one.id] for one in self.settings.screener if before.get(one.id) in one.options}
        lets_in = is_eligible(self.settings, kept)  # raises where an answer is missing
        if kept != before:
            self._keep(rater, screener=kept)
        return lets_in

    def profile(self, rater: str, answers: Mapping[str, str]) -> None:
        """Keep what the rater says about themselves. Anything may be left empty."""
        kept = {name: answers.get(name, "").strip() for name in self.settings.profile}
        for name, text in kept.items():
            if len(text) > _LONGEST_ANSWER:
                raise BadValue(f"at most {_LONGEST_ANSWER:,} characters are needed", found=f"{len(text):,}", where=name)
        self._keep(rater, profile=kept)

    def read_guidelines(self, rater: str, *, now: int | None = None) -> None:
        """The rater has read the guidelines; TooEarly before the least time on that page is over."""
        now = now_ms() if now is None else now
        shown = self._entry(rater).get("guidelines_shown", now)
        refuse(check_guidelines(shown_at=shown, left_at=now, times=self.settings.times))
        self._keep(rater, guidelines_read=now)

    def missing(self, rater: str, now: int) -> Needs | Finished | None:
        """What the rater still has to do before the first question."""
        settings, entry = self.settings, self._entry(rater)
        if settings.consent.text:
            agreed = self.database.consents(rater)
            if settings.consent.version not in agreed:
                return Needs("consent", again=bool(agreed))
        if settings.screener:
            said = entry.get("screener", {})
            if any(said.get(question.id) not in question.options for question in settings.screener):
                return Needs("screener")
            if not is_eligible(settings, said):
                return Finished("not qualified")
        if settings.profile and "profile" not in entry:
            return Needs("profile")
        if settings.guidelines and "guidelines_read" not in entry:
            shown = entry.get("guidelines_shown") or self._keep(rater, guidelines_shown=now)["guidelines_shown"]
            return Needs("guidelines", left(check_guidelines(shown_at=shown, left_at=now, times=settings.times)))
        return None

    def _entry(self, rater: str) -> dict[str, Any]:
        return self.database.profile(rater) or {}

    def _keep(self, rater: str, **more: Any) -> dict[str, Any]:
        entry = self._entry(rater) | more
        self.database.put_profile(rater, entry)
        return entry


def left(wait: TooFast | None) -> float:
    """Seconds still to wait."""
    return 0.0 if wait is None else wait.seconds_left


def refuse(wait: TooFast | None) -> None:
    """TooEarly when there is still time to wait."""
    if wait is not None:
        raise TooEarly(wait.seconds_left)
