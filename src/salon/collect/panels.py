"""Visitors from a panel such as Prolific: whose ids are accepted, who gets a place, and with what they are sent back.

Pure functions of settings and counts. `VisitorSide` of the studio keeps what they decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, urlsplit

from salon.collect.settings import Ending, Outcome, PanelSettings, Quota, StudioSettings
from salon.errors import InputError
from salon.store import PanelIds, TakenPlace

Fault = Literal["preview", "placeholder", "missing", "malformed", "other_study"]
"""What may be wrong with the address by which somebody comes."""
NAMES: dict[str, tuple[str, str, str]] = {
    "prolific": ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
    "mturk": ("workerId", "hitId", "assignmentId"),
    "cloudresearch": ("participantId", "projectId", "assignmentId"),
    "other": ("", "", ""),
}
"""By kind of panel: what the ids of participant, study and participation are called in the address."""
PLACEHOLDERS = {"prolific": "{{%%%s%%}}", "mturk": "${%s}", "cloudresearch": "{{%s}}", "other": "{{%s}}"}
"""By kind of panel: what stands in the address until the panel fills it in."""
REDIRECTS = {"prolific": "https://app.prolific.com/submissions/complete?cc={code}"}
"""By kind of panel: where visitors with a code are sent back to."""
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""MTurk's word for an assignment that nobody has accepted yet."""
SUBMIT_TO = "turkSubmitTo"
EXTERNAL_SUBMIT = "/mturk/externalSubmit"
_UNFILLED = re.compile(r"[{}\[\]%$<>]|^(null|none|undefined)$", re.IGNORECASE)
_LONGEST = 300


class BadPanelLink(InputError):
    """The address by which somebody comes lacks what their panel should have put there. It never repeats an id."""

    def __init__(self, fault: Fault, name: str) -> None:
        self.fault = fault
        needed = {
            "preview": "an accepted assignment is needed",
            "placeholder": f"{name}: the panel's own id is needed",
            "missing": f"{name}: the panel's own id is needed",
            "malformed": f"{name}: an id of the panel is needed",
            "other_study": f"{name}: a study that this studio knows is needed",
        }
        found = {
            "preview": "a preview",
            "placeholder": "a placeholder that was not filled in",
            "missing": "none",
            "malformed": "something else",
            "other_study": "another one",
        }
        super().__init__(needed[fault], found=found[fault], remedy="open the study from the panel's own page")


# -- the way in --------------------------------------------------------------------------------------------------------


def parameter_names(panel: PanelSettings) -> tuple[str, str, str]:
    """What the ids of participant, study and participation are called in the address; "" for one there is not."""
    participant, study, session = NAMES[panel.kind]
    return panel.participant or participant, panel.study or study, panel.session or session


def entry_query(panel: PanelSettings) -> str:
    """What the owner writes behind the entry address, with the panel's placeholders."""
    if panel.kind == "mturk":
        return ""  # MTurk adds it by itself
    own_names = NAMES[panel.kind] if panel.kind != "other" else parameter_names(panel)
    pairs = zip(parameter_names(panel), own_names)
    return "&".join(f"{name}={PLACEHOLDERS[panel.kind] % own}" for name, own in pairs if name)


def read_panel_ids(panel: PanelSettings, parameters: Sequence[tuple[str, str]]) -> PanelIds:
    """The ids in an address; BadPanelLink where one is missing, doubled, malformed or a placeholder.

    The participant must be named; the others are taken where they are there. What is there must be well-formed.
    """
    participant_name, study_name, session_name = parameter_names(panel)
    if panel.kind == "mturk" and (session_name, PREVIEW) in parameters:
        raise BadPanelLink("preview", session_name)
    participant = _read_id(panel, parameters, participant_name)
    study = _read_id(panel, parameters, study_name)
    session = _read_id(panel, parameters, session_name)
    if participant is None:
        raise BadPanelLink("missing", participant_name)
    if panel.studies and study not in panel.studies:
        raise BadPanelLink("missing" if study is None else "other_study", study_name)
    return PanelIds(participant, study, session, _read_submit_to(panel, parameters))


def _read_id(panel: PanelSettings, parameters: Sequence[tuple[str, str]], name: str) -> str | None:
    values = [value.strip() for key, value in parameters if key == name and name]
    if not any(values):
        return None
    if len(values) > 1 or len(values[0]) > _LONGEST:
        raise BadPanelLink("malformed", name)
    value = values[0]
    if not re.fullmatch(panel.id_pattern, value) or value == name:
        raise BadPanelLink("placeholder" if _UNFILLED.search(value) or value == name else "malformed", name)
    if re.fullmatch("null|none|undefined", value, re.IGNORECASE):
        raise BadPanelLink("placeholder", name)
    return value


def _read_submit_to(panel: PanelSettings, parameters: Sequence[tuple[str, str]]) -> str | None:
    """Where MTurk wants its assignment submitted; only sites that the owner allows."""
    sites = [value for key, value in parameters if key == SUBMIT_TO]
    if panel.kind != "mturk" or not sites:
        return None
    parts = urlsplit(sites[0])
    site = f"{parts.scheme}://{parts.netloc}"
    if len(sites) > 1 or site not in [allowed.rstrip("/") for allowed in panel.submit_to]:
        raise BadPanelLink("malformed", SUBMIT_TO)
    return site


# -- places ------------------------------------------------------------------------------------------------------------


def choose_cohort(settings: StudioSettings, taken: Sequence[TakenPlace], only: str | None = None) -> str | None:
    """The cohort of a new visitor: of those with a free place the one with the smallest share of its raters.

    `only` is the cohort that the address names. None where no place is free. Quotas of the screener's answers come
    later, when the answers are known.
    """
    panel = settings.panel
    assert panel is not None
    counts = Counter(place.cohort for place in taken)
    total_quotas = [quota for quota in panel.quotas if quota.question is None]
    if any(quota.cohort is None and len(taken) >= quota.places for quota in total_quotas):
        return None
    open_cohorts = [
        cohort
        for cohort in settings.cohorts
        if cohort.id in (panel.cohorts or [cohort.id])
        and (only is None or cohort.id == only)
        and all(quota.cohort != cohort.id or counts[cohort.id] < quota.places for quota in total_quotas)
    ]
    return min(open_cohorts, key=lambda cohort: counts[cohort.id] / cohort.raters).id if open_cohorts else None


def has_room(panel: PanelSettings, cohort: str | None, answers: Mapping[str, str], taken: Sequence[TakenPlace]) -> bool:
    """Is there a place for a visitor of a cohort who answered the screener so?"""
    return all(
        sum(_counts(quota, place.cohort, place.answers) for place in taken) < quota.places
        for quota in panel.quotas
        if quota.question is not None and _counts(quota, cohort, answers)
    )


def places_taken(quota: Quota, taken: Sequence[TakenPlace]) -> int:
    """How many visitors a quota counts now."""
    return sum(_counts(quota, place.cohort, place.answers) for place in taken)


def _counts(quota: Quota, cohort: str | None, answers: Mapping[str, str]) -> bool:
    is_in_cohort = quota.cohort is None or quota.cohort == cohort
    return is_in_cohort and (quota.question is None or answers.get(quota.question) in quota.answers)


# -- the way back ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VisitEnd:
    """With what one visitor leaves."""

    outcome: Outcome
    code: str | None
    address: str | None = field(repr=False)
    """Where the visitor goes next; None: nowhere, the panel asks for the code or for the participation back."""
    submit_to: str | None = None
    """MTurk: where the form is sent that submits the assignment."""
    assignment: str | None = field(default=None, repr=False)
    at_once: bool = False


def visit_end(settings: StudioSettings, outcome: Outcome, ids: PanelIds, personal: str = "") -> VisitEnd:
    """The code of an outcome and where it leads, for one visitor."""
    panel = settings.panel
    assert panel is not None
    ending = done_ending(settings) if outcome == "done" else panel.ending(outcome)
    code = None if ending.code is None else ending.code.replace("{personal}", personal)
    redirect = ending.redirect or (REDIRECTS.get(panel.kind) if code is not None else None)
    address = None if redirect is None else _fill(redirect, code, ids)
    can_submit = ids.submit_to is not None and ids.session is not None and (code is not None or outcome == "done")
    return VisitEnd(
        outcome,
        code,
        address,
        f"{ids.submit_to}{EXTERNAL_SUBMIT}" if can_submit else None,
        ids.session if can_submit else None,
        panel.at_once,
    )


def done_ending(settings: StudioSettings) -> Ending:
    """With what visitors who are done are sent back: the panel's own code, or else the studio's."""
    assert settings.panel is not None
    ending = settings.panel.done
    return ending.model_copy(update={"code": settings.completion_code}) if ending.code is None else ending


def _fill(template: str, code: str | None, ids: PanelIds) -> str:
    values = {"code": code, "participant": ids.participant, "study": ids.study, "session": ids.session}
    return re.sub(
        r"\{(code|participant|study|session)\}", lambda match: quote(values[match[1]] or "", safe=""), template
    )
