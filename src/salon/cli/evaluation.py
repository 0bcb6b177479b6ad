"""How an evaluation is printed: the same tables as on its page, for judges, scorers and models alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from salon.cli.console import count, print_closing, print_report_table, say
from salon.evaluate import NOT_RANKED, Evaluation, Names, TickReport, part_tables, tables
from salon.report import Table

HARDEST = 9
"""Points of checklists that are printed."""


def print_evaluation(report: Evaluation, html: Path | None = None) -> None:
    """Judges, best first, beside their ceilings; then criteria, people, checklists, scores, warnings and policies."""
    if report.leaking:
        say("LEAK: a model was trained on what it is tested on, or nobody knows", fg="red", bold=True)
    names = tables.judge_names(report)
    for study in (report, *report.also):
        if study.simulated:
            say("SIMULATED: nobody gave these answers.", fg="yellow")
        for table in _study_tables(study, names):
            if table is not None:
                print_report_table(table, ranges=tables.QUOTED)
        for words in study.warnings if study.also or study is not report else ():
            say(f"warning: {words}", fg="yellow")
    if report.flags:
        say(NOT_RANKED, dim=True)
    for extra in (tables.curve_table(report), tables.seed_table(report, names)):
        if extra is not None:
            print_report_table(extra, ranges=tables.QUOTED)
    warnings = () if report.also else report.warnings
    print_closing(report.policies, report.signature_line, warnings=warnings, html=html)


def _study_tables(report: Evaluation, names: Names) -> Iterator[Table | None]:
    if report.judges:
        prompts = "all prompts" if report.split == "all" else f"{report.split} prompts"
        pairs = f"{count(report.pairs, 'pair')} of {count(report.prompts, 'prompt')}"
        say(f"{report.study}, {prompts}: {pairs}, {count(report.votes, 'vote')}", bold=True)
        yield tables.accuracy_table(report, names)
        yield tables.matrix_table(report, names)
        yield tables.split_table([(names[judge.name], judge.buckets) for judge in report.judges], "All criteria")
        yield tables.comparison_table(report, names)
        yield tables.panel_table(report)
    if report.ticks is not None:
        yield from _tick_tables(report, report.ticks, names)
    if report.flags:
        yield from part_tables.flag_tables(report, names)
    yield part_tables.choice_table(report)
    for target in report.targets:
        say(f"\nAgainst {target.name}: {target.items:,} items", bold=True)
        yield part_tables.target_table(target, names)
        yield part_tables.spread_table(target, names)
        for word, of in (("Category", "categories"), ("Criterion", "criteria")):
            parts = [(scorer, part) for scorer in target.scorers for part in getattr(scorer, of)]
            if len({part.id for _, part in parts}) > 1:
                rows = [(f"{names[scorer.name]}, {part.name}", part.agreed) for scorer, part in parts]
                yield part_tables.score_table(rows, word, f"by {word.lower()}")
        yield part_tables.difference_table(report, target, names)
    if report.cost:
        yield part_tables.cost_table(report)


def _tick_tables(report: Evaluation, ticks: TickReport, names: Names) -> Iterator[Table | None]:
    columns = ("accuracy", "parsed_only", "constant", "balanced", "kappa", "pass_rate", "people_pass", "unread")
    yield part_tables.tick_table(ticks, columns, names, "Checklists against people: means over criteria")
    yield from part_tables.joint_tables(report, ticks, names)
    yield part_tables.point_table(ticks, names, HARDEST)
    yield part_tables.tick_panel_table(report, ticks)
