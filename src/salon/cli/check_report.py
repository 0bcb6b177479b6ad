"""Terminal tables of `salon check`, `null`, `anchor`, `plan` and `plan budget`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

from salon.check import (
    FLAGS_NOT_RANKED,
    LEAST_ITEMS,
    STATISTICS,
    AnchorReport,
    BudgetReport,
    CeilingFigures,
    CheckReport,
    CriterionFigures,
    Interval,
    PlanReport,
    ThinReport,
    unranked_flags,
)
from salon.cli.console import Cell, count, print_table, say
from salon.report import MISSING, estimate, exact, p_value, range_with_interval, with_interval
from salon.report.numbers import fixed
from salon.stats import Null

COLORS = {"yes": "green", "no": "red", "cannot tell": "yellow"}
TASTES = {"one taste": "as one taste", "camps": "as camps", "cannot tell": "as one taste or as camps: cannot tell"}
CEILINGS = {
    "next_rater": "next rater",
    "oracle": "oracle",
    "panel": "panel",
    "leave_one_out": "leave-one-out",
    "cap": "cap",
}
MOST_RATERS = 10
"""Raters with a flag that are printed."""


def print_check(report: CheckReport, html: Path | None) -> None:
    """The verdicts first, then the numbers behind them."""
    say(f"{report.study}: {count(len(report.criteria), 'criterion', 'criteria')}", bold=True)
    for warning in report.warnings:
        say(f"warning: {warning}", fg="yellow")
    click.echo()
    for criterion in report.criteria:
        say(
            f"{criterion.name}: do raters agree more than chance? {_answer(criterion)}",
            bold=True,
            fg=COLORS[criterion.agree],
        )
        say(f"  {criterion.sentence}")
    click.echo()
    rows = [_statistics_row(criterion) for criterion in report.criteria]
    print_table(
        "Agreement", ("criterion", "prompts", *(str(field.title) for field in STATISTICS.values()), "alpha"), rows
    )
    nulls = {_null_row(criterion) for criterion in report.criteria if criterion.null is not None}
    for row in sorted(nulls):
        say(f"random raters: {row}", dim=True)
    click.echo()
    _print_tests(report)
    rows = []
    for criterion in report.criteria:
        ceilings = criterion.ceilings
        if ceilings is not None:
            rows.append((criterion.name, *(_ceiling(ceilings, name) for name in CEILINGS)))
    if report.together is not None:
        rows.append(("all pairs together", *(_ceiling(report.together.pooled, name) for name in CEILINGS)))
    if rows:
        columns = ("criterion", *CEILINGS.values())
        print_table("Ceilings: accuracy against the panel's majority; chance is 0.5", columns, rows)
        say(
            "Quote next rater and oracle: ranges over all laws of pair odds that fit the votes, with the range's "
            "interval. The panel (TASTE's LOO) and the cap are no bounds.",
            dim=True,
        )
        if (together := report.together) is not None:
            splits = ", ".join(f"{name} {share.value:.1%}" for name, share in together.pooled.buckets.items())
            say(
                f"Over {together.criteria} criteria the mean panel is {fixed(together.mean_panel)}, from "
                f"{fixed(together.lowest_panel)} ({together.lowest}) to {fixed(together.highest_panel)} "
                f"({together.highest}); {together.pooled.pairs:,} pairs split {splits}.",
                dim=True,
            )
        click.echo()
    _print_flags(report)
    _print_protocols(report)
    _print_raters(report)
    criteria_by_policy: dict[str, list[str]] = {}
    for criterion in report.criteria:
        for policy in criterion.policies:
            criteria_by_policy.setdefault(policy, []).append(criterion.name)
    for policy, names in criteria_by_policy.items():
        say(f"policy: {policy}{_criteria_suffix(names, report)}")
    say(f"intervals: {report.level:.0%}, prompts drawn again; computed in {report.seconds:.1f} s", dim=True)
    say(report.signature_line, dim=True)
    if html is not None:
        say(f"report: {html}")


def _answer(criterion: CriterionFigures) -> str:
    if criterion.taste is None:
        return criterion.agree
    taste = "they oppose each other" if criterion.agree == "no" else TASTES[criterion.taste]
    return f"{criterion.agree}{';' if criterion.taste == 'cannot tell' else ','} {taste}"


def _statistics_row(criterion: CriterionFigures) -> tuple[Cell, ...]:
    stats = criterion.statistics
    values = {name: _with_ends(getattr(stats, name), stats.intervals.get(name)) for name in STATISTICS}
    if stats.mean_tau is None:
        values["mean_tau"] = "votes " + with_interval(criterion.pair_agreement, None)
    return (criterion.name, criterion.prompts, *values.values(), with_interval(criterion.alpha, None))


def _null_row(criterion: CriterionFigures) -> str:
    null, shapes = criterion.null, criterion.shapes
    assert null is not None
    shape = ", ".join(f"({panel_shape.items} items, {panel_shape.raters} raters)" for panel_shape in shapes)
    figures = (f"{field.title} {fixed(getattr(null, name, None))}" for name, field in STATISTICS.items())
    return f"{', '.join(figures)}; {null.method} at {shape}"


def _with_ends(value: float | None, interval: Interval | None) -> str:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return estimate(value, low, high)


def _print_tests(report: CheckReport) -> None:
    rows: list[tuple[Cell, ...]] = []
    criteria_by_remark: dict[str, list[str]] = {}
    for criterion in report.criteria:
        for test in criterion.tests:
            if test.p is None:
                criteria_by_remark.setdefault(f"{test.name} not tested: {test.refused}", []).append(criterion.name)
                continue
            naive = "" if test.p_naive is None else p_value(test.p_naive)
            rows.append((criterion.name, test.name, p_value(test.p), p_value(test.p_holm), naive))
            criteria_by_remark.setdefault(f"{test.name}: {test.law}", []).append(criterion.name)
    if rows:
        columns = ("criterion", "test", "p", "p (Holm)", "p (naive: wrong law)")
        print_table("Tests of random raters", columns, rows, left=(0, 1))
    for what, names in criteria_by_remark.items():
        say(what + _criteria_suffix(names, report), dim=True)
    if {"T", "p_max"} <= {row[1] for row in rows}:
        say("T is a function of the p_max histogram: the two are not independent evidence.", dim=True)
    click.echo()


def _criteria_suffix(names: list[str], report: CheckReport) -> str:
    """Which criteria a remark is about, unless it is about all, or about so many that the HTML tells it better."""
    if len(names) == len(report.criteria):
        return ""
    return f" [{', '.join(names)}]" if len(names) <= 4 else f" [{len(names)} criteria]"


def _ceiling(ceilings: CeilingFigures, name: str) -> str:
    figure, span = getattr(ceilings, name), getattr(ceilings, f"{name}_range", None)
    return with_interval(figure, None) if span is None else range_with_interval(span, figure)


def _print_flags(report: CheckReport) -> None:
    """Flags have a table of their own: they order nothing unless they are named."""
    if not report.flags:
        return
    rows = [
        (
            flag.name,
            flag.cohort or MISSING,
            flag.items,
            flag.answers,
            ", ".join(f"{label} {share.value:.0%}" for label, share in zip(flag.labels, flag.shares)),
            with_interval(flag.alpha, None),
        )
        for flag in report.flags
    ]
    print_table("Flags", ("flag", "cohort", "items", "answers", "levels", "alpha (ordinal)"), rows, left=(0, 1, 4))
    if unranked_flags(report):
        say(FLAGS_NOT_RANKED, dim=True)
    click.echo()


def _print_protocols(report: CheckReport) -> None:
    """The table of all criteria together, or of the only one."""
    figures = report.protocols_together or next(iter(report.protocols), None)
    if figures is None:
        return
    rows = [
        (
            row.name,
            with_interval(row.comparisons, None),
            with_interval(row.ratings, None),
            with_interval(row.difference, None),
            "" if row.ahead is None else f"{row.ahead} of {row.groups}",
        )
        for row in figures.rows
    ]
    where = "all criteria" if figures.criterion is None else figures.criterion
    title = f"Comparisons against ratings by the same raters ({where}, {figures.group})"
    print_table(title, ("diagnostic", "comparisons", "ratings", "difference", "ahead"), rows)
    say("ahead: groups in which comparisons come out better; --html shows each criterion and each rater", dim=True)
    click.echo()


def _print_raters(report: CheckReport) -> None:
    flagged = [row for row in report.raters if row.flags]
    if flagged:
        rows = [
            (row.rater, row.judgments, with_interval(row.mean_tau, None), "; ".join(row.flags))
            for row in flagged[:MOST_RATERS]
        ]
        print_table("Raters to look at", ("rater", "judgments", "tau to the rest", "why"), rows, left=(0, 3))
        if len(flagged) > MOST_RATERS:
            say(f"... and {len(flagged) - MOST_RATERS:,} more: --html and --json hold all", dim=True)
        click.echo()


def print_null(law: Null, signature: str) -> None:
    """The law of T, p_max and cycles."""
    how = "exact" if law.exact else f"Monte Carlo, n={law.draws:,}"
    say(f"{law.items} items, {law.raters} raters ranking at random ({how})", bold=True)
    error = "" if law.cycle_rate_error is None else f" (standard error {law.cycle_rate_error:.2g})"
    rows = [
        ("cycle rate", _fraction(law, law.cycle_rate), fixed(float(law.cycle_rate), 6) + error),
        ("mean p_max", _fraction(law, law.mean_pmax), fixed(float(law.mean_pmax), 6)),
        ("median T", _fraction(law, law.median_T), fixed(float(law.median_T), 6)),
        ("variance of T", _fraction(law, law.var_T), fixed(float(law.var_T), 6)),
    ]
    print_table(None, ("", "exact", "value"), rows)
    probabilities = list(law.t_pmf.items())
    cut = probabilities if len(probabilities) <= 40 else probabilities[:40]
    values = [(exact(T), fixed(float(T), 4), _fraction(law, p), f"{float(p):.6g}") for T, p in cut]
    click.echo()
    print_table(f"Law of T ({len(probabilities)} values)", ("T", "value", "probability", "value"), values, left=())
    if len(cut) < len(probabilities):
        say(f"... {len(probabilities) - len(cut)} more; --json prints all")
    weights = " + ".join(f"{float(w):.4f} chi2(1)" for w in law.pmax_weights)
    say(f"\np_max chi-square follows {weights}")
    say(signature, dim=True)


def _fraction(law: Null, value: Fraction) -> str:
    text = exact(value)
    return text if law.exact and len(text) <= 44 else "–"


def print_anchor(report: AnchorReport) -> None:
    """An anchor's four statistics."""
    say(f"{report.name}: {report.items} items and {report.raters} raters", bold=True)
    rows = [
        (STATISTICS[name].title or name, _with_ends(getattr(report, name), ends))
        for name, ends in report.intervals.items()
    ]
    print_table(None, ("", "value"), rows)
    panels = f" in {report.panels:,} different panels" if report.panels else ""
    say(f"{report.draws:,} draws of {report.clusters:,} {report.cluster}s{panels}; {report.tie_rate:.1%} of pairs tied")
    for policy in report.policies:
        say(f"policy: {policy}")
    say(f"intervals: {report.level:.0%}", dim=True)
    say(report.signature_line, dim=True)


_NEEDS = {
    "T": "it needs more prompts",
    "p_max": "it needs more prompts",
    "cycle": "majority cycles need 3 items and 3, 5 or more raters",
}
"""What a test without power lacks."""


def print_plan(report: PlanReport) -> None:
    """Power, and the smallest designs."""
    say(
        f"{count(report.prompts, 'prompt')}, {report.items} items, {report.raters} raters, "
        f"{count(report.criteria, 'criterion', 'criteria')}; "
        f"{report.model} raters with mean tau {report.mean_tau:.3f} (parameter {report.parameter:.4g})",
        bold=True,
    )
    rows: list[tuple[Cell, ...]]
    rows = [(row.test, with_interval(row.alone, None), with_interval(row.holm, None)) for row in report.power]
    print_table("Chance that each test rejects random raters", ("test", "alone", "after Holm"), rows)
    for row in report.power:
        if row.alone is None:
            say(f"{row.test} cannot be made with this design: {_NEEDS[row.test]}", dim=True)
    say(f"at least one of them, after Holm: {with_interval(report.any_test, None)}\n")
    rows = [
        (
            f"{row.target:.0%}",
            row.of,
            f"{row.value:,}" if row.value is not None else "not reached",
            f"{row.searched[0]:,} to {row.searched[1]:,}",
        )
        for row in report.smallest
    ]
    print_table("Smallest design for the T test, after Holm", ("power", "of", "needed", "searched"), rows, left=(0, 1))
    rows = [(n, with_interval(power, None)) for n, power in zip(report.curve.prompts, report.curve.power)]
    click.echo()
    print_table("Power of the T test by number of prompts, after Holm", ("prompts", "power"), rows, left=())
    say(report.signature_line, dim=True)


# -- plan budget ----------------------------------------------------------------------------------------------------

THINNED_COLUMNS = (
    "kept",
    "of all pairs",
    "pairs",
    "judgments",
    "Elo SRCC",
    "Elo PLCC",
    "lowest SRCC",
    "Bradley-Terry SRCC",
    "PLCC",
    "in one piece",
    "diameter",
    "mean path",
)


def print_budget(report: BudgetReport) -> None:
    """Simulated designs, and the thinnest that does."""
    spread = f"true scores with standard deviation {report.spread:g} logits"
    say(f"simulated: {report.items} items, {report.raters} raters, {spread}", bold=True)
    table = [
        (
            f"{row.fraction:.0%}",
            row.pairs,
            row.judgments,
            with_interval(row.to_full, None),
            with_interval(row.to_truth, None),
            f"{row.diameter:.1f}",
            fixed(row.mean_path, 4),
        )
        for row in report.rows
    ]
    columns = ("of all pairs", "pairs", "judgments", "SRCC to full", "SRCC to truth", "diameter", "mean path")
    print_table("Comparison budget", columns, table, left=())
    if (enough := report.smallest) is None:
        say("no fraction below the full design reaches the target")
    else:
        srcc = with_interval(enough.to_full, None)
        say(f"enough: {enough.pairs:,} pairs ({enough.fraction:.1%}), SRCC to the full design {srcc}")
    say(report.signature_line, dim=True)


def print_thinning(report: ThinReport) -> None:
    """A study's comparisons, thinned."""
    say(f"{report.study}: {len(report.groups)} groups of compared items, means over them", bold=True)
    if report.simulated:
        say("warning: simulated study: no person gave these answers", fg="yellow")
    rows = [
        (
            f"{row.fraction:.0%}",
            f"{row.of_all:.0%}",
            f"{row.pairs:,.0f}",
            f"{row.judgments:,.0f}",
            with_interval(row.elo_srcc, None),
            with_interval(row.elo_plcc, None),
            fixed(row.lowest),
            with_interval(row.bradley_terry_srcc, None),
            with_interval(row.bradley_terry_plcc, None),
            f"{row.connected:.0%}",
            None if row.diameter is None else f"{row.diameter:.1f}",
            fixed(row.mean_path, 4),
        )
        for row in report.rows
    ]
    print_table("Scores from fewer pairs against those of all", THINNED_COLUMNS, rows, left=())
    say("intervals: 95%, over random choices of the pairs; at 100% Elo lacks what its own shuffles change", dim=True)
    if report.left_out:
        say(f"left out: {report.left_out} groups of fewer than {LEAST_ITEMS} items", dim=True)
    say(report.signature_line, dim=True)
