"""The paper's tables and a radar on the page of a comparison."""

from __future__ import annotations

from markupsafe import Markup

from salon.bench.posters.compared import ComparedReport
from salon.bench.posters.paper_tables import PaperTable, TableCell, TableRow
from salon.report import Cell, Column, Figure, Section, Table, charts
from salon.report.charts.radar import MOST
from salon.report.words import brief, counted, fixed

_GENERATION = 6
_OVERALL = 7


def table_sections(report: ComparedReport) -> list[Section]:
    """Overall with its radar first, then a section for each of the other tables."""
    order = sorted(report.tables, key=lambda table: (table.number != _OVERALL, table.number))
    return [
        Section(f"Table {table.number}: {table.title}", [*_radars(report, table), _table(table)], _told(report, table))
        for table in order
    ]


def _told(report: ComparedReport, table: PaperTable) -> str:
    scoring = "By the released scoring, faults and all." if report.compat else "By our scoring, with intervals."
    published = any(row.published for row in table.rows)
    beside = " Published rows are by the released scoring, and are not ranked." if published else ""
    return f"{scoring}{beside}"


def _table(table: PaperTable) -> Table:
    columns = [Column("contestant", "Contestant")]
    columns += [Column("judged", "Judged by")] if any(row.judged for row in table.rows) else []
    columns += [
        Column(f"c{at}", column.title + (" ↓" if column.better == "low" else ""), "number", 3)
        for at, column in enumerate(table.columns)
    ]
    rows = [_row(row) for row in table.rows]
    return Table(columns, rows, caption=f"Table {table.number}: {table.title}", sortable=False)


def _row(row: TableRow) -> dict[str, object]:
    name = Cell(brief(row.contestant), under="published" if row.published else "")
    return {
        "contestant": name,
        "judged": row.judged or "",
        **{f"c{at}": _cell(cell) for at, cell in enumerate(row.cells)},
    }


def _cell(cell: TableCell) -> Cell:
    """The value; below it, what it is worth knowing: that it is the best, owed verdicts, its interval."""
    parts: list[str | Markup] = []
    if cell.owed:
        parts.append(Markup("{} owed").format(counted(cell.owed, "verdict")))
    elif cell.other_protocol:
        parts.append("not comparable")
    elif cell.partial:
        parts.append("fewer tasks")
    elif cell.best:
        parts.append("best")
    if cell.figure is not None and cell.figure.low is not None and cell.figure.high is not None:
        parts.append(Markup("[{}, {}]").format(fixed(cell.figure.low, 3), fixed(cell.figure.high, 3)))
    why = "not ranked until a judge has given its verdicts" if cell.owed else cell.why
    if cell.other_protocol and not cell.owed:
        why = "not ranked: judged by different protocols"
    return Cell(cell.value, why, Markup("<br>").join(parts) if parts else "")


def _radars(report: ComparedReport, table: PaperTable) -> list[Figure]:
    """Groups around one center, or the five generation tasks; contestants that fit, then published rows."""
    if table.number not in (_GENERATION, _OVERALL):
        return []
    places = [at for at, column in enumerate(table.columns) if column.title != "Average"]
    axes = [table.columns[at].title for at in places]
    valued = [row for row in table.rows if any(row.cells[at].value is not None for at in places)]
    known = valued[:MOST]
    shown = [at for at in range(len(places)) if any(row.cells[places[at]].value is not None for row in known)]
    if len(shown) < 3:
        return []
    spokes = [charts.Spokes(_name(row), [row.cells[places[at]].value for at in shown]) for row in known]
    drawing = charts.radar([axes[at] for at in shown], spokes, title=f"{table.title}: radar")
    more = f" The first {MOST} rows are drawn." if len(valued) > MOST else ""
    words = "From the center (0, an answer given without looking, or worse) to the outer ring (1, perfect)."
    return [Figure(drawing, words + more)]


def _name(row: TableRow) -> str:
    return f"{brief(row.contestant)} (published)" if row.published else brief(row.contestant)
