"""What every rater has earned, line by line: base pay, pay for the outcome of a visit, bonus by rule.

A panel's ids are in a line only where they were asked for. Salon counts, it does not pay.
"""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import get_args

from pydantic import Field

from salon.collect.panels import visit_end
from salon.collect.settings import Bonus, Outcome, StudioSettings
from salon.collect.studio.adjudication import ADJUDICATORS
from salon.collect.studio.owner_side import payment
from salon.collect.studio.rater_side import KNOWN_ANSWER, task_question
from salon.errors import BadValue
from salon.store import Database, RaterVisit, StoredRater, Visitor
from salon.study import Noun

_CENT = Decimal("0.01")
PANEL_IDS = ("participant", "panel_study", "session")
"""Columns that say who somebody is to the panel."""


class PaymentLine(Noun):
    """One rater in the list of payments."""

    rater: str = Field(description="Pseudonym in the study.")
    participant: str = Field("", description="The panel's id of the person.", repr=False)
    panel_study: str = Field("", description="The panel's id of the study.", repr=False)
    session: str = Field("", description="The panel's id of this participation.", repr=False)
    cohort: str = Field("", description="Cohort of the studio.")
    status: str = Field(description="How the rater stands in the studio.")
    outcome: str = Field(
        "", description="How the visit from the panel ended; empty while it lasts, or without a panel."
    )
    code: str = Field("", description="Completion code that the visitor was given.")
    joined: str = Field("", description="First visit, UTC.")
    ended: str = Field("", description="When the outcome was settled, UTC.")
    minutes: float = Field(description="Minutes of work; silences longer than pay.idle_minutes are not counted.")
    answers: int = Field(description="Questions answered.")
    gold: int = Field(description="Gold questions answered, qualification included.")
    gold_right: int = Field(description="Of them, right ones.")
    attention: int = Field(description="Attention checks answered.")
    attention_missed: int = Field(description="Of them, missed ones.")
    base: Decimal = Field(description="Hours, answers and finishing as [pay] says, and the pay of the outcome.")
    bonus: Decimal = Field(description="Sum of the bonuses whose rule is met.")
    total: Decimal = Field(description="Base and bonus.")
    currency: str = Field(description="Currency of the sums.")


def payment_lines(database: Database, settings: StudioSettings, *, panel_ids: bool = False) -> list[PaymentLine]:
    """A line for each rater of the studio's cohorts who answered something or came through a panel."""
    visitors = {visitor.rater: visitor for visitor in database.visitors()}
    visits: dict[str, list[RaterVisit]] = defaultdict(list)
    for visit in database.visits():
        visits[visit.rater].append(visit)
    answered = database.answered()
    known = known_answers(database)
    return [
        _line(rater, visitors.get(rater.id), visits[rater.id], answered.get(rater.id, 0), known, settings, panel_ids)
        for rater in database.raters()
        if rater.cohort != ADJUDICATORS and (rater.id in visitors or answered.get(rater.id))
    ]


def known_answers(database: Database) -> dict[str, Counter[str]]:
    """By rater: how many known answers of each sort were given, and how many were right."""
    hits: dict[str, dict[int, bool]] = defaultdict(dict)
    for answer in database.given(kind=KNOWN_ANSWER):
        if answer.task is not None and not answer.undone:
            hits[answer.rater][answer.task] = bool(answer.record["right"])
    counts: dict[str, Counter[str]] = {}
    for rater, right in hits.items():
        counts[rater] = Counter()
        for task in database.tasks_of(rater):
            if task.id in right:
                sort = "attention" if task_question(task).why == "attention" else "gold"
                counts[rater].update({sort: 1, f"{sort}_right": int(right[task.id])})
    return counts


def _line(
    rater: StoredRater,
    visitor: Visitor | None,
    visits: Sequence[RaterVisit],
    answers: int,
    known: Mapping[str, Counter[str]],
    settings: StudioSettings,
    panel_ids: bool,
) -> PaymentLine:
    outcome = _outcome(visitor)
    finished = rater.status == "done" and outcome in (None, "done")
    earned = payment(visits, answers, finished=finished, pay=settings.pay)
    counts = known.get(rater.id, Counter())
    base = earned.amount
    code = ""
    if visitor is not None and outcome is not None and settings.panel is not None:
        base += _money(settings.panel.ending(outcome).pay)
        code = visit_end(settings, outcome, visitor.ids, visitor.personal).code or ""
    minutes = earned.hours * 60
    bonus = sum(
        (_money(rule.amount) for rule in settings.pay.bonus if _is_met(rule, counts, minutes, answers)), Decimal()
    )
    bonus = bonus if finished else Decimal()
    ids = (visitor.ids.participant, visitor.ids.study or "", visitor.ids.session or "") if visitor and panel_ids else ()
    return PaymentLine(
        rater=rater.id,
        cohort=rater.cohort or "",
        status=rater.status,
        outcome=(outcome or "").replace("_", " "),
        code=code,
        joined=_moment(visitor.joined_at if visitor else rater.created_at),
        ended=_moment(visitor.ended_at if visitor else None),
        minutes=round(minutes, 2),
        answers=answers,
        gold=counts["gold"],
        gold_right=counts["gold_right"],
        attention=counts["attention"],
        attention_missed=counts["attention"] - counts["attention_right"],
        base=base.quantize(_CENT, ROUND_HALF_UP),
        bonus=bonus.quantize(_CENT, ROUND_HALF_UP),
        total=(base + bonus).quantize(_CENT, ROUND_HALF_UP),
        currency=settings.pay.currency,
        **dict(zip(PANEL_IDS, ids)),
    )


def _outcome(visitor: Visitor | None) -> Outcome | None:
    """How a visit ended, as far as it is settled; a visitor who is done may not have seen the last page."""
    if visitor is None:
        return None
    if visitor.outcome in get_args(Outcome):
        return visitor.outcome  # type: ignore[return-value]  # just looked up
    return "done" if visitor.status == "done" else None


def _is_met(rule: Bonus, counts: Counter[str], minutes: float, answers: int) -> bool:
    """Is the rule of a bonus met? A share of nothing is not."""
    if rule.measure in ("gold", "attention"):
        asked = counts[rule.measure]
        return asked > 0 and counts[f"{rule.measure}_right"] >= rule.least * asked - 1e-9
    return (minutes if rule.measure == "minutes" else answers) >= rule.least


def _money(value: float) -> Decimal:
    return Decimal(str(value))


def _moment(at: int | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# -- as a file ---------------------------------------------------------------------------------------------------------


def payments_csv(lines: Iterable[PaymentLine], *, panel_ids: bool = False) -> str:
    """The lines as a CSV table; no cell of it is run as a formula by a spreadsheet."""
    columns = [name for name in PaymentLine.model_fields if panel_ids or name not in PANEL_IDS]
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(columns)
    for line in lines:
        writer.writerow([_cell(getattr(line, name)) for name in columns])
    return target.getvalue()


def bonus_lines(lines: Iterable[PaymentLine]) -> str:
    """`participant,amount` for everybody with a bonus: what Prolific takes as bulk bonus payments."""
    due = [line for line in lines if line.bonus > 0 and line.participant]
    twice = [id for id, count in Counter(line.participant for line in due).items() if count > 1]
    if twice:
        raise BadValue("one line for each participant is needed", found=f"{len(twice)} with several")
    return "".join(f"{line.participant},{line.bonus}\n" for line in due)


def _cell(value: object) -> str:
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(("=", "+", "-", "@", "\t", "\r", "'")) else text
