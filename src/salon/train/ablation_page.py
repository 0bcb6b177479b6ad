"""The HTML of `salon distill ablate`, composed from its AblateReport alone: it prints numbers and computes none."""

from __future__ import annotations

from markupsafe import Markup

from salon.report import Block, Card, Cell, Column, Details, Figure, Page, Prose, Section, Table, charts, located
from salon.report.values import estimate_value
from salon.report.words import SIMULATED, brief, counted, fixed, level_words, one_way
from salon.train.ablation_results import FACTOR_WORDS, AblateReport, AblateRow


def ablation_page(report: AblateReport) -> Page:
    """The whole report as one self-contained page."""
    here = located(report)
    reference = here.rows[0]
    sections = [_order(here), _differences(here), _cells(here)]
    return Page(
        title="Which settings matter?",
        tab=f"Ablation: {brief(report.study)}",
        subtitle=Markup("{} of {}, tested on {} of {}.").format(
            counted(len(report.cells), "training"), brief(report.study), counted(report.items, "item"),
            brief(report.test),
        ),
        kicker=f"Salon distill ablate · {brief(report.study)}" + (" · simulated" if report.simulated else ""),
        banner=SIMULATED if report.simulated else "",
        cards=[
            Card("Reference", _figure(reference.srcc), "SRCC, mean over seeds"),
            Card("Test items", fixed(report.items, 0), f"against {brief(report.target, 60)}"),
            Card("Seeds", fixed(reference.seeds, 0), "of every cell"),
            Card("Label calls", fixed(reference.calls, 0), "of the reference, one seed"),
        ],
        sections=[section for section in sections if section is not None],
        notes=[Markup("Intervals in brackets are at the {} level, over seeds.").format(level_words(here))],
        signature=one_way(report.signature_line),
    )  # fmt: skip


def _figure(figure: object) -> Markup | str:
    return "–" if figure is None else estimate_value(figure, None, 3)


def _label(row: AblateRow) -> str:
    return "reference" if row.factor == "reference" else f"{FACTOR_WORDS.get(row.factor, row.factor)}: {row.value}"


def _order(report: AblateReport) -> Section:
    rows = [(_label(row), row.srcc.value, row.srcc.low, row.srcc.high, "") for row in report.rows if row.srcc]
    blocks: list[Block | str] = []
    if rows:
        chart = charts.dot_intervals(rows, title="SRCC by setting", x_label="SRCC", sort=False, within=(-1.0, 1.0))
        words = Markup("Rank correlation with the target, mean over seeds with {} intervals.")
        blocks.append(Figure(chart, words.format(level_words(report))))
    columns = [
        Column("name", "Setting"),
        Column("srcc", "SRCC", "estimate", 3), Column("plcc", "PLCC", "estimate", 3),
        Column("mae", "MAE", "estimate", 3), Column("spread", "Spread", "estimate", 2, "Over the target's"),
        Column("calls", "Label calls", "count"), Column("seeds", "Seeds", "count"),
        Column("failed", "Failed", "count", None, "Seeds whose scorer gave no order"),
    ]  # fmt: skip
    told = [
        {"name": _label(row), **{column.path: getattr(row, column.path) for column in columns[1:]}}
        for row in report.rows
    ]
    reference = Prose.of("Reference: {settings}.", settings=report.rows[0].value)
    return Section(
        "By setting", [*blocks, reference, Table(columns, told, label="By setting")], "One change at a time."
    )


def _differences(report: AblateReport) -> Section | None:
    rows = [row for row in report.rows if row.difference is not None]
    if not rows:
        return None
    drawn = [(_label(row), row.difference.value, row.difference.low, row.difference.high, "") for row in rows
             if row.difference]  # fmt: skip
    chart = charts.dot_intervals(drawn, 0.0, title="SRCC less the reference's", x_label="SRCC, difference",
                                 null_label="reference", sort=False)  # fmt: skip
    columns = [Column("name", "Setting"), Column("difference", "SRCC less the reference's", "estimate", 3)]
    told = [{"name": _label(row), "difference": row.difference} for row in rows]
    return Section("Against the reference", [Figure(chart), Table(columns, told, label="Differences")],
                   "Seed by seed: is it the setting, or luck?")  # fmt: skip


def _cells(report: AblateReport) -> Section:
    columns = [
        Column("weigh", "Weights"), Column("pool", "N", "count"), Column("opponents", "K", "count"),
        Column("source", "Labels"), Column("category", "Category"), Column("seed", "Seed", "count"),
        Column("srcc", "SRCC", "number", 3), Column("plcc", "PLCC", "number", 3), Column("mae", "MAE", "number", 3),
        Column("scale", "Scale"), Column("scored", "Scored", "count"),
    ]  # fmt: skip
    rows = []
    for one in report.cells:
        own = {name: getattr(one.cell, name) for name in ("weigh", "pool", "opponents", "source", "seed")}
        rest = {name: getattr(one, name) for name in ("srcc", "plcc", "mae", "scale", "scored")}
        rows.append({**own, "category": Cell(one.cell.category or "all"), **rest})
    table = Table(columns, rows, label="Every training")
    words = Prose("\n\n".join(report.policies))
    return Section("Every training", [Details("All cells", [table], open=len(rows) <= 12), words], "Nothing left out.")
