"""An adjudicator's half of a studio: disputed questions, rulings, and the study as it stands after them.

A ruling that settles a question is a judgment like any other, of a rater in the cohort `adjudicators`: the study that
is exported holds it, and nothing that raters said is changed. A ruling that drops an item is kept beside them; the
item, and what was said about it, is left out of what is exported. Both can be taken back, and stay as history.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from salon.collect.agreement import Agreement, Disagreement, Ruling, agreement, disagreements
from salon.collect.settings import StudioSettings
from salon.collect.studio.removal import without_items, without_raters
from salon.errors import BadValue, DesignError
from salon.store import Database, OtherAnswer, SavedSubmission, StoredAnswer, now_ms
from salon.store.database.tables import LEFT_OUT
from salon.study import KINDS, Choice, Comparison, Criterion, Judgment, Rating, Study, vote_word

ADJUDICATORS = "adjudicators"
"""The cohort of those who settle."""
DROPPED = "dropped"
"""Kind of the record that takes an item out; no judgment of the study."""
MOST_DISPUTES = 500
_PAIR = 2


def adjudicator_name(link: int) -> str:
    """The pseudonym of the adjudicator with this link."""
    return f"adjudicator-{link}"


def check_cohorts(settings: StudioSettings) -> None:
    """DesignError where raters would be in the cohort whose answers are rulings."""
    if any(cohort.id == ADJUDICATORS for cohort in settings.cohorts):
        raise DesignError(
            "a cohort of raters needs another name",
            found=repr(ADJUDICATORS),
            where="cohorts",
            remedy="that one is kept for those who settle disputes; invite them on the page of raters",
        )


@dataclass(frozen=True)
class Disputes:
    """Where raters are split, and how well they agree before and after the rulings there are."""

    open: tuple[Disagreement, ...] = ()
    """The most disputed first, at most `MOST_DISPUTES`, those that were ruled on too."""
    found: int = 0
    """How many there are in all."""
    before: tuple[Agreement, ...] = ()
    after: tuple[Agreement, ...] = ()


@dataclass(frozen=True)
class StoredRuling:
    """A ruling as it is kept."""

    id: int
    by: str
    at: int
    ruling: Ruling


def dispute_key(criterion: str, items: Iterable[str]) -> str:
    """The name of a disputed question in addresses and forms; it tells nothing."""
    return hashlib.sha256("\x1f".join((criterion, *sorted(items))).encode()).hexdigest()[:20]


def screen_order(dispute: Disagreement) -> tuple[str, ...]:
    """The items as they stand on the screen: in an order that no id decides."""
    key = dispute_key(dispute.criterion, dispute.items)
    return tuple(sorted(dispute.items, key=lambda item: hashlib.sha256(f"{key} {item}".encode()).digest()))


def find_disputes(database: Database, study: Study) -> Disputes:
    """The disputes of a study; adjudicators are no side in them."""
    people = without_raters(study, list_adjudicators(study))
    judgments: list[Judgment] = [
        *people.nouns("comparisons"),
        *people.nouns("choices"),
        *people.nouns("ratings"),
    ]
    disputes = disagreements(judgments)
    rulings = [ruling.ruling for ruling in list_rulings(database)]
    before, after = agreement(judgments), agreement(judgments, rulings)
    return Disputes(tuple(disputes[:MOST_DISPUTES]), len(disputes), tuple(before), tuple(after))


def list_rulings(database: Database) -> list[StoredRuling]:
    """Every ruling that stands, oldest first."""
    rulings = []
    for rater in database.raters():
        if rater.cohort == ADJUDICATORS and rater.status not in LEFT_OUT:
            answers = [answer for answer in database.given(rater.id) if not answer.undone]
            rulings += [
                StoredRuling(answer.id, answer.rater, answer.answered_at or 0, _ruling(answer)) for answer in answers
            ]
    return sorted(rulings, key=lambda answer: answer.id)


def _ruling(answer: StoredAnswer) -> Ruling:
    if answer.kind == DROPPED:
        return Ruling(answer.criterion or "", (answer.record["item"],), None)
    judgment = KINDS[answer.kind].noun.parse(answer.record)
    assert isinstance(judgment, Judgment)
    if isinstance(judgment, Comparison):
        items: tuple[str, ...] = (judgment.a, judgment.b)
    else:
        items = tuple(getattr(judgment, "items", None) or (getattr(judgment, "item", ""),))
    return Ruling(judgment.criterion, items, vote_word(judgment))


class AdjudicatorSide:
    """What an adjudicator does."""

    database: Database
    settings: StudioSettings
    criteria: dict[str, Criterion]

    def options(self, dispute: Disagreement) -> list[str]:
        """The answers that may settle a dispute, as in `Disagreement.votes`."""
        if len(dispute.items) == 1:
            scale = self.criteria[dispute.criterion].scale
            return [f"{level:g}" for level in scale.levels] if scale and scale.levels else sorted(dispute.votes)
        phases_of_all = [phase for cohort in self.settings.cohorts for phase in cohort.phases]
        phases = [
            phase for phase in phases_of_all if dispute.criterion in phase.criteria and phase.protocol == "compare"
        ]
        pair = len(dispute.items) == _PAIR
        ties = "tie" in dispute.votes or (pair and any(phase.ties for phase in phases))
        bad = "both_bad" in dispute.votes or (pair and any(phase.both_bad for phase in phases))
        return [*screen_order(dispute), *(["tie"] if ties else []), *(["both_bad"] if bad else [])]

    def settle(
        self, by: str, dispute: Disagreement, answer: str, *, key: str, now: int | None = None
    ) -> SavedSubmission:
        """Give a disputed question its final answer; BadValue for one it does not offer, or when it has one."""
        if answer not in self.options(dispute):
            raise BadValue("one of the answers offered is needed", found=repr(answer), remedy="load the page again")
        question_key = dispute_key(dispute.criterion, dispute.items)
        if any(
            dispute_key(stored.ruling.criterion, stored.ruling.items) == question_key
            for stored in list_rulings(self.database)
        ):
            raise BadValue("a question without a ruling is needed", found="one that is settled", remedy="take it back")
        now = now_ms() if now is None else now
        at = datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec="milliseconds")
        judgment = _final(by, dispute, answer, at)
        return self.database.add_judgments([(by, judgment)], key=key, what="question settled", by=by, at=now)

    def drop(self, by: str, criterion: str, item: str, *, key: str, now: int | None = None) -> SavedSubmission:
        """Take an item out of what is exported."""
        record = OtherAnswer(DROPPED, {"item": item}, criterion=criterion)
        return self.database.add_judgments([(by, record)], key=key, what="item dropped", by=by, at=now)

    def take_ruling_back(self, by: str, ruling: int, *, now: int | None = None) -> None:
        """Undo one of the adjudicator's own rulings."""
        self.database.take_back(by, ruling, what="ruling taken back", by=by, at=now)


def _final(by: str, dispute: Disagreement, answer: str, at: str) -> Judgment:
    shared = {"criterion": dispute.criterion, "rater": by, "at": at}
    order = screen_order(dispute)
    if len(order) == 1:
        return Rating.parse(shared | {"item": order[0], "value": float(answer)})
    if len(order) > _PAIR:
        return Choice.parse(shared | {"items": order, "chosen": answer})
    a, b = order
    return Comparison.parse(shared | {"a": a, "b": b, "outcome": {a: "a", b: "b"}.get(answer, answer), "left": "a"})


def study_after_rulings(database: Database, study: Study, *, adjudicators: bool = True) -> Study:
    """The study without the items that were dropped; without the adjudicators' answers too, where so wanted."""
    dropped = {
        item for stored in list_rulings(database) if stored.ruling.answer is None for item in stored.ruling.items
    }
    return without_items(study if adjudicators else without_raters(study, list_adjudicators(study)), sorted(dropped))


def list_adjudicators(study: Study) -> list[str]:
    """The raters of the cohort of adjudicators."""
    return [rater.id for rater in study.nouns("raters") if rater.cohort == ADJUDICATORS]
