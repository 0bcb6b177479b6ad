"""The HTML report of a signal check, composed from its CheckReport alone: it prints numbers and computes none.

Every number of the page carries its path in the JSON of `salon check --json`, so that
`salon.report.disagreements(page.html(), report.model_dump(mode="json"))` is empty.
"""

from __future__ import annotations

from collections import Counter

from markupsafe import Markup

from salon.check.report_ceilings import ceiling_section
from salon.check.report_data import data_section, method_section, policies
from salon.check.report_flags import flag_section, protocol_section
from salon.check.report_parts import VERDICTS, Cohorts, badge, measured, name_of_cohort, named_apart
from salon.check.report_raters import faction_section, rater_section
from salon.check.report_shapes import cycle_section, distribution_section
from salon.check.report_signal import signal_section
from salon.check.results import CheckReport, CriterionFigures
from salon.report import Card, Note, Page, Section, Verdict, Verdicts, estimate_value, located
from salon.report.words import (
    SIMULATED,
    brief,
    counted,
    fixed,
    law_range,
    law_range_note,
    level_words,
    one_way,
    sentence,
)

DECIMALS = 3
LONGEST_SENTENCE = 600


def check_page(report: CheckReport) -> Page:
    """The whole report as one self-contained page."""
    here = located(named_apart(report))
    cohorts = Cohorts.of(here)
    sections = [
        verdict_section(here),
        signal_section(here, cohorts),
        distribution_section(here, cohorts),
        cycle_section(here, cohorts),
        rater_section(here),
        faction_section(here),
        ceiling_section(here),
        flag_section(here),
        protocol_section(here),
        data_section(here),
        method_section(here),
    ]
    return Page(
        title="Is there signal in these judgments?",
        tab=f"Signal check: {brief(report.study)}",
        subtitle=_subtitle(here),
        kicker=f"Salon check · {brief(report.study)}" + (" · simulated" if report.simulated else ""),
        banner=SIMULATED if report.simulated else "",
        cards=_cards(here),
        sections=[section for section in sections if section is not None],
        notes=_notes(here),
        signature=one_way(report.signature_line),
    )


def verdict_section(report: CheckReport) -> Section:
    """Warnings first, then what is concluded about each criterion, cohort by cohort, and every policy."""
    told = [sentence(words) for words in report.warnings]
    warnings = [Note(words, "alert", "Warning.") for words in told if words != SIMULATED]
    several = len({c.cohort for c in report.criteria}) > 1
    order = list(dict.fromkeys(c.cohort for c in report.criteria))
    ranked = sorted(report.criteria, key=lambda c: order.index(c.cohort))
    verdicts = [
        Verdict(
            c.name, badge(c), brief(c.sentence, LONGEST_SENTENCE), f"Cohort: {name_of_cohort(c)}" if several else ""
        )
        for c in ranked
    ]
    shown = Verdicts(verdicts) if verdicts else "The study holds no judgments of a criterion."
    blocks = [*warnings, shown, *policies(report)]
    return Section("Verdicts", blocks, "Do raters agree more than chance? If so, as one taste or as camps?")


def _subtitle(report: CheckReport) -> Markup:
    criteria = counted(len(report.criteria), "criterion", "criteria")
    return Markup("{}: {}. Design: {}").format(
        brief(report.study), criteria, brief(report.design, 200).rstrip(".") + "."
    )


def _cards(report: CheckReport) -> list[Card]:
    cards = [_verdict_card(report), _strongest_card(report)]
    with_ceilings = [c for c in report.criteria if c.ceilings is not None]
    if with_ceilings:
        cards.append(_ceiling_card(with_ceilings, "next_rater", "Next rater", "accuracy of one more rater"))
        cards.append(_ceiling_card(with_ceilings, "oracle", "Oracle", "accuracy if every pair's odds were known"))
    return cards


def _verdict_card(report: CheckReport) -> Card:
    if len(report.criteria) == 1:
        first = report.criteria[0]
        _, tone = VERDICTS[first.agree, first.taste]
        return Card("Do raters agree more than chance?", first.answer, first.name, tone)
    agreeing = [c for c in report.criteria if c.agree == "yes"]
    words = Markup("{} of {}").format(fixed(len(agreeing), 0), fixed(len(report.criteria), 0))
    tastes = [f"as {c.taste}" if c.taste != "cannot tell" else "one taste or camps: cannot tell" for c in agreeing]
    others = [f"agreement: {c.agree}" for c in report.criteria if c.agree != "yes"]
    found = [*Counter(tastes).most_common(), *Counter(others).most_common()]
    note = Markup("; ").join(Markup("{} in {}").format(what, fixed(n, 0)) for what, n in found)
    return Card("Criteria on which raters agree", words, note, "clear" if agreeing else "none")


def _strongest_card(report: CheckReport) -> Card:
    best = next(iter(measured(report.criteria)), None)
    if best is not None:
        ends = best.statistics.intervals["mean_tau"]
        shown = estimate_value((best.statistics.mean_tau, ends.low, ends.high), None, DECIMALS)
        return Card("Strongest signal, mean τ", shown, f"{best.name}. Random raters give zero.")
    paired = [(c.pair_agreement, c.name) for c in report.criteria if c.pair_agreement is not None]
    if not paired:
        return Card("Strongest signal", "–", "no criterion has two answers on one pair", "thin")
    agreement, name = max(paired, key=lambda entry: entry[0].value)
    shown = estimate_value(agreement, None)
    return Card("Strongest signal, agreement of two votes", shown, f"{name}. Random raters give zero.")


def _ceiling_card(criteria: list[CriterionFigures], field: str, label: str, meaning: str) -> Card:
    """One criterion: its range. Several: from the lowest to the highest."""
    low = min(criteria, key=lambda c: getattr(c.ceilings, f"{field}_range")[0])
    high = max(criteria, key=lambda c: getattr(c.ceilings, f"{field}_range")[1])
    if len(criteria) == 1:
        shown = law_range(getattr(low.ceilings, f"{field}_range"))
        note = law_range_note(getattr(low.ceilings, field))
        return Card(f"{label} ceiling", shown, Markup("{}; {}").format(meaning, note))
    shown = law_range((getattr(low.ceilings, f"{field}_range")[0], getattr(high.ceilings, f"{field}_range")[1]))
    return Card(f"{label} ceiling", shown, f"{meaning}; lowest {low.name}, highest {high.name}")


def _notes(report: CheckReport) -> list[str]:
    notes = [
        Markup("Intervals in brackets are at the {} level. Each number of this page carries its path in the JSON of "
               "the same check.").format(level_words(report))
    ]  # fmt: skip
    return [*([SIMULATED] if report.simulated else []), *notes]
