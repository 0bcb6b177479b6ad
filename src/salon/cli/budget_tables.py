"""Comparison budgets on the terminal."""

from __future__ import annotations

from salon.check.budget import LEAST_ITEMS, BudgetReport, ThinReport, ThinRow
from salon.cli.console import print_table, say
from salon.report.numbers import fixed, with_interval

THINNED = (
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
            f"{row.pairs:,}",
            f"{row.judgments:,}",
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
        kept = with_interval(enough.to_full, None)
        say(f"enough: {enough.pairs:,} pairs ({enough.fraction:.1%}), SRCC to the full design {kept}")
    say(report.signature_line, dim=True)


def print_thinning(report: ThinReport) -> None:
    """A study's comparisons, thinned."""
    say(f"{report.study}: {len(report.groups)} groups of compared items, means over them", bold=True)
    if report.simulated:
        say("warning: simulated study: no person gave these answers", fg="yellow")
    print_table("Scores from fewer pairs against those of all", THINNED, list(map(_row, report.rows)), left=())
    say("intervals: 95%, over random choices of the pairs; at 100% Elo lacks what its own shuffles change", dim=True)
    if report.left_out:
        say(f"left out: {report.left_out} groups of fewer than {LEAST_ITEMS} items", dim=True)
    say(report.signature_line, dim=True)


def _row(row: ThinRow) -> tuple[str, ...]:
    return (
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
        "–" if row.diameter is None else f"{row.diameter:.1f}",
        fixed(row.mean_path, 4),
    )
