"""Watch a scoring service: do its scores still look like those of the reference, and do people still agree with it?

    monitor = DriftMonitor(settings, reference)         the first values are the reference where none is given
    monitor.see(decision); monitor.said(decision, feedback)
    monitor.report()

Values must be independent draws. So of each decision one picture counts, the one whose hash comes first (which has
nothing to do with its score), and each picture once in a window. Each model is watched on its own: scores of another
model are not drift. Missing values are counted and left out.

The tests (`salon.stats.drift`) share the level between criteria and agreement (Bonferroni) and over all looks, so the
chance that an endless watch ever alarms without drift is at most the level.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from salon.errors import BadFile
from salon.select.service.decisions import (
    Decision,
    DecisionLog,
    DecisionSettings,
    Feedback,
    check_log,
    decision_lines,
    feedback_lines,
)
from salon.select.settings import DriftSettings
from salon.stats import AgreementLook, DriftLook, Estimate, agreement_look, drift_look, wilson
from salon.store import write_json
from salon.study import Noun, Signature

DRIFT_FORMAT: Final = "salon.drift/1"
DRIFT_POLICY = (
    "one picture for each decision, each picture once in a window; decisions of other models and missing values are "
    "counted and left out"
)


class DriftReference(Noun):
    """Scores by criterion that were frozen when the watch began, and of which model they are."""

    format: Literal["salon.drift/1"] = DRIFT_FORMAT
    model: str = ""
    values: dict[str, tuple[float, ...]]
    agreed: int = Field(0, ge=0)
    choices: int = Field(0, ge=0)


class CriterionDrift(Noun):
    """What is known of one criterion; the last window, and the first that alarmed."""

    criterion: str = Field(description="Id of the criterion.")
    status: Literal["gathering a reference", "no whole window yet", "as the reference", "drift"] = Field(
        description="Where the watch stands."
    )
    reference: int = Field(description="Values of the reference.")
    waiting: int = Field(description="Values of the window that is not full yet.")
    missing: int = Field(description="Decisions without a value.")
    looks: int = Field(description="Whole windows so far.")
    first_alarm: int | None = Field(None, description="The first window that alarmed.")
    distance: float | None = Field(None, description="Kolmogorov-Smirnov distance of the last window.")
    p: float | None = Field(default=None, description="Of the last window, exact.")
    level: float | None = Field(None, description="The share of the level that the last look had.")
    psi: float | None = Field(default=None, description="Population stability index of the last window.")
    psi_expected: float | None = Field(None, description="About what the index is without drift.")
    shift: float | None = Field(None, description="Of the mean, in standard deviations of the reference.")


class AgreementDrift(Noun):
    """Later choices that fell on the picture the service had chosen."""

    status: Literal["gathering a reference", "no whole window yet", "as the reference", "falling"] = Field(
        description="Where the watch stands."
    )
    overall: Estimate | None = Field(None, description="Over all choices; None where there are none.")
    reference: Estimate | None = Field(default=None, description="Of the first choices; null before there are enough.")
    last: Estimate | None = Field(None, description="The last whole window.")
    chance: float | None = Field(None, description="What a blind pick would agree, on average.")
    looks: int = Field(default=0, description="Whole windows so far.")
    first_alarm: int | None = Field(default=None, description="The first window that alarmed.")
    p: float | None = Field(default=None, description="Of the last window, exact.")
    level: float | None = Field(default=None, description="The share of the level that the last look had.")


class DriftReport(Noun):
    """The state of a watch."""

    model: str = Field(description="The model that is watched.")
    alarm: bool = Field(description="Whether any window of any criterion, or of agreement, ever alarmed.")
    decisions: int = Field(description="Decisions that were read.")
    other_models: int = Field(description="Decisions of other models, left out.")
    unwatched: tuple[str, ...] = Field(
        (), description="Criteria that the reference does not know, or that came after the first look."
    )
    criteria: tuple[CriterionDrift, ...] = Field(description="One for each criterion.")
    agreement: AgreementDrift = Field(description="Of later choices with what the service had chosen.")
    policy: str = Field(default=DRIFT_POLICY, description="How it is looked at, and what the level means.")
    signature: Signature = Field(description="What reproduces the report.")


# -- the watch ---------------------------------------------------------------------------------------------------------


class _CriterionWatch:
    """One criterion: its reference, the window that fills, and the looks so far."""

    def __init__(self, reference: Iterable[float], frozen: bool) -> None:
        self.reference, self.frozen = list(reference), frozen
        self.window: list[float] = []
        self.seen: set[str] = set()
        self.missing = 0
        self.looks = 0
        self.last: DriftLook | None = None
        self.first_alarm: int | None = None


class _AgreementWatch:
    """Later choices: a reference, the window that fills, and the looks so far."""

    def __init__(self, agreed: int, n: int) -> None:
        self.reference, self.n_reference, self.frozen = agreed, n, n > 0
        self.window: list[bool] = []
        self.agreed = self.n = 0
        self.chance = 0.0
        self.looks = 0
        self.last: AgreementLook | None = None
        self.first_alarm: int | None = None


class _ModelWatch:
    """A watch over one model's decisions."""

    def __init__(self, settings: DriftSettings, reference: DriftReference | None = None) -> None:
        self.settings, self.decisions = settings, 0
        self.unwatched: set[str] = set()
        reference_values = {} if reference is None else reference.values
        self.criteria = {name: _CriterionWatch(values, True) for name, values in reference_values.items()}
        self.agreement = _AgreementWatch(reference.agreed, reference.choices) if reference else _AgreementWatch(0, 0)
        self._fixed = reference is not None

    def see(self, decision: Decision) -> None:
        """One more decision."""
        self.decisions += 1
        place = min(range(len(decision.pictures)), key=lambda number: decision.pictures[number])
        for name, values in decision.values.items():
            self._see_value(name, decision.pictures[place], values[place] if place < len(values) else None)

    def _see_value(self, name: str, picture: str, value: float | None) -> None:
        if name not in self.criteria:
            if self._fixed:
                self.unwatched.add(name)
                return
            self.criteria[name] = _CriterionWatch((), False)
        watched = self.criteria[name]
        if value is None:
            watched.missing += 1
            return
        if picture in watched.seen:
            return
        watched.seen.add(picture)
        if not watched.frozen:
            watched.reference.append(value)
            watched.frozen = len(watched.reference) >= self.settings.reference_size
            if watched.frozen:
                watched.seen.clear()
            return
        watched.window.append(value)
        if len(watched.window) >= self.settings.window:
            self._look(watched)

    def _look(self, watched: _CriterionWatch) -> None:
        watched.looks += 1
        watched.last = drift_look(
            watched.reference, watched.window, look=watched.looks, alpha=self._share(), bins=self.settings.bins
        )
        if watched.last.alarm and watched.first_alarm is None:
            watched.first_alarm = watched.looks
        watched.window.clear()
        watched.seen.clear()

    def said(self, agreed: bool, chance: float) -> None:
        """One more later choice."""
        watched = self.agreement
        watched.n, watched.agreed, watched.chance = watched.n + 1, watched.agreed + agreed, watched.chance + chance
        if not watched.frozen:
            watched.reference, watched.n_reference = watched.reference + agreed, watched.n_reference + 1
            watched.frozen = watched.n_reference >= self.settings.choices
            return
        watched.window.append(agreed)
        if len(watched.window) >= self.settings.choices:
            self._look_agreement(watched)

    def _look_agreement(self, watched: _AgreementWatch) -> None:
        watched.looks += 1
        watched.last = agreement_look(
            sum(watched.window), len(watched.window), watched.reference, watched.n_reference,
            look=watched.looks, alpha=self._share(),
        )  # fmt: skip
        if watched.last.alarm and watched.first_alarm is None:
            watched.first_alarm = watched.looks
        watched.window.clear()

    def _share(self) -> float:
        """The level of one of the criteria, or of agreement; from the first look on there are no others."""
        self._fixed = True
        return self.settings.level / (len(self.criteria) + 1)


class DriftMonitor:
    """A watch for each model that decided; threads may share it.

    What it tells is about the model of its reference; without one, about the model that decided last.
    """

    def __init__(self, settings: DriftSettings, reference: DriftReference | None = None) -> None:
        self.settings, self._reference = settings, reference
        self.model = "" if reference is None else reference.model
        self._models: dict[str, _ModelWatch] = {}
        if reference is not None:
            self._models[reference.model] = _ModelWatch(settings, reference)
        self._turn = threading.Lock()

    def _watch(self, model: str) -> _ModelWatch:
        return self._models.setdefault(model, _ModelWatch(self.settings))

    def see(self, decision: Decision) -> None:
        """One more decision."""
        with self._turn:
            if decision.pictures and decision.values:
                self.model = decision.model if self._reference is None else self.model
                self._watch(decision.model).see(decision)

    def said(self, decision: Decision, feedback: Feedback) -> None:
        """One more later choice."""
        with self._turn:
            if decision.chosen is not None:
                self.model = self.model or decision.model
                agreed = decision.pictures[decision.chosen] == feedback.chosen
                self._watch(decision.model).said(agreed, 1 / len(set(decision.pictures)))

    def frozen(self) -> DriftReference:
        """The reference of this watch, to keep in a file; criteria that still gather are left out."""
        with self._turn:
            watch = self._watch(self.model)
            values = {
                name: tuple(criterion.reference) for name, criterion in watch.criteria.items() if criterion.frozen
            }
            agreed = (watch.agreement.reference, watch.agreement.n_reference) if watch.agreement.frozen else (0, 0)
            return DriftReference(model=self.model, values=values, agreed=agreed[0], choices=agreed[1])

    def report(self) -> DriftReport:
        """What is known now."""
        with self._turn:
            watch = self._watch(self.model)
            criteria = tuple(_criterion(name, entry) for name, entry in watch.criteria.items())
            agreement = _agreement(watch.agreement)
            return DriftReport(
                model=self.model,
                alarm=any(entry.status == "drift" for entry in criteria) or agreement.status == "falling",
                decisions=watch.decisions, criteria=criteria, agreement=agreement,
                other_models=sum(entry.decisions for entry in self._models.values()) - watch.decisions,
                unwatched=tuple(sorted(watch.unwatched)),
                signature=Signature(method="drift-ks-spending", settings=self.settings.model_dump()),
            )  # fmt: skip


def _criterion(name: str, watch: _CriterionWatch) -> CriterionDrift:
    status = (
        "gathering a reference" if not watch.frozen else "drift" if watch.first_alarm
        else "as the reference" if watch.looks else "no whole window yet"
    )  # fmt: skip
    figures = {} if watch.last is None else {key: getattr(watch.last, key) for key in _LOOK_FIELDS}
    return CriterionDrift(
        criterion=name, status=status, reference=len(watch.reference), waiting=len(watch.window), missing=watch.missing,
        looks=watch.looks, first_alarm=watch.first_alarm, **figures,
    )  # fmt: skip


_LOOK_FIELDS = ("distance", "p", "level", "psi", "psi_expected", "shift")


def _agreement(watch: _AgreementWatch) -> AgreementDrift:
    status = (
        "gathering a reference" if not watch.frozen else "falling" if watch.first_alarm
        else "as the reference" if watch.looks else "no whole window yet"
    )  # fmt: skip
    last = watch.last
    return AgreementDrift(
        status=status,
        overall=_share(watch.agreed, watch.n),
        reference=_share(watch.reference, watch.n_reference) if watch.frozen else None,
        last=None if last is None else _share(round(last.agreement * last.n), last.n),
        chance=watch.chance / watch.n if watch.n else None,
        looks=watch.looks, first_alarm=watch.first_alarm, p=None if last is None else last.p,
        level=None if last is None else last.level,
    )  # fmt: skip


def _share(agreed: int, n: int) -> Estimate | None:
    return wilson(agreed, n, unit="choice") if n else None


# -- logs and files ----------------------------------------------------------------------------------------------------


def watch_log(log: Path, settings: DriftSettings, reference: DriftReference | None = None) -> DriftMonitor:
    """The watch over a whole log, as a service that had seen every decision would have it."""
    check_log(log)
    monitor = DriftMonitor(settings, reference)
    choices: Mapping[str, list[Feedback]] = defaultdict(list)
    for choice in feedback_lines(log):
        choices[choice.decision].append(choice)
    later: list[tuple[str, Decision, Feedback]] = []
    for decision in decision_lines(log):
        monitor.see(decision)
        later += [(choice.id or "", decision, choice) for choice in choices.get(decision.id or "", ())]
    for _, decision, choice in sorted(later, key=lambda row: row[0]):  # ids rise with time
        monitor.said(decision, choice)
    return monitor


def write_drift_reference(reference: DriftReference, path: Path) -> None:
    """Keep a reference in a file."""
    write_json(path, reference, indent=None)


def read_drift_reference(path: Path) -> DriftReference:
    """The reference in a file; BadFile where it is none."""
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise BadFile("a file with a drift reference is needed", found=error.strerror, where=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise BadFile("a drift reference is JSON", found=str(error), where=str(path)) from None
    if not isinstance(record, dict) or record.get("format") != DRIFT_FORMAT:
        raise BadFile(
            f"a drift reference of the format {DRIFT_FORMAT} is needed", found="another file", where=str(path),
            remedy="salon select drift LOG --freeze FILE writes one",
        )  # fmt: skip
    return DriftReference.parse(record, where=str(path))


class WatchedLog(DecisionLog):
    """A decision log with a watch over it; what the log holds already is seen first."""

    def __init__(
        self, settings: DecisionSettings, drift: DriftSettings | None = None, reference: DriftReference | None = None
    ) -> None:
        super().__init__(settings)
        self.monitor = watch_log(settings.folder, drift or DriftSettings(), reference)

    def record(self, decision: Decision) -> str:
        """Keep a decision and watch it."""
        id = super().record(decision)
        self.monitor.see(decision)
        return id

    def feedback(self, choice: Feedback, *, owner: str) -> tuple[Feedback, bool]:
        """Keep a later choice and watch it."""
        stored, new = super().feedback(choice, owner=owner)
        if new:
            self.monitor.said(self.find(choice.decision, owner), stored)
        return stored, new
